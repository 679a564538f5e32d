//! Facts about a drive that need no search: its highest rates, its spare space, how it collects, and what a write costs.

#[cfg(test)]
mod tests;

use super::FitPlan;
use super::patterns::{price_source, rule_source, space_source};
use crate::FitError;
use crate::measurements::{DriveCell, LoadArrivals, LoadPattern};
use crate::model::{DeterminedSetting, DriveFacts, HighestRates, WriteFacts};
use crate::patterns::{
    PatternFit, RULES, WritePrices, moved_by_uniform_writes, units_of_small_write,
};
use crate::residual::cliff;
use crate::start::dies;
use destage_device::config::DeviceConfig;
use destage_types::Op;

/// Bytes outstanding with which sequential reads fill a link.
const DEEP_BYTES: u64 = 4 << 20;

/// The facts of the measurements of a plan, and its patterns.
///
/// # Errors
/// The base is no device, or a pattern cannot be written.
pub(super) fn of(plan: &FitPlan<'_>) -> Result<(DriveFacts, Option<PatternFit>), FitError> {
    let base = plan.base.with(&plan.fixed);
    let base = base.map_err(|e| FitError::Device(e.to_string()))?;
    let (base, units) = (base.config(), units_of_small_write(base.config()));
    let rate = sequential_rate(&plan.cells);
    let host = rate.map(|rate| 1e9 * base.mapping().bytes() as f64 / rate);
    let small = host.map(|host| host * units);
    let patterns = PatternFit::of(&plan.patterns, small, base.op.as_f64(), plan.workers)?;
    let writes = match &patterns {
        Some(fit) => writes_of_patterns(fit, base, cliff(&plan.cells).is_some())?,
        None => WriteFacts {
            moved: moved_by_uniform_writes(base.op.as_f64(), &RULES[0])?,
            host,
            settings: Vec::new(),
        },
    };
    let facts = DriveFacts {
        capacity: plan.capacity,
        rates: highest_rates(&plan.cells),
        dies: dies(&plan.cells, base),
        writes,
    };
    Ok((facts, patterns))
}

/// Bytes outstanding and bytes a second of a loop of sequential requests of one kind.
fn sequential_loop(cell: &DriveCell, op: Op) -> Option<(u64, f64)> {
    let [stream] = &cell.load.streams[..] else {
        return None;
    };
    let (share, rate) = match op {
        Op::Read => (1.0, cell.measured.reads_per_s),
        _ => (0.0, cell.measured.writes_per_s),
    };
    let is_loop = stream.pattern == LoadPattern::Sequential
        && stream.reads == share
        && stream.arrivals == LoadArrivals::Closed;
    let outstanding = stream.bytes * u64::from(stream.threads) * u64::from(stream.depth);
    let rate = rate.filter(|_| is_loop)?;
    Some((outstanding, rate * stream.bytes as f64))
}

/// Bytes a second of sequential writes: of the loops with the most bytes outstanding, the median. The first ones of a
/// fill may be those of an SLC cache.
fn sequential_rate(cells: &[DriveCell]) -> Option<f64> {
    let loops = cells
        .iter()
        .filter_map(|cell| sequential_loop(cell, Op::Write));
    let mut rates: Vec<(u64, f64)> = loops.collect();
    let most = rates.iter().map(|rate| rate.0).max()?;
    rates.retain(|rate| rate.0 == most);
    rates.sort_by(|a, b| a.1.total_cmp(&b.1));
    rates.get((rates.len() - 1) / 2).map(|rate| rate.1)
}

/// Without a cliff to fit it to, the price of a write is that of the patterns.
fn writes_of_patterns(
    fit: &PatternFit,
    base: &DeviceConfig,
    has_cliff: bool,
) -> Result<WriteFacts, FitError> {
    let (best, mut settings) = (fit.best(), Vec::new());
    let mut add = |setting: String, source: String| {
        settings.push(DeterminedSetting { setting, source });
    };
    if let Some(space) = &fit.space {
        let op = libm::round(space.op * 1000.0) / 1000.0;
        add(format!("op={op}"), space_source(space));
    }
    for setting in best.rule.settings() {
        add(setting, rule_source(fit));
    }
    let units = units_of_small_write(base);
    let WritePrices { host, moved, .. } = best.prices;
    let (host, moved) = (host / units, moved / units);
    if !has_cliff {
        let [host, moved] = [host, moved].map(libm::round);
        let price = format!("write_pace={{ host = \"{host}ns\", moved = \"{moved}ns\" }}");
        add(price, price_source(fit));
    }
    let op = fit.space.map_or(base.op.as_f64(), |space| space.op);
    Ok(WriteFacts {
        settings,
        host: Some(host),
        moved: moved_by_uniform_writes(op, &best.rule)?,
    })
}

/// The most bytes a second of reads and of writes.
fn highest_rates(cells: &[DriveCell]) -> HighestRates {
    let most = |rate: fn(&DriveCell) -> Option<f64>, is: fn(LoadPattern) -> bool| {
        let rates = cells.iter().filter_map(|cell| {
            let streams = cell.load.streams.iter().filter(|stream| is(stream.pattern));
            let bytes = streams.map(|stream| stream.bytes).max()?;
            Some(rate(cell)? * bytes as f64)
        });
        rates.fold(0.0, f64::max)
    };
    let deep = cells
        .iter()
        .filter_map(|cell| sequential_loop(cell, Op::Read));
    let deep = deep.filter(|(outstanding, _)| *outstanding >= DEEP_BYTES);
    HighestRates {
        sequential_reads: deep.map(|(_, rate)| rate).fold(0.0, f64::max),
        reads: most(|cell| cell.measured.reads_per_s, |_| true),
        writes: most(|cell| cell.measured.writes_per_s, |_| true),
        random_writes: most(
            |cell| cell.measured.writes_per_s,
            |pattern| pattern == LoadPattern::Random,
        ),
    }
}
