//! Events in the cache, for observers that want each one: logs and conformance tests.

use destage_types::{Lpn, Nanos};

/// Something that happened to a cached page. Lists are in the order in which things happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// One unit left to make room.
    Evicted {
        /// Dirty pages, in program order.
        flush: &'a [Lpn],
        /// Clean pages, dropped.
        drop: &'a [Lpn],
        /// Dirty pages whose write-back in flight serves as their program.
        inflight: &'a [Lpn],
        /// Absent pages read to complete the block.
        pad: &'a [Lpn],
    },
    /// A page of the request went to flash past the cache.
    Bypassed(Lpn),
    /// A page was read from flash for the request.
    FlashRead(Lpn),
    /// Cached copies removed because newer data bypass or replace them as a whole.
    Invalidated(&'a [Lpn]),
    /// A superseded cached page was dropped by CAC.
    Discarded(Lpn),
    /// A cached page or a ghost has a new address.
    Remapped {
        /// Old address.
        from: Lpn,
        /// New address.
        to: Lpn,
    },
    /// A background write-back of a page.
    WriteBack {
        /// The page.
        lpn: Lpn,
        /// When.
        at: Nanos,
        /// The step.
        step: WriteBackStep,
    },
}

/// A step in the life of a background write-back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteBackStep {
    /// Queued on its channel.
    Queued,
    /// Its program starts.
    Started,
    /// Taken back before it started.
    Cancelled,
    /// Done, and the page left the cache.
    Removed,
    /// Done, and the page stays, clean.
    Cleaned,
    /// Done, but the page was rewritten since.
    Stale,
    /// Done, but the page had left the cache.
    Orphaned,
}

/// Receives the events of one run.
pub trait Observer {
    /// Request `index` (0-based, in the decoded trace) begins.
    fn request(&mut self, index: u64);

    /// Something happened.
    fn event(&mut self, event: Event<'_>);

    /// The request is done.
    fn request_done(&mut self) {}

    /// The run is over: write out what is buffered.
    ///
    /// # Errors
    /// The observer could not write its file.
    fn finish(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
