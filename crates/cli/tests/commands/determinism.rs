//! The same command gives the same records, whatever the number of threads.

use crate::common::{Bench, mixed, objects, options, scheme_names, without_cost};
use serde_json::Value;

#[test]
fn threads_do_not_change_results() {
    let bench = Bench::with(mixed(3000));
    bench.file("b.csv", mixed(1500));
    let schemes = options(&scheme_names());
    let records = |jobs: u32, log: &str| -> Vec<Value> {
        let run = "run t.csv b.csv --cache 256k --cache 512k --log-evictions e";
        bench
            .destage(format!("{run} --jobs {jobs} --out {log} {schemes}"))
            .ok();
        let records = objects(&bench.read(format!("{log}/results.jsonl")));
        records.into_iter().map(without_cost).collect()
    };
    let (one, four) = (records(1, "one"), records(4, "four"));
    assert!(one.len() >= 2 * (2 * 2 + 1), "{} records", one.len());
    assert_eq!(one, four);
    for entry in std::fs::read_dir(bench.dir.path().join("one")).unwrap() {
        let name = entry.unwrap().file_name();
        if name != "results.jsonl" {
            let read = |dir: &str| std::fs::read(bench.dir.path().join(dir).join(&name)).unwrap();
            assert_eq!(read("one"), read("four"), "{name:?}");
        }
    }
}
