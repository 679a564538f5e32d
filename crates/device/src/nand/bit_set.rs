//! A set of small numbers that is emptied in ascending order.

/// One bit for every number below a bound.
#[derive(Clone, Debug)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    /// No number of `0..bound`.
    pub fn new(bound: u32) -> BitSet {
        BitSet(vec![0; bound.div_ceil(u64::BITS) as usize])
    }

    /// Adds `number`, which may be in the set.
    #[inline]
    pub fn add(&mut self, number: usize) {
        self.0[number / u64::BITS as usize] |= 1 << (number % u64::BITS as usize);
    }

    /// Words of 64 numbers.
    #[inline]
    pub fn words(&self) -> usize {
        self.0.len()
    }

    /// Is there a number?
    pub fn any(&self) -> bool {
        self.0.iter().any(|&bits| bits != 0)
    }

    /// Takes the lowest number out of word `word`.
    #[inline]
    pub fn take_from(&mut self, word: usize) -> Option<usize> {
        let bits = self.0[word];
        if bits == 0 {
            return None;
        }
        self.0[word] = bits & (bits - 1);
        Some(word * u64::BITS as usize + bits.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_once_and_in_order() {
        let mut set = BitSet::new(130);
        for number in [129, 0, 64, 5, 63, 64] {
            set.add(number);
        }
        assert!(set.any());
        let mut seen = Vec::new();
        for word in 0..set.words() {
            while let Some(number) = set.take_from(word) {
                seen.push(number);
            }
        }
        assert_eq!(seen, [0, 5, 63, 64, 129]);
        assert!(!set.any() && (0..3).all(|word| set.take_from(word).is_none()));
    }
}
