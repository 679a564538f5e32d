//! The page accesses of a whole run, for schemes that know the future.

use crate::RunError;
use crate::cache::{CacheOptions, page_sectors, page_span, wrap_extents};
use destage_scheme::policy::{Future, FutureBuilder, NextOf};
use destage_trace::Workload;
use destage_types::{Extent, Lpn, Op, PageSize, RequestFlags};

/// When each page access of a run of `passes` passes over `requests` is followed by the next one
/// to its page. Accesses are numbered as the cache numbers them; a TRIM of a whole page in between
/// makes it never.
///
/// # Errors
/// The run has too many page accesses.
pub fn collect(
    workload: Workload<'_>,
    page: PageSize,
    options: CacheOptions,
    passes: u64,
    next_of: NextOf,
) -> Result<Future, RunError> {
    let CacheOptions { wrap, nvm, .. } = options;
    let mut builder = FutureBuilder::new(next_of);
    let mut extents = Vec::new();
    for _ in 0..passes {
        let mut pass = workload.pass()?;
        while let Some(block) = pass.next(u64::MAX)? {
            for head in block.records {
                let request = block.batch.with_sides(head);
                let flushes = |flag| !nvm && head.flags.any(flag);
                if flushes(RequestFlags::PREFLUSH) || head.op == Op::Flush && !nvm {
                    builder.flush();
                }
                let durable = flushes(RequestFlags::FUA);
                if wrap.is_some() || durable {
                    extents.clear();
                    extents.extend(request.extents());
                    if let Some(space) = wrap {
                        wrap_extents(&mut extents, space);
                    }
                    collect_extents(&mut builder, head.op, extents.iter().copied(), page);
                } else {
                    collect_extents(&mut builder, head.op, request.extents(), page);
                }
                if durable {
                    flush_extents(&mut builder, &extents, page);
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

/// The data of a write with FUA are on flash when it is done.
fn flush_extents(builder: &mut FutureBuilder, extents: &[Extent], page: PageSize) {
    for extent in extents {
        let (first, pages) = page_span(extent, page);
        for lpn in first.0..first.0 + u64::from(pages) {
            builder.flush_page(Lpn(lpn));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{RunSpec, cache_options};
    use destage_scheme::Expr;
    use destage_trace::Trace;
    use destage_types::{ByteSize, HostRequest, Nanos, RequestBatch};

    fn future(batch: &RequestBatch, wrap: Option<u64>, next_of: NextOf) -> Future {
        let trace = Trace::generated("test", batch.clone());
        let spec = RunSpec::cache_only(Expr::parse("belady").unwrap(), ByteSize(4096));
        let options = CacheOptions {
            wrap,
            ..cache_options(&spec)
        };
        collect((&trace).into(), PageSize::KIB4, options, 2, next_of).unwrap()
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
        let overwrite = future(&batch, None, NextOf::Overwrite);
        // The FLUSH comes after the writes. The page of the read alone has a use of dirty data behind it.
        let next = [None, None, Some(5), None, None, None];
        assert_eq!(overwrite, Future::given(next));
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
