//! Runs that differ in device, page size, settings or the name of their `[[run]]` beside each other: nobody may take
//! one for the other, and amounts of data compare.

use crate::common::{Bench, contains, counted, csv, mixed, objects};
use destage_experiment::api;
use destage_sim::ResultRecord;
use serde_json::Value;

/// 100 writes of 4 KiB, each `step` pages of 4 KiB behind the one before.
fn writes(step: u64) -> String {
    let writes: Vec<String> = (0..100).map(|i| format!("W{}", i * step)).collect();
    csv(&writes.join(" "))
}

/// The cells of the rows of a table, up to the first empty line.
fn rows(text: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        line.split("  ")
            .map(str::trim)
            .filter(|c| !c.is_empty())
            .map(str::to_owned)
            .collect()
    };
    text.lines()
        .take_while(|line| !line.is_empty())
        .map(cells)
        .collect()
}

fn column(rows: &[Vec<String>], head: &str) -> Vec<String> {
    let at = rows[0].iter().position(|cell| cell == head).expect(head);
    rows[1..].iter().map(|row| row[at].clone()).collect()
}

/// The default device with pages of 16 KiB.
const LARGE: &str = "name = 'large'\npage_bytes = 16384\n";

/// A cache of 64 KiB has 16 pages of 4 KiB, or 4 of 16 KiB. Of writes one behind the other 84 pages of 4 KiB leave it,
/// or 21 of 16 KiB, which is the same amount. Where each write touches a large page of its own, 96 of these leave.
#[test]
fn devices_of_two_page_sizes_are_compared_in_bytes() {
    let bench = Bench::new();
    bench.file("large.toml", LARGE);
    bench.file("dense.csv", writes(1));
    bench.file("sparse.csv", writes(4));
    bench.file(
        "s.toml",
        "trace = ['dense.csv', 'sparse.csv']\nscheme = 'lru'\ncache = '64KiB'\ndevice = ['default', 'large.toml']\n",
    );
    let text = bench.shown("sweep s.toml --out o");
    let rows = rows(&text);
    assert_eq!(
        column(&rows, "trace"),
        ["dense", "dense", "sparse", "sparse"]
    );
    assert_eq!(
        column(&rows, "device"),
        ["default", "large", "default", "large"]
    );
    assert_eq!(column(&rows, "page"), ["4KiB", "16KiB", "4KiB", "16KiB"]);
    assert_eq!(
        column(&rows, "page hit %"),
        ["0.00", "75.00", "0.00", "0.00"]
    );
    assert_eq!(
        column(&rows, "flash writes MiB"),
        ["0.328", "0.328", "0.328", "1.500"]
    );
    assert_eq!(column(&rows, "dirty left MiB"), ["0.062"; 4]);
    assert_eq!(
        column(&rows, "write amplification"),
        ["0.840", "0.840", "0.840", "3.840"]
    );
    assert_eq!(
        column(&rows, "KiB/eviction"),
        ["4.00", "16.00", "4.00", "16.00"]
    );
    assert!(!rows[0].contains(&"settings".to_owned()), "{text}");
    contains(
        &text,
        "reading: page 4KiB on default, page 16KiB on large, read allocation",
    );
    contains(
        &text,
        "page sizes differ: hit ratios of pages do not compare",
    );
    let programs: Vec<u64> = objects(&bench.read("o/results.jsonl"))
        .iter()
        .map(|record| counted(record, "flash_writes_host"))
        .collect();
    assert_eq!(programs, [84, 21, 84, 96], "records count pages");
}

#[test]
fn one_device_is_told_in_the_reading_alone() {
    let bench = Bench::with(writes(1));
    let text = bench.shown("run t.csv --cache 64KiB --device default");
    let rows = rows(&text);
    assert_eq!(rows[0][..3], ["trace", "scheme", "cache"]);
    assert_eq!(column(&rows, "flash writes"), ["84"]);
    contains(
        &text,
        "reading: page 4KiB, device default, read allocation on",
    );
    let text = bench.shown("run t.csv --cache 64KiB --page 8KiB");
    contains(&text, "reading: page 8KiB, no device, read allocation on");
}

#[test]
fn write_amplification_is_one_of_bytes() {
    let bench = Bench::with(writes(4));
    bench.file("large.toml", LARGE);
    let waf = |options: &str| {
        let record = bench.record(format!("run t.csv --cache 64KiB {options}"));
        record["ratios"]["waf"].as_f64().unwrap()
    };
    // 96 pages of 16 KiB for 100 writes of 4 KiB; the quotient of pages would be 0.96.
    assert_eq!(
        waf("--device large.toml"),
        96.0 * 16384.0 / (100.0 * 4096.0)
    );
    // Whole pages: the quotient of pages is that of bytes.
    assert_eq!(waf("--device default"), 84.0 / 100.0);
    // A sector each: 84 pages of 4 KiB for 100 sectors.
    bench.file("t.csv", writes(1).replace(",8,0,,0\n", ",1,0,,0\n"));
    assert_eq!(waf("--device default"), 84.0 * 4096.0 / (100.0 * 512.0));
}

/// Runs that differ only in their names.
const NAMED: &str =
    "trace = 't.csv'\ncache = '64KiB'\n[[run]]\nname = 'before'\n[[run]]\nname = 'after, again'\n";

#[test]
fn names_of_runs_stand_in_tables_records_and_reports() {
    let bench = Bench::with(writes(1));
    bench.file("r.toml", NAMED);
    let run = "run --config r.toml --trace-dir .";
    let text = bench.shown(format!("{run} --details --report r.html"));
    let rows = rows(&text);
    assert_eq!(rows[0][..4], ["trace", "scheme", "run", "cache"]);
    assert_eq!(column(&rows, "run"), ["before", "after, again"]);
    let hits = text
        .split("hits of requests and sectors in %\n")
        .nth(1)
        .unwrap();
    assert!(
        hits.lines().nth(2).unwrap().contains("after, again"),
        "{hits}"
    );
    let page = bench.read("r.html");
    for title in ["<h2>t (run before)</h2>", "<h2>t (run after, again)</h2>"] {
        contains(&page, title);
    }
    let names = |records: &[Value]| -> Vec<String> {
        records
            .iter()
            .map(|r| r["run_name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&bench.records(run)), ["before", "after, again"]);
    // A folder has both, though they are alike, and again they are not done twice.
    for _ in 0..2 {
        bench
            .destage(format!("{run} --out o --format-out csv"))
            .ok();
        assert_eq!(
            names(&objects(&bench.read("o/results.jsonl"))),
            ["before", "after, again"]
        );
        contains(
            bench.read("o/results.csv").lines().nth(2).unwrap(),
            "\"after, again\"",
        );
    }
    let swept = bench.shown("sweep r.toml --out s");
    assert_eq!(
        column(&self::rows(&swept), "run"),
        ["before", "after, again"]
    );
    assert!(
        bench
            .record("run t.csv --cache 64KiB")
            .get("run_name")
            .is_none()
    );
    bench.refuses_texts(
        run,
        "r.toml",
        "trace = 't.csv'; name = 3 | name = 3: the name of a run is text
         trace = 't.csv'; name = '' | the name of a run is text",
    );
}

/// A difference between two `[[run]]` without a name is a column, and the best is that of runs with
/// equal settings.
#[test]
fn settings_of_run_files_are_told_apart() {
    let bench = Bench::with(mixed(600));
    let file = |schemes: &str| {
        format!(
            "trace = 't.csv'\nscheme = {schemes}\ncache = '40KiB'\n[[run]]\n[[run]]\nwarmup = '50%'\n"
        )
    };
    bench.file("r.toml", file("['lru', 'fifo']"));
    bench.file("alone.toml", file("'lru'"));
    // With its settings each of these is alone, so none is best.
    let alone = bench.shown("run --config alone.toml --trace-dir .");
    assert!(!alone.contains(" <"), "{alone}");
    let text = bench.shown("run --config r.toml --trace-dir .");
    let lines: Vec<&str> = text.lines().take(5).collect();
    assert!(lines[0].contains("settings"), "{text}");
    assert!(
        !lines[1].contains("warmup") && lines[3].contains("warmup=50%"),
        "{text}"
    );
    contains(&text, "* differs: ");
    contains(&text, ", warm-up 50%");
}

/// The charts of a page.
fn charts(page: &str) -> Vec<Value> {
    let data = page.split("id=\"report-data\">").nth(1).unwrap();
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    data["charts"].as_array().unwrap().clone()
}

fn texts(values: &Value, of: impl Fn(&Value) -> Value) -> Vec<String> {
    let texts = values.as_array().unwrap().iter().map(of);
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_report_has_a_series_for_each_device() {
    let bench = Bench::new();
    bench.file("large.toml", LARGE);
    bench.file("dense.csv", writes(1));
    bench.file("sparse.csv", writes(4));
    bench.file(
        "r.toml",
        "trace = ['dense.csv', 'sparse.csv']\nscheme = ['lru', 'fifo']\ncache = '64KiB'\n\
         [[run]]\ndevice = 'default'\n[[run]]\ndevice = 'large.toml'\n",
    );
    bench
        .destage("run --config r.toml --trace-dir . --report r.html")
        .ok();
    let page = bench.read("r.html");
    contains(&page, "<h2>Side by side</h2>");
    contains(&page, "<h2>sparse (device large, page 16KiB)</h2>");
    let charts = charts(&page);
    let name = |series: &Value| series["name"].clone();
    let writes = charts
        .iter()
        .find(|chart| chart["title"] == "flash writes")
        .unwrap();
    assert_eq!(writes["y"]["unit"], "bytes");
    let panel = &writes["panels"][1];
    assert_eq!(panel["label"], "sparse, 64KiB");
    assert_eq!(texts(&panel["labels"], Value::clone), ["lru", "fifo"]);
    let devices = ["device default, page 4KiB", "device large, page 16KiB"];
    assert_eq!(texts(&panel["series"], name), devices);
    assert_eq!(panel["series"][0]["y"][0], 84 * 4096);
    assert_eq!(panel["series"][1]["y"][0], 96 * 16384);
    // Bars over the traces have traces below them, and a panel for each device.
    let over = charts
        .iter()
        .find(|chart| chart["title"] == "all traces, relative to lru")
        .unwrap();
    for panel in over["panels"].as_array().unwrap() {
        assert_eq!(texts(&panel["labels"], Value::clone), ["dense", "sparse"]);
        let label = panel["label"].as_str().unwrap();
        assert!(
            devices.iter().any(|device| label.ends_with(device)),
            "{label}"
        );
    }
    contains(&page, "<th scope=\"col\">flash writes MiB</th>");
}

/// Records of two commands may come together in one table.
#[test]
fn records_that_look_alike_are_told_apart() {
    let bench = Bench::with(mixed(300));
    let record = |trace: &str, device: &str| -> ResultRecord {
        bench.file("t.csv", trace);
        bench.file(
            "x.toml",
            format!("base = \"default\"\nname = \"x\"\n{device}"),
        );
        serde_json::from_value(bench.record("run t.csv --cache 64KiB --device x.toml")).unwrap()
    };
    let slow = record(&mixed(300), "t_read = \"90us\"");
    let fast = record(&mixed(300), "t_read = \"20us\"");
    let other = record(&mixed(301), "t_read = \"20us\"");
    let text = api::table(&[slow.clone(), fast.clone()]);
    assert_eq!(
        column(&rows(&text), "settings"),
        ["t_read=90us", "t_read=20us"]
    );
    let text = api::table(&[fast.clone(), other]);
    contains(&text, "requests=301 sha256=");
    // The same run twice is the same run.
    assert!(!api::table(&[fast.clone(), fast]).contains("settings:  "));
}

#[test]
fn curves_say_their_page_size() {
    let bench = Bench::with(mixed(600));
    bench
        .destage("mrc t.csv --page 8KiB --plot m.svg --report m.html")
        .ok();
    contains(
        &bench.read("m.svg"),
        "page hits / page accesses, pages of 8KiB",
    );
    contains(&bench.read("m.html"), "600 requests, page 8KiB, 1 curves");
}
