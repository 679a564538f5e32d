//! The logs of fio and blkparse: what they mean, and what hostile input gives.

use crate::common::{detected, limited, overlay, read_with, refuses, rows};
use destage_trace::{BlkEvent, LoadOptions};
use destage_types::{Op, RequestFlags};

const MS: u64 = 1_000_000;

#[test]
fn fio_version_3() {
    let text = "fio version 3 iolog\n2 /dev/b add\n3 /dev/b open\n878 /dev/b write 0 16384\n\
                880 /dev/a read 513 512\n879 /dev/b trim 4096 8192\n900 /dev/b sync 0 0\n\
                901 /dev/b datasync\n10001677 /dev/b close\n";
    let trace = detected("fio", text);
    assert_eq!(
        rows(&trace),
        [
            (0, Op::Write, 0, 32, 0),
            (2_000, Op::Read, 1, 2, 1),
            (2_000, Op::Trim, 8, 16, 0),
            (22_000, Op::Flush, 0, 0, 0),
            (23_000, Op::Flush, 0, 0, 0),
        ]
    );
    assert!(trace.meta.timed);
    let names: Vec<&str> = trace.meta.volumes.iter().map(|v| &*v.name).collect();
    assert_eq!(names, ["/dev/b", "/dev/a"]);
    let long = format!("fio version 3 iolog\n0 {} add\n", "x".repeat(4_097));
    refuses("fio", long, "has more than 4096 bytes");
    refuses(
        "fio",
        "5 f read 0 512\n",
        "`5 f read 0 512` is not `fio version 2",
    );
}

#[test]
fn fio_version_2() {
    let untimed = "fio version 2 iolog\nf add\nf open\nf read 0 512\nf write 512 512\nf close\n";
    let trace = detected("fio", untimed);
    assert!(!trace.meta.timed);
    assert_eq!(rows(&trace)[1], (1_000, Op::Write, 1, 1, 0));
    // Waits are ms since the start of the job; one that is over waits for nothing.
    let waits = "fio version 2 iolog\nf read 0 512\nf read 0 512\nf wait 100 0\nf read 0 512\n\
                 f wait 1\nf read 0 512\nf wait 900\nf read 0 512\nf wait 400\nf read 0 512\n";
    let trace = detected("fio", waits);
    assert!(trace.meta.timed);
    let times: Vec<u64> = rows(&trace).iter().map(|row| row.0 / 1_000).collect();
    assert_eq!(times, [0, 1, 100_000, 100_001, 900_000, 900_001]);
}

const BLK: &str = "\
  8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 1444645632
  8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]
  8,16   5        4     0.000008750 18615  P   N [java]
  8,16   5        0     0.000012990     0  m   N cfq18615S / insert_request
  8,16   5        5     0.000009980 18615  D   R 1444645666 + 512 ( 3540) [java]
259,0   11        2     0.024124474  1889  Q FWFS [jbd2/dm-4-8]
259,0   11        4     0.024133625   612  D  FN [kworker/11:1H]
259,0   11        6     0.024903271     0  C WFS 575480360 [0]
259,0   11        7     0.025000000  1889  Q FWS 64 + 8 [jbd2/dm-4-8]
259,0   11        8     0.026000000  1889  Q  DS 128 + 64 [fstrim]
259,0   11        9     0.027000000  1889  Q   N 36 (12 00 00 00 24 00 ..) [udisks]
259,0   11       10     0.028000000     0  C  WS 64 + 8 [0]
CPU0 (sdb):
 Reads Queued:           1,      128KiB
Throughput (R/W): 0KiB/s / 46KiB/s
Events (nvme0n1): 1,364 entries
Input file nvme0n1.blktrace.10 added
";

#[test]
fn blkparse_queued_issued_and_completed() {
    let nvme = 259 << 20;
    let trace = detected("blkparse", BLK);
    let base = 1_850;
    assert_eq!(
        rows(&trace),
        [
            (0, Op::Read, 1_444_645_666, 256, 8 << 20 | 16),
            (24_124_474 - base, Op::Flush, 0, 0, nvme),
            (25 * MS - base, Op::Write, 64, 8, nvme),
            (26 * MS - base, Op::Trim, 128, 64, nvme),
        ]
    );
    let flagged = trace.requests.records().iter().map(|r| r.flags.bits());
    let preflush = RequestFlags::PREFLUSH.bits();
    assert!(flagged.eq([0, 0, preflush, 0]));
    let names: Vec<&str> = trace.meta.volumes.iter().map(|v| &*v.name).collect();
    assert_eq!(names, ["8,16", "259,0"]);
    let with = |event: &str| {
        let event: Option<BlkEvent> = Some(event.parse().unwrap());
        let options = LoadOptions { event, ..overlay() };
        rows(&read_with("", BLK, &options).unwrap())
    };
    let issued = [
        (0, Op::Read, 1_444_645_666, 512, 8 << 20 | 16),
        (24_133_625 - 9_980, Op::Flush, 0, 0, nvme),
    ];
    assert_eq!(with("D"), issued);
    assert_eq!(with("C"), [(0, Op::Write, 64, 8, nvme)]);
    assert!("X".parse::<BlkEvent>().is_err() && "".parse::<BlkEvent>().is_err());
    assert_eq!(BlkEvent::Issue.to_string(), "D");
}

#[test]
fn letters_of_writes_say_fua_and_preflush() {
    let (none, fua, preflush) = (
        RequestFlags::NONE,
        RequestFlags::FUA,
        RequestFlags::PREFLUSH,
    );
    for (letters, requests) in [
        ("W", vec![(Op::Write, none)]),
        ("WS", vec![(Op::Write, none)]),
        ("WFS", vec![(Op::Write, fua)]),
        ("WSF", vec![(Op::Write, fua)]),
        ("FWS", vec![(Op::Write, preflush)]),
        ("FWFSM", vec![(Op::Write, fua.and(preflush))]),
        ("RF", vec![(Op::Read, none)]),
        ("FDS", vec![(Op::Flush, none), (Op::Trim, none)]),
        ("DF", vec![(Op::Trim, none)]),
        ("FN", vec![(Op::Flush, none)]),
        ("FF", vec![(Op::Flush, none)]),
    ] {
        let data = if matches!(letters, "FN" | "FF") {
            ""
        } else {
            "8 + 8 "
        };
        let line = format!("8,0 1 1 0.5 7 Q {letters} {data}[x]\n");
        let trace = detected("blkparse", &line);
        let read: Vec<_> = trace
            .requests
            .records()
            .iter()
            .map(|r| (r.op, r.flags))
            .collect();
        assert_eq!(read, requests, "{letters}");
    }
}

#[test]
fn blkparse_errors() {}

#[test]
fn a_limit_may_part_the_two_requests_of_a_line() {
    let line = "8,0 1 1 0.5 7 Q FD 8 + 8 [x]\n";
    for limit in [1, 2, 3, 8_191, 8_192, 8_193] {
        let options = limited(limit);
        let trace = read_with("", line.repeat(6_000), &options).unwrap();
        assert_eq!(trace.meta.requests, limit);
        let ops = trace.requests.records().iter().map(|r| r.op);
        assert!(
            ops.enumerate()
                .all(|(i, op)| (op == Op::Flush) == (i % 2 == 0))
        );
    }
}
