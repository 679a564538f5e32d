//! Which data leave the buffer for a frame.

use super::super::frames::{FrameState, Left};
use super::Buffer;
use crate::reference::request::SlowAccess;

impl Buffer {
    /// Frees frames until there is one, and for a page that enters until the scheme has room for it. False if a victim
    /// has left: its data are handed over before the next one is chosen.
    pub(super) fn make_room(&mut self, lpn: usize, enters: bool) -> bool {
        loop {
            let full = !self.on_demand && self.taken_frames() >= self.store.capacity;
            let refused = enters && self.scheme.full(lpn as u64, &self.store);
            if !full && !refused {
                return true;
            }
            if !self.listed {
                self.evict(enters.then_some(lpn as u64));
                return false;
            }
            self.evict_clean(lpn, enters);
        }
    }

    /// On demand, room is made for all pages of a write that comes in as a whole. Every victim is
    /// chosen for the first page, if it is not cached. False if a victim has left, as for
    /// [`Self::make_room`].
    pub(super) fn make_room_for_all(&mut self, accesses: &[SlowAccess]) -> bool {
        let first = accesses[0].lpn;
        self.serves(first as usize, true);
        let mut entering: Vec<u64> = accesses.iter().map(|a| a.lpn).collect();
        entering.retain(|&x| !self.store.has(x) && !self.scheme.bypasses(x, &self.store));
        let has_room = self.states.len() + entering.len() <= self.store.capacity;
        if !has_room {
            self.evict((entering.first() == Some(&first)).then_some(first));
        }
        self.unserved();
        has_room
    }

    fn evict_clean(&mut self, lpn: usize, enters: bool) {
        let incoming = enters.then_some(lpn as u64);
        if enters {
            self.scheme.prepare(incoming, &self.store);
        }
        let order = self.scheme.next_victims(incoming, &self.store);
        let clean = |x: &&u64| self.state(**x as usize) == Some(FrameState::Clean);
        let victim = *order.iter().find(clean).expect("a page is clean");
        self.scheme.take(victim, &self.store);
        self.store.frames.remove(&victim);
        self.states.remove(&(victim as usize));
        self.drop_translation(victim);
        self.tell_ahead(|ahead| ahead.left(victim, false));
    }

    /// The scheme's victim leaves: what is dirty is to be programmed, what is under way is on its own.
    pub(super) fn evict(&mut self, incoming: Option<u64>) {
        let mut unit = self.scheme.victim(incoming, &self.store);
        assert!(self.scheme.whole_block().is_none(), "padding has no frames");
        assert!(!unit.is_empty(), "a victim unit holds a page");
        unit.sort_unstable();
        for page in unit {
            let frame = self.store.frames.remove(&page).expect("it is cached");
            let lpn = page as usize;
            let sectors = frame.valid;
            let state = self.states.remove(&lpn).expect("it has a frame");
            self.drop_translation(page);
            self.tell_ahead(|ahead| ahead.left(page, state == FrameState::Dirty));
            match state {
                FrameState::Clean => {}
                FrameState::Occupied(place) => {
                    self.alone += 1;
                    self.adopted.push(place);
                }
                FrameState::Dirty => self.leaves(Left { lpn, sectors }),
            }
        }
    }

    pub(super) fn leaves(&mut self, left: Left) {
        self.alone += 1;
        self.left.push(left);
    }

    /// Newer data of these sectors exist: they leave the cache without a program.
    pub(super) fn cut(&mut self, access: SlowAccess) {
        let lpn = access.lpn as usize;
        if !self.store.has(access.lpn) {
            return;
        }
        self.outdate_flights(access.lpn);
        let frame = self.store.frames.get_mut(&access.lpn).expect("it hits");
        let was_dirty = frame.dirty != 0;
        frame.valid &= !access.mask;
        frame.dirty &= !access.mask;
        let (valid, dirty) = (frame.valid, frame.dirty);
        if valid == 0 {
            let state = self.state(lpn);
            self.removed(access.lpn);
            self.alone += usize::from(matches!(state, Some(FrameState::Occupied(_))));
        } else if was_dirty && dirty == 0 {
            self.states.insert(lpn, FrameState::Clean);
            self.cleaned(&[access.lpn]);
        } else if self.on_demand && !was_dirty {
            // Its newest version goes past the cache: nobody waits for the unit of the older one (DR-4).
            self.states.insert(lpn, FrameState::Clean);
        }
    }
}
