//! Laws of interruptions: what a killed command leaves, and what the same command makes of it.

use super::Law;
use crate::case::{Case, option};
use crate::compare::{equal, want};
use crate::device;
use crate::lab::{Fault, Kind, Lab, Verdict, records};
use destage_conformance::reference::rng::SplitMix64;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

pub const KILLS: Law = Law {
    name: "kills",
    promise: "a killed command leaves each file absent, old or complete; the same command goes on to \
              what an uninterrupted one gives",
    adapt: |case, rng| {
        case.without(&["--jobs"]);
        if kind(case) == LOG_REQUESTS && case.device.is_none() {
            case.device = Some(device::draw(rng, case.page));
            case.without(&["--fit", "--wrap"]);
            case.options.push(option("--wrap"));
        }
    },
    check: kills,
};

/// The text of a file before it is replaced.
const OLD: &str = "old\n";
/// The journal of a folder of results.
const JOURNAL: &str = "results.jsonl";
/// Held by commands that write to a folder.
const LOCK: &str = ".destage.lock";

/// How a command is interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Signal {
    name: &'static str,
    number: i32,
}

const KILL: Signal = Signal {
    name: "KILL",
    number: 9,
};
const INT: Signal = Signal {
    name: "INT",
    number: 2,
};
const TERM: Signal = Signal {
    name: "TERM",
    number: 15,
};

impl Signal {
    /// Whether the program may catch it, to remove what is incomplete.
    fn is_caught(self) -> bool {
        self != KILL
    }

    fn send(self, child: &Child) -> Result<(), Fault> {
        let (name, pid) = (format!("-{}", self.name), child.id().to_string());
        // It may be gone already.
        Command::new("kill").args([name, pid]).output()?;
        Ok(())
    }
}

/// Kinds of commands, and the one that needs a device.
const KINDS: u64 = 8;
const LOG_REQUESTS: u64 = 5;

fn kind(case: &Case) -> u64 {
    (case.seed >> 1) % KINDS
}

/// A curve with its picture.
fn curve(case: &Case, sweep: &str, folder: &str) -> Vec<String> {
    let mut case = case.clone();
    case.for_curve();
    let mut words = case
        .with(&format!("{sweep} --plot {folder}/curve.svg"))
        .run("trace.csv");
    words[0] = "mrc".to_owned();
    words
}

/// The words of a command that writes to the folder, and the files that it replaces.
fn command(case: &Case, folder: &str) -> (Vec<String>, Vec<&'static str>) {
    let sweep = format!("--scheme fifo --cache {}", case.cache(3));
    let run = |more: &str| case.with(more).run("trace.csv");
    match kind(case) {
        0 => (run(&format!("{sweep} --out {folder}")), vec![]),
        1 => {
            let logs = "--log-evictions evictions.jsonl --series series.csv --series-every 1";
            (run(&format!("{sweep} --out {folder} {logs}")), vec![])
        }
        2 => {
            let series = format!("--series {folder}/series.csv --series-every 1");
            let logs = format!("{series} --log-evictions {folder}/evictions.jsonl");
            (run(&logs), vec!["series.csv", "evictions.jsonl"])
        }
        3 => {
            let report = format!("{sweep} --report {folder}/report.html");
            (run(&report), vec!["report.html"])
        }
        4 => {
            let to = ["destage", "destage-bin"][(case.seed >> 4) as usize % 2];
            let words = format!("trace convert trace.csv --to {to} -o {folder}/converted");
            (option(&words), vec!["converted"])
        }
        LOG_REQUESTS => {
            let log = format!("--log-requests {folder}/requests.csv");
            (run(&log), vec!["requests.csv"])
        }
        6 => (curve(case, &sweep, folder), vec!["curve.svg"]),
        _ => {
            let words = format!("trace synth --requests 20000 --seed 7 -o {folder}/synth.csv");
            (option(&words), vec!["synth.csv"])
        }
    }
}

/// The files of a folder, but for its lock.
fn files(lab: &Lab, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(lab.path(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != LOCK {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

/// Is this a journal that a killed command may leave: whole lines, and the beginning of one after
/// them if nothing in the process could finish it? The kernel cuts a write in two where a page of
/// the file ends.
fn is_journal(content: &[u8], signal: Signal) -> bool {
    let whole = content.iter().rposition(|&byte| byte == b'\n');
    let (lines, rest) = content.split_at(whole.map_or(0, |at| at + 1));
    let begun = !signal.is_caught() && !lines.is_empty() && rest.starts_with(b"{");
    !lines.is_empty() && records(lines).is_ok() && (rest.is_empty() || begun)
}

/// Is the file what an uninterrupted command leaves? Times of runs stand in two of them.
fn is_complete(name: &str, content: &[u8], whole: &[u8]) -> bool {
    match name {
        JOURNAL => records(content).is_ok() && content.ends_with(b"\n"),
        "report.html" => content.trim_ascii_end().ends_with(b"</html>"),
        _ => content == whole,
    }
}

/// How an interrupted command may end: complete, refused as ever, killed, or interrupted and said so.
fn ended(status: ExitStatus, signal: Signal) -> Result<(), Fault> {
    // Before the program has started, nobody catches the signal.
    let by_signal = status.signal() == Some(signal.number);
    let caught = signal.is_caught() && status.code() == Some(128 + signal.number);
    if by_signal || caught || status.success() {
        Ok(())
    } else {
        Err(Fault {
            kind: Kind::Status,
            message: format!("after SIG{}, it ended with {status}", signal.name),
        })
    }
}

fn kills(lab: &Lab, case: &Case) -> Verdict {
    if case.requests.is_empty() {
        return Ok(false);
    }
    fs::create_dir(lab.path("whole"))?;
    fs::create_dir(lab.path("cut"))?;
    let start = Instant::now();
    if lab.run(&command(case, "whole").0)?.code != 0 {
        return Ok(false);
    }
    let took = start.elapsed();
    let whole = files(lab, "whole")?;
    let (words, replaced) = command(case, "cut");
    for name in &replaced {
        fs::write(lab.path("cut").join(name), OLD)?;
    }
    let rng = &mut SplitMix64::new(case.seed);
    let signal = rng.pick(&[KILL, INT, TERM]);
    for _ in 0..1 + rng.below(3) {
        let child = lab.start(&words)?;
        let pause = rng.below(took.as_micros() as u64 + 1);
        std::thread::sleep(Duration::from_micros(pause));
        signal.send(&child)?;
        ended(lab.end(child)?, signal)?;
        left(lab, &whole, signal)?;
    }
    lab.must(&words)?;
    resumed(&whole, &files(lab, "cut")?)?;
    Ok(true)
}

/// Looks through what an interrupted command left.
fn left(lab: &Lab, whole: &BTreeMap<String, Vec<u8>>, signal: Signal) -> Result<(), Fault> {
    for (name, content) in files(lab, "cut")? {
        let Some(complete) = whole.get(&name) else {
            // A temporary file, which SIGKILL cannot but leave to the next command.
            if signal.is_caught() {
                let message = format!("{name} is left after SIG{}", signal.name);
                return Err(Fault::law(message));
            }
            continue;
        };
        let good = match &*name {
            JOURNAL => is_journal(&content, signal),
            _ => content == OLD.as_bytes() || is_complete(&name, &content, complete),
        };
        if !good {
            let length = content.len();
            return Err(Fault::law(format!("{name} is torn at {length} bytes")));
        }
    }
    Ok(())
}

/// Compares what the same command made of it with what an uninterrupted one gives.
fn resumed(
    whole: &BTreeMap<String, Vec<u8>>,
    cut: &BTreeMap<String, Vec<u8>>,
) -> Result<(), Fault> {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    want("files", names(whole), names(cut))?;
    for (name, content) in cut {
        if name == JOURNAL {
            let (whole, cut) = (records(&whole[name])?, records(content)?);
            want("records", whole.len(), cut.len())?;
            for (whole, cut) in whole.iter().zip(&cut) {
                equal(whole, cut, &[])?;
            }
        } else if !is_complete(name, content, &whole[name]) {
            return Err(Fault::law(format!("{name} is not complete in the end")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_file_is_neither_old_nor_complete() {
        assert!(is_complete("series.csv", b"a\n", b"a\n"));
        assert!(!is_complete("series.csv", b"", b"a\n"));
        assert!(is_complete(JOURNAL, b"{}\n{}\n", b""));
        assert!(!is_complete(JOURNAL, b"{}\n{\"a\":", b""));
        assert!(!is_complete(JOURNAL, b"", b"{}\n"));
        assert!(!is_complete("report.html", b"<html>", b""));
    }

    #[test]
    fn only_what_nobody_can_catch_cuts_a_line() {
        assert!(is_journal(b"{}\n{}\n", INT) && is_journal(b"{}\n{\"a\":", KILL));
        assert!(!is_journal(b"{}\n{\"a\":", INT) && !is_journal(b"{}\n{\"a\":", TERM));
        // The first line comes with the file.
        assert!(!is_journal(b"{\"a\":", KILL) && !is_journal(b"", KILL));
        assert!(!is_journal(b"{\"a\":\n{}\n", KILL) && !is_journal(b"{}\na", KILL));
    }

    #[test]
    fn statuses_of_interrupted_commands() {
        let ended = |raw, signal| ended(ExitStatus::from_raw(raw), signal).is_ok();
        assert!(ended(9, KILL) && ended(130 << 8, INT) && ended(143 << 8, TERM));
        assert!(ended(2, INT) && ended(15, TERM) && ended(0, INT));
        assert!(!ended(130 << 8, KILL) && !ended(130 << 8, TERM) && !ended(15, INT));
        assert!(!ended(1 << 8, INT) && !ended(137 << 8, KILL));
    }

    #[test]
    fn what_is_left_behind_is_seen() {
        let one =
            |name: &str, content: &[u8]| BTreeMap::from([(name.to_owned(), content.to_vec())]);
        assert!(resumed(&one("a", b"x"), &one("a", b"x")).is_ok());
        assert!(resumed(&one("a", b"x"), &one("a", b"y")).is_err());
        assert!(resumed(&one("a", b"x"), &one("b", b"x")).is_err());
        let record = |n: u64| format!("{{\"a\":1,\"run\":{n}}}\n");
        let (one, two) = (
            one(JOURNAL, record(1).as_bytes()),
            one(JOURNAL, record(2).as_bytes()),
        );
        assert!(resumed(&one, &two).is_ok());
    }
}
