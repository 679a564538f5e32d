//! Captures of file systems: rows, requests, old addresses, and choosing by tag.

use crate::common::{cases, csv, detected, read, refused, refuses, says};
use destage_trace::{LoadOptions, Pairs, Source, load, open};
use destage_types::request::NO_PREV;
use destage_types::{Op, RequestBatch, Tag};

const HEAD: &str = "time_us,op,lba_sector,sectors,prev_lba_sector,fs,tag,req\n";

#[test]
fn rows_of_one_request_are_one_request() {
    let trace = detected(
        "fs-capture",
        &format!(
            "{HEAD}100,W,800,16,1600,f2fs,data,7\n100,W,816,8,,f2fs,data,7\n\
             100,W,4000,8,4000,f2fs,data,7\n150,D,1600,16,,f2fs,discard,8\n\
             160,R,8,3,,f2fs,meta,9\n"
        ),
    );
    let all: Vec<_> = trace.requests.iter().collect();
    assert_eq!(all.len(), 3);
    let extents: Vec<_> = all[0]
        .extents()
        .map(|e| (e.start_sector, e.sectors))
        .collect();
    assert_eq!(
        extents,
        [(800, 24), (4000, 8)],
        "rows that touch are one extent"
    );
    assert_eq!(all[0].prev, [1600, 1608, NO_PREV, 4000]);
    assert_eq!((all[0].head.op, all[0].head.tag), (Op::Write, Tag::Data));
    assert_eq!((all[1].head.op, all[1].head.tag), (Op::Trim, Tag::None));
    assert_eq!(
        (all[2].head.tag, all[2].head.arrival.0),
        (Tag::Meta, 60_000)
    );
    let pairs = Pairs::of((&trace).into()).unwrap();
    assert_eq!((pairs.moved, pairs.in_place, pairs.unknown), (2, 1, 1));
}

fn tagged(tags: &str) -> LoadOptions {
    LoadOptions {
        tags: Some(tags.parse().unwrap()),
        ..LoadOptions::default()
    }
}

fn chosen(text: &str, tags: &str) -> destage_trace::Trace {
    load(Source::bytes("capture.csv", text.to_owned()), &tagged(tags)).unwrap()
}

const MIXED: &str = "100,W,800,8,1600,f2fs,node,7\n100,W,808,8,2400,f2fs,data,7\n\
                     100,W,816,8,,f2fs,data_gc,7\n150,D,1600,16,,f2fs,discard,8\n\
                     160,W,8,8,,ext4,journal,9\n";

#[test]
fn tags_choose_rows_inside_a_request() {
    let text = format!("{HEAD}{MIXED}");
    let data = chosen(&text, "data");
    assert_eq!(data.requests.len(), 1);
    let only = data.requests.get(0);
    assert_eq!((only.head.start_sector, only.head.sectors), (808, 8));
    assert_eq!((only.prev, only.head.tag), (&[2400][..], Tag::Data));
    assert_eq!(
        chosen(&text, "data,gc").requests.get(0).prev,
        [2400, NO_PREV]
    );
    let rest = chosen(&text, "discard,meta");
    assert_eq!(rest.requests.len(), 2);
    assert_eq!(
        rest.requests.records()[0].arrival.0,
        0,
        "the first one kept arrives at 0"
    );
    assert_eq!(rest.requests.records()[1].arrival.0, 10_000);
}

#[test]
fn tags_choose_requests_of_any_format() {
    let text = format!("{HEAD}100,W,8,8,,f2fs,node,1\n200,W,16,8,,f2fs,data,2\n");
    let all = read("fs-capture", &text).unwrap();
    let csv = csv(&all.requests);
    let data = chosen(&csv, "data");
    assert_eq!(data.meta.format, "destage");
    assert_eq!(data.requests.len(), 1);
    assert_eq!(data.requests.records()[0].arrival.0, 0);
    for text in [csv, text] {
        let none = load(Source::bytes("x.csv", text), &tagged("gc")).unwrap_err();
        says(none.to_string(), "no request is of the kinds chosen");
    }
}

#[test]
fn bad_rows_are_named() {
    let row = |text: &str| format!("{HEAD}100,W,800,16,1600,f2fs,data,7\n{text}");
    let errors = "
         1,X,8,8,,f2fs,data,1 => column 2 (op): `X` is no kind of request
         1,W,8,0,,f2fs,data,1 => column 4 (sectors): `0` is zero
         1,W,8,8,-5,f2fs,data,1 => column 5 (prev_lba_sector): `-5` is no sector number
         1,W,8,8,12,f2fs,data,1 => column 5 (prev_lba_sector): `12` is about whole
         1,W,4,8,16,f2fs,data,1 => column 5 (prev_lba_sector): `16` is about whole
         1,D,8,8,16,f2fs,data,1 => `16` is given, but only writes replace data
         1,W,8,8,549755813888,f2fs,data,1 => ends behind 256 TiB
         1,W,8,8,,f2fs,date,1 => column 7 (tag): `date` is no tag
         1,W,8,8,,f2fs,data => column 8 (req): `` is missing
         1,W,8,8,,f2fs,data,1,2 => column 9: `2` is one column too many
";
    for (text, part) in cases(errors) {
        let message = refused("fs-capture", format!("{HEAD}{text}\n"));
        says(&message, part);
        says(&message, "; allowed: ");
    }
    let differing = "
         100,R,816,8,,f2fs,data,7 => column 2 (op): `R` differs inside one request
         101,W,816,8,,f2fs,data,7 => column 1 (time_us): `101` differs inside one request
         101,W,816,8,,f2fs,data,6 => column 8 (req): `6` is less than that of the row before
";
    for (text, part) in cases(differing) {
        refuses("fs-capture", row(&format!("{text}\n")), part);
    }
    let message = refused("fs-capture", "time_us,op,lba\n");
    says(message, "(lba_sector): `lba` is not the name");
}

#[test]
fn operations_on_a_file() {
    let trace = detected("file-ops", "W,90161152,1024\nR,4096,8192\nD,0,4097\n");
    let records = trace.requests.records().iter();
    let rows: Vec<_> = records.map(|r| (r.op, r.start_sector, r.sectors)).collect();
    assert_eq!(
        rows,
        [(Op::Write, 176_096, 2), (Op::Read, 8, 16), (Op::Trim, 0, 9)]
    );
    assert_eq!(
        (trace.meta.timed, trace.meta.unaligned_requests),
        (false, 1)
    );
    let errors = "
         X,0,8 => column 1 (op): `X` is no kind of request
         W,-1,8 => column 2 (offset): `-1` is negative
         W,0,0 => column 3 (bytes): `0` is zero
         W,0 => column 3 (bytes): `` is missing
";
    for (text, part) in cases(errors) {
        refuses("file-ops", text, part);
    }
}

/// A few lines cannot ask for any amount of memory.
#[test]
fn lists_of_old_addresses_are_bounded() {
    // Nothing is named, so that nothing is kept for each block.
    let long = format!("{HEAD}1,W,0,4294967288,,f2fs,data,1\n1,W,4294967288,8,,f2fs,data,1\n");
    let requests = read("fs-capture", &long).unwrap().requests;
    assert_eq!((requests.len(), requests.memory() < 100), (1, true));
    let gib = 1u64 << 21;
    let whole = format!(
        "{HEAD}1,W,0,{},,f2fs,data,1\n1,W,{gib},8,8,f2fs,data,1\n",
        gib - 8
    );
    let whole = read("fs-capture", &whole).unwrap().requests;
    assert_eq!(whole.get(0).prev.len(), 1 << 18);
    assert_eq!(whole.get(0).prev[(1 << 18) - 2..], [NO_PREV, 8]);
    for rows in [
        format!("1,W,0,{},0,f2fs,data,1\n", gib + 8),
        format!("1,W,0,{gib},,f2fs,data,1\n1,W,{gib},8,8,f2fs,data,1\n"),
    ] {
        let error = read("fs-capture", &(HEAD.to_owned() + &rows))
            .unwrap_err()
            .to_string();
        assert!(error.contains("longer than 1 GiB"), "{error}");
    }
}

/// Requests of 2 MiB of old addresses each do not wait for thousands of others.
#[test]
fn batches_end_where_their_lists_are_long() {
    let rows: String = (0..20)
        .map(|i| format!("{i},W,0,2097152,0,f2fs,data,{i}\n"))
        .collect();
    let source = Source::bytes("c.csv", HEAD.to_owned() + &rows);
    let mut reader = open(source, &LoadOptions::default()).unwrap();
    let (mut batch, mut requests) = (RequestBatch::new(), 0);
    while reader.next_batch(&mut batch).unwrap() > 0 {
        assert!(batch.memory() < 9 << 20, "{}", batch.memory());
        requests += batch.len();
        batch.clear();
    }
    assert_eq!(requests, 20);
}
