//! A device that says what it is told to say.

use crate::rng::SplitMix64;
use crate::{DeviceView, Equation1, FlashCosts, GcBlocks, InService};
use destage_types::{ChipId, Nanos, Op};

/// The state that a chip reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChipState {
    pub queue: Equation1,
    pub in_service: Option<InService>,
    /// Time until all is done.
    pub drain: Nanos,
    pub in_gc: bool,
    /// Valid pages of the block that it would collect.
    pub victim_valid_pages: u64,
}

impl ChipState {
    /// Nothing to do.
    pub const IDLE: ChipState = ChipState {
        queue: Equation1::IDLE,
        in_service: None,
        drain: Nanos::ZERO,
        in_gc: false,
        victim_valid_pages: 0,
    };

    fn random(rng: &mut SplitMix64) -> ChipState {
        let mut draw = |n: u64| rng.next_u64() % n;
        ChipState {
            queue: Equation1 {
                reads: draw(3),
                writes: draw(5),
                free_pages: 300 + draw(10),
                gc_threshold_pages: 300,
                frontier_free_pages: draw(8),
                gc_remaining: (draw(3) == 0).then(|| Nanos(draw(5000))),
            },
            in_service: Some(InService {
                op: [Op::Read, Op::Write][draw(2) as usize],
                residual: Nanos(draw(100)),
            }),
            drain: Nanos(draw(300)),
            in_gc: draw(3) == 0,
            victim_valid_pages: draw(8),
        }
    }
}

/// Chips whose states the test sets.
#[derive(Clone, Debug)]
pub(crate) struct Chips {
    pub costs: FlashCosts,
    pub next_program: Option<Nanos>,
    /// Free blocks of every chip.
    pub blocks: GcBlocks,
    pub states: Vec<ChipState>,
}

impl Chips {
    /// Idle ones.
    pub fn new(chips: usize) -> Chips {
        Chips {
            costs: FlashCosts::default(),
            next_program: None,
            blocks: GcBlocks::default(),
            states: vec![ChipState::IDLE; chips],
        }
    }

    /// Random states.
    pub fn shake(&mut self, rng: &mut SplitMix64) {
        self.states.fill_with(|| ChipState::random(rng));
    }

    fn of(&self, chip: ChipId) -> &ChipState {
        &self.states[chip.index()]
    }
}

impl DeviceView for Chips {
    fn is_idle(&self, chip: ChipId) -> bool {
        let ChipState { queue, drain, .. } = self.of(chip);
        queue.reads + queue.writes + drain.0 == 0 && !self.in_gc(chip)
    }

    fn drain_time(&self, chip: ChipId) -> Nanos {
        self.of(chip).drain
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        self.of(chip).in_gc
    }

    fn any_in_gc(&self) -> bool {
        self.states.iter().any(|state| state.in_gc)
    }

    fn in_service(&self, chip: ChipId) -> Option<InService> {
        self.of(chip).in_service
    }

    fn equation_1(&self, chip: ChipId) -> Equation1 {
        self.of(chip).queue
    }

    fn gc_blocks(&self, _chip: ChipId) -> GcBlocks {
        self.blocks
    }

    fn victim_valid_pages(&self, chip: ChipId) -> u64 {
        self.of(chip).victim_valid_pages
    }

    fn costs(&self) -> FlashCosts {
        self.costs
    }

    fn next_program(&self, _chip: ChipId) -> Nanos {
        self.next_program.unwrap_or(self.costs.program)
    }
}
