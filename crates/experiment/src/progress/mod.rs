//! How far the command has come, on a line at the bottom of the terminal; nothing at all where standard
//! error is none.

mod estimate;
mod follower;

pub use estimate::Stages;
pub use follower::Follower;

use destage_console::progress::{PATIENCE, follow};
use destage_console::status_line;
use destage_console::terminal::harmless;
use destage_console::text::{line, share, short, time};
use destage_sim::SweepProgress;
use estimate::{RunsState, Spent};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Progress of runs over one trace.
pub struct RunsStatus<'a> {
    /// Name of the trace.
    pub name: &'a str,
    /// The device, if there is one.
    pub device: Option<&'a str>,
    /// Runs.
    pub runs: usize,
    /// Requests of all runs.
    pub requests: u64,
    /// Work done.
    pub progress: &'a SweepProgress,
    /// The traces of the command.
    pub stages: &'a Stages,
}

impl RunsStatus<'_> {
    /// Does `work`, the runs, while the line follows it.
    pub fn follow<T>(&self, work: impl FnOnce() -> T) -> T {
        self.stages.works();
        let (mut spent, mut waited) = (Spent::default(), Duration::ZERO);
        let look = |tick| {
            waited += tick;
            spent.observe(self.state(), tick);
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

    fn state(&self) -> RunsState {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RunsState {
            pages: of(&self.progress.pages_prepared),
            pages_of: of(&self.progress.pages_to_prepare),
            requests: of(&self.progress.requests),
            requests_of: self.requests,
        }
    }

    fn text(&self, spent: &Spent, columns: usize) -> String {
        let (seen, mut label) = (self.state(), self.stages.label(self.name));
        let (share, figures) = match seen.prepares() {
            true => {
                label += &format!(", preparing {}", self.device.unwrap_or("devices"));
                self.preparing(&seen, spent)
            }
            false => self.running(&seen, spent),
        };
        line(&harmless(&label), share, &figures, columns)
    }

    fn preparing(&self, seen: &RunsState, spent: &Spent) -> (Option<f64>, String) {
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

    fn running(&self, seen: &RunsState, spent: &Spent) -> (Option<f64>, String) {
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
