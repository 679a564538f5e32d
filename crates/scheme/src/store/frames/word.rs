//! A frame in 64 bits.

use destage_types::Lpn;

/// The content of a frame: an LPN in the lower bits, flags in the upper ones, so that one load
/// finds both. Addresses count bytes in 64 bits and pages have at least 2^9, so 55 bits hold any
/// LPN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameWord(pub(super) u64);

/// The frame holds a page.
pub(super) const USED: u64 = 1 << 63;
/// Every sector of the page is valid; `valid[slot]` is then not looked at.
pub(super) const FULL: u64 = 1 << 62;
/// Some sector is dirty.
pub(super) const DIRTY: u64 = 1 << 61;
/// Every sector is dirty; `dirty[slot]` is then not looked at.
pub(super) const ALL_DIRTY: u64 = 1 << 60;
pub(super) const FLAGS: u64 = USED | FULL | DIRTY | ALL_DIRTY;
/// The page has left; the scheme keeps its slot to remember it.
pub(super) const GHOST: u64 = 1 << 59;

impl FrameWord {
    /// The free frame `slot`, which `next` follows in the list of free frames. A frame of zeroes is
    /// followed by its neighbour, so the list of a new cache is there without being written.
    #[inline(always)]
    pub(super) fn free(slot: u32, next: u32) -> FrameWord {
        FrameWord(u64::from(next.wrapping_sub(slot).wrapping_sub(1)))
    }

    /// The free frame that follows the free frame `slot`.
    #[inline(always)]
    pub(super) fn next_free(self, slot: u32) -> u32 {
        (self.0 as u32).wrapping_add(slot).wrapping_add(1)
    }

    #[inline]
    pub(super) fn new(lpn: Lpn, flags: u64) -> FrameWord {
        debug_assert!(lpn.0 & (FLAGS | GHOST) == 0, "an LPN has at most 55 bits");
        FrameWord(lpn.0 | flags)
    }

    #[inline]
    pub(super) fn lpn(self) -> Lpn {
        Lpn(self.0 & !(FLAGS | GHOST))
    }

    #[inline]
    pub(super) fn flags(self) -> u64 {
        self.0 & (FLAGS | GHOST)
    }

    /// Are all of these flags set?
    #[inline]
    pub(super) fn has(self, flags: u64) -> bool {
        self.0 & flags == flags
    }

    #[inline]
    pub(super) fn holds(self, lpn: Lpn) -> bool {
        self.0 & !(FULL | DIRTY | ALL_DIRTY) == lpn.0 | USED
    }
}
