//! Formats that are tables of columns: what the columns mean, and what hostile input gives.

use crate::common::{cases, check_errors, detected, read, read_with, rows};
use destage_trace::{LoadOptions, TimeUnit};
use destage_types::Op;

struct Example {
    format: &'static str,
    /// `line => arrival in ns, kind, first sector, sectors, stream`, or nothing behind a header.
    good: &'static str,
    /// Requests whose time ran back, and whose bytes were no whole sectors.
    corrected: (u64, u64),
    /// The text in front of a bad line, and the bad lines with their messages.
    front: &'static str,
    bad: &'static str,
}

const EXAMPLES: [Example; 8] = [
    Example {
        format: "spc",
        good: "
            0,303567,3584,w,0.000000 => 0 W 303567 7 0
            1,55590,3072,R,0.0262149999 => 26214999 R 55590 6 1
            2,7,513,W,0.5,x,y => 500000000 W 7 2 2
            0,1,512,r,0.4 => 500000000 R 1 1 0
        ",
        corrected: (1, 1),
        front: "0,8,512,r,1.0\n",
        bad: "
            -1,8,512,r,1 => column 1 (asu): `-1` is negative
            4294967296,8,512,r,1 => column 1 (asu): `4294967296` does not fit 32 bits
            0,549755813888,512,r,1 => column 2 (lba): `549755813888` starts or ends behind
            0,36028797018963968,512,r,1 => column 2 (lba)
            0,18446744073709551616,512,r,1 => column 2 (lba): `18446744073709551616` does not
            0,8,0,r,1 => column 3 (size): `0` is zero
            0,8,99999999999999,r,1 => column 3 (size): `99999999999999` is longer
            0,8,512,x,1 => column 4 (opcode): `x` is no kind of request; allowed: r, R
            0,8,512,r,-1.5 => column 5 (timestamp): `-1.5` is negative
            0,8,512,r,1e3x => column 5 (timestamp): `1e3x` is not a decimal number
            0,8,512,r,99999999999.0 => column 5 (timestamp): `99999999999.0` is too large
            0,8,512,r, => column 5 (timestamp): `` is empty
            0,8,512,r => column 5 (timestamp): `` is missing
        ",
    },
    Example {
        format: "systor17",
        good: "
            Timestamp,Response,IOType,LUN,Offset,Size =>
            1455591804.310701000,0.006475000,R,0,203468398592,32768 => 0 R 397399216 64 0
            1455591804.318699001,,W,6,513,512 => 7998001 W 1 2 6
            Timestamp,Response,IOType,LUN,Offset,Size =>
            1455591804.310701000,0.006475000,R,0,203468398592,32768 => 7998001 R 397399216 64 0
            1455591804.318699001,,W,6,513,512 => 7998001 W 1 2 6
        ",
        corrected: (1, 2),
        front: "1455591804.310701000,0.006475000,R,0,203468398592,32768\n1455591804.318699001,,W,6,513,512\n",
        bad: "
            x,0.1,R,0,0,512 => column 1 (Timestamp): `x` is not a decimal number
            99999999999.0,0.1,R,0,0,512 => column 1 (Timestamp): `99999999999.0` is too large
            1.0,x,R,0,0,512 => column 2 (Response): `x` is not a decimal
            1.0,0.1,X,0,0,512 => column 3 (IOType): `X` is no kind of request
            1.0,0.1,R,x,0,512 => column 4 (LUN): `x` is not a whole number
            1.0,0.1,R,0,-512,512 => column 5 (Offset): `-512` is negative
            1.0,0.1,R,0,281474976710656,1 => column 5 (Offset)
            1.0,0.1,R,0,0,0 => column 6 (Size): `0` is zero
            1.0,0.1,R,0,0 => column 6 (Size): `` is missing
            1.0,0.1,R,0,0,512, => column 7: `` is one column too many
        ",
    },
    Example {
        format: "alibaba",
        good: "
            device_id,opcode,offset,length,timestamp =>
            419,W,8792731648,16384,1577808144360767 => 0 W 17173304 32 419
            725,R,511,2,1577808144360800 => 33000 R 0 2 725
            725,R,0,512,1577808144360799 => 33000 R 0 1 725
        ",
        corrected: (1, 1),
        front: "1,R,0,512,5\n",
        bad: "
            -1,R,0,512,5 => column 1 (device_id): `-1` is negative
            4294967296,R,0,512,5 => column 1 (device_id)
            1,erase,0,512,5 => column 2 (opcode): `erase` is no kind of request
            1,R,1.5,512,5 => column 3 (offset): `1.5` is not a whole number
            1,R,18446744073709551615,512,5 => column 3 (offset)
            1,R,0,0,5 => column 4 (length): `0` is zero
            1,R,0,512,x => column 5 (timestamp): `x` is not a whole number
            1,R,0,512 => column 5 (timestamp): `` is missing
            1,R,0,512,18446744073709551615 => column 5 (timestamp): `18446744073709551615` is m
            1,R,0,512,5,6 => column 6: `6` is one column too many
        ",
    },
    Example {
        format: "tencent",
        good: "
            1538323200,4247200,128,1,1058 => 0 W 4247200 128 1058
            1538323199,13896880,8,0,1063 => 0 R 13896880 8 1063
            1538323202,0,1,0,7 => 2000000000 R 0 1 7
        ",
        corrected: (1, 0),
        front: "5,8,8,0,1\n",
        bad: "
            1.5,8,8,0,1 => column 1 (timestamp): `1.5` is not a whole number
            18446744073709551615,8,8,0,1 => column 1 (timestamp)
            5,549755813888,8,0,1 => column 2 (offset)
            5,8,0,0,1 => column 3 (size): `0` is zero
            5,8,4294967296,0,1 => column 3 (size)
            5,8,8,2,1 => column 4 (io_type): `2` is no kind of request; allowed: 0 (read)
            5,8,8,0,-1 => column 5 (volume_id): `-1` is negative
            5,8,8,0 => column 5 (volume_id): `` is missing
            5,8,8,0,1,1 => column 6: `1` is one column too many
        ",
    },
    Example {
        format: "disksim",
        good: "
            10.000 5 174224064 16 1 => 0 R 174224064 16 5
            10.2210009 \t3 7 1 0 => 221000 W 7 1 3
            9 5 8 8 1 => 221000 R 8 8 5
        ",
        corrected: (1, 0),
        front: "1.5 0 8 8 1\n",
        bad: "
            -1.5 0 8 8 1 => column 1 (time): `-1.5` is negative
            1.x 0 8 8 1 => column 1 (time): `1.x` is not a decimal number
            99999999999999.0 0 8 8 1 => column 1 (time): `99999999999999.0` is too large
            1.5 4294967296 8 8 1 => column 2 (device): `4294967296` does not fit 32 bits
            1.5 0 549755813887 2 1 => column 3 (block)
            1.5 0 18446744073709551616 8 1 => column 3 (block)
            1.5 0 8 0 1 => column 4 (size): `0` is zero
            1.5 0 8 -8 1 => column 4 (size): `-8` is negative
            1.5 0 8 8 2 => column 5 (flags): `2` is no kind of request; allowed: 1 (read)
            1.5 0 8 8 => column 5 (flags): `` is missing
            1.5 0 8 8 1 0 => column 6: `0` is one column too many
        ",
    },
    Example {
        format: "ssdsim",
        good: "
            7 1 303567 7 0 => 0 W 303567 7 1
            26214007 2 303574 8 1 => 26214000 R 303574 8 2
            5 1 1 1 0 => 26214000 W 1 1 1
        ",
        corrected: (1, 0),
        front: "5 0 8 8 1\n",
        bad: "
            1.5 0 8 8 1 => column 1 (time): `1.5` is not a whole number
            18446744073709551616 0 8 8 1 => column 1 (time)
            5 x 8 8 1 => column 2 (device): `x` is not a whole number
            5 0 549755813888 1 1 => column 3 (sector)
            5 0 8 4294967296 1 => column 4 (sectors)
            5 0 8 8 X => column 5 (op): `X` is no kind of request
            5 0 8 8 1 xyz => column 6 (hash): `xyz` is no hash in hexadecimal digits
            5 0 8 8 1 ab 1 => column 7: `1` is one column too many
            5 0 8 => column 4 (sectors): `` is missing
        ",
    },
    Example {
        format: "replayer",
        good: "
            0.000 0 200626176 4096 0 => 0 W 391848 8 0
            223.412 1 3159347200 36864 1 => 223412000 R 6170600 72 1
        ",
        corrected: (0, 0),
        front: "1.5 0 512 512 1\n",
        bad: "
            x 0 512 512 1 => column 1 (time): `x` is not a decimal number
            1.5 -1 512 512 1 => column 2 (device): `-1` is negative
            1.5 0 281474976710656 512 1 => column 3 (offset)
            1.5 0 512 0 1 => column 4 (size): `0` is zero
            1.5 0 512 9999999999999 1 => column 4 (size)
            1.5 0 512 512 3 => column 5 (op): `3` is no kind of request
            1.5 0 512 512 => column 5 (op): `` is missing
        ",
    },
    Example {
        format: "diskmon",
        good: "
            0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8 => 0 W 3271215 8 0
            1\t0.0163751239\t5.7E-05\t1\tread\t7\t1 => 123 R 7 1 1
            2 0.01 0 0 Read 8 8 => 123 R 8 8 0
        ",
        corrected: (1, 0),
        front: "0\t0.5\t0.1\t0\tRead\t8\t8\n",
        bad: "
            x\t0.5\t0.1\t0\tRead\t8\t8 => column 1 (number): `x` is not a whole number
            0\t-0.5\t0.1\t0\tRead\t8\t8 => column 2 (time): `-0.5` is negative
            0\t0.5\t-0.1\t0\tRead\t8\t8 => column 3 (duration): `-0.1` is not a decimal
            0\t0.5\tnan\t0\tRead\t8\t8 => column 3 (duration): `nan`
            0\t0.5\t0.1\t-1\tRead\t8\t8 => column 4 (disk): `-1` is negative
            0\t0.5\t0.1\t0\tSeek\t8\t8 => column 5 (request): `Seek` is no kind of request
            0\t0.5\t0.1\t0\tRead\t549755813888\t8 => column 6 (sector)
            0\t0.5\t0.1\t0\tRead\t8\t0 => column 7 (length): `0` is zero
            0\t0.5\t0.1\t0\tRead\t8 => column 7 (length): `` is missing
            0\t0.5\t0.1\t0\tRead\t8\t8\t8 => column 8: `8` is one column too many
        ",
    },
];

#[test]
fn columns_mean_what_they_say() {
    for example in &EXAMPLES {
        let (mut text, mut expected) = (String::new(), Vec::new());
        for (line, row) in cases(example.good) {
            text += &format!("{line}\n");
            expected.extend((!row.is_empty()).then_some(row));
        }
        let trace = detected(example.format, &text);
        let read = rows(&trace)
            .into_iter()
            .map(|(ns, op, start, sectors, stream)| {
                let op = if op == Op::Read { 'R' } else { 'W' };
                format!("{ns} {op} {start} {sectors} {stream}")
            });
        assert_eq!(read.collect::<Vec<_>>(), expected, "{}", example.format);
        let meta = &trace.meta;
        let corrected = (meta.arrival_corrections, meta.unaligned_requests);
        assert_eq!(corrected, example.corrected, "{}", example.format);
    }
}

#[test]
fn bad_columns_are_named() {
    for Example {
        format, front, bad, ..
    } in &EXAMPLES
    {
        check_errors(format, front, bad);
    }
}

#[test]
fn what_single_formats_allow() {
    // A cut from the middle of a file has no header.
    assert_eq!(detected("systor17", EXAMPLES[1].front).meta.requests, 2);
    assert_eq!(read("mqsim", "0 0 8 8 1\n").unwrap().meta.format, "ssdsim");
    let hashed = detected("ssdsim", "0 0 512 1024 0 3f4fC2\n1851 0 1024 512 1 2e56\n");
    assert_eq!(rows(&hashed)[0], (0, Op::Write, 512, 1024, 0));
    let trace = read("replayer", "0.0 0 511 2 0\n").unwrap();
    assert_eq!(rows(&trace), [(0, Op::Write, 0, 2, 0)]);
    assert_eq!(trace.meta.unaligned_requests, 1);
}

/// Arrival of the second request, `line` with its time `time` after 0.
fn second_arrival(format: &str, time: &str, rest: &str, unit: &str) -> Result<u64, String> {
    let options = LoadOptions {
        time_unit: Some(unit.parse::<TimeUnit>().unwrap()),
        ..LoadOptions::default()
    };
    match read_with(format, format!("0{rest}\n{time}{rest}\n"), &options) {
        Ok(trace) => Ok(rows(&trace)[1].0),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn times_have_the_unit_that_is_said() {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    for (unit, ns) in units.into_iter().chain([("ns", 1)]) {
        // Whole numbers, and numbers with a fraction whose digits behind the ns are dropped.
        assert_eq!(second_arrival("ssdsim", "7", " 0 8 8 0", unit), Ok(7 * ns));
        let fraction = second_arrival("disksim", "1.25", " 0 8 8 0", unit);
        assert_eq!(fraction, Ok(ns * 125 / 100), "{unit}");
        let msr = second_arrival("msr", "7", ",h,0,Write,4096,4096,1", unit);
        assert_eq!(msr, Ok(7 * ns));
    }
    // More digits than the unit of the format would keep.
    let digits = second_arrival("disksim", "1.2500000191", " 0 8 8 0", "s");
    assert_eq!(digits, Ok(1_250_000_019));
    let refused = |format, time, unit| second_arrival(format, time, " 0 8 8 0", unit).unwrap_err();
    assert_eq!(
        refused("ssdsim", "7.5", "us"),
        "trace.csv: line 2, column 1 (time): `7.5` is not a whole number; allowed: a number of us"
    );
    assert_eq!(
        refused("fio", "7", "us"),
        "trace.csv: the times of `fio` have the unit that the format says, and no other"
    );
    assert!("min".parse::<TimeUnit>().is_err());
}
