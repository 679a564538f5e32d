//! Flash for tests: chips whose load and GC state the test sets, with or without FIFO queues.

use super::{Stage, journal::Shared};
use destage_scheme::{DeviceView, Equation1, FlashCosts, GcBlocks, InService};
use destage_sim::{Cause, Counts, Flash, Program};
use destage_types::{ChannelId, ChipId, HostRequest, Lpn, Nanos, StaticLayout};

/// Service times of the FIFO queues.
#[derive(Clone, Copy, Debug)]
pub struct Queues {
    /// A read.
    pub read: Nanos,
    /// A program.
    pub program: Nanos,
}

/// The state that a chip reports, besides its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChipState {
    /// Inputs of Equation 1 of ECR.
    pub queue: Equation1,
    /// The host operation in service.
    pub in_service: Option<InService>,
    /// Time until all is done.
    pub drain: Nanos,
    /// Free blocks.
    pub blocks: GcBlocks,
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
        blocks: GcBlocks {
            free: 0,
            threshold: 0,
        },
    };
}

/// Chips under a cache. Every page is mapped.
#[derive(Clone, Debug)]
pub struct Chips {
    /// The state of each chip, besides its queue.
    pub loads: Vec<ChipState>,
    /// Valid pages of the block each chip would collect.
    pub victim_valid_pages: Vec<u64>,
    /// Which chips are in GC state.
    pub gc: Vec<bool>,
    /// Constants of the flash.
    pub costs: FlashCosts,
    queues: Option<Queues>,
    /// Reads of old pages before background programs.
    write_back_reads: u64,
    free: Vec<Nanos>,
    layout: StaticLayout,
    now: Nanos,
    journal: Shared,
    /// Chips that are idle in a moment that has not been looked at yet.
    resting: Vec<usize>,
    moment: bool,
    /// Background programs that ended and that started since they were asked for.
    ended: Vec<u32>,
    started: Vec<(Lpn, Nanos)>,
}

impl Chips {
    /// Idle chips; with `queues` they get busy.
    pub fn new(layout: StaticLayout, queues: Option<Queues>, journal: Shared) -> Chips {
        let chips = layout.chips() as usize;
        Chips {
            loads: vec![ChipState::EMPTY; chips],
            victim_valid_pages: vec![0; chips],
            gc: vec![false; chips],
            costs: FlashCosts::default(),
            queues,
            write_back_reads: 0,
            free: vec![Nanos::ZERO; chips],
            layout,
            now: Nanos::ZERO,
            journal,
            resting: Vec::new(),
            moment: false,
            ended: Vec::new(),
            started: Vec::new(),
        }
    }

    /// In the next moment these chips are idle, no others.
    pub fn rest(&mut self, chips: &[usize]) {
        self.resting = chips.to_vec();
        self.moment = true;
    }

    /// Time until the queue of the chip is empty.
    fn wait(&self, chip: ChipId) -> Nanos {
        self.free[chip.index()].since(self.now)
    }

    fn enqueue(&mut self, lpn: Lpn, time: Nanos) {
        let chip = self.layout.chip(lpn);
        self.free[chip.index()] = self.now + self.wait(chip) + time;
    }

    fn do_read(&mut self, lpn: Lpn) {
        self.journal.open().reads.push(lpn.0);
        if let Some(queues) = self.queues {
            self.enqueue(lpn, queues.read);
        }
    }
}

impl DeviceView for Chips {
    fn is_idle(&self, chip: ChipId) -> bool {
        if !self.resting.is_empty() {
            return self.resting.contains(&chip.index());
        }
        let Equation1 { reads, writes, .. } = self.equation_1(chip);
        reads + writes == 0 && self.drain_time(chip) == Nanos::ZERO && !self.in_gc(chip)
    }

    fn drain_time(&self, chip: ChipId) -> Nanos {
        self.loads[chip.index()].drain + self.wait(chip)
    }

    fn in_service(&self, chip: ChipId) -> Option<InService> {
        self.loads[chip.index()].in_service
    }

    fn equation_1(&self, chip: ChipId) -> Equation1 {
        self.loads[chip.index()].queue
    }

    fn gc_blocks(&self, chip: ChipId) -> GcBlocks {
        self.loads[chip.index()].blocks
    }

    fn victim_valid_pages(&self, chip: ChipId) -> u64 {
        self.victim_valid_pages[chip.index()]
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        self.gc[chip.index()]
    }

    fn any_in_gc(&self) -> bool {
        self.gc.contains(&true)
    }

    fn costs(&self) -> FlashCosts {
        self.costs
    }
}

impl Flash for Chips {
    const TIMED: bool = true;

    fn view(&self) -> &dyn DeviceView {
        self
    }

    fn is_mapped(&self, _lpn: Lpn) -> bool {
        true
    }

    fn begin(&mut self, _index: u64, _request: &HostRequest, now: Nanos) {
        self.resting.clear();
        self.now = now;
    }

    fn read(&mut self, lpn: Lpn, sectors: u32) {
        assert!(sectors > 0, "page {lpn}: a flash read moves something");
        self.do_read(lpn);
    }

    fn program(&mut self, program: Program) -> Option<u32> {
        if matches!(program.cause, Cause::WriteBack(_)) {
            return Some(self.write_back(program));
        }
        if program.read_first {
            self.do_read(program.lpn);
        }
        self.journal.open().programs.push(program.lpn.0);
        let queues = self.queues?;
        if matches!(program.cause, Cause::Eviction | Cause::Padding) && queues.program > Nanos::ZERO
        {
            let chip = self.layout.chip(program.lpn);
            let text = format!("@chip{} wait {}", chip.0, self.wait(chip).0);
            self.journal.open().annotate_eviction(&text);
        }
        self.enqueue(program.lpn, queues.program);
        None
    }

    fn trim(&mut self, _lpn: Lpn) {}

    fn end(&mut self, pages: u64, hits: u64) {
        assert!(hits <= pages);
    }

    fn step(&mut self, until: Nanos) -> Option<Nanos> {
        let moment = std::mem::take(&mut self.moment);
        moment.then(|| {
            self.now = until;
            until
        })
    }

    fn traffic(&self) -> Counts {
        Counts {
            flash_reads_host: self.write_back_reads,
            flash_reads_rmw: self.write_back_reads,
            ..Counts::default()
        }
    }

    fn is_idle(&self, channel: ChannelId) -> bool {
        let mut resting = self.resting.iter().map(|&chip| ChipId(chip as u32));
        resting.any(|chip| self.layout.channel(chip) == channel)
    }

    fn take_ended(&mut self, out: &mut Vec<u32>) -> bool {
        out.append(&mut self.ended);
        false
    }

    fn take_started(&mut self, out: &mut Vec<(Lpn, Nanos)>) {
        out.append(&mut self.started);
    }
}

impl Chips {
    /// It takes no time.
    fn write_back(&mut self, program: Program) -> u32 {
        let token = self.ended.len() as u32;
        self.ended.push(token);
        self.started.push((program.lpn, self.now));
        self.write_back_reads += u64::from(program.read_first);
        token
    }
}

impl Stage for Chips {
    fn chips(&mut self) -> Option<&mut Chips> {
        Some(self)
    }
}
