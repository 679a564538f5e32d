//! How long after their simulated completion replies leave.

use super::responses::histogram;
use hdrhistogram::Histogram;
use std::time::Duration;

/// A reply that leaves later than this shows that the server falls behind.
const BEHIND: Duration = Duration::from_millis(1);

/// Lateness of replies.
#[derive(Clone, Debug)]
pub struct Lateness {
    ns: Histogram<u64>,
    behind: u64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness {
            ns: histogram(3),
            behind: 0,
        }
    }
}

impl Lateness {
    pub(crate) fn add(&mut self, late: Duration) {
        self.ns.saturating_record(late.as_nanos() as u64);
        self.behind += u64::from(late > BEHIND);
    }

    /// Replies that left.
    pub fn replies(&self) -> u64 {
        self.ns.len()
    }

    /// Replies that left more than 1 ms late: the server fell behind the device.
    pub fn behind(&self) -> u64 {
        self.behind
    }

    /// The lateness in ns that a share of the replies, from 0 to 1, keeps to.
    pub fn quantile(&self, share: f64) -> u64 {
        self.ns.value_at_quantile(share)
    }

    /// The greatest, in ns.
    pub fn max(&self) -> u64 {
        self.ns.max()
    }
}
