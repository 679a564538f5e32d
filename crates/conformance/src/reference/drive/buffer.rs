//! A buffer with the orders of the specification: `fifo`, `lru`, `wow` and `cscan`.

use std::collections::BTreeMap;

use super::config::{DriveConfig, Order};
use super::frames::{Frame, FrameState, Frames, Missed, PageWrite, Passage, Written, sectors};
use crate::reference::group_circle::GroupCircle;

/// A frame, its sectors that were not handed over, and its position in the order of the policy.
#[derive(Clone, Copy, Debug)]
struct Placed {
    frame: Frame,
    dirty: u128,
    stamp: u64,
}

/// The buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    capacity: usize,
    /// All sectors of a page.
    all: u128,
    order: Order,
    in_place: bool,
    frames: BTreeMap<usize, Placed>,
    /// Logical units by position, by state.
    dirty: BTreeMap<u64, usize>,
    clean: BTreeMap<u64, usize>,
    /// Occupied frames whose logical unit has newer data.
    superseded: usize,
    stamps: u64,
    /// For orders by address.
    groups: Option<GroupCircle>,
}

impl Buffer {
    /// All frames are free.
    pub fn new(c: &DriveConfig) -> Buffer {
        Buffer {
            capacity: c.frames as usize,
            all: sectors(0, c.mapping_bytes),
            order: c.order,
            in_place: c.rewrite_in_place,
            frames: BTreeMap::new(),
            dirty: BTreeMap::new(),
            clean: BTreeMap::new(),
            superseded: 0,
            stamps: 0,
            groups: match c.order {
                Order::Wow(size) => Some(GroupCircle::new(size, false)),
                Order::Cscan(size) => Some(GroupCircle::new(size, true)),
                Order::Fifo | Order::Lru => None,
            },
        }
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
    fn taken(&mut self, lpn: usize) {
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
    fn put(&mut self, lpn: usize, placed: Placed) {
        self.frames.insert(lpn, placed);
        if let Some(list) = self.list(placed.frame.state) {
            list.insert(placed.stamp, lpn);
        }
    }

    /// Takes a frame out of its list.
    fn take(&mut self, lpn: usize) -> Option<Placed> {
        let placed = self.frames.remove(&lpn)?;
        if let Some(list) = self.list(placed.frame.state) {
            list.remove(&placed.stamp);
        }
        Some(placed)
    }

    /// The position of a page that is used, or comes in.
    fn position(&mut self, lpn: usize, before: Option<Placed>) -> u64 {
        match (before, self.order) {
            (Some(placed), Order::Fifo) => placed.stamp,
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
        self.leave(lpn);
        true
    }

    /// A page leaves, and its group with its last page.
    fn leave(&mut self, lpn: usize) {
        self.take(lpn);
        if let Some(groups) = &mut self.groups {
            let pages = groups.pages(groups.number_of(lpn));
            let pages = pages.start as usize..pages.end as usize;
            if self.frames.range(pages).next().is_none() {
                groups.leaves(lpn);
            }
        }
    }
}

impl Frames for Buffer {
    fn frame(&self, lpn: usize) -> Option<Frame> {
        self.frames.get(&lpn).map(|placed| placed.frame)
    }

    fn dirty(&self) -> usize {
        self.dirty.len()
    }

    fn dirty_pages(&self) -> Vec<usize> {
        let mut pages: Vec<usize> = self.dirty.values().copied().collect();
        pages.sort_unstable();
        pages
    }

    fn next_dirty(&self, fits: &dyn Fn(usize) -> bool, passes_over: bool) -> Option<usize> {
        let mut order = self.in_order(&self.dirty);
        match passes_over {
            true => order.find(|&lpn| fits(lpn)),
            false => order.next().filter(|&lpn| fits(lpn)),
        }
    }

    fn read_hit(&mut self, lpn: usize) {
        if let Some(placed) = self.take(lpn) {
            let stamp = self.position(lpn, Some(placed));
            self.put(lpn, Placed { stamp, ..placed });
        }
    }

    fn read_miss(&mut self, lpn: usize, sectors: u128, _again: bool) -> Missed {
        if let Some(placed) = self.frames.get_mut(&lpn) {
            placed.frame.sectors |= sectors;
            return Missed::Passed;
        }
        if !self.make_room() {
            return Missed::Passed;
        }
        let stamp = self.position(lpn, None);
        if let Some(groups) = &mut self.groups {
            groups.comes_in(lpn);
        }
        let state = FrameState::Clean;
        let frame = Frame { state, sectors };
        let dirty = 0;
        self.put(
            lpn,
            Placed {
                frame,
                dirty,
                stamp,
            },
        );
        Missed::Entered
    }

    fn write(&mut self, page: &PageWrite, _passage: &mut Passage) -> Written {
        let PageWrite { lpn, first, .. } = *page;
        let before = self.frames.get(&lpn).copied();
        let now = before.map(|placed| placed.frame.state);
        let stays = match now {
            Some(FrameState::Dirty) => true,
            Some(FrameState::Occupied(_)) => self.in_place && page.unit_open,
            _ => false,
        };
        if !stays && !first {
            return Written::Waits;
        }
        let mut state = FrameState::Dirty;
        match now {
            Some(now) if stays => state = now,
            Some(FrameState::Clean) => {}
            _ if !self.make_room() => return Written::Waits,
            Some(_) => self.superseded += 1,
            None => {}
        }
        // Sectors of data under way are still there to complete the new version.
        let sectors = page.sectors | before.map_or(0, |placed| placed.frame.sectors);
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
        let dirty = match state {
            FrameState::Dirty => page.sectors | before.map_or(0, |placed| placed.dirty),
            _ => 0,
        };
        let frame = Frame { state, sectors };
        self.put(
            lpn,
            Placed {
                frame,
                dirty,
                stamp,
            },
        );
        match stays {
            true => Written::Hit,
            false => Written::Granted,
        }
    }

    fn occupy(&mut self, lpn: usize, place: usize) {
        self.taken(lpn);
        let placed = self.take(lpn).expect("a dirty page has a frame");
        assert_eq!(placed.frame.state, FrameState::Dirty, "handed over once");
        let state = FrameState::Occupied(place);
        let sectors = u128::MAX;
        let frame = Frame { state, sectors };
        let dirty = 0;
        self.put(
            lpn,
            Placed {
                frame,
                dirty,
                ..placed
            },
        );
    }

    fn trim(&mut self, lpn: usize, sectors: u128) {
        let Some(mut placed) = self.take(lpn) else {
            return;
        };
        placed.frame.sectors &= !sectors;
        placed.dirty &= !sectors;
        let state = placed.frame.state;
        let cleaned = state == FrameState::Dirty && placed.dirty == 0;
        if cleaned {
            placed.frame.state = FrameState::Clean;
        }
        self.put(lpn, placed);
        if placed.frame.sectors & self.all == 0 {
            self.superseded += usize::from(matches!(state, FrameState::Occupied(_)));
            self.leave(lpn);
        } else if cleaned {
            self.taken(lpn);
        }
    }

    fn release(&mut self, lpn: usize, place: usize) {
        match self.take(lpn) {
            Some(placed) if placed.frame.state == FrameState::Occupied(place) => {
                let state = FrameState::Clean;
                let frame = Frame {
                    state,
                    ..placed.frame
                };
                self.put(lpn, Placed { frame, ..placed });
            }
            other => {
                if let Some(placed) = other {
                    self.put(lpn, placed);
                }
                self.superseded -= 1;
            }
        }
    }

    fn free(&self) -> usize {
        let used = self.frames.len() + self.superseded;
        assert!(used <= self.capacity, "no frame is free and occupied");
        self.capacity - used
    }
}
