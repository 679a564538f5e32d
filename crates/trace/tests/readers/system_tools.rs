//! Output of tools of operating systems: Windows events, biosnoop, iosnoop, perf, blkparse.

use crate::common::{Row, detected, overlay, read_with, refused, refuses, rows, says};
use destage_trace::{BlkEvent, LoadOptions, Trace};
use destage_types::Op::{Flush, Read, Trim, Write};
use destage_types::RequestFlags;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn names(trace: &Trace) -> Vec<&str> {
    trace.meta.volumes.iter().map(|v| &*v.name).collect()
}

const ETW: &str = "BeginHeader\n               DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID, \
    IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri\n      \
    DiskReadInit, TimeStamp\n         FileIoRead, TimeStamp, x\nEndHeader\n\
    OS Version: 6.0.6001, Trace Size: 1KB, Events Lost: 0\n";

#[test]
fn windows_events() {
    let text = format!(
        "{ETW}  DiskReadInit,  990, srv (  12), 34, 0xfff1\n  FileIoRead, 995, srv (  12), 7\n  \
         DiskRead, 1000, srv (  12), 34, 0xfff1, 0x0000100e00, 0x00002000, 4000, 4, 0x43, 3900, 0, \
         Unknown, 0xfff2, \"C:\\a, b\"\n  DiskWrite, 1250, srv (  12), 34, 0xfff1, 0x0000100000, \
         0x00001000, 400, 5, 0x43\n  DiskFlush, 1300, srv (  12), 34, 0xfff1, 77, 5, 0x0, 70, 0\n"
    );
    let trace = detected("etw", &text);
    let expected: [Row; 3] = [
        (0, Read, 0x10_0e00 / 512, 16, 4),
        (250 * US, Write, 0x10_0000 / 512, 8, 5),
        (300 * US, Flush, 0, 0, 5),
    ];
    assert_eq!(rows(&trace), expected);
    assert_eq!(trace.meta.unaligned_requests, 0);
}

#[test]
fn biosnoop_tables() {
    let text = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n\
                0.000100    app            11      vda       W 80000      4096      0.70\n\
                0.000300    Web Content    11      vdb       WS 80008      4096      0.60\n\
                0.000400    app            11      vda       R -1          8         0.60\n\
                0.000500    app            11                R 8           512       0.60\n\
                0.000600    jbd2/vda       11      vda       FF 0          0         0.60\n\
                0.001500    app            12      vda       R 80000      8192      1.20\n";
    let trace = detected("biosnoop", text);
    let expected: [Row; 5] = [
        (0, Write, 80_000, 8, 0),
        (200 * US, Write, 80_008, 8, 1),
        (400 * US, Read, 8, 1, 2),
        (500 * US, Flush, 0, 0, 0),
        (1_400 * US, Read, 80_000, 16, 0),
    ];
    assert_eq!(rows(&trace), expected);
    assert_eq!(names(&trace), ["vda", "vdb", "?"]);
    let queued = "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
                  0.5         a              7       sda     FWS  8          1000    0.01    0.4\n";
    let trace = detected("biosnoop", queued);
    assert_eq!(rows(&trace), [(0, Write, 8, 2, 0)]);
    let flags = trace.requests.records()[0].flags;
    assert_eq!(flags, RequestFlags::PREFLUSH);
    assert_eq!(trace.meta.unaligned_requests, 1);
    refuses("biosnoop", "0.5 a 7 sda W 8 512 0.4\n", "is no header");
}

#[test]
fn iosnoop_tables() {
    let text = "Tracing block I/O. Ctrl-C to end.\n\
                COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n\
                app              11     W    253,1    80000        4096       1.30\n\
                app              11     W    253,1    80008        4096       1.20\n\
                app              12     RM   253,1    80000        4096       7.50\n";
    let trace = detected("iosnoop", text);
    assert!(!trace.meta.timed);
    let expected: [Row; 3] = [
        (0, Write, 80_000, 8, 0),
        (US, Write, 80_008, 8, 0),
        (2 * US, Read, 80_000, 8, 0),
    ];
    assert_eq!(rows(&trace), expected);
    assert_eq!(names(&trace), ["253,1"]);
    for columns in ["STARTs         COMM", "STARTs ENDs COMM", "ENDs COMM"] {
        let times = columns.split_whitespace().count() - 1;
        let row = |time: &str| {
            format!(
                "{} app 12 W 253,1 8 512 7.50\n",
                [time; 2][..times].join(" ")
            )
        };
        let text = format!(
            "{columns} PID TYPE DEV BLOCK BYTES LATms\n{}{}",
            row("5.5"),
            row("5.75")
        );
        let trace = detected("iosnoop", &text);
        assert!(trace.meta.timed);
        assert_eq!(rows(&trace)[1].0, 250 * MS, "{columns}");
    }
}

#[test]
fn events_of_perf_script() {
    let text = "blkid 28996 [039] 5.696645: block:block_rq_complete: 8,0 R () 2048 + 8 [0]\n\
                a b   28997/28998 [039] 5.696745:      block:block_rq_issue: 8,0 W 4096 () 2056 + 8 [a b]\n\
                \tffffffff81234567 blk_mq_start_request+0x1 ([kernel.kallsyms])\n\
                fio   28997 [039] 5.7: sched:sched_switch: prev_comm=fio\n\
                fio   28997 [039] 5.8: block:block_rq_issue: 259,1 FWFS 4096 () 16 + 8 none,0,0 [fio]\n\
                fio   28997 [039] 5.9: block:block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [fio]\n\
                fio   28997 [039] 6.0: block:block_rq_issue: 8,0 D 4096 () 64 + 8 [fio]\n\
                fio   28997 [039] 6.1: block:block_bio_queue: 8,0 R 128 + 16 [(sd)]\n";
    let trace = detected("perf-script", text);
    let (sda, nvme) = (8 << 20, 259 << 20 | 1);
    let expected: [Row; 4] = [
        (0, Write, 2_056, 8, sda),
        (103_255 * US, Write, 16, 8, nvme),
        (203_255 * US, Flush, 0, 0, sda),
        (303_255 * US, Trim, 64, 8, sda),
    ];
    assert_eq!(rows(&trace), expected);
    assert_eq!(names(&trace), ["8,0", "259,1"]);
    let flags = trace.requests.records()[1].flags;
    assert_eq!(flags, RequestFlags::OF_WRITES);
    let with = |event: BlkEvent| LoadOptions {
        event: Some(event),
        ..overlay()
    };
    let queued = read_with("", text, &with(BlkEvent::Queue)).unwrap();
    assert_eq!(rows(&queued), [(0, Read, 128, 16, sda)]);
    let done = read_with("", text, &with(BlkEvent::Complete)).unwrap();
    assert_eq!(rows(&done), [(0, Read, 2_048, 8, sda)]);
    refuses(
        "perf-script",
        "nothing of perf\n",
        "`nothing of perf` is no event of perf script",
    );
}

#[test]
fn an_event_that_is_missing_is_said_with_those_that_are_there() {
    let text = "259,3 2 1 0.000000000 501 D W 7340032 + 80 [app]\n\
                259,3 2 2 0.000100000 0 C W 7340032 + 80 [0]\n\
                259,3 2 3 0.001000000 501 D R 4096 + 8 [app]\n\
                259,3 2 4 0.001300000 0 C R 4096 + 8 [0]\n";
    let message = refused("", text);
    says(
        &message,
        "no line has the event Q; lines of other events: 2 of D (block_rq_issue), 2 of C (",
    );
    says(&message, "`--event D`");
    let issued = LoadOptions {
        event: Some(BlkEvent::Issue),
        ..overlay()
    };
    let trace = read_with("", text, &issued).unwrap();
    let device = 259 << 20 | 3;
    let expected: [Row; 2] = [
        (0, Write, 7_340_032, 80, device),
        (MS, Read, 4_096, 8, device),
    ];
    assert_eq!(rows(&trace), expected);
    let perf = "a 1 [0] 5.5: block:block_bio_queue: 8,0 R 8 + 1 [a]\n";
    refuses(
        "",
        perf,
        "no line has the event D; lines of other events: 1 of Q (block_bio_queue)",
    );
}

#[test]
fn blkparse_summaries_of_processes_are_skipped() {
    let text = "8,0 1 1 0.5 7 Q R 8 + 8 [x]\njava (18615)\n Reads Queued:           1,      4KiB\n \
                Allocation wait:        0\n Dispatch wait:          9\n Completion wait:        7\n\n\
                Web Content (12)\n Reads Queued: 0, 0KiB\nCPU0 (sdb):\n Reads Queued: 1, 4KiB\n";
    assert_eq!(detected("blkparse", text).meta.requests, 1);
    refuses("blkparse", "8,0 1 1 0.5 (7)\n", "column 5 (pid)");
}
