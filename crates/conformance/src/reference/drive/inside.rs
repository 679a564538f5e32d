//! A buffer under a scheme of the other models: which data leave says the scheme (DR-5, DR-6).
//!
//! Page policies with an order list all their pages: pages stay when they are handed over, and the first clean one
//! leaves for a frame. Groups, and policies without an order, are asked for one victim after another, which leaves
//! when it is handed over.

mod admission;
mod room;

use std::collections::BTreeMap;

use super::config::DriveConfig;
use super::frames::{Entry, Frame, FrameState, Frames, Left, PageWrite, Passage, Seen, Written};
use super::outcome::DriveOp;
use crate::reference::admission::Admission;
use crate::reference::admission_layers::{is_admission, layer};
use crate::reference::expr::SlowExpr;
use crate::reference::request::SlowAccess;
use crate::reference::scheme::{Around, Served, SlowScheme, build};
use crate::reference::store::{self, Store};

/// Policies that list all their pages in order.
const LISTED: [&str; 7] = ["fifo", "lru", "lfu", "clock", "cflru", "arc", "lirs"];
/// Policies whose pages leave together.
const GROUPS: [&str; 7] = [
    "req-block",
    "bplru",
    "fab",
    "vbbms",
    "pud-lru",
    "bpac",
    "lb-clock",
];

/// The access after which `drain` looks at groups: page, time, number of its request, of the access.
#[derive(Clone, Copy, Debug)]
struct Last {
    lpn: usize,
    now: u64,
    request: u64,
    page_seq: u64,
}

/// Frames under a scheme.
pub struct SchemeFrames {
    scheme: Box<dyn SlowScheme>,
    admission: Option<Box<dyn Admission>>,
    store: Store,
    states: BTreeMap<usize, FrameState>,
    /// Occupied frames whose logical unit has another frame, or none.
    alone: usize,
    in_place: bool,
    /// Frames need not be kept until data are on flash.
    on_demand: bool,
    listed: bool,
    groups: bool,
    last: Option<Last>,
    /// Bytes of the request being served.
    request_bytes: u64,
    left: Vec<Left>,
    adopted: Vec<usize>,
}

impl SchemeFrames {
    /// All frames are free.
    ///
    /// # Errors
    /// An expression that has no model.
    pub fn new(c: &DriveConfig, text: &str) -> Result<SchemeFrames, String> {
        let whole = SlowExpr::parse(text)?;
        let (admission, expr) = match is_admission(&whole.name) {
            true => {
                let admits = layer(&whole, c.mapping_bytes, (c.seed, &[]), &[])?;
                (Some(admits), whole.inside()?)
            }
            false => (None, &whole),
        };
        let around = Around {
            capacity: c.frames as usize,
            chips: 1,
            page: c.mapping_bytes,
            exact_counts: false,
        };
        let mut policy = expr;
        while policy.inner.is_some() {
            policy = policy.inside()?;
        }
        Ok(SchemeFrames {
            scheme: build(expr, around)?,
            admission,
            store: Store {
                capacity: c.frames as usize,
                spp: (c.mapping_bytes / 512) as u32,
                read_alloc: c.read_allocation,
                ..Store::default()
            },
            states: BTreeMap::new(),
            alone: 0,
            in_place: c.rewrite_in_place,
            on_demand: c.on_demand,
            listed: LISTED.contains(&policy.name.as_str()) && !c.on_demand,
            groups: GROUPS.contains(&policy.name.as_str()),
            last: None,
            request_bytes: 0,
            left: Vec::new(),
            adopted: Vec::new(),
        })
    }

    fn state(&self, lpn: usize) -> Option<FrameState> {
        self.states.get(&lpn).copied()
    }

    fn is_dirty(&self, lpn: u64) -> bool {
        self.state(lpn as usize) == Some(FrameState::Dirty)
    }

    fn taken_frames(&self) -> usize {
        self.states.len() + self.alone
    }

    /// Is there a free frame, or that of a clean page?
    fn may_take(&self) -> bool {
        let clean = self.states.values().any(|s| *s == FrameState::Clean);
        self.on_demand || clean || self.taken_frames() < self.store.capacity
    }

    /// The access being served is to this page.
    fn serves(&mut self, lpn: usize, writing: bool) {
        self.store.page_seq += 1;
        self.store.writing = writing;
        self.store.current = lpn as u64;
        self.store.data = (self.store.now, self.store.request);
    }

    /// It was none yet.
    fn unserved(&mut self) {
        self.store.page_seq -= 1;
    }

    /// The page came in, or was hit.
    fn used(&mut self, lpn: usize) {
        self.last = Some(Last {
            lpn,
            now: self.store.now,
            request: self.store.request,
            page_seq: self.store.page_seq,
        });
    }

    fn write_cached(&mut self, page: &PageWrite, stays: bool) -> Option<Written> {
        let PageWrite { lpn, sectors, .. } = *page;
        let occupied = matches!(self.state(lpn), Some(FrameState::Occupied(_)));
        let takes = !stays && self.state(lpn) != Some(FrameState::Clean);
        if takes && !self.may_take() {
            return None;
        }
        if takes && occupied && !self.on_demand {
            self.make_room(lpn, false);
        }
        // It may have left while room was made.
        let Some(state) = self.state(lpn) else {
            self.make_room(lpn, true);
            self.insert(lpn, sectors, sectors);
            return Some(Written::Granted);
        };
        if takes && !self.on_demand {
            self.alone += 1;
        }
        let all = self.store.full();
        let frame = self.store.frames.get_mut(&(lpn as u64)).expect("it hits");
        frame.valid = (frame.valid | sectors) & all;
        frame.dirty |= sectors;
        self.scheme.touch(lpn as u64, true, &self.store);
        self.used(lpn);
        if stays && state != FrameState::Dirty {
            let frame = self.store.frames.get_mut(&(lpn as u64)).expect("it hits");
            frame.dirty = 0;
            self.scheme.cleaned(&[lpn as u64], &self.store);
        } else {
            self.states.insert(lpn, FrameState::Dirty);
        }
        Some(match stays {
            true => Written::Hit,
            false => Written::Granted,
        })
    }

    /// Its data take a frame and are programmed at once, past the cache.
    fn write_past(&mut self, access: SlowAccess) -> Option<Written> {
        self.cut(access);
        if !self.may_take() {
            return None;
        }
        let lpn = access.lpn as usize;
        self.make_room(lpn, false);
        let sectors = access.mask;
        self.leaves(Left { lpn, sectors });
        Some(Written::Granted)
    }

    fn insert(&mut self, lpn: usize, valid: u128, dirty: u128) {
        let page = lpn as u64;
        self.store
            .frames
            .insert(page, store::Frame { valid, dirty });
        self.store.been_full |= self.store.frames.len() >= self.store.capacity;
        let state = match dirty {
            0 => FrameState::Clean,
            _ => FrameState::Dirty,
        };
        self.states.insert(lpn, state);
        self.scheme.admit(page, &self.store);
        self.used(lpn);
    }

    /// Pages in the order in which `drain` hands them over.
    fn drain_order(&self) -> Vec<usize> {
        let mut order = self.scheme.next_victims(&self.store);
        if let Some(last) = self.last.filter(|_| self.groups) {
            let store = Store {
                frames: self.store.frames.clone(),
                capacity: self.store.capacity,
                spp: self.store.spp,
                now: last.now,
                data: (last.now, last.request),
                request: last.request,
                page_seq: last.page_seq,
                current: last.lpn as u64,
                ..Store::default()
            };
            for mut unit in self.scheme.units(Some(last.lpn as u64), &store) {
                unit.pages.sort_unstable();
                order.extend(unit.pages);
            }
        }
        order.retain(|&lpn| self.is_dirty(lpn));
        order.into_iter().map(|lpn| lpn as usize).collect()
    }

    fn sees(&mut self, seen: &Seen) {
        self.store.now = seen.now;
        self.store.request = seen.number as u64 + 1;
        self.request_bytes = seen.request.bytes;
    }

    fn accesses(&self, seen: &Seen) -> Vec<SlowAccess> {
        let size = u64::from(self.store.spp) * 512;
        let (from, to) = (
            seen.request.offset,
            seen.request.offset + seen.request.bytes,
        );
        let page = |lpn: u64| SlowAccess {
            lpn,
            mask: super::drain::sectors(
                from.max(lpn * size) - lpn * size,
                to.min((lpn + 1) * size) - lpn * size,
            ),
        };
        (from / size..to.div_ceil(size)).map(page).collect()
    }
}

impl Frames for SchemeFrames {
    fn frame(&self, lpn: usize) -> Option<Frame> {
        let state = self.state(lpn)?;
        let frame = self.store.frames.get(&(lpn as u64))?;
        let sectors = frame.valid;
        Some(Frame { state, sectors })
    }

    fn dirty(&self) -> usize {
        let dirty = |s: &&FrameState| **s == FrameState::Dirty;
        self.states.values().filter(dirty).count()
    }

    fn dirty_pages(&self) -> Vec<usize> {
        let dirty = |(_, s): &(&usize, &FrameState)| **s == FrameState::Dirty;
        self.states
            .iter()
            .filter(dirty)
            .map(|(&lpn, _)| lpn)
            .collect()
    }

    fn next_dirty(&self, fits: &dyn Fn(usize) -> bool, passes_over: bool) -> Option<usize> {
        let mut order = self.drain_order().into_iter();
        match passes_over {
            true => order.find(|&lpn| fits(lpn)),
            false => order.next().filter(|&lpn| fits(lpn)),
        }
    }

    fn read_hit(&mut self, lpn: usize) {
        self.serves(lpn, false);
        if self.admission.as_ref().is_none_or(|a| a.read_touch()) {
            self.scheme.touch(lpn as u64, false, &self.store);
        }
        self.used(lpn);
    }

    fn read_in_part(&mut self, lpn: usize) {
        self.serves(lpn, false);
        self.scheme.partial_miss(lpn as u64, &self.store);
    }

    fn read_past(&mut self) {
        self.store.page_seq += 1;
    }

    fn read_miss(&mut self, lpn: usize, sectors: u128) -> bool {
        let all = self.store.full();
        if let Some(frame) = self.store.frames.get_mut(&(lpn as u64)) {
            frame.valid |= sectors & all;
            return false;
        }
        self.serves(lpn, false);
        if self.scheme.bypasses(lpn as u64, &self.store) || !self.may_take() {
            return false;
        }
        self.make_room(lpn, true);
        self.insert(lpn, sectors & all, 0);
        true
    }

    fn write(&mut self, page: &PageWrite, passage: &mut Passage) -> Written {
        let PageWrite { lpn, first, .. } = *page;
        let stays = match self.state(lpn) {
            Some(FrameState::Dirty) => true,
            Some(FrameState::Occupied(_)) => self.in_place && page.unit_open,
            _ => false,
        };
        let keeps_frame = stays && passage.entry == Entry::Pages;
        if !first && !keeps_frame {
            return Written::Waits;
        }
        self.serves(lpn, true);
        let access = SlowAccess {
            lpn: lpn as u64,
            mask: page.sectors,
        };
        let enters = match passage.cached {
            Some(known) => known,
            None => self.enters(access, passage.entry),
        };
        passage.cached = Some(enters);
        let written = match enters {
            true => self.write_cached(page, stays),
            false if first => self.write_past(access),
            false => None,
        };
        if written.is_none() {
            self.unserved();
        }
        written.unwrap_or(Written::Waits)
    }

    fn occupy(&mut self, lpn: usize, place: usize) {
        assert!(self.is_dirty(lpn as u64), "handed over once");
        let all = self.store.full();
        let frame = self
            .store
            .frames
            .get_mut(&(lpn as u64))
            .expect("it is cached");
        frame.dirty = 0;
        if !self.on_demand {
            frame.valid = all;
        }
        self.states.insert(lpn, FrameState::Occupied(place));
        self.scheme.cleaned(&[lpn as u64], &self.store);
    }

    fn written(&mut self, lpns: &[usize]) {
        for &lpn in lpns {
            let frame = self.store.frames.get_mut(&(lpn as u64));
            frame.expect("it is cached").dirty = 0;
            self.states.insert(lpn, FrameState::Clean);
        }
        let pages: Vec<u64> = lpns.iter().map(|&lpn| lpn as u64).collect();
        self.scheme.cleaned(&pages, &self.store);
    }

    fn release(&mut self, lpn: usize, place: usize) {
        match self.state(lpn) {
            Some(FrameState::Occupied(at)) if at == place => {
                self.states.insert(lpn, FrameState::Clean);
            }
            _ if self.on_demand => {}
            _ => self.alone -= 1,
        }
    }

    fn free(&self) -> usize {
        let used = self.taken_frames();
        assert!(
            self.on_demand || used <= self.store.capacity,
            "no frame is free and occupied"
        );
        self.store.capacity.saturating_sub(used)
    }

    fn begins(&mut self, seen: &Seen) -> Passage {
        self.sees(seen);
        self.store.data = (self.store.now, self.store.request);
        let write = match seen.request.op {
            DriveOp::Flush => return Passage::default(),
            DriveOp::Read => false,
            DriveOp::Write | DriveOp::WriteFua => true,
        };
        self.store.writing = write;
        let accesses = self.accesses(seen);
        let (from, to) = (
            seen.request.offset,
            seen.request.offset + seen.request.bytes,
        );
        let served = Served {
            spans: vec![(from / 512, to / 512 - 1)],
            pages: accesses.iter().map(|a| a.lpn).collect(),
            renamed: Vec::new(),
            write,
        };
        self.scheme.request(&served, &self.store);
        let entry = match write {
            true => self.judge(seen, &accesses),
            false => Entry::Pages,
        };
        Passage {
            entry,
            ..Passage::default()
        }
    }

    fn drops(&mut self, seen: &Seen, entry: Entry) {
        let accesses = self.accesses(seen);
        accesses.iter().for_each(|&access| self.cut(access));
        if self.on_demand && entry == Entry::Whole {
            self.make_room_for_all(&accesses);
        }
    }

    fn resumes(&mut self, seen: &Seen) {
        self.sees(seen);
        self.scheme.resumes(self.store.request);
    }

    fn waits(&mut self, seen: &Seen) {
        self.scheme.waits(seen.number as u64 + 1);
    }

    fn asks_for_victims(&self) -> bool {
        !self.listed
    }

    fn evict_for(&mut self, seen: &Seen, lpn: usize) -> bool {
        if self.states.is_empty() {
            return false;
        }
        self.sees(seen);
        self.serves(lpn, true);
        self.evict(None);
        self.unserved();
        true
    }

    fn take_left(&mut self) -> (Vec<Left>, Vec<usize>) {
        let left = std::mem::take(&mut self.left);
        (left, std::mem::take(&mut self.adopted))
    }
}
