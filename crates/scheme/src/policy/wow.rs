//! WOW: a pointer goes round groups of neighbouring pages in order of address. It passes over a group that was
//! written again since it came by.
//!
//! Source: B. S. Gill, D. S. Modha, "WOW: Wise Ordering for Writes - Combining Spatial and Temporal Locality in
//! Non-Volatile Caches", FAST 2005, sections III and IV. The high and low marks of section IV, and its linear
//! threshold, are `drain` with `low` and `high`.
//!
//! State: the groups with cached pages in a circle in order of address, the pointer, and a recency bit for each group.
//! Order: the circle from the pointer, groups with an unset bit and then groups with a set bit; pages of a group by
//! address. Ties: none. Cost: O(log n) where a group comes or goes, else O(1); a step of the order looks up all pages
//! of a group.
//!
//! WO-1: the pointer goes to a page that is written back or evicted dirty, and clears the bits on its way, if no dirty
//! page comes before it in the order. A FLUSH or FUA of other pages, and the eviction of a clean page, do not move it.
//! WO-2: a group comes in with its bit unset, on a read too. Only write hits set a bit. A page that comes into a group
//! that is there leaves the bit as it is.

use super::address_circle::AddressCircle;
use crate::contract::boxed;
use crate::info::{PaperSource, SchemeInfo};
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, SchemeStats, View};
use destage_types::{Lpn, Op, Slot};

pub use super::address_circle::GroupParams;

/// Where both schemes come from.
pub(super) const PAPER: PaperSource = PaperSource {
    paper: "Gill, Modha, WOW: Wise Ordering for Writes, FAST",
    year: Some(2005),
    section: "III, IV",
    certain: true,
};

/// `wow`: wise ordering for writes.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "wow",
    summary: "Groups of pages in order of address; a pointer passes over those written again.",
    source: PAPER,
    params: &[GroupParams::PARAMS],
    ties: "none: addresses are a total order",
    write_buffer: true,
    order: Some("the circle from the pointer: groups with an unset bit, then the others"),
    build: Some(boxed::<Pages<Wow>>),
    ..SchemeInfo::BASE
};

/// Wise ordering for writes.
#[derive(Clone, Debug)]
pub struct Wow(AddressCircle);

impl Policy for Wow {
    fn build(expr: &Expr, env: &Env) -> Wow {
        Wow(AddressCircle::new(GroupParams::of(expr, env), env))
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.0.join(slot, a.lpn);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        if a.op == Op::Write {
            self.0.set_recent(slot);
        }
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.0.remove(slot, reason, v);
    }

    fn on_clean(&mut self, slots: &[Slot], v: &View) {
        self.0.written(slots, v);
    }

    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, _v: &View) {
        self.0.rename(slot, to);
    }

    fn next_victims<'a>(&'a self, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        self.0.in_order(v)
    }

    fn place(&self, slot: Slot, v: &View) -> Option<u64> {
        self.0.place(slot, v)
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("groups", self.0.len() as u64);
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        self.0.lists(v, out);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        self.0.state(v, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::boxed;

    #[test]
    fn the_pointer_passes_over_groups_that_were_written_again() {
        let mut cache = boxed("wow(group=4)", 4);
        // Group 5 came first, and the pointer is on it.
        cache.run("W20 W0 W41 W9");
        assert_eq!(cache.order(), [20, 41, 0, 9]);
        cache.run("W20 R41");
        assert_eq!(cache.order(), [41, 0, 9, 20], "reads set no bit");
        // The pointer has passed group 5 and cleared its bit.
        cache.run("W60");
        assert_eq!(
            (&cache.evicted[..], cache.order()),
            (&[41][..], vec![0, 9, 20, 60])
        );
    }

    #[test]
    fn a_flush_does_not_move_the_pointer_beyond_the_next_page() {
        let mut cache = boxed("wow(group=4)", 4);
        cache.run("W20 W0 W41 F W9");
        assert_eq!(cache.order(), [20, 41, 0, 9]);
    }
}
