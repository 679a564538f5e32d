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
    assert!(!refused("", "a b c\n").contains("nearest"));
}
