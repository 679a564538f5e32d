//! LDR, the pages of large sequential writes that Prober keeps apart (sections 3.2 and 3.4).

use super::lwrs::Lwrs;
use crate::lists::{List, Lists};
use crate::{BackgroundPage, View};
use destage_types::{ChannelId, Slot};

/// Marks "no node" in a cursor.
const NONE: u32 = u32::MAX;

/// The pages of each channel by ascending (asn, LPN), the smallest at the tail of its list.
#[derive(Clone, Debug)]
struct ByAge {
    lists: Lists,
    /// Serial number of the last write of every cached page.
    asn: Vec<u64>,
    /// Where the search for the next place of a batch starts, per list.
    cursor: Vec<u32>,
}

impl ByAge {
    fn new(capacity: usize, channels: usize) -> ByAge {
        ByAge {
            lists: Lists::new(capacity, channels),
            asn: vec![0; capacity],
            cursor: vec![NONE; channels],
        }
    }

    /// Sorts a batch in, newest first: streams grow upwards, so a page belongs behind the one that
    /// was put in before it, and all searches together pass over a list once.
    fn insert_all(&mut self, slots: &[Slot], v: &View) {
        for &slot in slots.iter().rev() {
            let list = list_of(v.layout.channel(v.chip(slot)), v);
            self.insert(list, slot, v);
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
            Some(n) => self.lists.insert_older(slot.0, n),
            None => self.lists.push_head(list, slot.0),
        }
        self.cursor[list] = slot.0;
    }
}

/// The LDR list, and the order in which background layers take its pages.
#[derive(Clone, Debug)]
pub(super) struct Ldr {
    /// Head = the page pushed last, which the paper calls the tail.
    list: List,
    /// Is the page in the list? Asked at every hit, and smaller than the links of the list.
    member: Vec<bool>,
    /// Kept only for a background layer.
    by_age: Option<ByAge>,
}

impl Ldr {
    /// For `capacity` frames; with `channels` > 0 the pages of every channel are kept by age.
    pub(super) fn new(capacity: usize, channels: u32) -> Ldr {
        Ldr {
            list: List::new(capacity),
            member: vec![false; capacity],
            by_age: (channels > 0).then(|| ByAge::new(capacity, channels as usize)),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
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
        self.list.push_head(slot);
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
    pub(super) fn remove(&mut self, slot: Slot) {
        self.member[slot.index()] = false;
        self.list.unlink(slot);
        if let Some(order) = &mut self.by_age {
            order.lists.unlink(slot.0);
        }
    }

    /// The page in `slot` has another address and keeps its place in the list; that by age may
    /// change.
    pub(super) fn rename(&mut self, slot: Slot, v: &View) {
        if let Some(order) = &mut self.by_age {
            order.lists.unlink(slot.0);
            order.insert_all(&[slot], v);
        }
    }

    /// Are there pages for a background layer, on any channel?
    pub(super) fn offers_pages(&self) -> bool {
        self.by_age.is_some() && !self.is_empty()
    }

    /// Pages that may go to `channel`, by ascending (serial number, LPN); none without a background layer.
    /// Their streams are in `queue`.
    pub(super) fn of_channel<'a>(
        &'a self,
        queue: &'a Lwrs,
        channel: ChannelId,
        v: &View,
    ) -> impl Iterator<Item = BackgroundPage> + use<'a> {
        let list = list_of(channel, v);
        let by_age = self.by_age.iter();
        by_age.flat_map(move |by_age| {
            by_age.lists.from_tail(list).map(|node| BackgroundPage {
                slot: Slot(node),
                outdated: queue.outdated(by_age.asn[node as usize]),
            })
        })
    }

    /// Serial number of the last write of the page in `slot`; only for a background layer.
    #[cfg(test)]
    pub(super) fn age(&self, slot: Slot) -> Option<u64> {
        Some(self.by_age.as_ref()?.asn[slot.index()])
    }

    /// Pages from the one pushed last to the one pushed first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.from_head()
    }

    /// Pages from the one pushed first to the one pushed last.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.from_tail()
    }
}

/// List of the pages that may go to a channel: one for all where any page may.
fn list_of(channel: ChannelId, v: &View) -> usize {
    if v.device.allocates_dynamically() {
        0
    } else {
        channel.index()
    }
}
