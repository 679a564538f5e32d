//! Bad usage: exit code 2, and a message that names the place, the value and what is allowed.

mod common;

use common::{Bench, csv};

#[track_caller]
fn refused(args: &str, parts: &[&str]) {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1 W2 W3"));
    let args: Vec<&str> = args.split_whitespace().collect();
    bench.destage(&args).fails(2, parts);
}

#[test]
fn cache_without_unit() {
    refused(
        "run t.csv --cache 16",
        &["--cache", "`16`", "needs a unit", "MiB"],
    );
}

#[test]
fn cache_with_decimal_unit() {
    refused(
        "run t.csv --cache 16MB",
        &["--cache", "`16MB`", "did you mean `16MiB`"],
    );
}

#[test]
fn cache_with_unknown_unit() {
    refused(
        "run t.csv --cache 16foo",
        &["--cache", "unknown unit", "KiB"],
    );
}

#[test]
fn cache_of_nothing() {
    refused(
        "run t.csv --cache 0k",
        &["--cache 0B", "holds no page", "at least one"],
    );
    refused(
        "run t.csv --cache 2k",
        &["--cache 2KiB", "holds no page of 4096 bytes"],
    );
}

#[test]
fn cache_too_large() {
    refused(
        "run t.csv --cache 99999TiB",
        &["--cache 99999TiB", "more than 2^32 - 2 pages"],
    );
}

#[test]
fn page_sizes() {
    refused(
        "run t.csv --page 3k",
        &["--page", "`3k`", "power of two from 512B to 64KiB"],
    );
    refused("run t.csv --page 4096", &["--page", "needs a unit"]);
    refused("run t.csv --page 128k", &["--page", "64KiB"]);
}

#[test]
fn unknown_scheme() {
    refused(
        "run t.csv --scheme lur",
        &["lur", "X14 UNKNOWN", "nearest is `lru`"],
    );
}

#[test]
fn unknown_parameter() {
    refused(
        "run t.csv --scheme cflru(y=3)",
        &["X10 PARAM", "unknown parameter `y`", "`x`"],
    );
}

#[test]
fn refused_before_any_trace_is_read() {
    refused(
        "run missing.csv --scheme prober(cac(lru))",
        &["X1 ROLE_ORDER", "cac"],
    );
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    let args = ["run", "t.csv", "missing.csv", "--scheme", "gcar(none)"];
    let done = bench.destage(&args).fails(2, &["X4 NO_CACHE"]);
    assert!(!done.stderr.contains("missing.csv"), "{}", done.stderr);
}

#[test]
fn all_faults_at_once() {
    refused(
        "run t.csv --scheme lur --scheme fufo --cache 1k",
        &[
            "`lru`",
            "`fifo`",
            "unknown scheme `lur`",
            "unknown scheme `fufo`",
        ],
    );
}

#[test]
fn unavailable_scheme() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    let listed = bench.destage(&["schemes", "--json"]).ok();
    let schemes: Vec<serde_json::Value> = serde_json::from_str(&listed.stdout).unwrap();
    let Some(info) = schemes.iter().find(|s| s["available"] == false) else {
        return eprintln!("SKIPPED: every declared scheme is available");
    };
    let name = info["name"].as_str().unwrap();
    let done = bench.destage(&["run", "t.csv", "--scheme", name]);
    done.fails(2, &[name, "known but not available yet", "destage schemes"]);
}

#[test]
fn unknown_format() {
    refused(
        "run t.csv --format mrs",
        &["--format", "`mrs`", "did you mean `msr`", "block-list"],
    );
}

#[test]
fn values_out_of_range() {
    refused("run t.csv --jobs 0", &["--jobs", "0"]);
    refused("run t.csv --limit 0", &["--limit", "0"]);
    refused(
        "run t.csv --warmup 100%",
        &["--warmup", "leaves nothing to measure"],
    );
    refused("run t.csv --warmup x", &["--warmup", "`x`", "passes=K"]);
    refused("run t.csv --read-alloc maybe", &["--read-alloc", "scheme"]);
    refused(
        "run t.csv --read-fill sector",
        &["--read-fill", "requested"],
    );
    refused("run t.csv --format-out xml", &["--format-out", "jsonl"]);
}

#[test]
fn numbers_say_their_range() {
    for (args, allowed) in [
        ("run t.csv --closed-loop 0", "from 1 to 4294967295"),
        ("run t.csv --closed-loop x", "from 1 to 4294967295"),
        ("run t.csv --limit 0", "from 1 to 18446744073709551615"),
        ("run t.csv --jobs 65536", "from 1 to 65535"),
        ("mrc t.csv --sample-pages 0", "from 1 to"),
        ("trace synth --requests 0", "from 1 to 4294967296"),
        ("trace head t.csv -n 0", "from 1 to"),
    ] {
        refused(args, &["allowed: a whole number", allowed]);
    }
    for scale in ["1e12", "1e-12", "1234567890", "0.0000001", "0"] {
        refused(
            &format!("run t.csv --time-scale {scale}"),
            &[
                "--time-scale",
                &format!("`{scale}`"),
                "above 0",
                "at most 9 digits before and 6 after the point, and without an exponent",
            ],
        );
    }
}

#[test]
fn negative_values_are_refused_by_their_option() {
    for (args, option, allowed) in [
        (
            "run t.csv --cache -4k",
            "--cache",
            "a whole number and a unit",
        ),
        ("run t.csv --limit -3", "--limit", "from 1 to"),
        ("run t.csv --seed -1", "--seed", "from 0 to"),
        ("run t.csv --time-scale -1", "--time-scale", "above 0"),
        ("run t.csv --warmup -5%", "--warmup", "a number of requests"),
        ("trace synth --gap -1us", "--gap", "a number and a unit"),
        ("trace head t.csv -n -3", "--requests", "from 1 to"),
    ] {
        refused(args, &["invalid value '-", option, allowed]);
    }
    refused("run t.csv --wrap -4", &["'-4' for '--wrap'"]);
    refused(
        "run t.csv --cache --wrap",
        &["value is required", "--cache"],
    );
    let bench = Bench::new();
    bench.file("run.toml", "trace = \"t.csv\"\ncache = \"4k\"\n");
    let run = ["run", "--config", "run.toml", "--seed", "-1"];
    bench.destage(&run).fails(2, &["--seed", "from 0 to"]);
}

#[test]
fn unknown_options_name_the_nearest() {
    refused("run t.csv --shceme lru", &["--shceme", "'--scheme'"]);
    refused("rum t.csv", &["rum", "'run'"]);
}

#[test]
fn no_trace() {
    refused(
        "run",
        &["no trace given", "`-` for standard input", "destage demo"],
    );
    refused("run - -", &["standard input", "only once"]);
}

#[test]
fn no_command() {
    let done = Bench::new().destage(&[]);
    assert_eq!(done.code, 2);
    assert!(
        done.stderr.contains("Usage: destage <COMMAND>"),
        "{}",
        done.stderr
    );
}

#[test]
fn logs_of_several_runs_need_a_folder() {
    refused(
        "run t.csv --scheme lru --scheme fifo --log-evictions log.jsonl",
        &["--log-evictions", "several runs", "--out DIR"],
    );
    refused("run t.csv --log-evictions -", &["--log-evictions", "file"]);
}

#[test]
fn unwritable_places() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    bench.file("file", "");
    bench
        .destage(&["run", "t.csv", "--out", "file/sub"])
        .fails(2, &["--out file/sub"]);
    let log = ["run", "t.csv", "--log-evictions", "nowhere/log.jsonl"];
    bench
        .destage(&log)
        .fails(2, &["--log-evictions nowhere/log.jsonl", "cannot create"]);
    let convert = ["trace", "convert", "t.csv", "-o", "nowhere/t.csv"];
    bench
        .destage(&convert)
        .fails(2, &["--output nowhere/t.csv", "cannot create"]);
}

#[test]
fn duplicates_run_once() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    let args = [
        "run", "t.csv", "--scheme", "lru", "--scheme", "LRU", "--cache", "1m",
    ];
    let done = bench.destage(&[&args[..], &["--cache", "1024k", "--format-out", "jsonl"]].concat());
    let done = done.ok();
    assert_eq!(done.records().len(), 1);
    assert!(
        done.stderr.contains("warning: --scheme LRU"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("warning: --cache 1MiB"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_trace_given_twice_runs_once() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    bench.file("u.csv", csv("W0"));
    let args = ["run", "t.csv", "u.csv", "./t.csv", "--format-out", "jsonl"];
    let done = bench.destage(&args).ok();
    assert_eq!(done.records().len(), 2);
    let warning = "warning: ./t.csv is given twice as a trace and runs once";
    assert!(done.stderr.contains(warning), "{}", done.stderr);
}

#[test]
fn spellings_of_a_number_are_one_scheme() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    let (a, b) = ("procache(lru,p=1e-3)", "procache(lru,p=0.001)");
    let args = ["run", "t.csv", "--scheme", a, "--scheme", b];
    let done = bench.destage(&[&args[..], &["--format-out", "jsonl"]].concat());
    let done = done.ok();
    assert_eq!(done.records().len(), 1);
    assert_eq!(done.records()[0]["scheme"], b);
    let warning = format!("--scheme {b}: {b} is given twice and runs once");
    assert!(done.stderr.contains(&warning), "{}", done.stderr);
}

#[test]
fn help_says_that_a_device_has_its_own_page_and_cache() {
    let help = Bench::new().destage(&["run", "--help"]).ok().stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for default in ["16MiB without one", "4KiB without one", "page without one"] {
        assert!(help.contains(default), "{default}: {help}");
    }
}

#[test]
fn traces_are_never_overwritten() {
    let bench = Bench::new();
    let trace = bench.file("t.csv", csv("W0"));
    std::fs::create_dir(bench.dir.path().join("out")).unwrap();
    let inside = bench.file("out/results.csv", csv("W0"));
    let log = ["run", "t.csv", "--log-evictions", "./t.csv"];
    bench
        .destage(&log)
        .fails(2, &["t.csv is read and would be overwritten"]);
    let out = [
        "run",
        "out/results.csv",
        "--out",
        "out",
        "--format-out",
        "csv",
    ];
    bench
        .destage(&out)
        .fails(2, &["out/results.csv is read and would be overwritten"]);
    let refused = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let refused = bench.destage(&words);
        refused.fails(2, &["t.csv is read and would be overwritten"]);
    };
    refused("trace convert t.csv -o out/../t.csv --to msr");
    refused("trace import-ftrace t.csv --output t.csv");
    refused("mrc t.csv --plot t.csv");
    let msr = "0,hm,1,Write,0,4096,1\n";
    bench.file("t-hm_1.csv", msr);
    let split = [
        "trace",
        "convert",
        "t-hm_1.csv",
        "--volumes",
        "split",
        "-o",
        "t.csv",
    ];
    bench
        .destage(&split)
        .fails(2, &["t-hm_1.csv is read and would"]);
    assert_eq!(bench.read("t-hm_1.csv"), msr);
    bench.file(
        "alike.csv",
        format!("{msr}{}", msr.replace("hm,", "h m,").repeat(2)) + &msr.replace("hm,", "h_m,"),
    );
    let alike = [
        "trace",
        "convert",
        "alike.csv",
        "--volumes",
        "split",
        "-o",
        "part.csv",
    ];
    let both = "volumes h m_1 and h_m_1 would both be written to part-h_m_1.csv";
    bench
        .destage(&alike)
        .fails(2, &[both, "--volumes only=NAME"]);
    assert!(
        !bench.dir.path().join("part-hm_1.csv").exists(),
        "nothing is written"
    );
    for path in [trace, inside] {
        assert_eq!(std::fs::read_to_string(path).unwrap(), csv("W0"));
    }
}
