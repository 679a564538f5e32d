//! Parquet traces, which the tests write themselves, by every command that reads traces.

use crate::common::{Bench, HEAD};
use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// A table of requests with columns of other names than the usual ones.
fn table(rows: &[(i64, &str, i64, i64)]) -> Vec<u8> {
    let schema = "message t { required int64 ts (TIMESTAMP(MICROS,true)); required binary kind (UTF8); \
                  required int64 first_byte; required int64 size; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    for i in 0..4 {
        let mut column = group.next_column().unwrap().unwrap();
        if i == 1 {
            let texts: Vec<ByteArray> = rows.iter().map(|row| row.1.into()).collect();
            let typed = column.typed::<ByteArrayType>();
            typed.write_batch(&texts, None, None).unwrap();
        } else {
            let number = |row: &(i64, &str, i64, i64)| [row.0, 0, row.2, row.3][i];
            let numbers: Vec<i64> = rows.iter().map(number).collect();
            let typed = column.typed::<Int64Type>();
            typed.write_batch(&numbers, None, None).unwrap();
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

const NAMES: &str = "--trace-columns time=ts,op=kind,offset=first_byte";

/// A Parquet trace `p.parquet`, and the same as `p.csv`.
fn bench() -> Bench {
    let bench = Bench::new();
    let requests: Vec<(i64, i64, i64)> = (0..500)
        .map(|i| (7 * i, i * 37 % 60 * 4096, 4096 * (1 + i % 3)))
        .collect();
    let op = |time: i64| if time % 5 == 0 { "R" } else { "W" };
    let rows: Vec<_> = requests
        .iter()
        .map(|&(time, start, size)| (time, op(time), start, size))
        .collect();
    bench.file("p.parquet", table(&rows));
    let lines = rows.iter().map(|(time, op, start, size)| {
        let (ns, first, sectors) = (time * 1000, start / 512, size / 512);
        format!("{ns},{op},{first},{sectors},0,,0\n")
    });
    bench.file("p.csv", HEAD.to_owned() + &lines.collect::<String>());
    bench
}

#[test]
fn every_command_reads_parquet_as_it_reads_text() {
    let bench = bench();
    let convert = |trace: &str| {
        let done = bench.destage(format!("trace convert {trace} --to destage"));
        done.ok().stdout
    };
    let of_table = convert(&format!("p.parquet {NAMES}"));
    assert_eq!(of_table, convert("p.csv"));
    for command in [
        "mrc --format-out csv --scheme lru,fifo",
        "mrc --sample-rate 0.5 --format-out csv",
    ] {
        let curve = |trace: &str| bench.destage(format!("{command} {trace}")).ok().stdout;
        let text = curve("p.csv")
            .replace(",destage,", ",parquet,")
            .replace(",ns\n", ",us\n");
        assert_eq!(curve(&format!("p.parquet {NAMES}")), text);
    }
    let record = |trace: &str| bench.record(format!("run {trace} --scheme lru --cache 64KiB"));
    let (table, text) = (record(&format!("p.parquet {NAMES}")), record("p.csv"));
    assert_eq!(table["counts"], text["counts"]);
    assert_eq!(table["trace"]["format"], "parquet");
    assert_eq!(table["trace"]["time_unit"], "us");
    assert_eq!(table["trace"]["sha256"].as_str().unwrap().len(), 64);
    let columns = |record: &serde_json::Value| {
        let settings = record["config"].as_array().unwrap().iter();
        let columns = settings.clone().find(|s| s["key"] == "trace_columns")?;
        Some(columns["value"].as_str().unwrap().to_owned())
    };
    let all = "time=ts,op=kind,offset=first_byte";
    assert_eq!(columns(&table).as_deref(), Some(all));
    assert_eq!(columns(&text), None);
    bench
        .destage(format!("trace info p.parquet {NAMES}"))
        .ok()
        .shows("parquet");
}

#[test]
fn bad_tables_are_refused() {
    let bench = bench();
    bench.file("bad.parquet", table(&[(0, "R", 0, 512), (5, "R", -1, 512)]));
    bench.refuses(
        "
        run p.parquet --trace-columns time=when
          | p.parquet: no good `parquet` file | no column `when` for time | ts, kind, first_byte, size
        run p.parquet --trace-columns time=ts,kind=op | --trace-columns | `kind=op` names no column of a request
        run bad.parquet --trace-columns time=ts,op=kind,offset=first_byte
          | bad.parquet: row 2, column 3 (offset): `-1` is negative
        trace info p.csv --trace-columns time=ts | no column `ts` for time; its columns: arrival_ns, op
        trace info p.csv --format destage --trace-columns time=ts | the columns of `destage` have their places
        ",
    );
}
