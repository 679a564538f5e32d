//! Twins of aggregates: what they promise of any figures, and the files in `papers/twins`.

use destage_trace::Trace;
use destage_twin::{Likeness, LikenessCount, Twin, TwinFile, TwinFit, curve_error};
use destage_types::{HostRequest, Nanos, Op};
use std::convert::Infallible;
use std::path::Path;

const PLAIN: &str = "requests = 20000\nspan_s = 100\nwrite_ratio = 0.6\nmean_write_kib = 9\n";

fn twin(text: &str, requests: Option<u64>) -> Twin {
    let file = TwinFile::parse(text).unwrap();
    let parameters = file.parameters(requests, None).unwrap();
    let name = "twin".to_owned();
    Twin { name, parameters }
}

fn made(text: &str) -> Vec<HostRequest> {
    let Trace { requests, .. } = twin(text, None).generate();
    requests.records().to_vec()
}

fn likeness(requests: &[HostRequest]) -> Likeness {
    let mut count = LikenessCount::new();
    for r in requests {
        count.add(r.arrival, r.op, r.start_sector, r.sectors);
    }
    count.finish()
}

#[test]
fn figures_come_back() {
    let text = format!("{PLAIN}update_share = 0.8\nmean_read_kib = 30\n");
    let requests = made(&text);
    assert_eq!(requests.len(), 20_000);
    let mean = |op: Op| {
        let of = requests.iter().filter(|r| r.op == op);
        let (n, sectors) = of.fold((0u64, 0u64), |(n, s), r| (n + 1, s + u64::from(r.sectors)));
        (n as f64 / 20_000.0, sectors as f64 / 2.0 / n as f64)
    };
    let ((writes, write), (_, read)) = (mean(Op::Write), mean(Op::Read));
    assert!((writes - 0.6).abs() < 0.02, "{writes}");
    assert!(
        (write - 9.0).abs() < 1.0 && (read - 30.0).abs() < 3.0,
        "{write} {read}"
    );
    assert!(requests.is_sorted_by_key(|r| r.arrival));
    assert!(requests.last().unwrap().arrival <= Nanos(100_000_000_000));
    assert_eq!(requests, made(&text), "the same seed, the same requests");
    assert_ne!(requests, made(&format!("{text}seed = 2\n")));
}

#[test]
fn files_at_the_ends_of_their_ranges_work() {
    let only = |ratio: &str| made(&PLAIN.replace("0.6", ratio));
    assert!(only("0").iter().all(|r| r.op == Op::Read));
    assert!(only("1").iter().all(|r| r.op == Op::Write));
    // Streams of pooled sizes go on inside the page they ended in: these hits remain.
    let none = likeness(&made(&format!("{PLAIN}update_share = 0\n")));
    let all = likeness(&made(&format!("{PLAIN}update_share = 1\n")));
    assert!(none.update_share.unwrap() < 0.35, "{none:?}");
    assert!(all.update_share.unwrap() > 0.85, "{all:?}");
    let large = likeness(&made(&format!("{PLAIN}lw_share = 1\n")));
    let small = likeness(&made(&format!("{PLAIN}lw_share = 0\n")));
    assert!(
        large.large_share > small.large_share.map(|share| share + 0.3),
        "{large:?} {small:?}"
    );
    let one = made(
        &PLAIN
            .replace("requests = 20000", "requests = 1")
            .replace("100", "0"),
    );
    assert_eq!((one.len(), one[0].arrival), (1, Nanos::ZERO));
}

/// Streams that only go on, written by hand: one run bin, one rank.
#[test]
fn a_file_in_which_everything_goes_on_works() {
    let text = "mode = \"full\"\nrequests = 1000\nspan_s = 1\nspace_sectors = 4194304\n\
        [trans]\n4 = { 4 = 1 }\n[size]\n4-0 = { 8 = 1 }\n4-2 = { 8 = 1 }\n\
        [pcont]\n4-0 = { 1 = 1 }\n4-1 = { 1 = 1 }\n[cstate]\n4 = { 0 = 1 }\n[source]\n4 = { 0 = 1 }\n\
        [stream]\n1-0-0 = { 0 = 1, 13 = 1 }\n1-0-1 = { 13 = 1, 26 = 1 }\n\
        1-0-2 = { 26 = 1, 39 = 1 }\n1-0-3 = { 39 = 1, 52 = 1 }\n1-0-4 = { 52 = 1, 65 = 1 }\n\
        1-0-5 = { 65 = 1, 78 = 1 }\n1-0-6 = { 78 = 1 }\n";
    let requests = made(text);
    let goes_on = |w: &&[HostRequest]| w[1].start_sector == w[0].start_sector + 8;
    assert_eq!(requests.windows(2).filter(goes_on).count(), 999);
}

#[test]
fn a_twin_of_a_twin_has_its_curve() {
    let text = PLAIN.replace("requests = 20000", "requests = 100000");
    let requests = made(&text);
    let mut fit = TwinFit::new(requests.last().unwrap().arrival);
    for r in &requests {
        fit.add(r);
    }
    let fitted = fit.finish().unwrap();
    let (parameters, accuracy) = fitted.calibrate(|_, _| Ok::<(), Infallible>(())).unwrap();
    let again = Twin {
        name: "again".to_owned(),
        parameters,
    };
    let again = likeness(again.generate().requests.records());
    let (first, again) = (
        likeness(&requests).write_curve.unwrap(),
        again.write_curve.unwrap(),
    );
    let error = curve_error(first, again);
    assert!(error <= 3.0, "{error} {first:?} {again:?}");
    assert!(
        (accuracy.error().unwrap() - error).abs() < 1e-9,
        "what calibration says of it"
    );
}

#[test]
fn faults_are_named() {
    let faults = r#"
        write_ratio = 0.6  | write_ratio = 1.5               | write_ratio: `1.5` is out of range
        write_ratio = 0.6  | -                               | write_ratio: missing; allowed: 0 to 1
        requests = 20000   | requests = -1                   | requests: `-1` is out of range
        requests = 20000   | requests = 99999999999999       | requests: `99999999999999` is out
        mean_write_kib = 9 | mean_write_kib = inf            | mean_write_kib: `inf` is out of range
        mean_write_kib = 9 | mean_write_kib = 90000          | mean_write_kib: `90000`; allowed:
        span_s = 100       | span_s = -1                     | span_s: `-1` is out of range
        span_s = 100       | span_s = 100; anchor = [128]    | anchor: `[128]`; allowed: [MiB from 1
        span_s = 100       | span_s = 100; lw_share = nan    | lw_share: `nan` is out of range
        span_s = 100       | span_s = 100; space_sectors = 8 | space_sectors: `8` is out of range
        span_s = 100       | span_s = 100; updates = 1       | updates: no such key; allowed: mode,
        span_s = 100       | span_s = 100; mode = "half"     | mode: `"half"`; allowed:
    "#;
    for row in faults.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let to = cells[1].trim_start_matches('-').replace("; ", "\n");
        let file = TwinFile::parse(&PLAIN.replacen(cells[0], &to, 1));
        let error = file
            .and_then(|file| file.parameters(None, None))
            .unwrap_err();
        assert!(error.starts_with(cells[2]), "{error}");
    }
}

fn papers() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/twins");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let toml = files.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    toml.map(read).collect()
}

#[test]
fn every_value_of_the_papers_says_where_it_is_from() {
    let files = papers();
    assert_eq!(files.len(), 21);
    for (name, text) in files {
        for line in text
            .lines()
            .filter(|l| !l.starts_with('#') && !l.starts_with("mode = "))
        {
            let from = line.split_once("# ").map_or("", |(_, from)| from);
            let marks = ["published: ", "derived: ", "assumed: "];
            assert!(
                marks.iter().any(|mark| from.starts_with(mark)),
                "{name}: {line}"
            );
        }
        assert!(TwinFile::parse(&text).is_ok(), "{name}");
    }
}

#[test]
fn a_set_of_the_papers_has_its_updates_and_large_writes() {
    let (_, text) = papers()
        .into_iter()
        .find(|(name, _)| name == "RAD-AS")
        .unwrap();
    let made = twin(&text, Some(100_000)).generate();
    let got = likeness(made.requests.records());
    let (updates, large) = (got.update_share.unwrap(), got.large_share.unwrap());
    assert!((updates - 0.70).abs() <= 0.13, "{updates}");
    assert!((large - 0.646).abs() <= 0.15, "{large}");
}
