//! How data come into the buffer.

use super::super::frames::{FrameState, Left, PageWrite, Passage, Written};
use super::Buffer;
use crate::reference::request::SlowAccess;
use crate::reference::store::Frame;

impl Buffer {
    /// Written data enter the cache, or replace older ones there. They need another frame unless the page `stays` in
    /// its own.
    pub(super) fn write_cached(
        &mut self,
        page: &PageWrite,
        stays: bool,
        passage: &mut Passage,
    ) -> Written {
        let PageWrite { lpn, sectors, .. } = *page;
        let occupied = matches!(self.state(lpn), Some(FrameState::Occupied(_)));
        let takes = !stays && self.state(lpn) != Some(FrameState::Clean);
        if takes && !self.may_take() {
            return Written::Waits;
        }
        passage.replaces |= takes && occupied && !self.on_demand;
        if passage.replaces && !self.make_room(lpn, false) {
            return Written::MadeRoom;
        }
        passage.replaces = false;
        // It may have left while room was made.
        let Some(state) = self.state(lpn) else {
            if !self.make_room(lpn, true) {
                return Written::MadeRoom;
            }
            self.insert(lpn, sectors, sectors);
            return Written::Granted;
        };
        if takes && !self.on_demand {
            self.alone += 1;
        }
        let all = self.store.full();
        let frame = self.store.frames.get_mut(&(lpn as u64)).expect("it hits");
        frame.valid = (frame.valid | sectors) & all;
        frame.dirty |= sectors;
        self.scheme.touch(lpn as u64, true, &self.store);
        self.tell_ahead(|ahead| ahead.hit(lpn as u64, true));
        self.used(lpn);
        if stays && state != FrameState::Dirty {
            let frame = self.store.frames.get_mut(&(lpn as u64)).expect("it hits");
            frame.dirty = 0;
            self.cleaned(&[lpn as u64]);
        } else {
            self.states.insert(lpn, FrameState::Dirty);
        }
        match stays {
            true => Written::Hit,
            false => Written::Granted,
        }
    }

    /// Its data take a frame and are programmed at once, past the cache.
    pub(super) fn write_past(&mut self, access: SlowAccess) -> Written {
        self.cut(access);
        if !self.may_take() {
            return Written::Waits;
        }
        let lpn = access.lpn as usize;
        if !self.make_room(lpn, false) {
            return Written::MadeRoom;
        }
        let sectors = access.mask;
        self.leaves(Left { lpn, sectors });
        Written::Granted
    }

    /// A page that is not cached comes in.
    pub(super) fn insert(&mut self, lpn: usize, valid: u128, dirty: u128) {
        let page = lpn as u64;
        self.store.frames.insert(page, Frame { valid, dirty });
        self.store.been_full |= self.store.frames.len() >= self.store.capacity;
        let state = match dirty {
            0 => FrameState::Clean,
            _ => FrameState::Dirty,
        };
        self.states.insert(lpn, state);
        self.scheme.admit(page, &self.store);
        self.tell_ahead(|ahead| ahead.entered(page));
        self.used(lpn);
    }
}
