//! Compressed files: told by content, read across frames, refused when damaged.

use crate::common::{gz, limited, msr_lines, read, refuses, says, told, xz, zst};
use destage_trace::{Container, FORMATS, LoadOptions, Source, TraceError, load};
use sha2::{Digest, Sha256};

type Pack = fn(&[u8]) -> Vec<u8>;
const PACKERS: [(Container, Pack); 4] = [
    (Container::Plain, |bytes| bytes.to_vec()),
    (Container::Zstd, zst),
    (Container::Gzip, gz),
    (Container::Xz, xz),
];

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[test]
fn every_container_holds_the_same_trace_and_its_own_hash() {
    let text = msr_lines(20_000);
    let plain = read("", &text).unwrap();
    assert_eq!(plain.meta.requests, 20_000);
    for (container, pack) in PACKERS {
        let packed = pack(text.as_bytes());
        let trace = read("", &packed).unwrap();
        assert_eq!(trace.meta.container, container);
        assert_eq!(trace.requests.records(), plain.requests.records());
        assert_eq!(trace.meta.sha256, Some(sha256(&packed)));
    }
}

#[test]
fn every_format_reads_its_example_from_every_container() {
    for &format in FORMATS.iter() {
        let plain = read("", format.example).unwrap();
        for (_, pack) in &PACKERS[1..] {
            let packed = pack(format.example);
            let trace = read("", &packed).unwrap();
            assert_eq!(trace.meta.format, format.name);
            assert_eq!(trace.requests.records(), plain.requests.records());
            // Cut off in the middle of the compressed bytes.
            assert!(read("", &packed[..packed.len() - 5]).is_err());
        }
    }
}

#[test]
fn frames_members_and_streams_in_a_row_are_one_file() {
    let text = msr_lines(3_000);
    // The cut is inside a line.
    let (a, b) = text.as_bytes().split_at(text.len() / 2 - 7);
    let plain = read("", &text).unwrap();
    for (container, pack) in PACKERS {
        let mut packed = pack(a);
        packed.extend(pack(b""));
        packed.extend(pack(b));
        let trace = read("", &packed).unwrap();
        assert_eq!(told(&trace), told(&plain), "{container}");
        assert_eq!(trace.meta.sha256, Some(sha256(&packed)));
    }
}

#[test]
fn a_skippable_zstd_frame_may_come_first() {
    let mut packed = b"\x50\x2a\x4d\x18\x04\0\0\0abcd".to_vec();
    packed.extend(zst(b"1\n2\n"));
    assert_eq!(read("", &packed).unwrap().meta.requests, 2);
}

#[test]
fn truncated_files_are_errors_wherever_they_end() {
    let text = msr_lines(2_000);
    for (container, pack) in &PACKERS[1..] {
        let packed = pack(text.as_bytes());
        let len = packed.len();
        for end in [2, 3, 7, 8, 9, 12, 20, len / 2, len - 9, len - 1] {
            let error = read("", &packed[..end]).err();
            let error = error.unwrap_or_else(|| panic!("{container} cut at {end} was read"));
            let damaged = matches!(error, TraceError::Damaged { .. });
            assert!(damaged, "{container} cut at {end}: {error}");
            says(error.to_string(), &format!("truncated {container} file"));
        }
    }
}

#[test]
fn a_second_frame_that_is_cut_is_an_error() {
    for (container, pack) in &PACKERS[1..] {
        let mut packed = pack(msr_lines(100).as_bytes());
        let second = pack(msr_lines(100).as_bytes());
        packed.extend(&second[..second.len() - 5]);
        let error = read("msr", &packed).err();
        let damaged = matches!(error, Some(TraceError::Damaged { .. }));
        assert!(damaged, "{container}: {error:?}");
    }
}

#[test]
fn data_behind_the_end_is_an_error() {
    for pack in [gz, xz] {
        for junk in [&b"x"[..], b"\0\0\0", b"no compressed data at all"] {
            let mut packed = pack(msr_lines(100).as_bytes());
            packed.extend(junk);
            refuses("msr", &packed, "trailing data behind the end");
        }
    }
    // The padding that xz allows.
    for behind in [&b""[..], &xz(msr_lines(50).as_bytes())] {
        let mut packed = xz(msr_lines(50).as_bytes());
        packed.extend([0; 8]);
        packed.extend(behind);
        let requests = if behind.is_empty() { 50 } else { 100 };
        assert_eq!(read("msr", &packed).unwrap().meta.requests, requests);
    }
}

#[test]
fn damaged_files_are_errors() {
    let text = msr_lines(2_000);
    for (container, pack) in &PACKERS[2..] {
        let mut packed = pack(text.as_bytes());
        let middle = packed.len() / 2;
        packed[middle] ^= 0x55;
        // gzip and xz have checksums; a plain zstd frame need not have one.
        let error = read("msr", &packed).err();
        assert!(error.is_some(), "{container}");
    }
    let mut packed = zst(text.as_bytes());
    packed.extend(b"no frame");
    refuses("msr", &packed, "zstd");
}

#[test]
fn compressed_nothing_is_an_empty_trace() {
    for (_, pack) in PACKERS {
        for format in ["", "msr"] {
            let error = read(format, pack(b"")).err();
            assert!(matches!(error, Some(TraceError::Empty { .. })), "{error:?}");
        }
    }
}

#[test]
fn the_hash_covers_the_file_behind_the_limit() {
    let text = msr_lines(30_000);
    let options = limited(10);
    for (container, pack) in PACKERS {
        let packed = pack(text.as_bytes());
        let hash = sha256(&packed);
        let trace = load(Source::bytes("x", packed), &options).unwrap();
        let requests = (trace.meta.requests, trace.requests.len());
        assert_eq!(requests, (10, 10), "{container}");
        assert_eq!(trace.meta.sha256, Some(hash), "{container}");
    }
}

#[test]
fn files_are_read_by_name_and_the_extension_says_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hm_0.csv.gz");
    let packed = zst(msr_lines(50).as_bytes());
    std::fs::write(&path, &packed).unwrap();
    let trace = load(Source::from_arg(&path), &LoadOptions::default()).unwrap();
    assert_eq!(trace.meta.name, "hm_0");
    assert_eq!(trace.meta.container, Container::Zstd);
    assert_eq!(trace.meta.sha256, Some(sha256(&packed)));

    for none in [dir.path().join("no"), dir.path().to_owned()] {
        let none = load(Source::from_arg(none), &LoadOptions::default());
        assert!(matches!(none, Err(TraceError::Io { .. })));
    }
}
