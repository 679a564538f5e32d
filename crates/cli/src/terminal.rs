//! Standard error: messages, each warning once, and progress bars on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two looks at the counter behind a progress bar.
const TICK: Duration = Duration::from_millis(100);

/// What standard output is shown on.
pub struct Screen {
    /// Columns, if it is a terminal that says how many.
    pub width: Option<usize>,
    /// May there be colours? Not where `NO_COLOR` is set.
    pub colours: bool,
}

impl Screen {
    /// That of this process.
    pub fn of_stdout() -> Screen {
        let out = std::io::stdout();
        if !out.is_terminal() {
            let (width, colours) = (None, false);
            return Screen { width, colours };
        }
        let size = rustix::termios::tcgetwinsize(&out).ok();
        let width = size
            .map(|size| usize::from(size.ws_col))
            .filter(|&width| width > 0);
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let colours = !dumb && !set("NO_COLOR");
        Screen { width, colours }
    }
}

/// Writes a line to standard error. If nobody listens, nothing is lost that could be told.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(line));
}

/// `text` with all characters that a terminal obeys instead of showing them as escapes, such as
/// `\u{1b}`: names come from traces and files. Line feeds stay.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| (c.is_control() && c != '\n') || turns_direction(c);
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match obeyed(c) {
            true => safe.extend(c.escape_unicode()),
            false => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Does it show what follows from right to left, or end that?
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Warnings of one command; the same one is said once.
#[derive(Default)]
pub struct Warnings {
    said: BTreeSet<String>,
    unsaid: bool,
}

impl Warnings {
    /// Warnings that are only collected.
    pub fn unsaid() -> Warnings {
        Warnings {
            unsaid: true,
            ..Warnings::default()
        }
    }

    /// All of them.
    pub fn into_all(self) -> impl Iterator<Item = String> {
        self.said.into_iter()
    }

    /// Says `warning` unless it was said before.
    pub fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.said.contains(&warning) {
            if !self.unsaid {
                say(&format!("warning: {warning}"));
            }
            self.said.insert(warning);
        }
    }
}

/// A progress bar on standard error; nothing at all if that is no terminal.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar over the bytes of a file, or a spinner if their number is not known.
    pub fn bytes(name: &str, total: Option<u64>) -> Progress {
        match total {
            Some(total) => Progress::new(
                total,
                "{prefix} {wide_bar} {bytes}/{total_bytes}, {eta} left",
                name,
            ),
            None => Progress::new(0, "{prefix} {bytes}, {elapsed}", name),
        }
    }

    /// A bar over requests.
    pub fn requests(name: &str, total: u64) -> Progress {
        let template = "{prefix} {wide_bar} {human_pos}/{human_len} requests, {eta} left";
        Progress::new(total, template, name)
    }

    fn new(total: u64, template: &str, prefix: &str) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress {
                bar: ProgressBar::hidden(),
            };
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(harmless(prefix).into_owned());
        Progress { bar }
    }

    /// Sets how much is done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Does `work` while the bar follows `counter`.
    pub fn follow<T>(&self, counter: &AtomicU64, work: impl FnOnce() -> T) -> T {
        if self.bar.is_hidden() {
            return work();
        }
        let (alive, ended) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // The other end is dropped when the work ends, whichever way it does.
                while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    self.set(counter.load(Ordering::Relaxed));
                }
            });
            let _alive = alive;
            work()
        })
    }

    /// Does `work`, which writes to the terminal, without the bar in between.
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn terminals_get_nothing_to_obey() {
        assert_eq!(harmless("a b\nc é"), "a b\nc é");
        assert_eq!(
            harmless("\u{1b}[2Jx\r\t\u{9b}\u{202e}"),
            "\\u{1b}[2Jx\\u{d}\\u{9}\\u{9b}\\u{202e}"
        );
    }
}
