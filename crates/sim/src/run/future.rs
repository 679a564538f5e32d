//! The page accesses of a whole run, for schemes that know the future.

use crate::RunError;
use crate::cache::{page_sectors, page_span, wrap_extents};
use destage_scheme::policy::{Future, FutureBuilder, NextOf};
use destage_trace::Workload;
use destage_types::{Extent, Lpn, Op, PageSize};

/// When each page access of a run of `passes` passes over `requests` is followed by the next one
/// to its page. Accesses are numbered as the cache numbers them; a TRIM of a whole page in between
/// makes it never. `wrap`: sectors that addresses are taken modulo of.
///
/// # Errors
/// The run has too many page accesses.
pub fn collect(
    workload: Workload<'_>,
    page: PageSize,
    wrap: Option<u64>,
    passes: u64,
    next_of: NextOf,
) -> Result<Future, RunError> {
    let mut builder = FutureBuilder::new(next_of);
    let mut extents = Vec::new();
    for _ in 0..passes {
        let mut pass = workload.pass()?;
        while let Some(block) = pass.next(u64::MAX)? {
            for head in block.records {
                let request = block.batch.with_sides(head);
                if let Some(space) = wrap {
                    extents.clear();
                    extents.extend(request.extents());
                    wrap_extents(&mut extents, space);
                    collect_extents(&mut builder, head.op, extents.iter().copied(), page);
                } else {
                    collect_extents(&mut builder, head.op, request.extents(), page);
                }
            }
        }
    }
    Ok(builder.finish()?)
}

#[inline(always)]
fn collect_extents(
    builder: &mut FutureBuilder,
    op: Op,
    extents: impl Iterator<Item = Extent>,
    page: PageSize,
) {
    for extent in extents {
        let (first, pages) = page_span(&extent, page);
        for lpn in (first.0..first.0 + u64::from(pages)).map(Lpn) {
            match op {
                Op::Read | Op::Write => builder.access(lpn, op),
                _ if page_sectors(&extent, lpn, page) == page.full_mask() => builder.trim(lpn),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_trace::Trace;
    use destage_types::{HostRequest, Nanos, RequestBatch};

    fn future(batch: &RequestBatch, wrap: Option<u64>, next_of: NextOf) -> Future {
        let trace = Trace::generated("test", batch.clone());
        collect((&trace).into(), PageSize::KIB4, wrap, 2, next_of).unwrap()
    }

    #[test]
    fn accesses_are_numbered_page_by_page_through_all_passes() {
        let mut batch = RequestBatch::new();
        for (op, start, sectors) in [
            (Op::Write, 4, 8),
            (Op::Flush, 0, 0),
            (Op::Read, 8, 1),
            (Op::Trim, 0, 12),
        ] {
            batch.push(HostRequest::new(Nanos(0), op, start, sectors));
        }
        let any = future(&batch, None, NextOf::Any);
        // Pages 0, 1, 1, then the same again. Page 0 is trimmed in between, page 1 only in part.
        let next = [None, Some(3), Some(5), None, Some(6), None];
        assert_eq!(any, Future::given(next));
        let write = future(&batch, None, NextOf::Write);
        let next = [None, Some(5), Some(5), None, None, None];
        assert_eq!(write, Future::given(next));
    }

    #[test]
    fn wrapped_addresses_are_followed() {
        let mut batch = RequestBatch::new();
        batch.push(HostRequest::new(Nanos(0), Op::Write, 8, 16));
        let wrapped = future(&batch, Some(16), NextOf::Any);
        let next = [Some(3), Some(4), None, None]; // pages 1, 0, 1, 0
        assert_eq!(wrapped, Future::given(next));
    }
}
