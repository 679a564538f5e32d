//! Results as Parquet.

mod common;

use common::{Bench, mixed};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fs::File;

fn rows(file: File) -> Vec<Row> {
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

fn field(row: &Row, name: &str) -> Field {
    let mut columns = row.get_column_iter();
    let found = columns.find(|(column, _)| *column == name);
    found
        .unwrap_or_else(|| panic!("no column {name}"))
        .1
        .clone()
}

#[test]
fn parquet_holds_the_fields_of_the_record() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(400));
    let run = |format: &str| {
        let args = format!(
            "run t.csv --scheme lru --scheme req-block --cache 64k --device req-block-128g --out \
             {format} --format-out {format}"
        );
        bench
            .destage(&args.split_whitespace().collect::<Vec<_>>())
            .ok()
    };
    assert!(
        run("parquet").stdout.contains("req-block"),
        "the table is shown too"
    );
    run("jsonl");
    let lines = bench.read("jsonl/results.jsonl");
    let records: Vec<serde_json::Value> = lines
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let file = File::open(bench.dir.path().join("parquet/results.parquet")).unwrap();
    let rows = rows(file);
    assert_eq!(rows.len(), 2);
    for (row, record) in rows.iter().zip(&records) {
        let text = |v: &serde_json::Value| Field::Str(v.as_str().unwrap().to_owned());
        assert_eq!(field(row, "scheme"), text(&record["scheme"]));
        let hits = record["counts"]["page_hits"].as_u64().unwrap();
        assert_eq!(field(row, "counts.page_hits"), Field::ULong(hits));
        let mean = record["latency_ns"]["all"]["mean"].as_f64().unwrap();
        assert_eq!(field(row, "latency_ns.all.mean"), Field::Double(mean));
        let Field::Str(config) = field(row, "config") else {
            panic!("lists are JSON text")
        };
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config, record["config"]);
    }
}

#[test]
fn parquet_goes_to_a_pipe() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(50));
    let mut command = bench.command(&["run", "t.csv", "--format-out", "parquet"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    let path = bench.file("piped.parquet", &output.stdout);
    let rows = rows(File::open(path).unwrap());
    assert_eq!(field(&rows[0], "counts.requests"), Field::ULong(50));
    assert_eq!(field(&rows[0], "counts.erases"), Field::Null, "no device");
}
