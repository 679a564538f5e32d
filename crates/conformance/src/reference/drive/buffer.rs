//! The buffer, under a scheme of the other models: the scheme says which data leave (DR-5, DR-6).
//! (DEVICE_MODEL.md, "Drives with units", Bounded buffer)
//!
//! Page policies with an order list all their pages: pages stay when they are handed over, and the first clean one
//! leaves for a frame. Groups, and policies without an order, are asked for one victim after another, which leaves
//! when it is handed over.

mod admission;
mod drain_order;
mod entering;
mod layer;
mod renames;
mod requests;
mod room;

use std::collections::BTreeMap;

use destage_device::config::{DeviceConfig, Rewrite};
use layer::{Layer, is_layer};

use super::config::DriveConfig;
use super::dies::SlowDies;
use super::frames::{Entry, Frame, FrameState, Left, Missed, PageWrite, Passage, Seen, Written};
use super::outcome::DriveOp;
use crate::reference::admission::Admission;
use crate::reference::admission_layers::{is_admission, layer as admission_layer};
use crate::reference::cqct::Cost;
use crate::reference::expr::SlowExpr;
use crate::reference::mapping::Art;
use crate::reference::registry::{Around, build};
use crate::reference::request::SlowAccess;
use crate::reference::reserve::Programs;
use crate::reference::scheme::SlowScheme;
use crate::reference::store::Store;

/// Policies that list all their pages in order.
const LISTED: [&str; 11] = [
    "fifo",
    "lru",
    "lfu",
    "clock",
    "cflru",
    "arc",
    "lirs",
    "cflru-eps",
    "wow",
    "cscan",
    "reserve",
];
/// Layers and policies that choose by the chips.
const BY_CHIPS: [&str; 4] = ["gcar", "ecr", "ecr-eps", "lcr"];
/// Policies that list all groups of pages that leave together.
const GROUPS: [&str; 4] = ["req-block", "bplru", "fab", "vbbms"];

/// Does the policy list its pages or groups in the order in which they would leave?
fn lists_order(policy: &str) -> bool {
    LISTED.contains(&policy) || GROUPS.contains(&policy) || policy == "ecr-eps"
}

/// The access after which `drain` looks at groups: page, time, number of its request, of the access.
#[derive(Clone, Copy, Debug)]
struct Last {
    lpn: usize,
    now: u64,
    request: u64,
    page_seq: u64,
}

/// Frames under a scheme.
pub struct Buffer {
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
    by_chips: bool,
    cost: Cost,
    layer: Option<Layer>,
    last: Option<Last>,
    /// Does `drain` hand pages over in the order of their last writes?
    by_writes: bool,
    /// The last access that wrote each page.
    written: BTreeMap<usize, u64>,
    /// When the last read or write came, and its number.
    arrived: (u64, u64),
    /// Bytes of the request being served.
    request_bytes: u64,
    left: Vec<Left>,
    adopted: Vec<usize>,
    art: Option<Art>,
    /// What enters the table of `cac` with the end of a request.
    pairs: BTreeMap<usize, Vec<(u64, u64)>>,
    /// Pages that were renamed for the request being served.
    renamed: Vec<u64>,
    unmapped: Vec<usize>,
    /// Was one renamed or dropped for it?
    moved: bool,
}

impl Buffer {
    /// All frames are free.
    ///
    /// # Errors
    /// An expression that has no model.
    pub fn new(c: &DriveConfig, device: &DeviceConfig) -> Result<Buffer, String> {
        let m = device.mapping().bytes();
        let on_demand = !device.is_bounded();
        let cac = c.cac.map(|of| SlowExpr::parse(&format!("cac(fifo{of})")));
        let cac = cac.transpose()?;
        let whole = SlowExpr::parse(&c.scheme)?;
        let layer = Layer::new(&whole, c.frames as usize)?;
        let below = match is_layer(&whole.name) {
            true => whole.inside()?,
            false => &whole,
        };
        let (admission, expr) = match is_admission(&below.name) {
            true => {
                let admits = admission_layer(below, m, (c.seed, &[]), &[])?;
                (Some(admits), below.inside()?)
            }
            false => (None, below),
        };
        let around = Around {
            capacity: c.frames as usize,
            chips: (device.geometry.planes() / device.geometry.planes_per_die) as usize,
            page: m,
            exact_counts: false,
        };
        let mut policy = expr;
        while policy.inner.is_some() {
            policy = policy.inside()?;
        }
        let by_chips = BY_CHIPS.iter().any(|name| expr.has(name));
        Ok(Buffer {
            scheme: build(expr, around)?,
            admission,
            store: Store {
                capacity: c.frames as usize,
                spp: (m / 512) as u32,
                read_alloc: c.read_allocation,
                ..Store::default()
            },
            states: BTreeMap::new(),
            alone: 0,
            in_place: device.rewrite == Some(Rewrite::InPlace),
            on_demand,
            listed: LISTED.contains(&policy.name.as_str()) && !by_chips && !on_demand,
            groups: GROUPS.contains(&policy.name.as_str()),
            by_chips,
            cost: Cost::of(expr)?,
            layer,
            last: None,
            by_writes: !lists_order(&policy.name),
            written: BTreeMap::new(),
            arrived: (0, 0),
            request_bytes: 0,
            left: Vec::new(),
            adopted: Vec::new(),
            art: cac.map(|expr| Art::new(&expr)).transpose()?,
            pairs: BTreeMap::new(),
            renamed: Vec::new(),
            unmapped: Vec::new(),
            moved: false,
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
}

impl Buffer {
    /// The newest data of a logical unit.
    pub(super) fn frame(&self, lpn: usize) -> Option<Frame> {
        let state = self.state(lpn)?;
        let frame = self.store.frames.get(&(lpn as u64))?;
        let sectors = frame.valid;
        Some(Frame { state, sectors })
    }

    /// How many there are.
    pub(super) fn dirty(&self) -> usize {
        let dirty = |s: &&FrameState| **s == FrameState::Dirty;
        self.states.values().filter(dirty).count()
    }

    /// Pages not handed over, ascending.
    pub(super) fn dirty_pages(&self) -> Vec<usize> {
        let dirty = |(_, s): &(&usize, &FrameState)| **s == FrameState::Dirty;
        self.states
            .iter()
            .filter(dirty)
            .map(|(&lpn, _)| lpn)
            .collect()
    }

    /// The next of them in order that `fits`; `None` if it is not the first one, unless others may be passed over.
    pub(super) fn next_dirty(
        &self,
        fits: &dyn Fn(usize) -> bool,
        passes_over: bool,
    ) -> Option<usize> {
        let mut order = self.drain_order().into_iter();
        match passes_over {
            true => order.find(|&lpn| fits(lpn)),
            false => order.next().filter(|&lpn| fits(lpn)),
        }
    }

    /// Pages that the scheme hands over by itself, in order.
    pub(super) fn hands_over(&mut self, programs: Programs) -> Vec<usize> {
        let pages = self.scheme.hands_over(programs, &self.store);
        pages.into_iter().map(|lpn| lpn as usize).collect()
    }

    /// One of them is to be handed over.
    pub(super) fn named(&mut self, lpn: usize) {
        self.scheme.named(lpn as u64);
    }

    /// A read used a page.
    pub(super) fn read_hit(&mut self, lpn: usize) {
        self.serves(lpn, false);
        if self.admission.as_ref().is_none_or(|a| a.read_touch()) {
            self.scheme.touch(lpn as u64, false, &self.store);
        }
        self.tell_ahead(|ahead| ahead.hit(lpn as u64, false));
        self.used(lpn);
    }

    /// A read missed sectors of a page that has a frame.
    pub(super) fn read_in_part(&mut self, lpn: usize) {
        self.serves(lpn, false);
        self.scheme.partial_miss(lpn as u64, &self.store);
    }

    /// A read missed a page that is not to enter.
    pub(super) fn read_past(&mut self) {
        self.store.page_seq += 1;
    }

    /// A read missed; its data enter if a frame is free or clean. Asked again after a victim has left for it.
    pub(super) fn read_miss(&mut self, lpn: usize, sectors: u128, again: bool) -> Missed {
        let all = self.store.full();
        if let Some(frame) = self.store.frames.get_mut(&(lpn as u64)) {
            frame.valid |= sectors & all;
            return Missed::Passed;
        }
        self.serves(lpn, false);
        let bypasses = !again && self.scheme.bypasses(lpn as u64, &self.store);
        if bypasses || !self.may_take() {
            return Missed::Passed;
        }
        if !self.make_room(lpn, true) {
            self.unserved();
            return Missed::MadeRoom;
        }
        self.insert(lpn, sectors & all, 0);
        Missed::Entered
    }

    /// A write of some sectors of a page.
    pub(super) fn write(&mut self, page: &PageWrite, passage: &mut Passage) -> Written {
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
            true => self.write_cached(page, stays, passage),
            false if first => self.write_past(access),
            false => Written::Waits,
        };
        if matches!(written, Written::Waits | Written::MadeRoom) {
            self.unserved();
        }
        written
    }

    /// A page has been handed over to this place.
    pub(super) fn occupy(&mut self, lpn: usize, place: usize) {
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
        self.cleaned(&[lpn as u64]);
    }

    /// On demand: these dirty pages are programmed and stay.
    pub(super) fn written(&mut self, lpns: &[usize]) {
        for &lpn in lpns {
            let frame = self.store.frames.get_mut(&(lpn as u64));
            frame.expect("it is cached").dirty = 0;
            self.states.insert(lpn, FrameState::Clean);
        }
        let pages: Vec<u64> = lpns.iter().map(|&lpn| lpn as u64).collect();
        self.cleaned(&pages);
    }

    /// The frame that held the data of this place is free.
    pub(super) fn release(&mut self, place: usize) {
        let removes = self.end_flight(place);
        // The page may have another address now.
        let mut states = self.states.iter();
        let held = states.find(|(_, state)| **state == FrameState::Occupied(place));
        match held.map(|(&lpn, _)| lpn) {
            Some(lpn) => {
                self.states.insert(lpn, FrameState::Clean);
                if removes {
                    self.removed(lpn as u64);
                }
            }
            _ if self.on_demand => {}
            _ => self.alone -= 1,
        }
    }

    /// Frames that hold nothing; panics if one were free and occupied.
    pub(super) fn free(&self) -> usize {
        let used = self.taken_frames();
        assert!(
            self.on_demand || used <= self.store.capacity,
            "no frame is free and occupied"
        );
        self.store.capacity.saturating_sub(used)
    }

    /// A request comes.
    pub(super) fn begins(&mut self, seen: &Seen) -> Passage {
        self.sees(seen);
        self.store.data = (self.store.now, self.store.request);
        let write = match seen.request.op {
            DriveOp::Flush | DriveOp::Trim => return Passage::default(),
            DriveOp::Read => false,
            DriveOp::Write | DriveOp::WriteFua => true,
        };
        self.store.writing = write;
        self.renamed.clear();
        if write {
            self.rename_request(seen);
        }
        let served = self.served(seen, write);
        self.scheme.request(&served, &self.store);
        self.arrived = self.store.data;
        self.note_arrival();
        let entry = match write {
            true => self.judge(seen, &self.accesses(seen)),
            false => Entry::Pages,
        };
        Passage {
            entry,
            ..Passage::default()
        }
    }

    /// Drops the cached pages of a write that comes in as a whole, or goes past the cache. Is there
    /// room for it, or has a victim left that is handed over first?
    pub(super) fn drops(&mut self, seen: &Seen, entry: Entry) -> bool {
        let accesses = self.accesses(seen);
        accesses.iter().for_each(|&access| self.cut(access));
        !(self.on_demand && entry == Entry::Whole) || self.make_room_for_all(&accesses)
    }

    /// Do victims depend on the queues of the dies?
    pub(super) fn weighs_dies(&self) -> bool {
        self.by_chips
    }

    /// Do victims or a layer depend on the dies?
    pub(super) fn looks_at_dies(&self) -> bool {
        self.by_chips || self.layer.is_some()
    }

    /// The dies are like this now.
    pub(super) fn sees_dies(&mut self, dies: SlowDies) {
        self.store.flash = Box::new(dies.weighed_by(self.cost));
    }

    /// Is there a layer that writes back on idle channels?
    pub(super) fn has_layer(&self) -> bool {
        self.layer.is_some()
    }

    /// Pages that a layer writes back on an idle channel, ascending. It passes busy ones over.
    pub(super) fn names(&mut self, channel: usize, busy: &dyn Fn(usize) -> bool) -> Vec<usize> {
        // Between requests the last one counts that came, also while others go on (RB-3).
        self.store.data = self.arrived;
        let mut pages = self.choose(channel, busy);
        pages.sort_unstable();
        pages.into_iter().map(|lpn| lpn as usize).collect()
    }

    /// A page that a layer named has been handed over.
    pub(super) fn begin_flight(&mut self, lpn: usize, place: usize, channel: usize) {
        self.note_flight(lpn, place, channel);
    }

    /// These sectors of a page hold no data any more.
    pub(super) fn trim(&mut self, lpn: usize, sectors: u128) {
        let lpn = lpn as u64;
        let mask = sectors & self.store.full();
        self.cut(SlowAccess { lpn, mask });
        if mask == self.store.full() {
            self.scheme.forget_ghost(lpn);
            self.art.iter_mut().for_each(|art| art.forget(lpn));
        }
    }

    /// A write that waits goes on.
    pub(super) fn resumes(&mut self, seen: &Seen) {
        self.sees(seen);
        self.scheme.resumes(self.store.request);
    }

    /// It waits again, and others are served.
    pub(super) fn waits(&mut self, seen: &Seen) {
        self.scheme.waits(seen.number as u64 + 1);
    }

    /// Are victims asked for one by one, and leave when they are handed over?
    pub(super) fn asks_for_victims(&self) -> bool {
        !self.listed
    }

    /// The next victim leaves, for a page of a write that waits. Is there one?
    pub(super) fn evict_for(&mut self, seen: &Seen, lpn: usize) -> bool {
        if self.states.is_empty() {
            return false;
        }
        self.sees(seen);
        self.serves(lpn, true);
        self.evict(None);
        self.unserved();
        true
    }

    /// Pages that have left since this was asked last, and places of data under way whose pages
    /// have left.
    pub(super) fn take_left(&mut self) -> (Vec<Left>, Vec<usize>) {
        let left = std::mem::take(&mut self.left);
        (left, std::mem::take(&mut self.adopted))
    }
}
