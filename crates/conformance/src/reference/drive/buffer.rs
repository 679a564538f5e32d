//! Frames: which logical units the buffer holds, and in which state.

use std::collections::BTreeMap;

use super::config::{DriveConfig, Order};
use super::groups::Groups;

/// State of the newest data of a logical unit in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameState {
    /// Not handed over.
    Dirty,
    /// In an open, queued or running unit, at this place.
    Occupied(usize),
    /// Flash has it.
    Clean,
}

/// The frame with the newest data of a logical unit.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// What may happen to it.
    pub state: FrameState,
    /// Position in the order of the policy.
    stamp: u64,
    /// Sectors of 512 bytes that are there.
    pub sectors: u128,
}

/// How a write to a page went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// Into the frame that was there.
    Hit,
    /// Into a frame that was free or clean.
    Granted,
    /// There is none.
    Waits,
}

/// The buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    capacity: usize,
    order: Order,
    in_place: bool,
    frames: BTreeMap<usize, Frame>,
    /// Logical units by position, by state.
    dirty: BTreeMap<u64, usize>,
    clean: BTreeMap<u64, usize>,
    /// Occupied frames whose logical unit has newer data.
    superseded: usize,
    stamps: u64,
    /// For orders by address.
    groups: Option<Groups>,
}

impl Buffer {
    /// All frames are free.
    pub fn new(c: &DriveConfig) -> Buffer {
        Buffer {
            capacity: c.frames as usize,
            order: c.order,
            in_place: c.rewrite_in_place,
            frames: BTreeMap::new(),
            dirty: BTreeMap::new(),
            clean: BTreeMap::new(),
            superseded: 0,
            stamps: 0,
            groups: match c.order {
                Order::Wow(size) => Some(Groups::new(size, false)),
                Order::Cscan(size) => Some(Groups::new(size, true)),
                Order::Fifo | Order::Lru => None,
            },
        }
    }

    /// The newest data of a logical unit.
    pub fn frame(&self, lpn: usize) -> Option<Frame> {
        self.frames.get(&lpn).copied()
    }

    /// Pages not handed over.
    pub fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Pages not handed over, in the order of the policy.
    pub fn dirty_in_order(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        self.in_order(&self.dirty)
    }

    fn in_order<'a>(
        &'a self,
        list: &'a BTreeMap<u64, usize>,
    ) -> Box<dyn Iterator<Item = usize> + 'a> {
        let Some(groups) = &self.groups else {
            return Box::new(list.values().copied());
        };
        let numbers = groups.in_order().into_iter();
        Box::new(numbers.flat_map(|number| list.range(groups.pages(number)).map(|(_, &lpn)| lpn)))
    }

    /// A page is handed over, or replaced in its open unit: the pointer takes it if no dirty page comes before it
    /// (D-10/4).
    pub fn taken(&mut self, lpn: usize) {
        let Some(groups) = &mut self.groups else {
            return;
        };
        let numbers = groups.in_order().into_iter();
        let mut pages = numbers.flat_map(|number| groups.pages(number));
        let next = pages.find(|page| *page == lpn as u64 || self.dirty.contains_key(page));
        if next == Some(lpn as u64) {
            groups.take(lpn);
        }
    }

    fn list(&mut self, state: FrameState) -> Option<&mut BTreeMap<u64, usize>> {
        match state {
            FrameState::Dirty => Some(&mut self.dirty),
            FrameState::Clean => Some(&mut self.clean),
            FrameState::Occupied(_) => None,
        }
    }

    /// Puts a frame in its list.
    fn put(&mut self, lpn: usize, frame: Frame) {
        self.frames.insert(lpn, frame);
        if let Some(list) = self.list(frame.state) {
            list.insert(frame.stamp, lpn);
        }
    }

    /// Takes a frame out of its list.
    fn take(&mut self, lpn: usize) -> Option<Frame> {
        let frame = self.frames.remove(&lpn)?;
        if let Some(list) = self.list(frame.state) {
            list.remove(&frame.stamp);
        }
        Some(frame)
    }

    /// The position of a page that is used, or comes in.
    fn position(&mut self, lpn: usize, before: Option<Frame>) -> u64 {
        match (before, self.order) {
            (Some(frame), Order::Fifo) => frame.stamp,
            (_, Order::Wow(_) | Order::Cscan(_)) => lpn as u64,
            _ => {
                self.stamps += 1;
                self.stamps
            }
        }
    }

    /// A free frame, or that of the next clean page.
    fn make_room(&mut self) -> bool {
        if self.frames.len() + self.superseded < self.capacity {
            return true;
        }
        let Some(lpn) = self.in_order(&self.clean).next() else {
            return false;
        };
        self.take(lpn);
        if let Some(groups) = &mut self.groups {
            let pages = groups.pages(groups.number_of(lpn));
            let pages = pages.start as usize..pages.end as usize;
            if self.frames.range(pages).next().is_none() {
                groups.leaves(lpn);
            }
        }
        true
    }

    /// A read used a page.
    pub fn read_hit(&mut self, lpn: usize) {
        if let Some(frame) = self.take(lpn) {
            let stamp = self.position(lpn, Some(frame));
            self.put(lpn, Frame { stamp, ..frame });
        }
    }

    /// A read missed; its data enter if a frame is free or clean. Has the page come in?
    pub fn read_miss(&mut self, lpn: usize, sectors: u128) -> bool {
        if let Some(frame) = self.frames.get_mut(&lpn) {
            frame.sectors |= sectors;
            return false;
        }
        if !self.make_room() {
            return false;
        }
        let stamp = self.position(lpn, None);
        if let Some(groups) = &mut self.groups {
            groups.comes_in(lpn);
        }
        let state = FrameState::Clean;
        self.put(
            lpn,
            Frame {
                state,
                stamp,
                sectors,
            },
        );
        true
    }

    /// A write of some sectors; `unit_open` says whether the unit of occupied data is open, and
    /// `first` whether nobody waits for a frame before.
    pub fn write(&mut self, lpn: usize, sectors: u128, unit_open: bool, first: bool) -> Written {
        let before = self.frame(lpn);
        let stays = match before.map(|f| f.state) {
            Some(FrameState::Dirty) => true,
            Some(FrameState::Occupied(_)) => self.in_place && unit_open,
            _ => false,
        };
        if !stays && !first {
            return Written::Waits;
        }
        let mut state = FrameState::Dirty;
        match before.map(|f| f.state) {
            Some(now) if stays => state = now,
            Some(FrameState::Clean) => {}
            _ if !self.make_room() => return Written::Waits,
            Some(_) => self.superseded += 1,
            None => {}
        }
        // Sectors of data under way are still there to complete the new version.
        let sectors = sectors | before.map_or(0, |f| f.sectors);
        self.take(lpn);
        let stamp = self.position(lpn, before);
        match &mut self.groups {
            Some(groups) if before.is_some() => groups.is_hit(lpn),
            Some(groups) => groups.comes_in(lpn),
            None => {}
        }
        if matches!(state, FrameState::Occupied(_)) {
            self.taken(lpn);
        }
        self.put(
            lpn,
            Frame {
                state,
                stamp,
                sectors,
            },
        );
        if stays {
            Written::Hit
        } else {
            Written::Granted
        }
    }

    /// A page has been handed over to this place.
    pub fn occupy(&mut self, lpn: usize, place: usize) {
        let frame = self.take(lpn).expect("a dirty page has a frame");
        assert_eq!(frame.state, FrameState::Dirty, "handed over once");
        let state = FrameState::Occupied(place);
        let sectors = u128::MAX;
        self.put(
            lpn,
            Frame {
                state,
                sectors,
                ..frame
            },
        );
    }

    /// The frame that held the data of this place is free.
    pub fn release(&mut self, lpn: usize, place: usize) {
        match self.take(lpn) {
            Some(frame) if frame.state == FrameState::Occupied(place) => {
                let state = FrameState::Clean;
                self.put(lpn, Frame { state, ..frame });
            }
            other => {
                if let Some(frame) = other {
                    self.put(lpn, frame);
                }
                self.superseded -= 1;
            }
        }
    }

    /// Frames that hold nothing; panics if one were free and occupied.
    pub fn free(&self) -> usize {
        let used = self.frames.len() + self.superseded;
        assert!(used <= self.capacity, "no frame is free and occupied");
        self.capacity - used
    }
}
