//! Start values of a search, in closed form from what was measured.

mod reads;
#[cfg(test)]
mod tests;

pub use reads::dies;

use crate::FitError;
use crate::measurements::{DriveCell, LatencyTable, LoadArrivals};
use crate::model::{DriveModel, STRUCTURES, Structure, Values, parameters};
use crate::patterns::units_of_small_write;
use crate::residual::{at_cliff, cliff, falls_behind, offered_writes};
use crate::simulate::CellSimulator;
use reads::{IdleTimes, reads};

/// A drive without a pace, for the time of a calibration: the rate, or the price of what is moved.
const NO_PACE: [(&str, f64); 2] = [("write_pace", 4_000_000.0), ("write_pace.moved", 1.0)];
/// How much more the array can write than the pace lets in.
const ABOVE_PACE: f64 = 1.05;
/// Simulations that find the program time.
const CALIBRATIONS: u32 = 3;
/// Share of a cliff at which reads meet programs, and writes do not wait yet.
const BESIDE_WRITES: f64 = 0.7;

/// Waits of writes below this are no pauses.
const LONG_WAIT_US: f64 = 500.0;
/// Pauses are looked for up to this share of the cliff, where nothing else makes writes wait.
const PAUSED_BELOW: f64 = 0.7;
/// Share of the time at the cliff that pauses take at most.
const MOST_PAUSED: f64 = 1.0 / 1.3;
/// Median read / median write beyond the cliff between which commands may start in order or not.
const MIXED: (f64, f64) = (0.3, 0.7);

/// The quantile of a table at `share`; between two quantiles by the logarithm of the times.
fn quantile(table: &LatencyTable, share: f64) -> Option<f64> {
    if let Some(us) = table.at(share) {
        return Some(us);
    }
    let above = table.quantiles.iter().position(|q| q.share > share)?;
    let (a, b) = (
        table.quantiles.get(above.checked_sub(1)?)?,
        &table.quantiles[above],
    );
    let part = (share - a.share) / (b.share - a.share);
    Some(a.us * libm::exp(part * libm::log(b.us / a.us)))
}

/// The cell with the least to do that has times of `table`. Bursts and queues come second, however rare: a request in
/// them waits for others.
fn idlest(cells: &[DriveCell], table: impl Fn(&DriveCell) -> &LatencyTable) -> Option<&DriveCell> {
    let order = |cell: &&DriveCell| {
        let done = [cell.measured.writes_per_s, cell.measured.reads_per_s];
        (queues(cell), done.into_iter().flatten().sum::<f64>())
    };
    cells
        .iter()
        .filter(|cell| quantile(table(cell), 0.5).is_some() && cell.load.is_small())
        .min_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
}

/// Does a stream send several requests at once?
fn queues(cell: &DriveCell) -> bool {
    cell.load
        .streams
        .iter()
        .any(|stream| match stream.arrivals {
            LoadArrivals::Poisson { .. } | LoadArrivals::Paced { .. } => false,
            LoadArrivals::Closed => stream.depth > 1 || stream.threads > 1,
            LoadArrivals::Bursts { .. } => true,
        })
}

/// Start values of all parameters of `model` from the cells that a search simulates. Pauses that these do not show are those
/// of `all` cells, from which the structures were chosen.
///
/// # Errors
/// The base is no device any more.
pub fn start_values(
    model: &DriveModel,
    cells: &[DriveCell],
    all: &[DriveCell],
) -> Result<Values, FitError> {
    let base = model.start()?;
    let idle = IdleTimes::of(cells, &base);
    let mut v = Values::new();
    v.insert("t_command", idle.command);
    v.insert("command_cores", base.command_cores.map_or(4.0, f64::from));
    let slots = slots(cells).filter(|_| !model.structure().is_in_order());
    v.insert(
        "command_slots",
        slots.unwrap_or(base.command_slots.map_or(256.0, f64::from)),
    );
    let done = cells.iter().filter_map(|cell| cell.measured.writes_per_s);
    let most = done.fold(1_000.0, f64::max);
    v.insert(
        "write_pace_burst",
        base.write_pace_burst.map_or(4.0, f64::from),
    );
    let frames = base.cache.0 as f64 / base.mapping().bytes() as f64;
    let pause = Pause::of(cells).or_else(|| Pause::of(all));
    let pause = pause.filter(|_| model.structure().pauses());
    let mut pace = cliff(cells).unwrap_or(2.0 * most);
    if let Some(pause) = &pause {
        v.insert("program_pause.every", pause.every);
        v.insert("program_pause.time", pause.us);
        // Between pauses the drive writes faster than on average.
        let paused = pause.us / 1e6 * pace / pause.every;
        if !model.structure().puts_pauses_off() || model.writes().host.is_none() {
            pace /= 1.0 - paused.min(MOST_PAUSED);
        }
    }
    // Writes are of 4 KiB, and a pace counts mapping units.
    pace *= units_of_small_write(&base);
    v.insert("write_pace", pace);
    let writes = model.writes();
    if let Some(host) = writes.host.filter(|_| writes.moved > 0.0) {
        v.insert(
            "write_pace.moved",
            ((1e9 / pace - host) / writes.moved).max(1.0),
        );
    }
    // A unit is filled while another goes to its chip.
    let least = 2.0 * f64::from(base.shape().unit());
    v.insert(
        "cache",
        pause.map_or(frames, |pause| pause.frames.max(least)),
    );
    let program = base.t_program.of_types();
    let program: u64 = program.iter().map(|t| t.0).max().unwrap_or(0);
    v.insert("t_program", program as f64 / 1e3);
    reads(cells, &idle, &mut v);
    let free = model.free();
    // Times that differ by more than numbers can give no value: that of the base stays.
    v.retain(|name, value| !value.is_nan() && free.iter().any(|p| p.name == *name));
    for (name, value) in &mut v {
        if let Some(parameter) = parameters::find(name) {
            *value = parameter.rounded(*value);
        }
    }
    Ok(v)
}

/// Commands inside the drive beyond its cliff, by Little's law: all that are outstanding, without those that wait outside as
/// long as reads do.
fn slots(cells: &[DriveCell]) -> Option<f64> {
    let idle = quantile(
        &idlest(cells, |cell| &cell.measured.read)?.measured.read,
        0.5,
    )?;
    let cell = cells
        .iter()
        .find(|cell| falls_behind(cell) && cell.load.is_small())?;
    let (done, read) = (&cell.measured, quantile(&cell.measured.read, 0.5)?);
    let (writes, reads) = (done.writes_per_s?, done.reads_per_s?);
    let outstanding = writes * quantile(&done.write, 0.5)? + reads * read;
    Some((outstanding - (writes + reads) * (read - idle)) / 1e6)
}

/// The median read beside as many writes as leave the drive free of waits.
fn beside_writes(cells: &[DriveCell]) -> Option<f64> {
    quantile(&busiest_beside_writes(cells)?.measured.read, 0.5)
}

/// The cell with as many writes as leave the drive free of waits.
fn busiest_beside_writes(cells: &[DriveCell]) -> Option<&DriveCell> {
    let most = BESIDE_WRITES * cliff(cells)?;
    let rate = |cell: &&DriveCell| offered_writes(cell).unwrap_or(0.0);
    let of = cells
        .iter()
        .filter(|cell| cell.load.is_small() && rate(cell) <= most);
    of.filter(|cell| quantile(&cell.measured.read, 0.5).is_some())
        .max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

/// Pauses of programs, as the tail of writes shows them below the cliff. A buffer of `frames` fills up during a pause of
/// `us`, so that the longest wait at r writes a second is us - frames / r.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    /// Writes from one pause to the next.
    every: f64,
    us: f64,
    frames: f64,
}

impl Pause {
    /// The pause that explains the rising part of the tail; `None` without at least three rates of
    /// it.
    pub(crate) fn of(cells: &[DriveCell]) -> Option<Pause> {
        let most = PAUSED_BELOW * cliff(cells)?;
        let idle = quantile(
            &idlest(cells, |cell| &cell.measured.write)?.measured.write,
            0.5,
        )?;
        let mut waits: Vec<(f64, f64, f64)> = Vec::new();
        for cell in cells.iter().filter(|cell| cell.load.is_small()) {
            let (Some(rate), Some(tail)) =
                (offered_writes(cell), quantile(&cell.measured.write, 0.999))
            else {
                continue;
            };
            let wait = tail - idle;
            let median = quantile(&cell.measured.write, 0.5).unwrap_or(tail);
            if rate <= most && wait > LONG_WAIT_US && median < 3.0 * idle {
                waits.push((
                    rate,
                    wait,
                    share_above(&cell.measured.write, idle + wait / 4.0),
                ));
            }
        }
        waits.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rises = waits
            .windows(2)
            .take_while(|pair| pair[1].1 > pair[0].1)
            .count()
            + 1;
        waits.truncate(rises);
        if waits.len() < 3 {
            return None;
        }
        // Least squares of the wait over the time between writes, in us.
        let n = waits.len() as f64;
        let (x, y) = (|w: &(f64, f64, f64)| 1e6 / w.0, |w: &(f64, f64, f64)| w.1);
        let (mx, my) = (
            waits.iter().map(x).sum::<f64>() / n,
            waits.iter().map(y).sum::<f64>() / n,
        );
        let sxy: f64 = waits.iter().map(|w| (x(w) - mx) * (y(w) - my)).sum();
        let sxx: f64 = waits.iter().map(|w| (x(w) - mx) * (x(w) - mx)).sum();
        let frames = -sxy / sxx;
        let us = my + frames * mx;
        // At a rate r a pause of `wait` comes every `every` / r, and holds `wait` * 3/4 of that above a quarter of it.
        let every = waits
            .iter()
            .map(|w| w.0 * w.1 * 0.75 / 1e6 / w.2.max(1e-3))
            .sum::<f64>()
            / n;
        let busy = us / 1e6 * cliff(cells)?;
        Some(Pause {
            every: every.max(busy / MOST_PAUSED),
            us,
            frames: frames.max(1.0),
        })
        .filter(|pause| pause.us > 0.0 && frames > 0.0 && pause.every.is_finite())
    }
}

/// Share of the requests that take longer than `us`, between quantiles by the logarithm of times.
fn share_above(table: &LatencyTable, us: f64) -> f64 {
    let above = table.quantiles.iter().position(|q| q.us > us);
    match above {
        None => table.quantiles.last().map_or(0.0, |last| 1.0 - last.share),
        Some(0) => 1.0,
        Some(i) => {
            let (a, b) = (&table.quantiles[i - 1], &table.quantiles[i]);
            let part = libm::log(us / a.us) / libm::log(b.us / a.us);
            1.0 - (a.share + part * (b.share - a.share))
        }
    }
}

/// Structures that the measurements do not rule out. Beyond the cliff, reads wait as long as writes where commands start
/// in order, and much less where they do not.
#[must_use]
pub fn likely_structures(cells: &[DriveCell]) -> Vec<&'static Structure> {
    let behind = cells.iter().filter(|cell| falls_behind(cell));
    let shares: Vec<f64> = behind
        .filter_map(|cell| {
            let read = quantile(&cell.measured.read, 0.5)?;
            Some(read / quantile(&cell.measured.write, 0.5)?)
        })
        .collect();
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    let (in_order, free) = match shares.is_empty() {
        true => (true, true),
        false => (mean > MIXED.0, mean < MIXED.1),
    };
    let pauses = Pause::of(cells).is_some();
    let fits = |s: &&Structure| match (s.pauses(), s.is_in_order()) {
        (true, _) => pauses,
        (_, true) => in_order,
        (_, false) => free,
    };
    STRUCTURES.iter().filter(fits).collect()
}

/// Sets the program time with which the drive writes a little more than its cliff. Nothing if no cliff was measured, or
/// the program time is not free.
///
/// # Errors
/// The start values make no device, or a simulation fails.
pub fn calibrate_programs(
    model: &DriveModel,
    simulator: &CellSimulator,
    cells: &[DriveCell],
    requests: u64,
    values: &mut Values,
) -> Result<(), FitError> {
    let (Some(&at), Some(cliff)) = (at_cliff(cells).first(), cliff(cells)) else {
        return Ok(());
    };
    let cell = never_idle(&cells[at]);
    for _ in 0..CALIBRATIONS {
        let Some(program) = values.get("t_program").copied() else {
            return Ok(());
        };
        let mut unpaced = values.clone();
        let mut above = 1.0;
        for (name, least) in NO_PACE {
            if let Some(pace) = unpaced.get_mut(name) {
                (*pace, above) = (least, ABOVE_PACE);
            }
        }
        let device = model.scaled(&unpaced)?;
        let done = simulator.run(&device, &cell, requests)?.writes_per_s;
        // The command phases and transfers of a program take their time whatever the program takes.
        let pages = device.program_pages.unwrap_or(1) * device.geometry.planes_per_die;
        let bytes = u64::from(pages) * device.geometry.page.bytes();
        let fixed = (bytes * device.t_byte.0) as f64 / 1e6;
        let wanted = (program + fixed) * done / (above * cliff) - fixed;
        // Dies that collect little for random writes must be as fast as sequential writes.
        let least = model.writes().host.map(|host| {
            let shape = device.shape();
            let dies = f64::from(device.geometry.planes() / device.geometry.planes_per_die);
            dies * f64::from(shape.unit()) * host / 1e3 / ABOVE_PACE - fixed
        });
        let wanted = wanted.min(least.unwrap_or(f64::INFINITY));
        if let Some(parameter) = parameters::find("t_program") {
            values.insert("t_program", parameter.rounded(wanted));
        }
    }
    Ok(())
}

/// The load of a cell with each stream in a closed loop: it asks for more than any drive can do.
fn never_idle(cell: &DriveCell) -> DriveCell {
    let mut cell = cell.clone();
    for stream in &mut cell.load.streams {
        stream.arrivals = LoadArrivals::Closed;
    }
    cell
}
