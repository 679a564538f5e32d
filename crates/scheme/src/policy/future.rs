//! When each page access of a run is followed by the next one to the same page.
//!
//! One pass over the page accesses of the run, before it. 4 B per access are kept; until then also
//! a table of 4 B per page touched.

use crate::store::{PREFETCH, PageIndex, Place};
use crate::words;
use destage_types::{Lpn, Op};
use std::fmt;
use std::hint::black_box;

words! {
    /// Which accesses count as the next use of a page.
    pub enum NextOf {
        /// Reads and writes.
        Any = "any",
        /// Writes only.
        Write = "write",
        /// Writes and TRIMs of a whole page that is dirty until then: its data need no program.
        Overwrite = "overwrite",
    }
}

/// "Never" among the stored numbers.
pub(super) const NEVER: u32 = u32::MAX;
/// Most accesses that are numbered.
const MOST: usize = (1 << 31) - 2;

/// The next use of every page access of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Future {
    next: Vec<u32>,
}

/// The run has more page accesses than a [`Future`] can number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FutureTooLong;

impl fmt::Display for FutureTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an offline scheme can run at most {MOST} page accesses")
    }
}

impl std::error::Error for FutureTooLong {}

impl Future {
    /// With next uses that are known already, `None` for never; for worked examples.
    ///
    /// # Panics
    /// If a next use does not fit 32 bits.
    pub fn given(next: impl IntoIterator<Item = Option<u64>>) -> Future {
        let number = |n| u32::try_from(n).expect("next uses of worked examples are small");
        Future {
            next: next.into_iter().map(|n| n.map_or(NEVER, number)).collect(),
        }
    }

    /// Number of the next access to the page of access `seq` (both from 1); `None` is never.
    ///
    /// # Panics
    /// If the run has fewer accesses.
    pub fn next_use(&self, seq: u64) -> Option<u64> {
        let next = self.key(seq);
        (next != NEVER).then_some(u64::from(next))
    }

    /// [`Future::next_use`] as a number that orders: never is the largest.
    #[inline]
    pub(super) fn key(&self, seq: u64) -> u32 {
        self.next[seq as usize - 1]
    }

    /// Page accesses of the run.
    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// Has the run no page access?
    pub fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        (self.next.capacity() * size_of::<u32>()) as u64
    }
}

/// Collects the page accesses of a run in their order.
///
/// Forwards, only where the table has the page of each access is noted, which is read and written
/// one after the other; the next uses take their place in a second pass, backwards, when each page
/// has its next use in the table.
#[derive(Clone, Debug)]
pub struct FutureBuilder {
    /// Place in `uses` of the page of each access.
    next: Vec<u32>,
    /// Next use of each page, once the second pass runs.
    uses: PageIndex<u32>,
    /// One bit an access: it counts as a use. Empty if all do.
    counts: Vec<u64>,
    /// Pages whose next use is this one from here on, each with the number of accesses before.
    changes: Vec<(u32, Place, u32)>,
    /// Pages written since the last FLUSH. Empty if FLUSH says nothing of the next use.
    written: Vec<Place>,
    next_of: NextOf,
    too_long: bool,
}

impl FutureBuilder {
    /// Before the first access.
    pub fn new(next_of: NextOf) -> FutureBuilder {
        FutureBuilder {
            next: Vec::new(),
            uses: PageIndex::new(NEVER),
            counts: Vec::new(),
            changes: Vec::new(),
            written: Vec::new(),
            next_of,
            too_long: false,
        }
    }

    /// The run's next page access: a read or a write, hit or miss, cached or bypassed.
    #[inline]
    pub fn access(&mut self, lpn: Lpn, op: Op) {
        let at = self.next.len();
        if at >= MOST {
            self.too_long = true;
            return;
        }
        let place = self.uses.touch_place(lpn.0);
        self.next.push(place.number());
        if self.next_of == NextOf::Overwrite && op == Op::Write {
            self.written.push(place);
        }
        if self.next_of != NextOf::Any {
            if at.is_multiple_of(64) {
                self.counts.push(0);
            }
            self.counts[at / 64] |= u64::from(op == Op::Write) << (at % 64);
        }
    }

    /// The page is discarded here: it must be used never again until it is written anew. To be
    /// called for pages that a TRIM covers wholly.
    pub fn trim(&mut self, lpn: Lpn) {
        let at = self.next.len() as u32;
        let next = match self.next_of {
            NextOf::Any | NextOf::Write => NEVER,
            NextOf::Overwrite => at + 1,
        };
        self.changes.push((at, self.uses.touch_place(lpn.0), next));
    }

    /// All data written so far are on flash from here on: a page that stays is clean.
    pub fn flush(&mut self) {
        let at = self.next.len() as u32;
        let clean = self.written.drain(..).map(|place| (at, place, NEVER));
        self.changes.extend(clean);
    }

    /// The same of one page.
    pub fn flush_page(&mut self, lpn: Lpn) {
        if self.next_of == NextOf::Overwrite {
            let place = self.uses.touch_place(lpn.0);
            self.changes.push((self.next.len() as u32, place, NEVER));
        }
    }

    /// After the last access.
    ///
    /// # Errors
    /// [`FutureTooLong`] from 2^31 - 2 accesses.
    pub fn finish(mut self) -> Result<Future, FutureTooLong> {
        if self.too_long {
            return Err(FutureTooLong);
        }
        let mut next = std::mem::take(&mut self.next);
        let mut behind = next.len();
        for block in next.rchunks_mut(PREFETCH) {
            let uses = block.iter().map(|&n| self.uses.at_known(Place::of(n)));
            black_box(uses.fold(0, |all, n| all ^ *n));
            for next in block.iter_mut().rev() {
                self.change(behind);
                behind -= 1;
                let counts = self.counts.get(behind / 64);
                let is_use = counts.is_none_or(|bits| bits >> (behind % 64) & 1 == 1);
                let known = self.uses.at_known_mut(Place::of(*next));
                *next = *known;
                if is_use {
                    *known = behind as u32 + 1;
                }
            }
        }
        Ok(Future { next })
    }

    /// The TRIMs and FLUSHes behind access number `behind`, and before the next one.
    #[inline]
    fn change(&mut self, behind: usize) {
        while let Some(&(at, place, next)) = self.changes.last()
            && at as usize >= behind
        {
            *self.uses.at_known_mut(place) = next;
            self.changes.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    /// The access that follows access `i` of the stream, by looking at all that follow.
    fn slow(stream: &[(u64, Op)], next_of: NextOf) -> Vec<Option<u64>> {
        let is_access = |op: Op| op != Op::Trim;
        let seq_of = |i: usize| stream[..=i].iter().filter(|s| is_access(s.1)).count() as u64;
        let accesses = stream.iter().enumerate().filter(|(_, s)| is_access(s.1));
        let next = accesses.map(|(i, &(lpn, _))| {
            let mut later = (i + 1..stream.len()).filter(|&j| stream[j].0 == lpn);
            let first = later.find(|&j| next_of == NextOf::Any || stream[j].1 != Op::Read);
            first.filter(|&j| is_access(stream[j].1)).map(&seq_of)
        });
        next.collect()
    }

    #[test]
    fn random_streams_agree_with_a_search() {
        let mut rng = SplitMix64::new(5);
        for (pages, trims) in [(1, 0), (7, 5), (60, 1), (60, 30)] {
            let stream: Vec<(u64, Op)> = (0..400)
                .map(|_| {
                    let x = rng.next_u64();
                    let op = match (x >> 50) % 100 {
                        n if n < trims => Op::Trim,
                        n if n % 2 == 0 => Op::Read,
                        _ => Op::Write,
                    };
                    ((x >> 33) % pages * 777, op)
                })
                .collect();
            for next_of in [NextOf::Any, NextOf::Write] {
                let mut builder = FutureBuilder::new(next_of);
                for &(lpn, op) in &stream {
                    match op {
                        Op::Trim => builder.trim(Lpn(lpn)),
                        _ => builder.access(Lpn(lpn), op),
                    }
                }
                let future = builder.finish().unwrap();
                let found: Vec<_> = (1..=future.len() as u64)
                    .map(|s| future.next_use(s))
                    .collect();
                assert_eq!(found, slow(&stream, next_of));
            }
        }
    }
}
