//! Runs of words that grow, without the holes that an allocator leaves between runs that have moved.

/// Words of a segment, 256 KiB.
const SEGMENT: usize = 1 << 15;
/// Owner of a run that was left.
const NOBODY: u32 = u32::MAX;

/// One run of words for each of many owners, in segments of memory that are filled one after the
/// other.
///
/// A run that needs more words moves to the end of the segment being filled. When that is full,
/// the segment with most words left by others is closed up and filled again, or there is a new
/// one. When all runs grow alike an allocator is left with holes that fit none of them, which
/// came to more than the runs.
#[derive(Clone, Debug)]
pub(super) struct PiecePool {
    /// Number of the first word of each run, 0 without one.
    starts: Vec<u32>,
    segments: Vec<Segment>,
    /// The one being filled.
    current: usize,
    /// Words of runs that were left, in all segments.
    left: usize,
}

/// Runs one behind the other, each behind a word with its owner (upper half) and length.
#[derive(Clone, Debug)]
struct Segment {
    words: Box<[u64]>,
    used: usize,
    left: usize,
}

impl PiecePool {
    /// No words for any of `owners`.
    pub fn new(owners: usize) -> PiecePool {
        PiecePool {
            starts: vec![0; owners],
            segments: Vec::new(),
            current: 0,
            left: 0,
        }
    }

    /// The run of `owner`.
    pub fn run(&self, owner: usize) -> Option<&[u64]> {
        let (segment, run) = self.find(owner)?;
        Some(&self.segments[segment].words[run])
    }

    /// The run of `owner`, to be changed.
    pub fn run_mut(&mut self, owner: usize) -> Option<&mut [u64]> {
        let (segment, run) = self.find(owner)?;
        Some(&mut self.segments[segment].words[run])
    }

    /// Segment and words of the run of `owner`.
    fn find(&self, owner: usize) -> Option<(usize, std::ops::Range<usize>)> {
        let start = self.starts[owner] as usize;
        let (segment, first) = (start / SEGMENT, start % SEGMENT);
        let length = |segment: &Segment| segment.words[first - 1] as u32 as usize;
        (start != 0).then(|| (segment, first..first + length(&self.segments[segment])))
    }

    /// Gives `owner` a run of `words`, as many as before or more: those before, and zeros. The
    /// pool should not grow if `tight`.
    pub fn grow(&mut self, owner: usize, words: usize, tight: bool) -> &mut [u64] {
        self.make_room(1 + words, tight);
        let (old, to) = (self.find(owner), self.current);
        let header = self.segments[to].used;
        let run = header + 1..header + 1 + words;
        let mut target = std::mem::take(&mut self.segments[to].words);
        target[header] = (owner as u64) << 32 | words as u64;
        let mut kept = 0;
        if let Some((from, old)) = old {
            kept = old.len();
            match from == to {
                true => target.copy_within(old, run.start),
                false => target[run.start..run.start + kept]
                    .copy_from_slice(&self.segments[from].words[old]),
            }
        }
        target[run.start + kept..run.end].fill(0);
        self.segments[to].words = target;
        self.segments[to].used = run.end;
        self.release(owner);
        self.starts[owner] = (to * SEGMENT + run.start) as u32;
        &mut self.segments[to].words[run]
    }

    /// Takes the run of `owner`, if there is one.
    pub fn release(&mut self, owner: usize) {
        let Some((segment, run)) = self.find(owner) else {
            return;
        };
        let segment = &mut self.segments[segment];
        segment.words[run.start - 1] |= u64::from(NOBODY) << 32;
        segment.left += 1 + run.len();
        self.left += 1 + run.len();
        self.starts[owner] = 0;
    }

    /// Makes the segment being filled one with room for `words`. One is closed up if an eighth of
    /// all words is left, or if the pool should not grow and it gives something.
    fn make_room(&mut self, words: usize, tight: bool) {
        let full = |segment: &Segment| segment.used + words > SEGMENT;
        if self.segments.get(self.current).is_some_and(|s| !full(s)) {
            return;
        }
        let most = (0..self.segments.len()).max_by_key(|&segment| self.segments[segment].left);
        let much = 8 * self.left > SEGMENT * self.segments.len();
        if let Some(most) = most
            && (much || tight && self.segments[most].left > SEGMENT / 128)
        {
            self.close_up(most);
            self.current = most;
            if !full(&self.segments[most]) {
                return;
            }
        }
        self.current = self.segments.len();
        self.segments.push(Segment {
            words: vec![0; SEGMENT].into_boxed_slice(),
            used: 0,
            left: 0,
        });
    }

    /// Moves the runs of a segment together.
    fn close_up(&mut self, number: usize) {
        let segment = &mut self.segments[number];
        let (mut at, mut to) = (0, 0);
        while at < segment.used {
            let header = segment.words[at];
            let (owner, length) = ((header >> 32) as u32, 1 + header as u32 as usize);
            if owner != NOBODY {
                segment.words.copy_within(at..at + length, to);
                self.starts[owner as usize] = (number * SEGMENT + to + 1) as u32;
                to += length;
            }
            at += length;
        }
        self.left -= segment.left;
        (segment.used, segment.left) = (to, 0);
    }

    /// Bytes of the segments.
    pub fn bytes(&self) -> u64 {
        (self.segments.len() * SEGMENT * size_of::<u64>()) as u64
    }

    /// Bytes of the list of runs.
    pub fn list_bytes(&self) -> u64 {
        (self.starts.len() * size_of::<u32>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    /// Runs that grow, come to an end and start again hold what was written to them, in not much
    /// more memory than they need.
    #[test]
    fn runs_keep_their_words_wherever_they_move() {
        let mut rng = SplitMix64::new(5);
        for tight in [false, true] {
            let (mut pool, mut model) = (PiecePool::new(3000), vec![Vec::<u64>::new(); 3000]);
            assert!(pool.run(7).is_none() && pool.bytes() == 0);
            for step in 0..60_000 {
                let owner = rng.below(3000) as usize;
                let held = &mut model[owner];
                if rng.below(40) == 0 {
                    held.clear();
                    pool.release(owner);
                    assert!(pool.run(owner).is_none());
                    continue;
                }
                held.resize(held.len() + 1 + rng.below(9) as usize, 0);
                let run = pool.grow(owner, held.len(), tight);
                assert_eq!(run, held);
                let at = rng.below(held.len() as u64) as usize;
                (run[at], held[at]) = (step, step);
                if step % 1000 == 0 {
                    for (owner, held) in model.iter().enumerate() {
                        assert_eq!(pool.run(owner).unwrap_or(&[]), held);
                    }
                }
            }
            let needed: usize = model.iter().map(|held| held.len() + 1).sum();
            let (needed, spared) = (8 * needed as u64, 2 * 8 * SEGMENT as u64);
            let most = if tight {
                needed * 33 / 32
            } else {
                needed * 8 / 7
            };
            assert!(
                pool.bytes() <= most + spared,
                "{} of {needed}",
                pool.bytes()
            );
        }
    }
}
