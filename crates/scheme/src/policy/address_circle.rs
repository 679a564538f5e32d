//! Groups of neighbouring pages in a circle in order of address, and a pointer: what `wow` and `cscan` keep.

use crate::key_order::KeyOrder;
use crate::{Env, PageLists, ParamInfo, RemoveReason, View, params};
use destage_types::{Lpn, Slot};

/// No group.
const NONE: u32 = u32::MAX;

params! {
    /// Parameters of `wow` and `cscan`.
    pub struct GroupParams {
        /// pages of a group, which begins at a multiple of that
        group: u64 = ParamInfo::integer(1, 4096, 16).unit("pages").source("uncertain"),
    }
}

/// All groups with cached pages. A group is a node.
#[derive(Clone, Debug)]
pub struct AddressCircle {
    /// Pages of a group.
    size: u64,
    /// By number of the group.
    order: KeyOrder,
    free: Vec<u32>,
    /// Pages of each group, and its recency bit.
    held: Vec<u32>,
    recent: Vec<bool>,
    /// Group of the page in each slot, or [`NONE`].
    of: Vec<u32>,
    /// The group that the pointer looks at next, if there is one.
    at: Option<u32>,
}

impl AddressCircle {
    /// No group.
    pub fn new(params: GroupParams, env: &Env) -> AddressCircle {
        let slots = env.slots as usize;
        AddressCircle {
            size: params.group,
            order: KeyOrder::new(slots),
            free: (0..env.slots).rev().collect(),
            held: vec![0; slots],
            recent: vec![false; slots],
            of: vec![NONE; slots],
            at: None,
        }
    }

    /// Groups.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Is there no group?
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// A page comes in. A group that comes in at the pointer stands behind it.
    pub fn join(&mut self, slot: Slot, lpn: Lpn) {
        let number = lpn.0 / self.size;
        let group = self.order.find(number).unwrap_or_else(|| {
            let group = self.free.pop().expect("a group has a cached page");
            self.order.insert(group, number);
            self.recent[group as usize] = false;
            group
        });
        self.at.get_or_insert(group);
        self.held[group as usize] += 1;
        self.of[slot.index()] = group;
    }

    fn leave(&mut self, slot: Slot) {
        let group = std::mem::replace(&mut self.of[slot.index()], NONE);
        let held = &mut self.held[group as usize];
        *held -= 1;
        if *held > 0 {
            return;
        }
        if self.at == Some(group) {
            self.at = self.next(group).filter(|&next| next != group);
        }
        self.order.remove(group);
        self.free.push(group);
    }

    /// A write has hit the page in `slot`.
    pub fn set_recent(&mut self, slot: Slot) {
        self.recent[self.of[slot.index()] as usize] = true;
    }

    /// The page in `slot` leaves.
    pub fn remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        if reason == RemoveReason::Evicted && v.frames.is_dirty(slot) {
            self.written(&[slot], v);
        }
        self.leave(slot);
    }

    /// The page in `slot` has another address; that is no write.
    pub fn rename(&mut self, slot: Option<Slot>, to: Lpn) {
        if let Some(slot) = slot
            && self.order.key(self.of[slot.index()]) != to.0 / self.size
        {
            self.leave(slot);
            self.join(slot, to);
        }
    }

    /// Pages are written to flash: the pointer goes to the first of them if no dirty page comes before it.
    pub fn written(&mut self, slots: &[Slot], v: &View) {
        let held = slots.iter().filter(|slot| self.of[slot.index()] != NONE);
        let Some(&first) = held.min_by_key(|&&slot| self.place(slot, v)) else {
            return;
        };
        let next = (self.in_order(v)).find(|&slot| slot == first || v.frames.is_dirty(slot));
        if next == Some(first) {
            self.point_at(self.of[first.index()]);
        }
    }

    /// The pointer goes on to a group, in its second round if the group's bit is set, and clears the bits on its way.
    fn point_at(&mut self, group: u32) {
        while let Some(at) = self.at
            && (at != group || self.recent[at as usize])
        {
            self.recent[at as usize] = false;
            self.at = self.next(at);
        }
    }

    /// The group behind `group`, round the circle.
    fn next(&self, group: u32) -> Option<u32> {
        self.order.next(group).or_else(|| self.order.first())
    }

    /// Groups from the pointer on, once round.
    fn round(&self) -> impl Iterator<Item = u32> + '_ {
        let all = std::iter::successors(self.at, |&group| self.next(group));
        all.take(self.order.len())
    }

    /// Pages of a group, ascending.
    fn pages<'a>(&'a self, group: u32, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let first = self.order.key(group) * self.size;
        let slots = (first..first + self.size).filter_map(|lpn| v.slot_of(Lpn(lpn)));
        // A layer outside may hold a page of these addresses.
        slots.filter(move |slot| self.of[slot.index()] == group)
    }

    /// All pages in the order in which the pointer takes them.
    pub fn in_order<'a>(&'a self, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let groups = [false, true].into_iter().flat_map(move |recent| {
            let round = self.round();
            round.filter(move |&group| self.recent[group as usize] == recent)
        });
        groups.flat_map(move |group| self.pages(group, v))
    }

    /// A number for a page of a group: of two the one with the smaller number comes first in the order.
    pub fn place(&self, slot: Slot, v: &View) -> Option<u64> {
        /// More than any page number.
        const ROUND: u64 = 1 << 62;
        let recent = *self.recent.get(self.of[slot.index()] as usize)?;
        let start = self.at.map_or(0, |at| self.order.key(at) * self.size);
        let lpn = v.frames.lpn(slot).0;
        let ahead = if lpn < start { ROUND + lpn } else { lpn };
        Some(u64::from(recent) << 63 | ahead)
    }

    /// Pages by address. The pointer goes round them.
    pub fn lists(&self, v: &View, out: &mut PageLists) {
        let groups = std::iter::successors(self.order.first(), |&group| self.order.next(group));
        out.add("circle", groups.flat_map(|group| self.pages(group, v)));
    }

    /// `>5{20*,21}:1`: groups in order of address, each with its pages and its bit; the pointer is at the first one
    /// marked.
    #[cfg(feature = "conformance")]
    pub fn state(&self, v: &View, out: &mut String) {
        let groups = std::iter::successors(self.order.first(), |&group| self.order.next(group));
        let word = |group: u32| {
            let mark = if self.at == Some(group) { ">" } else { "" };
            let pages = crate::state::sorted(v, self.pages(group, v), true);
            let bit = u8::from(self.recent[group as usize]);
            format!("{mark}{}{{{pages}}}:{bit}", self.order.key(group))
        };
        out.push_str(&crate::state::joined_or_dash(groups.map(word)));
    }
}
