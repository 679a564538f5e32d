//! Each request is answered once nothing more is asked: random requests to random devices, with orders between them.

use crate::model::{PAGE_BYTES, random_drive, run_of};
use destage_live::device::{Answer, DataDevice, SimulatedSsd};
use destage_live::protocol::transmission::{NbdCommand, NbdRequest};
use destage_live::store::{CacheKind, MemoryMedium, Store};
use destage_scheme::Expr;
use destage_sim::RunSpec;
use destage_types::rng::SplitMix64;
use destage_types::{ByteSize, Nanos, SECTOR_BYTES};
use std::collections::BTreeSet;

/// Sectors that requests touch.
const SECTORS: u64 = 400;
/// Steps of time after which a device that does nothing else turns in a circle.
const STEPS: usize = 100_000;

/// Devices that never collect, which are full soon.
const FULL_SOON: [&str; 4] = [
    "gc_mode=off",
    "op=0",
    "blocks_per_plane=1",
    "pages_per_block=2",
];
/// What devices are made of, beside random drives: settings, and whether they are full soon.
const DEVICES: [(&[&str], bool); 6] = [
    (&[], false),
    (&["gc_mode=background", "suspend=program+erase"], false),
    (
        &["t_command=2us", "command_slots=2", "command_order=fifo"],
        false,
    ),
    (&[], true),
    (&["t_command=2us"], true),
    (&["buffer=bounded", "allocation=dynamic"], true),
];
const SCHEMES: [&str; 6] = [
    "lru",
    "none",
    "cac(lru)",
    "prober(lirs)",
    "eager(lru)",
    DRAIN,
];
/// That of bounded buffers.
const DRAIN: &str = "drain(lru,low=0.25,high=0.75)";

/// A scheme that the device of `spec` can have.
fn scheme(random: &mut SplitMix64, spec: &RunSpec) -> Expr {
    let has_units = spec.device.as_ref().is_some_and(|d| d.has_units());
    let text = if has_units {
        DRAIN
    } else {
        SCHEMES[random.below(6) as usize]
    };
    Expr::parse(text).expect("a scheme")
}

struct Bench {
    device: DataDevice<SimulatedSsd, usize>,
    spec: RunSpec,
    now: Nanos,
    sent: usize,
    waiting: BTreeSet<usize>,
}

impl Bench {
    fn draw(random: &mut SplitMix64) -> Bench {
        let (spec, own_kind) = match random.below(2) {
            0 => random_drive(random),
            _ => {
                let (sets, is_full_soon) = DEVICES[random.below(6) as usize];
                let full: &[&str] = if is_full_soon { &FULL_SOON } else { &[] };
                let sets = [sets, full].concat();
                println!("{sets:?}");
                let mut spec = run_of(&sets, DRAIN, (48 + random.below(20)) << 12);
                spec.expr = scheme(random, &spec);
                (spec, CacheKind::Dram)
            }
        };
        // `--cache-kind nvm` without a model of the cache: a FLUSH is done before anything happens.
        let kind = match random.below(3) {
            0 => CacheKind::Nvm,
            _ => own_kind,
        };
        let device = SimulatedSsd::new(&spec, "test").expect("a device");
        let store = Store::new(Box::new(MemoryMedium::default()), kind, PAGE_BYTES);
        Bench {
            device: DataDevice::new(device, store, Vec::new()),
            spec,
            now: Nanos::ZERO,
            sent: 0,
            waiting: BTreeSet::new(),
        }
    }

    fn submit(&mut self, random: &mut SplitMix64) {
        let changing = self.device.device().is_changing();
        let sectors = 1 + random.below(40);
        let offset = random.below(SECTORS - sectors) * SECTOR_BYTES;
        let command = match random.below(8) {
            _ if changing => NbdCommand::Flush,
            0..=2 => NbdCommand::Write,
            3 => NbdCommand::Read,
            4 => NbdCommand::Flush,
            5 => NbdCommand::Trim,
            6 => NbdCommand::WriteZeroes,
            _ => NbdCommand::Cache,
        };
        let (offset, bytes) = match command {
            NbdCommand::Flush => (0, 0),
            _ => (offset, sectors * SECTOR_BYTES),
        };
        let mut request = NbdRequest::of(command, offset, bytes as u32);
        if random.below(4) == 0 && matches!(command, NbdCommand::Write | NbdCommand::WriteZeroes) {
            request = request.with_fua();
        }
        let data = match command {
            NbdCommand::Write => vec![1; bytes as usize],
            _ => Vec::new(),
        };
        self.waiting.insert(self.sent);
        self.device.submit(self.now, self.sent, &request, data);
        self.sent += 1;
    }

    fn order(&mut self, random: &mut SplitMix64) {
        match random.below(8) {
            0 => {
                let mut answers = Vec::new();
                let loss = self.device.power_cut(self.now, &mut answers);
                self.take(answers);
                assert_eq!(loss.requests as usize, self.waiting.len());
                self.waiting.clear();
            }
            1 => self.device.device().reset_statistics(),
            2..=4 if !self.device.device().is_changing() => {
                let spec = RunSpec {
                    expr: scheme(random, &self.spec),
                    cache: ByteSize((48 + random.below(16)) << 12),
                    ..self.spec.clone()
                };
                // A device that is full refuses it.
                let _ = self.device.change_to(self.now, spec);
            }
            _ => {}
        }
    }

    fn take(&mut self, answers: Vec<Answer<usize>>) {
        for Answer { token, at, .. } in answers {
            assert!(at <= self.now, "an answer before its time");
            assert!(self.waiting.remove(&token), "{token} is answered twice");
        }
    }

    fn advance(&mut self, to: Nanos) {
        self.now = self.now.max(to);
        let mut answers = Vec::new();
        self.device.advance(self.now, &mut answers);
        self.take(answers);
    }

    /// Nothing more is asked: time passes from event to event, as the thread of an export sleeps.
    fn idle(&mut self) {
        let mut steps = 0;
        while let Some(next) = self.device.next_event() {
            self.advance(next);
            steps += 1;
            assert!(steps < STEPS, "time does not pass: {next:?}");
        }
        assert!(
            self.waiting.is_empty(),
            "never answered: {:?}",
            self.waiting
        );
        assert_eq!(self.device.pending(), 0);
        assert!(
            !self.device.device().is_changing(),
            "the change never comes"
        );
    }
}

fn number_of_devices() -> u64 {
    let given = std::env::var("DESTAGE_POWER_CUTS").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(2000) / 10
}

#[test]
fn each_request_is_answered_when_nothing_more_is_asked() {
    for seed in 0..number_of_devices() {
        println!("seed {seed}");
        let mut random = SplitMix64::new(seed);
        let mut bench = Bench::draw(&mut random);
        for _ in 0..6 {
            for _ in 0..random.below(60) {
                bench.submit(&mut random);
                match random.below(8) {
                    0 => bench.advance(Nanos(bench.now.0 + random.below(2_000_000))),
                    1 => bench.order(&mut random),
                    // The next one comes at once.
                    _ => {}
                }
            }
            bench.idle();
        }
    }
}
