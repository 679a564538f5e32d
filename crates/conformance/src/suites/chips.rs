//! Chips in random states, for the real schemes and for the slow models.

use crate::drive::{ChipState, Chips};
use crate::reference::SlowFlash;
use crate::reference::rng::SplitMix64;
use destage_scheme::{Equation1, Expr, FlashCosts, InService};
use destage_types::{Nanos, Op};
use std::cell::RefCell;
use std::rc::Rc;

/// Constants of the flash in random runs; the transfer matters to `xfer`.
pub const COSTS: FlashCosts = FlashCosts {
    read: Nanos(25_000),
    program: Nanos(200_000),
    erase: Nanos(1_500_000),
    transfer: Nanos(105_600),
    pages_per_block: 64,
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
    transfer: bool,
    remaining: bool,
    oracle: bool,
    mapping: bool,
    summary: i128,
}

impl SlowChips {
    /// The options of the cost estimate are those of the layer of `expr` that has them.
    pub fn new(script: Rc<RefCell<Script>>, expr: &Expr) -> SlowChips {
        let layer = expr.chain().find(|l| l.scheme().param("cqct").is_some());
        let word = |key: &str, value: &str| layer.is_some_and(|l| l.word(key) == value);
        SlowChips {
            script,
            transfer: word("xfer", "included"),
            remaining: word("residual", "remaining"),
            oracle: word("cqct", "oracle"),
            mapping: word("nfp", "mapping"),
            summary: layer.map_or(0, |l| i128::from(l.time("l-sp").0)),
        }
    }

    /// Equations 1-4 of ECR (section 3.1), literally.
    fn equation(&self, c: &ChipState, victim_valid_pages: u64) -> i128 {
        let n = i128::from;
        let transfer = if self.transfer {
            n(COSTS.transfer.0)
        } else {
            0
        };
        let (l_r, l_w) = (n(COSTS.read.0) + transfer, n(COSTS.program.0) + transfer);
        let q = &c.queue;
        let (n_r, n_w, n_vp) = (n(q.reads), n(q.writes), n(victim_valid_pages));
        let n_p = n(COSTS.pages_per_block);
        let n_fp = match self.mapping {
            true => n(q.free_pages),
            false => n(q.free_pages + q.writes),
        };
        let s = if n_fp - n_w > n(q.gc_threshold_pages) {
            0
        } else {
            1
        };
        let t_gc = n(COSTS.erase.0) + n_vp * (l_r + l_w);
        let n_fpb = n(q.frontier_free_pages);
        let n_sp = match n_w + s * n_vp < n_fpb - 1 {
            true => 0,
            false => 1 + (n_w + s * n_vp - (n_fpb - 1)) / (n_p - 1),
        };
        let gc = q.gc_remaining.map_or(s * t_gc, |left| n(left.0));
        let l_sp = self.summary.min(l_w);
        let cqct = l_r * n_r + l_w * n_w + gc + l_sp * n_sp;
        // An operation of a GC job in service stands in the job's remaining time already.
        let Some(InService { op, residual }) = c.in_service else {
            return cqct;
        };
        let (queued, whole) = match op {
            Op::Read => (n_r, l_r),
            _ => (n_w, l_w),
        };
        match self.remaining && queued > 0 && q.gc_remaining.is_none() {
            true => cqct - whole + n(residual.0),
            false => cqct,
        }
    }
}

impl SlowFlash for SlowChips {
    fn chips(&self) -> usize {
        self.script.borrow().loads.len()
    }

    fn cqct(&self, chip: usize) -> u64 {
        let script = self.script.borrow();
        let load = &script.loads[chip];
        match self.oracle {
            true => load.drain.0,
            false => self.equation(load, script.victim_valid_pages[chip]) as u64,
        }
    }

    fn in_gc(&self, chip: usize) -> bool {
        self.script.borrow().gc[chip]
    }
}
