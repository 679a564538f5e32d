//! Figures by which a trace and its twin are compared.

use super::state::pages;
use destage_trace::RecentSets;
use destage_types::{Nanos, NumberMap, Op};

/// Sizes of the buffers, in MiB.
pub const CURVE_MIB: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Sectors above which a set of sequential writes is large, and the writes that a set is remembered
/// for (Prober).
const LARGE: (u64, u64) = (256, 3000);
/// Sectors of a request that are looked at: a GiB. No twin has longer ones.
pub const LONGEST: u32 = 1 << 21;
const END: u32 = u32::MAX;
const SECOND: u64 = 1_000_000_000;

/// An LRU list of pages. Reads touch what is there.
struct Buffer {
    index: NumberMap<u64, u32>,
    /// Page, newer and older neighbour.
    nodes: Vec<(u64, u32, u32)>,
    capacity: usize,
    newest: u32,
    oldest: u32,
    hits: u64,
}

impl Buffer {
    fn new(capacity: usize) -> Buffer {
        Buffer {
            index: NumberMap::default(),
            nodes: Vec::new(),
            capacity,
            newest: END,
            oldest: END,
            hits: 0,
        }
    }

    /// Is the page there? It is afterwards, if it `enters`.
    fn access(&mut self, page: u64, enters: bool) -> bool {
        if let Some(&node) = self.index.get(&page) {
            self.unlink(node);
            self.raise(node);
            return true;
        }
        if enters {
            let node = if self.nodes.len() < self.capacity {
                self.nodes.push((page, END, END));
                self.nodes.len() as u32 - 1
            } else {
                let node = self.oldest;
                self.unlink(node);
                self.index.remove(&self.nodes[node as usize].0);
                self.nodes[node as usize].0 = page;
                node
            };
            self.index.insert(page, node);
            self.raise(node);
        }
        false
    }

    fn unlink(&mut self, node: u32) {
        let (_, newer, older) = self.nodes[node as usize];
        match newer {
            END => self.newest = older,
            newer => self.nodes[newer as usize].2 = older,
        }
        match older {
            END => self.oldest = newer,
            older => self.nodes[older as usize].1 = newer,
        }
    }

    fn raise(&mut self, node: u32) {
        let second = self.newest;
        (self.nodes[node as usize].1, self.nodes[node as usize].2) = (END, second);
        match second {
            END => self.oldest = node,
            second => self.nodes[second as usize].1 = node,
        }
        self.newest = node;
    }
}

/// Hit ratios of LRU buffers of [`CURVE_MIB`].
pub(super) struct LruCurve {
    buffers: [Buffer; 7],
    /// Do reads enter, and count?
    reads: bool,
    accesses: u64,
}

impl LruCurve {
    /// Write page hit ratios of write buffers: reads touch and do not enter.
    pub fn of_writes() -> LruCurve {
        LruCurve::new(false)
    }

    fn new(reads: bool) -> LruCurve {
        LruCurve {
            buffers: CURVE_MIB.map(|mib| Buffer::new((mib * 256) as usize)),
            reads,
            accesses: 0,
        }
    }

    pub fn add(&mut self, op: Op, start: u64, sectors: u32) {
        let counts = self.reads || op == Op::Write;
        let (first, last) = pages(start, sectors);
        for page in first..=last {
            self.accesses += u64::from(counts);
            for buffer in &mut self.buffers {
                let hit = buffer.access(page, counts);
                buffer.hits += u64::from(hit && counts);
            }
        }
    }

    /// Hit ratios in percent; `None` without an access that counts.
    pub fn percent(&self) -> Option<[f64; 7]> {
        let percent = |b: &Buffer| 100.0 * b.hits as f64 / self.accesses as f64;
        (self.accesses > 0).then(|| self.buffers.each_ref().map(percent))
    }
}

/// Marks of a page, in a byte: accesses up to three, and whether it was written.
type Marks = u8;
const WRITTEN: Marks = 4;

/// Counts what a trace and its twin are compared by, request by request.
pub struct LikenessCount {
    write_curve: LruCurve,
    curve: LruCurve,
    pages: NumberMap<u64, Marks>,
    frequent: u64,
    /// Pages written, and those of them that were written before.
    writes: [u64; 2],
    /// Pages read, and those of them that were written before.
    reads: [u64; 2],
    sets: RecentSets,
    /// Sectors written, and those of them in large sets.
    large: [u64; 2],
    /// Sum of the large sets after each write request, and their number.
    large_sets: [u64; 2],
    requests: u64,
    last: u64,
    /// Sum of the gaps and of their squares.
    gaps: (u128, u128),
    /// Requests of the current second, and of the fullest one.
    second: (u64, u64),
}

/// Figures by which a trace and its twin are compared. A ratio without a denominator is `None`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Likeness {
    /// Write page hit ratio, in percent, of LRU write buffers of [`CURVE_MIB`].
    pub write_curve: Option<[f64; 7]>,
    /// Page hit ratio, in percent, of LRU caches of these sizes that reads enter as well.
    pub curve: Option<[f64; 7]>,
    /// Share of the written pages that were written before.
    pub update_share: Option<f64>,
    /// Share of the read pages that were written before.
    pub read_after_write_share: Option<f64>,
    /// Share of the written sectors that are in large sequential sets.
    pub large_share: Option<f64>,
    /// Mean number of large sets after a write.
    pub large_sets: Option<f64>,
    /// Share of the pages that were accessed three times and more.
    pub frequent_share: Option<f64>,
    /// Standard deviation of the gaps between two requests, by their mean.
    pub gap_variation: Option<f64>,
    /// Requests of the fullest second, by those of a mean one.
    pub peak_to_mean: Option<f64>,
    /// Pages touched.
    pub footprint: u64,
    /// Requests counted.
    pub requests: u64,
}

impl LikenessCount {
    /// Nothing counted.
    #[allow(clippy::new_without_default)] // a default says nothing here
    pub fn new() -> LikenessCount {
        LikenessCount {
            write_curve: LruCurve::of_writes(),
            curve: LruCurve::new(true),
            pages: NumberMap::default(),
            frequent: 0,
            writes: [0; 2],
            reads: [0; 2],
            sets: RecentSets::new(LARGE.0, LARGE.1),
            large: [0; 2],
            large_sets: [0; 2],
            requests: 0,
            last: 0,
            gaps: (0, 0),
            second: (0, 0),
        }
    }

    /// Counts a read or write; times never go back.
    pub fn add(&mut self, time: Nanos, op: Op, start: u64, sectors: u32) {
        let sectors = sectors.min(LONGEST);
        self.time(time.0);
        self.write_curve.add(op, start, sectors);
        self.curve.add(op, start, sectors);
        let write = op == Op::Write;
        let (first, last) = pages(start, sectors);
        for page in first..=last {
            let marks = self.pages.entry(page).or_default();
            let counts = if write {
                &mut self.writes
            } else {
                &mut self.reads
            };
            counts[0] += 1;
            counts[1] += u64::from(*marks & WRITTEN != 0);
            let accesses = *marks & 3;
            self.frequent += u64::from(accesses == 2);
            *marks = (*marks & WRITTEN) | (accesses + 1).min(3);
            *marks |= if write { WRITTEN } else { 0 };
        }
        if write {
            self.large[0] += u64::from(sectors);
            self.large[1] += add_to(&mut self.sets, start, sectors);
            self.large_sets[0] += self.sets.large() as u64;
            self.large_sets[1] += 1;
        }
    }

    fn time(&mut self, time: u64) {
        if self.requests > 0 {
            let gap = u128::from(time - self.last);
            self.gaps.0 += gap;
            self.gaps.1 += gap * gap;
        }
        if time / SECOND != self.last / SECOND {
            self.second.0 = 0;
        }
        self.second.0 += 1;
        self.second.1 = self.second.1.max(self.second.0);
        (self.requests, self.last) = (self.requests + 1, time);
    }

    /// The figures.
    pub fn finish(&self) -> Likeness {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let gaps = self.requests.saturating_sub(1) as f64;
        let (sum, squares) = (self.gaps.0 as f64, self.gaps.1 as f64);
        let variation = libm::sqrt((squares * gaps - sum * sum).max(0.0)) / sum;
        let seconds = (self.last / SECOND + 1) as f64;
        Likeness {
            write_curve: self.write_curve.percent(),
            curve: self.curve.percent(),
            update_share: share(self.writes[1], self.writes[0]),
            read_after_write_share: share(self.reads[1], self.reads[0]),
            large_share: share(self.large[1], self.large[0]),
            large_sets: share(self.large_sets[0], self.large_sets[1]),
            frequent_share: share(self.frequent, self.pages.len() as u64),
            gap_variation: (sum > 0.0).then_some(variation),
            peak_to_mean: share(self.second.1, self.requests).map(|peak| peak * seconds),
            footprint: self.pages.len() as u64,
            requests: self.requests,
        }
    }
}

/// Sets in which writes are looked for.
pub fn large_sets() -> RecentSets {
    RecentSets::new(LARGE.0, LARGE.1)
}

/// A write: how many sectors of large sets it makes.
pub fn add_to(sets: &mut RecentSets, start: u64, sectors: u32) -> u64 {
    sets.begin();
    sets.write(start, start + u64::from(sectors) - 1)
}

/// Mean absolute difference of two curves, in points.
pub fn curve_error(a: [f64; 7], b: [f64; 7]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
    sum / 7.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_one_page_too_long_never_hits_and_reads_do_not_enter() {
        let mut curve = LruCurve::of_writes();
        for page in (0..257).chain(0..257) {
            curve.add(Op::Write, page * 8, 8);
        }
        assert_eq!(curve.percent().unwrap()[..2], [0.0, 50.0]);
        let (mut curve, mut both) = (LruCurve::of_writes(), LruCurve::new(true));
        let writes = (0..256).map(|page| (Op::Write, page));
        // Page 1 is the oldest after the first read; the second evicts it where reads enter.
        let rest = [(Op::Read, 0), (Op::Read, 9_999), (Op::Write, 1_000)];
        let rest = rest.into_iter().chain([(Op::Write, 0), (Op::Write, 2)]);
        for (op, page) in writes.chain(rest) {
            curve.add(op, 8 * page, 8);
            both.add(op, 8 * page, 8);
        }
        assert_eq!(curve.percent().unwrap()[0], 200.0 / 259.0);
        assert_eq!(both.percent().unwrap()[0], 200.0 / 261.0);
        assert_eq!(LruCurve::of_writes().percent(), None);
    }

    #[test]
    fn shares_and_times_are_counted_by_hand() {
        let mut count = LikenessCount::new();
        let second = |s| Nanos(s * SECOND);
        count.add(second(0), Op::Write, 0, 16);
        count.add(second(1), Op::Read, 8, 16);
        count.add(second(1), Op::Write, 8, 8);
        count.add(second(3), Op::Write, 1 << 20, 264);
        let got = count.finish();
        // Pages 0 and 1, then 1 and 2, then 1, then 33 others.
        assert_eq!(got.update_share, Some(1.0 / 36.0));
        assert_eq!(got.read_after_write_share, Some(0.5));
        assert_eq!(got.large_share, Some(264.0 / 288.0));
        assert_eq!((got.footprint, got.requests), (36, 4));
        assert_eq!(got.large_sets, Some(1.0 / 3.0));
        assert_eq!(got.frequent_share, Some(1.0 / 36.0));
        // Gaps 1, 0 and 2 seconds; two requests in a second where four take four seconds.
        assert!((got.gap_variation.unwrap() - libm::sqrt(2.0 / 3.0)).abs() < 1e-12);
        assert_eq!(got.peak_to_mean, Some(2.0));
        let nothing = LikenessCount::new().finish();
        assert_eq!((nothing.update_share, nothing.gap_variation), (None, None));
    }
}
