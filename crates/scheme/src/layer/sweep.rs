//! The dirty pages that a scheme would give up first, kept until the scheme changes.
//!
//! A background layer that looks for pages by the order of eviction is asked for every idle channel
//! and with everything that happens on the device, far more often than the order changes, and most
//! of what it would look at is clean. Where few pages are dirty they are put in order by the places that
//! the scheme gives them, if it can, and not looked for among all others.

use super::dirty_set::DirtySet;
use crate::{Access, Admission, Expr, Layer, RemoveReason, Request, Scheme, SchemeNotice, View};
use destage_types::{Lpn, Op, Slot};

/// Pages that are kept; further ones are looked for each time.
const MOST: usize = 64;

/// Pages for each dirty one from which on placing the dirty ones is less work than passing over the others.
const FEW: usize = 4;

/// Frames up to which debug builds look at them all to check what they found: with more, runs would take three times as long.
pub(super) const CHECKED: usize = 256;

/// A scheme and the first dirty pages of its order of eviction.
#[derive(Clone, Debug)]
pub struct DirtyVictims<S> {
    scheme: S,
    /// Pages that are looked at, at least 1.
    window: usize,
    /// All dirty pages.
    set: DirtySet,
    /// The first of them in the order of eviction.
    dirty: Vec<Slot>,
    /// Are these all there are?
    all: bool,
    /// Does an access move only its own page in the order? Then the others are not looked for again.
    moves_one: bool,
    /// Partial trims up to then, unless the scheme has changed since.
    looked_at: Option<u64>,
    places: Vec<(u64, Slot)>,
}

impl<S: Scheme> DirtyVictims<S> {
    /// Over the first `window` candidates of `scheme`.
    pub fn new(scheme: S, window: usize) -> DirtyVictims<S> {
        DirtyVictims {
            moves_one: false,
            scheme,
            window,
            set: DirtySet::default(),
            dirty: Vec::new(),
            all: false,
            looked_at: None,
            places: Vec::new(),
        }
    }

    /// The same, told by `expr` whether an access moves its own page alone.
    pub fn around(self, expr: &Expr) -> DirtyVictims<S> {
        let moves_one = self.window == usize::MAX && expr.policy().scheme().recency_stack;
        DirtyVictims { moves_one, ..self }
    }

    /// Looks at the pages again if they may have changed; to be called before
    /// [`DirtyVictims::first`].
    pub fn refresh(&mut self, v: &View) {
        let now = Some(v.frames.partial_trims());
        let has_next = self.all || !self.dirty.is_empty();
        if std::mem::replace(&mut self.looked_at, now) == now && has_next {
            return;
        }
        self.dirty.clear();
        if !self.set.is_empty() && !self.take_by_place(v) {
            self.pass_over(v);
        }
        self.all = self.dirty.len() < MOST;
    }

    /// The first dirty pages by their places, if that is possible and less work.
    fn take_by_place(&mut self, v: &View) -> bool {
        if !self.has_places(v) {
            return false;
        }
        let scheme = &self.scheme;
        let place = |&slot: &Slot| scheme.place(slot, v).map(|place| (place, slot));
        self.places.clear();
        self.places
            .extend(self.set.slots().iter().filter_map(place));
        if self.places.len() > MOST {
            self.places.select_nth_unstable(MOST - 1);
            self.places.truncate(MOST);
        }
        self.places.sort_unstable();
        self.dirty.extend(self.places.iter().map(|&(_, slot)| slot));
        true
    }

    /// Are few pages dirty, and has the scheme places for them? A window counts clean pages too.
    fn has_places(&self, v: &View) -> bool {
        let few = self.set.len() * FEW < v.frames.used();
        let first = self.set.slots().first();
        self.window == usize::MAX
            && few
            && first.is_some_and(|&slot| self.scheme.place(slot, v).is_some())
    }

    fn pass_over(&mut self, v: &View) {
        let (dirty, mut left) = (&mut self.dirty, self.window);
        let most = self.set.len().min(MOST);
        self.scheme.next_victims(v, &mut |slot| {
            if v.frames.is_dirty(slot) {
                dirty.push(slot);
            }
            left -= 1;
            left > 0 && dirty.len() < most
        });
    }

    /// The first of the pages that is dirty and accepted.
    pub fn first(&self, v: &View, accept: impl Fn(Slot) -> bool) -> Option<Slot> {
        debug_assert_eq!(self.looked_at, Some(v.frames.partial_trims()));
        let wanted = |slot: Slot| v.frames.is_dirty(slot) && accept(slot);
        let kept = self.dirty.iter().copied().find(|&slot| wanted(slot));
        let found = if kept.is_some() || self.all {
            kept
        } else if self.has_places(v) {
            self.first_by_place(v, wanted)
        } else {
            self.search(v, wanted)
        };
        debug_assert!(
            v.frames.used() > CHECKED || found == self.search(v, wanted),
            "nothing has changed"
        );
        found
    }

    fn first_by_place(&self, v: &View, wanted: impl Fn(Slot) -> bool) -> Option<Slot> {
        let slots = self.set.slots().iter().copied();
        let pages = slots.filter(|&slot| wanted(slot));
        pages.min_by_key(|&slot| self.scheme.place(slot, v))
    }

    /// These pages are clean now. The others stay in their order if they have places. A window counts clean pages too.
    fn cleaned(&mut self, slots: &[Slot], v: &View) {
        let has_place = |&slot: &Slot| self.scheme.place(slot, v).is_some();
        if self.window == usize::MAX && slots.iter().all(has_place) {
            self.dirty.retain(|&slot| v.frames.is_dirty(slot));
        } else {
            self.looked_at = None;
        }
        slots.iter().for_each(|&slot| self.set.remove(slot));
    }

    /// The page in `slot` was accessed or leaves, and is dirty if it is in the set.
    fn moved(&mut self, slot: Slot, v: &View) {
        let scheme = &self.scheme;
        let place = scheme.place(slot, v).filter(|_| self.moves_one);
        let Some(place) = place else {
            self.looked_at = None;
            return;
        };
        self.dirty.retain(|&other| other != slot);
        if !self.set.contains(slot) {
            return;
        }
        let before = |&other: &Slot| scheme.place(other, v) < Some(place);
        let at = self.dirty.partition_point(before);
        if at < self.dirty.len() || self.all {
            self.dirty.insert(at, slot);
            self.all &= self.dirty.len() < MOST;
            self.dirty.truncate(MOST);
        }
    }

    fn search(&self, v: &View, wanted: impl Fn(Slot) -> bool) -> Option<Slot> {
        let (mut left, mut found) = (self.window, None);
        self.scheme.next_victims(v, &mut |slot| {
            found = wanted(slot).then_some(slot);
            left -= 1;
            found.is_none() && left > 0
        });
        found
    }
}

impl<S: Scheme> Layer for DirtyVictims<S> {
    crate::inside!(scheme: S);

    #[inline(always)]
    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        let known = self.scheme.rename(from, to, slot, v);
        match slot {
            Some(slot) => self.moved(slot, v),
            None => self.looked_at = None,
        }
        known
    }

    #[inline(always)]
    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        if !self.moves_one {
            self.looked_at = None;
        }
        self.scheme.on_request(r, v)
    }

    #[inline(always)]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        if v.frames.is_dirty(slot) {
            self.set.insert(slot);
        }
        self.scheme.on_insert(slot, a, v);
        self.moved(slot, v);
    }

    #[inline(always)]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        if a.op == Op::Write {
            self.set.insert(slot);
        }
        self.scheme.on_hit(slot, a, v);
        self.moved(slot, v);
    }

    #[inline(always)]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.set.remove(slot);
        self.moved(slot, v);
        self.scheme.on_remove(slot, reason, v);
    }

    #[inline(always)]
    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        match notice {
            SchemeNotice::Cleaned(slots) => self.cleaned(slots, v),
            _ if self.moves_one => {}
            _ => self.looked_at = None,
        }
        self.scheme.on_notice(notice, v);
    }
}
