//! A trace that was cut off is refused where its format can tell.

use crate::common::{csv, limited, read, read_with, refused, skipping};
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
}
