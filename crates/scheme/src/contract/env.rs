//! The surroundings of a scheme.

use crate::policy::Future;
use destage_types::{PageSize, StaticLayout};
use std::sync::Arc;

/// The surroundings of a scheme instance; its own parameters come from the expression.
#[derive(Clone, Debug)]
pub struct Env {
    /// Page frames the scheme is meant for (C); its parameters and ghosts follow from it.
    pub capacity: u32,
    /// Frames of the whole cache: what is kept by slot has this many entries, and as many more as
    /// schemes inside keep for ghosts ([`Ghosts::max_in_slots`](crate::Ghosts::max_in_slots)). Not
    /// `capacity`: the policy of one chip under `ecr(P)` is meant for fewer pages
    /// than there are slots.
    pub slots: u32,
    /// Size of a page.
    pub page: PageSize,
    /// Static page allocation of the device; one chip on one channel without a device.
    pub layout: StaticLayout,
    /// Pages of a flash block: the default of `block_pages`; 64 without a device.
    pub pages_per_block: u32,
    /// Does a read miss enter the cache?
    pub read_alloc: bool,
    /// Seed of the run; a scheme's own `seed` parameter goes first.
    pub seed: u64,
    /// Is there a background layer (awb, eager) outside? Prober then keeps its pages by age too.
    pub background: bool,
    /// Will anybody ask for background work? A run without a device says no; what serves such
    /// work alone need not be kept then.
    pub write_back: bool,
    /// May ghosts stay in the slots of their pages? Not where a page can be cached and remembered at
    /// once: `ecr(P)` tells the policy of a chip of its dirty pages alone.
    pub ghosts_in_slots: bool,
    /// When the pages of the run are used next, for offline policies.
    pub future: Option<Arc<Future>>,
    /// Uniform numbers to draw instead of the generator's, for the worked examples.
    #[cfg(feature = "conformance")]
    pub draws: Option<Vec<f64>>,
    /// Factor and summand of hash functions to use instead of the real ones, likewise.
    #[cfg(feature = "conformance")]
    pub hashes: Option<Vec<[u64; 2]>>,
    /// Count accesses one by one instead of in a sketch, likewise.
    #[cfg(feature = "conformance")]
    pub exact_counts: bool,
}

impl Env {
    /// A cache of `capacity` pages of 4 KiB on one channel, seed 1.
    pub fn cache_only(capacity: u32) -> Env {
        Env {
            capacity,
            slots: capacity,
            page: PageSize::KIB4,
            layout: StaticLayout::flat(1, 1),
            pages_per_block: 64,
            read_alloc: true,
            seed: 1,
            background: false,
            write_back: true,
            ghosts_in_slots: true,
            future: None,
            #[cfg(feature = "conformance")]
            draws: None,
            #[cfg(feature = "conformance")]
            hashes: None,
            #[cfg(feature = "conformance")]
            exact_counts: false,
        }
    }

    /// The same for a scheme inside a background layer.
    pub fn with_background(&self) -> Env {
        let mut env = self.clone();
        env.background = true;
        env
    }
}
