//! A trace that was cut off is refused where its format can tell.

use crate::common::{csv, limited, read, read_with, refused, refuses, skipping};
use destage_trace::write_fio;

const PLAIN: &str = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n0,W,0,8,0,,0\n\
                     1000,R,8,8,0,,0\n2000,W,16,8,0,,0\n";

/// Every beginning of `text` that ends with a line, from the `first` line on.
fn beginnings(text: &str, first: usize) -> impl Iterator<Item = &str> {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    ends.skip(first - 1)
        .map(|end| &text[..end])
        .filter(|part| part.len() < text.len())
}

#[test]
fn own_csv_ends_with_its_number_of_requests() {
    // A trace written by hand needs no last line.
    let trace = read("destage", PLAIN).unwrap();
    let text = csv(&trace.requests);
    assert_eq!(text, format!("# destage csv 2\n{PLAIN}# requests: 3\n"));
    assert_eq!(read("", &text).unwrap().meta.requests, 3);
    assert!(beginnings(&text, 2).count() == 4);
    for part in beginnings(&text, 2) {
        assert!(refused("destage", part).contains("cut off"), "{part}");
    }
    for part in beginnings(&text, 3) {
        let skipped = read_with("destage", part, &skipping()).unwrap();
        assert_eq!(skipped.meta.skipped_lines, 1, "{part}");
    }
    let other = text.replace(": 3", ": 4");
    assert!(refused("destage", other).contains("more or fewer requests"));
    let more = format!("{text}3000,W,0,8,0,,0\n");
    assert!(refused("destage", more).contains("follows the last line"));
    // With a limit the end of the file is not checked.
    assert_eq!(
        read_with("destage", &text, &limited(2))
            .unwrap()
            .meta
            .requests,
        2
    );
}

#[test]
fn a_fio_log_whose_files_are_not_closed_is_read_with_a_word() {
    let trace = read("destage", PLAIN).unwrap();
    let mut text = Vec::new();
    write_fio(&trace.requests, &trace.meta.volumes, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(read("", &text).unwrap().meta.requests, 3);
    assert!(beginnings(&text, 3).count() >= 3, "{text}");
    for part in beginnings(&text, 4) {
        let trace = read("fio", part).unwrap();
        assert!(trace.meta.notes[0].contains("cut off"), "{part}");
        // With a limit the end of the file is not checked.
        let first = read_with("fio", part, &limited(1)).unwrap();
        assert!(first.meta.notes.is_empty(), "{part}");
    }
    assert!(read("fio", &text).unwrap().meta.notes.is_empty());
    let log = "fio version 3 iolog\n0 /x/d add\n0 /x/d open\n1000 /x/d write 0 4096\n\
               301000 /x/d write 4096 4096\n601000 /x/d read 0 4096\n";
    let trace = read("", log).unwrap();
    assert_eq!(trace.meta.requests, 3);
    assert_eq!(trace.requests.records()[2].arrival.0, 600_000_000);
}

#[test]
fn a_size_cut_short_at_the_end_of_blkparse_is_refused() {
    let text = "8,0 1 1 0.5 7 Q R 8 + 64 [x]\n8,0 1 2 0.6 7 Q W 800 + 16 [x]";
    assert_eq!(read("", text).unwrap().meta.requests, 2);
    for cut in [1, 2, 3, 4, 5] {
        let message = refused("", &text[..text.len() - cut]);
        assert!(
            message.contains("line 2: ") && message.contains("is cut off"),
            "{message}"
        );
    }
    // With its line end the line is whole, and an event that is not wanted may end as it likes.
    assert_eq!(
        read("", text.replace(" [x]", "") + "\n")
            .unwrap()
            .meta
            .requests,
        2
    );
    let other = "8,0 1 1 0.5 7 Q R 8 + 64 [x]\n8,0 1 2 0.6 7 D W 800 + 1";
    assert_eq!(read("", other).unwrap().meta.requests, 1);
    let perf = "a 1 [0] 5.5: block:block_rq_issue: 8,0 R 512 () 8 + 1 [a]\n\
                a 1 [0] 5.6: block:block_rq_issue: 8,0 R 8192 () 8 + 1";
    refuses("", perf, "is cut off");
}
