//! `destage run --config`: run files, and the comparison with what a paper says.

use crate::common::{Bench, csv, mixed, objects, root, setting, trace, without_cost};
use serde_json::Value;

/// A folder with two traces and a run file.
fn bench(file: &str) -> Bench {
    let bench = Bench::new();
    bench.file("a.csv", mixed(400));
    bench.file("b.csv", csv("W1 W2 W1 R2 W3 W1"));
    bench.file("run.toml", file);
    bench
}

const RUN: &str = "run --config run.toml";

/// A record without what a run file may change: where settings come from, and what it cost.
fn plain(record: Value) -> Value {
    let mut record = without_cost(record);
    for setting in record["config"].as_array_mut().unwrap() {
        setting.as_object_mut().unwrap().remove("origin");
    }
    record
}

#[test]
fn a_run_file_is_its_command_line() {
    let bench = bench(
        "trace = ['a.csv', 'b.csv']\nscheme = ['lru', 'cac(arc)']\ncache = '40KiB'\n\
         read-alloc = 'on'\nwarmup = 2\nseed = 7\nformat-out = 'jsonl'\nskip-bad-lines = true\n",
    );
    let line = "run a.csv b.csv --scheme lru --scheme cac(arc) --cache 40KiB --read-alloc on \
                --warmup 2 --seed 7 --format-out jsonl --skip-bad-lines";
    let told = bench.destage(line).ok().records();
    let filed = bench.destage(RUN).ok().records();
    assert_eq!(setting(&filed[0], "seed").1, "run file run.toml");
    let all = |records: Vec<Value>| records.into_iter().map(plain).collect::<Vec<_>>();
    assert_eq!(all(filed), all(told));
}

#[test]
fn the_command_line_goes_before_the_file() {
    let bench = bench(
        "trace = 'a.csv'\nscheme = ['lru', 'arc']\ncache = '40KiB'\nlimit = 300\n\
         device = 'default'\nset = 't_read=30us'\nhost-fs = 'inplace'\n",
    );
    let changed = "--scheme fifo --cache=80KiB --seed 3 b.csv";
    let records = bench.records(format!("{RUN} {changed}"));
    assert_eq!(records.len(), 1);
    let record = &records[0];
    assert_eq!(
        (&record["scheme"], &record["cache_bytes"]),
        (&"fifo".into(), &81_920.into())
    );
    assert_eq!(record["trace"]["name"], "b+inplace");
    let origin = |key: &str| setting(record, key).1;
    assert_eq!(origin("cache"), "command line");
    assert_eq!(origin("seed"), "command line");
    for key in ["limit", "device", "t_read", "host_fs"] {
        assert_eq!(origin(key), "run file run.toml", "{key}");
    }
    assert_eq!(origin("t_program"), "built-in");
}

#[test]
fn several_runs_are_one_table() {
    let bench = bench(
        "cache = '40KiB'\n[[run]]\nname = 'first'\ntrace = 'a.csv'\n\
         [[run]]\ntrace = 'b.csv'\nscheme = ['arc', 'cac(lru)']\nhost-fs = 'lfs'\n\
         [[run]]\nif-present = true\ntrace = ['none.csv', 'b.csv']\n\
         [[run]]\nif-present = true\ntrace = ['none.csv']\n",
    );
    let done = bench.destage(RUN).ok();
    let rows: Vec<Vec<&str>> = done
        .stdout
        .lines()
        .skip(1)
        .take_while(|l| !l.is_empty())
        .map(|l| l.split_whitespace().take(2).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["a", "lru"],
            ["b+lfs", "arc"],
            ["b+lfs", "cac(lru)"],
            ["b", "lru"],
        ]
    );
    done.says("run.toml:14: none of its traces is in");
    let other = Bench::new();
    other.file("b.csv", csv("W1"));
    let file = bench.dir.path().join("run.toml");
    let run = format!("run --config '{}' --trace-dir .", file.display());
    other.destage(run).fails(2, &["a.csv"]);
}

#[test]
fn bad_run_files_are_refused() {
    bench("").refuses_texts(
        RUN,
        "run.toml",
        r#"
        trace = 'a.csv'; schem = 'lru' | run.toml:2: schem = "lru": no option `schem`; did you mean `scheme`?
        trace = 'a.csv'; config = 'x' | run.toml:2: config = "x": no option `config`
        trace = 'a.csv'; wrap = 'yes' | run.toml:2: wrap = "yes": allowed: true, false
        trace = 'a.csv'; ; cache = true | run.toml:3: cache = true: a text, a number or a list
        trace = {a = 1} | run.toml:1: trace = { a = 1 }: a text, a number or a list
        trace = 'a.csv'; cache = '16' | run.toml:2: cache = "16": `16`: a size needs a unit
        cache = '16'; [[run]]; trace = 'a.csv' | run.toml:1: cache = "16": `16`: a size needs a unit
        trace = 'a.csv'; cache = '16MiB'; [[run]]; [[run]]; name = 'b'; cache = '16'
          | run.toml:6: cache = "16": `16`: a size needs a unit
        trace = 'a.csv'; seed = [1, 2] | run.toml:2: seed = [1, 2]: one value is expected
        trace = 'a.csv'; read-alloc = 'maybe' | run.toml:2: read-alloc = "maybe": allowed: on, off, scheme
        trace = 'a.csv'; seed = -1 | run.toml:2: seed = -1: allowed: a whole number from 0 to 18446744073709551615
        trace = 'a.csv'; out = '' | run.toml:2: out = "": it is empty; allowed: a path
        trace = 'a.csv'; device = 'default'; time-scale = 2; closed-loop = 1
          | run.toml:4: closed-loop = 1: `closed-loop` cannot be used with `time-scale`
        trace = 'a.csv'; series-every = 10 | run.toml:2: series-every = 10: `series-every` needs `series`
        trace = 'a.csv'; timeline-to = '1s' | run.toml:2: timeline-to = "1s": `timeline-to` needs `timeline`
        trace = 'a.csv'; if-present = 7 | run.toml:2: if-present = 7: allowed: true, false
        trace = 'a.csv'; scheme = 'lur' | run.toml:2: scheme: | unknown scheme `lur` | nearest is `lru`
        trace = 'a.csv'; scheme = 'lirs'; cache = '4k' | run.toml:2: scheme lirs: | X9 LIMIT
        trace = 'a.csv'; cache = '2k' | run.toml:2: cache 2KiB: | holds no page
        trace = 'a.csv'; cache = '0.001'; scheme = 'lirs' | error: run.toml:2: a, lirs, 4KiB: --cache 0.001 of
        trace = 'a.csv'; device = 'ecr-64' | run.toml:2: device: unknown device preset `ecr-64`
        trace = 'a.csv'; device = 'default'; set = 't_read=7' | run.toml:3: set: | `t_read` = 7 | needs a unit
        trace = 'a.csv'; format = 'mrs' | run.toml:2: format: | `mrs`; did you mean `msr`?
        trace = 'a.csv'; columns = 'hits' | run.toml:2: columns: `hits` is no figure
        trace = 'a.csv'; wrap = true | run.toml:2: wrap needs a device
        trace = 'a.csv'; report = '-' | run.toml:2: report needs a file
        trace = 'a.csv'; out = 'new'; report = 'new/results.jsonl' | run.toml:2: out and --report need a file each
        trace = 'a.csv'; warmup = 400 | run.toml:2: a: a warm-up of 400 requests covers the trace
        scheme = 'lru' | run.toml: no trace given
        [[run]]; name = 'a'; trace = 'a.csv'; [[run]]; name = 'b' | run.toml:4: no trace given
        ; trace = 'none.csv' | run.toml:2: trace: none.csv
        trace = 'none.csv'; if-present = true | run.toml:1: none of its traces is in
        [[run]]; trace = 'a.csv'; out = 'x' | run.toml:3: out = "x": it applies to all runs
        log-evictions = 'x'; [[run]]; trace = 'a.csv'; [[run]]; trace = 'b.csv'
          | run.toml:1: log-evictions = "x": a run file with several [[run]] writes no logs
        trace = | --config run.toml: TOML parse error at line 1
        run = 7 | --config run.toml: TOML parse error at line 1
        trace = 'a.csv'; claim = 1 | run.toml:2: claim = 1: no option `claim`
        "#,
    );
    // An option of the command line is not in the file.
    let told = bench("trace = 'a.csv'\n").destage(format!("{RUN} --scheme lur"));
    told.fails(2, &["error: --scheme: cannot compose lur"]);
    let bench = Bench::new();
    bench.destage(RUN).fails(2, &["--config run.toml:"]);
    let alone = bench.destage("run --trace-dir .");
    assert_eq!(alone.code, 2);
    alone.says("--config");
}

/// The write hits were measured independently of this program: 93.4, 0.0 and 93.4 % where the
/// cache holds all.
#[test]
fn the_experiment_of_cac() {
    let Some(fs) = trace("fs/ext4-prxy-fdatasync.csv.zst") else {
        return;
    };
    let traces = fs.ancestors().nth(2).unwrap().display();
    let file = root().join("papers/cac/run.toml");
    let out = Bench::new();
    let run = format!(
        "run --config '{}' --out . --trace-dir '{traces}'",
        file.display()
    );
    out.shown(run);
    let records = objects(&out.read("results.jsonl"));
    let hits = |trace: &str, scheme: &str, mib: u64| {
        let found = records.iter().find(|r| {
            r["trace"]["name"] == trace && r["scheme"] == scheme && r["cache_bytes"] == mib << 20
        });
        let ratio = found.unwrap()["ratios"]["write_page_hit_ratio"].as_f64();
        format!("{:.1}", 100.0 * ratio.unwrap())
    };
    let (ext4, f2fs) = ("ext4-prxy-fdatasync", "f2fs-prxy-lfs-fdatasync");
    for (plain, with) in [("lru", "cac(lru)"), ("arc", "cac(arc)")] {
        assert_eq!(hits(ext4, plain, 16), "93.4");
        assert_eq!(hits(f2fs, plain, 16), "0.0");
        assert_eq!(hits(f2fs, with, 16), "93.4");
        for mib in [1, 2, 4, 16, 128] {
            assert_eq!(hits(f2fs, with, mib), hits(ext4, plain, mib), "{mib} MiB");
            assert_eq!(hits(f2fs, plain, mib), "0.0");
        }
    }
}
