//! Hits and flash writes of LRU caches of many sizes in one pass.
//!
//! One pass is exact as long as every access moves its page to the top in every cache that has
//! it. There are two exceptions, and both depend on the cache size:
//!
//! - a read of sectors that a cached page lacks leaves the page where it is (D2). Which
//!   sectors a cached page has depends on when the cache last took it in, hence on its size; so
//!   the valid sectors of a page are kept per size, and the sizes at which such a read comes up
//!   are found exactly;
//! - a TRIM of a part of a page may remove it from some caches and not from others, and may clean
//!   it; it counts for all sizes that have the page.
//!
//! A size that meets an exception is *lost*: the pass is exact up to that access and knows nothing
//! of the size after it. Sizes are independent of each other, so the others remain exact. The
//! caller runs a lost size through the cache core.
//!
//! Page hits, request hits and flash writes, of reads and of writes, come from the same pass. Read
//! allocation `off` does not: a read then renews a page only in the caches that have it, so the order of
//! pages depends on the size, and no single order of touches tells their places.

use super::octaves::Octaves;
use super::pages::{PageNumbers, each_page};
use super::stack::{LruStack, OUTSIDE};
use super::{CurveCounts, LOOK_EVERY};
use crate::RunError;
use crate::cache::ReadFill;
use crate::run::meter::{Meter, look};
use destage_scheme::PREFETCH;
use destage_trace::Workload;
use destage_types::{HostRequest, Op, PageSize, RequestRef, SectorMask};

/// Settings of the pass. Read misses enter the cache; without that LRU needs a run per size.
pub(super) struct Pass<'a> {
    pub page: PageSize,
    pub read_fill: ReadFill,
    /// Requests before the measured ones.
    pub warmup: u64,
    /// Passes over the trace, warm-up included.
    pub passes: u64,
    /// Cache sizes in pages, ascending, each at least 1.
    pub sizes: &'a [u32],
}

/// Every sector is valid in every cache that has the page.
const FULL: u32 = u32::MAX;

/// The state that each access needs of its page, in 8 B: the pages of a large trace lie all over
/// memory.
#[derive(Clone, Copy)]
struct Page {
    /// When it was touched last, in the stack.
    time: u32,
    /// Twice the number that [`Page::dirty`] gives, and one more in the list of pages that may be dirty.
    marks: u32,
}

impl Page {
    /// A page that was not touched, of which `clean` says that it is dirty at no size.
    fn new(clean: u32) -> Page {
        let (time, marks) = (OUTSIDE, 2 * clean);
        Page { time, marks }
    }

    /// Number of the smallest size at which it is dirty, if it is there; behind the last: clean.
    fn dirty(self) -> u32 {
        self.marks / 2
    }

    fn set_dirty(&mut self, size: u32) {
        self.marks = 2 * size + self.marks % 2;
    }

    /// Is it in the list of pages that may be dirty?
    fn is_listed(self) -> bool {
        self.marks % 2 == 1
    }

    fn set_listed(&mut self, listed: bool) {
        self.marks = 2 * self.dirty() + u32::from(listed);
    }
}

/// Valid sectors from size number `.0` on, up to the next step.
type Step = (usize, SectorMask);

struct State<'a> {
    pass: &'a Pass<'a>,
    octaves: Octaves,
    numbers: PageNumbers,
    stack: LruStack,
    pages: Vec<Page>,
    /// Row of `steps` of each page up to the last one that had any, or `FULL`.
    rows: Vec<u32>,
    steps: Vec<Vec<Step>>,
    free_steps: Vec<u32>,
    maybe_dirty: Vec<u32>,
    lost: Vec<bool>,
    left: usize,
    /// Counts that each size has more than the next smaller size.
    more: Vec<CurveCounts>,
    /// The same for flash writes, which may also end with a size.
    writes: Vec<i64>,
    all: CurveCounts,
}

/// The counts at each size; `None`: lost.
///
/// # Errors
/// The trace cannot be read again, or the program takes too much memory.
pub(super) fn one_pass(
    trace: Workload<'_>,
    pass: &Pass<'_>,
    meter: &dyn Meter,
) -> Result<Vec<Option<CurveCounts>>, RunError> {
    let n = pass.sizes.len();
    let mut state = State {
        pass,
        octaves: Octaves::of(pass.sizes),
        numbers: PageNumbers::default(),
        stack: LruStack::new(),
        pages: Vec::new(),
        rows: Vec::new(),
        steps: Vec::new(),
        free_steps: Vec::new(),
        maybe_dirty: Vec::new(),
        lost: vec![false; n],
        left: n,
        more: vec![CurveCounts::default(); n],
        writes: vec![0; n + 1],
        all: CurveCounts::default(),
    };
    let mut served = 0;
    for _ in 0..pass.passes {
        let mut requests = trace.pass()?;
        // All sizes may be lost early.
        while let Some(block) = requests.next(LOOK_EVERY)?
            && state.left > 0
        {
            for next in block.records.chunks(PREFETCH) {
                state.prefetch(next);
                for head in next {
                    if served == pass.warmup && served > 0 {
                        state.start_measuring();
                    }
                    state.serve(block.batch.with_sides(head));
                    served += 1;
                }
            }
            look(meter, served - 1)?;
        }
    }
    Ok(state.finish())
}

impl State<'_> {
    /// Number of the smallest size at which a page hits that was touched last at `time`.
    fn first_hit(&self, time: u32) -> usize {
        self.first_of(self.stack.place(time))
    }

    /// Number of the smallest size of at least `pages`.
    fn first_of(&self, pages: u32) -> usize {
        self.octaves.first_of(self.pass.sizes, pages)
    }

    /// Reads the first pages of requests that are served next: the processor waits for all of them together.
    fn prefetch(&self, requests: &[HostRequest]) {
        let mut numbers = [0; PREFETCH];
        for (number, request) in numbers.iter_mut().zip(requests) {
            let lpn = self.pass.page.page_of(request.start_sector);
            *number = self.numbers.or_max(lpn);
        }
        let time = |number: u32| self.pages.get(number as usize).map_or(0, |page| page.time);
        std::hint::black_box(numbers.map(time).map(|time| self.stack.bits_at(time)));
    }

    fn serve(&mut self, request: RequestRef<'_>) {
        let (page, op) = (self.pass.page, request.head.op);
        match op {
            Op::Flush => self.flush(),
            Op::Trim => each_page(request, page, |lpn, mask| {
                if let Some(number) = self.numbers.known(lpn) {
                    self.trim(number, mask);
                }
            }),
            Op::Read | Op::Write => {
                let (mut deepest, mut pages) = (0, 0);
                each_page(request, page, |lpn, mask| {
                    let number = self.numbers.number(lpn);
                    deepest = deepest.max(self.access(number, op, mask));
                    pages += 1;
                });
                self.all.count(op, pages);
                if let Some(more) = self.more.get_mut(deepest) {
                    *more.request_hits_mut(op) += 1;
                }
            }
        }
    }

    /// Number of the smallest size at which the page hits.
    fn access(&mut self, number: u32, op: Op, mask: SectorMask) -> usize {
        if self.pages.len() <= number as usize {
            self.pages.push(Page::new(self.clean()));
        }
        if self.stack.is_full() {
            let times = self.pages.iter_mut().map(|page| &mut page.time);
            self.stack.renumber(times);
        }
        let place = self.stack.touch(&mut self.pages[number as usize].time);
        let first = self.first_of(place);
        self.valid(number, op, mask, first);
        self.left_dirty(number, first);
        if op == Op::Write {
            let page = &mut self.pages[number as usize];
            if !page.is_listed() {
                self.maybe_dirty.push(number);
            }
            page.set_dirty(0);
            page.set_listed(true);
        }
        if let Some(more) = self.more.get_mut(first) {
            *more.page_hits_mut(op) += 1;
        }
        first
    }

    /// Keeps the valid sectors of a page, which sizes from number `first` on have.
    fn valid(&mut self, number: u32, op: Op, mask: SectorMask, first: usize) {
        let full = self.pass.page.full_mask();
        let fetched = match (op, self.pass.read_fill) {
            (Op::Read, ReadFill::Page) => full,
            _ => mask,
        };
        let row = self.row(number);
        // As a rule all of a page is valid, before and after.
        if fetched == full && (op == Op::Write || row == FULL || first == self.pass.sizes.len()) {
            return self.set_steps(number, None);
        }
        let old = match row {
            FULL => vec![(0, full)],
            row => std::mem::take(&mut self.steps[row as usize]),
        };
        let mut new: Vec<Step> = Vec::with_capacity(old.len() + 1);
        if first > 0 {
            new.push((0, fetched));
        }
        for (i, &(from, valid)) in old.iter().enumerate() {
            let to = old.get(i + 1).map_or(self.pass.sizes.len(), |next| next.0);
            let from = from.max(first);
            if from >= to {
                continue;
            }
            let valid = match op {
                Op::Write => valid.union(mask),
                _ if valid.contains(mask) => valid,
                _ => {
                    self.lose(from, to);
                    valid.union(fetched)
                }
            };
            if new.last().is_none_or(|last| last.1 != valid) {
                new.push((from, valid));
            }
        }
        let all_full = new.iter().all(|step| step.1 == full);
        self.set_steps(number, (!all_full).then_some(new));
    }

    /// Row of the steps of a page, or `FULL`.
    fn row(&self, number: u32) -> u32 {
        self.rows.get(number as usize).copied().unwrap_or(FULL)
    }

    fn set_steps(&mut self, number: u32, steps: Option<Vec<Step>>) {
        let known = self.rows.len() > number as usize;
        match steps {
            None if !known => {}
            None => {
                let row = std::mem::replace(&mut self.rows[number as usize], FULL);
                self.free_steps.extend((row != FULL).then_some(row));
            }
            Some(steps) => {
                if !known {
                    self.rows.resize(number as usize + 1, FULL);
                }
                let row = &mut self.rows[number as usize];
                if *row == FULL {
                    *row = self.free_steps.pop().unwrap_or(self.steps.len() as u32);
                }
                match self.steps.get_mut(*row as usize) {
                    Some(old) => *old = steps,
                    None => self.steps.push(steps),
                }
            }
        }
    }

    fn lose(&mut self, from: usize, to: usize) {
        for lost in &mut self.lost[from..to] {
            self.left -= usize::from(!std::mem::replace(lost, true));
        }
    }

    /// The number that says of a page that it is dirty at no size.
    fn clean(&self) -> u32 {
        self.pass.sizes.len() as u32
    }

    /// A page has left the caches smaller than size number `first`, and flash took it where it was dirty.
    fn left_dirty(&mut self, number: u32, first: usize) {
        let page = &mut self.pages[number as usize];
        let dirty = page.dirty();
        // Without a branch: both are the same entry if it was dirty in none of them.
        self.writes[first.min(dirty as usize)] += 1;
        self.writes[first] -= 1;
        page.set_dirty(dirty.max(first as u32));
    }

    fn trim(&mut self, number: u32, mask: SectorMask) {
        let time = self.pages[number as usize].time;
        if time == OUTSIDE {
            return;
        }
        let first = self.first_hit(time);
        if mask != self.pass.page.full_mask() {
            return self.lose(first, self.pass.sizes.len());
        }
        self.left_dirty(number, first);
        let clean = self.clean();
        let page = &mut self.pages[number as usize];
        page.set_dirty(clean);
        self.stack.remove(&mut page.time);
    }

    /// Every dirty page is programmed once in every cache: now, or when it left.
    fn flush(&mut self) {
        for number in std::mem::take(&mut self.maybe_dirty) {
            self.left_dirty(number, self.pass.sizes.len());
            self.pages[number as usize].set_listed(false);
        }
    }

    /// Pages that have left the caches so far are flash traffic of the warm-up.
    fn start_measuring(&mut self) {
        self.settle();
        self.more.fill(CurveCounts::default());
        self.writes.fill(0);
        self.all = CurveCounts::default();
    }

    /// Counts the dirty pages that have left caches since they were touched.
    fn settle(&mut self) {
        let mut list = std::mem::take(&mut self.maybe_dirty);
        for &number in &list {
            let first = self.first_hit(self.pages[number as usize].time);
            self.left_dirty(number, first);
            let clean = self.clean();
            let page = &mut self.pages[number as usize];
            page.set_listed(page.dirty() != clean);
        }
        list.retain(|&number| self.pages[number as usize].is_listed());
        self.maybe_dirty = list;
    }

    fn finish(mut self) -> Vec<Option<CurveCounts>> {
        self.settle();
        let mut sum = CurveCounts::default();
        let mut writes = 0;
        let mut points = Vec::with_capacity(self.more.len());
        for (i, more) in self.more.iter().enumerate() {
            sum.add_hits(more);
            writes += self.writes[i];
            let counts = CurveCounts {
                flash_writes_host: u64::try_from(writes).expect("pages leave after they came"),
                ..sum.with_accesses_of(&self.all)
            };
            points.push((!self.lost[i]).then_some(counts));
        }
        points
    }
}
