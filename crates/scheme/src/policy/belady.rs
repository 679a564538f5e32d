//! Belady: knows the future; the page whose next use is farthest away leaves, or never enters.
//!
//! Source: L. Belady, IBM Systems Journal 5(2), 1966; with bypass: S. Baek, J. Cho, J. Choi, PLoS
//! ONE 12(3), 2017 (ProCache), section 3 and Table 1.
//! Parameters: `bypass` a page whose next use lies behind that of every cached page does not
//! enter, default true; `next-of` any access, a write, or an overwrite of dirty data, default any (a matter of
//! [`Future`]).
//! Order: farthest next use first; offline, so no candidates for layers.
//! Ties: equal (never) next uses leave by smallest LPN; with bypass they still replace.
//! State: a heap of 8 B and a position of 4 B per page. Cost: O(log C).
//!
//! Departures: none. Next uses count page accesses of the run, [`Access::seq`].
//!
//! With `next-of=overwrite` the run has the fewest flash writes that any scheme can have with as many frames,
//! those of pages that are still dirty at the end included: each page that is dirty until its next write or TRIM
//! saves one. Clean pages have no next use then, so reads take no frame from dirty pages. With `bypass=false` it is
//! the fewest of all schemes that put each written page into a frame. TRIMs of parts of a page count for nothing.

#[cfg(test)]
mod tests;

use crate::contract::boxed;
use crate::info::{PaperSource, ParamInfo, Role, SchemeInfo, Words};
use crate::policy::future::{Future, NEVER, NextOf};
use crate::{
    Access, Column, Env, Expr, Frames, Notes, PageLists, Pages, Policy, RemoveReason, View, params,
};
use destage_types::{Lpn, Op, Slot};
use std::hint::select_unpredictable;
use std::sync::Arc;

/// `belady`: offline optimum with bypass.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "belady",
    summary: "Offline bound: keeps the pages whose next use is nearest, or bypasses the cache.",
    source: PaperSource {
        paper: "Baek, Cho, Choi, Don't make cache too complex, PLoS ONE 12(3)",
        year: Some(2017),
        section: "3, Table 1",
        certain: true,
    },
    role: Role::Offline,
    params: &[BeladyParams::PARAMS],
    ties: "equal next use: smallest LPN",
    write_buffer: true,
    vectors: &["belady1", "belady2"],
    build: Some(boxed::<Pages<Belady>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Belady`].
    pub struct BeladyParams {
        /// a write whose next use is later than every cached one goes to flash
        bypass: bool = ParamInfo::flag(true).source("3"),
        /// requests that count as the next use; overwrite: the fewest flash writes of all schemes
        next_of: NextOf = ParamInfo::word(NextOf::WORDS).source("3"),
    }
}

/// Children of a node of the heap.
const FAN: usize = 4;

/// A cached page: next use in the high half, slot in the low half.
#[derive(Clone, Copy, Debug)]
struct Entry(u64);

impl Entry {
    #[inline]
    fn new(next: u32, slot: Slot) -> Entry {
        Entry(u64::from(next) << 32 | u64::from(slot.0))
    }

    #[inline]
    fn next(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    fn slot(self) -> Slot {
        Slot(self.0 as u32)
    }

    /// Does it leave before `other`?
    #[inline]
    fn is_above(self, other: Entry, frames: &Frames) -> bool {
        match self.next().cmp(&other.next()) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => frames.lpn(self.slot()) < frames.lpn(other.slot()),
        }
    }
}

/// An entry and its place in the heap.
#[derive(Clone, Copy)]
struct Placed {
    place: usize,
    entry: Entry,
}

/// The one of two entries whose next use is farther away.
#[inline(always)]
fn higher(a: Placed, b: Placed) -> Placed {
    let second = b.entry.0 > a.entry.0;
    Placed {
        place: select_unpredictable(second, b.place, a.place),
        entry: Entry(select_unpredictable(second, b.entry.0, a.entry.0)),
    }
}

/// The offline optimum.
#[derive(Clone, Debug)]
pub struct Belady {
    future: Arc<Future>,
    bypass: bool,
    /// Does only dirty data have a next use?
    dirty_only: bool,
    /// Heap with the page that leaves next at the root.
    heap: Vec<Entry>,
    /// Place in the heap by slot.
    at: Vec<u32>,
    /// The root has left and its place waits for the page that replaces it.
    hole: bool,
    notes: Notes,
}

impl Belady {
    /// Which accesses `expr`, a layer named `belady`, counts as the next use.
    pub fn next_of(expr: &Expr, env: &Env) -> NextOf {
        BeladyParams::of(expr, env).next_of
    }

    /// The next use of the page of `a`; `dirty` says whether it has data that are not on flash.
    #[inline]
    fn next_use(&self, a: &Access, dirty: bool) -> u32 {
        match self.dirty_only && a.op == Op::Read && !dirty {
            true => NEVER,
            false => self.future.key(a.seq),
        }
    }

    #[inline]
    fn entry(&self, slot: Slot, a: &Access, v: &View) -> Entry {
        Entry::new(self.next_use(a, v.frames.is_dirty(slot)), slot)
    }

    #[inline]
    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.at[entry.slot().index()] = at as u32;
    }

    /// Puts `entry` into the free place `at` or above it.
    #[inline]
    fn rise(&mut self, mut at: usize, entry: Entry, frames: &Frames) {
        while at > 0 {
            let parent = (at - 1) / FAN;
            if !entry.is_above(self.heap[parent], frames) {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Puts `entry` into the free place `at` or below it.
    #[inline]
    fn sink(&mut self, mut at: usize, entry: Entry, frames: &Frames) {
        while let Some(child) = self.highest_child(at, frames)
            && child.entry.is_above(entry, frames)
        {
            self.put(at, child.entry);
            at = child.place;
        }
        self.put(at, entry);
    }

    /// The child of place `at` that leaves first.
    #[inline(always)]
    fn highest_child(&self, at: usize, frames: &Frames) -> Option<Placed> {
        let first = FAN * at + 1;
        let children = self.heap.get(first..)?;
        // Next uses differ, but for never, and for overwrites by one TRIM.
        if let Some(&[a, b, c, d]) = children.first_chunk::<FAN>() {
            // Which one it is cannot be guessed, so nothing branches on it.
            let child = |i: usize, entry: Entry| Placed {
                place: first + i,
                entry,
            };
            let left = higher(child(0, a), child(1, b));
            let right = higher(child(2, c), child(3, d));
            let best = higher(left, right);
            if best.entry.next() != NEVER && !self.dirty_only {
                return Some(best);
            }
        }
        let children = (first..).zip(children.iter().take(FAN));
        let children = children.map(|(place, &entry)| Placed { place, entry });
        children.reduce(|best, other| {
            if other.entry.is_above(best.entry, frames) {
                other
            } else {
                best
            }
        })
    }

    /// Puts `entry` where it belongs; place `at` is free.
    #[inline]
    fn settle(&mut self, at: usize, entry: Entry, frames: &Frames) {
        if at > 0 && entry.is_above(self.heap[(at - 1) / FAN], frames) {
            self.rise(at, entry, frames);
        } else {
            self.sink(at, entry, frames);
        }
    }

    /// Fills the hole at the root from the end of the heap.
    #[inline]
    fn close_hole(&mut self, frames: &Frames) {
        if std::mem::take(&mut self.hole) {
            self.take_out(0, frames);
        }
    }

    #[inline]
    fn take_out(&mut self, at: usize, frames: &Frames) {
        let moved = self.heap.pop();
        if at < self.heap.len() {
            let moved = moved.expect("the heap is longer than a place in it");
            self.settle(at, moved, frames);
        }
    }

    /// Is the next use of a page that is not cached behind that of every cached page of a full
    /// cache? Equal is not behind.
    #[inline]
    fn is_bypassed(&mut self, a: &Access, v: &View) -> bool {
        if !self.bypass || v.frames.used() < v.frames.capacity() {
            return false;
        }
        self.close_hole(v.frames);
        let farthest = self
            .heap
            .first()
            .is_some_and(|e| self.next_use(a, false) > e.next());
        let past = farthest && v.slot_of(a.lpn).is_none();
        if past {
            self.notes.add(Column::Result, || "bypass".to_owned());
        }
        past
    }
}

impl Policy for Belady {
    /// # Panics
    /// The environment does not know the future.
    fn build(expr: &Expr, env: &Env) -> Belady {
        let slots = env.slots as usize;
        let BeladyParams { bypass, next_of } = BeladyParams::of(expr, env);
        Belady {
            future: env.future.clone().expect("an offline run knows its future"),
            bypass,
            dirty_only: next_of == NextOf::Overwrite,
            heap: Vec::with_capacity(slots),
            at: vec![0; slots],
            hole: false,
            notes: Notes::default(),
        }
    }

    fn on_rename(&mut self, _from: Lpn, _to: Lpn, slot: Option<Slot>, v: &View) {
        if let Some(slot) = slot {
            self.close_hole(v.frames);
            let at = self.at[slot.index()] as usize; // its LPN, and so its place among ties, is new
            self.settle(at, self.heap[at], v.frames);
        }
    }

    #[inline]
    fn admits(&mut self, a: &Access, v: &View) -> bool {
        !self.is_bypassed(a, v)
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.notes.add(Column::Result, || "insert".to_owned());
        let entry = self.entry(slot, a, v);
        if std::mem::take(&mut self.hole) {
            return self.sink(0, entry, v.frames);
        }
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry, v.frames);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.close_hole(v.frames);
        let at = self.at[slot.index()] as usize;
        self.settle(at, self.entry(slot, a, v), v.frames);
    }

    fn on_partial_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.on_hit(slot, a, v);
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.close_hole(v.frames);
        let at = self.at[slot.index()] as usize;
        // The page that replaces an evicted page mostly belongs near the root: one way down, not
        // two.
        if at == 0 && reason == RemoveReason::Evicted {
            self.hole = true;
        } else {
            self.take_out(at, v.frames);
        }
    }

    #[inline]
    fn victim(&mut self, _a: &Access, v: &View) -> Option<Slot> {
        self.close_hole(v.frames);
        self.heap.first().map(|e| e.slot())
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        let pages = self.heap.iter().skip(usize::from(self.hole));
        let mut pages: Vec<Slot> = pages.map(|entry| entry.slot()).collect();
        v.frames.sort_by_lpn(&mut pages);
        out.add("pages", pages);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let pages = self.heap.iter().skip(usize::from(self.hole));
        let mut pages: Vec<(Lpn, u32)> =
            pages.map(|e| (v.frames.lpn(e.slot()), e.next())).collect();
        pages.sort_unstable();
        let word = |&(lpn, next): &(Lpn, u32)| match next {
            u32::MAX => format!("({lpn},inf)"),
            next => format!("({lpn},{next})"),
        };
        let words: Vec<String> = pages.iter().map(word).collect();
        out.push_str(&format!("{{{}}}", words.join(" ")));
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<crate::Note>) {
        self.notes.take(out);
    }
}
