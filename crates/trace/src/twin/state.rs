//! What fitting and generating know of the requests so far.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::bins::{RUN_BINS, class, run_bin};
use super::stack::PageStack;

/// Entries of a list of streams that are used.
const STREAMS: usize = 4096;

/// Mixes page numbers and sectors: the default hasher would be most of the time of a request.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, n: u64) {
        let x = (self.0 ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = x ^ (x >> 32);
    }
}

/// A map that is never iterated.
pub type Map<V> = HashMap<u64, V, BuildHasherDefault<Mix>>;

/// Pages of an entry of the index: those of a request lie in few.
const GROUP: u64 = 8;
/// No page of the index.
const UNTOUCHED: u32 = u32::MAX;

/// Pages of a block, of which it matters whether any was touched.
const BLOCK: u64 = 64;

/// A page that was accessed.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub number: u64,
    slot: u32,
    /// 0: ever written, 1: read only.
    pub stack: u8,
    /// Class of the last request that covered it.
    pub tag: u8,
    /// Accesses, at most 255.
    pub count: u8,
    /// Was the last request at least the 16th of its stream?
    pub run16: bool,
    /// First sector and length of the last request that covered it.
    pub extent: (u64, u32),
}

/// A stream that may go on: where it ends, and its requests so far.
pub type Stream = (u64, u32);

/// First and last page of a request.
pub fn pages(start: u64, sectors: u32) -> (u64, u64) {
    (start / 8, (start + u64::from(sectors) - 1) / 8)
}

/// Pages, stacks and streams.
pub struct State {
    /// Where in `pages` the pages of a group are.
    index: Map<[u32; GROUP as usize]>,
    pages: Vec<Page>,
    /// Blocks of which a page was accessed.
    blocks: HashSet<u64, BuildHasherDefault<Mix>>,
    pub stacks: [PageStack; 2],
    /// By operation and run bin, the newest last.
    streams: [[Vec<Stream>; RUN_BINS]; 2],
    /// How many streams of an operation end at a sector, where that is asked for.
    ends: Option<[Map<u32>; 2]>,
    /// Page accesses by operation and what the page was: untouched, written, read only.
    pub accesses: [[u64; 3]; 2],
}

impl State {
    pub fn new() -> State {
        State {
            index: Map::default(),
            pages: Vec::new(),
            blocks: HashSet::default(),
            stacks: [PageStack::new(), PageStack::new()],
            streams: Default::default(),
            ends: None,
            accesses: [[0; 3]; 2],
        }
    }

    /// The same for [`State::ending_at`].
    pub fn with_ends() -> State {
        State {
            ends: Some(Default::default()),
            ..State::new()
        }
    }

    /// Pages accessed so far.
    pub fn footprint(&self) -> u64 {
        self.pages.len() as u64
    }

    pub fn page(&self, number: u64) -> Option<&Page> {
        let group = self.index.get(&(number / GROUP))?;
        self.pages.get(group[(number % GROUP) as usize] as usize)
    }

    /// 0: untouched; 1 and 2: in the stack of written pages, of pages only read.
    pub fn state(&self, number: u64) -> usize {
        self.page(number)
            .map_or(0, |page| usize::from(page.stack) + 1)
    }

    /// Was a page of the block accessed that has page `number`?
    pub fn is_block_touched(&self, number: u64) -> bool {
        self.blocks.contains(&(number / BLOCK))
    }

    /// Pages above a page in its stack.
    pub fn distance(&self, page: &Page) -> u64 {
        self.stacks[usize::from(page.stack)].distance(page.slot)
    }

    /// The page in a slot of a stack.
    pub fn in_slot(&self, stack: usize, slot: u32) -> &Page {
        &self.pages[self.stacks[stack].page(slot) as usize]
    }

    /// Streams of an operation and run bin that may go on, the newest last.
    pub fn streams(&self, op: usize, bin: usize) -> &[Stream] {
        let all = &self.streams[op][bin];
        &all[all.len().saturating_sub(STREAMS)..]
    }

    /// Run bin and rank of the stream that ends at `sector`: the longest run bin, then the newest.
    pub fn ending_at(&self, op: usize, sector: u64) -> Option<(usize, usize)> {
        self.ends.as_ref()?[op].get(&sector)?;
        (0..RUN_BINS).rev().find_map(|bin| {
            let found = self.streams(op, bin).iter().rev();
            Some((bin, found.map(|s| s.0).position(|end| end == sector)?))
        })
    }

    /// Takes the stream of a rank away.
    pub fn take(&mut self, op: usize, bin: usize, rank: usize) -> Stream {
        let list = &mut self.streams[op][bin];
        let taken = list.remove(list.len() - 1 - rank);
        self.forget(op, taken.0);
        taken
    }

    fn forget(&mut self, op: usize, end: u64) {
        let Some(ends) = self.ends.as_mut().map(|ends| &mut ends[op]) else {
            return;
        };
        if let Some(n) = ends.get_mut(&end) {
            *n -= 1;
            if *n == 0 {
                ends.remove(&end);
            }
        }
    }

    /// A request: the `run`-th of its stream.
    pub fn access(&mut self, op: usize, start: u64, sectors: u32, run: u32) {
        let end = start + u64::from(sectors);
        let list = &mut self.streams[op][run_bin(run)];
        list.push((end, run));
        if let Some(ends) = &mut self.ends {
            *ends[op].entry(end).or_insert(0) += 1;
        }
        if list.len() == 2 * STREAMS {
            let dropped: Vec<Stream> = list.drain(..STREAMS).collect();
            dropped.iter().for_each(|old| self.forget(op, old.0));
        }
        let (first, last) = pages(start, sectors);
        for group in first / GROUP..=last / GROUP {
            let known = self.index.get(&group).copied();
            let mut ids = known.unwrap_or([UNTOUCHED; GROUP as usize]);
            for (number, id) in (group * GROUP..).zip(&mut ids) {
                if (first..=last).contains(&number) {
                    *id = (*id).min(self.pages.len() as u32);
                    self.touch((number, *id), op, (start, sectors), run >= 16);
                }
            }
            if known != Some(ids) {
                self.index.insert(group, ids);
            }
        }
        self.stacks.iter_mut().for_each(PageStack::settle);
    }

    /// An access to the page with this number, which is or comes at place `id` of all.
    fn touch(&mut self, (number, id): (u64, u32), op: usize, extent: (u64, u32), run16: bool) {
        let tag = class(extent.1) as u8;
        let written = 1 - op as u8;
        let (stack, count) = match self.pages.get(id as usize) {
            Some(old) => {
                self.accesses[op][usize::from(old.stack) + 1] += 1;
                self.stacks[usize::from(old.stack)].remove(old.slot, old.tag);
                (old.stack.min(written), old.count.saturating_add(1))
            }
            None => {
                self.accesses[op][0] += 1;
                self.blocks.insert(number / BLOCK);
                (written, 1)
            }
        };
        let on = &mut self.stacks[usize::from(stack)];
        if on.is_full() {
            let pages = &mut self.pages;
            on.renumber(|page, slot| pages[page as usize].slot = slot);
        }
        let slot = on.push(id, tag);
        let page = Page {
            number,
            slot,
            stack,
            tag,
            count,
            run16,
            extent,
        };
        match self.pages.get_mut(id as usize) {
            Some(old) => *old = page,
            None => self.pages.push(page),
        }
    }
}
