//! A device that says what it is told to say.

use crate::rng::SplitMix64;
use crate::{DeviceView, Equation1, FlashCosts, InService};
use destage_types::{ChipId, Nanos, Op};

/// What a chip says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChipState {
    /// What Equation 1 of ECR uses.
    pub queue: Equation1,
    /// The host operation in service.
    pub in_service: Option<InService>,
    /// Time until all is done.
    pub drain: Nanos,
}

impl ChipState {
    /// Nothing to do, and no free pages.
    pub const EMPTY: ChipState = ChipState {
        queue: Equation1 {
            reads: 0,
            writes: 0,
            free_pages: 0,
            gc_threshold_pages: 0,
            frontier_free_pages: 0,
            gc_remaining: None,
        },
        in_service: None,
        drain: Nanos::ZERO,
    };
}

/// Chips whose states the test sets.
#[derive(Clone, Debug)]
pub(crate) struct Chips {
    pub costs: FlashCosts,
    pub states: Vec<ChipState>,
    pub victim_valid_pages: Vec<u64>,
    pub gc: Vec<bool>,
    pub next_program: Option<Nanos>,
}

/// Latencies to go with [`Chips::shake`].
pub(crate) const SHAKEN_COSTS: FlashCosts = FlashCosts {
    read: Nanos(25),
    program: Nanos(200),
    erase: Nanos(1500),
    transfer: Nanos(10),
    pages_per_block: 8,
};

impl Chips {
    pub fn new(chips: usize) -> Chips {
        Chips {
            costs: FlashCosts::default(),
            states: vec![ChipState::EMPTY; chips],
            victim_valid_pages: vec![0; chips],
            gc: vec![false; chips],
            next_program: None,
        }
    }

    /// Random states.
    pub fn shake(&mut self, rng: &mut SplitMix64) {
        let mut draw = |n: u64| rng.next_u64() % n;
        for i in 0..self.states.len() {
            self.gc[i] = draw(3) == 0;
            self.victim_valid_pages[i] = draw(8);
            self.states[i] = ChipState {
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
            };
        }
    }
}

impl DeviceView for Chips {
    fn is_idle(&self, chip: ChipId) -> bool {
        let Equation1 { reads, writes, .. } = self.equation_1(chip);
        reads + writes == 0 && self.drain_time(chip) == Nanos::ZERO && !self.in_gc(chip)
    }

    fn drain_time(&self, chip: ChipId) -> Nanos {
        self.states[chip.index()].drain
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        self.gc[chip.index()]
    }

    fn any_in_gc(&self) -> bool {
        self.gc.contains(&true)
    }

    fn in_service(&self, chip: ChipId) -> Option<InService> {
        self.states[chip.index()].in_service
    }

    fn equation_1(&self, chip: ChipId) -> Equation1 {
        self.states[chip.index()].queue
    }

    fn victim_valid_pages(&self, chip: ChipId) -> u64 {
        self.victim_valid_pages[chip.index()]
    }

    fn costs(&self) -> FlashCosts {
        self.costs
    }

    fn next_program(&self, _chip: ChipId) -> Nanos {
        self.next_program.unwrap_or(self.costs.program)
    }
}
