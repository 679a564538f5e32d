//! Properties that the readers of all line formats share: times, line ends, bad lines, limits,
//! batches.

use crate::common::{
    GROUPS, HEADER, arrivals, limited, msr_lines, read, read_with, refused, refuses, says, skipping,
};
use destage_trace::{BlkEvent, LoadOptions, Source, TraceError, open};
use destage_types::{Op, RequestBatch};

#[test]
fn events_have_letters() {
    assert!("X".parse::<BlkEvent>().is_err() && "".parse::<BlkEvent>().is_err());
    assert_eq!(BlkEvent::Issue.to_string(), "D");
}

#[test]
fn times_that_run_back_are_raised_and_counted() {
    let line = |t: u64| format!("{t},h,0,Read,0,512,0\n");
    let text = [100, 110, 105, 90, 110, 120].map(line).concat();
    let trace = read("msr", text).unwrap();
    assert_eq!(arrivals(&trace.requests), [0, 1000, 1000, 1000, 1000, 2000]);
    assert_eq!(trace.meta.arrival_corrections, 2);
    // Before the first request, which is the first correction, not a huge number.
    let trace = read("msr", [100, 99, 100].map(line).concat()).unwrap();
    assert_eq!(arrivals(&trace.requests), [0, 0, 0]);
    assert_eq!(trace.meta.arrival_corrections, 1);
}

#[test]
fn limits_are_exact_for_requests_of_several_lines() {
    let text = format!(
        "{GROUPS}9,R,0,8,0,,0,,\n8,W,0,8,0,,0,,1\n8,W,64,8,0,,0,,1\n7,R,0,8,0,,0,,\n\
         6,R,0,8,0,,0,,\n"
    );
    for (limit, corrections) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 3)] {
        let trace = read_with("", &text, &limited(limit)).unwrap();
        let requests = limit.min(4);
        assert_eq!(trace.meta.requests, requests);
        assert_eq!(trace.requests.len() as u64, requests);
        assert_eq!(trace.meta.arrival_corrections, corrections);
        // The group is whole.
        assert!(limit == 1 || trace.requests.get(1).extents().count() == 2);
    }
    let none = read_with("", &text, &limited(0));
    assert!(matches!(none, Err(TraceError::Empty { .. })));
}

#[test]
fn a_limit_may_part_the_two_requests_of_a_line() {
    let line = "8,0 1 1 0.5 7 Q FD 8 + 8 [x]\n";
    for limit in [1, 2, 3, 8_191, 8_192, 8_193] {
        let trace = read_with("", line.repeat(6_000), &limited(limit)).unwrap();
        assert_eq!(trace.meta.requests, limit);
        let flushes = trace.requests.records().iter().map(|r| r.op == Op::Flush);
        assert!(flushes.enumerate().all(|(i, flush)| flush == (i % 2 == 0)));
    }
}

#[test]
fn nothing_and_nonsense_are_errors() {
    for format in ["", "msr", "block-list", "destage"] {
        for text in ["", "\n\n", "# only\n# comments"] {
            let error = read(format, text).err();
            let empty = matches!(error, Some(TraceError::Empty { .. }));
            assert!(empty, "{format}: {error:?}");
        }
        let binary: Vec<u8> = (0..5_000u32).map(|i| (i * i % 251) as u8).collect();
        assert!(read(format, binary).is_err());
    }
    let error = read_with("msr", "a\nb\nc\n", &skipping()).err().unwrap();
    let message = error.to_string();
    assert!(matches!(error, TraceError::AllBad { lines: 3, .. }));
    says(&message, "the first: trace.csv: line 1, column 1");
}

#[test]
fn only_the_first_messages_are_kept() {
    let text = format!("{}{}", "bad\n".repeat(1_000), msr_lines(3));
    let trace = read_with("msr", text, &skipping()).unwrap();
    assert_eq!(trace.meta.skipped_lines, 1_000);
    assert_eq!(trace.meta.skipped_samples.len(), 5);
    assert_eq!(trace.meta.requests, 3);
}

#[test]
fn a_format_behind_too_many_comments_cannot_be_told() {
    for line in ["# nothing yet\n", "\n"] {
        let text = line.repeat(2_000) + "4096\n8192\n";
        let told = "cannot be told: the first 1000 lines are blank or comments";
        refuses("", &text, told);
        assert_eq!(read("block-list", &text).unwrap().meta.requests, 2);
    }
    let few = "#\n".repeat(999) + "4096\n";
    assert_eq!(read("", few).unwrap().meta.format, "block-list");
}

#[test]
fn very_long_lines() {
    // Within the limit: longer than the first buffer, and read.
    let blocks = 200_000;
    let prev = vec!["123456"; blocks].join(";");
    let text = format!("{HEADER}0,W,0,{},0,{prev},0\n1,R,0,8,0,,0\n", blocks * 8);
    let trace = read("", text).unwrap();
    assert_eq!(trace.requests.get(0).prev.len(), blocks);
    assert_eq!(trace.meta.requests, 2);
    let name = "x".repeat(4_097);
    let long = format!("fio version 3 iolog\n0 {name} add\n");
    refuses("fio", long, "has more than 4096 bytes");
    // Beyond it: one bad line, in bounded memory, wherever it stands.
    let long = "7".repeat(40 << 20);
    for text in ["LONG\n1\n2\n", "1\nLONG\n2\n", "1\n2\nLONG"] {
        let text = text.replace("LONG", &long);
        let trace = read_with("block-list", &text, &skipping()).unwrap();
        assert_eq!((trace.meta.requests, trace.meta.skipped_lines), (2, 1));
        let message = refused("block-list", &text);
        says(&message, "is a line of over 16 MiB");
        let line = 1 + text.split('\n').position(|l| l.len() > 99).unwrap();
        says(&message, &format!("line {line}: `777"));
    }
}

#[test]
fn streaming_gives_bounded_batches_and_the_same_requests() {
    let text = msr_lines(50_000);
    let whole = read("", &text).unwrap();
    let source = Source::bytes("x", text.into_bytes());
    let mut reader = open(source, &LoadOptions::default()).unwrap();
    let (mut batch, mut at) = (RequestBatch::new(), 0);
    loop {
        batch.clear();
        let n = reader.next_batch(&mut batch).unwrap();
        if n == 0 {
            break;
        }
        assert!(n == batch.len() && n <= 8_192);
        assert_eq!(batch.records(), &whole.requests.records()[at..at + n]);
        at += n;
    }
    assert_eq!(at, 50_000);
    // The end stays the end.
    assert_eq!(reader.next_batch(&mut batch).unwrap(), 0);
    assert_eq!(reader.progress().0, msr_lines(50_000).len() as u64);
    let mut meta = reader.finish().unwrap();
    meta.name = whole.meta.name.clone();
    assert_eq!(meta, whole.meta);
}

#[test]
fn requests_before_a_bad_line_are_delivered_and_nothing_after_it() {
    let text = "1\n2\nx\n4\n";
    let mut reader = open(Source::bytes("x", text), &LoadOptions::default()).unwrap();
    let mut batch = RequestBatch::new();
    assert!(reader.next_batch(&mut batch).is_err());
    assert_eq!(batch.len(), 2);
    assert_eq!(reader.next_batch(&mut batch).unwrap(), 0);
    assert_eq!(batch.len(), 2);
}
