//! Which sectors of one page are meant.

/// Bytes of a sector, the unit of host addresses.
pub const SECTOR_BYTES: u64 = 512;

/// A set of sectors of one page; bit i is sector i of the page. 128 bits hold a 64 KiB page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(transparent)]
pub struct SectorMask(pub u128);

impl SectorMask {
    /// No sector.
    pub const EMPTY: SectorMask = SectorMask(0);

    /// The first `count` sectors, `0..=128`.
    #[inline]
    pub const fn full(count: u32) -> SectorMask {
        if count >= 128 {
            SectorMask(u128::MAX)
        } else {
            SectorMask((1 << count) - 1)
        }
    }

    /// `count` sectors from `first` on; `first + count <= 128`.
    #[inline]
    pub const fn span(first: u32, count: u32) -> SectorMask {
        SectorMask(SectorMask::full(count).0 << first)
    }

    /// Sectors of either set.
    #[inline]
    pub const fn union(self, other: SectorMask) -> SectorMask {
        SectorMask(self.0 | other.0)
    }

    /// Sectors of both sets.
    #[inline]
    pub const fn intersect(self, other: SectorMask) -> SectorMask {
        SectorMask(self.0 & other.0)
    }

    /// Sectors of `self` that are not in `other`.
    #[inline]
    pub const fn minus(self, other: SectorMask) -> SectorMask {
        SectorMask(self.0 & !other.0)
    }

    /// Does `self` hold every sector of `other`?
    #[inline]
    pub const fn contains(self, other: SectorMask) -> bool {
        other.0 & !self.0 == 0
    }

    /// Is no sector in the set?
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of sectors in the set.
    #[inline]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_reach_the_last_sector_of_a_64_kib_page() {
        assert_eq!(SectorMask::full(128).0, u128::MAX);
        assert_eq!(SectorMask::span(0, 128), SectorMask::full(128));
        assert_eq!(SectorMask::span(127, 1).0, 1 << 127);
        assert_eq!(SectorMask::span(4, 0), SectorMask::EMPTY);
    }

    #[test]
    fn set_algebra() {
        let (a, b) = (SectorMask::span(0, 6), SectorMask::span(4, 4));
        assert_eq!(a.union(b), SectorMask::full(8));
        assert_eq!(a.intersect(b), SectorMask::span(4, 2));
        assert_eq!(a.minus(b), SectorMask::span(0, 4));
        assert!(a.contains(SectorMask::span(1, 3)) && !a.contains(b));
        assert_eq!(a.count(), 6);
        assert!(SectorMask::EMPTY.is_empty());
    }
}
