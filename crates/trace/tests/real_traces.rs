//! Real traces, where the environment variable `DESTAGE_TRACES` names their folder.

use std::path::PathBuf;

use destage_trace::{Container, LoadOptions, Source, Trace, load};
use destage_types::Op;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("DESTAGE_TRACES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: set DESTAGE_TRACES to the folder of the real traces");
    }
    folder
}

fn read(folder: &std::path::Path, file: &str) -> Option<Trace> {
    let path = folder.join(file);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    Some(load(Source::from_arg(path), &LoadOptions::default()).unwrap())
}

/// Requests, writes in permille of a percent, mean bytes, and span as the folder's list has them.
#[test]
fn msr_files_hold_what_their_list_says() {
    let Some(folder) = folder() else { return };
    let files = [
        ("msr-prxy_0-first20k.csv.zst", 20_000, 98.3, 2.57, 939.0),
        (
            "cloudphysics-114k.msr.csv.zst",
            113_872,
            58.7,
            36.07,
            7_200.0,
        ),
        (
            "desktop-mayun2-87k.msr.csv.zst",
            87_160,
            57.9,
            19.71,
            11_736.0,
        ),
        (
            "hadoop-eternity10-137k.msr.csv.zst",
            137_309,
            1.4,
            289.5,
            169.0,
        ),
    ];
    for (file, requests, write_percent, mean_kb, span_s) in files {
        let Some(trace) = read(&folder, file) else {
            continue;
        };
        let records = trace.requests.records();
        assert_eq!(
            (trace.meta.requests, records.len() as u64),
            (requests, requests),
            "{file}"
        );
        assert_eq!(
            (trace.meta.format, trace.meta.container),
            ("msr", Container::Zstd)
        );
        let writes = records.iter().filter(|r| r.op == Op::Write).count();
        let share = writes as f64 * 100.0 / requests as f64;
        assert!(
            (share - write_percent).abs() < 0.051,
            "{file}: {share} % writes"
        );
        let bytes: u64 = trace.requests.iter().map(|r| r.bytes()).sum();
        let mean = bytes as f64 / requests as f64 / 1024.0;
        assert!((mean / mean_kb - 1.0).abs() < 0.003, "{file}: {mean} KiB");
        let span = records[records.len() - 1].arrival.0 as f64 / 1e9;
        assert!((span / span_s - 1.0).abs() < 0.004, "{file}: {span} s");
        assert_eq!(trace.meta.unaligned_requests, 0, "{file}");
        assert_eq!(trace.meta.arrival_corrections, 0, "{file}");
        assert!(records.iter().all(|r| r.stream == 0), "{file}");
    }
}

#[test]
fn other_samples_are_not_taken_for_a_format_they_are_not() {
    let Some(folder) = folder() else { return };
    let Ok(samples) = std::fs::read_dir(folder.join("samples")) else {
        return eprintln!("SKIPPED: no folder of samples");
    };
    for sample in samples {
        let path = sample.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let result = load(Source::from_arg(&path), &LoadOptions::default());
        match result {
            Ok(trace) if name.starts_with("msr-hm_0") => {
                assert_eq!((trace.meta.format, trace.meta.requests), ("msr", 1_000));
            }
            Ok(trace) => {
                let native = ["msr", "block-list", "destage"];
                assert!(
                    !native.contains(&trace.meta.format),
                    "{name}: {}",
                    trace.meta.format
                );
            }
            Err(error) => assert!(!name.starts_with("msr-hm_0"), "{error}"),
        }
    }
}
