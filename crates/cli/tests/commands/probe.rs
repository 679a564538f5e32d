//! `destage probe`, and the loop that proves it: fio measures a served drive, and the fit gives the drive's values
//! back.

use crate::common::Bench;
use crate::serve::{started, stop};
use destage_device::config::{DeviceConfig, EffectiveDevice};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// A small drive of eight dies. All its cells are of its own size, so the fit need not scale it. With half of its space
/// over-provisioned, collection is a small part of its work, whose chance moves the cliff little.
const SERVED: &str = r#"
base = "enterprise-tlc-1t"
channels = 4
chips_per_channel = 2
planes_per_die = 1
blocks_per_plane = 400
pages_per_block = 4
program_pages = 1
program_planes = "one"
op = 0.5
t_read = "100us"
t_program = "1ms"
t_erase = "1ms"
t_command = "80us"
t_suspend = "20us"
host_link = "unlimited"
cache = "512KiB"
"#;

/// The start of the fit: the same drive with wrong values.
const WRONG: [(&str, &str); 4] = [
    ("t_read = \"100us\"", "t_read = \"160us\""),
    ("t_program = \"1ms\"", "t_program = \"1.6ms\""),
    ("t_command = \"80us\"", "t_command = \"50us\""),
    ("cache = \"512KiB\"", "cache = \"1MiB\""),
];

/// A second of the drive takes so many seconds: the host's times of some 0.3 ms then are a few us.
const SLOWER: f64 = 50.0;

/// Replies may be later than this, in ns of the wall clock, once in a hundred times.
const LATE_NS: f64 = 2e6;

#[test]
fn probe_writes_its_files_or_prints_them() {
    let bench = Bench::new();
    let done = bench.destage("probe -o a/probe").ok();
    done.shows("probe.sh measures a drive and destroys all its data");
    let names = bench.names("a/probe");
    assert!(
        names.contains(&"probe.sh".to_owned()) && names.len() == 10,
        "{names:?}"
    );
    let printed = bench.destage("probe").ok().stdout;
    for name in &names {
        let text = bench.read(format!("a/probe/{name}"));
        assert!(
            printed.contains(&format!("==> {name} <==\n{text}")),
            "{name}"
        );
    }
    // Written again, the files are the same; a file of somebody else stays.
    bench.destage("probe -o a/probe").ok();
    bench.file("a/probe/rate.fio", "[mine]");
    let refusal = ["a/probe/rate.fio has other content", "Remove it"];
    bench.destage("probe -o a/probe").fails(2, &refusal);
    assert_eq!(bench.read("a/probe/rate.fio"), "[mine]");
    bench.file("file", "");
    bench.destage("probe -o file").fails(2, &["--out file"]);
}

/// The command, ahead of other work on this machine if that is allowed: a reply that waits for a processor is late.
fn ahead_of_others(program: &str) -> Command {
    let allowed = Command::new("chrt").args(["-f", "10", "true"]).output();
    if !allowed.is_ok_and(|done| done.status.success()) {
        return Command::new(program);
    }
    let mut command = Command::new("chrt");
    command.args(["-f", "10", program]);
    command
}

/// Runs the probe on the drive at `uri`.
fn measure(bench: &Bench, uri: &str) {
    bench.destage("probe -o probe").ok();
    let slower = SLOWER.to_string();
    // After one overwrite, the work of collection still rises and falls: the drive is not in its steady state.
    let options = ["--name", "served", "--out", "results", "--overwrites", "2"];
    let times = ["--seconds", "20", "--minutes", "40", "--slower", &slower];
    let mut child = ahead_of_others("sh")
        .args(["probe/probe.sh", "--uri", uri])
        .args(options)
        .args(times)
        .current_dir(bench.dir.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let answers = format!("{uri}\n{uri}\n");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(answers.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

/// The values that the loop fits: times in us, and the buffer in KiB.
fn values(device: &DeviceConfig) -> [(&'static str, f64); 4] {
    let reads = device.t_read.of_types();
    let read: f64 = reads.iter().map(|t| t.0 as f64).sum::<f64>() / reads.len() as f64;
    let program = device.t_program.of_types()[0].0 as f64;
    [
        ("t_read", read / 1e3),
        ("t_program", program / 1e3),
        (
            "t_command",
            device.t_command.map_or(0.0, |t| t.0 as f64 / 1e6),
        ),
        ("cache", device.cache.0 as f64 / 1024.0),
    ]
}

#[test]
#[ignore = "measures in real time for twenty minutes"]
fn the_values_of_a_served_drive_come_back() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !has("fio") || !has("nbdinfo") {
        eprintln!("SKIPPED: no fio or nbdinfo here (Debian: apt install fio libnbd-bin)");
        return;
    }
    let bench = Bench::new();
    bench.file("served.toml", SERVED);
    let mut server = ahead_of_others(env!("CARGO_BIN_EXE_destage"));
    server.args([
        "serve",
        "--device",
        "served.toml",
        "--scheme",
        "drain(fifo)",
    ]);
    server.args(["--data", "none", "--socket", "s", "--control", "c"]);
    server.args(["--time-scale", &(1.0 / SLOWER).to_string()]);
    let (server, uri) = started(&bench, server);
    measure(&bench, &uri);
    let stats: Value = serde_json::from_str(&bench.shown("ctl --control c stats")).unwrap();
    stop(server);
    let lateness = &stats["exports"][0]["lateness"];
    println!("lateness of replies: {lateness}");
    if lateness["p99_ns"].as_f64().unwrap() > LATE_NS {
        eprintln!("SKIPPED: this machine is too busy to answer in time: {lateness}");
        return;
    }
    let wrong = WRONG
        .iter()
        .fold(SERVED.to_owned(), |text, (from, to)| text.replace(from, to));
    bench.file("wrong.toml", wrong);
    // The served drive has neither a pace nor slow reads, and a fit would begin with both.
    let fit = r#"fit-device results --base wrong.toml
        --fix write_pace=off --fix 'read_retry=[{share=0.001,time="1us"}]'
        --free t_read,t_program,t_command,cache --evaluations 200 -o fitted.toml"#;
    println!("{}", bench.shown(fit));
    let device = |name: &str| {
        let text = bench.read(name);
        EffectiveDevice::from_text(name, &text, &[])
            .unwrap()
            .into_config()
    };
    let (fitted, text) = (values(&device("fitted.toml")), bench.read("fitted.toml"));
    let mut determined = 0;
    for ((key, truth), (_, fitted)) in values(&device("served.toml")).into_iter().zip(fitted) {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{key} = ")))
            .unwrap();
        println!("{key}: served {truth}, fitted {fitted}: {line}");
        if line.contains("undetermined") || line.contains("this (") {
            continue;
        }
        determined += 1;
        let ratio = fitted / truth;
        assert!(
            (ratio - 1.0).abs() <= 0.1,
            "{key}: {ratio} times that of the drive"
        );
    }
    assert!(
        determined >= 2,
        "the probe determines {determined} of four values:\n{text}"
    );
}
