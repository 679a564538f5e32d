//! How long what is left will take.

use crate::progress::Follower;
use crate::stopwatch::Stopwatch;
use destage_console::text::left;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How far runs have come.
#[derive(Clone, Copy, Default, Debug)]
pub struct RunsState {
    /// Pages written to prepare devices.
    pub pages: u64,
    /// All of them.
    pub pages_of: u64,
    /// Requests served.
    pub requests: u64,
    /// All of them.
    pub requests_of: u64,
}

impl RunsState {
    /// Is a device being prepared, and no run under way?
    pub fn prepares(&self) -> bool {
        self.pages < self.pages_of && self.requests == 0
    }
}

/// Time that the phases of runs took so far.
#[derive(Clone, Copy, Default, Debug)]
pub struct Spent {
    last: RunsState,
    preparing: Duration,
    running: Duration,
}

impl Spent {
    /// Adds an observation, `time` after the previous one.
    pub fn observe(&mut self, seen: RunsState, time: Duration) {
        // Runs may go on while a device is prepared for others; that they do is what counts then.
        let runs = seen.requests > self.last.requests;
        match !runs && self.last.pages < seen.pages_of {
            true => self.preparing += time,
            false => self.running += time,
        }
        self.last = seen;
    }

    /// Time left to prepare devices.
    pub fn left_to_prepare(&self) -> Option<Duration> {
        left(self.preparing, self.last.pages, self.last.pages_of)
    }

    /// Time left of all of it.
    pub fn left(&self) -> Option<Duration> {
        let running = left(self.running, self.last.requests, self.last.requests_of)?;
        Some(self.left_to_prepare()? + running)
    }

    /// The part of all of it that is done.
    pub fn share(&self) -> f64 {
        let spent = (self.preparing + self.running).as_secs_f64();
        let whole = |left: Duration| (spent + left.as_secs_f64()).max(1e-9);
        self.left().map_or(0.0, |left| spent / whole(left))
    }
}

/// The traces of a command, one after the other.
pub struct Stages {
    state: Mutex<StageState>,
    follower: Option<Arc<Follower>>,
}

struct StageState {
    of: usize,
    /// Number of the one under way, from 1.
    number: usize,
    title: String,
    /// Was anything to be run in it?
    works: bool,
    begun: Stopwatch,
    /// Those before in which something was run, and the time they took.
    worked: usize,
    spent: Duration,
}

impl Stages {
    /// So many, none of which has begun.
    pub fn new(of: usize) -> Stages {
        Stages {
            state: Mutex::new(StageState {
                of,
                number: 0,
                title: String::new(),
                works: false,
                begun: Stopwatch::start(),
                worked: 0,
                spent: Duration::ZERO,
            }),
            follower: None,
        }
    }

    /// One, which is followed from inside the program, and not shown on a terminal.
    pub fn followed(follower: Arc<Follower>) -> Stages {
        Stages {
            follower: Some(follower),
            ..Stages::new(1)
        }
    }

    /// The program that follows the stages, if there is no terminal.
    pub fn follower(&self) -> Option<&Arc<Follower>> {
        self.follower.as_ref()
    }

    /// The next one begins.
    pub fn begin_next(&self) {
        let number = self.lock().number + 1;
        self.begin(number, "");
    }

    /// Number `number`, from 1, begins. `title` says what it is.
    pub fn begin(&self, number: usize, title: &str) {
        let mut state = self.lock();
        if state.works {
            state.worked += 1;
            let spent = state.begun.elapsed();
            state.spent += spent;
        }
        state.number = number;
        state.works = false;
        state.begun = Stopwatch::start();
        title.clone_into(&mut state.title);
    }

    /// Something is run in it: it tells how long others may take.
    pub fn works(&self) {
        self.lock().works = true;
    }

    /// Label of the work under way: the title of the stage, or `name` without one.
    pub fn label(&self, name: &str) -> String {
        let state = self.lock();
        let name = match state.title.is_empty() {
            true => name,
            false => &state.title,
        };
        match state.of {
            0 | 1 => name.to_owned(),
            of => format!("{} of {of}: {name}", state.number),
        }
    }

    /// Time left of all stages if `sweep` is the last of the one under way.
    pub fn left(&self, sweep: &Spent) -> Option<Duration> {
        let state = self.lock();
        let open = state.of.saturating_sub(state.number);
        if open == 0 {
            return sweep.left();
        }
        let spent = state.spent + state.begun.elapsed();
        whole_left(spent, state.worked, sweep.share(), open)
    }

    fn lock(&self) -> MutexGuard<'_, StageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time left if `worked` stages and a `share` of the one under way took `spent` together, and `open` stages
/// follow that are like them.
fn whole_left(spent: Duration, worked: usize, share: f64, open: usize) -> Option<Duration> {
    let done = worked as f64 + share;
    let left = open as f64 + 1.0 - share;
    (done > 0.01).then(|| spent.mul_f64(left / done))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn seen(pages: u64, requests: u64) -> RunsState {
        RunsState {
            pages,
            pages_of: 1_000,
            requests,
            requests_of: 6_000,
        }
    }

    #[test]
    fn every_phase_goes_on_at_its_own_pace() {
        let mut spent = Spent::default();
        spent.observe(seen(0, 0), SECOND);
        assert_eq!((spent.left_to_prepare(), spent.left()), (None, None));
        spent.observe(seen(500, 0), 3 * SECOND);
        assert_eq!(spent.left_to_prepare(), Some(4 * SECOND));
        assert_eq!(spent.left(), None, "no run says how long runs take");
        assert_eq!(spent.share(), 0.0);
        assert!(seen(500, 0).prepares() && !seen(1_000, 0).prepares());
        spent.observe(seen(1_000, 0), 4 * SECOND);
        spent.observe(seen(1_000, 1_000), 2 * SECOND);
        assert_eq!(spent.left(), Some(10 * SECOND));
        spent.observe(seen(1_000, 6_000), 10 * SECOND);
        assert_eq!((spent.left(), spent.share()), (Some(Duration::ZERO), 1.0));
    }

    #[test]
    fn runs_that_go_on_beside_a_preparation_are_counted_as_runs() {
        let mut spent = Spent::default();
        spent.observe(seen(500, 0), 3 * SECOND);
        spent.observe(seen(600, 3_000), 4 * SECOND);
        assert_eq!(spent.left(), Some(6 * SECOND));
    }

    #[test]
    fn without_devices_only_requests_count() {
        let mut spent = Spent::default();
        let seen = |requests| RunsState {
            requests,
            requests_of: 100,
            ..RunsState::default()
        };
        spent.observe(seen(25), SECOND);
        assert_eq!(spent.left(), Some(3 * SECOND));
        assert_eq!(spent.share(), 0.25);
        spent.observe(seen(100), SECOND);
        assert_eq!(spent.left(), Some(Duration::ZERO));
        assert_eq!(left(SECOND, 0, 0), Some(Duration::ZERO));
        let more = left(SECOND, 7, 5);
        assert_eq!(more, Some(Duration::ZERO), "more than was thought");
    }

    #[test]
    fn stages_take_what_those_before_took() {
        assert_eq!(whole_left(SECOND, 0, 0.0, 3), None);
        // Half of the first of four took a second.
        assert_eq!(whole_left(SECOND, 0, 0.5, 3), Some(7 * SECOND));
        assert_eq!(whole_left(10 * SECOND, 2, 0.5, 1), Some(6 * SECOND));
        let stages = Stages::new(2);
        stages.begin_next();
        assert_eq!(stages.label("trace"), "1 of 2: trace");
        stages.begin(2, "paper, experiment");
        assert_eq!(stages.label("trace"), "2 of 2: paper, experiment");
        let mut sweep = Spent::default();
        sweep.observe(seen(1_000, 3_000), SECOND);
        assert_eq!(stages.left(&sweep), sweep.left(), "nothing follows");
        let one = Stages::new(1);
        one.begin_next();
        assert_eq!(one.label("trace"), "trace");
    }

    #[test]
    fn stages_with_nothing_to_run_say_nothing_of_others() {
        let stages = Stages::new(100);
        for _ in 0..50 {
            stages.begin_next();
        }
        assert_eq!(stages.left(&Spent::default()), None);
        stages.works();
        stages.begin_next();
        assert_eq!(stages.lock().worked, 1);
    }
}
