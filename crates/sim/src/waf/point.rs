//! The result of a simulation, and whether it is that of a steady state.

use destage_device::map::pool::PoolCounts;

/// A figure is steady if another warm-up of the same length would change it by at most this share.
const STEADY: f64 = 0.02;
/// Parts of the measured part, whose differences say how far its halves differ by chance.
pub(super) const PARTS: usize = 16;
/// Parts of the measured part that are shown.
const TENTHS: usize = 10;
/// Parts that both are made of.
pub(super) const PIECES: usize = 80;
/// Standard errors that the difference between the halves may be larger than it seems.
const ERRORS: f64 = 3.0;

/// Result of one simulation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WafPoint {
    /// All pages of the flash.
    pub pages: u64,
    /// Pages that the host can write.
    pub logical_pages: u32,
    /// Pages that the flash programmed for the host in the warm-up.
    pub warmup_pages: u64,
    /// Pages that the host wrote in the measured part.
    pub write_pages: u64,
    /// Those that hit the buffer.
    pub buffer_hits: u64,
    /// Work of the flash in the measured part.
    pub flash: PoolCounts,
    /// Write amplification of each half of the measured part.
    pub halves: [f64; 2],
    /// The same of each tenth.
    pub tenths: [f64; TENTHS],
    /// Standard error of the difference between the halves.
    pub(super) error: f64,
    /// Value of [`super::analytic::fifo`]; `None` for a pattern whose writes depend on those before them.
    pub analytic: Option<f64>,
    /// Value of [`super::analytic::separated`], where lifetimes are known.
    pub optimum: Option<f64>,
}

impl WafPoint {
    /// Pages programmed per page that the host wrote.
    pub fn write_amplification(&self) -> f64 {
        amplification(&self.flash, self.write_pages)
    }

    /// The share by which another warm-up of the same length would change the figure at most, if it changes ever more slowly:
    /// the difference between the halves, which lie half of the measured part apart, times warm-up / that distance.
    pub fn drift(&self) -> f64 {
        let [first, second] = self.halves;
        let apart = self.flash.host as f64 / 2.0;
        let longer = (self.warmup_pages as f64 / apart.max(1.0)).max(1.0);
        let most = (second - first).abs() + ERRORS * self.error;
        longer * most / first.max(second).max(f64::MIN_POSITIVE)
    }

    /// Whether garbage collection worked as long as it takes to write the whole flash once before the second half.
    pub fn is_warm(&self) -> bool {
        self.warmup_pages + self.flash.host / 2 >= self.pages
    }

    /// Whether the figure is that of a steady state, within 2 %.
    pub fn is_steady(&self) -> bool {
        self.is_warm() && self.drift() <= STEADY
    }
}

/// Write amplification of `N` equal parts that consist of these pieces: pages that the host wrote, and work of the flash.
pub(super) fn parts<const N: usize>(pieces: &[(u64, PoolCounts); PIECES]) -> [f64; N] {
    std::array::from_fn(|part| {
        let own = &pieces[part * PIECES / N..(part + 1) * PIECES / N];
        let sum = |of: fn(&PoolCounts) -> u64| own.iter().map(|piece| of(&piece.1)).sum();
        let flash = PoolCounts {
            host: sum(|flash| flash.host),
            copied: sum(|flash| flash.copied),
            erases: sum(|flash| flash.erases),
        };
        amplification(&flash, own.iter().map(|piece| piece.0).sum())
    })
}

/// Pages programmed per page of `written`.
pub(super) fn amplification(flash: &PoolCounts, written: u64) -> f64 {
    (flash.host + flash.copied) as f64 / written.max(1) as f64
}

/// The write amplification of each half of a measured part, and the standard error of their difference.
pub(super) fn halves(parts: &[f64; PARTS]) -> ([f64; 2], f64) {
    let (first, second) = parts.split_at(PARTS / 2);
    let n = first.len() as f64;
    let halves = [first, second].map(|half| half.iter().sum::<f64>() / n);
    let square =
        |half: &[f64], mean: f64| half.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    let squares = square(first, halves[0]) + square(second, halves[1]);
    (halves, libm::sqrt(squares / (n - 1.0) / n))
}
