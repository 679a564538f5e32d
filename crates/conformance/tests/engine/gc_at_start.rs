//! A chip looks whether it has to collect when an operation starts (ECR-7). The engine looks when the
//! operation is queued, and puts the collection in front of it. In a FIFO queue that is the same, as
//! what an operation finds depends on those before it alone: shown against a chip that knows nothing
//! of its queue but the operation it starts next.

use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::timed::TimedRun;
use destage_conformance::timed::runs::{device_of, outcome, sectors, times};
use destage_types::Op;
use std::collections::VecDeque;

const READ: u64 = 10_000;
const PROGRAM: u64 = 100_000;
const ERASE: u64 = 1_000_000;
const BLOCKS: usize = 16;
const PAGES: usize = 4;
const LOGICAL: u64 = 32;

/// When a collection is looked for, and how far it goes.
#[derive(Clone, Copy, Debug)]
struct Rule {
    before_reads: bool,
    /// Free blocks at which a collection begins: a fifth of 16.
    low: usize,
    /// Free blocks beyond which it ends; one block alone without.
    stop: Option<usize>,
}

/// An element of DiskSim's SSD extension.
struct Element {
    rule: Rule,
    idle_at: u64,
    free: VecDeque<usize>,
    active: usize,
    /// The page in each place of each block that was programmed, `None` where it is elsewhere now.
    blocks: Vec<Vec<Option<u64>>>,
    /// Changes of the mapping so far, and the last one of each block.
    changes: u64,
    changed: Vec<u64>,
    collected: u32,
}

impl Element {
    fn new(rule: Rule) -> Element {
        Element {
            rule,
            idle_at: 0,
            free: (1..BLOCKS).collect(),
            active: 0,
            blocks: vec![Vec::new(); BLOCKS],
            changes: 0,
            changed: vec![0; BLOCKS],
            collected: 0,
        }
    }

    fn program(&mut self, page: u64) {
        if self.blocks[self.active].len() == PAGES {
            self.active = self
                .free
                .pop_front()
                .expect("a collection leaves free blocks");
        }
        for block in 0..BLOCKS {
            let Some(at) = self.blocks[block].iter().position(|&p| p == Some(page)) else {
                continue;
            };
            self.blocks[block][at] = None;
            self.changes += 1;
            self.changed[block] = self.changes;
        }
        self.blocks[self.active].push(Some(page));
        self.changes += 1;
        self.changed[self.active] = self.changes;
    }

    fn valid(&self, block: usize) -> usize {
        self.blocks[block].iter().flatten().count()
    }

    /// Time to collect one block, that with the fewest valid pages, if any gains a page.
    fn collect(&mut self) -> Option<u64> {
        let sealed = |&b: &usize| self.blocks[b].len() == PAGES && self.valid(b) < PAGES;
        let victims = (0..BLOCKS).filter(sealed);
        let victim = victims.min_by_key(|&b| (self.valid(b), self.changed[b]))?;
        let pages: Vec<u64> = self.blocks[victim].iter().flatten().copied().collect();
        for &page in &pages {
            self.program(page);
        }
        self.blocks[victim].clear();
        self.free.push_back(victim);
        self.collected += 1;
        Some(pages.len() as u64 * (READ + PROGRAM) + ERASE)
    }

    /// An operation that came at `arrival`, after all that came before it: when does it end?
    fn serve(&mut self, op: Op, page: u64, arrival: u64) -> u64 {
        let mut now = arrival.max(self.idle_at);
        let looks = op == Op::Write || self.rule.before_reads;
        if looks && self.free.len() <= self.rule.low {
            while let Some(time) = self.collect() {
                now += time;
                if self.rule.stop.is_none_or(|stop| self.free.len() > stop) {
                    break;
                }
            }
        }
        if op == Op::Write {
            self.program(page);
        }
        now += if op == Op::Write { PROGRAM } else { READ };
        self.idle_at = now;
        now
    }
}

/// All pages once, then random ones, ever more of them at a time.
fn requests(seed: u64) -> Vec<(Op, u64, u32, u64)> {
    let mut rng = SplitMix64::new(seed);
    let mut now = 0;
    let random = (0..600u64).map(|i| {
        let op = if rng.below(3) == 0 {
            Op::Read
        } else {
            Op::Write
        };
        let page = rng.below(LOGICAL).min(rng.below(LOGICAL));
        now += rng.below(600_000 - 900 * i.min(600));
        (op, page, now)
    });
    let fill = (0..LOGICAL).map(|page| (Op::Write, page, 0));
    let all = fill.chain(random);
    all.map(|(op, page, now)| (op, page * 8, 8, now)).collect()
}

#[test]
fn a_collection_that_is_queued_is_that_of_an_operation_that_starts() {
    let common = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=16 \
                  pages_per_block=4 op=0.5 t_read=10us t_program=100us t_erase=1ms t_cmd=0 t_byte=0 \
                  t_ready=0 t_dram=0 precondition.trace=false gc_threshold_base=total queue=fifo \
                  gc_threshold=0.2 gc_threshold_unit=blocks wear_levelling=off";
    let mut collections = Vec::new();
    for before_reads in [false, true] {
        for (stop, watermark) in [(None, "one"), (Some(4), "watermark")] {
            let trigger = if before_reads { "operation" } else { "program" };
            let keys = format!("{common} gc_trigger={trigger} gc_stop={watermark}");
            let rule = Rule {
                before_reads,
                low: 3,
                stop,
            };
            for seed in 0..12 {
                let requests = requests(seed);
                let run = TimedRun::new("none", 1, device_of(&keys));
                let real = outcome(&run, &sectors(&requests));
                let mut element = Element::new(rule);
                let expected = requests.iter().map(|&(op, sector, _, arrival)| {
                    element.serve(op, sector / 8, arrival) - arrival
                });
                let expected: Vec<u64> = expected.collect();
                assert_eq!(times(&real), expected, "{rule:?}, seed {seed}");
                collections.push(element.collected);
            }
        }
    }
    assert!(collections.iter().all(|&n| n > 50), "{collections:?}");
}
