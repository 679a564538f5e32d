//! Each CSV format of other tools: what its columns mean, and what hostile input gives.

#[allow(dead_code)]
mod common;

use common::{check_errors, detected, rows};
use destage_types::Op;

const MS: u64 = 1_000_000;

#[test]
fn spc_columns_and_errors() {
    let text = "0,303567,3584,w,0.000000\n1,55590,3072,R,0.0262149999\n2,7,513,W,0.5,x,y\n\
                0,1,512,r,0.4\n";
    let trace = detected("spc", text);
    assert_eq!(
        rows(&trace),
        [
            (0, Op::Write, 303_567, 7, 0),
            (26_214_999, Op::Read, 55_590, 6, 1),
            (500 * MS, Op::Write, 7, 2, 2),
            (500 * MS, Op::Read, 1, 1, 0),
        ]
    );
    assert_eq!(trace.meta.unaligned_requests, 1);
    assert_eq!(trace.meta.arrival_corrections, 1);
    check_errors(
        "spc",
        "0,8,512,r,1.0\n",
        "
         -1,8,512,r,1 => column 1 (asu): `-1` is negative
         4294967296,8,512,r,1 => column 1 (asu): `4294967296` does not fit 32 bits
         0,549755813888,512,r,1 => column 2 (lba): `549755813888` starts or ends behind
         0,36028797018963968,512,r,1 => column 2 (lba)
         0,18446744073709551616,512,r,1 => column 2 (lba): `18446744073709551616` does not
         0,8,0,r,1 => column 3 (size): `0` is zero
         0,8,99999999999999,r,1 => column 3 (size): `99999999999999` is longer
         0,8,512,x,1 => column 4 (opcode): `x` is no kind of request; allowed: r, R
         0,8,512,r,-1.5 => column 5 (timestamp): `-1.5` is negative
         0,8,512,r,1e3 => column 5 (timestamp): `1e3` is not a decimal number
         0,8,512,r,99999999999.0 => column 5 (timestamp): `99999999999.0` is too large
         0,8,512,r, => column 5 (timestamp): `` is empty
         0,8,512,r => column 5 (timestamp): `` is missing
",
    );
}

#[test]
fn systor_columns_and_errors() {
    let header = "Timestamp,Response,IOType,LUN,Offset,Size\n";
    let lines = "1455591804.310701000,0.006475000,R,0,203468398592,32768\n\
                 1455591804.318699001,,W,6,513,512\n";
    let trace = detected("systor17", &format!("{header}{lines}{header}{lines}"));
    let first = (0, Op::Read, 203_468_398_592 / 512, 64, 0);
    let second = (7_998_001, Op::Write, 1, 2, 6);
    assert_eq!(rows(&trace)[..2], [first, second]);
    assert_eq!(
        (trace.meta.requests, trace.meta.arrival_corrections),
        (4, 1)
    );
    assert_eq!(trace.meta.unaligned_requests, 2);
    // A cut from the middle of a file has no header.
    assert_eq!(detected("systor17", lines).meta.requests, 2);
    check_errors(
        "systor17",
        lines,
        "
         x,0.1,R,0,0,512 => column 1 (Timestamp): `x` is not a decimal number
         99999999999.0,0.1,R,0,0,512 => column 1 (Timestamp): `99999999999.0` is too large
         1.0,x,R,0,0,512 => column 2 (Response): `x` is not a decimal
         1.0,0.1,,0,0,512 => column 3 (IOType): `` is no kind of request
         1.0,0.1,R,x,0,512 => column 4 (LUN): `x` is not a whole number
         1.0,0.1,R,0,-512,512 => column 5 (Offset): `-512` is negative
         1.0,0.1,R,0,281474976710656,1 => column 5 (Offset)
         1.0,0.1,R,0,0,0 => column 6 (Size): `0` is zero
         1.0,0.1,R,0,0 => column 6 (Size): `` is missing
         1.0,0.1,R,0,0,512, => column 7: `` is one column too many
",
    );
}

#[test]
fn alibaba_columns_and_errors() {
    let text = "device_id,opcode,offset,length,timestamp\n\
                419,W,8792731648,16384,1577808144360767\n725,R,511,2,1577808144360800\n\
                725,R,0,512,1577808144360799\n";
    let trace = detected("alibaba", text);
    assert_eq!(
        rows(&trace),
        [
            (0, Op::Write, 8_792_731_648 / 512, 32, 419),
            (33_000, Op::Read, 0, 2, 725),
            (33_000, Op::Read, 0, 1, 725),
        ]
    );
    let meta = &trace.meta;
    assert_eq!((meta.unaligned_requests, meta.arrival_corrections), (1, 1));
    check_errors(
        "alibaba",
        "1,R,0,512,5\n",
        "
         -1,R,0,512,5 => column 1 (device_id): `-1` is negative
         4294967296,R,0,512,5 => column 1 (device_id)
         1,read,0,512,5 => column 2 (opcode): `read` is no kind of request
         1,R,1.5,512,5 => column 3 (offset): `1.5` is not a whole number
         1,R,18446744073709551615,512,5 => column 3 (offset)
         1,R,0,0,5 => column 4 (length): `0` is zero
         1,R,0,512,x => column 5 (timestamp): `x` is not a whole number
         1,R,0,512 => column 5 (timestamp): `` is missing
         1,R,0,512,18446744073709551615 => column 5 (timestamp): `18446744073709551615` is m
         1,R,0,512,5,6 => column 6: `6` is one column too many
",
    );
}

#[test]
fn tencent_columns_and_errors() {
    let text = "1538323200,4247200,128,1,1058\n1538323199,13896880,8,0,1063\n1538323202,0,1,0,7\n";
    let trace = detected("tencent", text);
    assert_eq!(
        rows(&trace),
        [
            (0, Op::Write, 4_247_200, 128, 1058),
            (0, Op::Read, 13_896_880, 8, 1063),
            (2_000 * MS, Op::Read, 0, 1, 7),
        ]
    );
    assert_eq!(trace.meta.arrival_corrections, 1);
    check_errors(
        "tencent",
        "5,8,8,0,1\n",
        "
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
    );
}
