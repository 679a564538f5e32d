//! Parquet traces, which the tests write themselves.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use destage_trace::{FORMATS, LoadOptions, Source, TimeUnit, TraceError, load};
use destage_types::Op;
use destage_types::rng::SplitMix64;

use crate::common::{
    arrivals, cases, cases_of, csv, given, limited, read, read_with, says, skipping, told,
};

const USUAL: &str = "message t { required int64 time; required binary op (UTF8); \
                     optional int64 offset; optional int64 size; }";

/// Values of a column; `None` is null.
pub enum Column<'a> {
    Int64(Vec<Option<i64>>),
    Int32(Vec<i32>),
    Double(Vec<f64>),
    Text(Vec<&'a str>),
}

/// A column of whole numbers.
fn numbers(values: &[i64]) -> Column<'_> {
    Column::Int64(values.iter().copied().map(Some).collect())
}

fn write_column(group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>, column: &Column<'_>) {
    let mut writer = group.next_column().unwrap().unwrap();
    let written = match column {
        Column::Int64(values) => {
            let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
            let values: Vec<i64> = values.iter().copied().flatten().collect();
            // Required columns have no levels.
            let typed = writer.typed::<Int64Type>();
            typed.write_batch(&values, Some(&levels), None)
        }
        Column::Int32(values) => writer.typed::<Int32Type>().write_batch(values, None, None),
        Column::Double(values) => writer.typed::<DoubleType>().write_batch(values, None, None),
        Column::Text(values) => {
            let values: Vec<ByteArray> = values.iter().map(|&v| v.into()).collect();
            let typed = writer.typed::<ByteArrayType>();
            typed.write_batch(&values, None, None)
        }
    };
    written.unwrap();
    writer.close().unwrap();
}

/// A file of groups of rows.
pub fn file(schema: &str, properties: WriterProperties, groups: &[&[Column<'_>]]) -> Vec<u8> {
    let mut out = Vec::new();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::new(properties)).unwrap();
    for columns in groups {
        let mut group = writer.next_row_group().unwrap();
        columns
            .iter()
            .for_each(|column| write_column(&mut group, column));
        group.close().unwrap();
    }
    writer.close().unwrap();
    out
}

fn plain() -> WriterProperties {
    WriterProperties::default()
}

/// Four requests in the usual columns.
fn usual() -> Vec<u8> {
    let columns = [
        numbers(&[500, 600, 600, 900]),
        Column::Text(vec!["write", "R", "Trim", "flush"]),
        Column::Int64(vec![Some(4_096), Some(511), Some(0), None]),
        numbers(&[8_192, 2, 1 << 20, 0]),
    ];
    file(USUAL, plain(), &[&columns])
}

const USUAL_ROWS: &str = "0 W 8 16 0, 100 R 0 2 0, 100 T 0 2048 0, 400 F 0 0 0";

#[test]
fn rows_are_requests() {
    let trace = read("", usual()).unwrap();
    assert_eq!(trace.meta.format, "parquet");
    assert_eq!(trace.meta.time_unit, Some(TimeUnit::Nanoseconds));
    assert_eq!(trace.meta.unaligned_requests, 1);
    assert_eq!(told(&trace), USUAL_ROWS);
    let two = told(&read_with("", usual(), &limited(2)).unwrap());
    assert_eq!(two, "0 W 8 16 0, 100 R 0 2 0");
}

/// Requests of a group of rows, more than are decoded at once.
const GROUP: usize = 10_000;

fn large(properties: WriterProperties) -> Vec<u8> {
    let group = |i: usize| {
        let of =
            |f: fn(i64) -> i64| (i * GROUP..(i + 1) * GROUP).map(move |row| Some(f(row as i64)));
        [
            Column::Int64(of(|i| 10 * i).collect()),
            Column::Text((0..GROUP).map(|i| ["R", "W"][i % 2]).collect()),
            Column::Int64(of(|i| i * 7_919 % 5_000 * 4_096).collect()),
            Column::Int64(of(|i| (i % 3 + 1) * 512).collect()),
        ]
    };
    let groups = [group(0), group(1), group(2)];
    file(
        USUAL,
        properties,
        &groups.each_ref().map(|columns| &columns[..]),
    )
}

fn packed(codec: Compression) -> WriterProperties {
    WriterProperties::builder()
        .set_compression(codec)
        .set_data_page_size_limit(4_096)
        .set_write_batch_size(512)
        .build()
}

#[test]
fn requests_survive_the_way_through_parquet() {
    let trace = read("", large(plain())).unwrap();
    assert_eq!(trace.meta.requests, 3 * GROUP as u64);
    let request = trace.requests.records()[12_345];
    assert_eq!((request.arrival.0, request.op), (123_450, Op::Write));
    assert_eq!(request.start_sector, 12_345 * 7_919 % 5_000 * 8);
    assert_eq!(request.sectors, 1);
    let through_csv = read("destage", csv(&trace.requests)).unwrap();
    assert_eq!(through_csv.requests.records(), trace.requests.records());
    for codec in [
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let same = read("", large(packed(codec))).unwrap();
        assert_eq!(same.requests.records(), trace.requests.records(), "{codec}");
    }
}

#[test]
fn files_pipes_and_compressed_files_give_the_same() {
    let bytes = large(packed(Compression::SNAPPY));
    let mut stored = tempfile::NamedTempFile::new().unwrap();
    stored.write_all(&bytes).unwrap();
    let read_source = |source| load(source, &LoadOptions::default()).unwrap();
    let of_file = read_source(Source::Path(stored.path().to_owned()));
    let of_pipe = read_source(Source::bytes("pipe", bytes.clone()));
    let zst = zstd::stream::encode_all(&bytes[..], 1).unwrap();
    let of_zst = read_source(Source::bytes("zst", zst));
    assert_eq!(of_file.requests.records(), of_pipe.requests.records());
    assert_eq!(of_file.requests.records(), of_zst.requests.records());
    // The hash is that of the file as stored, whichever way it was read.
    assert_eq!(of_file.meta.sha256, of_pipe.meta.sha256);
    assert_ne!(of_file.meta.sha256, of_zst.meta.sha256);
}

#[test]
fn columns_are_found_by_their_names() {
    let schema = "message t { required binary what; required double s; required int32 len (UINT_32); \
                  required int32 lba; }";
    let columns = [
        Column::Text(vec!["r", "w"]),
        Column::Double(vec![1_000.5, 1_002.75]),
        Column::Int32(vec![512, -1_024]),
        Column::Int32(vec![0, 4_096]),
    ];
    let bytes = file(schema, plain(), &[&columns]);
    let options = given("time=s,op=what,offset=lba,size=len");
    let trace = read_with("", &bytes, &options).unwrap();
    // A negative number of an unsigned column is large: 4 GiB less 1 KiB.
    assert_eq!(told(&trace), "0 R 0 1 0, 2250000000 W 8 8388606 0");
    assert_eq!(trace.meta.time_unit, Some(TimeUnit::Seconds));
    says(
        read("", &bytes).unwrap_err().to_string(),
        "no column is known as op; its columns: what, s, len, lba; op=NAME says which",
    );
    let error = read_with("msr", "1,h,0,Read,0,512,0\n", &options).unwrap_err();
    says(
        error.to_string(),
        "the columns of `msr` have their places; --trace-columns is for tables",
    );
}

/// Type of the times, unit that is said, gap in ns, and unit that comes out.
const UNITS: [(&str, &str, u64, &str); 4] = [
    ("", "", 3, "ns"),
    ("(TIMESTAMP(MICROS,true))", "", 3_000, "us"),
    ("(TIMESTAMP_MILLIS)", "", 3_000_000, "ms"),
    ("", "s", 3_000_000_000, "s"),
];

#[test]
fn times_have_the_unit_of_their_type_or_the_one_that_is_said() {
    let columns = [
        numbers(&[7, 10]),
        Column::Text(vec!["R", "R"]),
        numbers(&[0; 2]),
        numbers(&[512; 2]),
    ];
    for (kind, said, gap, expected) in UNITS {
        let schema = USUAL.replace("int64 time", &format!("int64 time {kind}"));
        let options = LoadOptions {
            time_unit: said.parse().ok(),
            ..LoadOptions::default()
        };
        let bytes = file(&schema, plain(), &[&columns]);
        let trace = read_with("", bytes, &options).unwrap();
        assert_eq!(arrivals(&trace.requests), [0, gap], "{kind}");
        assert_eq!(trace.meta.time_unit, expected.parse().ok(), "{kind}");
    }
}

/// Time, kind, offset and size of a row, `-` for none, and what an error says of it.
const WRONG: &str = "
    -1 R 0 512 => column 1 (time): `-1` is negative
    0 erase 0 512 => column 2 (op): `erase` is no kind of request; allowed: R, W
    0 R - 512 => column 3 (offset): `null` is not given
    0 R -4 512 => column 3 (offset): `-4` is negative
    0 R 281474976710656 512 => column 3 (offset): `281474976710656` starts or ends behind 256 TiB
    0 W 0 0 => column 4 (size): `0` is zero
    0 W 0 - => column 4 (size): `null` is not given
    0 W 0 2199023255552 => column 4 (size)";

#[test]
fn errors_name_the_row_and_the_column() {
    for (row, message) in cases(WRONG) {
        let values: Vec<&str> = row.split(' ').collect();
        let number = |at: usize| values[at].parse().ok();
        let columns = [
            Column::Int64(vec![Some(0), number(0), Some(9)]),
            Column::Text(vec!["R", values[1], "R"]),
            Column::Int64(vec![Some(0), number(2), Some(0)]),
            Column::Int64(vec![Some(512), number(3), Some(512)]),
        ];
        let bytes = file(USUAL, plain(), &[&columns]);
        let error = read("", &bytes).unwrap_err().to_string();
        says(&error, &format!("trace.csv: row 2, {message}"));
        let trace = read_with("", &bytes, &skipping()).unwrap();
        assert_eq!((trace.meta.requests, trace.meta.skipped_lines), (2, 1));
        assert_eq!(arrivals(&trace.requests), [0, 9]);
    }
}

#[test]
fn tables_that_are_no_traces_are_refused() {
    let wrong = |from: &str, to: &str, columns: &[Column<'_>]| {
        let bytes = file(&USUAL.replace(from, to), plain(), &[columns]);
        read("", bytes).unwrap_err().to_string()
    };
    let columns = [numbers(&[1]), numbers(&[0]), numbers(&[0]), numbers(&[512])];
    says(
        wrong("required binary op (UTF8)", "required int64 op", &columns),
        "column 2 (op): `0` is no kind of request unless --trace-columns says which, as in op=COLUMN:1=R",
    );
    let empty = file(USUAL, plain(), &[]);
    assert!(matches!(read("", empty), Err(TraceError::Empty { .. })));
    let bytes = usual();
    for cut in [4, 20, bytes.len() - 1] {
        let error = read("", &bytes[..cut]).unwrap_err().to_string();
        says(&error, "no good `parquet` file");
    }
}

/// The example of the format is a file of this writer.
#[test]
fn the_example_is_written_like_this() {
    let columns = [
        numbers(&[0, 1_000, 2_000]),
        Column::Text(vec!["W", "R", "F"]),
        Column::Int64(vec![Some(0), Some(4_096), None]),
        Column::Int64(vec![Some(4_096), Some(512), None]),
    ];
    let properties = WriterProperties::builder()
        .set_created_by("destage".to_owned())
        .set_dictionary_enabled(false)
        .set_statistics_enabled(::parquet::file::properties::EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let bytes = file(USUAL, properties, &[&columns]);
    let format = FORMATS.iter().find(|f| f.name == "parquet").unwrap();
    assert!(bytes == format.example, "b\"{}\"", bytes.escape_ascii());
}

/// Damages `bytes`: bits, bytes, whole numbers, pieces that move or go, and the end.
fn damage(bytes: &mut Vec<u8>, random: &mut SplitMix64) {
    for _ in 0..=random.below(4) {
        if bytes.len() < 32 {
            return;
        }
        let mut below = |n: usize| random.below(n.max(1) as u64) as usize;
        // Most of what is read twice is near the end.
        let at = match below(3) {
            0 => below(bytes.len()),
            _ => bytes.len().saturating_sub(1 + below(400)),
        };
        let end = (at + 1 + below(16)).min(bytes.len());
        match below(6) {
            0 => bytes[at] ^= 1 << below(8),
            1 => bytes[at] = below(256) as u8,
            2 => bytes[at..end].fill([0, 0xff, 0x80, 0x7f][below(4)]),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let piece = bytes[at..end].to_vec();
                let to = below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ if below(8) == 0 => bytes.truncate(at + 1),
            _ => bytes.swap(at, end - 1),
        }
    }
}

/// Arrow's schemas of a duration `time` in each unit and of a text `op`, as pyarrow writes them.
#[rustfmt::skip]
const SCHEMAS: [(TimeUnit, &str); 4] = [
    (TimeUnit::Seconds, "/////6AAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAABAAAAABAAAANj///8AAAEFEAAAABgAAAAEAAAAAAAAAAIAAABvcAAABAAEAAQAAAAQABQACAAGAAcADAAAABAAEAAAAAAAARIQAAAAHAAAAAQAAAAAAAAABAAAAHRpbWUAAAYACAAGAAYAAAAAAAAA"),
    (TimeUnit::Milliseconds, "/////5gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAAA8AAAABAAAANz///8AAAEFEAAAABQAAAAEAAAAAAAAAAIAAABvcAAAyP///xAAFAAIAAYABwAMAAAAEAAQAAAAAAABEhAAAAAcAAAABAAAAAAAAAAEAAAAdGltZQAAAAAEAAQABAAAAA=="),
    (TimeUnit::Microseconds, "/////6AAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAABAAAAABAAAANj///8AAAEFEAAAABgAAAAEAAAAAAAAAAIAAABvcAAABAAEAAQAAAAQABQACAAGAAcADAAAABAAEAAAAAAAARIQAAAAHAAAAAQAAAAAAAAABAAAAHRpbWUAAAYACAAGAAYAAAAAAAIA"),
    (TimeUnit::Nanoseconds, "/////6AAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAIAAABAAAAABAAAANj///8AAAEFEAAAABgAAAAEAAAAAAAAAAIAAABvcAAABAAEAAQAAAAQABQACAAGAAcADAAAABAAEAAAAAAAARIQAAAAHAAAAAQAAAAAAAAABAAAAHRpbWUAAAYACAAGAAYAAAAAAAMA"),
];

fn with_schema(text: String) -> Vec<u8> {
    let pair = KeyValue::new("ARROW:schema".to_owned(), text);
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![pair]));
    let columns = [
        numbers(&[0, 1_000]),
        Column::Text(vec!["R", "W"]),
        numbers(&[0, 4_096]),
        numbers(&[4_096, 4_096]),
    ];
    file(USUAL, properties.build(), &[&columns])
}

#[test]
fn durations_have_the_unit_of_their_type() {
    for (unit, text) in SCHEMAS {
        let trace = read("parquet", with_schema(text.to_owned())).unwrap();
        let found = (trace.meta.time_unit, trace.meta.time_doubt.is_none());
        assert_eq!(found, (Some(unit), true), "{unit}");
        // Whatever stands there, nothing but the unit changes.
        let schema = BASE64_STANDARD.decode(text).unwrap();
        for number in 0..cases_of(300, 30_000) {
            let mut mutant = schema.clone();
            damage(&mut mutant, &mut SplitMix64::new(number));
            let bytes = with_schema(BASE64_STANDARD.encode(mutant));
            let trace = read("parquet", &bytes).unwrap();
            assert_eq!(trace.requests.len(), 2, "{number}");
        }
    }
}

#[test]
fn damaged_files_are_errors() {
    let dictionary = |codec| {
        let properties = WriterProperties::builder().set_compression(codec);
        let columns = [
            numbers(&[1; 300]),
            Column::Text(vec!["R"; 300]),
            numbers(&[4_096; 300]),
            numbers(&[512; 300]),
        ];
        file(USUAL, properties.build(), &[&columns, &columns])
    };
    let seeds = [
        usual(),
        dictionary(Compression::UNCOMPRESSED),
        dictionary(Compression::SNAPPY),
        dictionary(Compression::GZIP(Default::default())),
        dictionary(Compression::ZSTD(ZstdLevel::default())),
    ];
    let (mut refused, mut panicked) = (0, 0);
    let mutants = cases_of(1_500, 100_000);
    for number in 0..mutants {
        let mut random = SplitMix64::new(number);
        let mut bytes = seeds[random.below(5) as usize].clone();
        damage(&mut bytes, &mut random);
        // A panic would end the test.
        if let Err(error) = read("parquet", &bytes) {
            let error = error.to_string();
            assert!(error.contains("trace.csv"), "{number}: {error}");
            refused += 1;
            panicked += u64::from(error.contains("damaged: "));
        }
    }
    println!("{refused} of {mutants} are refused, {panicked} because the library panicked");
    assert!(refused > mutants / 4, "{refused}");
}
