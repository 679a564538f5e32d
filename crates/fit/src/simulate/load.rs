//! The requests of a measured load, made again for the simulated drive.

use crate::FitError;
use crate::measurements::{DriveCell, LoadArrivals, LoadPattern, LoadStream};
use destage_trace::Trace;
use destage_types::rng::{SplitMix64, mix64};
use destage_types::{HostRequest, Nanos, Op, RequestBatch, SECTOR_BYTES};
use std::num::NonZeroU32;

/// A stream that is never idle gets that many times the requests that the drive did. A model that is faster than
/// the drive ends its measurement when they are used up.
const BACKLOG: f64 = 1.4;
/// Fewest requests of a host's stream, so that each has some in the measured part.
const LEAST_OF_STREAM: u64 = 64;

/// Requests of a cell, and which of them count.
pub(super) struct GeneratedLoad {
    pub trace: Trace,
    /// Requests that each stream has outstanding at most.
    pub depth: NonZeroU32,
    /// One row for each stream number of the trace.
    pub streams: Vec<HostStream>,
    /// End of the load in ns, if open streams have one.
    pub horizon: Option<u64>,
    /// By request of the trace.
    pub requests: Vec<GeneratedRequest>,
}

/// Facts about a request that the results need.
#[derive(Clone, Copy, Debug)]
pub(super) struct GeneratedRequest {
    pub stream: u32,
    pub op: Op,
    pub arrival: u64,
}

/// A stream of the simulated host: a thread, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct HostStream {
    /// Number of the stream in the measurements.
    pub of: usize,
    /// Does the stream go on only until its requests are used up?
    pub is_limited: bool,
}

/// One request on its way into the batch: time, stream, place in the stream.
type Arrival = (u64, u32, u64);

/// About `count` requests of the load of `cell`, on a drive of `bytes`.
///
/// # Errors
/// The cell describes a load that the simulated host cannot send.
pub(super) fn generate(
    cell: &DriveCell,
    count: u64,
    bytes: u64,
    seed: u64,
) -> Result<GeneratedLoad, FitError> {
    let wrong = |why: String| FitError::Load {
        place: cell.place.to_string(),
        why,
    };
    check(&cell.load.streams, bytes).map_err(&wrong)?;
    let depth = cell.load.streams.iter().fold(0, |d, s| gcd(d, s.depth));
    let depth = NonZeroU32::new(depth).ok_or_else(|| wrong("a queue depth is 0".to_owned()))?;
    let plan = Plan::new(cell, count, depth).map_err(&wrong)?;
    let (mut arrivals, mut streams, mut threads) = (Vec::new(), Vec::new(), Vec::new());
    for (of, stream) in cell.load.streams.iter().enumerate() {
        let parts = stream.threads * (stream.depth / depth);
        for part in 0..parts {
            let number = streams.len() as u32;
            // Seeds that differ by the step of the generator give the same numbers, one place on.
            let seed = mix64(seed ^ mix64(u64::from(number) + 1));
            let is_limited = plan.arrivals(of, stream, parts, number, seed, &mut arrivals);
            streams.push(HostStream { of, is_limited });
            threads.push((part / (stream.depth / depth), stream.threads));
        }
    }
    arrivals.sort_unstable();
    let drawn = Draw::new(cell, bytes, seed).all(&arrivals, &streams, &threads);
    Ok(GeneratedLoad {
        trace: Trace::generated("load", drawn.batch),
        depth,
        streams,
        horizon: plan.horizon_ns(),
        requests: drawn.requests,
    })
}

fn check(streams: &[LoadStream], bytes: u64) -> Result<(), String> {
    if streams.is_empty() {
        return Err("the load has no stream".to_owned());
    }
    for stream in streams {
        if stream.bytes == 0 || !stream.bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!(
                "requests of {} bytes are no multiple of {SECTOR_BYTES}",
                stream.bytes
            ));
        }
        let threads = u64::from(stream.threads);
        if threads == 0 || stream.bytes * threads > bytes {
            return Err(format!(
                "{threads} threads with requests of {} bytes do not fit on a simulated drive of {bytes} bytes",
                stream.bytes
            ));
        }
    }
    Ok(())
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// How many requests each stream sends, and until when.
struct Plan {
    /// Seconds that the load goes on, if its rate is known.
    seconds: Option<f64>,
    /// Requests of the closed streams of each row of the measurements.
    closed: Vec<u64>,
    /// Requests of an open stream at most, of each row of the measurements.
    most: Vec<u64>,
    period: Vec<f64>,
}

impl Plan {
    fn new(cell: &DriveCell, count: u64, depth: NonZeroU32) -> Result<Plan, String> {
        let streams = &cell.load.streams;
        let offered: f64 = streams.iter().filter_map(per_s).sum();
        let measured = [cell.measured.writes_per_s, cell.measured.reads_per_s];
        let measured: f64 = measured.into_iter().flatten().sum();
        let has_closed = streams.iter().any(|s| per_s(s).is_none());
        // The measured rate of the drive tells how long it took for so many requests.
        let rate = match (measured > 0.0, has_closed) {
            (true, true) => Some(measured),
            (true, false) => Some(measured.min(offered)),
            (false, false) => Some(offered),
            (false, true) => None,
        };
        let seconds = rate.map(|rate| count as f64 / rate);
        let threads: f64 = (streams.iter().filter(|s| per_s(s).is_none()))
            .map(|s| f64::from(s.threads) * f64::from(s.depth))
            .sum();
        let left = (measured - offered).max(0.05 * measured) / measured.max(1.0);
        let closed_total = match rate {
            Some(_) => count as f64 * left * BACKLOG,
            None => count as f64,
        };
        let mut plan = Plan {
            seconds,
            closed: Vec::new(),
            most: Vec::new(),
            period: Vec::new(),
        };
        for stream in streams {
            let parts = f64::from(stream.threads) * f64::from(stream.depth / depth.get());
            let weight = f64::from(stream.threads) * f64::from(stream.depth) / threads.max(1.0);
            let closed = (closed_total * weight / parts) as u64;
            plan.closed.push(closed.max(LEAST_OF_STREAM));
            let share = per_s(stream).unwrap_or(0.0) / offered.max(1.0);
            let most = (count as f64 * share * BACKLOG / parts) as u64;
            plan.most.push(most.max(LEAST_OF_STREAM));
            plan.period.push(period(stream, measured)?);
        }
        Ok(plan)
    }

    fn horizon_ns(&self) -> Option<u64> {
        self.seconds.map(|seconds| (seconds * 1e9) as u64)
    }

    /// Adds the arrivals of a part of a stream. Is the number of its requests what ends it?
    fn arrivals(
        &self,
        of: usize,
        stream: &LoadStream,
        parts: u32,
        number: u32,
        seed: u64,
        out: &mut Vec<Arrival>,
    ) -> bool {
        let horizon = self.seconds.unwrap_or(0.0) * 1e9;
        let mut add = |at: f64, i: u64| out.push((at as u64, number, i));
        let mut rng = SplitMix64::new(seed);
        let uniform = |rng: &mut SplitMix64| (rng.next_53() + 1) as f64 / (1u64 << 53) as f64;
        let (LoadArrivals::Poisson { per_s } | LoadArrivals::Paced { per_s }) = stream.arrivals
        else {
            let (burst, period) = match stream.arrivals {
                LoadArrivals::Bursts { requests, .. } => (requests, self.period[of] * 1e9),
                _ => (u64::MAX, 0.0),
            };
            let count = self.closed[of];
            (0..count).for_each(|i| add((i / burst) as f64 * period, i));
            return true;
        };
        let gap = 1e9 * f64::from(parts) / per_s;
        let poisson = matches!(stream.arrivals, LoadArrivals::Poisson { .. });
        let step = |rng: &mut SplitMix64| match poisson {
            true => -libm::log(uniform(rng)) * gap,
            false => gap,
        };
        // Threads with equal distances do not begin together.
        let mut at = if poisson {
            step(&mut rng)
        } else {
            uniform(&mut rng) * gap
        };
        let mut i = 0;
        while at < horizon {
            if i == self.most[of] {
                return true;
            }
            add(at, i);
            i += 1;
            at += step(&mut rng);
        }
        false
    }
}

/// Requests a second of all threads of an open stream.
fn per_s(stream: &LoadStream) -> Option<f64> {
    match stream.arrivals {
        LoadArrivals::Poisson { per_s } | LoadArrivals::Paced { per_s } => Some(per_s),
        LoadArrivals::Closed | LoadArrivals::Bursts { .. } => None,
    }
}

/// Seconds from the start of a burst to that of the next one, as on the drive.
fn period(stream: &LoadStream, measured: f64) -> Result<f64, String> {
    let LoadArrivals::Bursts { requests, idle_s } = stream.arrivals else {
        return Ok(0.0);
    };
    if measured <= 0.0 || requests == 0 {
        return Err(
            "bursts need at least one request and a measured rate, which says how often they come"
                .to_owned(),
        );
    }
    let all = requests as f64 * f64::from(stream.threads);
    Ok((all / measured).max(idle_s))
}

/// Draws operations and addresses.
struct Draw<'a> {
    cell: &'a DriveCell,
    bytes: u64,
    rng: SplitMix64,
    /// Requests of each thread so far: sequential ones go on from there.
    sent: Vec<u64>,
}

/// Requests with what results must know of them.
struct Drawn {
    batch: RequestBatch,
    requests: Vec<GeneratedRequest>,
}

impl<'a> Draw<'a> {
    fn new(cell: &'a DriveCell, bytes: u64, seed: u64) -> Draw<'a> {
        Draw {
            cell,
            bytes,
            rng: SplitMix64::new(seed),
            sent: Vec::new(),
        }
    }

    fn all(
        mut self,
        arrivals: &[Arrival],
        streams: &[HostStream],
        threads: &[(u32, u32)],
    ) -> Drawn {
        let mut drawn = Drawn {
            batch: RequestBatch::with_capacity(arrivals.len()),
            requests: Vec::with_capacity(arrivals.len()),
        };
        // All parts of a thread go on from the same position.
        let mut first_of_row = vec![0; self.cell.load.streams.len()];
        let mut all = 0;
        for (row, stream) in self.cell.load.streams.iter().enumerate() {
            first_of_row[row] = all;
            all += stream.threads as usize;
        }
        self.sent = vec![0; all];
        for &(at, number, _) in arrivals {
            let (thread, count) = threads[number as usize];
            let of = streams[number as usize].of;
            let (op, place) = self.next(of, first_of_row[of] + thread as usize, thread, count);
            let stream = &self.cell.load.streams[of];
            let sectors = (stream.bytes / SECTOR_BYTES) as u32;
            let first = place * u64::from(sectors);
            let mut head = HostRequest::new(Nanos(at), op, first, sectors);
            head.stream = number;
            drawn.batch.push(head);
            drawn.requests.push(GeneratedRequest {
                stream: number,
                op,
                arrival: at,
            });
        }
        drawn
    }

    /// Operation and place of the next request of a thread, in requests of its size.
    fn next(&mut self, of: usize, sent: usize, thread: u32, threads: u32) -> (Op, u64) {
        let stream = &self.cell.load.streams[of];
        let drawn = self.rng.next_53() as f64 / (1u64 << 53) as f64;
        let op = if drawn < stream.reads {
            Op::Read
        } else {
            Op::Write
        };
        let places = self.bytes / stream.bytes;
        let place = match stream.pattern {
            LoadPattern::Random => self.rng.below(places),
            LoadPattern::Sequential => {
                let start = places / u64::from(threads) * u64::from(thread);
                (start + self.sent[sent]) % places
            }
        };
        self.sent[sent] += 1;
        (op, place)
    }
}
