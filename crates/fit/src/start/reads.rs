//! Start values from reads, and how many dies read as fast as the drive does.

use super::{beside_writes, busiest_beside_writes, idlest, quantile, queues};
use crate::measurements::{DriveCell, LatencyTable, LoadArrivals, LoadPattern, SMALL_WRITE};
use crate::model::Values;
use destage_device::config::DeviceConfig;

/// Loops of reads tell how many dies there are if reads take that many times as long as they do alone.
const WAIT_IN_LOOPS: f64 = 2.0;

/// Quantiles of reads beside few writes that stand for the three types of pages.
const QUIET: [f64; 3] = [0.1, 0.5, 0.75];

/// Times of an idle drive in us.
pub(super) struct IdleTimes {
    /// Of a command.
    pub command: f64,
    /// Of a read, without that of the array.
    around_read: f64,
    /// Of the array, as the base has them: the fastest type of page, one in the middle, the slowest.
    of_base: [f64; 3],
}

impl IdleTimes {
    pub fn of(cells: &[DriveCell], base: &DeviceConfig) -> IdleTimes {
        let link_us = |rate: Option<u64>| rate.map_or(0.0, |rate| 4096.0 / rate as f64 * 1e6);
        let in_us = link_us(base.host_link.write());
        let dram = base.t_dram.0 as f64 / 1e6;
        let write = idlest(cells, |cell| &cell.measured.write).filter(|cell| !queues(cell));
        let median = write.and_then(|cell| quantile(&cell.measured.write, 0.5));
        let of_base = base.t_command.map_or(5.0, |time| time.0 as f64 / 1e6);
        let command = median.map_or(of_base, |us| us - in_us - dram).max(0.5);
        let times = base.t_read.of_types();
        IdleTimes {
            command,
            around_read: command + link_us(base.host_link.read()) + bus_us(base, SMALL_WRITE),
            of_base: [0, 1, 2].map(|at| times[at * (times.len() - 1) / 2].0 as f64 / 1e3),
        }
    }
}

/// The time of so many bytes of a page on a bus.
fn bus_us(base: &DeviceConfig, bytes: u64) -> f64 {
    (base.t_cmd.0 + bytes * base.t_byte.0) as f64 / 1e6
}

/// How long a read keeps its die busy, without the bus, as the reads of an idle drive say, or else the base.
fn array_us(cells: &[DriveCell], idle: &IdleTimes) -> f64 {
    let of_cells = idlest(cells, |cell| &cell.measured.read).map(|cell| {
        let read = &cell.measured.read;
        let of_types = QUIET.map(|share| quantile(read, share));
        match of_types {
            // The tail of reads beside writes is that of waits.
            [Some(fast), Some(middle), Some(slow)] if !is_alone(cell) => {
                (fast + middle + slow) / 3.0
            }
            _ => mean(read),
        }
    });
    let of_base = idle.of_base.iter().sum::<f64>() / 3.0;
    of_cells.map_or(of_base, |us| (us - idle.around_read).max(5.0))
}

/// The mean of latencies, in a line from one quantile to the next.
fn mean(table: &LatencyTable) -> f64 {
    if let Some(us) = table.mean_us {
        return us;
    }
    let (mut sum, mut before) = (0.0, None);
    for q in &table.quantiles {
        let (share, us) = before.unwrap_or((0.0, q.us));
        sum += (q.share - share) * (q.us + us) / 2.0;
        before = Some((q.share, q.us));
    }
    let (share, us) = before.unwrap_or((1.0, 0.0));
    sum + (1.0 - share) * us
}

/// The least dies with which loops of reads alone are as fast as on the drive: planes that read by themselves are dies, too.
#[must_use]
pub fn dies(cells: &[DriveCell], base: &DeviceConfig) -> f64 {
    let idle = IdleTimes::of(cells, base);
    let array = array_us(cells, &idle);
    let of_cell = |cell: &DriveCell| {
        let [stream] = &cell.load.streams[..] else {
            return None;
        };
        let rate = cell.measured.reads_per_s.filter(|&rate| rate > 0.0)?;
        if stream.reads < 1.0 || stream.arrivals != LoadArrivals::Closed {
            return None;
        }
        let (page, loops) = (base.geometry.page.bytes(), stream.threads * stream.depth);
        if stream.pattern == LoadPattern::Random && stream.bytes <= page {
            let us = f64::from(loops) * 1e6 / rate;
            return dies_of_loop(f64::from(loops), us, array, idle.around_read);
        }
        // What was written together lies on one die, and is read page by page.
        let pages = base.program_pages.unwrap_or(1) * base.geometry.planes_per_die;
        let parts = stream.bytes as f64 / (u64::from(pages) * page) as f64;
        let us = f64::from(loops) * 1e6 / rate;
        let each = f64::from(pages) * (array + bus_us(base, page));
        dies_of_loop(f64::from(loops) * parts, us, each, 0.0)
    };
    cells.iter().filter_map(of_cell).fold(0.0, f64::max)
}

/// Dies of a loop of n reads that take `us`, `each` of it on a die that nobody else uses, and `around` outside of the dies. Of
/// the n reads, m = n (1 - around / us) are on the D dies, and each takes `around + each * (m + D - 1) / D`. A loop in which
/// reads hardly wait tells nothing.
fn dies_of_loop(n: f64, us: f64, each: f64, around: f64) -> Option<f64> {
    let (alone, on_dies) = (around + each, n * (1.0 - around / us));
    (us >= WAIT_IN_LOOPS * alone).then(|| each * (on_dies - 1.0) / (us - alone))
}

/// Are small reads all that the load has, one at a time, and is their tail known?
fn is_alone(cell: &DriveCell) -> bool {
    cell.load.streams.iter().all(|stream| stream.reads == 1.0)
        && cell.load.is_small()
        && !queues(cell)
        && quantile(&cell.measured.read, 0.99).is_some()
}

/// Start values from the reads.
pub(super) fn reads(cells: &[DriveCell], times: &IdleTimes, v: &mut Values) {
    let Some(idle) = idlest(cells, |cell| &cell.measured.read) else {
        // Rates of reads show their time, too.
        if cells
            .iter()
            .any(|cell| cell.measured.reads_per_s > Some(0.0))
        {
            for (name, us) in ["t_read.fast", "t_read.middle", "t_read.slow"]
                .into_iter()
                .zip(times.of_base)
            {
                v.insert(name, us);
            }
        }
        return;
    };
    let at = |share: f64| quantile(&idle.measured.read, share);
    let Some(median) = at(0.5) else { return };
    let or_median = |share: f64, factor: f64| at(share).unwrap_or(median * factor);
    let array = |us: f64| (us - times.around_read).max(5.0);
    v.insert("t_read.fast", array(or_median(0.10, 1.0)));
    v.insert("t_read.middle", array(median));
    let slow = or_median(0.83, 1.3);
    v.insert("t_read.slow", array(slow));
    // Only reads alone show how often reads are repeated on an idle drive.
    if let Some(alone) = cells.iter().find(|cell| is_alone(cell)) {
        let at = |share: f64, factor: f64| {
            quantile(&alone.measured.read, share).unwrap_or(median * factor)
        };
        let (p95, p99) = (at(0.95, 2.0), at(0.99, 4.0));
        v.insert("read_retry.first.share", 0.1);
        v.insert("read_retry.first.time", (p95 - slow).max(20.0));
        v.insert("read_retry.second.share", 0.3);
        v.insert("read_retry.second.time", (p99 - p95).max(30.0));
    }
    if let Some(beside) = busiest_beside_writes(cells) {
        let at = |share: f64, factor: f64| {
            quantile(&beside.measured.read, share).unwrap_or(median * factor)
        };
        let (p50, p90, p99) = (at(0.5, 1.5), at(0.9, 3.0), at(0.99, 5.0));
        v.insert("read_retry_suspended.first.share", 0.4);
        v.insert("read_retry_suspended.first.time", (p90 - p50).max(20.0));
        v.insert("read_retry_suspended.second.share", 0.2);
        v.insert("read_retry_suspended.second.time", (p99 - p90).max(30.0));
    }
    v.insert(
        "t_suspend",
        beside_writes(cells).map_or(20.0, |us| us - median).max(1.0),
    );
}
