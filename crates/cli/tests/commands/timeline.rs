//! `--timeline`: the file decodes by declarations of its own, and says what the request log says.

use crate::common::{Bench, csv, mixed, without_cost};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    sequence: Option<u32>,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Clone, PartialEq, Message)]
struct Track {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<Process>,
    #[prost(uint64, optional, tag = "5")]
    parent: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(string, optional, tag = "6")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(message, repeated, tag = "4")]
    says: Vec<Says>,
    #[prost(uint32, optional, tag = "9")]
    kind: Option<u32>,
    #[prost(uint64, optional, tag = "11")]
    track: Option<u64>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flows: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    flows_in: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Says {
    #[prost(uint64, optional, tag = "3")]
    number: Option<u64>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

/// A slice that stands in no other one.
#[derive(Debug)]
struct Slice {
    group: String,
    track: u64,
    name: String,
    begin: u64,
    end: u64,
    numbers: BTreeMap<String, u64>,
    flows: Vec<u64>,
    flows_in: Vec<u64>,
    /// Those inside it.
    inside: Vec<(String, u64, u64)>,
}

#[derive(Default)]
struct Decoded {
    slices: Vec<Slice>,
    /// Group and name by number.
    tracks: BTreeMap<u64, (String, String)>,
    /// Track, time, value.
    values: Vec<(u64, u64, i64)>,
}

fn decoded(bench: &Bench, name: &str) -> Decoded {
    let bytes = std::fs::read(bench.path(name)).unwrap();
    let trace = Trace::decode(&*bytes).expect("a trace");
    let (mut decoded, mut groups) = (Decoded::default(), BTreeMap::new());
    // Name, begin and event of what has not ended, by track.
    let mut open: BTreeMap<u64, Vec<(u64, Event)>> = BTreeMap::new();
    let mut inside: BTreeMap<u64, Vec<(String, u64, u64)>> = BTreeMap::new();
    for packet in trace.packet {
        assert_eq!(packet.sequence, Some(1));
        if let Some(track) = packet.track {
            let uuid = track.uuid.unwrap();
            match track.process {
                Some(process) => {
                    groups.insert(uuid, process.name.unwrap());
                }
                None => {
                    let place = (groups[&track.parent.unwrap()].clone(), track.name.unwrap());
                    assert!(decoded.tracks.values().all(|other| *other != place));
                    decoded.tracks.insert(uuid, place);
                }
            }
            continue;
        }
        let (at, event) = (packet.timestamp.unwrap(), packet.event.unwrap());
        let track = event.track.unwrap();
        let open = open.entry(track).or_default();
        match event.kind {
            Some(1) => open.push((at, event)),
            Some(2) => {
                let (begin, event) = open.pop().expect("it has begun");
                let name = event.name.unwrap();
                assert!(begin <= at, "{name}");
                if !open.is_empty() {
                    inside.entry(track).or_default().push((name, begin, at));
                    continue;
                }
                let says = event.says.iter();
                decoded.slices.push(Slice {
                    group: decoded.tracks[&track].0.clone(),
                    track,
                    name,
                    begin,
                    end: at,
                    numbers: says
                        .filter_map(|s| Some((s.name.clone()?, s.number?)))
                        .collect(),
                    flows: event.flows,
                    flows_in: event.flows_in,
                    inside: inside.remove(&track).unwrap_or_default(),
                });
            }
            Some(4) => decoded.values.push((track, at, event.value.unwrap())),
            other => panic!("{other:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "all have ended");
    decoded
}

impl Decoded {
    fn of<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Slice> {
        self.slices.iter().filter(move |slice| slice.group == group)
    }

    /// Slices of a track follow one another, and so do those inside them.
    fn nothing_overlaps(&self) {
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        for slice in &self.slices {
            let end = ends.entry(slice.track).or_default();
            assert!(slice.begin >= *end, "{slice:?}");
            *end = slice.end;
            let mut reached = slice.begin;
            for (_, begin, end) in &slice.inside {
                assert!(*begin >= reached && *end <= slice.end, "{slice:?}");
                reached = *end;
            }
        }
    }
}

/// A device that collects garbage, on which reads suspend erases.
const DEVICE: &str = "--device default --set blocks_per_plane=16 --set precondition.fill=0.9 \
                      --set precondition.overwrite=1 --set suspend=erase --set queue=read-first";

#[test]
fn requests_are_those_of_the_log_and_arrows_lead_to_their_operations() {
    let bench = Bench::with(mixed(20_000));
    let run = format!("run t.csv --cache 256k --scheme lru {DEVICE} --wrap");
    let alone = without_cost(bench.record(&run));
    let logs = "--log-requests r.csv --timeline t.pftrace";
    assert_eq!(alone, without_cost(bench.record(format!("{run} {logs}"))));
    assert!(alone["counts"]["erases"].as_u64() > Some(10), "{alone}");
    let shown = decoded(&bench, "t.pftrace");
    shown.nothing_overlaps();

    let mut requests: Vec<[u64; 5]> = shown
        .of("requests")
        .map(|r| {
            let of = |name: &str| r.numbers[name];
            [of("request"), r.begin, r.end, of("pages"), of("hit_pages")]
        })
        .collect();
    requests.sort_unstable();
    let log = bench.read("r.csv");
    let rows = log.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        [0, 2, 3, 4, 5].map(|i| cells[i].parse().unwrap())
    });
    assert_eq!(requests, rows.collect::<Vec<[u64; 5]>>());

    // Each arrow begins at a request and ends at one operation or collection of it.
    let from: BTreeMap<u64, u64> = shown
        .of("requests")
        .flat_map(|r| r.flows.iter().map(|&flow| (flow, r.numbers["request"])))
        .collect();
    let mut ends = BTreeSet::new();
    for slice in &shown.slices {
        for flow in &slice.flows_in {
            assert_eq!(from[flow], slice.numbers["request"], "{slice:?}");
            assert!(ends.insert(*flow), "{slice:?}");
        }
    }
    assert_eq!(ends.len(), from.len());
    let arrows = |group| shown.of(group).filter(|s| !s.flows_in.is_empty()).count();
    assert!(arrows("dies") > 5000 && arrows("garbage collection") > 5);
    // A suspended erase has several slices.
    let slices: Vec<u64> = shown
        .of("dies")
        .filter(|s| s.name == "erase")
        .map(|s| s.numbers["operation"])
        .collect();
    let count = |name: &str| alone["counts"][name].as_u64().unwrap() as usize;
    let erases: BTreeSet<&u64> = slices.iter().collect();
    assert_eq!(erases.len(), count("erases"));
    assert!(slices.len() >= erases.len() + count("erase_suspensions"));
    assert!(slices.len() > erases.len());
}

/// A write and two reads that come while it is programmed.
#[test]
fn a_wait_by_hand() {
    let bench = Bench::with(csv("W0 R1 R1"));
    let set = "--set channels=1 --set chips_per_channel=1 --set dies_per_chip=1 --set t_read=50us \
               --set t_ready=0 --set t_cmd_read=200ns --set t_byte=10ns --set t_dram=1us";
    let run = format!("run t.csv --scheme none --device default {set} --timeline t.pftrace");
    bench.destage(run).ok();
    let shown = decoded(&bench, "t.pftrace");
    let [program, first, second] = &shown.of("dies").collect::<Vec<_>>()[..] else {
        panic!("three operations: {:?}", shown.slices)
    };
    assert_eq!((program.name.as_str(), program.begin), ("bypass", 0));
    // The reads come at 1 and 2 us and wait for the program, the second one for the first.
    assert_eq!((first.begin, second.begin), (program.end, first.end));
    assert_eq!(first.numbers["waited_ns"], program.end - 1000);
    assert_eq!(second.numbers["waited_ns"], first.end - 2000);
    assert_eq!(
        (first.numbers["request"], second.numbers["request"]),
        (1, 2)
    );
    // A command of 200 ns, 50 us in the array, and 4096 bytes of 10 ns on the bus.
    assert_eq!(second.end - second.begin, 200 + 50_000 + 40_960);
    let array = (second.begin + 200, second.begin + 50_200);
    assert_eq!(second.inside, [("array".to_owned(), array.0, array.1)]);
    let bus: Vec<_> = shown.of("channels").map(|s| (s.begin, s.end)).collect();
    assert_eq!(bus[3..], [(second.begin, array.0), (array.1, second.end)]);
    let waiting: Vec<_> = shown.values.iter().map(|v| (v.1, v.2)).collect();
    let expected = [
        (0, 0),
        (1000, 1),
        (2000, 2),
        (first.begin, 1),
        (second.begin, 0),
    ];
    assert_eq!(waiting, expected);
}

#[test]
fn a_window_holds_what_overlaps_it() {
    let bench = Bench::with(mixed(3000));
    let run = format!("run t.csv --cache 64k --scheme 'awb(lru)' {DEVICE} --wrap --warmup 500");
    bench
        .destage(format!("{run} --timeline all.pftrace --timeline-from 0"))
        .ok();
    let window = "--timeline-from 1ms --timeline-to 1500us";
    bench
        .destage(format!("{run} --timeline part.pftrace {window}"))
        .ok();
    let (all, part) = (
        decoded(&bench, "all.pftrace"),
        decoded(&bench, "part.pftrace"),
    );
    part.nothing_overlaps();
    let requests = |decoded: &Decoded| -> BTreeSet<(u64, u64, u64)> {
        let of = decoded.of("requests");
        of.map(|r| (r.numbers["request"], r.begin, r.end)).collect()
    };
    let overlap = |r: &(u64, u64, u64)| r.1 < 1_500_000 && r.2 >= 1_000_000;
    let expected: BTreeSet<_> = requests(&all).into_iter().filter(overlap).collect();
    assert!(expected.len() > 100);
    assert_eq!(requests(&part), expected);
    let inside = |v: &(u64, u64, i64)| (1_000_000..=1_500_000).contains(&v.1) && v.2 >= 0;
    assert!(part.values.len() > 50 && part.values.iter().all(inside));

    let done = bench.destage(format!(
        "{run} --timeline none.pftrace --timeline-from 1000s"
    ));
    done.ok()
        .says("warning: the timeline is empty: it begins at 1000000000000 ns");
    assert!(decoded(&bench, "none.pftrace").slices.is_empty());
}

#[test]
fn what_cannot_be() {
    let bench = Bench::with(csv("W0 R0"));
    bench.refuses(
        "
        run t.csv --timeline a | --timeline needs a device
        run t.csv --device default --timeline - | --timeline needs a file
        run t.csv --device default --timeline t.csv | t.csv is read and would be overwritten
        run t.csv --device default --timeline no/a | --timeline no/a | cannot create it
        run t.csv --device default --timeline a --log-requests a | --timeline need a file each
        run t.csv --device default --timeline a --scheme lru --scheme fifo
          | --timeline: several runs need --out DIR
        run t.csv --device default --timeline-to 1s | --timeline <FILE.pftrace>
        run t.csv --device default --timeline a --timeline-from 2s --timeline-to 2s
          | --timeline-from 2000000000 ns is not before --timeline-to 2000000000 ns
        run t.csv --device default --timeline a --timeline-to 5 | a time needs a unit | 1.5s
        run t.csv --device default --timeline a --timeline-from -1s | --timeline-from
        run t.csv --device default --timeline a --timeline-to 0.1ns | finer than 1 ns
        ",
    );
    assert!(!bench.path("a").exists());
}

#[test]
fn several_runs_have_a_file_each() {
    let bench = Bench::with(csv("W0 W1 W2 R0"));
    let run = "run t.csv --device default --cache 8k --scheme lru --scheme fifo --out out";
    bench.destage(format!("{run} --timeline x.pftrace")).ok();
    for name in ["x-t-lru-8KiB.pftrace", "x-t-fifo-8KiB.pftrace"] {
        assert!(bench.names("out").iter().any(|n| n == name), "{name}");
    }
    // Those that are done are not done again, unless a timeline is missing.
    bench
        .destage(format!("{run} --timeline x.pftrace"))
        .ok()
        .says("2 of 2 runs are done");
    let other = bench.destage(format!("{run} --timeline y.pftrace")).ok();
    assert!(!other.stderr.contains("done already"), "{}", other.stderr);
}

#[test]
fn a_timeline_that_takes_too_much_memory_says_how_far_it_came() {
    let bench = Bench::with(mixed(100_000));
    let run =
        "run t.csv --device default --scheme none --wrap --timeline t.pftrace --memory 100MiB";
    let parts = [
        "ns of simulated time",
        "--timeline-to",
        "more --memory",
        "26214400 bytes",
    ];
    bench.destage(run).fails(1, &parts);
    assert!(!bench.path("t.pftrace").exists());
    bench.destage(format!("{run} --timeline-to 20ms")).ok();
}

#[test]
fn accesses_of_a_cache_in_flash_are_called_so() {
    let bench = Bench::with(mixed(3000));
    let run = "run t.csv --device procache-emu --cache 64k --scheme lru --timeline t.pftrace";
    let record = bench.record(run);
    let shown = decoded(&bench, "t.pftrace");
    let count = |names: &[&str]| {
        let dies = shown.of("dies");
        dies.filter(|s| names.contains(&s.name.as_str())).count() as u64
    };
    let reads = count(&["cache read", "cache read before program"]);
    let programs = count(&["cache write", "cache fill"]);
    assert_eq!(record["counts"]["cache_reads"], reads);
    assert_eq!(record["counts"]["cache_programs"], programs);
    for name in ["cache read", "cache write", "cache fill"] {
        assert!(count(&[name]) > 0, "{name}");
    }
}
