//! Which latencies of fio's output can be believed, and their quantiles.

use super::output::{FioDirection, FioLatency};
use crate::measurements::cell::Quantile;
use std::collections::BTreeMap;

/// Shares at which quantiles are taken from the bins of JSON+.
const SHARES: [f64; 12] = [
    0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999,
];

/// fio's last bin. Every latency beyond it counts here.
const LAST_BIN_NS: f64 = 17_112_760_320.0;

/// Bins of fio are this wide, as a share of their latency.
const BIN_WIDTH: f64 = 1.0 / 32.0;

/// More outstanding requests than a job can have are believed up to this share, for clocks that round.
const CLOCK: f64 = 0.05;

/// The two clocks of fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyClock {
    /// From the start of the submission.
    Lat,
    /// From the end of the submission.
    Clat,
}

impl LatencyClock {
    /// As fio calls it.
    pub fn name(self) -> &'static str {
        match self {
            LatencyClock::Lat => "lat_ns",
            LatencyClock::Clat => "clat_ns",
        }
    }

    /// The latencies of `direction` by this clock, if any were measured.
    pub fn of(self, direction: &FioDirection) -> Option<&FioLatency> {
        let latency = match self {
            LatencyClock::Lat => direction.lat_ns.as_ref(),
            LatencyClock::Clat => direction.clat_ns.as_ref(),
        };
        latency.filter(|latency| latency.count > 0)
    }
}

/// Requests outstanding by Little's law: mean latency times rate, reads and writes together.
pub fn outstanding(directions: &[&FioDirection], clock: LatencyClock) -> f64 {
    let of = |direction: &&FioDirection| {
        let mean = clock.of(direction).map_or(0.0, |latency| latency.mean);
        mean * direction.iops / 1e9
    };
    directions.iter().map(of).sum()
}

/// Why the latencies of one clock cannot be believed, for a job that has `depth` requests outstanding at most.
pub fn disbelief(directions: &[&FioDirection], clock: LatencyClock, depth: f64) -> Option<String> {
    let found = outstanding(directions, clock);
    if found > depth * (1.0 + CLOCK) {
        return Some(format!(
            "mean times rate is {found:.1} requests outstanding, and the job had {depth} at most"
        ));
    }
    let latencies = directions
        .iter()
        .filter_map(|direction| clock.of(direction));
    latencies.into_iter().find_map(contradiction)
}

/// The contradiction between a mean and quantiles, if there is one.
fn contradiction(latency: &FioLatency) -> Option<String> {
    let FioLatency { min, max, mean, .. } = *latency;
    let slack = 1.0 + BIN_WIDTH;
    if mean <= 0.0 || mean > max * slack || mean * slack < min {
        return Some(format!(
            "the mean, {mean:.0} ns, is not between {min:.0} and {max:.0} ns"
        ));
    }
    let quantiles = quantiles(latency);
    if let Some(last) = quantiles.iter().find(|q| q.us * 1e3 >= LAST_BIN_NS) {
        let percent = last.share * 100.0;
        return Some(format!(
            "percentile {percent} lies in the last bin of fio's histogram, 17.1 s"
        ));
    }
    let mut least = 0.0;
    for pair in quantiles.windows(2) {
        if pair[1].us < pair[0].us {
            let percent = pair[1].share * 100.0;
            return Some(format!("percentile {percent} is below a lower one"));
        }
        least += (pair[1].share - pair[0].share) * pair[0].us * 1e3;
    }
    let at_top = quantiles
        .last()
        .map_or(0.0, |q| (1.0 - q.share) * q.us * 1e3);
    least += at_top;
    (least > mean * slack).then(|| {
        format!(
            "the percentiles say that the mean is at least {least:.0} ns, and it is {mean:.0} ns"
        )
    })
}

/// Quantiles of one job by one clock: from its bins if it has any, otherwise those that fio gives.
pub fn quantiles(latency: &FioLatency) -> Vec<Quantile> {
    if !latency.bins.is_empty() {
        return of_bins(&bins_by_latency([latency]));
    }
    let parsed = latency.percentile.iter().filter_map(|(percent, ns)| {
        let share = percent.parse::<f64>().ok()? / 100.0;
        let us = ns / 1e3;
        (share > 0.0 && share < 1.0 && us > 0.0).then_some(Quantile { share, us })
    });
    let mut quantiles: Vec<Quantile> = parsed.collect();
    quantiles.sort_by(|a, b| a.share.total_cmp(&b.share));
    quantiles
}

/// The bins of several jobs in one.
fn bins_by_latency<'a>(all: impl IntoIterator<Item = &'a FioLatency>) -> BTreeMap<u64, u64> {
    let mut bins = BTreeMap::new();
    for latency in all {
        for (ns, count) in &latency.bins {
            if let Ok(ns) = ns.parse::<u64>() {
                *bins.entry(ns).or_default() += count;
            }
        }
    }
    bins
}

/// Quantiles of a histogram, at shares beyond which at least ten requests lie.
fn of_bins(bins: &BTreeMap<u64, u64>) -> Vec<Quantile> {
    let total: u64 = bins.values().sum();
    let at = |share: f64| {
        let wanted = (share * total as f64).ceil();
        let mut seen = 0;
        let reached = bins.iter().find(|(_, count)| {
            seen += **count;
            seen as f64 >= wanted
        });
        reached.map(|(ns, _)| Quantile {
            share,
            us: (*ns).max(1) as f64 / 1e3,
        })
    };
    let beyond = |share: &&f64| total as f64 * (1.0 - **share) >= 10.0;
    SHARES
        .iter()
        .filter(beyond)
        .filter_map(|share| at(*share))
        .collect()
}

/// Mean in us over several jobs.
pub fn mean_us(directions: &[&FioDirection], clock: LatencyClock) -> Option<f64> {
    let latencies = directions
        .iter()
        .filter_map(|direction| clock.of(direction));
    let (sum, count) = latencies.fold((0.0, 0), |(sum, count), latency| {
        let n = latency.count;
        (sum + latency.mean * n as f64, count + n)
    });
    (count > 0).then(|| sum / count as f64 / 1e3)
}

/// Quantiles over several jobs; `None` if those of single jobs are known and cannot be joined.
pub fn joined_quantiles(
    directions: &[&FioDirection],
    clock: LatencyClock,
) -> Option<Vec<Quantile>> {
    let latencies = directions
        .iter()
        .filter_map(|direction| clock.of(direction));
    let all: Vec<&FioLatency> = latencies.collect();
    match all.as_slice() {
        [] => Some(Vec::new()),
        [single] => Some(quantiles(single)),
        several if several.iter().all(|latency| latency.percentile.is_empty()) => Some(Vec::new()),
        several if several.iter().any(|latency| latency.bins.is_empty()) => None,
        several => Some(of_bins(&bins_by_latency(several.iter().copied()))),
    }
}
