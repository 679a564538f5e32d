//! Traces as they are written: formats, compression, and what a format loses.

use crate::common::{Bench, HEAD, mixed, unframed};
use std::fs;

const TWO_DISKS: &str = "0,hm,0,Write,4096,8192,7\n10,hm,1,Read,0,4096,7\n\
                         30,hm,0,Write,8192,4096,7\n40,hm,1,Write,0,4096,7\n";

#[test]
fn formats_that_are_written() {
    let bench = Bench::with(mixed(300));
    let back = |file: &str| bench.shown(format!("trace convert {file}"));
    let wanted = back("t.csv");
    for (to, file) in [
        ("destage-bin", "t.bin"),
        ("msr", "t.msr"),
        ("ssdsim", "t.ssdsim"),
        ("mqsim", "t.mqsim"),
        ("disksim", "t.disksim"),
        ("fio", "t.fio"),
        ("iolog", "t.iolog"),
    ] {
        let done = bench.destage(format!("trace convert t.csv --to {to} -o {file}"));
        assert_eq!(done.ok().stderr, "", "{to}: all is kept");
        assert_eq!(back(file), wanted, "{to}");
    }
    assert!(bench.read("t.fio").starts_with("fio version 3 iolog"));
    assert_eq!(bench.read("t.mqsim"), bench.read("t.ssdsim"));
    let first = |file: &str| bench.read(file).lines().nth(1).unwrap().to_owned();
    assert_eq!(first("t.ssdsim"), "1000 0 1224 8 0");
    assert_eq!(first("t.disksim"), "0.001000 0 1224 8 0");
    bench.file("trim.csv", format!("{HEAD}0,T,0,8,0,,0\n"));
    bench.refuses(
        "
        trace convert trim.csv --to msr -o x.csv | trim | request 0
        trace convert trim.csv --to disksim -o x.csv.zst | trim | request 0
        trace convert trim.csv --to oracle-general -o x.gz | trim | request 0
        ",
    );
    assert!(!bench.names("").iter().any(|name| name.starts_with('x')));
}

#[test]
fn what_blocks_lose_is_said() {
    let bench = Bench::new();
    bench.file("hm.csv", TWO_DISKS);
    let convert = "trace convert hm.csv --to oracle-general -o hm.oracleGeneral.zst";
    let done = bench.destage(convert).ok();
    done.says(
        "note: hm: oracle-general has blocks of 4 KiB, not requests: 4 requests became 5 records, \
         and whether one is a read or a write is lost (3 writes); records do not say of which \
         volume or stream they are",
    );
    done.says("warning: hm: 3 of 4 times were rounded down to the unit of the format");
    let shown = bench.shown("trace convert hm.oracleGeneral.zst");
    let rows: Vec<&str> = shown.lines().skip(2).collect();
    // The second disk begins at the next MiB.
    let of = |sector: u64| format!("0,R,{sector},8,0,,0");
    assert_eq!(rows[..5], [8, 16, 2048, 16, 2048].map(of));
    bench.file("odd.csv", format!("{HEAD}0,R,4,8,0,,0\n"));
    let odd = bench
        .destage("trace convert odd.csv --to oracle-general -o odd")
        .ok();
    odd.says("became 2 records");
    odd.says("; 1 requests began or ended within a block, which is written as a whole");
}

/// By the end of the name, and the same bytes every time.
#[test]
fn the_name_says_how_a_file_is_compressed() {
    let bench = Bench::with(mixed(3000));
    let bytes = |file: &str| fs::read(bench.dir.path().join(file)).unwrap();
    let plain = bench.shown("trace convert t.csv");
    let synth = "trace synth --requests 500 --to destage-bin -o";
    bench.destage(format!("{synth} s.bin")).ok();
    for (extension, magic) in [
        ("zst", &b"\x28\xb5\x2f\xfd"[..]),
        ("gz", b"\x1f\x8b\x08\0\0\0\0\0"),
        ("xz", b"\xfd7zXZ\0"),
    ] {
        bench
            .destage(format!("trace convert t.csv -o a.csv.{extension}"))
            .ok();
        let first = bytes(&format!("a.csv.{extension}"));
        assert!(first.starts_with(magic) && first.len() < plain.len() / 4);
        assert_eq!(
            bench.shown(format!("trace convert a.csv.{extension}")),
            plain
        );
        bench
            .destage(format!("trace convert t.csv -o other.{extension}"))
            .ok();
        assert!(bytes(&format!("other.{extension}")) == first, "{extension}");
        bench.destage(format!("{synth} s.bin.{extension}")).ok();
        let back = format!("trace convert s.bin.{extension} --to destage-bin -o again.bin");
        bench.destage(back).ok();
        assert!(bytes("again.bin") == bytes("s.bin"), "{extension}");
    }
    // Anything else is plain, and so is standard output.
    bench.destage("trace convert t.csv -o zst").ok();
    assert_eq!(bench.read("zst"), plain);
}

#[test]
fn volumes_go_before_all_extensions() {
    let bench = Bench::new();
    bench.file("hm.csv", TWO_DISKS);
    bench
        .destage("trace convert hm.csv --volumes split --to msr -o out.csv.gz")
        .ok();
    let names = bench.names("");
    for name in ["out-hm_0.csv.gz", "out-hm_1.csv.gz"] {
        assert!(names.iter().any(|n| n == name), "{names:?}");
    }
    let second = bench.shown("trace convert out-hm_1.csv.gz");
    assert_eq!(
        unframed(&second),
        format!("{HEAD}0,R,0,8,1,,0\n3000,W,0,8,1,,0\n")
    );
}
