//! Which of many cache sizes is the smallest that has a page.

/// Where the sizes of each number of bits begin. Usual sizes have two of each, which are found without a branch
/// that the processor cannot foresee.
pub(super) struct Octaves([usize; u32::BITS as usize + 2]);

impl Octaves {
    pub fn of(sizes: &[u32]) -> Octaves {
        Octaves(std::array::from_fn(|bits| {
            sizes.partition_point(|&size| (Octaves::bits(size) as usize) < bits)
        }))
    }

    fn bits(pages: u32) -> u32 {
        u32::BITS - pages.leading_zeros()
    }

    /// Number of the smallest of `sizes` of at least `pages`.
    #[inline(always)]
    pub fn first_of(&self, sizes: &[u32], pages: u32) -> usize {
        let bits = Octaves::bits(pages) as usize;
        let (from, to) = (self.0[bits], self.0[bits + 1]);
        let smaller = sizes[from..to].iter().filter(|&&size| size < pages);
        from + smaller.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_size_is_found() {
        let sizes = [1, 2, 3, 4, 6, 1_000, 1_001, 1 << 31, u32::MAX];
        let octaves = Octaves::of(&sizes);
        for pages in [
            0,
            1,
            2,
            3,
            5,
            6,
            7,
            999,
            1_000,
            1_001,
            1_002,
            1 << 31,
            u32::MAX,
        ] {
            let slow = sizes.partition_point(|&size| size < pages);
            assert_eq!(octaves.first_of(&sizes, pages), slow, "{pages}");
        }
        assert_eq!(Octaves::of(&[]).first_of(&[], 7), 0);
    }
}
