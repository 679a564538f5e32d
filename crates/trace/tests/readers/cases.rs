//! The collected inputs of real users, where a variable names their folder.

use std::path::PathBuf;

use destage_trace::{LoadOptions, Source, Trace, load};
use destage_types::Op;

use crate::common::given;

/// File, options, and what must come out: `requests reads writes flushes bytes span_ns`, `~` for anything, and perhaps
/// `doubt`; or the part of an error. `,` joins parts of one message.
const CASES: &str = "
cases4/pandas-index.csv | | 400 ~ ~ 0 1638400 99750000 doubt
cases4/time-as-volume.csv | | 400 ~ ~ 0 1638400 99750000 doubt
cases4/pandas-to_csv.csv | | 400 ~ ~ 0 1638400 ~
cases4/epoch-us.parquet | | 400 ~ ~ 0 1638400 99750000 doubt
cases4/float-us.parquet | | 400 ~ ~ 0 1638400 ~ doubt
cases4/float-us.parquet | time-unit=us | 400 ~ ~ 0 1638400 99750000
cases4/sectors.parquet | offset=lba:sectors,size=nsec:sectors | 400 ~ ~ 0 1638400 ~
cases4/sectors.parquet | offset=lba*1,size=nsec*1 | 400 ~ ~ 0 ~ ~ doubt
cases4/float-ns.trace | | 400 ~ ~ 0 1638400 9975000 doubt
cases4/float-us.trace | | 400 ~ ~ 0 1638400 99750000 doubt
cases4/lba-n-op-time.txt | | 400 0 400 0 1638400 99750000 doubt
cases4/lba-n-op-time.txt | time=4:us,op=3:0=W,offset=1:sectors,size=2:sectors | 400 0 400 0 1638400 ~
cases4/byte-list.txt | | 400 400 0 0 1638400 ~ doubt
cases4/byte-list.txt | op==R,offset=1,size==4096 | 400 400 0 0 1638400 ~
cases4/msr-rw.csv | | 10 5 5 0 40960 2250000
cases4/tencent-rw.csv | | 10 5 5 0 40960 9000000000
cases4/msr-float.csv | | 10 5 5 0 40960 2250000
cases4/float-offset.parquet | | 400 ~ ~ 0 1638400 ~
cases4/op-int.parquet | op=op:1=R,0=W | 400 ~ ~ 0 1638400 ~
cases4/op-int.parquet | | error is no kind of request unless --trace-columns
cases4/disksim-exp.trace | | 3 1 2 0 12288 1000000
cases4/disksim-hex.trace | | 10 5 5 0 40960 2250000
cases4/comma-decimal.spc | | 10 5 5 0 40960 2250000000
cases4/msr-quoted.csv | | 10 5 5 0 40960 2250000
cases4/own-columns.csv | | 10 5 5 0 40960 2250000
cases4/named-columns.csv | | 10 5 5 0 40960 2250000
cases4/msr-6col.csv | | 10 5 5 0 40960 2250000 doubt
cases4/msr-blanks.txt | | 10 5 5 0 40960 2250000
cases4/msr-index.csv | | 10 5 5 0 40960 2250000 doubt
cases4/io-tracer.csv | | 3 1 1 1 12288 500000
cases4/baleen.trace | | 3 2 1 0 327680 750000000
cases4/xperf-diskio.csv | | 2 1 1 0 12288 250000
cases4/wpa-export.csv | | 4 2 1 1 24576 1000000500000
cases4/lines.jsonl | | 10 5 5 0 40960 ~ doubt
cases4/nvme-setup-cmd.txt | | 2 1 1 0 12288 250000
cases4/lttng-babeltrace.txt | | 2 1 1 0 12288 250000
cases4/fio-sync-file-range.iolog | | 3 0 3 0 12288 ~
cases4/restart.ssdsim | | 200 ~ ~ 0 ~ 24750000
cases4/restart.ssdsim | restarts=continue | 200 ~ ~ 0 ~ 49500000
cases4/restart.ssdsim | restarts=refuse | error the clock starts again
cases4/git-lfs-pointer.csv | | error git lfs pull
cases4/numpy.npy | | error numpy array: write Parquet
cases4/frame.feather | | error Arrow (Feather) file: write Parquet
cases4/trace.lzma | | error lzma files are not read
cases4/lz4.parquet | | error lz4_raw pages are not read; allowed: none, snappy, gzip, zstd
cases4/fio-output.json | | error write_iolog
cases4/ssdconfig.xml | | error destage presets
cases/seq256k.ssdsim | | 400 0 400 0 104857600 399000000
cases/zone256k.mqsim | | ~ ~ ~ 0 104857600 ~
cases/systor-blank.csv | | 3 ~ ~ 0 ~ ~
cases/hundred-ns.ssdsim | | ~ ~ ~ 0 ~ ~ doubt
cases/ali-seconds.csv | | ~ ~ ~ 0 ~ ~ doubt
cases/join.spc | | error second request
cases/oracle-sizes.bin | | 5 ~ ~ 0 ~ ~
cases/bp-dc-only.txt | | error --event D
cases/noclose3.iolog | | 3 1 2 0 ~ ~
cases/lirs-star.txt | | 6 6 0 0 ~ ~
cases/msr-header.csv | | 3 2 1 0 86016 2000000000
cases/oracle-hash.bin | | 4 ~ ~ 0 ~ ~
cases/tar-in-gzip.tgz | | error tar archive
cases/blktrace.bin | | error binary blktrace
cases/ftrace-issue.txt | | error import-ftrace
cases/utf16.csv | | error UTF-16
cases/arc.lis | | 4 4 0 0 49152 ~
cases/fiu-native.txt | | 3 1 2 0 ~ 89000
cases/etw-msprod.csv | | 2 1 1 0 12288 250000
cases/camelab.txt | | 3 2 1 0 16384 2500000
cases/biosnoop.txt | | 3 1 2 0 16384 ~
cases/k5cloud.csv | | 2 1 1 0 12288 ~
cases/iosnoop.txt | | 3 1 2 0 ~ ~
cases/perf-script.txt | | 1 0 1 0 4096 ~
cases/spc-blanks.csv | | 3 2 1 0 32256 ~
";

#[test]
fn the_inputs_of_real_users_are_read_or_explained() {
    let Some(folder) = std::env::var_os("DESTAGE_CASES").map(PathBuf::from) else {
        println!("skipped: DESTAGE_CASES names no folder with `cases` and `cases4`");
        return;
    };
    let mut faults = Vec::new();
    for case in CASES.lines().filter(|line| !line.is_empty()) {
        let parts: Vec<&str> = case.split('|').map(str::trim).collect();
        let [file, options, wanted] = parts[..] else {
            panic!("{case}")
        };
        let options = LoadOptions {
            hash: false,
            ..given(options)
        };
        let found = match load(Source::Path(folder.join(file)), &options) {
            Err(error) => format!("error {error}"),
            Ok(Trace { requests, meta }) => {
                let records = requests.records();
                let [r, w, f] = [Op::Read, Op::Write, Op::Flush]
                    .map(|op| records.iter().filter(|r| r.op == op).count());
                let bytes: u64 = requests.iter().map(|r| r.bytes()).sum();
                let span = records.last().map_or(0, |r| r.arrival.0);
                let doubt = meta.format_doubt.or(meta.time_doubt);
                let doubt = doubt.map_or(String::new(), |doubt| format!("doubt {doubt}"));
                format!("{} {r} {w} {f} {bytes} {span} {doubt}", records.len())
            }
        };
        let words = wanted.split(' ').zip(found.split(' '));
        let same = match wanted.strip_prefix("error ") {
            Some(part) => found.starts_with("error ") && found.contains(part),
            None => {
                let doubt = wanted.contains("doubt") == found.contains(" doubt ");
                doubt && words.into_iter().all(|(w, f)| w == "~" || w == f)
            }
        };
        if !same {
            faults.push(format!("{case}\n    found: {found}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
