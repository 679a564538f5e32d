//! No cache (NB, CAC section 3): every written page is programmed, every read page is read.
//!
//! The cache core does so for a cache of zero pages; this scheme holds nothing.

use crate::registry::Build;
use crate::{Access, Env, Expr, Scheme, Unit, View, Why};
use destage_types::{Lpn, Slot};

/// The scheme of a device without a cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCache;

impl Build for NoCache {
    fn build(_expr: &Expr, _env: &Env) -> NoCache {
        NoCache
    }
}

impl Scheme for NoCache {
    fn rename(&mut self, _from: Lpn, _to: Lpn, _slot: Option<Slot>, _v: &View) -> bool {
        false
    }

    fn insert(&mut self, _slot: Slot, a: &Access, _v: &View) {
        unreachable!("page {} enters a cache of zero pages", a.lpn)
    }

    fn touch(&mut self, _slot: Slot, a: &Access, _v: &View) {
        unreachable!("page {} hits in a cache of zero pages", a.lpn)
    }

    fn remove(&mut self, slot: Slot, _why: Why, _v: &View) {
        unreachable!("frame {slot} of a cache of zero pages")
    }

    fn size(&self) -> usize {
        0
    }

    fn victim(&mut self, _a: &Access, _v: &View, _out: &mut Unit) {}

    fn candidates(&self, _v: &View, _f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        None
    }

    fn meta_bytes(&self) -> u64 {
        0
    }

    #[cfg(feature = "conformance")]
    fn state(&self, _v: &View, out: &mut String) {
        out.push_str("(none)");
    }
}
