//! Formats by example: what lines and files mean, and what is said of those that mean nothing.

use crate::common::{
    cases, detected, given, read, read_with, refused, remarks, says, skipping, told, unescaped,
};
use destage_trace::{LoadOptions, TimeUnit};

/// The sections of `tables.txt`: format and options, good lines with their requests, what is counted and named, the
/// front of each bad line, and the bad lines.
fn sections() -> Vec<[String; 5]> {
    let section = |text: &str| {
        let (format, text) = text.split_once('\n').unwrap();
        let mut parts = text.split("--");
        let good = parts.next().unwrap();
        let (counted, front) = parts.next().unwrap().split_once('\n').unwrap();
        let bad = parts.next().unwrap_or("").trim_start();
        [format, good, counted.trim(), front, bad].map(str::to_owned)
    };
    let text = include_str!("tables.txt").replace("\\0", "\0");
    text.split("\n## ").skip(2).map(section).collect()
}

fn text(escaped: &str) -> String {
    String::from_utf8(unescaped(escaped)).unwrap()
}

#[test]
fn columns_mean_what_they_say() {
    for [format, good, counted, ..] in sections().iter().filter(|section| !section[1].is_empty()) {
        let rows = || good.lines().filter_map(|row| row.split_once(" =>"));
        let lines: String = rows().map(|(line, _)| text(line) + "\n").collect();
        let expected: Vec<&str> = rows()
            .map(|row| row.1.trim())
            .filter(|row| !row.is_empty())
            .collect();
        let trace = match format.split_once(' ') {
            None => detected(format, &lines),
            Some((_, options)) => read_with("", &lines, &given(options)).unwrap(),
        };
        assert_eq!(told(&trace), expected.join(", "), "{format}: {lines}");
        let meta = &trace.meta;
        let unit = meta
            .time_unit
            .map_or("untimed".to_owned(), |unit| unit.to_string());
        let (late, odd) = (meta.arrival_corrections, meta.unaligned_requests);
        let mut found = format!("{late} {odd} {unit}");
        meta.volumes
            .iter()
            .for_each(|volume| found += &format!(" {}", volume.name));
        let same = counted
            .split(' ')
            .zip(found.split(' '))
            .all(|(a, b)| a == b);
        assert!(same, "{format}: {found} instead of {counted}: {lines}");
    }
}

/// What the message about a bad line says, and that skipping it leaves the good lines alone.
#[test]
fn bad_columns_are_named() {
    for [format, _, _, front, bad] in sections() {
        let front = text(&front);
        let (lines, last) = (front.lines().count(), front.lines().last().unwrap_or(""));
        for (line, expected) in cases(&text(&bad)) {
            let expected = expected.replace('\0', "\\0");
            let expected = format!("trace.csv: line {}, {expected}", lines + 1);
            for end in ["", "\n", "\r\n"] {
                let message = refused(&format, format!("{front}{line}{end}"));
                assert!(message.starts_with(&expected), "{line}: {message}");
                says(&message, "; allowed: ");
            }
            let text = format!("{front}{line}\n{last}\n");
            let trace = read_with(&format, text, &skipping()).unwrap();
            // A bad line moves no clock.
            let clean = read(&format, format!("{front}{last}\n")).unwrap();
            assert_eq!(
                (told(&trace), trace.meta.skipped_lines),
                (told(&clean), 1),
                "{line}"
            );
        }
    }
}

/// What a file is told for, with its requests and remarks, or what is said.
fn found(options: &str, file: &str) -> String {
    match read_with("", unescaped(file), &given(options)) {
        Ok(trace) => format!(
            "READ {}: {} .. {}",
            trace.meta.format,
            told(&trace),
            remarks(&trace)
        ),
        Err(error) => error.to_string(),
    }
}

#[test]
fn files_are_told_and_read_or_explained() {
    let rows = include_str!("files.txt").lines().skip(5);
    for row in rows.filter(|row| row.contains(" => ")) {
        let (options, rest) = row.split_once('|').unwrap();
        let (file, wanted) = rest[1..].split_once(" => ").unwrap();
        let found_here = found(options, file);
        let is = wanted.starts_with("READ ");
        let same = wanted.split(" .. ").all(|part| found_here.contains(part));
        assert!(
            same && found_here.starts_with("READ ") == is,
            "{row}\nfound: {found_here}"
        );
        if wanted.starts_with("READ table: ") && !options.contains('=') {
            assert_eq!(found("", file), found_here, "{row}");
        }
        if let Some((format, _)) = wanted
            .split_once(": ")
            .filter(|_| is && !row.contains("\\x"))
            && options.trim().is_empty()
        {
            detected(&format[5..], &text(file));
        }
    }
}

/// Arrival of the second request, `line` with its time `time` after 0.
fn second_arrival(format: &str, time: &str, rest: &str, unit: &str) -> Result<u64, String> {
    let options = LoadOptions {
        time_unit: Some(unit.parse::<TimeUnit>().unwrap()),
        ..LoadOptions::default()
    };
    match read_with(format, format!("0{rest}\n{time}{rest}\n"), &options) {
        Ok(trace) => Ok(trace.requests.records()[1].arrival.0),
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
