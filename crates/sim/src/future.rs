//! The page accesses of a whole run, for schemes that know the future.

use crate::walk::{page_sectors, page_span, wrap_extents};
use destage_scheme::leaf::{Future, FutureBuilder, FutureTooLong, NextOf};
use destage_types::{Lpn, Op, PageSize, RequestBatch};

/// When each page access of a run of `passes` passes over `requests` is followed by the next one
/// to its page. Accesses are numbered as the walk numbers them; a TRIM of a whole page in between
/// makes it never. `wrap`: sectors that addresses are taken modulo of.
///
/// # Errors
/// The run has too many page accesses.
pub fn collect(
    requests: &RequestBatch,
    page: PageSize,
    wrap: Option<u64>,
    passes: u64,
    next_of: NextOf,
) -> Result<Future, FutureTooLong> {
    let mut builder = FutureBuilder::new(next_of);
    let mut extents = Vec::new();
    for _ in 0..passes {
        for request in requests.iter() {
            let op = request.head.op;
            extents.clear();
            extents.extend(request.extents());
            if let Some(space) = wrap {
                wrap_extents(&mut extents, space);
            }
            for extent in &extents {
                let (first, pages) = page_span(extent, page);
                for lpn in (first.0..first.0 + u64::from(pages)).map(Lpn) {
                    match op {
                        Op::Read | Op::Write => builder.access(lpn, op),
                        _ if page_sectors(extent, lpn, page) == page.full_mask() => {
                            builder.trim(lpn);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::{HostRequest, Nanos};

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
        let future = collect(&batch, PageSize::KIB4, None, 2, NextOf::Any).unwrap();
        // Pages 0, 1, 1, then the same again. Page 0 is trimmed in between, page 1 only in part.
        let next = [None, Some(3), Some(5), None, Some(6), None];
        assert_eq!(future, Future::given(next));
        let future = collect(&batch, PageSize::KIB4, None, 2, NextOf::Write).unwrap();
        let next = [None, Some(5), Some(5), None, None, None];
        assert_eq!(future, Future::given(next));
    }

    #[test]
    fn wrapped_addresses_are_followed() {
        let mut batch = RequestBatch::new();
        batch.push(HostRequest::new(Nanos(0), Op::Write, 8, 16));
        let future = collect(&batch, PageSize::KIB4, Some(16), 2, NextOf::Any).unwrap();
        let next = [Some(3), Some(4), None, None]; // pages 1, 0, 1, 0
        assert_eq!(future, Future::given(next));
    }
}
