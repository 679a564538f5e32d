//! Chips in random states, for the real schemes and for the slow models.

use crate::drive::{ChipState, Chips};
use crate::reference::SlowFlash;
use crate::reference::cqct::{Cost, Queue};
use crate::reference::expr::SlowExpr;
use crate::reference::rng::SplitMix64;
use destage_device::nand::OpKind;
use destage_scheme::{Equation1, FlashCosts, GcBlocks, InService};
use destage_types::{Nanos, Op};
use std::cell::RefCell;
use std::rc::Rc;

/// Constants of the flash in random runs; the transfer matters to `xfer`.
pub const COSTS: FlashCosts = FlashCosts {
    read: Nanos(25_000),
    program: Nanos(200_000),
    erase: Nanos(1_500_000),
    transfer: Nanos(105_600),
    program_transfer: Nanos(105_600),
    pages_per_block: 64,
    pages_per_program: 1,
};

/// A new state of every chip for every request.
pub struct Script {
    rng: SplitMix64,
    /// How often chips change, in percent.
    restless: u64,
    loads: Vec<ChipState>,
    victim_valid_pages: Vec<u64>,
    gc: Vec<bool>,
}

impl Script {
    /// States of `chips` chips, idle at first; seed 0 leaves them idle.
    pub fn new(chips: u32, seed: u64) -> Script {
        let mut rng = SplitMix64::new(seed);
        let restless = match seed {
            0 => 0,
            _ => 5 + rng.below(95),
        };
        Script {
            rng,
            restless,
            loads: vec![ChipState::EMPTY; chips as usize],
            victim_valid_pages: vec![0; chips as usize],
            gc: vec![false; chips as usize],
        }
    }

    /// The states for the next request.
    pub fn step(&mut self) {
        for i in 0..self.loads.len() {
            if self.rng.chance(self.restless) {
                (self.loads[i], self.victim_valid_pages[i]) = self.load();
                self.gc[i] = self.loads[i].queue.gc_remaining.is_some();
            }
        }
    }

    /// The load of a chip, and the valid pages of the block it would collect.
    fn load(&mut self) -> (ChipState, u64) {
        let rng = &mut self.rng;
        if rng.chance(30) {
            return (ChipState::EMPTY, 0);
        }
        let (reads, writes) = (rng.below(4), rng.below(6));
        let in_service = reads + writes > 0 && rng.chance(80);
        let in_service_read = in_service && (writes == 0 || reads > 0 && rng.chance(50));
        let longest = if in_service_read { 130_600 } else { 305_600 };
        let residual = in_service.then(|| Nanos(rng.below(longest)));
        let drain = Nanos(rng.below(3) * 100_000);
        let free_pages = 380 + rng.below(40);
        let [frontier_free_pages, victim_valid_pages] = [rng.below(65), rng.below(65)];
        let gc_remaining = rng.chance(30).then(|| Nanos(rng.below(2_000_000)));
        let load = ChipState {
            queue: Equation1 {
                reads,
                writes,
                free_pages,
                gc_threshold_pages: 400,
                frontier_free_pages,
                gc_remaining,
            },
            in_service: residual.map(|residual| InService {
                op: if in_service_read { Op::Read } else { Op::Write },
                residual,
            }),
            drain,
            blocks: GcBlocks {
                free: 4 + rng.below(4),
                threshold: 5,
            },
        };
        (load, victim_valid_pages)
    }

    /// Puts the chips under the real core into the present states.
    pub fn apply(&self, chips: &mut Chips) {
        chips.loads.copy_from_slice(&self.loads);
        let valid = &mut chips.victim_valid_pages;
        valid.copy_from_slice(&self.victim_valid_pages);
        chips.gc.copy_from_slice(&self.gc);
        chips.costs = COSTS;
    }
}

/// The same chips under a slow model.
pub struct SlowChips {
    script: Rc<RefCell<Script>>,
    cost: Cost,
}

impl SlowChips {
    /// The options of the cost estimate are those of the layer of the expression that has them.
    ///
    /// # Errors
    /// The models do not understand the expression.
    pub fn new(script: Rc<RefCell<Script>>, expr: &str) -> Result<SlowChips, String> {
        let cost = Cost::of(&SlowExpr::parse(expr)?)?;
        Ok(SlowChips { script, cost })
    }
}

impl SlowFlash for SlowChips {
    fn chips(&self) -> usize {
        self.script.borrow().loads.len()
    }

    fn cqct(&self, chip: usize) -> u64 {
        let script = self.script.borrow();
        let load = &script.loads[chip];
        let queue = &load.queue;
        let kind = |op| match op {
            Op::Read => OpKind::Read,
            _ => OpKind::Program,
        };
        self.cost.weigh(&Queue {
            drain: load.drain.0,
            reads: queue.reads,
            writes: queue.writes,
            in_service: load.in_service.map(|s| kind(s.op)),
            residual: load.in_service.map_or(0, |s| s.residual.0),
            t_read: COSTS.read.0,
            t_program: COSTS.program.0,
            t_next_program: COSTS.program.0,
            t_erase: COSTS.erase.0,
            transfer: COSTS.transfer.0,
            program_transfer: COSTS.program_transfer.0,
            pages_per_program: COSTS.pages_per_program,
            pages_per_block: COSTS.pages_per_block,
            free: queue.free_pages,
            threshold: queue.gc_threshold_pages,
            free_blocks: load.blocks.free,
            threshold_blocks: load.blocks.threshold,
            frontier_free: queue.frontier_free_pages,
            victim_valid: script.victim_valid_pages[chip],
            gc_remaining: queue.gc_remaining.map(|left| left.0),
        })
    }

    fn times(&self) -> (u64, u64) {
        (COSTS.read.0, COSTS.program.0)
    }

    fn in_gc(&self, chip: usize) -> bool {
        self.script.borrow().gc[chip]
    }
}
