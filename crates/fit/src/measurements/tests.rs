use super::*;
use std::fs;

/// Files of these names and texts, read.
pub fn read(files: &[(&str, &str)], context: &FioContext) -> Result<Measurements, Failure> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let strip = |text: &str| text.replace(&format!("{}/", folder.path().display()), "");
    let read = read_measurements(&[folder.path().to_owned()], context);
    read.map(|mut found| {
        for doubt in &mut found.doubts {
            *doubt = strip(doubt);
        }
        found
    })
    .map_err(|failure| failure.map_faults(strip))
}

/// The fault that reading them ends with.
pub fn fault(files: &[(&str, &str)]) -> String {
    read(files, &FioContext::default()).unwrap_err().text()
}

/// The drive of this name.
pub fn context(drive: &str) -> FioContext {
    FioContext {
        drive: Some(drive.to_owned()),
        ..FioContext::default()
    }
}

const LOAD: &str = "\
drive,target_writes_per_s,writes_per_s,reads_per_s,other_threads,write_us_p50,write_us_p99.9,read_us_p50
one,10000,9953,5049,6,11,17,64
one,5000,5001,5049,6,11,16,63
two,10000,9900,5049,6,15,40,80
";

#[test]
fn a_load_table_has_the_load_of_the_paper() {
    let found = read(&[("load.csv", LOAD)], &context("one")).unwrap();
    assert_eq!(found.doubts, Vec::<String>::new());
    assert_eq!(found.cells.len(), 2);
    let cell = &found.cells[0];
    assert_eq!(cell.measured.writes_per_s, Some(9953.0));
    assert_eq!(cell.measured.write.at(0.999), Some(17.0));
    assert_eq!(cell.measured.read.at(0.5), Some(64.0));
    assert_eq!(cell.measured.read.at(0.999), None);
    let [latency, others] = &cell.load.streams[..] else {
        panic!("two streams");
    };
    assert_eq!((latency.reads, latency.measured), (0.5, true));
    assert_eq!(
        (others.threads, others.reads, others.measured),
        (6, 0.01, false)
    );
    assert_eq!(others.arrivals, LoadArrivals::Poisson { per_s: 5000.0 });
    // Writes of both: 5,000 and 99 % of 5,000.
    let share = |stream: &LoadStream| match stream.arrivals {
        LoadArrivals::Poisson { per_s } => per_s * (1.0 - stream.reads),
        _ => 0.0,
    };
    assert_eq!(cell.load.streams.iter().map(share).sum::<f64>(), 9950.0);
    // The latency thread alone writes 5,000 a second.
    assert_eq!(found.cells[1].load.streams.len(), 1);
    assert!(found.cells[1].place.to_string().ends_with("load.csv:3"));
}

#[test]
fn faults_of_a_load_table_name_the_line_and_what_is_allowed() {
    let of = |text: &str| fault(&[("load.csv", text)]);
    assert_eq!(
        of(LOAD),
        "the measurements are of 2 drives. Choose one with --drive: one, two."
    );
    assert_eq!(
        of(&LOAD.replace("9953", "fast")),
        "load.csv:2: `writes_per_s` is `fast`. Allowed: a number above 0."
    );
    assert!(
        of(&LOAD.replace("11,17,64", "18,17,64"))
            .contains("load.csv:2: write latencies fall from 18 us at 50 %")
    );
    assert!(
        of(&LOAD.replace("read_us_p50", "read_ms_p50")).contains("column `read_ms_p50` is unknown")
    );
    assert!(
        of(&LOAD.replace("one,10000,9953,5049,6", "one,10000,9953,5049,"))
            .contains("`other_threads` is missing")
    );
    let unknown = read(&[("load.csv", LOAD)], &context("three")).unwrap_err();
    assert_eq!(unknown.text(), "--drive is `three`. Allowed: one, two.");
}

const CELLS: &str = "\
cell,drive,fill,overwrites,seconds,threads,reads,bytes,pattern,arrivals,rate_per_s,burst_requests,idle_s,depth,measured,writes_per_s,reads_per_s,write_mean_us,write_us_p50,write_us_p99,read_us_p50
a,d,1,0,60,4,0,4096,random,poisson,5000,,,16,yes,4990,,,20,90,
a,d,1,0,60,1,1,16384,random,closed,,,,2,yes,,3000,,,,80
b,d,0.5,0,,,0,131072,sequential,bursts,,64,0.1,8,,,,35,,,
";

#[test]
fn rows_of_a_cell_are_streams_of_one_load() {
    let found = read(&[("cells.csv", CELLS)], &FioContext::default()).unwrap();
    let [a, b] = &found.cells[..] else {
        panic!("two cells");
    };
    assert_eq!(a.load.streams.len(), 2);
    assert_eq!(
        a.load.streams[0].arrivals,
        LoadArrivals::Poisson { per_s: 5000.0 }
    );
    assert_eq!(a.load.streams[1].arrivals, LoadArrivals::Closed);
    assert_eq!(
        (a.measured.writes_per_s, a.measured.reads_per_s),
        (Some(4990.0), Some(3000.0))
    );
    assert_eq!(
        (a.measured.write.at(0.99), a.measured.read.at(0.5)),
        (Some(90.0), Some(80.0))
    );
    let bursts = LoadArrivals::Bursts {
        requests: 64,
        idle_s: 0.1,
    };
    assert_eq!(b.load.streams[0].arrivals, bursts);
    assert_eq!((b.load.streams[0].threads, b.load.fill), (1, 0.5));
    assert_eq!(b.measured.write.mean_us, Some(35.0));
}

#[test]
fn faults_of_a_table_of_cells_say_what_to_do() {
    let of = |from: &str, to: &str| fault(&[("cells.csv", &CELLS.replacen(from, to, 1))]);
    let cases = [
        (
            "poisson",
            "uniform",
            "cells.csv:2: `arrivals` is `uniform`. Allowed: poisson, paced, closed or bursts.",
        ),
        (
            "poisson,5000",
            "poisson,",
            "cells.csv:2: `rate_per_s` is missing. Allowed: a number above 0.",
        ),
        (
            "closed,",
            "closed,7",
            "cells.csv:3: `rate_per_s` has no meaning for arrivals that are `closed`",
        ),
        (
            "16384",
            "16385",
            "cells.csv:3: `bytes` is `16385`. Allowed: a multiple of 512.",
        ),
        (
            "a,d,1,0,60,1",
            "a,d,1,1,60,1",
            "cells.csv:3: `overwrites` differs from",
        ),
        (
            "b,d,0.5",
            "b,d,1.5",
            "cells.csv:4: `fill` is `1.5`. Allowed: a number from 0 to 1.",
        ),
        (",,35,,", ",,,,", "cell `b` has no result"),
        (
            "d,1,0,60,4,0,",
            "d,1,0,60,4,1,",
            "cell `a` has writes_per_s, but none of its streams can have them",
        ),
        (
            "2,yes,,3000",
            "2,yes,7,3000",
            "cells.csv:3: the cell has this result in an earlier row",
        ),
        (
            "pattern",
            "patern",
            "cells.csv:1: column `patern` is unknown",
        ),
        (
            "cell,drive",
            "drive,drive",
            "cells.csv:1: column `drive` stands twice",
        ),
    ];
    for (from, to, expected) in cases {
        let found = of(from, to);
        assert!(found.contains(expected), "{from} -> {to}: {found}");
    }
}

/// The published table and a drive of 2022, from the folder that `DESTAGE_DRIVES` names.
#[test]
fn real_measurements_are_read() {
    let Some(folder) = std::env::var_os("DESTAGE_DRIVES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_DRIVES does not name the folder of measured drives");
        return;
    };
    let table = folder.join("load.csv");
    let found = read_measurements(&[table], &context("kioxia-cm7r-3840")).unwrap();
    assert_eq!((found.cells.len(), found.doubts.len()), (18, 0));
    for cell in &found.cells {
        assert_eq!(cell.measured.write.quantiles.len(), 10);
        assert_eq!(cell.measured.read.quantiles.len(), 10);
    }
    // Polled: every `clat_ns` is nonsense, and rates, bytes and the means of `lat_ns` are right.
    let found = read_measurements(&[folder.join("fio-nvme-a")], &context("nvme-a")).unwrap();
    assert_eq!(found.cells.len(), 10);
    let disbelieved = found
        .doubts
        .iter()
        .filter(|doubt| doubt.contains("`clat_ns` cannot be believed"));
    assert_eq!(disbelieved.count(), 10);
    for cell in &found.cells {
        let (write, stream) = (&cell.measured.write, &cell.load.streams[0]);
        assert!(write.quantiles.is_empty());
        let outstanding = write.mean_us.unwrap() * cell.measured.writes_per_s.unwrap() / 1e6;
        let depth = f64::from(stream.depth);
        assert!(
            (0.95..=1.0).contains(&(outstanding / depth)),
            "{}",
            cell.place
        );
        assert_eq!(stream.pattern, LoadPattern::Sequential);
    }
}

const PATTERNS: &str = "\
drive,pattern,parameters,span_gib,block,depth,writes_per_s,p50,p99,rate_by_tenth,volume,drop_after_gib,start_writes_per_s
one,sequential,,50,131072,1,900,80,100,900 900 900 900 900 900 900 900 900 900,0.99,,
one,sequential,,100,131072,1,1000,80,100,990 1010 1000 1000 1000 1000 1000 1000 1000 1000,0.99,,
one,uniform,,100,4096,512,500,,,9 8 7 6 5 5 5 5 5 5,4.98,25,9
one,zipf-shuffle,0.8,100,4096,512,500,,,9 8 7 6 5 5 5 5 5 5,5,25.5,9
one,zones-shuffle,s0.8 f0 s0.2 f1,100,4096,512,500,,,9 8 7 6 5 5 5 5 5 5,5,,
one,zns-noshuffle,activeZones: 1,100,524288,1,500,,,9 8 7 6 5 5 5 5 5 5,5,,
two,uniform,,100,4096,512,500,,,9 8 7 6 5 5 5 5 5 5,5,,
";

#[test]
fn a_table_of_patterns_has_runs_and_the_largest_fill() {
    let found = read(&[("patterns.csv", PATTERNS)], &context("one")).unwrap();
    let [fill] = &found.cells[..] else {
        panic!("one fill: {:?}", found.cells);
    };
    assert_eq!(fill.measured.writes_per_s, Some(1000.0));
    assert_eq!(fill.measured.write.at(0.99), Some(100.0));
    assert_eq!((fill.load.fill, fill.load.streams[0].bytes), (0.0, 131_072));
    let names: Vec<&str> = found.patterns.iter().map(|run| run.name.as_str()).collect();
    let expected = [
        "uniform",
        "zipf-shuffle 0.8",
        "zones-shuffle s0.8 f0 s0.2 f1",
    ];
    assert_eq!(names, expected);
    let run = &found.patterns[0];
    assert_eq!((run.span, run.drop_after), (100 << 30, Some(25 << 30)));
    assert_eq!((run.fresh, run.rates[9]), (Some(9.0), 5.0));
    assert_eq!(found.doubts.len(), 1);
    assert!(
        found.doubts[0].contains(": 1 rows are left out"),
        "{:?}",
        found.doubts
    );
    assert_eq!(found.drive(), "one");
}

#[test]
fn faults_of_a_table_of_patterns_are_named() {
    let of = |old: &str, new: &str| fault(&[("patterns.csv", &PATTERNS.replacen(old, new, 1))]);
    let ten = "9 8 7 6 5 5 5 5 5 5";
    assert!(
        of(ten, "9 8 7")
            .starts_with("patterns.csv:4: `rate_by_tenth` is `9 8 7`. Allowed: ten rates")
    );
    assert!(of(ten, "9 8 7 6 5 5 5 5 5 0").contains("Allowed: ten rates above 0"));
    assert!(
        of("zipf-shuffle,0.8", "zipf-shuffle,much")
            .starts_with("patterns.csv:5: `parameters` is `much`.")
    );
    assert!(of("s0.8 f0 s0.2 f1", "s0.8 f0 s0.2").contains("`parameters` is `s0.8 f0 s0.2`."));
    assert!(
        of("one,uniform", "one,random")
            .contains("`pattern` is `random`. Allowed: sequential, uniform")
    );
    assert!(of("p99,", "colour,").contains("column `colour` is unknown"));
    assert!(of("4.98", "0").contains("`volume` is `0`. Allowed: a number from 0.1 to 100."));
}

#[test]
fn figures_of_a_sheet_are_closed_loops() {
    let sheet = "drive = \"one\"\nsequential_read = \"3.2GB/s\"\nsequential_write = \"1500MB/s\"\nrandom_read = 500000\n\
                 random_write = 70000\nrandom_depth = 64\n";
    let cells = read(&[("sheet.toml", sheet)], &FioContext::default())
        .unwrap()
        .cells;
    let rates: Vec<_> = (cells.iter())
        .map(|cell| (cell.measured.reads_per_s, cell.measured.writes_per_s))
        .collect();
    let sequential = |bytes: f64| Some(bytes / 131_072.0);
    let expected = [
        (sequential(3.2e9), None),
        (None, sequential(1.5e9)),
        (Some(500_000.0), None),
        (None, Some(70_000.0)),
    ];
    assert_eq!(rates, expected);
    let states: Vec<_> = (cells.iter())
        .map(|cell| {
            (
                cell.load.fill,
                cell.load.overwrites,
                cell.load.streams[0].depth,
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            (1.0, 0.0, 128),
            (0.0, 0.0, 128),
            (1.0, 0.0, 64),
            (1.0, 3.0, 64)
        ]
    );
    assert_eq!(
        cells[3].place.to_string().rsplit('/').next(),
        Some("sheet.toml: `random_write`")
    );
}

#[test]
fn faults_of_a_sheet_are_named() {
    let of = |text: &str| fault(&[("sheet.toml", text)]);
    assert!(of("drive = \"one\"").contains("the sheet has no figure"));
    assert!(of("random_read = 5").contains("`drive` is missing"));
    assert!(of("drive = \"one\"\ncolour = 1").contains("unknown field `colour`"));
    let rate = "drive = \"one\"\nsequential_read = \"fast\"";
    assert!(
        of(rate).contains("`sequential_read` is `fast`. Allowed: a rate such as \"1500MB/s\".")
    );
    assert!(of("drive = \"one\"\nrandom_read = -1").contains("`random_read` is `-1`."));
    assert!(
        of("drive = \"one\"\nrandom_read = 1\nrandom_depth = 0").contains("`random_depth` is `0`.")
    );
}
