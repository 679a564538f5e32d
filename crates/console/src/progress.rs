//! How far one piece of work has come, on the line at the bottom of the terminal.

use crate::status_line;
use crate::terminal::harmless;
use crate::text::{left, line, mib, share, short, time};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time between two looks at what is done.
const TICK: Duration = Duration::from_millis(100);
/// Shorter work shows no line.
pub const PATIENCE: Duration = Duration::from_millis(300);

/// The unit that a line counts.
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
    /// Over the bytes of a file, whose size may be unknown.
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

/// Does `work` while `look` is called every 100 ms with the time since it was called last; never without
/// a terminal.
pub fn follow<T>(mut look: impl FnMut(Duration) + Send, work: impl FnOnce() -> T) -> T {
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
