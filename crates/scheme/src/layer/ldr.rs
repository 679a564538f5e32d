//! LDR, the pages of large sequential writes that Prober keeps apart (sections 3.2 and 3.4).

use crate::View;
use crate::list::ListArena;
use destage_types::{ChannelId, Lpn, Slot};

/// Marks "no node" in a cursor.
const NONE: u32 = u32::MAX;

/// The pages of each channel by ascending (asn, LPN), the smallest at the tail of its list.
#[derive(Clone, Debug)]
struct ByAge {
    lists: ListArena,
    /// Serial number of the last write of every cached page.
    asn: Vec<u64>,
    /// Where the search for the next place of a batch starts, per list.
    cursor: Vec<u32>,
}

impl ByAge {
    fn new(capacity: usize, channels: usize) -> ByAge {
        ByAge {
            lists: ListArena::new(capacity, channels),
            asn: vec![0; capacity],
            cursor: vec![NONE; channels],
        }
    }

    /// Sorts a batch in, newest first: streams grow upwards, so one walk serves all of it.
    fn insert_all(&mut self, slots: &[Slot], v: &View) {
        for &slot in slots.iter().rev() {
            self.insert(channel(v, v.frames.lpn(slot)), slot, v);
        }
        self.cursor.fill(NONE);
    }

    /// The search starts at the newest page, or at the page of the batch that was put in last if
    /// that one is newer than `slot`.
    fn insert(&mut self, list: usize, slot: Slot, v: &View) {
        let key = |n: u32| (self.asn[n as usize], v.frames.lpn(Slot(n)));
        let mine = key(slot.0);
        let mut at = match self.cursor[list] {
            n if n != NONE && key(n) > mine => Some(n),
            _ => self.lists.head(list),
        };
        let mut newer = None;
        while let Some(n) = at.filter(|&n| key(n) > mine) {
            newer = at;
            at = self.lists.older(n);
        }
        match newer {
            Some(n) => self.lists.insert_older(list, slot.0, n),
            None => self.lists.push_head(list, slot.0),
        }
        self.cursor[list] = slot.0;
    }
}

/// The LDR list, and the order in which background layers take its pages.
#[derive(Clone, Debug)]
pub(super) struct Ldr {
    /// Head = the page pushed last, which the paper calls the tail.
    list: ListArena,
    member: Vec<bool>,
    /// Kept only for a background layer.
    by_age: Option<ByAge>,
}

impl Ldr {
    /// For `capacity` frames; with `channels` > 0 the pages of every channel are kept by age.
    pub(super) fn new(capacity: usize, channels: u32) -> Ldr {
        Ldr {
            list: ListArena::new(capacity, 1),
            member: vec![false; capacity],
            by_age: (channels > 0).then(|| ByAge::new(capacity, channels as usize)),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.list.len(0)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty(0)
    }

    /// Is there a background layer that takes pages by age?
    pub(super) fn keeps_ages(&self) -> bool {
        self.by_age.is_some()
    }

    #[inline]
    pub(super) fn contains(&self, slot: Slot) -> bool {
        !self.is_empty() && self.member[slot.index()]
    }

    /// The page in `slot`, in LDR or not, is written by request `asn`.
    #[inline]
    pub(super) fn stamp(&mut self, slot: Slot, asn: u64) {
        if let Some(order) = &mut self.by_age {
            order.asn[slot.index()] = asn;
        }
    }

    /// Appends one page.
    #[inline]
    pub(super) fn push(&mut self, slot: Slot, v: &View) {
        self.append(slot);
        self.sort_in(&[slot], v);
    }

    /// Appends one page; [`Ldr::sort_in`] must follow.
    #[inline]
    pub(super) fn append(&mut self, slot: Slot) {
        self.member[slot.index()] = true;
        self.list.push_head(0, slot.0);
    }

    /// Sorts appended pages in by age.
    #[inline]
    pub(super) fn sort_in(&mut self, slots: &[Slot], v: &View) {
        if let Some(order) = &mut self.by_age {
            order.insert_all(slots, v);
        }
    }

    /// Takes a page out.
    #[inline]
    pub(super) fn remove(&mut self, slot: Slot, v: &View) {
        self.member[slot.index()] = false;
        self.list.unlink(0, slot.0);
        if let Some(order) = &mut self.by_age {
            order.lists.unlink(channel(v, v.frames.lpn(slot)), slot.0);
        }
    }

    /// The page in `slot` was `from` and keeps its place in the list; that by age may change.
    pub(super) fn rename(&mut self, slot: Slot, from: Lpn, v: &View) {
        if let Some(order) = &mut self.by_age {
            order.lists.unlink(channel(v, from), slot.0);
            order.insert_all(&[slot], v);
        }
    }

    /// Pages from the one pushed last to the one pushed first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.from_head(0).map(Slot)
    }

    /// Pages from the one pushed first to the one pushed last.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.from_tail(0).map(Slot)
    }

    /// Pages that may go to one channel by ascending (asn, LPN), each with its serial number; none unless
    /// kept.
    pub(super) fn of_channel(
        &self,
        channel: ChannelId,
        v: &View,
    ) -> impl Iterator<Item = (Slot, u64)> + '_ {
        let list = list_of(channel, v);
        self.by_age.iter().flat_map(move |order| {
            let nodes = order.lists.from_tail(list);
            nodes.map(|n| (Slot(n), order.asn[n as usize]))
        })
    }
}

fn channel(v: &View, lpn: Lpn) -> usize {
    list_of(v.layout.channel(v.layout.chip(lpn)), v)
}

/// List of the pages that may go to a channel: one for all where any page may.
fn list_of(channel: ChannelId, v: &View) -> usize {
    match v.device.allocates_dynamically() {
        true => 0,
        false => channel.index(),
    }
}
