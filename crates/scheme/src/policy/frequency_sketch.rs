//! How often pages were accessed lately, about: a count-min sketch that fades.
//!
//! Source: Einziger, Friedman, Manes, ACM TOS 2017; conservative update is in section 3.2.

use crate::rng::mix64;
use crate::words;
use destage_types::Lpn;

/// Rows of counters.
const ROWS: u64 = 4;
/// The most that a counter of four bits holds.
const MOST: u8 = 15;
/// The summand of SplitMix64, which tells the rows apart.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

words! {
    /// Which of the four counters of a page an access increments (WT-2).
    pub enum Increment {
        /// Those that hold the smallest value: conservative update.
        Minimal = "minimal",
        /// All of them.
        Plain = "plain",
    }
}

/// Four rows of counters of four bits. A page has a counter in each row, and the smallest of them is never
/// below the accesses that were not halved away, up to 15.
#[derive(Clone, Debug)]
pub struct FrequencySketch {
    /// Two counters in each byte, row after row.
    counters: Vec<u8>,
    /// Counters of a row less one; a power of two less one.
    mask: u64,
    increment: Increment,
    /// The sample counter: it counts accesses, and is halved with the counters.
    sample: u64,
    /// Size of the sample, at which both are halved.
    period: u64,
}

impl FrequencySketch {
    /// For a cache of `capacity` pages: rows as long as the next power of two, and a sample of ten accesses
    /// per page.
    pub fn new(capacity: u32, increment: Increment) -> FrequencySketch {
        let capacity = u64::from(capacity.max(1));
        FrequencySketch {
            counters: vec![0; FrequencySketch::bytes(capacity) as usize],
            mask: capacity.next_power_of_two() - 1,
            increment,
            sample: 0,
            period: 10 * capacity,
        }
    }

    /// Bytes of the counters of a cache of `capacity` pages, without end where that is too much to count.
    pub const fn bytes(capacity: u64) -> u64 {
        match capacity.checked_next_power_of_two() {
            Some(width) => width.saturating_mul(ROWS / 2),
            None => u64::MAX,
        }
    }

    /// Bytes of the counters.
    pub fn size(&self) -> u64 {
        self.counters.len() as u64
    }

    /// Byte of the counter of a page in a row, and by how much it is shifted there.
    #[inline(always)]
    fn place(&self, row: u64, lpn: Lpn) -> (usize, u32) {
        let hash = mix64(lpn.0.wrapping_add(row.wrapping_mul(GAMMA)));
        let counter = row * (self.mask + 1) + (hash & self.mask);
        ((counter / 2) as usize, (counter % 2) as u32 * 4)
    }

    /// Counts an access.
    #[inline]
    pub fn count(&mut self, lpn: Lpn) {
        let places: [(usize, u32); ROWS as usize] =
            std::array::from_fn(|row| self.place(row as u64, lpn));
        let counters = places.map(|(byte, shift)| self.counters[byte] >> shift & MOST);
        let smallest = counters.into_iter().min().unwrap_or(0);
        for ((byte, shift), counter) in places.into_iter().zip(counters) {
            let counts = self.increment == Increment::Plain || counter == smallest;
            if counts && counter < MOST {
                self.counters[byte] += 1 << shift;
            }
        }
        self.sample += 1;
        if self.sample == self.period {
            self.reset();
        }
    }

    /// The reset of the paper. The sample counter keeps half of what it counted, as the counters do, so
    /// the next reset comes after half as many accesses as the first one (WT-3).
    #[cold]
    fn reset(&mut self) {
        self.sample /= 2;
        for pair in &mut self.counters {
            *pair = *pair >> 1 & 0x77;
        }
    }

    /// The smallest counter of a page.
    #[inline]
    pub fn estimate(&self, lpn: Lpn) -> u8 {
        let counter = |row| {
            let (byte, shift) = self.place(row, lpn);
            self.counters[byte] >> shift & MOST
        };
        (0..ROWS).map(counter).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn no_estimate_is_below_the_count_and_most_are_right() {
        let mut sketch = FrequencySketch::new(1000, Increment::Minimal);
        let mut rng = SplitMix64::new(3);
        let mut counts = [0u8; 300];
        for _ in 0..2000 {
            let page = (rng.next_u64() % 300).min(rng.next_u64() % 300);
            sketch.count(Lpn(page));
            counts[page as usize] = MOST.min(counts[page as usize] + 1);
        }
        let estimates = (0..300).map(|page| sketch.estimate(Lpn(page)));
        let mut right = 0;
        for (estimate, count) in estimates.zip(counts) {
            assert!(estimate >= count);
            right += u32::from(estimate == count);
        }
        assert!(right > 250, "{right} of 300");
    }

    fn count_times(sketch: &mut FrequencySketch, page: u64, times: u32) {
        (0..times).for_each(|_| sketch.count(Lpn(page)));
    }

    #[test]
    fn counters_end_at_15_and_are_halved_after_ten_accesses_a_page() {
        let mut sketch = FrequencySketch::new(4, Increment::Minimal);
        count_times(&mut sketch, 7, 39);
        assert_eq!(sketch.estimate(Lpn(7)), 15);
        count_times(&mut sketch, 7, 1);
        assert_eq!(sketch.estimate(Lpn(7)), 7);
        assert_eq!((sketch.size(), FrequencySketch::bytes(4)), (8, 8));
    }

    /// With 4 pages the sample is 40 accesses, then 20, and 20 again.
    #[test]
    fn wt_3_the_second_reset_comes_after_half_as_many_accesses() {
        let mut sketch = FrequencySketch::new(4, Increment::Minimal);
        let mut after_each = |times: u32| {
            count_times(&mut sketch, 7, times);
            sketch.estimate(Lpn(7))
        };
        assert_eq!([after_each(40), after_each(19)], [7, 15]);
        assert_eq!([after_each(1), after_each(19)], [7, 15]);
        assert_eq!(after_each(1), 7);
    }

    /// Two pages whose counters are the same in some row, but not in all.
    #[test]
    fn wt_2_only_the_smallest_counters_are_incremented() {
        let places = |sketch: &FrequencySketch, page: u64| {
            let rows = 0..ROWS;
            rows.map(|row| sketch.place(row, Lpn(page)))
                .collect::<Vec<_>>()
        };
        let shared = |sketch: &FrequencySketch, page: u64| {
            let pairs = places(sketch, 0).into_iter().zip(places(sketch, page));
            pairs.filter(|(a, b)| a == b).count()
        };
        for increment in [Increment::Minimal, Increment::Plain] {
            let mut sketch = FrequencySketch::new(64, increment);
            let other = (1..).find(|&page| shared(&sketch, page) == 1).unwrap();
            count_times(&mut sketch, 0, 5);
            count_times(&mut sketch, other, 3);
            let counter = |&(byte, shift): &(usize, u32)| sketch.counters[byte] >> shift & MOST;
            let of_other = places(&sketch, other);
            let mut counters: Vec<u8> = of_other.iter().map(counter).collect();
            counters.sort_unstable();
            // The shared counter holds five accesses of page 0, which three of the other page do not raise.
            let most = if increment == Increment::Plain { 8 } else { 5 };
            assert_eq!(counters, [3, 3, 3, most]);
        }
    }
}
