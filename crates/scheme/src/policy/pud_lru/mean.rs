//! The mean of the update distances of all blocks, which all change with every page write.
//!
//! A distance is (now - first) / writes. The sums of 1 / writes and of first / writes over all blocks are
//! kept in fixed point, so the sum of the distances at any time is one multiplication. A comparison with it
//! that rounding could turn is made again exactly, digit by digit.

use super::Updates;

/// Binary places of the sum of 1 / writes, and of all other sums.
const FINE: u32 = 96;
const COARSE: u32 = 48;

/// Bits of a digit.
const DIGIT: u32 = 32;

/// Sums over all blocks; both are too small by less than one unit a block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Mean {
    blocks: u64,
    reciprocals: u128,
    firsts: u128,
}

impl Mean {
    fn shares(of: Updates) -> (u128, u128) {
        let divisor = u128::from(of.divisor());
        let first = u128::from(of.first) << COARSE;
        ((1 << FINE) / divisor, first / divisor)
    }

    /// One block more.
    pub fn add(&mut self, block: Updates) {
        let (reciprocal, first) = Mean::shares(block);
        self.blocks += 1;
        self.reciprocals += reciprocal;
        self.firsts += first;
    }

    /// One block less, which was added with the same writes.
    pub fn remove(&mut self, block: Updates) {
        let (reciprocal, first) = Mean::shares(block);
        self.blocks -= 1;
        self.reciprocals -= reciprocal;
        self.firsts -= first;
    }

    /// Is the distance of one of the blocks at least the mean, after `now` page writes? `all` gives all
    /// blocks, in any order.
    pub fn is_late<I: Iterator<Item = Updates>>(
        &self,
        block: Updates,
        now: u64,
        all: impl Fn() -> I,
    ) -> bool {
        let blocks = u128::from(self.blocks);
        let scaled = (blocks * u128::from(now - block.first)) << COARSE;
        // Between this and 1 more.
        let own = (scaled / u128::from(block.divisor())) as i128;
        let (high, low) = (
            self.reciprocals >> 64,
            self.reciprocals & u128::from(u64::MAX),
        );
        let now_128 = u128::from(now);
        let all_now = ((now_128 * high) << (64 - COARSE)) + ((now_128 * low) >> COARSE);
        let sum = all_now as i128 - self.firsts as i128;
        let rounded_off = 2 + ((now_128 * blocks) >> COARSE) as i128;
        if own >= sum + rounded_off {
            true
        } else if own < sum - blocks as i128 {
            false
        } else {
            self.is_late_exactly(block, now, all)
        }
    }

    /// The same by long division: the difference of both sides, multiplied by the number of blocks, digit
    /// after digit, until it cannot change its sign any more.
    #[cold]
    fn is_late_exactly<I: Iterator<Item = Updates>>(
        &self,
        block: Updates,
        now: u64,
        all: impl Fn() -> I,
    ) -> bool {
        let blocks = i128::from(self.blocks);
        let distance = |x: Updates| u128::from(now - x.first);
        // Both sides are multiples of 1 / L for a common multiple L of all divisors: of two such bounds
        // the smaller one. The least common multiple of all numbers up to F is below 4^F.
        let bits = |x: Updates| u128::from(u64::BITS - x.divisor().leading_zeros());
        let most = all().map(Updates::divisor).max().unwrap_or(1);
        let multiple = all().map(bits).sum::<u128>().min(2 * u128::from(most));
        let (mut ahead, mut place) = (0, 0);
        loop {
            let own = digit(blocks as u128 * distance(block), block.divisor(), place);
            let sum: i128 = all().map(|x| digit(distance(x), x.divisor(), place)).sum();
            ahead = (ahead << DIGIT) + own - sum;
            // What comes behind this place is less than 1 for each of the terms.
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

    fn mean(all: &[Updates]) -> Mean {
        let mut mean = Mean::default();
        all.iter().for_each(|&block| mean.add(block));
        mean
    }

    fn late(all: &[Updates], now: u64) -> Vec<bool> {
        let mean = mean(all);
        let each = all.iter();
        each.map(|&block| mean.is_late(block, now, || all.iter().copied()))
            .collect()
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
            let exact = all
                .iter()
                .map(|&x| mean(&all).is_late_exactly(x, now, || all.iter().copied()));
            assert!(exact.eq(wanted));
        }
    }

    #[test]
    fn what_is_removed_leaves_nothing() {
        let all = [updates(5, 3), updates(1 << 47, 1 << 40), updates(0, 0)];
        let mut mean = mean(&all);
        all.iter().for_each(|&block| mean.remove(block));
        assert_eq!(mean, Mean::default());
    }
}
