//! SIGINT and SIGTERM: what is being written is finished, what is incomplete is removed, and the command
//! says how to go on.

use crate::platform::for_each_signal;
use crate::status_line;
use crate::terminal::say;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// Work left for the end of the process. A command that changes files holds it.
struct AtEnd {
    /// Files that are not complete.
    incomplete: BTreeSet<PathBuf>,
    /// How to go on.
    advice: Option<String>,
    /// Tells a command to end by itself when the first signal comes.
    ender: Option<Sender<()>>,
    /// Further steps, the last first.
    steps: Vec<Box<dyn FnOnce() + Send>>,
}

static AT_END: Mutex<AtEnd> = Mutex::new(AtEnd {
    incomplete: BTreeSet::new(),
    advice: None,
    ender: None,
    steps: Vec::new(),
});

fn at_end() -> MutexGuard<'static, AtEnd> {
    AT_END.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process on SIGINT with 130 and on SIGTERM with 143, as shells expect.
///
/// # Errors
/// Signals cannot be caught.
pub fn watch() -> io::Result<()> {
    for_each_signal(|signal| {
        let ender = at_end().ender.take();
        // A second signal finds nobody, and ends at once.
        if ender.is_none_or(|ender| ender.send(()).is_err()) {
            end(signal);
        }
    })
}

fn end(signal: i32) -> ! {
    // Held to the end: nothing is renamed or written to a journal any more.
    let mut at_end = at_end();
    for step in at_end.steps.drain(..).rev() {
        step();
    }
    for path in &at_end.incomplete {
        // It may not be there yet, or any more.
        let _ = std::fs::remove_file(path);
    }
    let advice = at_end
        .advice
        .as_deref()
        .unwrap_or("files that were not finished are unchanged");
    status_line::hide();
    say(&format!("interrupted; {advice}"));
    std::process::exit(128 + signal)
}

/// Makes a file that is not complete: it goes with the process from its first moment.
///
/// # Errors
/// It cannot be made.
pub fn make_incomplete(
    make: impl FnOnce() -> io::Result<NamedTempFile>,
) -> io::Result<NamedTempFile> {
    let mut at_end = at_end();
    let made = make()?;
    at_end.incomplete.insert(made.path().to_owned());
    Ok(made)
}

/// Lets the command end by itself on the first signal, which is told by what is given back, or when
/// somebody else tells it to.
pub fn ends_itself() -> (Sender<()>, Receiver<()>) {
    let (sender, receiver) = mpsc::channel();
    at_end().ender = Some(sender.clone());
    (sender, receiver)
}

/// Has something done when a signal ends the process, before what was asked for earlier.
pub fn before_end(step: impl FnOnce() + Send + 'static) {
    at_end().steps.push(Box::new(step));
}

/// `path` is complete, or gone.
pub fn forget(path: &Path) {
    at_end().incomplete.remove(path);
}

/// Sets the advice on going on after an interruption.
pub fn advise(advice: String) {
    at_end().advice = Some(advice);
}

/// Does `step`, which must not be cut in two and does not wait for anybody.
pub fn uninterrupted<T>(step: impl FnOnce() -> T) -> T {
    let _held = at_end();
    step()
}
