//! Progress of runs for a program, in place of a line on a terminal.

use destage_sim::SweepProgress;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Sees how far runs have come, and may end them.
#[derive(Default)]
pub struct Follower {
    /// Work done.
    pub progress: SweepProgress,
    /// Requests that all runs that were begun serve.
    pub requests: AtomicU64,
    /// Runs stay on the thread that asks for them.
    pub here: bool,
    cancelled: AtomicBool,
    look: Option<Look>,
}

/// Looks at the runs from their own thread now and then, and says whether they are to end.
pub type Look = Box<dyn Fn(&Follower) -> bool + Send + Sync>;

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Follower");
        shown.field("progress", &self.progress);
        shown.finish_non_exhaustive()
    }
}

impl Follower {
    /// Of runs that stay on the thread that asks for them.
    pub fn on_this_thread() -> Follower {
        Follower {
            here: true,
            ..Follower::default()
        }
    }

    /// The same, where `look` is called now and then.
    #[must_use]
    pub fn looking(self, look: Look) -> Follower {
        Follower {
            look: Some(look),
            ..self
        }
    }

    /// Nobody wants the results any more: runs end within some thousands of requests.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Is that so?
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.look.as_ref().is_some_and(|look| look(self))
    }
}
