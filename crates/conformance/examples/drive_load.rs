//! Latency under load of the slow drive model: six threads at a depth of 64 that write, and one thread
//! of 10,000 requests a second whose percentiles are shown.
//!
//! `cargo run --release -p destage-conformance --example drive_load -- [bandwidth|rate] 40000 60000`
//!
//! `rate` (default) is a drive with 76,500 writes a second; `bandwidth` programs 1.5 GB/s, transfers
//! included. A rate of 100000 saturates both. Blocks are scaled down, and `t_erase` with them.

use destage_conformance::reference::drive::{
    DriveConfig, DriveModel, DriveOp, DriveOutcome, DriveRequest, ProgramPlanes, Suspend,
    WritePrice,
};
use destage_conformance::reference::rng::SplitMix64;

const REQUESTS: usize = 600_000;

/// A TLC drive of 16 dies of four planes, programmed three pages at once.
fn drive(bandwidth: bool) -> DriveConfig {
    DriveConfig {
        channels: 8,
        chips_per_channel: 2,
        planes_per_die: 4,
        program_planes: ProgramPlanes::All,
        program_pages: 3,
        blocks_per_plane: 400,
        pages_per_block: 24,
        op: 127_000,
        t_read: vec![50_000],
        t_program: vec![if bandwidth { 1_850_000 } else { 1_600_000 }],
        t_erase: 60_000,
        t_byte: 1_250,
        t_dram: 1_000,
        t_command: 7_000,
        command_cores: 8,
        link_read: Some(6_500_000_000),
        link_write: Some(1_500_000_000),
        read_first: true,
        suspend: Suspend::ProgramErase,
        t_suspend: 40_000,
        t_resume: 10_000,
        gc_high: 4,
        gc_low: 1,
        queue_depth: Some(64),
        command_slots: Some(256),
        write_pace: Some(WritePrice::of_rate(76_500, 4)),
        ..DriveConfig::small(4_096)
    }
}

/// Poisson arrivals: 99 % writes at `rate` with those of the latency thread, which reads half.
fn load(rng: &mut SplitMix64, rate: u64, exported: u64) -> Vec<DriveRequest> {
    let each = (rate as f64 - 5_000.0) / 0.99 / 6.0;
    let rates = [each, each, each, each, each, each, 10_000.0];
    let mut next = [0.0; 7];
    let mut requests = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let stream = (0..7).fold(0, |s, i| if next[i] < next[s] { i } else { s });
        let at = next[stream] as u64;
        next[stream] -= (1.0 - rng.real()).ln() / rates[stream] * 1e9;
        let write = rng.chance(if stream == 6 { 50 } else { 99 });
        requests.push(DriveRequest {
            at,
            op: if write { DriveOp::Write } else { DriveOp::Read },
            offset: rng.below(exported) * 4_096,
            bytes: 4_096,
            stream,
            preflush: false,
        });
    }
    requests
}

/// p50, p90, p99, p99.9 in microseconds of the latency thread, after a third of the run.
fn percentiles(requests: &[DriveRequest], o: &DriveOutcome, op: DriveOp) -> [u64; 4] {
    let measured = REQUESTS / 3..REQUESTS / 20 * 19;
    let mine = measured.filter(|&i| requests[i].stream == 6 && requests[i].op == op);
    let mut times: Vec<u64> = mine
        .map(|i| o.times[i].completed - o.times[i].admitted)
        .collect();
    times.sort_unstable();
    [500, 900, 990, 999].map(|share| {
        let rank = (times.len() * share).div_ceil(1_000).max(1);
        (times[rank - 1] + 500) / 1_000
    })
}

/// Writes done a second in the second half of the run.
fn writes_a_second(requests: &[DriveRequest], o: &DriveOutcome) -> u64 {
    let writes = (0..REQUESTS).filter(|&i| requests[i].op == DriveOp::Write);
    let mut ends: Vec<u64> = writes.map(|i| o.times[i].completed).collect();
    ends.sort_unstable();
    let (from, to) = (ends.len() / 3, ends.len() / 10 * 9);
    (to - from) as u64 * 1_000_000_000 / (ends[to] - ends[from])
}

fn main() -> Result<(), String> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let bandwidth = words.first().is_some_and(|w| w == "bandwidth");
    words.retain(|w| w != "bandwidth" && w != "rate");
    let exported = DriveModel::new(drive(bandwidth))?.exported() as u64;
    let mut rng = SplitMix64::new(7);
    let overwrites = (0..3 * exported).map(|_| rng.below(exported) as usize);
    let before: Vec<usize> = (0..exported as usize).chain(overwrites).collect();
    println!(
        "target writes/s write_us_p50,p90,p99,p99.9 read_us_p50,p90,p99,p99.9 write_amplification"
    );
    for word in words {
        let rate: u64 = word
            .parse()
            .map_err(|_| format!("`{word}` is no rate in writes a second, such as 40000"))?;
        if rate <= 5_000 {
            return Err(format!(
                "rate {rate} must exceed the 5,000 of the latency thread"
            ));
        }
        let requests = load(&mut rng, rate, exported);
        let mut model = DriveModel::new(drive(bandwidth))?;
        model.precondition(before.iter().copied())?;
        let o = model.run(&requests)?;
        let write = percentiles(&requests, &o, DriveOp::Write);
        let read = percentiles(&requests, &o, DriveOp::Read);
        let done = writes_a_second(&requests, &o);
        let amplification = o.write_amplification();
        println!("{rate} {done} {write:?} {read:?} {amplification:.3}");
    }
    Ok(())
}
