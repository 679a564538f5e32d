//! How often pages were accessed lately, about: a count-min sketch that fades.

use crate::rng::mix64;
use destage_types::Lpn;

/// Rows of counters.
const ROWS: u64 = 4;
/// The most that a counter of four bits holds.
const MOST: u8 = 15;
/// The summand of SplitMix64, which tells the rows apart.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Four rows of counters of four bits. A page has a counter in each row, and the smallest of them is never
/// below the accesses that were not halved away, up to 15.
#[derive(Clone, Debug)]
pub(super) struct FrequencySketch {
    /// Two counters in each byte, row after row.
    counters: Vec<u8>,
    /// Counters of a row less one; a power of two less one.
    mask: u64,
    /// Accesses since the counters were halved.
    counted: u64,
    /// Accesses after which they are.
    period: u64,
}

impl FrequencySketch {
    /// For a cache of `capacity` pages: rows as long as the next power of two, halved after ten accesses
    /// per page.
    pub fn new(capacity: u32) -> FrequencySketch {
        let capacity = u64::from(capacity.max(1));
        FrequencySketch {
            counters: vec![0; FrequencySketch::bytes(capacity) as usize],
            mask: capacity.next_power_of_two() - 1,
            counted: 0,
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
        for row in 0..ROWS {
            let (byte, shift) = self.place(row, lpn);
            if self.counters[byte] >> shift & MOST < MOST {
                self.counters[byte] += 1 << shift;
            }
        }
        self.counted += 1;
        if self.counted == self.period {
            self.halve();
        }
    }

    #[cold]
    fn halve(&mut self) {
        self.counted = 0;
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
        let mut sketch = FrequencySketch::new(1000);
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

    #[test]
    fn counters_end_at_15_and_are_halved_after_ten_accesses_a_page() {
        let mut sketch = FrequencySketch::new(4);
        for _ in 0..39 {
            sketch.count(Lpn(7));
        }
        assert_eq!(sketch.estimate(Lpn(7)), 15);
        sketch.count(Lpn(7));
        assert_eq!(sketch.estimate(Lpn(7)), 7);
        assert_eq!((sketch.size(), FrequencySketch::bytes(4)), (8, 8));
    }
}
