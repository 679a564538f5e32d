//! Drives with units against their slow model: every completion to the nanosecond, on random drives and loads.

mod before_the_run;
mod live;
mod priced;
mod schemes;
mod sheets;
mod under_load;

use destage_conformance::reference::drive::{
    Drain, DriveConfig, DriveModel, DriveOp, DriveRequest, GcStreams, ProgramPlanes, RetryStep,
    Span, Suspend, WritePrice,
};
use destage_conformance::reference::rng::SplitMix64;
use destage_device::config::EffectiveDevice;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::{Hooks, Replay, ResultRecord, RunSpec, execute};
use destage_trace::Trace;
use destage_types::{ByteSize, HostRequest, Nanos, Op, RequestBatch, RequestFlags};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

/// A random drive whose data fit.
fn config(rng: &mut SplitMix64) -> DriveConfig {
    let mut c = DriveConfig::small(0);
    (c.channels, c.chips_per_channel) = (1 + rng.below(2), 1 + rng.below(2));
    (c.dies_per_chip, c.planes_per_die) = (1 + rng.below(2), 1 + rng.below(2));
    for last in (1..4).rev() {
        (c.allocation_order).swap(last, rng.below(last as u64 + 1) as usize);
    }
    c.mapping_bytes = rng.pick(&[4096, 8192, 16_384]);
    c.program_pages = 1 + rng.below(3);
    c.pages_per_block = c.program_pages * (2 + rng.below(4));
    c.program_planes = rng.pick(&[ProgramPlanes::One, ProgramPlanes::All]);
    c.frontier = rng.pick(&[Span::Die, Span::Plane]);
    if c.program_planes == ProgramPlanes::All {
        c.frontier = Span::Die;
    }
    c.gc_unit = c.frontier;
    if rng.chance(30) {
        c.gc_unit = Span::Drive;
        c.frontier = match c.program_planes {
            ProgramPlanes::One => Span::Plane,
            ProgramPlanes::All => Span::Die,
        };
    }
    c.gc_streams = rng.pick(&[GcStreams::Own, GcStreams::Shared]);
    c.gc_low = 1 + rng.below(2);
    c.gc_high = c.gc_low + 1 + rng.below(3);
    c.gc_ratio_max = rng.pick(&[1.0, 16.0]);
    c.gc_credit = rng.pick(&[None, Some(1.0), Some(30.0)]);
    c.gc_burst = rng.pick(&[None, Some(1), Some(100)]);
    c.op = 300_000 + 50_000 * rng.below(5);
    c.gc_hold = rng.chance(30);
    if c.gc_hold {
        c.gc_high += 3;
    }
    let spare = c.gc_high + 5;
    c.blocks_per_plane = (spare * 1_000_000).div_ceil(c.op) + rng.below(4);
    c.suspend = rng.pick(&[Suspend::Off, Suspend::Erase, Suspend::ProgramErase]);
    (c.t_suspend, c.t_resume) = (rng.below(2) * 5_000, rng.below(2) * 7_000);
    c.read_first = rng.chance(50);
    c.frames = c.unit_places() + rng.below(4 * c.unit_places());
    c.scheme = rng
        .pick(&["fifo", "lru", "wow(group=4)", "cscan(group=3)"])
        .to_owned();
    let (low, high) = rng.pick(&[(0.0, 0.0), (0.25, 0.75), (0.5, 0.5)]);
    let depth = rng.pick(&[None, Some(1), Some(2)]);
    c.drain = rng.chance(80).then_some(Drain { low, high, depth });
    c.release_at_transfer_end = rng.chance(30);
    host_side(rng, &mut c);
    buffer_side(rng, &mut c);
    reads(rng, &mut c);
    schemes::draw(rng, &mut c);
    c
}

fn buffer_side(rng: &mut SplitMix64, c: &mut DriveConfig) {
    c.allocation_static = c.gc_unit != Span::Drive && rng.chance(40);
    if c.allocation_static {
        let frontiers = match c.frontier {
            Span::Plane => c.dies() * c.planes_per_die,
            _ => c.dies(),
        };
        c.frames += (frontiers - 1) * c.unit_places();
    }
    c.read_allocation = rng.chance(50);
    c.unit_hold = rng.pick(&[None, Some(50_000), Some(400_000)]);
    c.rewrite_in_place = rng.chance(50);
    c.nvm = rng.chance(20);
}

/// Draws the times of array reads.
fn reads(rng: &mut SplitMix64, c: &mut DriveConfig) {
    if rng.chance(50) {
        c.t_read = vec![46_000, 70_000, 115_000];
        c.t_read.truncate(2 + rng.below(2) as usize);
    }
    let step = |share, time| RetryStep { share, time };
    if rng.chance(40) {
        c.read_retry = vec![step(0.5, 30_000), step(0.25, 40_000), step(0.8, 100_000)];
        c.read_retry.truncate(1 + rng.below(3) as usize);
    }
    if rng.chance(30) {
        let every = 1 + rng.below(6 * c.unit_places());
        c.program_pause = Some((every, rng.pick(&[1_000, 80_000, 1_500_000])));
        c.pause_put_off = rng.chance(50);
    }
    if rng.chance(15) {
        // Phases of no length: an instant takes several rounds.
        (c.t_cmd_read, c.t_cmd_program, c.t_cmd_erase) = (0, 0, 0);
        c.t_byte = rng.pick(&[0, 1]);
    }
    c.seed = rng.next_u64();
}

fn host_side(rng: &mut SplitMix64, c: &mut DriveConfig) {
    c.queue_depth = rng.pick(&[None, Some(1), Some(4)]);
    c.command_slots = rng.pick(&[None, Some(2), Some(16)]);
    c.command_fifo = rng.chance(30);
    c.t_command = rng.below(2) * 1_500;
    c.command_cores = 1 + rng.below(2);
    c.link_write = rng.pick(&[None, Some(1_500_000_000)]);
    c.link_read = rng.pick(&[None, Some(3_000_000_000)]);
    let moved = rng.pick(&[0, 500, 40_000]);
    let host = rng.pick(&[0, 2_000, 33_334]);
    let price = WritePrice {
        host: if moved == 0 { host.max(1) } else { host },
        moved,
        most: rng.chance(40).then(|| host + 20_000),
        window: 1 + rng.below(3),
        burst: 1 + rng.below(8),
    };
    c.write_pace = rng.chance(60).then_some(price);
}

fn times(list: &[u64]) -> String {
    let times: Vec<String> = list.iter().map(|time| format!("{time}ns")).collect();
    times.join(",")
}

/// The same as keys of a device.
fn keys(c: &DriveConfig, filled: bool) -> Vec<String> {
    let span = |span: Span| match span {
        Span::Plane => "plane",
        Span::Die => "die",
        Span::Drive => "drive",
    };
    let mut keys = vec![
        format!("channels={}", c.channels),
        format!("chips_per_channel={}", c.chips_per_channel),
        format!("dies_per_chip={}", c.dies_per_chip),
        format!("planes_per_die={}", c.planes_per_die),
        format!("blocks_per_plane={}", c.blocks_per_plane),
        format!("pages_per_block={}", c.pages_per_block),
        format!("page_bytes={}", c.page_bytes),
        format!("mapping_bytes={}", c.mapping_bytes),
        format!("program_pages={}", c.program_pages),
        format!(
            "program_planes={}",
            if c.program_planes == ProgramPlanes::All {
                "all"
            } else {
                "one"
            }
        ),
        format!("op={}", c.op as f64 / 1e6),
        format!("t_read={}", times(&c.t_read)),
        format!("t_program={}ns", c.t_program[0]),
        format!("t_erase={}ns", c.t_erase),
        format!("t_cmd={}ns", c.t_cmd_read),
        format!("t_byte={}ps", c.t_byte),
        format!("t_dram={}ns", c.t_dram),
        format!(
            "allocation={}",
            if c.allocation_static {
                "static"
            } else {
                "dynamic"
            }
        ),
        format!("queue={}", if c.read_first { "read-first" } else { "fifo" }),
        format!(
            "suspend={}",
            match c.suspend {
                Suspend::Off => "off",
                Suspend::Erase => "erase",
                Suspend::ProgramErase => "program+erase",
            }
        ),
        format!("t_suspend={}ns", c.t_suspend),
        format!("t_resume={}ns", c.t_resume),
        "queue_per=die".to_owned(),
        format!("frontier={}", span(c.frontier)),
        format!("gc_unit={}", span(c.gc_unit)),
        "gc_mode=paced".to_owned(),
        format!(
            "gc_streams={}",
            match c.gc_streams {
                GcStreams::Own => "own",
                GcStreams::Shared => "shared",
            }
        ),
        format!("gc_low={}", c.gc_low),
        format!("gc_high={}", c.gc_high),
        format!("gc_ratio_max={}", c.gc_ratio_max),
        format!("gc_hold={}", c.gc_hold),
        "wear_levelling=dynamic".to_owned(),
        format!("precondition={{fill={}}}", u8::from(filled)),
        format!("command_cores={}", c.command_cores),
        format!(
            "command_order={}",
            if c.command_fifo { "fifo" } else { "free" }
        ),
    ];
    if !c.on_demand {
        let end = if c.release_at_transfer_end {
            "transfer_end"
        } else {
            "program_end"
        };
        keys.push("buffer=bounded".to_owned());
        keys.push(format!("frame_release={end}"));
    }
    if let Some(hold) = c.unit_hold {
        keys.push(format!("unit_hold={hold}ns"));
    }
    if c.nvm {
        keys.push("cache_persistence=nvm".to_owned());
    }
    if let Some((every, time)) = c.program_pause {
        let waits = if c.pause_put_off { "put_off" } else { "begin" };
        keys.push(format!(
            "program_pause={{every={every},time=\"{time}ns\",while_writes_wait=\"{waits}\"}}"
        ));
    }
    if !c.read_retry.is_empty() {
        let step = |step: &RetryStep| format!("{{share={},time=\"{}ns\"}}", step.share, step.time);
        let steps: Vec<String> = c.read_retry.iter().map(step).collect();
        keys.push(format!("read_retry=[{}]", steps.join(",")));
    }
    if c.rewrite_in_place {
        keys.push("rewrite=in_place".to_owned());
    }
    if c.t_command > 0 {
        keys.push(format!("t_command={}ns", c.t_command));
    }
    let link = [("read", c.link_read), ("write", c.link_write)];
    let link: Vec<String> = (link.iter())
        .filter_map(|(name, rate)| rate.map(|rate| format!("{name}=\"{rate}B/s\"")))
        .collect();
    if !link.is_empty() {
        keys.push(format!("host_link={{{}}}", link.join(",")));
    }
    let order = c
        .allocation_order
        .map(|axis| format!("{axis:?}").to_lowercase());
    keys.push(format!("allocation_order={order:?}"));
    let given = [
        ("gc_credit", c.gc_credit.map(|n| n.to_string())),
        ("gc_burst", c.gc_burst.map(|n| n.to_string())),
        ("command_slots", c.command_slots.map(|n| n.to_string())),
        ("write_pace", c.write_pace.map(|price| price_of(&price))),
        (
            "write_pace_burst",
            c.write_pace.map(|price| price.burst.to_string()),
        ),
    ];
    keys.extend(
        given
            .into_iter()
            .filter_map(|(key, value)| Some(format!("{key}={}", value?))),
    );
    keys
}

fn price_of(price: &WritePrice) -> String {
    let most = price
        .most
        .map_or("off".to_owned(), |most| format!("{most}ns"));
    format!(
        "{{host=\"{}ns\",moved=\"{}ns\",most=\"{most}\",window={}}}",
        price.host, price.moved, price.window
    )
}

fn scheme(c: &DriveConfig) -> String {
    let policy = &c.scheme;
    match c.drain {
        None => policy.clone(),
        Some(Drain { low, high, depth }) => {
            let depth = depth.map_or("all".to_owned(), |depth| depth.to_string());
            format!("drain({policy},low={low},high={high},depth={depth})")
        }
    }
}

/// Requests over a drive: mostly writes of few units, some partial, some with FUA or a preflush, and some FLUSH and TRIM.
fn load(rng: &mut SplitMix64, c: &DriveConfig, exported: u64, count: u64) -> Vec<DriveRequest> {
    let sectors = exported * c.mapping_bytes / 512;
    let spread = rng.pick(&[2_000, 60_000, 300_000]);
    let region = rng.pick(&[sectors, sectors.div_ceil(4)]);
    let mut at = 0;
    let mut requests = Vec::new();
    for _ in 0..count {
        at += rng.below(spread);
        let op = match rng.below(100) {
            0..25 => DriveOp::Read,
            25..28 => DriveOp::Flush,
            28..31 => DriveOp::Trim,
            31..36 => DriveOp::WriteFua,
            _ => DriveOp::Write,
        };
        let unit = c.mapping_bytes / 512;
        let (grain, most) = if rng.chance(80) {
            (unit, 4)
        } else {
            (1, 3 * unit)
        };
        let first = rng.below(region) / grain * grain;
        let length = (grain * (1 + rng.below(most))).min(sectors - first);
        requests.push(DriveRequest {
            at,
            op,
            offset: first * 512,
            bytes: length * 512,
            stream: rng.below(3) as usize,
            preflush: matches!(op, DriveOp::Write | DriveOp::WriteFua) && rng.chance(4),
        });
    }
    // Long after, so that no unit is open when the counters are taken with the last arrival.
    for (seconds, op) in [(10, DriveOp::Flush), (20, DriveOp::Flush)] {
        requests.push(DriveRequest {
            at: at + seconds * 1_000_000_000,
            op,
            offset: 0,
            bytes: 512,
            stream: 0,
            preflush: false,
        });
    }
    requests
}

/// The requests as a trace.
fn trace_of(requests: &[DriveRequest]) -> Trace {
    let mut batch = RequestBatch::new();
    for r in requests {
        let op = match r.op {
            DriveOp::Read => Op::Read,
            DriveOp::Flush => Op::Flush,
            DriveOp::Trim => Op::Trim,
            DriveOp::Write | DriveOp::WriteFua => Op::Write,
        };
        let sectors = if op == Op::Flush {
            0
        } else {
            (r.bytes / 512) as u32
        };
        let mut head = HostRequest::new(Nanos(r.at), op, r.offset / 512, sectors);
        head.stream = r.stream as u32;
        head.flags = RequestFlags::PREFLUSH
            .only_if(r.preflush)
            .and(RequestFlags::FUA.only_if(r.op == DriveOp::WriteFua));
        batch.push(head);
    }
    Trace::generated("random", batch)
}

/// A run on a drive.
fn spec(c: &DriveConfig, filled: bool) -> RunSpec {
    let device = EffectiveDevice::from_preset("default", &keys(c, filled)).expect("a legal device");
    let expr = Expr::parse(&scheme(c)).expect("a legal expression");
    let config = Arc::new(device.config().clone());
    let read_alloc = match c.read_allocation {
        true => ReadAlloc::On,
        false => ReadAlloc::Off,
    };
    RunSpec {
        page: config.mapping(),
        read_alloc,
        device: Some(config),
        replay: match c.queue_depth {
            Some(depth) => Replay::Limited {
                depth: NonZeroU32::new(depth as u32).expect("at least 1"),
            },
            None => Replay::Open,
        },
        seed: c.seed,
        ..RunSpec::cache_only(expr, ByteSize(c.frames * c.mapping_bytes))
    }
}

/// Completions by request, and the record.
fn run(c: &DriveConfig, filled: bool, requests: &[DriveRequest]) -> (Vec<u64>, ResultRecord) {
    let (spec, trace) = (spec(c, filled), trace_of(requests));
    let log = Log::default();
    let hooks = Hooks {
        request_log: Some(Box::new(log.clone())),
        ..Hooks::default()
    };
    let record = execute(&spec, &trace, hooks).unwrap_or_else(|e| panic!("{e}: {c:#?}"));
    let mut done = vec![0; requests.len()];
    for row in log.rows() {
        done[row.index] = row.complete;
    }
    (done, record)
}

/// A log of requests.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

/// The row of a request in a log; times in ns.
struct LogRow {
    index: usize,
    is_write: bool,
    arrival: u64,
    complete: u64,
}

impl Log {
    fn rows(&self) -> Vec<LogRow> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().skip(1).map(|line| line.split(','));
        let rows = lines.map(|cells| cells.collect::<Vec<_>>());
        let time = |cell: &str| cell.parse().expect("a number");
        rows.map(|cells| LogRow {
            index: cells[0].parse().expect("a number"),
            is_write: cells[1] == "W",
            arrival: time(cells[2]),
            complete: time(cells[3]),
        })
        .collect()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs a random load on a random drive, and says where the two first differ.
fn check(seed: u64) -> Result<(), String> {
    let mut rng = SplitMix64::new(seed);
    let c = config(&mut rng);
    let mut model = DriveModel::new(c.clone())?;
    let exported = model.exported() as u64;
    let filled = rng.chance(60);
    if filled {
        model.precondition(0..exported as usize)?;
    }
    let requests = load(&mut rng, &c, exported, 400);
    let slow = model.run(&requests)?;
    let (fast, record) = run(&c, filled, &requests);
    for (i, (fast, slow)) in fast.iter().zip(&slow.times).enumerate() {
        if *fast != slow.completed {
            let (r, slow) = (requests[i], slow.completed);
            return Err(format!(
                "request {i} {r:?} ends at {fast}, not at {slow}, on {c:#?}"
            ));
        }
    }
    let padded = record.counts.padded_places;
    if padded != Some(slow.padded_places) {
        return Err(format!(
            "{padded:?} padded places, not {}",
            slow.padded_places
        ));
    }
    Ok(())
}

#[test]
fn random_drives_agree_with_their_model() {
    for seed in 0..1000 {
        if let Err(difference) = check(seed) {
            panic!("seed {seed}: {difference}");
        }
    }
}
