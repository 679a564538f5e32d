//! `destage trace fit`, `trace synth --like` and `trace compare`.

use crate::common::Bench;

/// Pages that are written again and again, beside a stream and reads.
fn trace(bench: &Bench) {
    bench.shown(
        "trace synth --requests 20000 --part weight=3,at='zipf(0.9)',space=64MiB,writes=0.8 \
         --part weight=1,at=sequential,start=1GiB,space=4GiB,size=32KiB -o t.csv",
    );
}

#[test]
fn a_twin_is_fitted_generated_and_compared() {
    let bench = Bench::new();
    trace(&bench);
    let said = bench.destage("trace fit t.csv -o t.toml").ok().stderr;
    assert!(
        said.contains("t: write hit ratios of LRU buffers of 1 to 64 MiB are off by"),
        "{said}"
    );
    bench.shown("trace synth --like t.toml -o twin.csv");
    let twin = bench.read("twin.csv");
    assert!(twin.contains("\n# a twin: a generated likeness, not the trace\n"));
    assert_eq!(
        twin,
        bench.shown("trace synth --like t.toml"),
        "the same bytes"
    );
    assert_ne!(twin, bench.shown("trace synth --like t.toml --seed 2"));
    // `fit` and `compare` agree.
    let compared = bench.json("trace compare t.csv twin.csv --json");
    let error = compared["write_curve_error_points"].as_f64().unwrap();
    assert!(
        said.contains(&format!("off by {error:.1} points")),
        "{error} {said}"
    );
    assert!(error <= 3.0, "{error}");
    let same = bench.json("trace compare t.csv t.csv --json");
    assert_eq!(same["write_curve_error_points"], 0.0);
    assert_eq!(same["a"]["update_share"], same["b"]["update_share"]);
    let table = bench.shown("trace compare t.csv twin.csv");
    for part in [
        "write buffer of 64 MiB",
        "large sequential writes",
        "CV of gaps",
        "mean absolute error of hits: ",
    ] {
        assert!(table.contains(part), "{part} {table}");
    }
}

#[test]
fn a_twin_goes_into_every_format_and_keeps_its_rate() {
    let bench = Bench::new();
    trace(&bench);
    bench.shown("trace fit t.csv --plain -o t.toml");
    let own = "trace synth --like t.toml --requests 5000 -o o.csv";
    bench.shown(own);
    let own = bench.json("trace info o.csv --json");
    assert_eq!(own["requests"], 5_000);
    let whole = bench.json("trace info t.csv --json");
    let gap = |info: &serde_json::Value| info["mean_gap_ns"].as_f64().unwrap();
    assert!((gap(&own) / gap(&whole) - 1.0).abs() < 0.1);
    for (to, file) in [
        ("destage-bin", "o.bin"),
        ("msr", "m.csv"),
        ("fio", "o.log"),
        ("ssdsim", "o.txt"),
    ] {
        bench.shown(format!(
            "trace synth --like t.toml --requests 5000 --to {to} -o {file}"
        ));
        let other = bench.json(format!("trace info {file} --json"));
        assert_eq!(other["write_bytes"], own["write_bytes"], "{to}");
        assert_eq!(other["footprint_pages"], own["footprint_pages"], "{to}");
    }
    assert!(
        bench
            .read("m.csv")
            .lines()
            .next()
            .unwrap()
            .contains(",twin,0,")
    );
}

#[test]
fn what_is_no_parameter_file_is_refused() {
    let bench = Bench::new();
    trace(&bench);
    bench.file(
        "bad.toml",
        "requests = 10\nspan_s = 1\nwrite_ratio = 2\nmean_write_kib = 8\n",
    );
    bench.file(
        "f.csv",
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n0,F,0,0,,,0\n",
    );
    bench.refuses(
        "
        trace synth --like t.csv | --like t.csv: is no parameter file of a twin (
          | `destage trace fit t.csv -o FILE`
        trace synth --like bad.toml
          | --like bad.toml:3: write_ratio: `2` is out of range or no number; allowed: 0 to 1
        trace fit f.csv | f: a twin needs at least one read or write
        trace fit t.csv --volumes split | --volumes split is several traces
        trace synth --like no.toml | --like no.toml: cannot read it
        trace fit t.csv -o t.csv | t.csv
        ",
    );
}

/// A request may be a GiB long: memory is looked at by pages, not by requests.
#[test]
fn a_twin_takes_no_more_memory_than_allowed() {
    let bench = Bench::new();
    bench.file(
        "large.toml",
        "mode = \"full\"\nrequests = 1000000\nspan_s = 1\nspace_sectors = 549755813888\n\
         [trans]\n4 = { 4 = 1 }\n[source]\n4 = { 0 = 1 }\n[size]\n4-0 = { 184 = 1 }\n",
    );
    let done = bench.destage("trace synth --like large.toml --memory 200MiB -o l.csv");
    done.fails(
        1,
        &["twin of large takes", "more than the 200MiB of --memory"],
    );
    assert!(!bench.names(".").contains(&"l.csv".to_owned()));
}

/// Requests are kept in a temporary file from a quarter of the memory on.
#[test]
fn a_twin_that_is_kept_in_a_file_is_the_same() {
    let bench = Bench::new();
    bench.file(
        "small.toml",
        "mode = \"full\"\nrequests = 300000\nspan_s = 1\nspace_sectors = 80000\n\
         [trans]\n4 = { 4 = 1 }\n[source]\n4 = { 0 = 1 }\n[size]\n4-0 = { 8 = 1 }\n",
    );
    bench.shown("trace synth --like small.toml --memory 1GiB -o memory.csv");
    let little = "trace synth --like small.toml --memory 32MiB -o file.csv";
    let mut nowhere = bench.command(little);
    let done = nowhere.env("TMPDIR", bench.path("nowhere")).output();
    assert!(!done.unwrap().status.success(), "it needs no file");
    bench.shown(little);
    assert_eq!(bench.read("file.csv"), bench.read("memory.csv"));
}
