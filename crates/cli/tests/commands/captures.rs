//! Captures of real file systems through the whole program; they are looked for in the folder
//! `fs` of `DESTAGE_TRACES`. The figures were measured independently of this program.

use crate::common::{Bench, Done, counted, csv, options, setting, trace};
use serde_json::Value;
use std::path::PathBuf;

fn capture(name: &str) -> Option<PathBuf> {
    trace(&format!("fs/{name}"))
}

/// Options of the four schemes of the paper over the data blocks of a capture.
fn paper() -> String {
    let schemes = options(&["lru", "cac(lru)", "arc", "cac(arc)"]);
    format!("--tags data --device cac-128g --cache 16MiB --format-out jsonl {schemes}")
}

fn run(name: &str) -> Option<Done> {
    let path = capture(name)?;
    let line = format!("run '{}' {}", path.display(), paper());
    Some(Bench::new().destage(line).ok())
}

/// Write-hit ratios in percent with one digit, as the lab measured them.
fn write_hits(done: &Done) -> Vec<String> {
    let ratio = |r: &Value| r["ratios"]["write_page_hit_ratio"].as_f64().unwrap();
    let records = done.records();
    let percent = |r| format!("{:.1}", 100.0 * ratio(r));
    records.iter().map(percent).collect()
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
        ext4.says(part);
    }
    let default = run("f2fs-prxy-default-fdatasync.csv.zst").expect("the captures stand together");
    assert_eq!(write_hits(&default), ["93.4"; 4]);
    for part in ["the file system updates in place", "mode=lfs"] {
        default.says(part);
    }
}

#[test]
fn a_trace_without_pairs_is_warned_of_under_cac_only() {
    let bench = Bench::with(csv("W1 W2 W1"));
    let under = |scheme: &str| bench.destage(format!("run t.csv --scheme {scheme}")).ok();
    under("cac(arc)").says("no write names an old address, so cac(arc) remaps nothing");
    assert!(!under("arc").stderr.contains("old address"));
}

#[test]
fn an_imported_capture_gives_the_figures_of_the_converted_one() {
    let Some(raw) = capture("raw/f2fs-prxy-lfs-fdatasync.ftrace.zst") else {
        return;
    };
    let bench = Bench::new();
    let import = format!(
        "trace import-ftrace '{}' --strict -o f2fs.csv",
        raw.display()
    );
    let import = bench.destage(import).ok();
    import.says("data         24312 blocks: 24312 moved");
    import.says("check data   22697 agree, 0 contradict");
    let ours = bench.destage(format!("run f2fs.csv {}", paper())).ok();
    let theirs = run("f2fs-prxy-lfs-fdatasync.csv.zst").expect("the captures stand together");
    for (ours, theirs) in ours.records().iter().zip(theirs.records()) {
        for part in ["counts", "ratios", "latency_ns"] {
            assert_eq!(ours[part], theirs[part], "{part}");
        }
    }
}

/// The trace behind the captures through a modelled file system.
fn modelled(fs: &str, extra: &str) -> Option<Done> {
    let dir = capture("ext4-prxy-fdatasync.csv.zst")?;
    let trace = dir.parent()?.parent()?.join("msr-prxy_0-first20k.csv.zst");
    let schemes = options(&["lru", "cac(lru)", "arc", "cac(arc)"]);
    let run = format!("run '{}' --host-fs {fs} --cache 16MiB", trace.display());
    let line = format!("{run} --format-out jsonl {schemes} {extra}");
    Some(Bench::new().destage(line).ok())
}

#[test]
fn a_modelled_file_system_shows_what_the_captures_show() {
    let Some(lfs) = modelled("lfs(volume=2GiB)", "") else {
        return;
    };
    assert_eq!(write_hits(&lfs), ["0.0", "93.4", "0.0", "93.4"]);
    let record = &lfs.records()[0];
    assert_eq!(
        record["trace"]["name"],
        "msr-prxy_0-first20k+lfs(volume=2GiB)"
    );
    assert_eq!(setting(record, "host_fs").0, "lfs(blocks=524288)");
    let data = "--tags data --device cac-128g";
    let f2fs = modelled("f2fs", data).expect("seen above");
    assert_eq!(write_hits(&f2fs), ["0.0", "93.4", "0.0", "93.4"]);
    let default = modelled("f2fs(ipu-policy=force)", data).expect("seen above");
    assert_eq!(write_hits(&default), ["93.4"; 4]);
    let in_place = modelled("inplace", "").expect("seen above");
    assert_eq!(write_hits(&in_place), ["93.4"; 4]);
}

#[test]
fn cleaning_is_counted_apart() {
    let Some(done) = modelled("lfs(volume=20MiB)", "--device cac-128g") else {
        return;
    };
    for r in done.records() {
        assert_eq!(
            counted(&r, "requests"),
            20_000,
            "cleaning is no request of the host"
        );
        let [all, reads, writes, units] = [
            "lfs_clean_requests",
            "lfs_clean_read_blocks",
            "lfs_clean_write_blocks",
            "lfs_segments_cleaned",
        ]
        .map(|key| counted(&r, key));
        assert!(units > 0 && all == 2 * units && reads == writes && reads > 0);
        assert_eq!(r["counts"]["lfs_inplace_writes"], 0);
    }
    assert!(done.stderr.is_empty() || !done.stderr.contains("may still be cached"));
    let plain = modelled("inplace", "").expect("seen above");
    let counts = &plain.records()[0]["counts"];
    assert!(counts.get("lfs_clean_requests").is_none());
    let small = modelled("lfs", "").expect("seen above");
    small.says("may still be cached; set volume=SIZE");
}
