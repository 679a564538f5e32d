//! No cache (NB, CAC section 3): every written page is programmed, every read page is read.
//!
//! The cache does so by itself when it has zero pages; this policy holds nothing.

use crate::contract::boxed;
use crate::info::{MetadataBound, MinCapacity, PaperSource, Role, SchemeInfo};
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, View};
use destage_types::Slot;

/// `none`: no cache.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "none",
    summary: "No cache: every page is read from or programmed to flash.",
    source: PaperSource {
        paper: "Tian, CAC (baseline NB)",
        year: Some(2024),
        section: "3",
        certain: true,
    },
    role: Role::None,
    ties: "none",
    min_capacity: MinCapacity::Frames(0),
    metadata: |_, _| Some(MetadataBound::default()),
    vectors: &["none"],
    build: Some(boxed::<Pages<NoCache>>),
    ..SchemeInfo::BASE
};

/// The policy of a device without a cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCache;

impl Policy for NoCache {
    fn build(_expr: &Expr, _env: &Env) -> NoCache {
        NoCache
    }

    fn on_insert(&mut self, _slot: Slot, a: &Access, _v: &View) {
        unreachable!("page {} enters a cache of zero pages", a.lpn)
    }

    fn on_hit(&mut self, _slot: Slot, a: &Access, _v: &View) {
        unreachable!("page {} hits in a cache of zero pages", a.lpn)
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        unreachable!("frame {slot} of a cache of zero pages")
    }

    fn metadata_bytes(&self, _pages: u64) -> u64 {
        0
    }

    fn lists(&self, _v: &View, _out: &mut PageLists) {}

    #[cfg(feature = "conformance")]
    fn state(&self, _v: &View, out: &mut String) {
        out.push_str("(none)");
    }
}
