//! State of the requests so far, for fitting and generating.

use super::bins::{RUN_BINS, class, run_bin};
use super::stack::PageStack;
use super::touched::{BLOCK, PackedSlot, StackSlot, TouchedPages, block_of};
use destage_types::NumberMap;

/// Entries of a list of streams that are used.
const STREAMS: usize = 4096;

/// A page that was accessed.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub number: u64,
    /// First sector and length of the last request that covered it.
    pub start: u64,
    pub sectors: u32,
    /// Class of the last request that covered it.
    pub tag: u8,
    /// Accesses, at most 255.
    pub count: u8,
    /// Was the last request at least the 16th of its stream?
    pub run16: bool,
}

/// A stream that may go on.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// The first sector behind it.
    pub end: u64,
    /// Its requests so far.
    pub run: u32,
    /// Block of its last page.
    block: u32,
}

/// State of a page by its place. 0: untouched; 1 and 2: in the stack of written pages, of pages only read.
pub fn state_of(place: Option<StackSlot>) -> usize {
    place.map_or(0, |place| usize::from(place.stack) + 1)
}

/// First and last page of a request.
pub fn pages(start: u64, sectors: u32) -> (u64, u64) {
    (start / 8, (start + u64::from(sectors) - 1) / 8)
}

/// Pages, stacks and streams.
pub struct State {
    touched: TouchedPages,
    /// Pages that were ever written; pages only read.
    pub stacks: [PageStack<Page>; 2],
    /// By operation and run bin, the newest last.
    streams: [[Vec<Stream>; RUN_BINS]; 2],
    /// How many streams of an operation end at a sector, where that is asked for.
    ends: Option<[NumberMap<u64, u32>; 2]>,
    /// Page accesses by operation and what the page was: untouched, written, read only.
    pub accesses: [[u64; 3]; 2],
}

impl State {
    pub fn new() -> State {
        State {
            touched: TouchedPages::default(),
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
        self.stacks.iter().map(PageStack::size).sum()
    }

    /// Where the page with this number is.
    pub fn place(&self, number: u64) -> Option<StackSlot> {
        self.touched.place(number)
    }

    /// Where the last page of a request is that goes on a stream with so many sectors.
    pub fn place_behind(&self, stream: &Stream, sectors: u32) -> Option<StackSlot> {
        let number = pages(stream.end, sectors).1;
        let last = (stream.end - 1) / 8;
        // Most do not go on far.
        if block_of(number) == block_of(last) {
            self.touched.place_in(stream.block, number)
        } else {
            self.place(number)
        }
    }

    /// State of the page with this number, as [`state_of`] has it.
    pub fn state(&self, number: u64) -> usize {
        state_of(self.place(number))
    }

    /// Was a page of the block of 64 pages accessed that has page `number`?
    pub fn is_block_touched(&self, number: u64) -> bool {
        self.touched.has_block(number)
    }

    /// The page in a place.
    pub fn page(&self, place: StackSlot) -> &Page {
        self.stacks[usize::from(place.stack)].page(place.slot)
    }

    /// Pages above the one in a place.
    pub fn distance(&self, place: StackSlot) -> u64 {
        self.stacks[usize::from(place.stack)].distance(place.slot)
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
            Some((bin, found.map(|s| s.end).position(|end| end == sector)?))
        })
    }

    /// Takes the stream of a rank away.
    pub fn take(&mut self, op: usize, bin: usize, rank: usize) -> Stream {
        let list = &mut self.streams[op][bin];
        let taken = list.remove(list.len() - 1 - rank);
        self.forget(op, taken.end);
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
        let (first, last) = pages(start, sectors);
        let tag = class(sectors) as u8;
        let page = Page {
            number: first,
            start,
            sectors,
            tag,
            count: 0,
            run16: run >= 16,
        };
        let (mut number, mut block) = (first, 0);
        while number <= last {
            self.make_room();
            // Pages of a request lie side by side, so they are found a block at a time.
            block = self.touched.block(number);
            let places = self.touched.places_from(block, number);
            let next = number + places.len() as u64;
            for (place, number) in places.iter_mut().zip(number..=last) {
                let page = Page { number, ..page };
                let accesses = &mut self.accesses[op];
                *place = touch(place.get(), op, page, &mut self.stacks, accesses);
            }
            number = next;
        }
        self.stacks.iter_mut().for_each(PageStack::settle);
        let end = start + u64::from(sectors);
        self.end_stream(op, Stream { end, run, block });
    }

    fn end_stream(&mut self, op: usize, stream: Stream) {
        if let Some(ends) = &mut self.ends {
            *ends[op].entry(stream.end).or_insert(0) += 1;
        }
        let list = &mut self.streams[op][run_bin(stream.run)];
        list.push(stream);
        if list.len() == 2 * STREAMS {
            let dropped: Vec<Stream> = list.drain(..STREAMS).collect();
            dropped.iter().for_each(|old| self.forget(op, old.end));
        }
    }

    /// Sees to it that the stacks have room for the pages of a block.
    fn make_room(&mut self) {
        let touched = &mut self.touched;
        for (stack, pages) in (0..).zip(&mut self.stacks) {
            if !pages.has_room(BLOCK) {
                pages.renumber(|page, slot| {
                    let block = touched.block(page.number);
                    touched.places_from(block, page.number)[0] = StackSlot { stack, slot }.into();
                });
            }
        }
    }
}

/// An access to `page`, which is in `place` if it was accessed before; gives its new place.
fn touch(
    place: Option<StackSlot>,
    op: usize,
    page: Page,
    stacks: &mut [PageStack<Page>; 2],
    accesses: &mut [u64; 3],
) -> PackedSlot {
    let written = 1 - op as u8;
    let (stack, count) = match place {
        Some(StackSlot { stack, slot }) => {
            let on = &mut stacks[usize::from(stack)];
            let Page { tag, count, .. } = *on.page(slot);
            on.remove(slot, tag);
            accesses[usize::from(stack) + 1] += 1;
            (stack.min(written), count.saturating_add(1))
        }
        None => {
            accesses[0] += 1;
            (written, 1)
        }
    };
    let slot = stacks[usize::from(stack)].push(Page { count, ..page }, page.tag);
    StackSlot { stack, slot }.into()
}
