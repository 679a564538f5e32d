//! Messages on standard error, each warning once, and properties of terminals.

use crate::failure::Failure;
use crate::platform;
use crate::status_line;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

/// The screen that shows standard output.
#[derive(Default)]
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
            return Screen::default();
        }
        let (width, colours) = (platform::columns(&out), Screen::shows_colours(&out));
        Screen { width, colours }
    }

    /// Is it a terminal that may show colours?
    fn shows_colours(stream: &impl IsTerminal) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        stream.is_terminal() && !dumb && !set("NO_COLOR")
    }
}

/// Writes a line to standard error. If nobody listens, nothing is lost that could be told.
pub fn say(line: &str) {
    let line = harmless(line);
    let line = if Screen::shows_colours(&std::io::stderr()) {
        accented(&line)
    } else {
        line
    };
    status_line::without(|| _ = writeln!(std::io::stderr(), "{line}"));
}

/// `line` with the word in front that says what went wrong in the colour that the parser of the command
/// line has for it.
fn accented(line: &str) -> Cow<'_, str> {
    for (word, colour) in [("error:", "1;31"), ("warning:", "1;33")] {
        if let Some(rest) = line.strip_prefix(word) {
            return Cow::Owned(format!("\x1b[{colour}m{word}\x1b[0m{rest}"));
        }
    }
    Cow::Borrowed(line)
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
        if obeyed(c) {
            safe.extend(c.escape_unicode())
        } else {
            safe.push(c)
        }
    }
    Cow::Owned(safe)
}

/// Does it show what follows from right to left, or end that?
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Warnings of one command, and what it left out; the same warning is said once.
#[derive(Default)]
pub struct Warnings {
    said: BTreeSet<String>,
    left_out: Vec<Failure>,
    /// Is a trace among that?
    bad_input: bool,
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

    /// Says that all runs over a trace are left out, and why. The command goes on with the other traces.
    pub fn leave_out_trace(&mut self, why: Failure) {
        self.bad_input = true;
        self.leave_out(why);
    }

    /// Says that a run is left out, and why. The command goes on with the others.
    pub fn leave_out(&mut self, why: Failure) {
        if !self.unsaid {
            why.say();
        }
        self.left_out.push(why);
    }

    /// The runs that were left out since the last call.
    pub fn take_left_out(&mut self) -> Vec<Failure> {
        std::mem::take(&mut self.left_out)
    }

    /// Ends a command; `any`: has it a result?
    ///
    /// # Errors
    /// Something was left out, which was said.
    pub fn unless_left_out(&self, any: bool) -> Result<(), Failure> {
        let all = &self.left_out;
        let only_usage = all.iter().all(|why| matches!(why, Failure::Usage(_)));
        match all.len() {
            0 => Ok(()),
            _ if !any => Err(Failure::Said(if only_usage { 2 } else { 1 })),
            n => {
                let s = if n == 1 { "" } else { "s" };
                let text = format!(
                    "not all runs completed, see the {n} error{s} above; the results contain the others"
                );
                Err(if self.bad_input {
                    Failure::usage(text)
                } else {
                    Failure::Run(text)
                })
            }
        }
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

/// Each is said as by [`Warnings::warn`].
impl Extend<String> for Warnings {
    fn extend<I: IntoIterator<Item = String>>(&mut self, warnings: I) {
        for warning in warnings {
            self.warn(warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::terminal::harmless;

    #[test]
    fn terminals_get_nothing_to_obey() {
        assert_eq!(harmless("a b\nc é"), "a b\nc é");
        assert_eq!(
            harmless("\u{1b}[2Jx\r\t\u{9b}\u{202e}"),
            "\\u{1b}[2Jx\\u{d}\\u{9}\\u{9b}\\u{202e}"
        );
    }
}
