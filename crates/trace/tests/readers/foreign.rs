//! Files that are no trace, or of no known format: what is said about them.

use crate::common::{gz, read_with, refused, refuses, says, skipping, xz, zst};

/// A tar archive of one file; with or without the magic that old archives lack.
fn tar(content: &str, magic: bool) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, b"a.csv");
    put(100, b"0000644\x000000000\x000000000");
    put(124, format!("{:011o}", content.len()).as_bytes());
    put(148, b"        ");
    if magic {
        put(257, b"ustar  ");
    }
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend(content.as_bytes());
    header.resize(header.len().next_multiple_of(512) + 1_024, 0);
    header
}

#[test]
fn archives_and_files_packed_twice_are_named() {
    let text = "1,h,0,Read,0,512,0\n".repeat(30);
    for archive in [tar(&text, true), tar(&text, false)] {
        for packed in [archive.clone(), gz(&archive), xz(&archive), zst(&archive)] {
            for format in ["", "msr", "vscsi"] {
                refuses(format, &packed, "tar archive: unpack it");
            }
            // No request behind the header is lost without a word.
            let skipped = read_with("msr", &packed, &skipping()).unwrap_err();
            says(skipped.to_string(), "tar archive: unpack it");
        }
    }
    for packed in [
        gz(&gz(text.as_bytes())),
        zst(&xz(text.as_bytes())),
        gz(b"PK\x03\x04abc"),
    ] {
        refuses(
            "",
            packed,
            "a compressed file inside a compressed file: unpack it",
        );
    }
}

#[test]
fn files_of_other_programs_are_named() {
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        let units = text.encode_utf16();
        let pair = |unit: u16| {
            if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        };
        units.flat_map(pair).collect()
    };
    let msr = "130000000000000000,srv,0,Read,40960,32768,400\n";
    for marked in ["\u{feff}", ""] {
        for big in [false, true] {
            for format in ["", "msr"] {
                let text = utf16(&format!("{marked}{msr}"), big);
                refuses(format, text, "UTF-16 text: write it as UTF-8");
            }
        }
    }
    refuses(
        "",
        b"\x07tae\x01\0\0\0\xe8\x03\0\0",
        "binary blktrace: `blkparse -i FILE`",
    );
    refuses(
        "",
        b"eat\x07\0\0\0\x01",
        "binary blktrace: `blkparse -i FILE`",
    );
    refuses("", b"PERFILE2\0\0", "`perf script -i FILE`");
    refuses("", b"PAR1\x15\x04", "no good `parquet` file");
    refuses("", "<html>\n<body>\n", "web page");
    let events = "# tracer: nop\n#\n fio-1234 [001] d..1 123.456789: block_rq_issue: 259,0 WS 4096 () 2048 + 8 [fio]\n";
    refuses(
        "",
        events,
        "`destage trace import-ftrace FILE -o OUT.csv` reads it",
    );
}

#[test]
fn the_nearest_format_is_named_with_the_column_that_fails() {
    #[rustfmt::skip]
    let cases = [
        ("1,2,3,4\n", "`spc`, which fails at line 1, column 4 (opcode): `4` is no kind of request"),
        (
            "1,h,0,Erase,0,512,7\n1,h,0,Erase,0,512,7\n",
            "`msr`, which fails at line 1, column 4 (type): `Erase` is no kind of request; allowed: Read",
        ),
        ("# my own\n0 0 8 8 X\n", "`replayer`, which fails at line 2, column 5 (op): `X` is no kind of request"),
        ("1\nx\n2\ny\n", "`block-list`, which fails at line 2, column 1 (block): `x` is not a whole number"),
    ];
    for (text, expected) in cases {
        let message = refused("", text);
        says(&message, "no known trace format fits; first line `");
        says(&message, &format!("; the nearest is {expected}"));
    }
    assert!(!refused("", "a b c\n").contains("nearest"));
}
