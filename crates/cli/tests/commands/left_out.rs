//! A scheme, size or trace that cannot run is reported, and the rest runs.

use crate::common::{Bench, counted, csv, mixed, objects};
use serde_json::Value;

fn schemes(records: &[Value]) -> Vec<(String, u64)> {
    let of = |record: &Value| {
        let scheme = record["scheme"].as_str().unwrap().to_owned();
        (scheme, record["cache_pages"].as_u64().unwrap())
    };
    records.iter().map(of).collect()
}

fn pairs(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    all.iter()
        .map(|(scheme, pages)| ((*scheme).to_owned(), *pages))
        .collect()
}

/// LIRS needs three pages.
const TWO: &str = "--scheme lirs --scheme lru --cache 4KiB --cache 16KiB";

#[test]
fn a_scheme_that_cannot_run_at_one_size_leaves_the_others() {
    let bench = Bench::with(mixed(500));
    let all = pairs(&[("lirs", 4), ("lru", 1), ("lru", 4)]);
    let done = bench.destage(format!("run t.csv {TWO} --format-out jsonl"));
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert_eq!(schemes(&done.records()), all);
    let errors = done
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    let errors: Vec<&str> = errors.collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("error: lirs, 4KiB: "), "{errors:?}");
    assert!(
        errors[0].contains("capacity 1 below minimum 3"),
        "{errors:?}"
    );
    assert_eq!(
        errors[1],
        "error: not all runs completed, see the 1 error above; the results contain the others"
    );
    // The runs are those of a command that asks for them alone.
    let alone = bench.record("run t.csv --scheme lirs --cache 16KiB");
    assert_eq!(alone["counts"], done.records()[0]["counts"]);
    // Files of results and the report have the rows that ran.
    let done = bench.destage(format!(
        "run t.csv {TWO} --out o --format-out csv --report o.html"
    ));
    assert_eq!(done.code, 1, "{}", done.stderr);
    done.shows("lirs");
    assert_eq!(schemes(&objects(&bench.read("o/results.jsonl"))), all);
    assert_eq!(bench.read("o/results.csv").lines().count(), 1 + all.len());
    assert!(bench.read("o.html").contains("lirs"));
    // So it is when all that can run is done already.
    let again = bench.destage(format!("run t.csv {TWO} --out o"));
    assert_eq!(again.code, 1, "{}", again.stderr);
    again.says("3 of 3 runs are done already");
}

#[test]
fn where_nothing_can_run_nothing_is_written() {
    let bench = Bench::with(mixed(50));
    bench.refuses("run t.csv --scheme lirs --cache 4KiB --out o | lirs");
    assert!(!bench.path("o").exists());
    // A name that is none is refused at once: it may be a slip.
    bench.refuses("run t.csv --scheme lrux --scheme lru --cache 4KiB | lrux");
    // A log is of one run, and two were asked for.
    bench.refuses(&format!(
        "run t.csv {TWO} --log-evictions e.jsonl | --log-evictions | --out DIR"
    ));
}

/// A share of a footprint becomes a size once the trace is read.
#[test]
fn shares_that_do_not_suit_a_scheme_leave_the_others() {
    let bench = Bench::with(csv("W0 W1 W2 W3 W4 W5 W6 W7"));
    let run = "run t.csv --scheme lirs --scheme lru --cache 0.1 --cache 0.5";
    let done = bench.destage(format!("{run} --format-out jsonl"));
    assert_eq!(done.code, 1, "{}", done.stderr);
    done.says("error: t, lirs, 4KiB: --cache 0.1 of 8 pages: ");
    let all = pairs(&[("lirs", 4), ("lru", 1), ("lru", 4)]);
    assert_eq!(schemes(&done.records()), all);
    bench.refuses("run t.csv --scheme lirs --cache 0.1 | --cache 0.1 of 8 pages");
}

#[test]
fn a_run_file_runs_what_can_run() {
    let bench = Bench::with(mixed(100));
    bench.file(
        "r.toml",
        "trace = 't.csv'\n[[run]]\nscheme = 'lirs'\ncache = '4KiB'\n[[run]]\nscheme = 'lru'\ncache = '4KiB'\n",
    );
    let done = bench.destage("run --config r.toml --format-out jsonl");
    assert_eq!(done.code, 1, "{}", done.stderr);
    done.says("error: lirs, 4KiB: ");
    assert_eq!(schemes(&done.records()), pairs(&[("lru", 1)]));
}

/// The device is full for a scheme that writes all pages at once, not for one that absorbs them.
#[test]
fn a_run_that_fails_leaves_the_others() {
    let bench = Bench::with(csv(&"W0 W1 ".repeat(3000)));
    let device = "--device default --set channels=1 --set chips_per_channel=1 --set dies_per_chip=1 --set \
                  planes_per_die=1 --set blocks_per_plane=64 --set pages_per_block=64 --set gc_mode=off \
                  --set precondition={trace=false,fill=0,overwrite=0}";
    let run =
        format!("run t.csv {device} --scheme none --scheme lru --cache 64KiB --format-out jsonl");
    let done = bench.destage(run);
    assert_eq!(done.code, 1, "{}", done.stderr);
    done.says("error: t, none: request");
    done.says("device full");
    let records = done.records();
    assert_eq!(schemes(&records), pairs(&[("lru", 16)]));
    assert_eq!(counted(&records[0], "flash_writes_host"), 0);
}

/// The fault of one trace is none of the others; it is bad input all the same.
#[test]
fn a_trace_that_cannot_run_leaves_the_others() {
    let bench = Bench::with(mixed(100));
    bench.file("short.csv", csv("W0"));
    bench.file("bad.csv", mixed(100) + "no line\n");
    let done =
        bench.destage("run short.csv bad.csv t.csv --warmup 5 --cache 64KiB --format-out jsonl");
    assert_eq!(done.code, 2, "{}", done.stderr);
    done.says("error: short: a warm-up of 5 requests covers the trace of 1 requests");
    done.says("bad.csv");
    done.says("see the 2 errors above");
    let records = done.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["trace"]["name"], "t");
    bench.refuses("run short.csv --warmup 5 --cache 64KiB | covers the trace of 1");
}

#[test]
fn a_sweep_runs_what_can_run() {
    let bench = Bench::with(csv("W0 W1 W2 W3 W4 W5 W6 W7"));
    bench.file(
        "s.toml",
        "trace = 't.csv'\nscheme = ['lirs', 'lru']\ncache = ['4KiB', '16KiB', '0.1']\n",
    );
    let planned = bench.destage("sweep s.toml --out planned --plan").ok();
    planned.says("warning: cannot run: lirs, 4KiB: ");
    planned.shows("5 runs over 1 traces");
    let all = pairs(&[("lirs", 4), ("lru", 1), ("lru", 4), ("lru", 1)]);
    for options in [
        "--out s",
        "--out s",
        "--out shares --shard 1/1",
        "--out s --batch 1 --fresh",
    ] {
        let done = bench.destage(format!("sweep s.toml {options}"));
        if options.contains("shard") {
            done.ok();
            let merged = bench.destage("sweep --out shares --merge");
            assert_eq!(merged.code, 1, "{}", merged.stderr);
            continue;
        }
        assert_eq!(done.code, 1, "{}", done.stderr);
        done.says("error: lirs, 4KiB: ");
        done.says("error: t, lirs, 4KiB: --cache 0.1 of 8 pages: ");
        done.says("4 runs in");
        assert_eq!(schemes(&objects(&bench.read("s/results.jsonl"))), all);
    }
    assert_eq!(
        bench.read("shares/results.jsonl"),
        bench.read("s/results.jsonl")
    );
    bench.file(
        "none.toml",
        "trace = 't.csv'\nscheme = 'lirs'\ncache = '4KiB'\n",
    );
    bench.refuses("sweep none.toml --out none | lirs");
    bench.file(
        "late.toml",
        "trace = 't.csv'\nscheme = 'lirs'\ncache = '0.1'\n",
    );
    bench
        .destage("sweep late.toml --out late")
        .fails(2, &["--cache 0.1 of 8 pages"]);
}

/// A sweep over devices, where a trace does not fit one: what was moved stands in the records, whatever
/// the batches.
#[test]
fn a_sweep_moves_traces_together_for_each_device() {
    let bench = Bench::with(csv("W0 W9999999 R9999999"));
    bench.file(
        "s.toml",
        "trace = 't.csv'\ncache = '1MiB'\ndevice = ['default', 'enterprise-tlc-1t']\nset = [['t_read=20us'], ['t_read=40us']]\n",
    );
    let regions = |out: &str| {
        let records = objects(&bench.read(format!("{out}/results.jsonl")));
        let regions = |record: &Value| record["config"].to_string().contains("address_regions");
        records.iter().map(regions).collect::<Vec<_>>()
    };
    for batch in ["1", "8"] {
        bench
            .destage(format!("sweep s.toml --out o{batch} --batch {batch}"))
            .ok();
        assert_eq!(regions(&format!("o{batch}")), [true, true, false, false]);
    }
    assert_eq!(
        bench.read("o1/results.jsonl"),
        bench.read("o8/results.jsonl")
    );
}

#[test]
fn curves_have_the_points_that_can_run() {
    let bench = Bench::with(csv("W0 W1 W2 W3 W4 W5 W6 W7"));
    let points = |done: &crate::common::Done| -> Vec<(String, u64)> {
        let of = |point: &Value| {
            let scheme = point["scheme"].as_str().unwrap().to_owned();
            (scheme, point["cache_pages"].as_u64().unwrap())
        };
        done.records().iter().map(of).collect()
    };
    for (caches, said) in [
        ("--cache 4KiB --cache 16KiB", "error: lirs, 4KiB: "),
        (
            "--cache 0.1 --cache 0.5",
            "error: t, lirs, 4KiB: --cache 0.1: ",
        ),
    ] {
        let line = format!("mrc t.csv --scheme lirs --scheme lru {caches} --format-out jsonl");
        let done = bench.destage(line);
        assert_eq!(done.code, 1, "{}", done.stderr);
        done.says(said);
        assert_eq!(points(&done), pairs(&[("lirs", 4), ("lru", 1), ("lru", 4)]));
    }
    // BPLRU needs a block of 64 pages, and the largest size of the curve has 8.
    let done = bench.destage("mrc t.csv --scheme bplru --scheme lru --format-out jsonl");
    assert_eq!(done.code, 1, "{}", done.stderr);
    done.says("bplru");
    assert!(points(&done).iter().all(|point| point.0 == "lru"));
    bench.refuses("mrc t.csv --scheme bplru | bplru");
    bench.refuses("mrc t.csv --scheme lirs --cache 4KiB | lirs, 4KiB");
}

#[test]
fn names_of_files_say_what_is_in_them() {
    let bench = Bench::with(mixed(100));
    bench.refuses(
        "
        run t.csv --report x.pdf | --report x.pdf | .html, .htm
        run t.csv --series x.json | --series x.json | .csv, .parquet
        run t.csv --log-evictions x.csv | --log-evictions x.csv | .jsonl
        run t.csv --device default --log-requests x.parquet | --log-requests x.parquet | .csv
        run t.csv --device default --timeline x.json | --timeline x.json | .pftrace
        run t.csv --cache 4k --cache 8k --out o --series x.csv.gz | --series x.csv.gz | .csv, .parquet
        demo --report x.md | --report x.md | .html
        mrc t.csv --plot x.pdf | --plot x.pdf | .svg, .png
        mrc t.csv --report x.pdf | --report x.pdf | .html
        trace info t.csv --report x.docx | --report x.docx | .html
        trace convert t.csv --to ssdsim -o x.bin | --output x.bin | .ssdsim, .mqsim, .csv | --to
        trace convert t.csv --to destage-bin -o x.csv.zst | --output x.csv.zst | .bin
        trace convert t.csv --to msr -o x.csv.bz2 | --output x.csv.bz2 | .csv
        trace synth --requests 5 -o x.parquet | --output x.parquet | .csv
        trace fit t.csv -o x.json | --output x.json | .toml
        ",
    );
    for name in bench.names(".") {
        assert!(!name.starts_with('x'), "{name} was written");
    }
    bench.destage("mrc t.csv --cache 64KiB --plot x.SVG").ok();
    bench.destage("run t.csv --report x --series x.txt").ok();
}
