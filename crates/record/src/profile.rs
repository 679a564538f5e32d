//! Data of charts besides the record of a run. Collected if it is asked for.

use crate::SeriesRow;

/// Shares of requests, in millionths, that are slower than the times of a [`ResponseTail`].
pub const SLOWER_PPM: [u32; 28] = [
    950_000, 900_000, 800_000, 700_000, 600_000, 500_000, 400_000, 300_000, 200_000, 150_000,
    100_000, 70_000, 50_000, 30_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20,
    10, 5, 2, 1,
];

/// For each of [`SLOWER_PPM`] the response time in ns that so many requests exceed at most; null where
/// that is less than one request.
pub type ResponseTail = Vec<Option<u64>>;

/// Data of charts about the measured part of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunProfile {
    /// Response times of reads and of writes. Empty without a device.
    pub tails: [ResponseTail; 2],
    /// Each chip: pages programmed, for whatever reason. Empty without a device.
    pub chip_programs: Vec<u64>,
    /// Each chip: blocks erased.
    pub chip_erases: Vec<u64>,
}

/// Data collected of a run for its charts.
#[derive(Clone, Default)]
pub struct RunCharts {
    /// Its intervals.
    pub rows: Vec<SeriesRow>,
    /// The profile that its device gives at the end.
    pub profile: RunProfile,
}
