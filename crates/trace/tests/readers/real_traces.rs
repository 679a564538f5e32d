//! Real traces, where the environment variable `DESTAGE_TRACES` names their folder.

use std::path::{Path, PathBuf};

use destage_trace::{Container, LoadOptions, Source, Trace, Volumes, load, write_bin};
use destage_types::{Op, RequestRef};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("DESTAGE_TRACES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: set DESTAGE_TRACES to the folder of the real traces");
    }
    folder
}

fn read(folder: &Path, file: &str) -> Option<Trace> {
    read_at(folder, file, Volumes::Stack)
}

fn read_at(folder: &Path, file: &str, volumes: Volumes) -> Option<Trace> {
    let path = folder.join(file);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    let options = LoadOptions {
        volumes,
        ..LoadOptions::default()
    };
    let trace = load(Source::from_arg(path), &options);
    Some(trace.unwrap_or_else(|error| panic!("{file}: {error}")))
}

/// A row of the folder's list: file, format, requests, per cent of writes, mean KiB of all, of writes and of reads, and
/// seconds; 0 = not stated.
type Listed = (&'static str, &'static str, u64, f64, [f64; 3], f64);

#[rustfmt::skip]
const LIST: [Listed; 14] = [
    ("msnfs-150k.disksim.zst", "disksim", 149_999, 13.0, [17.07, 9.23, 18.25], 143.0),
    ("msr-prxy_0-first20k.csv.zst", "msr", 20_000, 98.3, [2.57, 2.31, 17.69], 939.0),
    ("msr-cut-w80-10k.replay.zst", "replayer", 10_000, 79.8, [5.35, 6.24, 1.83], 243.0),
    ("msr-cut-burst-10k.replay.zst", "replayer", 10_000, 16.8, [12.71, 54.87, 4.18], 1.02),
    ("cloudphysics-114k.msr.csv.zst", "msr", 113_872, 58.7, [36.07, 35.16, 37.37], 7_200.0),
    ("desktop-mayun2-87k.msr.csv.zst", "msr", 87_160, 57.9, [19.71, 18.26, 21.69], 11_736.0),
    ("tencent-cbs-50k.csv.zst", "tencent", 50_000, 51.0, [29.66, 33.41, 25.76], 0.0),
    ("umass-financial1-first10k.ssdsim.zst", "ssdsim", 10_000, 59.2, [5.40, 4.92, 6.09], 260.0),
    ("tpcc-small.mqsim.zst", "ssdsim", 6_999, 37.4, [8.33, 8.73, 8.09], 0.136),
    ("wsrch-small.mqsim.zst", "ssdsim", 24_783, 0.0, [15.06, 0.0, 0.0], 60.1),
    ("iozone-100k.disksim.zst", "disksim", 100_000, 100.0, [359.9, 0.0, 0.0], 936.0),
    ("mbpa-java-writes.blkparse.zst", "blkparse", 15_524, 99.5, [4.61, 0.0, 0.0], 9.4),
    ("ycsb-rocksdb-writes-only-87k.mqsim.zst", "ssdsim", 87_487, 100.0, [81.39, 0.0, 0.0], 0.0),
    ("hadoop-eternity10-137k.msr.csv.zst", "msr", 137_309, 1.4, [289.5, 0.0, 0.0], 169.0),
];

#[test]
fn files_hold_what_their_list_says() {
    let Some(folder) = folder() else { return };
    for (file, format, requests, write_percent, mean_kb, span_s) in LIST {
        let Some(trace) = read(&folder, file) else {
            continue;
        };
        let records = trace.requests.records();
        let meta = &trace.meta;
        assert_eq!((meta.format, meta.container), (format, Container::Zstd));
        assert_eq!((meta.requests, records.len() as u64), (requests, requests));
        let mean = |op: Option<Op>| {
            let of = |r: &RequestRef<'_>| op.is_none_or(|op| r.head.op == op);
            let add = |(n, bytes), r: RequestRef<'_>| (n + 1, bytes + r.bytes());
            let (n, bytes) = trace.requests.iter().filter(of).fold((0u64, 0), add);
            (n, bytes as f64 / n.max(1) as f64 / 1024.0)
        };
        let share = mean(Some(Op::Write)).0 as f64 * 100.0 / requests as f64;
        let near = (share - write_percent).abs() < 0.051;
        assert!(near, "{file}: {share} % writes");
        let ops = [None, Some(Op::Write), Some(Op::Read)];
        for (op, expected) in ops.into_iter().zip(mean_kb) {
            let (_, mean) = mean(op);
            let near = (mean / expected - 1.0).abs() < 0.003 || (mean - expected).abs() < 0.006;
            assert!(expected == 0.0 || near, "{file}: {op:?} {mean} KiB");
        }
        let span = records[records.len() - 1].arrival.0 as f64 / 1e9;
        let near = (span / span_s - 1.0).abs() < 0.006;
        assert!(span_s == 0.0 || near, "{file}: {span} s");
        assert_eq!(trace.meta.unaligned_requests, 0, "{file}");
        assert_eq!(trace.meta.skipped_lines, 0, "{file}");
    }
}

/// File and format; requests, reads, writes, and the sums of their sectors and of their first
/// sectors, as a script of its own counted them in the files.
#[rustfmt::skip]
const SAMPLES: [(&str, &str, [u64; 5]); 14] = [
    ("cloudphysics-first2000.vscsi", "vscsi", [2000, 0, 2000, 36285, 34190625163]),
    ("desktop-mayun2-first3000.diskmon", "diskmon", [3000, 1381, 1619, 112139, 153638045459]),
    ("fiu-homes-first500-with-hash.ascii", "ssdsim", [500, 0, 500, 4000, 79523937640]),
    ("mbpa-first2000.blkparse", "blkparse", [415, 38, 377, 12248, 820387943118]),
    ("msnfs-first2000.disksim", "disksim", [2000, 1983, 17, 41872, 370901200224]),
    ("msr-cut-first3000.replay", "replayer", [3000, 1445, 1555, 27424, 35831556192]),
    ("msr-hm_0-first1000.csv", "msr", [1000, 508, 492, 18925, 13322624259]),
    ("nvme-xfs-like.blkparse", "blkparse", [248, 0, 225, 2308, 138421914660]),
    ("systor17-additional-first999.csv.gz", "systor17", [999, 700, 299, 40415, 4465290072455]),
    ("systor17-first999.csv.gz", "systor17", [999, 826, 173, 76411, 7297389830071]),
    ("tencent-cbs-first3000.csv", "tencent", [3000, 1309, 1691, 210354, 356822926787]),
    ("umass-financial1-first5000.ssdsim", "ssdsim", [5000, 1278, 3722, 43437, 1802450953]),
    ("umass-financial1-mini.spc", "spc", [949, 183, 766, 5021, 346416961]),
    ("wsrch-first5000.mqsim", "ssdsim", [5000, 4998, 2, 156196, 111696079024]),
];

#[test]
fn samples_are_told_by_their_content_and_agree_with_an_independent_count() {
    let Some(folder) = folder() else { return };
    let folder = folder.join("samples");
    let mut known = 0;
    for (file, format, counted) in SAMPLES {
        // The addresses as the file has them.
        let Some(trace) = read_at(&folder, file, Volumes::Overlay) else {
            continue;
        };
        known += 1;
        assert_eq!(trace.meta.format, format, "{file}");
        let records = trace.requests.records();
        let of = |op| records.iter().filter(|r| r.op == op).count() as u64;
        let have = [
            records.len() as u64,
            of(Op::Read),
            of(Op::Write),
            records.iter().map(|r| u64::from(r.sectors)).sum(),
            records.iter().map(|r| r.start_sector).sum(),
        ];
        assert_eq!(have, counted, "{file}");
        let flushes = if file.starts_with("nvme") { 23 } else { 0 };
        assert_eq!(of(Op::Flush), flushes, "{file}");
        assert_eq!(read(&folder, file).unwrap().meta.requests, counted[0]);
    }
    let files = std::fs::read_dir(&folder).map_or(known, |files| files.count());
    assert_eq!(known, files, "a sample is not in the list of this test");
}

#[rustfmt::skip]
const PAIRS: [(&str, &str, u64); 5] = [
    ("samples/cloudphysics-first2000.vscsi", "cloudphysics-114k.msr.csv.zst", 100),
    ("samples/desktop-mayun2-first3000.diskmon", "desktop-mayun2-87k.msr.csv.zst", 100),
    ("samples/msr-cut-first3000.replay", "msr-cut-w80-10k.replay.zst", 1),
    ("samples/mbpa-first2000.blkparse", "mbpa-java-writes.blkparse.zst", 1),
    ("samples/tencent-cbs-first3000.csv", "tencent-cbs-50k.csv.zst", 1),
];

/// Two forms of the same trace hold the same requests.
#[test]
fn converted_traces_agree_with_their_native_form() {
    let Some(folder) = folder() else { return };
    for (native, converted, tick) in PAIRS {
        let [Some(native), Some(converted)] =
            [native, converted].map(|file| read_at(&folder, file, Volumes::Overlay))
        else {
            continue;
        };
        let pairs = native
            .requests
            .records()
            .iter()
            .zip(converted.requests.records());
        for (i, (a, b)) in pairs.enumerate() {
            let same = (a.op, a.start_sector, a.sectors) == (b.op, b.start_sector, b.sectors);
            let near = a.arrival.0.abs_diff(b.arrival.0) <= tick;
            let name = &native.meta.name;
            assert!(same && near, "{name}: request {i}: {a:?} {b:?}");
        }
    }
}

/// A trace of 2038 volumes: the ranges do not overlap, and the own binary keeps them.
#[test]
fn cloud_volumes_are_stacked() {
    let Some(folder) = folder() else { return };
    let Some(trace) = read(&folder, "tencent-cbs-50k.csv.zst") else {
        return;
    };
    let volumes = &trace.meta.volumes;
    assert_eq!(volumes.len(), 2_038);
    let mut end = 0;
    for volume in volumes {
        assert_eq!(volume.start_sector, end);
        end += volume.end_sector.next_multiple_of(2_048);
    }
    let all = destage_trace::split(&trace);
    let requests: usize = all.iter().map(|part| part.requests.len()).sum();
    assert_eq!(requests, 50_000);
    let mut bytes = Vec::new();
    write_bin(&trace.requests, volumes, true, &mut bytes).unwrap();
    let again = load(Source::bytes("x", bytes), &LoadOptions::default()).unwrap();
    assert_eq!(again.requests.records(), trace.requests.records());
    assert_eq!(&again.meta.volumes, volumes);
}

/// Captures of file systems and lists of file operations are told by their content; raw event text
/// beside them is read by a command of its own.
#[test]
fn file_system_traces_are_told_by_their_content() {
    let Some(folder) = folder() else { return };
    for folder in [folder.join("fs"), folder.join("fs/raw")] {
        let Ok(files) = std::fs::read_dir(&folder) else {
            eprintln!("SKIPPED: {} is not there", folder.display());
            continue;
        };
        let paths = files.map(|file| file.unwrap().path());
        for path in paths.filter(|path| path.is_file()) {
            let name = path.file_name().expect("it has a name").to_string_lossy();
            let ends = [(".csv.zst", "fs-capture"), (".ops.csv", "file-ops")];
            let expected = ends
                .iter()
                .find(|row| name.ends_with(row.0))
                .map(|row| row.1);
            let read = load(Source::from_arg(&path), &LoadOptions::default());
            match (read, expected) {
                (Ok(trace), Some(format)) => assert_eq!(trace.meta.format, format, "{name}"),
                (Ok(trace), None) => panic!("{name} was read as {}", trace.meta.format),
                (Err(error), expected) => {
                    let message = error.to_string();
                    assert_eq!(expected, None, "{message}");
                    let said = match name.contains(".ftrace") {
                        true => "import-ftrace",
                        false => "no known trace format fits",
                    };
                    assert!(message.contains(said), "{name}: {message}");
                }
            }
        }
    }
}
