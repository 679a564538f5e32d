//! The one line at the bottom of a terminal that says how far the command has come.

use crate::platform;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The part of the line that can be seen.
struct StatusLine {
    shown: String,
    /// Writers of other output at the moment: as long as there is one, the line is not shown.
    hiding: u32,
}

static LINE: Mutex<StatusLine> = Mutex::new(StatusLine {
    shown: String::new(),
    hiding: 0,
});

fn line() -> MutexGuard<'static, StatusLine> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Columns of the terminal that standard error is, or `None` where no line can be shown: it is no terminal,
/// or one that obeys nothing.
pub fn columns() -> Option<usize> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let shows = io::stderr().is_terminal() && !dumb;
    shows.then(|| platform::columns(&io::stderr()).unwrap_or(80))
}

/// Shows `text`, which is narrower than the terminal, in the place of what was shown.
pub fn show(text: &str) {
    let mut line = line();
    if line.hiding == 0 && line.shown != text {
        write(&format!("\r{text}\x1b[K"));
        text.clone_into(&mut line.shown);
    }
}

/// Takes the line away.
pub fn clear() {
    line().clear();
}

/// Does `work`, which may write to the terminal, without the line in between.
pub fn without<T>(work: impl FnOnce() -> T) -> T {
    struct Hidden;
    impl Drop for Hidden {
        fn drop(&mut self) {
            line().hiding -= 1;
        }
    }
    hide();
    let _hidden = Hidden;
    work()
}

/// Takes the line away for as long as there is a process.
pub fn hide() {
    let mut line = line();
    line.clear();
    line.hiding += 1;
}

impl StatusLine {
    fn clear(&mut self) {
        if !self.shown.is_empty() {
            write("\r\x1b[K");
            self.shown.clear();
        }
    }
}

/// If nobody looks, nothing is lost that could be told.
fn write(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
