//! The mapping layer `cac` around what the buffer has.

use super::super::frames::{FrameState, Seen};
use super::Buffer;
use crate::reference::mapping::Renames;

impl Buffer {
    /// The renames of a write that comes; its pairs enter the table when it has all its frames.
    pub(super) fn rename_request(&mut self, seen: &Seen) {
        let Some(mut art) = self.art.take() else {
            return;
        };
        let blocks: Vec<(u64, Option<u64>)> = self
            .accesses(seen)
            .iter()
            .zip(seen.request.prev)
            .map(|(access, old)| (access.lpn, old))
            .collect();
        let pairs = art.rename_all(&blocks, seen.request.atomic, self);
        self.pairs.insert(seen.number, pairs);
        self.moved |= blocks.iter().any(|block| block.1.is_some());
        art.map.retain(|cur, _| self.store.has(*cur));
        self.art = Some(art);
    }

    /// A write has its last frame.
    pub(in super::super) fn ends(&mut self, seen: &Seen) {
        let pairs = self.pairs.remove(&seen.number).unwrap_or_default();
        if let Some(art) = &mut self.art {
            art.enter(pairs, seen.request.atomic);
            art.map.retain(|cur, _| self.store.has(*cur));
        }
    }

    /// Pages whose flash copies are invalid, since this was asked last.
    pub(in super::super) fn take_unmapped(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.unmapped)
    }

    /// May pages have been renamed or dropped, since this was asked last?
    pub(in super::super) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// A page has left.
    pub(super) fn drop_translation(&mut self, lpn: u64) {
        self.art.iter_mut().for_each(|art| _ = art.map.remove(&lpn));
    }
}

impl Renames for Buffer {
    fn has(&self, lpn: u64) -> bool {
        self.store.has(lpn)
    }

    fn forget_ghost(&mut self, lpn: u64) {
        self.scheme.forget_ghost(lpn);
    }

    fn rename(&mut self, from: u64, to: u64, ghosts: bool) -> bool {
        let resident = self.store.has(from);
        if resident {
            self.outdate_flights(from);
        }
        if !(resident || ghosts) || !self.scheme.rename(from, to, &self.store) {
            return false;
        }
        if let Some(frame) = self.store.frames.remove(&from) {
            self.store.frames.insert(to, frame);
            let (from, to) = (from as usize, to as usize);
            let mut state = self.states.remove(&from).expect("it is cached");
            // Nobody waits for the unit of an older version (DR-4).
            if self.on_demand && matches!(state, FrameState::Occupied(_)) {
                state = FrameState::Clean;
            }
            self.states.insert(to, state);
            if let Some(last) = self.written.remove(&from) {
                self.written.insert(to, last);
            }
            self.renamed.push(to as u64);
        }
        true
    }

    fn discard(&mut self, lpn: u64) {
        if let Some(state) = self.state(lpn as usize) {
            self.outdate_flights(lpn);
            self.removed(lpn);
            self.alone += usize::from(matches!(state, FrameState::Occupied(_)));
        }
    }

    fn unmap(&mut self, lpn: u64) {
        self.unmapped.push(lpn as usize);
    }
}
