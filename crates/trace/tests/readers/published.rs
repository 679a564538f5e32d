//! Files as their publishers and the usual tools leave them.

use crate::common::{
    Row, detected, overlay, read, read_with, refused, refuses, rows, says, skipping,
};
use destage_trace::{FORMATS, FormatInfo, LoadOptions, Separator, Trace};
use destage_types::Op::{Read, Write};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn text_formats() -> impl Iterator<Item = (&'static &'static FormatInfo, &'static str)> {
    let texts = FORMATS.iter().filter(|f| f.separator.is_text());
    texts.map(|f| (f, std::str::from_utf8(f.example).unwrap()))
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.meta.volumes.iter().map(|v| &*v.name).collect()
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
        assert_eq!(rows(&again), rows(&plain), "{name}");
        // One request under a header is enough.
        let one = read("", format!("{header}\n{first}\n")).unwrap();
        assert_eq!((one.meta.format, one.meta.requests), (name, 1));
    }
    let msr = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
               130000000000000000,srv,0,Read,40960,32768,400\n\
               130000000010000000,srv,0,Write,8192,20480,1900\n\
               130000000020000000,srv,0,Read,40960,32768,12\n";
    let expected: [Row; 3] = [
        (0, Read, 80, 64, 0),
        (1_000 * MS, Write, 16, 40, 0),
        (2_000 * MS, Read, 80, 64, 0),
    ];
    assert_eq!(rows(&detected("msr", msr)), expected);
    // Columns in another order are told by their names, unless the format is named.
    let swapped = msr.replace("Offset,Size", "Size,Offset");
    let expected: [Row; 3] = [
        (0, Read, 64, 80, 0),
        (1_000 * MS, Write, 40, 16, 0),
        (2_000 * MS, Read, 64, 80, 0),
    ];
    assert_eq!(rows(&detected("table", &swapped)), expected);
    refuses("msr", swapped, "line 1, column 1 (timestamp): `Timestamp`");
}

#[test]
fn blanks_beside_commas_do_not_matter() {
    let spc =
        "0, 1024, 8192, W, 0.551706\n0, 2048, 8192, r, 0.554041\n1, 3072, 15872, r, 1.011732\n";
    let trace = detected("spc", spc);
    let bytes = |op| -> u64 {
        let of = rows(&trace).into_iter().filter(|row| row.1 == op);
        of.map(|row| u64::from(row.3) * 512).sum()
    };
    assert_eq!((bytes(Write), bytes(Read)), (8_192, 8_192 + 15_872));
    for (format, example) in text_formats().filter(|(f, _)| f.separator == Separator::Comma) {
        let plain = read("", example).unwrap();
        let blanks = read("", example.replace(',', "\t, ")).unwrap();
        assert_eq!(
            blanks.requests.records(),
            plain.requests.records(),
            "{}",
            format.name
        );
        assert_eq!(blanks.meta.volumes, plain.meta.volumes, "{}", format.name);
    }
    // A field that is wrong is named without its blanks.
    refuses(
        "msr",
        "1, h, 0, Reed, 0, 512, 0\n",
        "line 1, column 4 (type): `Reed` is no kind",
    );
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
    refuses(
        "",
        spc,
        "line 2: `0,2048,8192,R,0.60,1024,4096,R,0.7` holds a second request",
    );
    assert_eq!(
        read_with("", spc, &skipping()).unwrap().meta.skipped_lines,
        1
    );
    // Further columns are allowed as before.
    let more = "0,1024,8192,W,0.5,77,x,0.1\n0,1024,8192,W,0.5,1,2,3,4,5\n";
    assert_eq!(read("", more).unwrap().meta.requests, 2);
    // The line in front may be of an event that is not wanted, or be cut itself.
    for front in [
        "D W 8 + 8 [x]",
        "Q W 8 + 8 [x",
        "Q W",
        "Q",
        "A W 8 + 8 <- (8,1) 16",
        "m N cfq y",
    ] {
        let line = format!("8,0 1 1 0.5 1 {front}8,0 1 2 0.6 1 Q R 16 + 1 [x]\n");
        let text = format!("8,0 1 1 0.4 1 Q W 8 + 8 [x]\n{line}");
        let message = refused("", &text);
        assert!(
            message.contains("line 2") && message.contains("second event"),
            "{message}"
        );
    }
}

#[test]
fn lines_may_end_with_cr_alone() {
    let text = "  8,0 1 1 0.5 1 Q W 8 + 8 [x]\r  8,0 1 2 0.6 1 Q R 16 + 1 [x]\r";
    assert_eq!(read("", text).unwrap().meta.requests, 2);
    for (format, example) in text_formats() {
        let plain = read("", example).unwrap();
        for end in ["\r", "\r\n"] {
            let other = read("", example.replace('\n', end)).unwrap();
            assert_eq!(other.meta.format, format.name);
            assert_eq!(
                other.requests.records(),
                plain.requests.records(),
                "{}",
                format.name
            );
        }
    }
    // In the middle of a file with other line ends it hides no request.
    let mixed =
        "8,0 1 1 0.4 1 Q W 8 + 8 [x]\n8,0 1 1 0.5 1 Q W 8 + 8 [x]\r8,0 1 2 0.6 1 Q R 16 + 1 [x]\n";
    refuses("", mixed, "line 2");
    refuses(
        "",
        "1,h,0,Read,0,512,0\n1,h,0,Read,0,512,0\r1,h,0,Read,0,512,0\n",
        "line 2",
    );
}

#[test]
fn systor_lines_without_a_kind_are_counted() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                1456200000.013118000,0.001000000,W,0,4096,4096\n\
                1456200000.113118000,0.001000000,R,0,8192,4096\n\
                1456200001.013118000,,,0,4096,4096\n\
                1456200002.013118000,0.001000000,W,0,4096,8192\n";
    let trace = detected("systor17", text);
    assert_eq!(trace.meta.requests, 3);
    assert_eq!(rows(&trace)[2], (2_000 * MS, Write, 8, 16, 0));
    says(
        &trace.meta.notes[0],
        "lines of kinds that are no requests, which are not read: 1",
    );
    let none = "Timestamp,Response,IOType,LUN,Offset,Size\n1456200001.0,,,0,4096,4096\n";
    refuses("", none, "no line names a kind of request");
    refuses(
        "systor17",
        "1.0,,X,0,4096,4096\n",
        "column 3 (IOType): `X` is no kind of request",
    );
}

#[test]
fn block_lists_of_cache_studies() {
    let trace = detected("block-list", "2819\n85\n560\n*\n85\n2819\n*\n7\n");
    let blocks: Vec<u64> = rows(&trace).iter().map(|row| row.2 / 8).collect();
    assert_eq!(blocks, [2_819, 85, 560, 85, 2_819, 7]);
    refuses("", "*\n*\n", "no known trace format fits");
    let trace = detected("arc", "0 1 0 0\n7 8 0 1\n0 1 0 2\n8 2 0 3\n");
    let expected: [Row; 4] = [
        (0, Read, 0, 8, 0),
        (US, Read, 56, 64, 0),
        (2 * US, Read, 0, 8, 0),
        (3 * US, Read, 64, 16, 0),
    ];
    assert_eq!(rows(&trace), expected);
}

#[test]
fn fiu_traces_as_recorded() {
    let text = "1000 311 proc1 5000008 8 W 6 0 00112233445566778899aabbccddeeff\n\
                4000 312 proc2 2048 8 W 6 0 ffeeddccbbaa99887766554433221100\n\
                90000 311 proc1 5000008 8 R 6 1\n";
    let trace = detected("fiu", text);
    let device = 6 << 20;
    let expected: [Row; 3] = [
        (0, Write, 5_000_008, 8, device),
        (3_000, Write, 2_048, 8, device),
        (89_000, Read, 5_000_008, 8, device + 1),
    ];
    assert_eq!(rows(&trace), expected);
    assert_eq!(names(&trace), ["6,0", "6,1"]);
}

#[test]
fn tracetracker_and_k5cloud() {
    let trace = detected(
        "tracetracker",
        "0.000000 R 1000 8\n0.001250 W 2000 16\n0.002500 R 1000 8\n",
    );
    let expected: [Row; 3] = [
        (0, Read, 1_000, 8, 0),
        (1_250 * US, Write, 2_000, 16, 0),
        (2_500 * US, Read, 1_000, 8, 0),
    ];
    assert_eq!(rows(&trace), expected);
    // Seconds since the first request of all volumes, as the publisher says.
    let trace = detected("k5cloud", "7,12.25,R,4096,8192\n7,12.5,W,8192,4096\n");
    assert_eq!(
        rows(&trace),
        [(0, Read, 8, 16, 7), (250 * MS, Write, 16, 8, 7)]
    );
    assert_eq!(
        rows(&detected("k5cloud", "7,12,R,4096,8192\n7,13,R,0,512\n"))[1].0,
        1_000 * MS
    );
    // Too large for seconds: ms since 1970.
    let trace = detected(
        "k5cloud",
        "1,1600000000000,R,4096,8192\n1,1600000000100,W,8192,4096\n",
    );
    assert_eq!(
        rows(&trace),
        [(0, Read, 8, 16, 1), (100 * MS, Write, 16, 8, 1)]
    );
    let seconds = LoadOptions {
        time_unit: Some("us".parse().unwrap()),
        ..overlay()
    };
    let trace = read_with("", "7,12.25,R,4096,8192\n7,13.5,W,8192,4096\n", &seconds).unwrap();
    assert_eq!(rows(&trace)[1].0, 1_250);
}

#[test]
fn a_wait_that_is_over_waits_for_nothing() {
    let log = |waits: [u64; 2]| {
        format!(
            "fio version 2 iolog\n/x/d add\n/x/d open\n/x/d write 0 4096\n/x/d wait {} 0\n\
             /x/d write 4096 4096\n/x/d wait {} 0\n/x/d write 8192 4096\n/x/d close\n",
            waits[0], waits[1]
        )
    };
    let times = |waits| -> Vec<u64> {
        let trace = detected("fio", &log(waits));
        rows(&trace).iter().map(|row| row.0 / US).collect()
    };
    assert_eq!(times([500, 900]), [0, 500_000, 900_000]);
    assert_eq!(times([500, 400]), [0, 500_000, 500_001]);
    assert_eq!(times([500_000, 400_000])[2], 500_000_001);
}
