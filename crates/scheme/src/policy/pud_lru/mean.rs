//! The mean of the update distances of all blocks, and which blocks reach it.
//!
//! Floating point decides nearly all comparisons. Where its rounding could matter, a long division decides
//! exactly, digit by digit.

use super::Updates;

/// Bits of a digit.
const DIGIT: u32 = 32;

/// The mean over the blocks that `all` gives, after `now` page writes.
pub(super) struct Mean<F> {
    all: F,
    now: u64,
    blocks: u64,
    /// Sum of all distances, and how far rounding may have moved a comparison with it.
    sum: f64,
    margin: f64,
}

impl<I: Iterator<Item = Updates>, F: Fn() -> I> Mean<F> {
    /// Scans all blocks. `all` gives them in any order, each time it is called.
    pub fn new(all: F, now: u64) -> Mean<F> {
        let (mut blocks, mut sum) = (0, 0.0);
        for block in all() {
            blocks += 1;
            sum += block.distance(now);
        }
        // Each operation rounds by half of EPSILON: one addition a block, and fewer than eight others.
        let margin = sum * (blocks + 8) as f64 * f64::EPSILON;
        Mean {
            all,
            now,
            blocks,
            sum,
            margin,
        }
    }

    /// Is the distance of one of the blocks at least the mean?
    pub fn is_late(&self, block: Updates) -> bool {
        let own = self.blocks as f64 * block.distance(self.now);
        if (own - self.sum).abs() > self.margin {
            own > self.sum
        } else {
            self.is_late_exactly(block)
        }
    }

    /// The same by long division: the difference of both sides, multiplied by the number of blocks, digit
    /// after digit, until it cannot change its sign any more.
    #[cold]
    fn is_late_exactly(&self, block: Updates) -> bool {
        let blocks = i128::from(self.blocks);
        let distance = |x: Updates| u128::from(x.writes_since(self.now));
        // Both sides are multiples of 1 / L for a common multiple L of all divisors: of two such bounds
        // the smaller one. The least common multiple of all numbers up to F is below 4^F.
        let bits = |x: Updates| u128::from(u64::BITS - x.divisor().leading_zeros());
        let most = (self.all)().map(Updates::divisor).max().unwrap_or(1);
        let multiple = (self.all)()
            .map(bits)
            .sum::<u128>()
            .min(2 * u128::from(most));
        let (mut ahead, mut place) = (0, 0);
        loop {
            let own = digit(blocks as u128 * distance(block), block.divisor(), place);
            let digits = (self.all)().map(|x| digit(distance(x), x.divisor(), place));
            ahead = (ahead << DIGIT) + own - digits.sum::<i128>();
            // The digits after this place add up to less than 1 for each of the terms.
            if ahead < 0 {
                return false;
            }
            let undecidable = u128::from(place * DIGIT) > multiple + u128::from(u64::BITS);
            if ahead >= blocks || undecidable {
                return true;
            }
            place += 1;
        }
    }
}

/// The digit of `numerator / divisor` at a place behind the point, or the whole part.
fn digit(numerator: u128, divisor: u64, place: u32) -> i128 {
    let divisor = u128::from(divisor);
    let Some(before) = place.checked_sub(1) else {
        return (numerator / divisor) as i128;
    };
    let (mut rest, mut power, mut exponent) = (numerator % divisor, (1 << DIGIT) % divisor, before);
    while exponent > 0 {
        if exponent & 1 == 1 {
            rest = rest * power % divisor;
        }
        power = power * power % divisor;
        exponent >>= 1;
    }
    ((rest << DIGIT) / divisor) as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    fn updates(first: u64, writes: u64) -> Updates {
        Updates { first, writes }
    }

    fn late(all: &[Updates], now: u64) -> Vec<bool> {
        let mean = Mean::new(|| all.iter().copied(), now);
        all.iter().map(|&block| mean.is_late(block)).collect()
    }

    #[test]
    fn digits_are_those_of_a_long_division() {
        let third: Vec<i128> = (0..3).map(|place| digit(7, 3, place)).collect();
        assert_eq!(third, [2, 0x5555_5555, 0x5555_5555]);
        let exact: Vec<i128> = (0..3).map(|place| digit(7, 4, place)).collect();
        assert_eq!(exact, [1, 3 << 30, 0]);
        assert_eq!(digit(5, 7, 40), digit(5 * (1 << 32) % 7, 7, 39));
    }

    #[test]
    fn equal_distances_are_late() {
        assert_eq!(late(&[updates(1, 1)], 9), [true]);
        assert_eq!(
            late(&[updates(3, 2), updates(6, 1), updates(0, 3)], 9),
            [true; 3]
        );
        // 1/3 + 2/3 + 1/2 = 3 * 1/2, which no number of binary places shows.
        assert_eq!(
            late(&[updates(8, 3), updates(7, 3), updates(8, 2)], 9),
            [false, true, true]
        );
        let many: Vec<Updates> = (1..60).map(|n| updates(1000 - 7 * n, n)).collect();
        assert_eq!(late(&many, 1000), [true; 59]);
    }

    #[test]
    fn differences_that_rounding_hides_are_seen() {
        // Distances of less than 1 that differ in the 47th or the 54th place.
        let (p, far) = (1 << 47, 1 << 40);
        let two = [updates(0, p), updates(1, p)];
        assert_eq!(late(&two, far), [true, false]);
        let two = [updates(0, p + 1), updates(0, p)];
        assert_eq!(late(&two, far), [false, true]);
    }

    #[test]
    fn sums_agree_with_fractions() {
        let mut rng = SplitMix64::new(4);
        let mut draw = |n: u64| rng.next_u64() % n;
        for _ in 0..2000 {
            let now = 1 + draw(50);
            let count = 1 + draw(6);
            let all: Vec<Updates> = (0..count)
                .map(|_| updates(draw(now + 1), draw(7)))
                .collect();
            // 420 is a multiple of all divisors.
            let parts = |x: &Updates| (now - x.first) * (420 / x.divisor());
            let sum: u64 = all.iter().map(parts).sum();
            let wanted: Vec<bool> = all.iter().map(|x| parts(x) * count >= sum).collect();
            assert_eq!(late(&all, now), wanted, "{all:?} at {now}");
            let mean = Mean::new(|| all.iter().copied(), now);
            let exact = all.iter().map(|&x| mean.is_late_exactly(x));
            assert!(exact.eq(wanted));
        }
    }
}
