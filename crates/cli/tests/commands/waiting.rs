//! The progress line at the bottom of a terminal. `script` of util-linux is the terminal.

use super::common::{Bench, contains};
use std::process::Command;
use unicode_width::UnicodeWidthStr;

/// Columns of the terminal.
const COLUMNS: usize = 72;
const CLEAR: &str = "\r\x1b[K";
/// Takes some seconds: a device that is filled and overwritten in part, then two runs.
const SWEEP: &str = "run t.csv --scheme lru --scheme arc --cache 1MiB --jobs 1 --format-out jsonl \
                     --device prober-512g --set blocks_per_plane=256 --set precondition.overwrite=3 --wrap";

/// All that a terminal is given while `sh` does `commands`, in which `DESTAGE` is the program; `None` if there
/// is no such terminal.
fn on_terminal(bench: &Bench, commands: &str) -> Option<String> {
    let commands = commands.replace("DESTAGE", &format!("'{}'", env!("CARGO_BIN_EXE_destage")));
    let all = format!("stty cols {COLUMNS} rows 24; {commands}");
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &all, "/dev/null"]);
    script
        .current_dir(bench.dir.path())
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh");
    match script.output() {
        Ok(done) => Some(String::from_utf8(done.stdout).unwrap()),
        Err(error) => {
            eprintln!("SKIPPED: no terminal to try: script: {error}");
            None
        }
    }
}

fn traced() -> Bench {
    let bench = Bench::new();
    let synth = "trace synth --requests 600000 --gap 1ms \
                 --part at=zipf(0.9),space=64MiB,writes=0.6 -o t.csv";
    bench.destage(synth).ok();
    bench
}

/// The lines that stood at the bottom, one after the other.
fn shown(given: &str) -> Vec<&str> {
    let lines = given
        .split('\r')
        .map(|line| line.trim_end_matches("\x1b[K"));
    lines.filter(|line| !line.trim().is_empty()).collect()
}

#[test]
fn a_sweep_says_what_it_does_and_how_long_it_takes_on_one_line() {
    let bench = traced();
    let Some(given) = on_terminal(&bench, &format!("DESTAGE {SWEEP} > out")) else {
        return;
    };
    let lines = shown(&given);
    for line in &lines {
        assert!(line.width() < COLUMNS, "{line}");
    }
    assert!(!given.contains('\n'), "one line and no other: {given:?}");
    assert!(given.ends_with(CLEAR), "taken away at the end: {given:?}");
    let any = |parts: &[&str]| {
        let has = |line: &&str| parts.iter().all(|part| line.contains(part));
        assert!(lines.iter().any(has), "no {parts:?} in {lines:?}");
    };
    any(&["t, preparing prober-512g", " %", ", then 2 runs"]);
    any(&["t ", "█", "0 of 2 runs, ", " of 1200k requests", " s left"]);
    any(&["1 of 2 runs, "]);
    contains(&bench.read("out"), "\"scheme\":\"arc\"");
}

#[test]
fn every_trace_of_a_command_is_counted() {
    let bench = traced();
    let place = |name: &str| bench.dir.path().join(name);
    std::fs::copy(place("t.csv"), place("u.csv")).unwrap();
    let sweep = SWEEP.replace("t.csv", "t.csv u.csv --limit 200000");
    let Some(given) = on_terminal(&bench, &format!("DESTAGE {sweep} > out")) else {
        return;
    };
    contains(&given, "1 of 2: t, preparing");
    contains(&given, "2 of 2: u ");
    assert!(
        !given.contains("u, preparing"),
        "it was prepared before: {given:?}"
    );
}

#[test]
fn writing_a_trace_says_how_far_it_is() {
    let bench = Bench::new();
    let synth = "DESTAGE trace synth --requests 9000000 -o large.csv";
    let Some(given) = on_terminal(&bench, synth) else {
        return;
    };
    contains(&given, "writing synth ");
    contains(&given, " of 9000k requests");
    assert!(given.ends_with(CLEAR), "{given:?}");
}

#[test]
fn an_interrupted_command_leaves_no_line_behind() {
    let bench = traced();
    // Far from its end after two seconds, and in the middle of a phase.
    let long = SWEEP.replace("plane=256", "plane=4096");
    let commands = format!("DESTAGE {long} > out & sleep 2; kill -TERM $!; wait $!");
    let Some(given) = on_terminal(&bench, &commands) else {
        return;
    };
    contains(&given, &format!("{CLEAR}interrupted; "));
    let after = given.split("interrupted; ").nth(1).unwrap();
    let alone = after.trim_end().lines().count() == 1 && !after.contains("\x1b[");
    assert!(alone, "{given:?}");
}

#[test]
fn nothing_is_shown_where_nobody_looks() {
    let bench = traced();
    let sweep = format!("{SWEEP} --limit 150000");
    let done = bench.destage(&sweep).ok();
    assert_eq!(done.stderr, "");
    let dumb = format!("TERM=dumb DESTAGE {sweep} > out");
    if let Some(given) = on_terminal(&bench, &dumb) {
        assert_eq!(given, "", "a terminal that obeys nothing");
    }
}

#[test]
fn what_went_wrong_is_coloured_where_colours_may_be() {
    let bench = Bench::new();
    bench.file("bad.csv", "0,hm,0,Write,4096,8192,7\n10,hm,0,Write,0,0,7\n");
    let line = "DESTAGE trace info bad.csv; DESTAGE trace info bad.csv --skip-bad-lines > out";
    let Some(given) = on_terminal(&bench, line) else {
        return;
    };
    contains(&given, "\x1b[1;31merror:\x1b[0m bad.csv");
    contains(&given, "\x1b[1;33mwarning:\x1b[0m bad: skipped");
    for plain in ["NO_COLOR=1", "TERM=dumb"] {
        let line = line.replace("DESTAGE", &format!("{plain} DESTAGE"));
        let given = on_terminal(&bench, &line).unwrap();
        contains(&given, "error: bad.csv");
        assert!(!given.contains("\x1b[1;"), "{plain}: {given:?}");
    }
}
