//! Requests that are not counted as the host's: those of a modelled file system's cleaning, and of the warm-up
//! if others overtook them. They are served as any request, and show in what flash did, but in no hit ratio and
//! no latency.

use super::data::OnePages;
use super::{Cache, page_span};
use crate::flash::Flash;
use destage_record::Counts;
use destage_scheme::Scheme;
use destage_types::{Op, RequestOrigin, RequestRef};

/// Counts of the host's requests, saved while a request is served that is not counted.
pub(super) struct HostCounts {
    counts: Counts,
    one_page: OnePages,
    /// [`Cache::counted`].
    counted: u64,
    measured: bool,
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// A request of a modelled file system is served next; if it is one of its cleaning, the
    /// counts of the host's requests, for [`Cache::end_cleaning`].
    #[inline(never)]
    pub(super) fn begin_modelled(&mut self, request: RequestRef<'_>) -> Option<HostCounts> {
        if request.head.origin != RequestOrigin::Cleaning {
            self.counts.lfs_inplace_writes += in_place(request);
            return None;
        }
        Some(self.host_counts())
    }

    /// Do times of the following requests count? Returns whether those before did.
    fn measure(&mut self, on: bool) -> bool {
        let core = self.flash.core_mut();
        core.is_some_and(|core| core.requests.completed.measure(on))
    }

    fn host_counts(&mut self) -> HostCounts {
        HostCounts {
            counts: self.counts.clone(),
            one_page: self.one_page,
            counted: self.counted(),
            measured: self.measure(false),
        }
    }

    /// What was served since is none of the requests that are counted, and may be none at all: a preflush.
    fn restore_host_counts(&mut self, host: &HostCounts) {
        self.measure(host.measured);
        self.uncounted = self.request - host.counted;
        self.one_page = host.one_page;
        self.counts.restore_requests(&host.counts);
        self.forget_waiting(self.request);
    }

    /// Serves one request that is not counted.
    pub(crate) fn uncounted(&mut self, serve: impl FnOnce(&mut Self)) {
        let host = self.host_counts();
        serve(self);
        self.restore_host_counts(&host);
        self.counts.restore_kinds(&host.counts);
    }

    /// A request of cleaning is served: it counts as that, and not as one of the host's.
    #[inline(never)]
    pub(super) fn end_cleaning(&mut self, request: RequestRef<'_>, host: HostCounts) {
        self.restore_host_counts(&host);
        let page = self.frames.page();
        let blocks: u64 = request
            .extents()
            .map(|e| u64::from(page_span(&e, page).1))
            .sum();
        let c = &mut self.counts;
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
