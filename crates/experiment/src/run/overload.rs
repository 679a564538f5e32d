//! Loads whose figures say little of the device. Where it cannot follow the arrivals, response times are those of a
//! queue that grows until the trace ends. Where a closed loop has too few requests for its queue depth, rates are those
//! of a queue that runs empty. Where a device lets in so many mapping units a second whatever they cost, as it was fitted
//! to random writes, large writes are as slow as those.

use destage_sim::ResultRecord;
use destage_sim::record::{Backlog, Throughput};
use destage_trace::{TimeUnit, TraceMeta};
use destage_types::{ByteSize, Nanos, SECTOR_BYTES};

/// The runs over one trace with such loads.
#[derive(Default)]
pub struct Overloads {
    runs: u64,
    overloaded: Found<Backlog>,
    empty: Found<EmptyLoop>,
    capped: Found<CappedWrites>,
}

/// Runs of one kind: how many, and the first one.
struct Found<T> {
    runs: u64,
    first: Option<(String, T)>,
}

/// A closed loop that held its queue depth for less than half of the time.
struct EmptyLoop {
    depth: u32,
    requests: u64,
    rates: Throughput,
}

/// Large writes that waited for a constant rate.
struct CappedWrites {
    /// Bytes of a write on average.
    bytes: u64,
    /// Time that one waited on average.
    wait: Nanos,
    /// The rate, in mapping units a second.
    rate: u64,
}

/// Writes from this size on are large.
const LARGE_BYTES: u64 = 32 << 10;

impl CappedWrites {
    fn of(record: &ResultRecord) -> Option<CappedWrites> {
        let (paced, counts) = (record.write_pace?, &record.counts);
        let rate = record
            .config
            .iter()
            .find(|entry| entry.key == "write_pace")?;
        // A price of writes is no number.
        let rate = rate.value.parse().ok()?;
        let bytes = counts.write_sectors * SECTOR_BYTES / counts.write_requests.max(1);
        let wait = Nanos(paced.wait_ns / paced.writes.max(1));
        (bytes >= LARGE_BYTES && wait > Nanos::ZERO).then_some(CappedWrites { bytes, wait, rate })
    }
}

impl<T> Default for Found<T> {
    fn default() -> Found<T> {
        Found {
            runs: 0,
            first: None,
        }
    }
}

impl<T> Found<T> {
    fn add(&mut self, record: &ResultRecord, what: T) {
        self.runs += 1;
        let run = || format!("{} with {}", record.device, record.scheme);
        self.first.get_or_insert_with(|| (run(), what));
    }

    /// How many of `all` runs they are, if there are several.
    fn share(&self, all: u64) -> String {
        match self.runs {
            1 => String::new(),
            n => format!(", as in {n} of {all} runs"),
        }
    }
}

impl Overloads {
    /// Looks at the record of a run.
    pub fn add(&mut self, record: &ResultRecord) {
        self.runs += 1;
        if let Some(backlog) = record.backlog
            && backlog.is_overload(record.counts.requests)
        {
            self.overloaded.add(record, backlog);
        }
        if let Some(capped) = CappedWrites::of(record) {
            self.capped.add(record, capped);
        }
        if let (Some(depth), Some(rates)) = (record.reading.queue_depth, record.throughput)
            && !rates.is_of_depth()
        {
            let requests = record.counts.requests;
            self.empty.add(
                record,
                EmptyLoop {
                    depth,
                    requests,
                    rates,
                },
            );
        }
    }

    /// The warnings about such loads, if there are some.
    pub fn warnings(&self, meta: &TraceMeta) -> impl Iterator<Item = String> {
        let all = [self.overloaded(meta), self.empty(meta), self.capped(meta)];
        all.into_iter().flatten()
    }

    fn capped(&self, meta: &TraceMeta) -> Option<String> {
        let (run, of) = self.capped.first.as_ref()?;
        Some(format!(
            "{}: writes of {} on average wait {:.0} us each for write_pace = {} of device {run}{}, a rate that stands for random \
             writes of a mapping unit; the drive may take large writes much faster: \
             --set write_pace='{{ host = TIME, moved = TIME }}' prices them apart (docs/CALIBRATION.md)",
            meta.name,
            ByteSize(of.bytes >> 10 << 10),
            of.wait.0 as f64 / 1e3,
            of.rate,
            self.capped.share(self.runs)
        ))
    }

    fn overloaded(&self, meta: &TraceMeta) -> Option<String> {
        let (run, backlog) = self.overloaded.first.as_ref()?;
        let (offered, possible) = (backlog.offered_per_s?, backlog.possible_per_s()?);
        let runs = self.overloaded.share(self.runs);
        let unit = match meta.time_unit {
            Some(TimeUnit::Nanoseconds) if meta.sha256.is_some() => {
                "; if its times are not in ns, --time-unit says which unit they have"
            }
            _ => "",
        };
        Some(format!(
            "{}: the trace offers {offered:.0} requests/s, but device {run} completes {possible:.0}/s{runs}: {} \
             requests wait when the last one arrives, so response times grow with the length of the trace; \
             --closed-loop QD issues requests as fast as the device takes them, --time-scale {:.0} (or more) \
             slows the arrivals down{unit}",
            meta.name,
            backlog.requests,
            (offered / possible).ceil()
        ))
    }

    fn empty(&self, meta: &TraceMeta) -> Option<String> {
        let (run, of) = self.empty.first.as_ref()?;
        Some(format!(
            "{}: {} requests in a closed loop of {} on device {run} hold this queue depth for {:.1} % of the time{}: \
             {:.0} requests/s is the rate of a queue that runs empty; a smaller --closed-loop or a longer trace holds it",
            meta.name,
            of.requests,
            of.depth,
            100.0 * of.rates.depth_held,
            self.empty.share(self.runs),
            of.rates.requests_per_s
        ))
    }
}
