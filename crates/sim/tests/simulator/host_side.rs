//! Runs through the host's side of a device: what it does not cost changes nothing, and each request belongs to
//! the part of the run that its number says.

use destage_device::config::EffectiveDevice;
use destage_scheme::rng::SplitMix64;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::log::EvictionLog;
use destage_sim::record::RunInfo;
use destage_sim::record::series::{Every, SeriesRow};
use destage_sim::{Hooks, Replay, ResultRecord, RunError, RunSpec, Series, Warmup, execute};
use destage_trace::Trace;
use destage_types::{ByteSize, HostRequest, Nanos, Op, RequestBatch};
use std::io::Write;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

pub const PAGES: &str = "channels=2 chips_per_channel=1 dies_per_chip=1 planes_per_die=2 \
                     blocks_per_plane=32 pages_per_block=16 op=0.4 t_dram=1us";
/// A drive with units of four places and a bounded buffer.
pub const UNITS: &str = "channels=2 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 \
                     blocks_per_plane=32 pages_per_block=8 page_bytes=16384 mapping_bytes=4096 op=0.4 \
                     t_dram=1us allocation=dynamic queue=fifo suspend=off queue_per=die frontier=die \
                     gc_unit=die buffer=bounded gc_mode=paced gc_low=1 gc_high=3 wear_levelling=off";
/// No command ever waits for one of these slots.
const FREE: &str = "command_slots=1048576";

pub fn device(sets: &str) -> RunSpec {
    let sets: Vec<String> = sets.split_whitespace().map(str::to_owned).collect();
    let device = EffectiveDevice::from_preset("default", &sets).unwrap();
    let config = device.into_config();
    let scheme = if config.is_bounded() {
        "drain(lru)"
    } else {
        "lru"
    };
    RunSpec {
        page: config.mapping(),
        read_alloc: ReadAlloc::Off,
        device: Some(Arc::new(config)),
        ..RunSpec::cache_only(Expr::parse(scheme).unwrap(), ByteSize(32 << 10))
    }
}

/// A request of `pages` pages from `page` on.
fn request(at: u64, op: Op, page: u64, pages: u32) -> HostRequest {
    HostRequest::new(Nanos(at), op, 8 * page, 8 * pages)
}

fn trace(requests: impl IntoIterator<Item = HostRequest>) -> Trace {
    let mut batch = RequestBatch::new();
    requests.into_iter().for_each(|head| batch.push(head));
    Trace::generated("requests", batch)
}

/// Random requests of several streams, in bursts.
pub fn random(seed: u64, count: u64) -> Trace {
    let mut rng = SplitMix64::new(seed);
    let mut at = 0;
    trace((0..count).map(|_| {
        at += rng.below(2) * rng.below(400_000);
        let op = [Op::Read, Op::Write, Op::Write, Op::Write][rng.below(4) as usize];
        let mut head = request(at, op, rng.below(200), 1 + rng.below(4) as u32);
        if rng.below(40) == 0 {
            head = HostRequest::new(Nanos(at), Op::Flush, 0, 0);
        }
        head.stream = rng.below(3) as u32;
        head
    }))
}

/// A buffer that takes the place of a file.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Text {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A run with all that is written of it.
pub struct Ran {
    pub record: ResultRecord,
    rows: Vec<SeriesRow>,
    pub requests: String,
    evictions: String,
}

pub fn run(spec: &RunSpec, trace: &Trace, every: Every) -> Result<Ran, RunError> {
    let (requests, evictions) = (Text::default(), Text::default());
    let rows: Arc<Mutex<Vec<SeriesRow>>> = Arc::default();
    let sink = Arc::clone(&rows);
    let series = Series::new(
        every,
        Box::new(move |row| {
            sink.lock().unwrap().extend(row.cloned());
            Ok(())
        }),
    );
    let hooks = Hooks {
        request_log: Some(Box::new(requests.clone())),
        observer: Some(Box::new(EvictionLog::new(Box::new(evictions.clone())))),
        series: vec![series],
        ..Hooks::default()
    };
    let record = execute(spec, trace, hooks)?;
    let rows = rows.lock().unwrap().clone();
    Ok(Ran {
        record,
        rows,
        requests: requests.text(),
        evictions: evictions.text(),
    })
}

/// (arrival, completion) by request.
pub fn times(log: &str) -> Vec<(u64, u64)> {
    let cells = |line: &str| -> (u64, u64) {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[2].parse().unwrap(), cells[3].parse().unwrap())
    };
    log.lines().skip(1).map(cells).collect()
}

/// Pages of all evictions in a log.
fn evicted(log: &str) -> u64 {
    let pages = |line: &str| -> u64 {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        ["flush", "drop", "inflight"]
            .iter()
            .filter_map(|name| line[name].as_array())
            .map(|pages| pages.len() as u64)
            .sum()
    };
    log.lines().map(pages).sum()
}

pub fn closed(depth: u32) -> Replay {
    Replay::Closed {
        depth: NonZeroU32::new(depth).unwrap(),
    }
}

#[test]
fn a_host_side_that_costs_nothing_changes_nothing() {
    let intervals = [
        Every::Requests(1),
        Every::Requests(7),
        Every::Time(Nanos(10)),
        Every::Time(Nanos(100_000)),
    ];
    let warm_ups = [Warmup::None, Warmup::Requests(61), Warmup::Passes(1)];
    let replays = [Replay::Open, closed(1), closed(7)];
    let schemes = ["lru", "awb(lru)", "ecr(lru)", "none"];
    for seed in 0..120 {
        // Some of them beyond the points where metadata are sampled.
        let trace = random(seed, if seed < 4 { 25_000 } else { 300 });
        let of = |n: usize, salt: usize| (seed as usize / salt) % n;
        for base in [PAGES, UNITS] {
            let every = intervals[of(4, 1)];
            let (warmup, replay) = (warm_ups[of(3, 2)], replays[of(3, 3)]);
            let with = |more: &str| {
                let mut spec = RunSpec {
                    warmup,
                    replay,
                    ..device(&format!("{base} {more}"))
                };
                if base == PAGES {
                    spec.expr = Expr::parse(schemes[of(4, 5)]).unwrap();
                }
                run(&spec, &trace, every).unwrap()
            };
            let (plain, hosted) = (with(""), with(FREE));
            let what = format!("seed {seed}, {base}");
            assert_eq!(plain.requests, hosted.requests, "{what}");
            assert_eq!(plain.evictions, hosted.evictions, "{what}");
            assert_eq!(plain.rows.len(), hosted.rows.len(), "{what}");
            let pairs = plain.rows.iter().zip(&hosted.rows);
            let different = pairs.into_iter().find(|(one, other)| one != other);
            assert_eq!(different, None, "{what}");
            assert_eq!(hosted.record.service_ns, hosted.record.latency_ns, "{what}");
            let of_run = |mut record: ResultRecord| {
                (record.config, record.run) = (Vec::new(), RunInfo::default());
                record.service_ns = None;
                serde_json::to_string_pretty(&record).unwrap()
            };
            let (plain, hosted) = (of_run(plain.record), of_run(hosted.record));
            let lines = plain.lines().zip(hosted.lines());
            let different = lines.into_iter().find(|(one, other)| one != other);
            assert_eq!(different, None, "{what}");
        }
    }
}

#[test]
fn intervals_add_up_whatever_waits() {
    let host = "command_slots=3 t_command=700ns write_pace=20000 host_link={write=\"30MB/s\"}";
    for (seed, base) in (0..20).zip([PAGES, UNITS].into_iter().cycle()) {
        for every in [
            Every::Requests(1),
            Every::Requests(9),
            Every::Time(Nanos(50_000)),
        ] {
            let warmup = [Warmup::None, Warmup::Requests(50)][seed as usize / 2 % 2];
            let spec = RunSpec {
                warmup,
                replay: Replay::Limited {
                    depth: NonZeroU32::new(4).unwrap(),
                },
                ..device(&format!("{base} {host}"))
            };
            let ran = run(&spec, &random(seed, 200), every).unwrap();
            let (rows, c) = (&ran.rows, &ran.record.counts);
            let sum = |of: fn(&SeriesRow) -> u64| rows.iter().map(of).sum::<u64>();
            let measured = if warmup == Warmup::None { 200 } else { 150 };
            assert_eq!(c.requests, measured);
            assert_eq!(sum(|row| row.requests), measured);
            assert_eq!(sum(|row| row.read_pages), c.read_pages);
            assert_eq!(sum(|row| row.write_pages), c.write_pages);
            assert_eq!(sum(|row| row.evictions), c.evictions);
            assert_eq!(sum(|row| row.flash_reads_host), c.flash_reads_host);
            assert_eq!(sum(|row| row.flash_writes_host), c.flash_writes_host);
            if every == Every::Requests(1) {
                assert!(
                    rows[..measured as usize]
                        .iter()
                        .all(|row| row.requests == 1)
                );
            }
            assert_eq!(ran.requests.lines().count() as u64, 1 + measured);
            assert_eq!(evicted(&ran.evictions), c.evicted_pages);
            // Response times are from the arrival, not from the admission.
            let responses = times(&ran.requests).into_iter();
            let longest = responses.map(|(arrival, done)| done - arrival).max();
            assert_eq!(ran.record.latency_ns.unwrap().all.max, longest);
        }
    }
}

/// 4,096 B take 40,960 ns on the way in, so the read of the measured part comes before the write of the warm-up.
#[test]
fn the_warm_up_is_cut_by_number_even_if_it_is_overtaken() {
    let spec = RunSpec {
        warmup: Warmup::Requests(1),
        read_alloc: ReadAlloc::On,
        ..device(&format!("{PAGES} host_link={{write=\"100MB/s\"}}"))
    };
    let trace = trace([
        request(0, Op::Write, 5, 1),
        request(10, Op::Read, 7, 1),
        request(100_000, Op::Read, 5, 1),
    ]);
    let ran = run(&spec, &trace, Every::Requests(1)).unwrap();
    let c = &ran.record.counts;
    assert_eq!((c.requests, c.read_requests, c.write_requests), (2, 2, 0));
    assert_eq!((c.write_pages, c.read_pages, c.read_page_hits), (0, 2, 1));
    assert_eq!(ran.rows.len(), 2);
    assert_eq!(ran.record.latency_ns.unwrap().write.max, None);
    assert_eq!(times(&ran.requests)[1], (100_000, 101_000));
}

/// `t_command` 2 us, `t_dram` 1 us: a closed loop of depth 1 issues a write every 3 us.
#[test]
fn a_closed_loop_issues_as_requests_end() {
    let spec = RunSpec {
        replay: closed(1),
        ..device(&format!("{PAGES} t_command=2us"))
    };
    let trace = trace((0..4).map(|page| request(0, Op::Write, page, 1)));
    let ran = run(&spec, &trace, Every::Requests(1)).unwrap();
    let wanted: Vec<(u64, u64)> = (0..4).map(|i| (3_000 * i, 3_000 * (i + 1))).collect();
    assert_eq!(times(&ran.requests), wanted);
    let latency = ran.record.latency_ns.unwrap();
    assert_eq!(
        (latency.all.mean, latency.all.max),
        (Some(3_000.0), Some(3_000))
    );
    assert_eq!(ran.record.service_ns, Some(latency));
}

/// Writes are let in every 100 us: of four that arrive at once the last is done 300 us later.
#[test]
fn what_waits_at_the_last_arrival_is_left() {
    let spec = device(&format!("{PAGES} write_pace=10000 write_pace_burst=1"));
    let requests = (0..4).map(|page| request(0, Op::Write, page, 1));
    let last = request(50_000, Op::Write, 9, 1);
    let trace = trace(requests.chain([last]));
    let ran = run(&spec, &trace, Every::Time(Nanos(100_000))).unwrap();
    let backlog = ran.record.backlog.unwrap();
    // Those at 0, 0 and 100 us are let in with the burst of one; see D-17.
    let done: Vec<u64> = times(&ran.requests).iter().map(|row| row.1).collect();
    assert_eq!(done, [1_000, 1_000, 101_000, 201_000, 301_000]);
    assert_eq!((backlog.requests, backlog.drain_ns), (3, 251_000));
    let requests: Vec<u64> = ran.rows.iter().map(|row| row.requests).collect();
    assert_eq!(requests, [2, 1, 1, 1]);
}

/// Eight frames and units of four: request 2 waits until page 0 to 3 are on flash, request 3 needs no room. The
/// evictions for request 2 are told as its own, though request 3 came before.
#[test]
fn evictions_for_what_waits_name_the_request_that_waits() {
    let trace = trace([
        request(0, Op::Write, 0, 4),
        request(1_000, Op::Write, 4, 4),
        request(2_000, Op::Write, 8, 2),
        request(3_000, Op::Read, 100, 1),
    ]);
    let ran = run(&device(UNITS), &trace, Every::Requests(1)).unwrap();
    let named: Vec<&str> = ran.evictions.lines().collect();
    assert_eq!(
        named,
        [0, 1].map(|page| format!(r#"{{"request":2,"flush":[],"drop":[{page}],"discard":[]}}"#))
    );
    assert_eq!(ran.record.counts.evictions, 2);
    assert_eq!(ran.record.counts.write_pages, 10);
}

/// The free blocks do not hold the data, and nothing is invalid: the run ends with the reason.
#[test]
fn a_drive_without_room_ends_the_run_and_nothing_waits_for_ever() {
    let full = UNITS.replace("gc_mode=paced gc_low=1 gc_high=3", "gc_mode=off");
    for (more, replay) in [
        ("", Replay::Open),
        ("", closed(3)),
        (FREE, Replay::Open),
        (FREE, closed(3)),
        ("t_command=1us command_order=fifo", Replay::Open),
    ] {
        let spec = RunSpec {
            replay,
            ..device(&format!("{full} {more}"))
        };
        let trace = trace((0..2000).map(|i| request(1_000 * i, Op::Write, i % 300, 2)));
        let error = run(&spec, &trace, Every::Requests(100)).err().unwrap();
        assert!(matches!(error, RunError::DeviceFull { .. }), "{error}");
    }
}

/// Found by torture: a table of all numbers up to the largest took 300 GB.
#[test]
fn streams_have_any_numbers_and_take_turns_in_their_order() {
    for sets in [PAGES, UNITS] {
        let spec = device(&format!("{sets} command_slots=2"));
        let small = random(7, 400);
        let numbers = [5, 70_000, u32::MAX];
        let large = trace(small.requests.records().iter().map(|head| {
            let mut head = *head;
            head.stream = numbers[head.stream as usize];
            head
        }));
        let [small, large] =
            [small, large].map(|trace| run(&spec, &trace, Every::Requests(50)).unwrap());
        // The last column of the log is the stream.
        let times = |log: &str| -> Vec<String> {
            let cut = |line: &str| line.rsplit_once(',').map(|parts| parts.0.to_owned());
            log.lines().filter_map(cut).collect()
        };
        assert_eq!(times(&small.requests), times(&large.requests), "{sets}");
        assert_eq!(small.record.counts, large.record.counts, "{sets}");
        assert_eq!(small.record.latency_ns, large.record.latency_ns, "{sets}");
    }
}
