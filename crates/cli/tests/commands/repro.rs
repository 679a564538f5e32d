//! `destage repro`: ledgers of what papers say and what comes out.

use super::browser::assert_shown;
use super::common::{Bench, trace};
use super::report::assert_self_contained;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;

/// A folder of traces: a load of hot pages beside streams, and one that has no writes to speak of.
fn bench() -> Bench {
    let bench = Bench::new();
    let made = "trace synth hot-cold --requests 20000 -o traces/hot.csv";
    fs::create_dir(bench.dir.path().join("traces")).unwrap();
    bench.destage(made).ok();
    bench
        .destage("trace synth common --requests 2000 --writes 0 -o traces/reads.csv")
        .ok();
    fs::write(bench.dir.path().join("traces/README.md"), "no trace\n").unwrap();
    bench
}

fn ledger(bench: &Bench, out: &str) -> Vec<Value> {
    let text = fs::read_to_string(bench.dir.path().join(format!("{out}/claims.json"))).unwrap();
    match serde_json::from_str(&text).unwrap() {
        Value::Array(papers) => papers,
        other => panic!("{other}"),
    }
}

fn claim<'a>(paper: &'a Value, id: &str, what: &str) -> &'a Value {
    let claims = paper["claims"].as_array().unwrap();
    let found = claims.iter().find(|claim| {
        claim["id"] == id && claim["what"].as_str().is_some_and(|w| w.contains(what))
    });
    found.unwrap_or_else(|| panic!("no claim {id}: {what}"))
}

/// The command, with no folder of traces in the environment.
fn without_folder(bench: &Bench, line: &str) -> String {
    let mut command = bench.command(line);
    let output = command.env_remove("DESTAGE_TRACES").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn without_traces_what_needs_them_is_open() {
    let bench = bench();
    let said = without_folder(&bench, "repro req-block --out r");
    assert!(
        said.contains("claims that need real traces stay open"),
        "{said}"
    );
    let papers = ledger(&bench, "r");
    for claim in papers[0]["claims"].as_array().unwrap() {
        assert_eq!(claim["verdict"], "open", "{claim}");
        assert!(claim["needs"].is_string(), "{claim}");
    }
}

#[test]
fn a_cut_shows_a_direction_with_the_cache_scaled() {
    let bench = bench();
    let line = "repro req-block rb-fig9 --traces traces --out r";
    let done = bench.destage(line).ok();
    done.shows("rb-fig9");
    let papers = ledger(&bench, "r");
    let row = claim(&papers[0], "rb-fig9", "against LRU");
    assert_eq!(
        (&row["verdict"], &row["evidence"]),
        (&"direction".into(), &"cut".into())
    );
    let points = row["readings"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 3, "three sizes on one trace");
    let records = fs::read_to_string(bench.dir.path().join("r/req-block/results.jsonl")).unwrap();
    let records: Vec<Value> = records
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let hits = |scheme: &str, cache: u64| {
        let found = records.iter().find(|r| {
            r["scheme"] == scheme
                && r["cache_bytes"] == cache
                && r["reading"]["read_alloc"] == false
        });
        found.unwrap()["ratios"]["page_hit_ratio"].as_f64().unwrap()
    };
    for (point, paper) in points.iter().zip([16u64, 32, 64]) {
        let factor = point["factor"].as_f64().unwrap();
        // Pages that the trace writes over the median of the paper, 2391.5 MiB; whole units of 8 KiB.
        let cache = ((paper << 20) as f64 * factor) as u64 / 8192 * 8192;
        let (of, against) = (hits("req-block", cache), hits("lru", cache));
        let here = point["here"].as_f64().unwrap();
        assert!((here - 100.0 * (of - against) / against).abs() < 1e-9);
        assert_eq!(point["holds"], here > 0.0);
    }
    let left_out = papers[0]["left_out"].to_string();
    assert!(
        left_out.contains("reads: 0 writes among 2000 requests"),
        "{left_out}"
    );
    // Only what was asked for.
    assert!(
        papers[0]["claims"]
            .as_array()
            .unwrap()
            .iter()
            .all(|c| c["id"] == "rb-fig9")
    );
    let page = bench.read("r/papers/req-block.md");
    let rows = page.lines().filter(|line| line.starts_with("| rb-fig9"));
    assert_eq!(rows.count(), 3, "{page}");
    // The overview counts them, and leads to the page.
    let overview = bench.read("r/PAPERS.md");
    for line in [
        "| [req-block](papers/req-block.md) | 3 | 0 | 0 | 0 | 0 | 3 | 0 |",
        "| all | 3 | 0 | 0 | 0 | 0 | 3 | 0 |",
    ] {
        assert!(overview.lines().any(|l| l == line), "{overview}");
    }
    let page = fs::read_to_string(bench.dir.path().join("r/report.html")).unwrap();
    assert_self_contained(&page);
    let titles = ["rb-fig9: page hit ratio", "rb-fig9: published and here"];
    assert_shown(&bench, "r/report.html", &titles);
    assert!(bench.dir.path().join("r/req-block/rb-fig9.svg").is_file());
    // Again: nothing is repeated and nothing changes.
    let before = fs::read_to_string(bench.dir.path().join("r/claims.json")).unwrap();
    let lines = records.len();
    bench.destage(line).ok();
    assert_eq!(
        fs::read_to_string(bench.dir.path().join("r/claims.json")).unwrap(),
        before
    );
    let again = fs::read_to_string(bench.dir.path().join("r/req-block/results.jsonl")).unwrap();
    assert_eq!(again.lines().count(), lines);
}

#[test]
fn a_trace_of_the_paper_decides_at_full_scale_only() {
    let bench = bench();
    fs::rename(
        bench.dir.path().join("traces/hot.csv"),
        bench.dir.path().join("traces/TS_0.csv"),
    )
    .unwrap();
    let verdict = |scale: &str| {
        let line =
            format!("repro req-block rb-fig11 --traces traces --out {scale} --scale {scale}");
        bench.destage(&line).ok();
        let papers = ledger(&bench, scale);
        let row = claim(&papers[0], "rb-fig11", "against LRU").clone();
        (row["evidence"].clone(), row["verdict"].clone())
    };
    assert_eq!(verdict("small"), ("cut".into(), "direction".into()));
    let (evidence, verdict) = verdict("full");
    assert_eq!(evidence, "original");
    let decided = ["holds", "holds-in-part", "does-not-hold"].map(Value::from);
    assert!(decided.contains(&verdict), "{verdict}");
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let bench = bench();
    bench.refuses(
        "
        repro arc --out r | no paper `arc` | prober, procache, ecr, req-block, cac
        repro ecr rb-fig9 --out r | no figure `rb-fig9` of ecr | ecr-fig6
        repro req-block --traces nowhere --out r | --traces nowhere
        ",
    );
    assert!(!bench.dir.path().join("r/PAPERS.md").exists());
}

/// The captures hold more than data; the write hits of the data were measured independently of this program
/// (93.4 % where the cache holds all).
#[test]
fn an_experiment_reads_traces_as_its_options_say() {
    let Some(capture) = trace("fs/ext4-prxy-fdatasync.csv.zst") else {
        return;
    };
    let bench = Bench::new();
    // The captures alone: no other trace is asked for here.
    fs::create_dir(bench.dir.path().join("traces")).unwrap();
    symlink(
        capture.parent().unwrap(),
        bench.dir.path().join("traces/fs"),
    )
    .unwrap();
    for line in ["cac-fig3b --out a", "cac-fig7 --out b"] {
        bench
            .destage(format!("repro cac {line} --traces traces"))
            .ok();
    }
    for (out, id, what, wanted) in [
        ("a", "cac-fig3b", "write hits on ext4, LRU", 93.34),
        ("a", "cac-fig3b", "write hits on F2FS, LRU", 0.0),
        ("b", "cac-fig7", "write hits on F2FS with CAC, LRU", 93.34),
        ("b", "cac-fig7", "write hits on F2FS with CAC, ARC", 93.34),
    ] {
        let papers = ledger(&bench, out);
        let here = claim(&papers[0], id, what)["readings"][0]["mean"].as_f64();
        assert!((here.unwrap() - wanted).abs() < 0.01, "{what}: {here:?}");
    }
}

/// Twins alone: each claim that runs can measure stays open, and says what is missing.
#[test]
fn what_only_twins_show_stays_open() {
    let bench = bench();
    let said = without_folder(&bench, "repro req-block rb-fig9 --twins --out r");
    assert!(said.contains("need real traces"), "{said}");
    let papers = ledger(&bench, "r");
    let row = claim(&papers[0], "rb-fig9", "against LRU");
    assert_eq!(
        (&row["verdict"], &row["evidence"]),
        (&"open".into(), &Value::Null)
    );
    assert!(row["needs"].as_str().unwrap().contains("--traces"), "{row}");
    assert_eq!(row["readings"], Value::Array(Vec::new()));
    let twins = papers[0]["twins"].as_array().unwrap();
    let twin = twins
        .iter()
        .find(|twin| twin["what"] == row["what"])
        .unwrap();
    assert_eq!(
        (&twin["verdict"], &twin["evidence"]),
        (&"open".into(), &"twin".into())
    );
    assert_eq!(
        (&twin["paper"], &twin["value"]),
        (&"-".into(), &Value::Null)
    );
    let points = twin["readings"][0]["points"].as_array().unwrap();
    assert!(!points.is_empty());
    for point in points {
        assert!(
            point["load"].as_str().unwrap().starts_with("twin of "),
            "{point}"
        );
    }
    let text = bench.read("r/papers/req-block.md");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| rb-fig9"))
        .collect();
    let marked = rows.iter().filter(|line| line.contains("| twin: "));
    assert_eq!((rows.len(), marked.count()), (6, 3), "{text}");
    assert!(!bench.dir.path().join("r/req-block/rb-fig9.svg").exists());
}

/// The command takes `--memory` as `run` does: what does not fit is refused with what it takes.
#[test]
fn memory_is_that_of_the_command() {
    let bench = bench();
    let line = "repro req-block rb-fig9 --traces traces --out";
    let refused = bench.destage(format!("{line} r --memory 1MiB"));
    refused.fails(
        1,
        &[
            "hot, ",
            "this run with its trace takes ",
            "of memory, more than the 1MiB of --memory",
        ],
    );
    bench
        .destage("repro ecr ecr-fig14 --memory 32MiB --out e")
        .fails(
            1,
            &["the load ecr-uniform-20 takes 62MiB of memory, more than the 32MiB of --memory"],
        );
    bench.refuses(&format!("{line} r --memory 4 | --memory | needs a unit"));
    // In little memory the same comes out.
    bench.destage(format!("{line} little --memory 32MiB")).ok();
    bench.destage(format!("{line} much --memory 1GiB")).ok();
    assert_eq!(ledger(&bench, "little"), ledger(&bench, "much"));
}

/// A line of `--live` for a run of Algorithm 2.
pub fn live_line(scheme: &str, run: u32, seconds: f64, programs: u64) -> String {
    format!(
        "{{\"experiment\":\"algorithm2\",\"file_system\":\"ext4\",\"run\":{run},\"part\":8,\"seconds\":{seconds},\
         \"record\":{{\"scheme\":\"{scheme}\",\"cache_pages\":9,\"counts\":{{\"flash_writes_host\":{programs}}}}}}}\n"
    )
}

#[test]
fn runs_on_a_real_file_system_are_rows_of_their_own() {
    let bench = Bench::new();
    let lines = [
        live_line("none", 1, 100.0, 1000),
        live_line("procache(lru)", 1, 90.0, 1000),
        live_line("none", 2, 100.0, 1000),
        live_line("procache(lru)", 2, 104.0, 900),
    ];
    let file = bench.dir.path().join("live.jsonl");
    fs::write(&file, lines.concat()).unwrap();
    without_folder(&bench, "repro procache pc-fig10 --live live.jsonl --out r");
    let papers = ledger(&bench, "r");
    let row = claim(&papers[0], "pc-fig10", "Algorithm 2 against no cache");
    assert_eq!(
        (&row["verdict"], &row["evidence"]),
        (&"direction".into(), &"live".into())
    );
    let points = row["readings"][0]["points"].as_array().unwrap();
    let here: Vec<f64> = points.iter().map(|p| p["here"].as_f64().unwrap()).collect();
    assert_eq!(here, [-10.0, 4.0]);
    assert_eq!(points[0]["factor"], 0.125);
    let text = bench.read("r/papers/procache.md");
    assert!(
        text.contains(
            "live: 2 loads, device, cache and load 1/8 of the paper's | direction holds in 1 of 2"
        ),
        "{text}"
    );
    // A claim whose data are missing stays open, and says what it needs.
    let row = claim(&papers[0], "pc-fig10", "Algorithm 2 against reference");
    assert_eq!(row["verdict"], "open");
    assert!(row["needs"].as_str().unwrap().contains("--live"), "{row}");
    fs::write(&file, lines[0].replace("\"run\":1", "\"run\":-1")).unwrap();
    bench.refuses(
        "
        repro procache pc-fig10 --live live.jsonl --out none | live.jsonl:1: | u32
        repro procache pc-fig10 --live nowhere --out none | --live nowhere
        ",
    );
    assert!(!bench.path("none").exists(), "it is refused first");
}
