//! Each binary format: what its records mean, and what damaged files give.

use crate::common::{bin, limited, read, read_with, refused, refuses, says, skipping, told};
use destage_trace::FORMATS;
use destage_types::{Extent, HostRequest, Nanos, Op, RequestBatch};

fn vscsi1(cmd: u16, len: u32, lbn: u64, ts: u64) -> Vec<u8> {
    let words = [7, len, 1, u32::from(cmd) | 0x0100_0000].map(u32::to_le_bytes);
    [words.concat(), [lbn, ts].map(u64::to_le_bytes).concat()].concat()
}

fn vscsi2(cmd: u16, len: u32, lbn: u64, ts: u64) -> Vec<u8> {
    let words = [u32::from(cmd) | 0x0200_0000, 7, len, 1].map(u32::to_le_bytes);
    [words.concat(), [lbn, ts, 55].map(u64::to_le_bytes).concat()].concat()
}

fn oracle(time: u32, id: u64, size: u32, next: i64) -> Vec<u8> {
    let mut out = time.to_le_bytes().to_vec();
    out.extend(id.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(next.to_le_bytes());
    out
}

#[test]
fn vscsi_of_both_versions() {
    for record in [vscsi1, vscsi2] {
        let bytes = [
            record(0x2a, 512, 42_932_745, 1_000_000),
            record(0x28, 513, 8, 1_000_007),
            record(0x35, 0, 0, 1_000_006),
            record(0x88, 4_096, 16, 1_000_008),
        ]
        .concat();
        let trace = read("", &bytes).unwrap();
        assert_eq!(trace.meta.format, "vscsi");
        let rows = "0 W 42932745 1 0, 7000 R 8 2 0, 7000 F 0 0 0, 8000 R 16 8 0";
        assert_eq!(told(&trace), rows);
        assert_eq!(trace.meta.arrival_corrections, 1);
        assert_eq!(trace.meta.unaligned_requests, 1);
    }
}

#[test]
fn vscsi_errors_name_record_and_field() {
    let good = vscsi1(0x2a, 512, 8, 5);
    let mut other_version = good.clone();
    other_version[15] = 2;
    let record = |len, lbn, ts| vscsi1(0x2a, len, lbn, ts);
    #[rustfmt::skip]
    let cases = [
        (vscsi1(0x12, 36, 0, 5), "column 2 (cmd): `0x12` is no command that moves data"),
        (record(0, 8, 5), "column 4 (len): `0` is zero"),
        (record(512, 1 << 39, 5), "column 5 (lbn): `549755813888` starts or ends behind"),
        (record(512, u64::MAX, 5), "column 5 (lbn)"),
        (record(512, 8, u64::MAX), "column 1 (ts): `18446744073709551615` is more than 584"),
        (other_version, "column 3 (ver): `2` is not the version of the first records"),
        (good[..31].to_vec(), "`31 bytes` the record is cut off"),
    ];
    for (bad, expected) in cases {
        let bytes = [&good[..], &good, &bad].concat();
        let message = refused("", &bytes);
        assert!(message.starts_with("trace.csv: record 3"), "{message}");
        says(&message, expected);
        says(&message, "; allowed: ");
        let meta = read_with("", &bytes, &skipping()).unwrap().meta;
        assert_eq!((meta.requests, meta.skipped_lines), (2, 1), "{expected}");
    }
    refuses("vscsi", b"text", "neither version 1 nor version 2");
    refuses("vscsi", b"", "neither version");
}

#[test]
fn a_byte_order_mark_of_a_binary_file_is_data() {
    let mut bytes = vscsi1(0x2a, 512, 8, 5);
    bytes[..3].copy_from_slice(b"\xef\xbb\xbf");
    let bytes = [bytes, vscsi1(0x28, 512, 8, 6), vscsi1(0x28, 512, 9, 7)].concat();
    assert_eq!(read("", &bytes).unwrap().meta.requests, 3);
}

#[test]
fn oracle_general_records() {
    let bytes = [
        oracle(5, 7, 4_096, 3),
        oracle(5, (1 << 36) - 1, 1, -1),
        oracle(9, 7, 65_536, i64::MAX),
    ]
    .concat();
    let trace = read("", &bytes).unwrap();
    assert_eq!(trace.meta.format, "oracle-general");
    let last = (1u64 << 39) - 8;
    let rows = format!("0 R 56 8 0, 0 R {last} 8 0, 4000000000 R 56 8 0");
    assert_eq!(told(&trace), rows);
    let behind = [&bytes[..], &oracle(9, 1 << 36, 1, -1)].concat();
    let part = "record 4, column 2 (obj_id): `68719476736` starts or ends behind";
    refuses("oracle-general", behind, part);
    refuses(
        "",
        &bytes[..71],
        "record 3: `23 bytes` the record is cut off",
    );
    // Values that no file of the format holds rule the format out.
    for wrong in [
        oracle(4, 7, 4_096, -1),
        oracle(9, 7, 0, -1),
        oracle(9, 7, 4_096, 3),
        oracle(9, 7, 4_096, 1 << 50),
    ] {
        let bytes = [&bytes[..], &wrong].concat();
        refuses("", bytes, "no known trace format fits");
    }
}

fn small() -> Vec<u8> {
    let mut batch = RequestBatch::new();
    batch.push(HostRequest::new(Nanos(0), Op::Write, 8, 8));
    let more = Extent::new(64, 8);
    let second = HostRequest::new(Nanos(5), Op::Write, 8, 8);
    batch.push_with(second, &[more], &[1, 2]);
    bin(&batch, &[], true)
}

#[test]
fn destage_bin_is_never_read_wrong() {
    let good = small();
    assert_eq!(read("", &good).unwrap().meta.requests, 2);
    // Every cut and every changed byte is noticed.
    for len in 0..good.len() {
        assert!(read("destage-bin", &good[..len]).is_err(), "{len}");
    }
    for at in 0..good.len() {
        for bit in [0x01, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= bit;
            assert!(read("destage-bin", &bad).is_err(), "{at}");
        }
    }
    let longer = [&good[..], b"\0"].concat();
    refuses("", longer, "its length is not what the header says");
    refuses("", &good[..good.len() - 1], "it is cut off");
    let mut damaged = good.clone();
    damaged[64 + 32 + 8] ^= 8;
    refuses("", damaged, "its hash is wrong");
}

#[test]
fn another_version_is_refused_whatever_follows() {
    let mut bytes = small();
    bytes[8] = 2;
    for len in [12, 20, bytes.len()] {
        refuses("", &bytes[..len], "version 2 is not known; known: 1");
    }
}

#[test]
fn counts_in_a_header_do_not_ask_for_memory() {
    let mut bytes = small();
    for at in [16, 24, 64, 68, 72, 76] {
        let mut bad = bytes.clone();
        bad[at..at + 4].fill(0xff);
        assert!(read("", &bad).is_err());
    }
    bytes[16..24].fill(0xff);
    assert!(read("", &bytes).is_err());
}

#[test]
fn destage_bin_is_read_up_to_a_limit_without_its_end() {
    let mut batch = RequestBatch::new();
    for i in 0..30_000 {
        batch.push(HostRequest::new(Nanos(i), Op::Read, i, 1));
    }
    let bytes = bin(&batch, &[], false);
    for limit in [1, 8_191, 8_192, 8_193, 20_000] {
        let options = limited(limit);
        // The rest of the file may be missing.
        let trace = read_with("", &bytes[..bytes.len() - 40], &options).unwrap();
        assert_eq!(trace.requests.records(), &batch.records()[..limit as usize]);
        assert!(!trace.meta.timed);
    }
}

#[test]
fn binary_examples_are_binary() {
    for format in FORMATS.iter().filter(|f| !f.separator.is_text()) {
        let binary = format.example.iter().any(|&byte| byte < 9);
        assert!(binary, "{}", format.name);
    }
}

#[test]
fn oracle_ids_that_are_no_numbers_of_blocks_are_numbered() {
    let id = 0x9e3_5fb5_263e_5f3e;
    let ids = [id, u64::MAX, id, 5].into_iter().zip(0..);
    let bytes: Vec<u8> = ids.flat_map(|(id, at)| oracle(at, id, 500, -1)).collect();
    let trace = read("", &bytes).unwrap();
    assert_eq!(trace.meta.format, "oracle-objects");
    let blocks = trace.requests.records().iter().map(|r| r.start_sector / 8);
    assert_eq!(blocks.collect::<Vec<_>>(), [0, 1, 0, 2]);
    // One id beyond the addresses is enough; the format says so where it comes late.
    let late = [oracle(0, 7, 4_096, -1), oracle(1, 1 << 36, 4_096, -1)].concat();
    assert_eq!(read("", &late).unwrap().meta.format, "oracle-objects");
    refuses("oracle-general", &late, "`oracle-objects` takes any");
}

#[test]
fn oracle_sizes_that_are_not_used_are_said() {
    let sizes = [512, 512, 6_656, 69_632, 512];
    let bytes: Vec<u8> = sizes
        .iter()
        .zip(0..)
        .flat_map(|(&size, i)| oracle(100 + i, 42_932_745 + u64::from(i), size, -1))
        .collect();
    let trace = read("", &bytes).unwrap();
    assert_eq!(trace.meta.format, "oracle-general");
    says(
        &trace.meta.notes[0],
        "records with another size than 4096 B: 5",
    );
    says(&trace.meta.notes[0], "name 77824 B");
    let blocks = oracle(100, 7, 4_096, -1);
    assert!(read("", &blocks).unwrap().meta.notes.is_empty());
}
