//! Captures of real file systems through the whole program; they are looked for in the folder
//! `fs` of `DESTAGE_TRACES`. The figures were measured independently of this program.

mod common;

use common::{Bench, Done};
use std::path::PathBuf;

fn capture(name: &str) -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("DESTAGE_TRACES") else {
        eprintln!("SKIPPED: DESTAGE_TRACES is not set");
        return None;
    };
    let path = PathBuf::from(dir).join("fs").join(name);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    Some(path)
}

const SCHEMES: [&str; 4] = ["lru", "cac(lru)", "arc", "cac(arc)"];

/// Runs the four schemes of the paper over the data blocks of a capture.
fn run(name: &str) -> Option<Done> {
    let path = capture(name)?;
    let mut args = vec!["run", path.to_str().unwrap(), "--tags", "data"];
    args.extend([
        "--device",
        "cac-128g",
        "--cache",
        "16MiB",
        "--format-out",
        "jsonl",
    ]);
    args.extend(SCHEMES.iter().flat_map(|scheme| ["--scheme", scheme]));
    Some(Bench::new().destage(&args).ok())
}

/// Write-hit ratios in percent with one digit, as the lab measured them.
fn write_hits(done: &Done) -> Vec<String> {
    let ratio = |r: &serde_json::Value| r["ratios"]["write_page_hit_ratio"].as_f64().unwrap();
    let records = done.records();
    records
        .iter()
        .map(|r| format!("{:.1}", 100.0 * ratio(r)))
        .collect()
}

#[test]
fn cac_gives_a_log_structured_file_system_the_hits_of_one_in_place() {
    let Some(f2fs) = run("f2fs-prxy-lfs-fdatasync.csv.zst") else {
        return;
    };
    assert_eq!(write_hits(&f2fs), ["0.0", "93.4", "0.0", "93.4"]);
    assert!(!f2fs.stderr.contains("old address"), "{}", f2fs.stderr);
    let ext4 = run("ext4-prxy-fdatasync.csv.zst").expect("the captures stand together");
    assert_eq!(write_hits(&ext4), ["93.4"; 4]);
}

#[test]
fn captures_without_pairs_elsewhere_are_warned_of() {
    let Some(ext4) = run("ext4-prxy-fdatasync.csv.zst") else {
        return;
    };
    for part in [
        "no write names an old address",
        "import-ftrace",
        "--host-fs lfs",
    ] {
        assert!(ext4.stderr.contains(part), "{}", ext4.stderr);
    }
    let default = run("f2fs-prxy-default-fdatasync.csv.zst").expect("the captures stand together");
    assert_eq!(write_hits(&default), ["93.4"; 4]);
    for part in ["the file system updates in place", "mode=lfs"] {
        assert!(default.stderr.contains(part), "{}", default.stderr);
    }
}

#[test]
fn a_trace_without_pairs_is_warned_of_under_cac_only() {
    let bench = Bench::new();
    let trace = bench.file("t.csv", common::csv("W1 W2 W1"));
    let trace = trace.to_str().unwrap();
    let said = bench
        .destage(&["run", trace, "--scheme", "cac(arc)"])
        .ok()
        .stderr;
    assert!(
        said.contains("no write names an old address, so cac(arc) remaps nothing"),
        "{said}"
    );
    let said = bench
        .destage(&["run", trace, "--scheme", "arc"])
        .ok()
        .stderr;
    assert!(!said.contains("old address"), "{said}");
    let wrong = bench.destage(&["run", trace, "--tags", "date"]);
    wrong.fails(2, &["`date` is no kind of request"]);
}

#[test]
fn an_imported_capture_gives_the_figures_of_the_converted_one() {
    let Some(raw) = capture("raw/f2fs-prxy-lfs-fdatasync.ftrace.zst") else {
        return;
    };
    let bench = Bench::new();
    let raw = raw.to_str().unwrap();
    let import = bench.destage(&["trace", "import-ftrace", raw, "--strict", "-o", "f2fs.csv"]);
    let said = import.ok().stderr;
    for part in [
        "data         24312 blocks: 24312 moved",
        "check data   22697 agree, 0 contradict",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let mut args = vec![
        "run", "f2fs.csv", "--tags", "data", "--cache", "16MiB", "--device", "cac-128g",
    ];
    args.extend(["--format-out", "jsonl"]);
    args.extend(SCHEMES.iter().flat_map(|scheme| ["--scheme", scheme]));
    let ours = bench.destage(&args).ok();
    let theirs = run("f2fs-prxy-lfs-fdatasync.csv.zst").expect("the captures stand together");
    for (ours, theirs) in ours.records().iter().zip(theirs.records()) {
        for part in ["counts", "ratios", "latency_ns"] {
            assert_eq!(ours[part], theirs[part], "{part}");
        }
    }
}

/// The trace behind the captures through a modelled file system.
fn modelled(fs: &str, extra: &[&str]) -> Option<Done> {
    let dir = capture("ext4-prxy-fdatasync.csv.zst")?;
    let trace = dir.parent()?.parent()?.join("msr-prxy_0-first20k.csv.zst");
    let mut args = vec!["run", trace.to_str().unwrap(), "--host-fs", fs];
    args.extend(["--cache", "16MiB", "--format-out", "jsonl"]);
    args.extend(SCHEMES.iter().flat_map(|scheme| ["--scheme", scheme]));
    args.extend(extra);
    Some(Bench::new().destage(&args).ok())
}

#[test]
fn a_modelled_file_system_shows_what_the_captures_show() {
    let Some(lfs) = modelled("lfs(volume=2GiB)", &[]) else {
        return;
    };
    assert_eq!(write_hits(&lfs), ["0.0", "93.4", "0.0", "93.4"]);
    let record = &lfs.records()[0];
    assert_eq!(
        record["trace"]["name"],
        "msr-prxy_0-first20k+lfs(volume=2GiB)"
    );
    let config = record["config"].as_array().unwrap();
    let fs = config.iter().find(|s| s["key"] == "host_fs").unwrap();
    assert_eq!(fs["value"], "lfs(blocks=524288)");
    let data = ["--tags", "data", "--device", "cac-128g"];
    let f2fs = modelled("f2fs", &data).expect("seen above");
    assert_eq!(write_hits(&f2fs), ["0.0", "93.4", "0.0", "93.4"]);
    let default = modelled("f2fs(ipu-policy=force)", &data).expect("seen above");
    assert_eq!(write_hits(&default), ["93.4"; 4]);
    assert_eq!(
        write_hits(&modelled("inplace", &[]).expect("seen above")),
        ["93.4"; 4]
    );
}

#[test]
fn cleaning_is_counted_apart() {
    let Some(done) = modelled("lfs(volume=20MiB)", &["--device", "cac-128g"]) else {
        return;
    };
    let count = |r: &serde_json::Value, key: &str| r["counts"][key].as_u64().unwrap();
    for r in done.records() {
        assert_eq!(
            count(&r, "requests"),
            20_000,
            "cleaning is no request of the host"
        );
        let [all, reads, writes, units] = [
            "lfs_clean_requests",
            "lfs_clean_read_blocks",
            "lfs_clean_write_blocks",
            "lfs_segments_cleaned",
        ]
        .map(|key| count(&r, key));
        assert!(units > 0 && all == 2 * units && reads == writes && reads > 0);
        assert_eq!(r["counts"]["lfs_inplace_writes"], 0);
    }
    assert!(done.stderr.is_empty() || !done.stderr.contains("may still be cached"));
    let plain = modelled("inplace", &[]).expect("seen above");
    assert!(
        plain.records()[0]["counts"]
            .get("lfs_clean_requests")
            .is_none()
    );
    let small = modelled("lfs", &[]).expect("seen above");
    assert!(
        small
            .stderr
            .contains("may still be cached; say volume=SIZE"),
        "{}",
        small.stderr
    );
}
