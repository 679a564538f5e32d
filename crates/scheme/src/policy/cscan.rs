//! CSCAN: a pointer goes round groups of neighbouring pages in order of address.
//!
//! Source: Gill and Modha, WOW, FAST 2005, section III, which compares `wow` with it. State, order and cost are those of
//! [`wow`](super::wow) without recency bits.

use super::address_circle::{AddressCircle, GroupParams};
use super::wow::PAPER;
use crate::contract::boxed;
use crate::info::SchemeInfo;
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, SchemeStats, View};
use destage_types::{Lpn, Slot};

/// `cscan`: pages in order of address.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "cscan",
    summary: "Groups of pages in order of address; a pointer takes one after the other.",
    source: PAPER,
    params: &[GroupParams::PARAMS],
    ties: "none: addresses are a total order",
    write_buffer: true,
    order: Some("the circle from the pointer"),
    build: Some(boxed::<Pages<Cscan>>),
    ..SchemeInfo::BASE
};

/// Circular scan.
#[derive(Clone, Debug)]
pub struct Cscan(AddressCircle);

impl Policy for Cscan {
    fn build(expr: &Expr, env: &Env) -> Cscan {
        Cscan(AddressCircle::new(GroupParams::of(expr, env), env))
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.0.join(slot, a.lpn);
    }

    fn on_hit(&mut self, _slot: Slot, _a: &Access, _v: &View) {}

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
    fn the_pointer_goes_on_behind_the_largest_address_with_the_smallest() {
        let mut cache = boxed("cscan(group=4)", 4);
        cache.run("W20 W0 W41 W9 W20");
        assert_eq!(cache.order(), [20, 41, 0, 9], "there is no bit");
        // Groups of pages 21 and 16 come in behind the pointer.
        cache.run("W21 W16 W44");
        assert_eq!(&cache.evicted[..], [20, 41, 0]);
        assert_eq!(cache.order(), [9, 16, 21, 44]);
    }
}
