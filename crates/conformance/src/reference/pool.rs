//! Blocks without time: the four rules of streams, in the plainest way. Validity is looked up, lists
//! are searched, and nothing is counted ahead.

use destage_device::config::{GcPolicy, GcStreams};

use super::blocks::SlowBlocks;

pub use super::blocks::SlowPlace;

/// Size and rules of a pool.
#[derive(Clone, Copy, Debug)]
pub struct SlowPoolRules {
    /// Blocks.
    pub blocks: usize,
    /// Pages of a block.
    pub pages: usize,
    /// Logical pages.
    pub logical: usize,
    /// Assignment of blocks to the host and the collector.
    pub streams: GcStreams,
    /// Choice of the victim.
    pub policy: GcPolicy,
    /// Blocks that `d-choices` draws.
    pub choices: u32,
    /// Where random policies begin.
    pub seed: u64,
}

/// A step of collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowPoolEvent {
    /// A block was chosen, with so many valid pages.
    Victim(usize, usize),
    /// A logical page went from a place to another.
    Copied(u64, SlowPlace, SlowPlace),
}

/// A pool of blocks.
pub struct SlowPool {
    rules: SlowPoolRules,
    blocks: SlowBlocks,
    /// Free blocks, the next one first; one of them may be partly filled.
    free: Vec<usize>,
    host: Option<usize>,
    collector: Option<usize>,
    events: Vec<SlowPoolEvent>,
}

impl SlowPool {
    /// An empty pool.
    pub fn new(rules: SlowPoolRules) -> SlowPool {
        SlowPool {
            blocks: SlowBlocks::new(rules.pages, rules.seed),
            free: (0..rules.blocks).collect(),
            host: None,
            collector: None,
            events: Vec::new(),
            rules,
        }
    }

    /// Writes a page; gives its place, and what collection did before.
    pub fn write(&mut self, lpn: usize) -> (SlowPlace, Vec<SlowPoolEvent>) {
        self.make_room();
        let block = self.block_for_host();
        self.blocks.lose(lpn as u64);
        let place = self.program(block, lpn as u64, false);
        (place, std::mem::take(&mut self.events))
    }

    fn program(&mut self, block: usize, lpn: u64, cold: bool) -> SlowPlace {
        let place = self.blocks.put(block, Some(lpn));
        let cold = cold && self.blocks.is_full(block);
        self.blocks.written.entry(block).or_default().cold = cold;
        place
    }

    fn block_for_host(&mut self) -> usize {
        match self.host {
            Some(block) if !self.blocks.is_full(block) => block,
            _ => {
                let block = self.free.remove(0);
                self.host = Some(block);
                block
            }
        }
    }

    fn host_is_full(&self) -> bool {
        self.host.is_none_or(|block| self.blocks.is_full(block))
    }

    fn make_room(&mut self) {
        match self.rules.streams {
            GcStreams::Shared => {
                while self.free_pages() < self.rules.pages {
                    self.collect(false);
                }
            }
            GcStreams::Own if self.host_is_full() => {
                while self.free.len() < 2 {
                    self.collect(true);
                }
            }
            GcStreams::InPlace if self.host_is_full() && self.free.is_empty() => {
                let victim = self.choose(&|_, _| true);
                let moved = self.take_out(victim);
                self.blocks.erase(victim);
                for (lpn, from) in moved {
                    self.copy(lpn, from, victim, false);
                }
                self.host = Some(victim);
            }
            GcStreams::TwoRegion if self.host_is_full() && self.free.is_empty() => self.job(),
            _ => {}
        }
    }

    fn free_pages(&self) -> usize {
        let open = self.host.map_or(0, |block| self.blocks.left(block));
        self.free.len() * self.rules.pages + open
    }

    /// Moves one block to the host's block or the collector's, and frees it.
    fn collect(&mut self, own: bool) {
        let victim = self.choose(&|_, _| true);
        for (lpn, from) in self.take_out(victim) {
            let to = match own {
                false => self.block_for_host(),
                true => match self.collector {
                    Some(block) if !self.blocks.is_full(block) => block,
                    _ => {
                        let block = self.free.remove(0);
                        self.collector = Some(block);
                        block
                    }
                },
            };
            self.copy(lpn, from, to, false);
        }
        self.blocks.erase(victim);
        // It may be the block that was filled last.
        for open in [&mut self.host, &mut self.collector] {
            open.take_if(|block| *block == victim);
        }
        self.free.push(victim);
    }

    fn job(&mut self) {
        let invalid =
            |pool: &SlowPool, block: usize| pool.rules.pages - pool.blocks.valid(block).len();
        let all = 0..self.rules.blocks;
        let of = |cold: bool| {
            let own = all.clone().filter(|&b| self.blocks.block(b).cold == cold);
            let sum: usize = own.clone().map(|b| invalid(self, b)).sum();
            (sum, own.map(|b| self.blocks.valid(b).len()).min())
        };
        let ((cold_sum, cold_least), (normal_sum, normal_least)) = (of(true), of(false));
        let better = normal_sum < self.rules.pages || cold_least <= normal_least;
        let cold = cold_sum >= self.rules.pages && better;
        let (mut victims, mut moved, mut gained) = (Vec::new(), Vec::new(), 0);
        while gained < self.rules.pages {
            let victim =
                self.choose(&|block, is_cold| is_cold == cold && !victims.contains(&block));
            gained += invalid(self, victim);
            moved.push(self.take_out(victim));
            victims.push(victim);
        }
        for &block in &victims {
            self.blocks.erase(block);
        }
        // The last victim is filled first, with its own pages first.
        let moved = moved.into_iter().rev().flatten();
        for (number, (lpn, from)) in moved.enumerate() {
            let to = victims[victims.len() - 1 - number / self.rules.pages];
            self.copy(lpn, from, to, true);
        }
        let freed: Vec<usize> = victims
            .into_iter()
            .filter(|&b| !self.blocks.is_full(b))
            .collect();
        self.free.extend(freed);
        self.host = None;
    }

    /// Says that a victim was chosen; gives its valid pages with their places.
    fn take_out(&mut self, victim: usize) -> Vec<(u64, SlowPlace)> {
        let valid = self.blocks.valid(victim);
        self.events.push(SlowPoolEvent::Victim(victim, valid.len()));
        valid
    }

    fn copy(&mut self, lpn: u64, from: SlowPlace, block: usize, cold: bool) {
        let to = self.program(block, lpn, cold);
        self.events.push(SlowPoolEvent::Copied(lpn, from, to));
    }

    /// The block that is collected among those that are full, not all valid, and `wanted` by number and temperature.
    fn choose(&mut self, wanted: &dyn Fn(usize, bool) -> bool) -> usize {
        let (pages, all) = (self.rules.pages, 0..self.rules.blocks);
        let may = |&b: &usize| {
            let worth = self.blocks.is_full(b) && self.blocks.valid(b).len() < pages;
            worth && wanted(b, self.blocks.block(b).cold)
        };
        let candidates = all.clone().filter(may).map(|b| (0, b)).collect();
        let policy = (self.rules.policy, self.rules.choices);
        let chosen = self.blocks.choose(policy, candidates, pages, &[all]);
        chosen.expect("the spare area leaves a candidate")
    }
}
