//! Cells that differ in the rate of their load alone, and the rate that a drive cannot exceed.

use crate::measurements::{CellLoad, DriveCell, LoadArrivals, LoadPattern, LoadStream};

/// A drive that does less than this share of the writes that are asked for cannot follow.
const FOLLOWS: f64 = 0.97;
/// One that does less than this share is far behind.
const FAR_BEHIND: f64 = 0.9;
/// In a closed loop that keeps the drive busy, the median write takes at least this many times the shortest one of all cells.
const QUEUED: f64 = 4.0;
/// Writes outstanding with which a drive is busy, where no latency shows it.
const BUSY_DEPTH: u32 = 32;
/// A shortfall below this many standard deviations of the number of random arrivals is chance.
const CHANCE: f64 = 4.0;

/// Writes a second that the streams of a cell ask for, if all have a rate.
#[must_use]
pub fn offered_writes(cell: &DriveCell) -> Option<f64> {
    let mut sum = 0.0;
    for stream in &cell.load.streams {
        match stream.arrivals {
            LoadArrivals::Poisson { per_s } | LoadArrivals::Paced { per_s } => {
                sum += per_s * (1.0 - stream.reads);
            }
            LoadArrivals::Closed | LoadArrivals::Bursts { .. } => return None,
        }
    }
    Some(sum)
}

/// Does the drive fall behind the rate that was asked for, by more than chance in a short measurement?
#[must_use]
pub fn falls_behind(cell: &DriveCell) -> bool {
    let (Some(offered), Some(done)) = (offered_writes(cell), cell.measured.writes_per_s) else {
        return false;
    };
    let chance = (cell.load.seconds).map_or(0.0, |seconds| CHANCE * libm::sqrt(offered / seconds));
    done < FOLLOWS * offered && done < offered - chance
}

/// Does the load ask for so much more than the drive does that queues fill up soon?
fn is_far_behind(cell: &DriveCell) -> bool {
    let rates = offered_writes(cell).zip(cell.measured.writes_per_s);
    rates.is_some_and(|(offered, done)| done < FAR_BEHIND * offered)
}

/// Positions of the cells that do as many random writes as the drive can: those that ask for more than it does or, if
/// there are none, closed loops of small random writes in which most writes wait.
#[must_use]
pub fn at_cliff(cells: &[DriveCell]) -> Vec<usize> {
    let those = |is: &dyn Fn(&DriveCell) -> bool| {
        let at = 0..cells.len();
        at.filter(|&at| is(&cells[at])).collect::<Vec<usize>>()
    };
    let behind = those(&falls_behind);
    if !behind.is_empty() {
        return behind;
    }
    let median = |cell: &DriveCell| cell.measured.write.at(0.5);
    let small = cells.iter().filter(|cell| cell.load.is_small());
    let Some(shortest) = small.filter_map(median).min_by(f64::total_cmp) else {
        // A data sheet gives rates alone, at a depth that keeps the drive busy.
        let is_busy = |cell: &DriveCell| {
            let depth = |stream: &LoadStream| stream.threads * stream.depth;
            cell.load.streams.iter().map(depth).sum::<u32>() >= BUSY_DEPTH
        };
        return those(&|cell| {
            is_closed_loop_of_writes(&cell.load)
                && cell.load.is_small()
                && cell.load.overwrites > 0.0
                && is_busy(cell)
        });
    };
    those(&|cell| {
        is_closed_loop_of_writes(&cell.load)
            && cell.load.is_small()
            && median(cell).is_some_and(|us| us >= QUEUED * shortest)
    })
}

/// Random writes alone, each as soon as an earlier one has completed?
fn is_closed_loop_of_writes(load: &CellLoad) -> bool {
    load.streams.iter().all(|stream| {
        stream.arrivals == LoadArrivals::Closed
            && stream.pattern == LoadPattern::Random
            && stream.reads == 0.0
    })
}

/// The highest rate of random writes that the drive did, if some cell asks for more than it can do.
#[must_use]
pub fn cliff(cells: &[DriveCell]) -> Option<f64> {
    at_cliff(cells)
        .into_iter()
        .filter_map(|at| cells[at].measured.writes_per_s)
        .max_by(f64::total_cmp)
}

/// Everything of a stream but its rate.
fn alike(a: &LoadStream, b: &LoadStream) -> bool {
    let rateless = |stream: &LoadStream| LoadStream {
        arrivals: match stream.arrivals {
            LoadArrivals::Poisson { .. } => LoadArrivals::Poisson { per_s: 1.0 },
            LoadArrivals::Paced { .. } => LoadArrivals::Paced { per_s: 1.0 },
            other => other,
        },
        ..stream.clone()
    };
    rateless(a) == rateless(b)
}

/// The cells by kind of load, as positions; those of a series by rising rate of writes. A cell whose load has no rate
/// is a series of its own.
#[must_use]
pub fn series(cells: &[DriveCell]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let same = |row: &Vec<usize>| {
            let first = &cells[row[0]].load;
            let load = &cell.load;
            offered_writes(cell).is_some()
                && first.fill == load.fill
                && first.overwrites == load.overwrites
                && first.streams.len() == load.streams.len()
                && first
                    .streams
                    .iter()
                    .zip(&load.streams)
                    .all(|(a, b)| alike(a, b))
        };
        match all.iter_mut().find(|row| same(row)) {
            Some(row) => row.push(at),
            None => all.push(vec![at]),
        }
    }
    for row in &mut all {
        let offered = |at: &usize| offered_writes(&cells[*at]).unwrap_or(0.0);
        row.sort_by(|a, b| offered(a).total_cmp(&offered(b)));
    }
    all
}

/// Cells that a search simulates, at most about `most` of each series: the lowest rate, rates up to the cliff at equal
/// distances, the last before it, and the first rate that is far beyond it: queues fill up soon there, so that a short run
/// shows how long they are. Others say the same again.
#[must_use]
pub fn chosen(cells: &[DriveCell], most: usize) -> Vec<usize> {
    let mut all = Vec::new();
    for row in series(cells) {
        let (behind, follows): (Vec<usize>, Vec<usize>) =
            row.into_iter().partition(|&at| falls_behind(&cells[at]));
        let room = most.saturating_sub(1).max(2);
        let count = follows.len();
        let picks = (0..room.min(count)).map(|i| match room.min(count) {
            1 => follows[0],
            n => follows[(i * (count - 1) + (n - 1) / 2) / (n - 1)],
        });
        all.extend(picks);
        let far = behind.iter().find(|&&at| is_far_behind(&cells[at]));
        all.extend(far.or(behind.last()));
    }
    all.dedup();
    all
}

/// Cells of a comparison: all that the drive can follow, and of each series the first two that it
/// cannot. The drive does the same at higher rates.
#[must_use]
pub fn compared(cells: &[DriveCell]) -> Vec<usize> {
    let mut all = Vec::new();
    for row in series(cells) {
        let (behind, follows): (Vec<usize>, Vec<usize>) =
            row.into_iter().partition(|&at| falls_behind(&cells[at]));
        all.extend(follows);
        all.extend(behind.into_iter().take(2));
    }
    all
}
