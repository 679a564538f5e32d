//! The loop of the probe without a clock: the simulator does what fio would measure, and writes it as fio does. The
//! reader and the fit must give the values of the drive back. `cargo xtask full` runs the same with fio itself on
//! `destage serve`.

use destage_fit::measurements::{
    CellLoad, CellResult, DriveCell, FioContext, LoadArrivals, LoadPattern, LoadStream,
    MeasuredPlace, PlacePart, read_measurements,
};
use destage_fit::model::{BaseDevice, DriveFacts, DriveModel, STRUCTURES, Values};
use destage_fit::outcome::{FitPlan, fit};
use destage_fit::search::FitJournal;
use destage_fit::simulate::{CellSimulator, ServiceTimes, SimulatedCell};
use serde_json::{Map, Value, json};
use std::path::Path;

const SERVED: &str = r#"
base = "enterprise-tlc-1t"
channels = 2
chips_per_channel = 2
planes_per_die = 1
blocks_per_plane = 400
pages_per_block = 4
program_pages = 1
program_planes = "one"
op = 0.25
t_read = "100us"
t_program = "1ms"
t_erase = "1ms"
t_command = "40us"
t_suspend = "20us"
host_link = "unlimited"
cache = "512KiB"
"#;

/// A second of the drive takes so many seconds.
const SLOWER: f64 = 50.0;

/// The served drive has neither: a fit would begin with both.
const FIXED: [&str; 2] = ["write_pace=off", "read_retry=[{share=0.001,time=\"1us\"}]"];

/// Requests of a step: few, so that the test takes seconds.
const REQUESTS: u64 = 3000;

const SHARES: [f64; 9] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999];

fn base(text: &str) -> BaseDevice {
    BaseDevice::File {
        path: "served.toml".to_owned(),
        text: text.to_owned(),
    }
}

/// A step of the probe: name of its file, threads, request, pattern, arrivals and depth.
struct ProbeStep(&'static str, u32, Request, LoadArrivals, u32);

/// Share of reads, bytes, and whether addresses are random.
type Request = (f64, u64, bool);

const WRITE: Request = (0.0, 4096, true);
const READ: Request = (1.0, 4096, true);
const LONG_WRITE: Request = (0.0, 32_768, false);

fn steps() -> Vec<ProbeStep> {
    let burst = |requests| LoadArrivals::Bursts {
        requests,
        idle_s: 0.05,
    };
    let poisson = |per_s| LoadArrivals::Poisson { per_s };
    let closed = LoadArrivals::Closed;
    vec![
        ProbeStep("20-burst-02", 1, LONG_WRITE, burst(8), 16),
        ProbeStep("20-burst-04", 1, LONG_WRITE, burst(32), 16),
        ProbeStep("40-saturated", 4, WRITE, closed, 64),
        ProbeStep("41-rate-030", 4, WRITE, poisson(2000.0), 64),
        ProbeStep("41-rate-090", 4, WRITE, poisson(5000.0), 64),
        ProbeStep("50-reads-01", 1, READ, closed, 1),
        ProbeStep("50-reads-16", 1, READ, closed, 16),
    ]
}

/// The measurements of the served drive in a step.
fn measured(
    step: &ProbeStep,
    simulator: &CellSimulator,
    model: &DriveModel,
) -> (DriveCell, SimulatedCell) {
    let ProbeStep(name, threads, (reads, bytes, is_random), arrivals, depth) = *step;
    let pattern = match is_random {
        true => LoadPattern::Random,
        false => LoadPattern::Sequential,
    };
    let stream = LoadStream {
        threads,
        reads,
        bytes,
        pattern,
        arrivals,
        depth,
        measured: true,
    };
    let mut cell = DriveCell {
        drive: "served".to_owned(),
        load: CellLoad {
            streams: vec![stream],
            fill: 1.0,
            overwrites: if is_random { 1.0 } else { 0.0 },
            seconds: None,
        },
        measured: CellResult::default(),
        place: MeasuredPlace {
            file: format!("{name}.json").into(),
            part: PlacePart::Jobs(vec!["job".to_owned()]),
        },
    };
    if let LoadArrivals::Bursts { requests, idle_s } = arrivals {
        cell.measured.writes_per_s = Some(requests as f64 / (idle_s + 0.01));
    }
    let device = model.scaled(&Values::new()).unwrap();
    let done = simulator.run(&device, &cell, REQUESTS).unwrap();
    (cell, done)
}

/// Latencies as fio has them, in ns of the slow clock.
fn latencies(times: &ServiceTimes, per_s: f64, depth: f64) -> Value {
    let ns = |share: f64| times.at(share).map(|us| us * 1e3 * SLOWER);
    let known = SHARES
        .iter()
        .filter_map(|&share| Some((format!("{:.6}", share * 100.0), ns(share)?)));
    let percentile: Map<String, Value> = known.map(|(key, ns)| (key, json!(ns.round()))).collect();
    let values: Vec<f64> = SHARES.iter().filter_map(|&share| ns(share)).collect();
    let (least, most) = (values.first().unwrap() / 2.0, values.last().unwrap() * 2.0);
    // In a closed loop the mean follows from the rate; else the percentiles bound it.
    let mean = match depth > 0.0 {
        true => depth / per_s * 1e9 * SLOWER,
        false => {
            values[values.len() / 2..].iter().sum::<f64>()
                / (values.len() - values.len() / 2) as f64
        }
    };
    json!({"min": least, "max": most.max(mean), "mean": mean, "N": REQUESTS, "percentile": percentile})
}

/// The results of a step as fio writes them.
fn write_output(folder: &Path, step: &ProbeStep, done: &SimulatedCell) {
    let ProbeStep(name, threads, (reads, bytes, is_random), arrivals, depth) = *step;
    let word = match (reads > 0.0, is_random) {
        (true, _) => "randread",
        (false, true) => "randwrite",
        (false, false) => "write",
    };
    let mut options = json!({"ioengine": "nbd", "rw": word, "bs": bytes.to_string(), "group_reporting": "1",
        "iodepth": depth.to_string(), "numjobs": threads.to_string()});
    let mut outstanding = 0.0;
    match arrivals {
        LoadArrivals::Poisson { per_s } => {
            options["rate_iops"] = json!((per_s / SLOWER / f64::from(threads)).to_string());
            options["rate_process"] = json!("poisson");
        }
        LoadArrivals::Bursts { requests, idle_s } => {
            options["thinktime"] = json!(format!("{}ms", idle_s * 1e3 * SLOWER));
            options["thinktime_blocks"] = json!(requests.to_string());
            options["thinktime_blocks_type"] = json!("issue");
        }
        _ => outstanding = f64::from(threads * depth),
    }
    let idle = json!({"io_bytes": 0, "iops": 0.0, "runtime": 0, "total_ios": 0});
    let (per_s, times) = match reads > 0.0 {
        true => (done.reads_per_s, &done.read),
        false => (done.writes_per_s, &done.write),
    };
    let seconds = REQUESTS as f64 / per_s * SLOWER;
    let results = json!({"io_bytes": REQUESTS * bytes, "iops": per_s / SLOWER, "runtime": (seconds * 1e3) as u64,
        "total_ios": REQUESTS, "lat_ns": latencies(times, per_s, outstanding)});
    let (read, write) = match reads > 0.0 {
        true => (results, idle),
        false => (idle, results),
    };
    let description = format!("destage drive=served slower={SLOWER}");
    let output = json!({"fio version": "fio-3.33", "jobs": [{"jobname": "job", "groupid": 0, "error": 0,
        "elapsed": seconds, "job_runtime": (seconds * 1e3) as u64, "desc": description, "job options": options,
        "read": read, "write": write}]});
    std::fs::write(folder.join(format!("{name}.json")), output.to_string()).unwrap();
}

#[test]
#[ignore = "takes minutes; `cargo xtask full` runs it"]
fn a_probe_of_a_simulated_drive_gives_its_values_back() {
    let folder = tempfile::tempdir().unwrap();
    let model = |text: &str| {
        let fixed = FIXED.map(str::to_owned).to_vec();
        DriveModel::new(base(text), &STRUCTURES[0], fixed, DriveFacts::default()).unwrap()
    };
    let (served, simulator) = (model(SERVED), CellSimulator::new(77).unwrap());
    let mut loads = Vec::new();
    for step in &steps() {
        let (cell, done) = measured(step, &simulator, &served);
        write_output(folder.path(), step, &done);
        loads.push(cell.load);
    }
    let mut read = Vec::new();
    for (step, load) in steps().iter().zip(&loads) {
        let context = FioContext {
            overwrites: Some(load.overwrites),
            fill: Some(1.0),
            drive: None,
        };
        let file = folder.path().join(format!("{}.json", step.0));
        let found = read_measurements(&[file], &context).unwrap();
        assert_eq!(found.doubts, Vec::<String>::new());
        read.extend(found.cells);
    }
    for (cell, load) in read.iter().zip(&loads) {
        assert_eq!(cell.load.streams, load.streams, "{}", cell.place);
    }

    let wrong = [
        ("100us", "150us"),
        ("\"1ms\"\nt_erase", "\"1.5ms\"\nt_erase"),
        ("40us", "70us"),
        ("512KiB", "1MiB"),
    ];
    let text = wrong.iter().fold(SERVED.to_owned(), |text, (from, to)| {
        text.replacen(from, to, 1)
    });
    for seed in 1..=5 {
        gives_values_back(&read, &text, seed);
    }
}

/// A fit that begins with the device `text` ends with the values of the served drive, as far as it calls them determined.
fn gives_values_back(cells: &[DriveCell], text: &str, seed: u64) {
    let free = ["t_read", "t_program", "t_command", "cache"];
    let plan = FitPlan {
        patterns: Vec::new(),
        cells: cells.to_vec(),
        base: base(text),
        capacity: None,
        fixed: FIXED.map(str::to_owned).to_vec(),
        free: free.iter().map(|&key| key.to_owned()).collect(),
        evaluations: 120,
        requests: 40_000,
        seed,
        workers: 2,
        stop: &|| false,
    };
    let found = fit(&plan, &mut FitJournal::in_memory(), &mut |_| {}).unwrap();
    let truth = [
        ("t_read.middle", 100.0),
        ("t_program", 1000.0),
        ("t_command", 40.0),
        ("cache", 128.0),
    ];
    for (name, truth) in truth {
        let mut of = found.sensitivities.iter();
        let s = of.find(|s| s.parameter.name == name).unwrap();
        let (ratio, verdict) = (s.value / truth, s.verdict());
        println!("seed {seed}: {name} is {ratio:.3} times that of the drive, {verdict}");
        let is_near = (ratio - 1.0).abs() <= 0.1;
        assert!(is_near || verdict != "determined", "{name}: {ratio}, {s:?}");
        if matches!(name, "t_program" | "t_read.middle") {
            assert!(is_near && verdict != "undetermined", "{ratio}, {s:?}");
        }
    }
}
