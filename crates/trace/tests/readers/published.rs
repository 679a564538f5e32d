//! Files as their publishers and the usual tools leave them.

use crate::common::{detected, read, read_with, skipping, told};
use destage_trace::{FORMATS, FormatInfo, Separator};

fn text_formats() -> impl Iterator<Item = (&'static &'static FormatInfo, &'static str)> {
    let texts = FORMATS.iter().filter(|f| f.separator.is_text());
    texts.map(|f| (f, std::str::from_utf8(f.example).unwrap()))
}

#[test]
fn the_names_of_the_columns_may_stand_in_front_and_come_again() {
    #[rustfmt::skip]
    let cases = [
        ("msr", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"),
        ("spc", "ASU,LBA,Size,Opcode,Timestamp"),
        ("systor17", "Timestamp,Response,IOType,LUN,Offset,Size"),
        ("alibaba", "device_id,opcode,offset,length,timestamp"),
        ("tencent", "Timestamp,Offset,Size,IOType,VolumeID"),
        ("k5cloud", "ID, Timestamp, Type, Offset, Length"),
        ("tracetracker", "time op lba sectors"),
        ("disksim", "time device block size flags"),
        ("ssdsim", "time device sector sectors op"),
    ];
    for (name, header) in cases {
        let format = FORMATS.iter().find(|f| f.name == name).unwrap();
        let lines = std::str::from_utf8(format.example).unwrap();
        let lines = lines.trim_start_matches(header).trim_start();
        let plain = detected(name, lines);
        let (first, rest) = lines.split_once('\n').unwrap();
        let again = detected(name, &format!("{header}\n{first}\n{header}\n{rest}"));
        assert_eq!(told(&again), told(&plain), "{name}");
        // One request under a header is enough.
        let one = read("", format!("{header}\n{first}\n")).unwrap();
        assert_eq!((one.meta.format, one.meta.requests), (name, 1));
    }
}

#[test]
fn blanks_beside_commas_do_not_matter() {
    let spc =
        "0, 1024, 8192, W, 0.551706\n0, 2048, 8192, r, 0.554041\n1, 3072, 15872, r, 1.011732\n";
    let trace = detected("spc", spc);
    let rows = "0 W 1024 16 0, 2335000 R 2048 16 0, 460026000 R 3072 31 1";
    assert_eq!(told(&trace), rows);
    for (format, example) in text_formats().filter(|(f, _)| f.separator == Separator::Comma) {
        let plain = read("", example).unwrap();
        let blanks = read("", example.replace(',', "\t, ")).unwrap();
        assert_eq!(told(&blanks), told(&plain), "{}", format.name);
        assert_eq!(blanks.meta.volumes, plain.meta.volumes, "{}", format.name);
    }
}

#[test]
fn a_missing_line_end_loses_no_request() {
    for (format, example) in text_formats().filter(|(f, _)| f.name != "block-list") {
        let requests = read("", example).unwrap().meta.requests;
        let ends: Vec<usize> = example.match_indices('\n').map(|(at, _)| at).collect();
        let mut start = 0;
        for end in &ends[..ends.len() - 1] {
            let line = &example[start..*end];
            start = end + 1;
            if line.starts_with('#') {
                continue;
            }
            // Whole lines, and lines that were cut off before the next was written.
            for cut in 0..line.len().min(40) {
                let joined = format!("{}{}", &example[..end - cut], &example[end + 1..]);
                let read = read(format.name, &joined);
                let kept = read.map_or(requests, |trace| trace.meta.requests);
                let allowed = if cut == 0 { requests } else { requests - 1 };
                assert!(kept >= allowed, "{}: {joined}", format.name);
            }
        }
    }
    let spc = "0,1024,8192,W,0.5\n0,2048,8192,R,0.60,1024,4096,R,0.7\n0,8,512,W,0.8\n";
    let read = read_with("", spc, &skipping()).unwrap();
    assert_eq!(read.meta.skipped_lines, 1);
}

#[test]
fn lines_may_end_with_cr_alone() {
    for (format, example) in text_formats() {
        let plain = read("", example).unwrap();
        for end in ["\r", "\r\n"] {
            let other = read("", example.replace('\n', end)).unwrap();
            assert_eq!(other.meta.format, format.name);
            assert_eq!(told(&other), told(&plain), "{}", format.name);
        }
    }
}
