//! Formats that are tables of columns: what the columns mean, and what hostile input gives.

use crate::common::{cases, check_errors, detected, read, read_with, rows, said};
use destage_trace::{LoadOptions, TimeUnit};
use destage_types::Op;

/// A format: its good lines with their requests, what is corrected, the front of each bad line, and the bad lines.
type Section = [String; 5];

fn sections() -> Vec<Section> {
    let text = include_str!("tables.txt")
        .replace("\\t", "\t")
        .replace("\\0", "\0");
    let section = |text: &str| {
        let (format, text) = text.split_once('\n').unwrap();
        let (good, text) = text.split_once("--").unwrap();
        let (corrected, text) = text.split_once('\n').unwrap();
        let (front, bad) = text.split_once("--\n").unwrap();
        [format, good, corrected.trim(), front, bad].map(str::to_owned)
    };
    text.split("\n## ").skip(2).map(section).collect()
}

#[test]
fn columns_mean_what_they_say() {
    for [format, good, corrected, ..] in sections().iter().filter(|section| !section[1].is_empty())
    {
        let lines = || cases(good);
        let text: String = lines().map(|(line, _)| format!("{line}\n")).collect();
        let expected: Vec<&str> = lines()
            .map(|(_, row)| row)
            .filter(|row| !row.is_empty())
            .collect();
        let trace = detected(format, &text);
        let streams = trace.requests.records().iter().map(|r| r.stream);
        let read = said(&trace);
        let read = read
            .split(", ")
            .zip(streams)
            .map(|(row, stream)| format!("{row} {stream}"));
        assert_eq!(read.collect::<Vec<_>>(), expected, "{format}");
        let meta = &trace.meta;
        let found = format!("{} {}", meta.arrival_corrections, meta.unaligned_requests);
        assert_eq!(&found, corrected, "{format}");
    }
}

#[test]
fn bad_columns_are_named() {
    for [format, _, _, front, bad] in sections() {
        check_errors(&format, &front, &bad);
    }
}

#[test]
fn what_single_formats_allow() {
    // A cut from the middle of a file has no header.
    let cut = "1455591804.310701000,0.006475000,R,0,203468398592,32768\n1455591804.318699001,,W,6,513,512\n";
    assert_eq!(detected("systor17", cut).meta.requests, 2);
    assert_eq!(read("mqsim", "0 0 8 8 1\n").unwrap().meta.format, "ssdsim");
    let hashed = detected("ssdsim", "0 0 512 1024 0 3f4fC2\n1851 0 1024 512 1 2e56\n");
    assert_eq!(rows(&hashed)[0], (0, Op::Write, 512, 1024, 0));
    let trace = read("replayer", "0.0 0 511 2 0\n").unwrap();
    assert_eq!(rows(&trace), [(0, Op::Write, 0, 2, 0)]);
    assert_eq!(trace.meta.unaligned_requests, 1);
}

/// Arrival of the second request, `line` with its time `time` after 0.
fn second_arrival(format: &str, time: &str, rest: &str, unit: &str) -> Result<u64, String> {
    let options = LoadOptions {
        time_unit: Some(unit.parse::<TimeUnit>().unwrap()),
        ..LoadOptions::default()
    };
    match read_with(format, format!("0{rest}\n{time}{rest}\n"), &options) {
        Ok(trace) => Ok(rows(&trace)[1].0),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn times_have_the_unit_that_is_said() {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    for (unit, ns) in units.into_iter().chain([("ns", 1)]) {
        // Whole numbers, and numbers with a fraction whose digits behind the ns are dropped.
        assert_eq!(second_arrival("ssdsim", "7", " 0 8 8 0", unit), Ok(7 * ns));
        let fraction = second_arrival("disksim", "1.25", " 0 8 8 0", unit);
        assert_eq!(fraction, Ok(ns * 125 / 100), "{unit}");
        let msr = second_arrival("msr", "7", ",h,0,Write,4096,4096,1", unit);
        assert_eq!(msr, Ok(7 * ns));
    }
    // More digits than the unit of the format would keep.
    let digits = second_arrival("disksim", "1.2500000191", " 0 8 8 0", "s");
    assert_eq!(digits, Ok(1_250_000_019));
    let refused = |format, time, unit| second_arrival(format, time, " 0 8 8 0", unit).unwrap_err();
    assert_eq!(
        refused("ssdsim", "7.5", "us"),
        "trace.csv: line 2, column 1 (time): `7.5` is not a whole number; allowed: a number of us"
    );
    assert_eq!(
        refused("fio", "7", "us"),
        "trace.csv: the times of `fio` have the unit that the format says, and no other"
    );
    assert!("min".parse::<TimeUnit>().is_err());
}
