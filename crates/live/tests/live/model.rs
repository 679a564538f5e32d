//! A small device with a write-back cache, which takes random times and sometimes writes past its cache.

use destage_device::config::EffectiveDevice;
use destage_live::device::{DurablePart, LiveEvent, SimulatedSsd, Ticket, TimedDevice};
use destage_live::store::CacheKind;
use destage_scheme::Expr;
use destage_sim::RunSpec;
use destage_types::rng::SplitMix64;
use destage_types::{ByteSize, HostRequest, Lpn, Nanos, Op, RequestFlags};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::Arc;

pub const SECTORS: u64 = 8;
pub const PAGE_BYTES: u32 = 4096;

pub struct ModelDevice {
    random: SplitMix64,
    capacity: usize,
    /// Does one write in four go past the cache?
    bypass: bool,
    /// Ticket of the last write of each dirty page, and the order in which they leave.
    dirty: BTreeMap<Lpn, Ticket>,
    order: VecDeque<Lpn>,
    /// Programs of a page end in their order.
    page_end: HashMap<Lpn, Nanos>,
    last_end: Nanos,
    tickets: u64,
    now: Nanos,
    ready: Vec<LiveEvent>,
    due: BTreeMap<(Nanos, u64), LiveEvent>,
    number: u64,
    /// No time but that of programs, for measurements.
    pub service: Nanos,
}

impl ModelDevice {
    pub fn new(seed: u64, capacity: usize, bypass: bool) -> ModelDevice {
        ModelDevice {
            random: SplitMix64::new(seed),
            capacity,
            bypass,
            dirty: BTreeMap::new(),
            order: VecDeque::new(),
            page_end: HashMap::new(),
            last_end: Nanos::ZERO,
            tickets: 0,
            now: Nanos::ZERO,
            ready: Vec::new(),
            due: BTreeMap::new(),
            number: 0,
            service: Nanos(5_000),
        }
    }

    fn later(&mut self, at: Nanos, event: LiveEvent) {
        self.number += 1;
        self.due.insert((at, self.number), event);
    }

    fn program(&mut self, at: Nanos, lpn: Lpn, ticket: Ticket, part: DurablePart) -> Nanos {
        self.ready.push(LiveEvent::Captured { lpn, ticket });
        let time = 100_000 + self.random.below(400_000);
        let before = self.page_end.get(&lpn).copied().unwrap_or(Nanos::ZERO);
        let end = Nanos(at.0 + time).max(before);
        self.page_end.insert(lpn, end);
        self.last_end = self.last_end.max(end);
        let durable = LiveEvent::Durable {
            lpn,
            ticket,
            part,
            at: end,
        };
        self.later(end, durable);
        end
    }

    fn write_back(&mut self, at: Nanos, lpn: Lpn) -> Option<Nanos> {
        let ticket = self.dirty.remove(&lpn)?;
        Some(self.program(at, lpn, ticket, DurablePart::Page))
    }

    fn write(&mut self, at: Nanos, ticket: Ticket, lpns: &[Lpn], durable: bool) -> Nanos {
        let past = self.bypass && self.random.below(4) == 0;
        let mut end = Nanos(at.0 + self.service.0);
        for &lpn in lpns {
            if past {
                if let Some(newest) = self.dirty.get_mut(&lpn) {
                    *newest = ticket;
                }
                self.ready.push(LiveEvent::Written { lpn, ticket });
                end = end.max(self.program(at, lpn, ticket, DurablePart::OwnSectors));
                continue;
            }
            self.ready.push(LiveEvent::Written { lpn, ticket });
            if self.dirty.insert(lpn, ticket).is_none() {
                self.order.push_back(lpn);
            }
            while self.dirty.len() > self.capacity {
                if let Some(victim) = self.order.pop_front() {
                    self.write_back(at, victim);
                }
            }
        }
        for &lpn in lpns.iter().filter(|_| durable) {
            self.write_back(at, lpn);
            let on_flash = self.page_end.get(&lpn).copied();
            end = end.max(on_flash.unwrap_or(Nanos::ZERO));
        }
        end
    }
}

impl TimedDevice for ModelDevice {
    fn submit(&mut self, at: Nanos, request: HostRequest) -> io::Result<Ticket> {
        assert!(at >= self.now, "time runs forward");
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let end_sector = request.start_sector + u64::from(request.sectors);
        let pages = request.start_sector / SECTORS..end_sector.div_ceil(SECTORS);
        let lpns: Vec<Lpn> = pages.map(Lpn).collect();
        let end = match request.op {
            Op::Read => Nanos(at.0 + self.service.0),
            Op::Write => self.write(at, ticket, &lpns, request.flags.any(RequestFlags::FUA)),
            Op::Trim => {
                let whole = request.start_sector.div_ceil(SECTORS)..end_sector / SECTORS;
                self.ready.push(LiveEvent::Trimmed { ticket });
                self.dirty.retain(|lpn, _| !whole.contains(&lpn.0));
                Nanos(at.0 + self.service.0)
            }
            Op::Flush => {
                let dirty: Vec<Lpn> = self.dirty.keys().copied().collect();
                for lpn in dirty {
                    self.write_back(at, lpn);
                }
                self.order.clear();
                self.last_end.max(at)
            }
        };
        self.later(end, LiveEvent::Completed { ticket, at: end });
        Ok(ticket)
    }

    fn next_event(&mut self) -> Option<Nanos> {
        if self.ready.is_empty() {
            self.due.first_key_value().map(|((at, _), _)| *at)
        } else {
            Some(self.now)
        }
    }

    fn advance(&mut self, to: Nanos, events: &mut Vec<LiveEvent>) {
        self.now = self.now.max(to);
        events.append(&mut self.ready);
        while let Some(first) = self.due.first_entry().filter(|e| e.key().0 <= to) {
            events.push(first.remove());
        }
    }

    fn power_cycle(&mut self, at: Nanos) {
        self.now = at;
        self.dirty.clear();
        self.order.clear();
        self.page_end.clear();
        self.last_end = at;
        self.ready.clear();
        self.due.clear();
    }
}

/// A run on the default device but for `sets`, with a cache of `cache` bytes.
pub fn run_of(sets: &[&str], scheme: &str, cache: u64) -> RunSpec {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let device = EffectiveDevice::from_preset("default", &sets);
    let device = device.expect("a device").config().clone();
    RunSpec {
        page: device.mapping(),
        device: Some(Arc::new(device)),
        ..RunSpec::cache_only(Expr::parse(scheme).expect("a scheme"), ByteSize(cache))
    }
}

/// The device of [`run_of`].
pub fn simulated(sets: &[&str], scheme: &str, cache: u64) -> SimulatedSsd {
    SimulatedSsd::new(&run_of(sets, scheme, cache), "test").expect("a device")
}

/// A random small drive with units, mostly with a bounded buffer, and whether its cache survives a power cut.
pub fn random_drive(random: &mut SplitMix64) -> (RunSpec, CacheKind) {
    let mut sets: Vec<String> = DRIVE.map(str::to_owned).into();
    let mut set = |random: &mut SplitMix64, choices: &[&str]| {
        let chosen = choices[random.below(choices.len() as u64) as usize];
        sets.extend(chosen.split_whitespace().map(str::to_owned));
    };
    set(random, &["", "program_pages=2", "program_pages=3"]);
    set(random, &["program_planes=one", "program_planes=all"]);
    set(random, &["allocation=dynamic", "allocation=static"]);
    set(random, &["suspend=off", "suspend=program+erase"]);
    set(random, &["gc_streams=own", "gc_streams=shared"]);
    set(random, &["", "unit_hold=300us"]);
    set(
        random,
        &["", "t_command=2us command_slots=4", "command_slots=2"],
    );
    set(random, &["", "write_pace=20000"]);
    set(random, &["", "host_link={write=\"500MB/s\"}"]);
    set(random, &["command_order=free", "command_order=fifo"]);
    if random.below(4) > 0 {
        set(random, &["buffer=bounded"]);
        set(random, &["", "rewrite=in_place"]);
        set(random, &["", "frame_release=transfer_end"]);
    }
    let nvm = random.below(4) == 0;
    set(
        random,
        if nvm {
            &["cache_persistence=nvm"]
        } else {
            &[""]
        },
    );
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let schemes = ["lru", "drain(fifo)", "drain(lru,low=0.25,high=0.75)"];
    let scheme = schemes[random.below(3) as usize];
    // Units have up to 24 pages, and two frontiers have one each.
    let cache = (48 + random.below(32)) << 12;
    println!("{scheme}, {} pages, {sets:?}", cache >> 12);
    let kind = if nvm { CacheKind::Nvm } else { CacheKind::Dram };
    (run_of(&sets, scheme, cache), kind)
}

const DRIVE: [&str; 20] = [
    "channels=2",
    "chips_per_channel=1",
    "dies_per_chip=1",
    "planes_per_die=2",
    "blocks_per_plane=16",
    "pages_per_block=6",
    "page_bytes=16384",
    "mapping_bytes=4096",
    "op=0.5",
    "t_read=50us",
    "t_program=300us",
    "t_erase=1ms",
    "queue_per=die",
    "frontier=die",
    "gc_unit=die",
    "gc_mode=paced",
    "gc_low=1",
    "gc_high=3",
    "wear_levelling=off",
    "precondition={fill=0}",
];
