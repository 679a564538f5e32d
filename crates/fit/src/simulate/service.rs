//! Service times and rates from the log of a run.

use super::load::GeneratedLoad;
use destage_types::Op;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Observations that must lie on either side of a quantile.
const OBSERVED: f64 = 5.0;

/// Results of a simulated drive under the load of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedCell {
    /// Writes a second that completed, of all streams.
    pub writes_per_s: f64,
    /// Reads a second that completed, of all streams.
    pub reads_per_s: f64,
    /// Service times of writes.
    pub write: ServiceTimes,
    /// Service times of reads.
    pub read: ServiceTimes,
}

/// Service times in ns, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceTimes(Vec<u64>);

impl ServiceTimes {
    /// Times in ns, in any order.
    #[must_use]
    pub fn of(mut times: Vec<u64>) -> ServiceTimes {
        times.sort_unstable();
        ServiceTimes(times)
    }

    /// The time in us that a share of the requests does not exceed. `None` where fewer than five were slower
    /// or fewer than five were faster: then it says little.
    #[must_use]
    pub fn at(&self, share: f64) -> Option<f64> {
        let count = self.0.len() as f64;
        if count * share.min(1.0 - share) < OBSERVED {
            return None;
        }
        let rank = libm::ceil(share * count) as usize;
        self.0.get(rank.max(1) - 1).map(|&ns| ns as f64 / 1e3)
    }

    /// Requests.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// Completion times by request, as the run logs them.
#[derive(Clone, Default)]
pub(super) struct CompletionLog(Arc<Mutex<LogState>>);

#[derive(Default)]
struct LogState {
    line: Vec<u8>,
    has_head: bool,
    completed: Vec<u64>,
}

impl Write for CompletionLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for &byte in bytes {
            if byte == b'\n' {
                state.end_line();
            } else {
                state.line.push(byte);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl LogState {
    /// Rows are `request,op,arrival_ns,complete_ns,...`, in request order.
    fn end_line(&mut self) {
        if std::mem::replace(&mut self.has_head, true) {
            let text = std::str::from_utf8(&self.line).unwrap_or_default();
            let complete = text.split(',').nth(3).and_then(|cell| cell.parse().ok());
            self.completed.push(complete.unwrap_or(u64::MAX));
        }
        self.line.clear();
    }
}

impl CompletionLog {
    /// Completion time of each request.
    pub fn completed(self) -> Vec<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.completed)
    }
}

/// When a request was sent, and when the host had its answer.
#[derive(Clone, Copy)]
struct Served {
    request: usize,
    admitted: u64,
    completed: u64,
}

/// When each stream sent its requests: a request waits until fewer than `depth` of its stream are outstanding.
fn admissions(load: &GeneratedLoad, completed: &[u64]) -> Vec<Served> {
    let depth = load.depth.get() as usize;
    let mut outstanding: Vec<BinaryHeap<Reverse<u64>>> =
        load.streams.iter().map(|_| BinaryHeap::new()).collect();
    let mut served = Vec::with_capacity(completed.len());
    for (request, (row, &completed)) in load.requests.iter().zip(completed).enumerate() {
        let of_stream = &mut outstanding[row.stream as usize];
        let freed = match of_stream.len() >= depth {
            true => of_stream.pop().map_or(0, |first| first.0),
            false => 0,
        };
        of_stream.push(Reverse(completed));
        served.push(Served {
            request,
            admitted: row.arrival.max(freed),
            completed,
        });
    }
    served
}

/// Times from sending to completion, and rates, of the part of the run behind the share of a warm-up and before the first
/// stream has no more requests.
pub(super) fn measure(
    load: &GeneratedLoad,
    measured: &[bool],
    completed: &[u64],
    warm_up: f64,
) -> SimulatedCell {
    let served = admissions(load, completed);
    let end = end_of_load(load, &served);
    let begin = (end as f64 * warm_up) as u64;
    let held = (served.iter()).any(|s| s.admitted > load.requests[s.request].arrival);
    // Poisson arrivals see the same drive whichever stream they belong to, if none of them waits outside.
    let pooled = !held;
    let mut cell = SimulatedCell::default();
    let (mut writes, mut reads) = (0u64, 0u64);
    for s in &served {
        let row = &load.requests[s.request];
        if (begin..end).contains(&s.completed) {
            match row.op {
                Op::Read => reads += 1,
                _ => writes += 1,
            }
        }
        let counts = pooled || measured[load.streams[row.stream as usize].of];
        if counts && (begin..end).contains(&s.admitted) {
            let times = match row.op {
                Op::Read => &mut cell.read,
                _ => &mut cell.write,
            };
            times.0.push(s.completed - s.admitted);
        }
    }
    let seconds = (end - begin).max(1) as f64 / 1e9;
    cell.writes_per_s = writes as f64 / seconds;
    cell.reads_per_s = reads as f64 / seconds;
    cell.write.0.sort_unstable();
    cell.read.0.sort_unstable();
    cell
}

/// When the load as it was measured ends: the first limited stream has sent its last request, or the time of the
/// open streams is over.
fn end_of_load(load: &GeneratedLoad, served: &[Served]) -> u64 {
    let mut last = vec![0; load.streams.len()];
    for s in served {
        last[load.requests[s.request].stream as usize] = s.admitted;
    }
    let limited = load
        .streams
        .iter()
        .zip(&last)
        .filter(|row| row.0.is_limited);
    let end = limited.map(|row| *row.1).min();
    match (end, load.horizon) {
        (Some(end), Some(horizon)) => end.min(horizon),
        (Some(end), None) => end,
        (None, horizon) => horizon.unwrap_or(0),
    }
}
