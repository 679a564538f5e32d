//! `docs/DRAINING.md` and `docs/BUFFER.md`: their tables and the figure are made again from the sweep `papers/draining.toml`.
//! `DESTAGE_BLESS=1` writes them.

mod buffer;
mod figure;
mod gains;
mod search;

use crate::common::{Bench, objects, root, setting, trace};
use serde_json::Value;
use std::path::{Path, PathBuf};

const PAGES: [&str; 2] = ["docs/DRAINING.md", "docs/BUFFER.md"];
const FIGURE: &str = "docs/buffer.svg";
const SWEEPS: [&str; 2] = ["papers/draining.toml", "papers/search-test.toml"];
const LOADS: [&str; 4] = [
    "traced",
    "100 times as fast",
    "10,000 times as fast",
    "closed loop",
];
/// How a scheme runs, as the heads of columns.
const FORMS: &str = "on demand | marks 0 | marks 0.25 | marks 0.5";

/// The scheme on demand, and drained at the three marks.
fn forms(scheme: &str) -> [String; 4] {
    let drained = |marks: &str| match scheme.strip_prefix("cac(") {
        Some(inner) => format!("cac(drain({}{marks}))", inner.trim_end_matches(')')),
        None => format!("drain({scheme}{marks})"),
    };
    let marks = ["", ",high=0.25,low=0.25", ",high=0.5,low=0.5"].map(drained);
    let [zero, quarter, half] = marks;
    [scheme.to_owned(), zero, quarter, half]
}

/// The part of [`LOADS`] that a record ran under.
fn load(record: &Value) -> &'static str {
    if setting(record, "closed_loop").0 == "32" {
        return LOADS[3];
    }
    match setting(record, "time_scale").0 {
        "0.0001" => LOADS[2],
        "0.01" => LOADS[1],
        _ => LOADS[0],
    }
}

/// Are both runs of one point: the same trace on the same device under the same load?
fn is_same_point(one: &Value, other: &Value) -> bool {
    let same = |key: &str| one[key] == other[key];
    same("run_name")
        && same("device")
        && one["trace"]["name"] == other["trace"]["name"]
        && load(one) == load(other)
}

/// The run of `scheme` at the point of `record`.
fn beside<'a>(records: &'a [Value], record: &Value, scheme: &str) -> Option<&'a Value> {
    records
        .iter()
        .find(|other| other["scheme"] == scheme && is_same_point(record, other))
}

/// The fewest flash writes of any scheme with the trace and the frames of `record`.
fn bound<'a>(records: &'a [Value], record: &Value) -> &'a Value {
    let is_bound = |other: &&Value| {
        other["run_name"] == "bound"
            && other["trace"]["name"] == record["trace"]["name"]
            && other["cache_bytes"] == record["cache_bytes"]
    };
    records
        .iter()
        .find(is_bound)
        .expect("each trace has its bound")
}

/// Bytes programmed for any cause, and those of dirty pages that are still to be programmed.
fn flash(record: &Value) -> f64 {
    let count = |value: &Value| value.as_u64().unwrap_or(0) as f64;
    let counts = &record["counts"];
    let programs = count(&counts["flash_writes_host"])
        + count(&counts["flash_writes_gc"])
        + count(&counts["flash_writes_meta"])
        + count(&counts["padded_places"]);
    (programs + count(&record["dirty_pages_left"])) * count(&record["page_bytes"])
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// The page with its tables made again.
fn again(page: &str, records: &[Value]) -> String {
    let (mut text, mut lines) = (String::new(), page.lines().peekable());
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let name = line.strip_prefix("<!-- table: ");
        if let Some(name) = name.and_then(|rest| rest.strip_suffix(" -->")) {
            let made = match name {
                "gains" => gains::gains(records),
                "bytes" => gains::bytes(records),
                "search" => search::table(records),
                by => buffer::table(records, by),
            };
            text += &format!("\n{made}\n");
            while lines
                .next_if(|l| l.is_empty() || l.starts_with('|'))
                .is_some()
            {}
        }
    }
    text
}

/// What the sweep makes of both pages and of the figure, by file.
fn files(records: &[Value]) -> [(&'static str, String); 3] {
    let [draining, buffer] = PAGES.map(|page| (page, again(&text(page), records)));
    [draining, buffer, (FIGURE, figure::svg(records))]
}

/// The records of a sweep on the traces in `folder`.
fn sweep(text: &str, folder: &Path) -> Vec<Value> {
    let bench = Bench::new();
    bench.file("sweep.toml", text);
    let line = format!(
        "sweep sweep.toml --trace-dir {} --out swept",
        folder.display()
    );
    bench.destage(line).ok();
    objects(&bench.read("swept/results.jsonl"))
}

fn text(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_default()
}

/// Where the traces are.
fn folder() -> Option<PathBuf> {
    let first = trace("msr-prxy_0-first20k.csv.zst")?;
    Some(first.parent().unwrap_or(Path::new(".")).to_owned())
}

/// `DESTAGE_SWEPT` may name the folder of finished sweeps, such as those of a release build, which are not run again then.
#[test]
#[ignore = "an hour; `cargo xtask draining` runs it"]
fn the_pages_of_draining_are_what_the_sweeps_say() {
    let Some(folder) = folder() else {
        return;
    };
    let records = SWEEPS.map(|file| match std::env::var_os("DESTAGE_SWEPT") {
        Some(swept) => {
            let name = Path::new(file).file_stem().unwrap();
            let results = Path::new(&swept).join(name).join("results.jsonl");
            objects(&std::fs::read_to_string(results).unwrap())
        }
        None => sweep(&text(file), &folder),
    });
    for (file, made) in files(&records.concat()) {
        if std::env::var_os("DESTAGE_BLESS").is_some() {
            std::fs::write(root().join(file), &made).unwrap();
        }
        assert!(
            text(file) == made,
            "{file} is stale: run this test with DESTAGE_BLESS=1"
        );
    }
}

/// The sweep of 50 requests of one trace, and how many traces it has.
fn cut(file: &str) -> (String, usize) {
    let all = text(file);
    let (before, rest) = all.split_once("trace = [").unwrap();
    let (traces, after) = rest.split_once(']').unwrap();
    let trace = "trace = [\"umass-financial1-first10k.ssdsim.zst\"]\nlimit = 50";
    // To fill drives takes longer than the runs.
    let after: String = after
        .lines()
        .filter(|line| !line.starts_with("limit = "))
        .map(|line| format!("{line}\n"))
        .collect();
    let after = after
        .replace("\"0.1\"", "\"4MiB\"")
        .replace(", \"precondition.overwrite=until_gc\"", "");
    (
        format!("{before}{trace}{after}"),
        traces.matches(".zst").count(),
    )
}

/// A small cut of one trace: the pages can be made, and their tables have all figures but those of other traces.
#[test]
fn the_pages_of_draining_can_be_made() {
    let Some(folder) = folder() else {
        return;
    };
    let cuts = SWEEPS.map(cut);
    let [records, test] = [&cuts[0], &cuts[1]].map(|(text, _)| sweep(text, &folder));
    let count = |text: &str| text.lines().filter(|l| l.starts_with("| ")).count();
    let fewer = files(&[records, test].concat()).map(|(file, made)| {
        assert!(
            !made.contains("| - |") && !made.contains("NaN"),
            "no figures: {made}"
        );
        count(&text(file)) - count(&made)
    });
    let missing = (cuts[0].1 - 1) * buffer::RECOMMENDED.len();
    assert_eq!(fewer, [0, missing, 0]);
}
