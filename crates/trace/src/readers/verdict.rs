//! Is a load one that somebody records?

use crate::extent::MAX_BYTES;

/// The load of an opening if its times are in one unit.
pub(crate) struct Load {
    /// Mean time between two requests in ns; `None` if no time passes.
    pub gap_ns: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Mean length of a request in bytes.
    pub mean_bytes: f64,
    /// Byte behind the highest address.
    pub end_byte: f64,
}

/// The verdict on a reading, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum LoadVerdict {
    Plausible,
    Unlikely,
    Absurd,
}

/// No storage takes more bytes per second.
const MOST_PER_S: f64 = 4e12;
/// Bytes per second above which hardly any trace was recorded.
const MANY_PER_S: f64 = 64e9;
/// Bytes per second below which nobody records a trace.
const LEAST_PER_S: f64 = 64.0;
/// Mean time between two requests above which nobody records a trace.
const LONGEST_GAP_NS: f64 = 1e12;
/// Mean time between two requests above which most traces are not.
const LONG_GAP_NS: f64 = 1e8;
/// Bytes per second above which a load in ns, the unit of simulators, is hardly what a device takes.
const FAST_PER_S: f64 = 8e9;
/// Mean time below which hardly any recorder was that fast.
const SHORTEST_GAP_NS: f64 = 1e3;
/// The same of times that are dates.
const LONGEST_GAP_OF_DATES_NS: f64 = 1e10;
/// Mean length above which few workloads are.
const LONG_BYTES: f64 = (1 << 20) as f64;
/// Mean length above which no host asks.
const LONGEST_BYTES: f64 = (64 << 20) as f64;
/// A device that ends there is smaller than those that are traced.
const SMALL_BYTES: f64 = (64 << 20) as f64;

impl Load {
    pub fn verdict(&self) -> LoadVerdict {
        let many = self.bytes_per_s.is_some_and(|rate| rate > MANY_PER_S);
        let outside = self.end_byte > MAX_BYTES as f64 || self.is_longest();
        if self.is_outside() || self.is_rare() || outside {
            LoadVerdict::Absurd
        } else if many || self.is_fast() || self.is_long() || self.end_byte < SMALL_BYTES {
            LoadVerdict::Unlikely
        } else {
            LoadVerdict::Plausible
        }
    }

    /// Are there fewer or more bytes per second than anybody records?
    pub fn is_outside(&self) -> bool {
        let rates = LEAST_PER_S..=MOST_PER_S;
        self.bytes_per_s.is_some_and(|rate| !rates.contains(&rate))
    }

    fn is_rare(&self) -> bool {
        self.gap_ns.is_some_and(|gap| gap > LONGEST_GAP_NS)
    }

    /// Is the time between two requests too short for most recorders?
    pub fn is_fast(&self) -> bool {
        self.gap_ns.is_some_and(|gap| gap < SHORTEST_GAP_NS)
    }

    /// Is it more than a device takes?
    pub fn is_much(&self) -> bool {
        self.is_fast() || self.bytes_per_s.is_some_and(|rate| rate > FAST_PER_S)
    }

    pub fn is_long(&self) -> bool {
        self.mean_bytes > LONG_BYTES
    }

    /// Does no host ask for that much?
    pub fn is_longest(&self) -> bool {
        self.mean_bytes > LONGEST_BYTES
    }

    /// Is the time between two requests longer than in most traces?
    pub fn is_slow(&self) -> bool {
        self.gap_ns.is_some_and(|gap| gap >= LONG_GAP_NS)
    }

    /// Would dates be further apart than in most traces?
    pub fn is_slow_for_dates(&self) -> bool {
        self.gap_ns.is_some_and(|gap| gap > LONGEST_GAP_OF_DATES_NS)
    }

    /// Is there no such load, or hardly any, because of the unit of the times?
    pub fn is_odd(&self) -> bool {
        self.is_fast() || self.is_rare() || self.is_outside()
    }

    pub fn text(&self) -> String {
        const TIMES: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
        const RATES: [(f64, &str); 5] = [
            (1.0, "B/s"),
            (1e3, "kB/s"),
            (1e6, "MB/s"),
            (1e9, "GB/s"),
            (1e12, "TB/s"),
        ];
        let (Some(gap), Some(rate)) = (self.gap_ns, self.bytes_per_s) else {
            return "all requests at once".to_owned();
        };
        let (gap, rate) = (scaled(gap, &TIMES), scaled(rate, &RATES));
        format!("{gap} between two requests, {rate}")
    }
}

/// `value` in the largest of its units that leaves at least 1.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = units.iter().rfind(|unit| value >= unit.0);
    let (size, name) = fits.unwrap_or(&units[0]);
    format!("{:.1} {name}", value / size)
}
