//! Requests of a modelled file system: its cleaning is served as any request but counted apart
//! (in flash counts, in no hit ratio or latency).

use super::data::OnePages;
use super::{Cache, page_span};
use crate::counts::Counts;
use crate::flash::Flash;
use destage_scheme::Scheme;
use destage_types::{Op, RequestRef, Tag};

/// What was counted before a request that does not count.
pub(super) struct Apart {
    counts: Counts,
    one_page: OnePages,
    measuring: bool,
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Before a request of a file system's model is served: keeps what is to be put back after
    /// it, if it is one of its cleaning.
    pub fn set_apart(&mut self, request: RequestRef<'_>) {
        if request.head.tag != Tag::Gc {
            self.counts.lfs_inplace_writes += in_place(request);
            return;
        }
        self.apart = Some(Apart {
            counts: self.counts.clone(),
            one_page: self.one_page,
            measuring: self.flash.measure(false),
        });
    }

    /// The request is served.
    #[inline(never)]
    pub fn put_back(&mut self, request: RequestRef<'_>) {
        let Some(before) = self.apart.take() else {
            return;
        };
        self.flash.measure(before.measuring);
        self.uncounted += 1;
        self.one_page = before.one_page;
        let page = self.frames.page();
        let blocks: u64 = request
            .extents()
            .map(|e| u64::from(page_span(&e, page).1))
            .sum();
        let c = &mut self.counts;
        c.restore_host(&before.counts);
        c.lfs_clean_requests += 1;
        match request.head.op {
            Op::Read => {
                // The model reads the valid blocks of each unit by one request.
                c.lfs_segments_cleaned += 1;
                c.lfs_clean_read_blocks += blocks;
            }
            _ => c.lfs_clean_write_blocks += blocks,
        }
    }
}

/// Blocks whose old address is their own.
fn in_place(request: RequestRef<'_>) -> u64 {
    let blocks = request
        .extents()
        .flat_map(|e| e.start_sector / 8..e.end().div_ceil(8));
    let own = blocks
        .zip(request.prev)
        .filter(|(block, old)| block * 8 == **old);
    own.count() as u64
}

impl Counts {
    /// Takes back what a request counted as one of the host; what it did to flash stays.
    fn restore_host(&mut self, before: &Counts) {
        macro_rules! restore {
            ($($field:ident)*) => { $(self.$field = before.$field;)* };
        }
        restore! {
            read_requests write_requests page_accesses read_pages write_pages page_hits
            read_page_hits write_page_hits read_request_hits write_request_hits
            read_request_hits_any write_request_hits_any read_hit_fraction_sum
            write_hit_fraction_sum read_sectors write_sectors read_sector_hits write_sector_hits
        }
    }
}
