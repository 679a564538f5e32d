//! When each page access of a run is followed by the next one to the same page.
//!
//! One forward pass over the page accesses of the run, before it. 4 B per access are kept; during
//! the pass also a table of 4 B per page touched.

use crate::sparse::Sparse;
use destage_types::{Lpn, Op};
use std::fmt;

/// Which accesses count as the next use of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NextOf {
    /// Reads and writes alike.
    #[default]
    Any,
    /// Writes only.
    Write,
}

/// "Never" among the stored numbers.
const NEVER: u32 = u32::MAX;
/// Marks an access whose next use is not known yet; the other bits are the number of the page's
/// previous such access, 0 for none.
const OPEN: u32 = 1 << 31;
/// Most accesses that can be told apart.
const MOST: usize = (OPEN - 2) as usize;

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
    /// Of a run without TRIM; [`FutureBuilder`] takes TRIMs too.
    ///
    /// # Errors
    /// [`FutureTooLong`] from 2^31 - 2 accesses.
    pub fn of(
        accesses: impl Iterator<Item = (Lpn, Op)>,
        next_of: NextOf,
    ) -> Result<Future, FutureTooLong> {
        let mut builder = FutureBuilder::new(next_of);
        builder.next.reserve(accesses.size_hint().0);
        for (lpn, op) in accesses {
            builder.access(lpn, op);
        }
        builder.finish()
    }

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
#[derive(Clone, Debug)]
pub struct FutureBuilder {
    next: Vec<u32>,
    /// Number of the last access to a page, 0 for none.
    last: Sparse<u32>,
    next_of: NextOf,
    too_long: bool,
}

impl FutureBuilder {
    /// Before the first access.
    pub fn new(next_of: NextOf) -> FutureBuilder {
        FutureBuilder {
            next: Vec::new(),
            last: Sparse::new(0),
            next_of,
            too_long: false,
        }
    }

    /// Brings what [`FutureBuilder::access`] reads and writes for page `lpn` close, see
    /// [`crate::Frames::look_ahead`].
    #[inline]
    pub fn look_ahead(&self, lpn: Lpn) -> u64 {
        let last = self.last.get(lpn.0) as usize;
        let next = self.next.get(last.saturating_sub(1));
        next.map_or(0, |&n| u64::from(n))
    }

    /// The run's next page access: a read or a write, hit or miss, cached or bypassed.
    #[inline]
    pub fn access(&mut self, lpn: Lpn, op: Op) {
        if self.next.len() >= MOST {
            self.too_long = true;
            return;
        }
        let seq = self.next.len() as u32 + 1;
        let last = std::mem::replace(self.last.at(lpn.0), seq);
        match self.next_of {
            NextOf::Any => {
                if last != 0 {
                    self.next[last as usize - 1] = seq;
                }
                self.next.push(NEVER);
            }
            NextOf::Write if op == Op::Write => {
                self.close(last, seq);
                self.next.push(OPEN);
            }
            NextOf::Write => self.next.push(OPEN | last),
        }
    }

    /// The page is discarded here: it must be used never again until it is written anew. To be
    /// called for pages that a TRIM covers wholly.
    pub fn trim(&mut self, lpn: Lpn) {
        let last = std::mem::replace(self.last.at(lpn.0), 0);
        if self.next_of == NextOf::Write {
            self.close(last, NEVER);
        }
    }

    /// The accesses from `last` back to the previous write have their next use at `seq`.
    #[inline]
    fn close(&mut self, last: u32, seq: u32) {
        let mut at = last;
        while at != 0 {
            let next = &mut self.next[at as usize - 1];
            at = std::mem::replace(next, seq) & !OPEN;
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
        if self.next_of == NextOf::Write {
            for next in self.next.iter_mut().filter(|n| **n & OPEN != 0) {
                *next = NEVER;
            }
        }
        Ok(Future { next: self.next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows access `i` of the stream, by looking at all that follow.
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
        let mut x = 5u64;
        for (pages, trims) in [(1, 0), (7, 5), (60, 1), (60, 30)] {
            let stream: Vec<(u64, Op)> = (0..400)
                .map(|_| {
                    x = x
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
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

    #[test]
    fn a_stream_without_trims_needs_no_builder() {
        let stream = [3, 4, 3].map(|n| (Lpn(n), Op::Read));
        let future = Future::of(stream.into_iter(), NextOf::Any).unwrap();
        assert_eq!(future, Future::given([Some(3), None, None]));
        let future = Future::of(stream.into_iter(), NextOf::Write).unwrap();
        assert_eq!(future, Future::given([None; 3]));
        assert_eq!((future.len(), future.is_empty()), (3, false));
    }
}
