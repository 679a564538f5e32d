//! `destage waf`: write amplification of a pattern of writes.

mod grid;
mod points;
mod report;

use crate::args::{WafArgs, WafOut};
use destage_console::failure::Failure;
use destage_console::identity::{self, Output};
use destage_console::print::{print, print_exactly, print_json};
use destage_console::progress::Progress;
use destage_console::terminal;
use destage_experiment::memory::MemoryLimit;
use destage_sim::waf::{WafError, WafPoint};
use grid::{GridPoint, WafGrid};
use points::Points;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Runs all points and writes them.
///
/// # Errors
/// Bad usage, too little memory, or an output that cannot be written.
pub fn run(args: &WafArgs) -> Result<(), Failure> {
    let grid = WafGrid::new(args)?;
    if let Some(path) = &args.report {
        identity::check(&[Output::of("--report", path)])?;
        destage_report::html::check("--report", path)?;
    }
    let jobs = jobs(&grid, args.threads.resolve(), args.limit.limit())?;
    let found = execute(&grid.points, jobs)?;
    let points = Points {
        grid: &grid,
        found,
        tenths: args.tenths,
    };
    if let Some(warning) = points.warning() {
        terminal::say(&warning);
    }
    if let Some(path) = &args.report {
        destage_report::html::write(path, report::page(&points))?;
    }
    match args.format_out.unwrap_or(WafOut::Table) {
        WafOut::Table => print(&points.table()),
        WafOut::Json => print_json(&points.objects()),
        WafOut::Jsonl => print_exactly(&points.jsonl()),
        WafOut::Csv => print_exactly(&points.csv()),
    }
}

/// Threads that there is memory for.
fn jobs(grid: &WafGrid, wanted: usize, limit: MemoryLimit) -> Result<usize, Failure> {
    let most = grid.points.iter().map(|point| point.spec.memory()).max();
    let most = most.unwrap_or(0).max(1);
    if most > limit.bytes() {
        let what = "a point (fewer --blocks or --pages-per-block)";
        return Err(limit.refused(what, most));
    }
    let room = usize::try_from(limit.bytes() / most).unwrap_or(usize::MAX);
    Ok(wanted.min(room).min(grid.points.len()).max(1))
}

/// Runs the points on several threads; results are in the order of the points.
fn execute(points: &[GridPoint], jobs: usize) -> Result<Vec<WafPoint>, Failure> {
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let found: Mutex<Vec<(usize, Result<WafPoint, WafError>)>> = Mutex::new(Vec::new());
    let worker = || {
        while let Some((number, point)) = next_point(points, &next) {
            let result = point.spec.run(&done);
            if let Ok(mut found) = found.lock() {
                found.push((number, result));
            }
        }
    };
    let progress = Progress::requests("waf", points.iter().map(|p| p.spec.writes()).sum());
    progress.follow(&done, || {
        std::thread::scope(|scope| {
            (0..jobs).for_each(|_| _ = scope.spawn(worker));
        });
    });
    drop(progress);
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(number, _)| *number);
    let results = found.into_iter().map(|(_, result)| result);
    results
        .collect::<Result<_, WafError>>()
        .map_err(|error| Failure::usage(error.to_string()))
}

fn next_point<'a>(points: &'a [GridPoint], next: &AtomicUsize) -> Option<(usize, &'a GridPoint)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((number, points.get(number)?))
}
