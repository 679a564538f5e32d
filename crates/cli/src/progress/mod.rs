//! How far the command has come, on a line at the bottom of the terminal; nothing at all where standard
//! error is none.

mod estimate;
mod follower;
pub mod status_line;
mod text;

pub use estimate::Stages;
pub use follower::Follower;

use crate::terminal::harmless;
use destage_sim::SweepProgress;
use estimate::{Spent, SweepState, left};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use text::{line, mib, share, short, time};

/// Time between two looks at what is done.
const TICK: Duration = Duration::from_millis(100);
/// What takes less is not worth a line.
const PATIENCE: Duration = Duration::from_millis(300);

/// What a line counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    Requests,
}

/// Progress in one number.
pub struct Progress {
    label: String,
    unit: Unit,
    total: Option<u64>,
    started: Instant,
    /// When the line is due; `None` if there is no terminal.
    due: Cell<Option<Instant>>,
}

impl Progress {
    /// Over the bytes of a file, the number of which may not be known.
    pub fn bytes(label: &str, total: Option<u64>) -> Progress {
        Progress::new(label, Unit::Bytes, total)
    }

    /// Over requests.
    pub fn requests(label: &str, total: u64) -> Progress {
        Progress::new(label, Unit::Requests, Some(total))
    }

    fn new(label: &str, unit: Unit, total: Option<u64>) -> Progress {
        let started = Instant::now();
        Progress {
            label: harmless(label).into_owned(),
            unit,
            total,
            started,
            due: Cell::new(status_line::columns().map(|_| started + PATIENCE)),
        }
    }

    /// Sets how much is done.
    pub fn set(&self, done: u64) {
        let Some(due) = self.due.get() else { return };
        let now = Instant::now();
        if now < due {
            return;
        }
        self.due.set(Some(now + TICK));
        if let Some(columns) = status_line::columns() {
            status_line::show(&self.text(done, now - self.started, columns));
        }
    }

    fn text(&self, done: u64, spent: Duration, columns: usize) -> String {
        let number = |n| match self.unit {
            Unit::Bytes => mib(n),
            Unit::Requests => short(n),
        };
        let unit = match self.unit {
            Unit::Bytes => "MiB",
            Unit::Requests => "requests",
        };
        let Some(total) = self.total else {
            let figures = format!("{} {unit}, {}", number(done), time(spent));
            return line(&self.label, None, &figures, columns);
        };
        let mut figures = format!("{} of {} {unit}", number(done), number(total));
        if let Some(left) = left(spent, done, total) {
            figures += &format!(", {} left", time(left));
        }
        line(&self.label, share(done, total), &figures, columns)
    }

    /// Does `work` while the line follows `counter`.
    pub fn follow<T>(&self, counter: &AtomicU64, work: impl FnOnce() -> T) -> T {
        let own = Progress::new(&self.label, self.unit, self.total);
        follow(move |_| own.set(counter.load(Ordering::Relaxed)), work)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.due.get().is_some() {
            status_line::clear();
        }
    }
}

/// Progress of runs over one trace.
pub struct SweepStatus<'a> {
    /// Name of the trace.
    pub name: &'a str,
    /// The device, if there is one.
    pub device: Option<&'a str>,
    /// Runs.
    pub runs: usize,
    /// Requests of all runs.
    pub requests: u64,
    /// What is done.
    pub progress: &'a SweepProgress,
    /// The traces of the command.
    pub stages: &'a Stages,
}

impl SweepStatus<'_> {
    /// Does `work`, the sweep, while the line follows it.
    pub fn follow<T>(&self, work: impl FnOnce() -> T) -> T {
        self.stages.works();
        let (mut spent, mut waited) = (Spent::default(), Duration::ZERO);
        let look = |tick| {
            waited += tick;
            spent.look(self.seen(), tick);
            if waited >= PATIENCE
                && let Some(columns) = status_line::columns()
            {
                status_line::show(&self.text(&spent, columns));
            }
        };
        let done = follow(look, work);
        status_line::clear();
        done
    }

    fn seen(&self) -> SweepState {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SweepState {
            pages: of(&self.progress.pages_prepared),
            pages_of: of(&self.progress.pages_to_prepare),
            requests: of(&self.progress.requests),
            requests_of: self.requests,
        }
    }

    fn text(&self, spent: &Spent, columns: usize) -> String {
        let (seen, mut label) = (self.seen(), self.stages.label(self.name));
        let (share, figures) = match seen.prepares() {
            true => {
                label += &format!(", preparing {}", self.device.unwrap_or("devices"));
                self.preparing(&seen, spent)
            }
            false => self.running(&seen, spent),
        };
        line(&harmless(&label), share, &figures, columns)
    }

    fn preparing(&self, seen: &SweepState, spent: &Spent) -> (Option<f64>, String) {
        let share = share(seen.pages, seen.pages_of);
        let mut figures = format!("{:.0} %", 100.0 * share.unwrap_or(0.0));
        if let Some(left) = spent.left_to_prepare() {
            figures += &format!(", {}", time(left));
        }
        figures += &match self.runs {
            1 => ", then the run".to_owned(),
            runs => format!(", then {runs} runs"),
        };
        (share, figures)
    }

    fn running(&self, seen: &SweepState, spent: &Spent) -> (Option<f64>, String) {
        let mut figures = match self.runs {
            1 => String::new(),
            runs => {
                let ended = self.progress.runs.load(Ordering::Relaxed);
                format!("{ended} of {runs} runs, ")
            }
        };
        let (done, of) = (short(seen.requests), short(seen.requests_of));
        figures += &format!("{done} of {of} requests");
        if let Some(left) = self.stages.left(spent) {
            figures += &format!(", {} left", time(left));
        }
        (share(seen.requests, seen.requests_of), figures)
    }
}

/// Does `work` while `look` is called every [`TICK`] with the time since it was called last; never without
/// a terminal.
fn follow<T>(mut look: impl FnMut(Duration) + Send, work: impl FnOnce() -> T) -> T {
    if status_line::columns().is_none() {
        return work();
    }
    let (alive, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut last = Instant::now();
            // The other end is dropped when the work ends, whichever way it does.
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let now = Instant::now();
                look(now - last);
                last = now;
            }
        });
        let _alive = alive;
        work()
    })
}
