//! Blocks without time: the four rules of streams, in the plainest way. Validity is looked up, lists
//! are searched, and nothing is counted ahead.

use destage_device::config::{GcPolicy, GcStreams};
use destage_types::rng::SplitMix64;

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
    Copied(usize, SlowPlace, SlowPlace),
}

/// A page of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowPlace {
    /// Number of the block.
    pub block: usize,
    /// Number of the page in it.
    pub page: usize,
}

#[derive(Clone, Default)]
struct Block {
    /// Logical pages written into it, in order.
    pages: Vec<usize>,
    cold: bool,
    /// Number of the change that brought it to its valid count, and pages programmed by then.
    since: (u64, u64),
}

/// A pool of blocks.
pub struct SlowPool {
    rules: SlowPoolRules,
    blocks: Vec<Block>,
    /// Place of each logical page.
    at: Vec<Option<SlowPlace>>,
    /// Free blocks, the next one first; one of them may be partly filled.
    free: Vec<usize>,
    host: Option<usize>,
    collector: Option<usize>,
    changes: u64,
    programmed: u64,
    rng: SplitMix64,
    events: Vec<SlowPoolEvent>,
}

impl SlowPool {
    /// An empty pool.
    pub fn new(rules: SlowPoolRules) -> SlowPool {
        SlowPool {
            blocks: vec![Block::default(); rules.blocks],
            at: vec![None; rules.logical],
            free: (0..rules.blocks).collect(),
            host: None,
            collector: None,
            changes: 0,
            programmed: 0,
            rng: SplitMix64::new(rules.seed),
            events: Vec::new(),
            rules,
        }
    }

    /// Writes a page; gives its place, and what collection did before.
    pub fn write(&mut self, lpn: usize) -> (SlowPlace, Vec<SlowPoolEvent>) {
        self.make_room();
        let block = self.block_for_host();
        let old = self.at[lpn];
        self.at[lpn] = Some(self.next_place(block));
        if let Some(old) = old
            && self.is_full(old.block)
        {
            self.note_change(old.block);
        }
        self.program(block, lpn, false);
        let place = self.at[lpn].expect("it was just written");
        (place, std::mem::take(&mut self.events))
    }

    /// The next page of a block.
    fn next_place(&self, block: usize) -> SlowPlace {
        let page = self.blocks[block].pages.len();
        SlowPlace { block, page }
    }

    fn is_full(&self, block: usize) -> bool {
        self.blocks[block].pages.len() == self.rules.pages
    }

    /// Logical pages of a block whose data are there, each with its page.
    fn valid(&self, block: usize) -> Vec<(usize, usize)> {
        let pages = self.blocks[block].pages.iter().enumerate();
        pages
            .filter(|&(page, &lpn)| self.at[lpn] == Some(SlowPlace { block, page }))
            .map(|(page, &lpn)| (lpn, page))
            .collect()
    }

    fn note_change(&mut self, block: usize) {
        self.changes += 1;
        self.blocks[block].since = (self.changes, self.programmed);
    }

    fn program(&mut self, block: usize, lpn: usize, cold: bool) {
        self.at[lpn] = Some(self.next_place(block));
        self.blocks[block].pages.push(lpn);
        self.programmed += 1;
        if self.is_full(block) {
            self.blocks[block].cold = cold;
            self.note_change(block);
        }
    }

    fn block_for_host(&mut self) -> usize {
        match self.host {
            Some(block) if !self.is_full(block) => block,
            _ => {
                let block = self.free.remove(0);
                self.host = Some(block);
                block
            }
        }
    }

    fn host_is_full(&self) -> bool {
        self.host.is_none_or(|block| self.is_full(block))
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
                let victim = self.choose(&|_| true);
                let moved = self.take_out(victim);
                self.blocks[victim].pages.clear();
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
        let open = self
            .host
            .map_or(0, |block| self.rules.pages - self.blocks[block].pages.len());
        self.free.len() * self.rules.pages + open
    }

    /// Moves one block to the host's block or the collector's, and frees it.
    fn collect(&mut self, own: bool) {
        let victim = self.choose(&|_| true);
        for (lpn, from) in self.take_out(victim) {
            let to = match own {
                false => self.block_for_host(),
                true => match self.collector {
                    Some(block) if !self.is_full(block) => block,
                    _ => {
                        let block = self.free.remove(0);
                        self.collector = Some(block);
                        block
                    }
                },
            };
            self.copy(lpn, from, to, false);
        }
        self.blocks[victim].pages.clear();
        // It may be the block that was filled last.
        for open in [&mut self.host, &mut self.collector] {
            open.take_if(|block| *block == victim);
        }
        self.free.push(victim);
    }

    fn job(&mut self) {
        let invalid = |pool: &SlowPool, block: usize| pool.rules.pages - pool.valid(block).len();
        let all = 0..self.rules.blocks;
        let of = |cold: bool| {
            let own = all.clone().filter(|&b| self.blocks[b].cold == cold);
            let sum: usize = own.clone().map(|b| invalid(self, b)).sum();
            (sum, own.map(|b| self.valid(b).len()).min())
        };
        let ((cold_sum, cold_least), (normal_sum, normal_least)) = (of(true), of(false));
        let better = normal_sum < self.rules.pages || cold_least <= normal_least;
        let cold = cold_sum >= self.rules.pages && better;
        let (mut victims, mut moved, mut gained) = (Vec::new(), Vec::new(), 0);
        while gained < self.rules.pages {
            let victim = self
                .choose(&|block: &(usize, bool)| block.1 == cold && !victims.contains(&block.0));
            gained += invalid(self, victim);
            moved.push(self.take_out(victim));
            victims.push(victim);
        }
        victims.iter().for_each(|&block| {
            self.blocks[block] = Block::default();
        });
        // The last victim is filled first, with its own pages first.
        let moved = moved.into_iter().rev().flatten();
        for (number, (lpn, from)) in moved.enumerate() {
            let to = victims[victims.len() - 1 - number / self.rules.pages];
            self.copy(lpn, from, to, true);
        }
        let freed: Vec<usize> = victims.into_iter().filter(|&b| !self.is_full(b)).collect();
        self.free.extend(freed);
        self.host = None;
    }

    /// Says that a victim was chosen; gives its valid pages with their places.
    fn take_out(&mut self, victim: usize) -> Vec<(usize, SlowPlace)> {
        let valid = self.valid(victim);
        self.events.push(SlowPoolEvent::Victim(victim, valid.len()));
        let block = victim;
        let place = |(lpn, page)| (lpn, SlowPlace { block, page });
        valid.into_iter().map(place).collect()
    }

    fn copy(&mut self, lpn: usize, from: SlowPlace, block: usize, cold: bool) {
        self.program(block, lpn, cold);
        let to = self.at[lpn].expect("it was just written");
        self.events.push(SlowPoolEvent::Copied(lpn, from, to));
    }

    /// A block that may be collected: full, not all valid, and `wanted` by its number and temperature.
    fn is_candidate(&self, block: usize, wanted: &dyn Fn(&(usize, bool)) -> bool) -> bool {
        let worth = self.is_full(block) && self.valid(block).len() < self.rules.pages;
        worth && wanted(&(block, self.blocks[block].cold))
    }

    fn choose(&mut self, wanted: &dyn Fn(&(usize, bool)) -> bool) -> usize {
        let all = 0..self.rules.blocks;
        let candidates: Vec<usize> = all.filter(|&b| self.is_candidate(b, wanted)).collect();
        let greedy = |&b: &usize| (self.valid(b).len(), self.blocks[b].since.0);
        let fewest = candidates.iter().copied().min_by_key(greedy);
        let fewest = fewest.expect("the spare area leaves a candidate");
        match self.rules.policy {
            GcPolicy::CostBenefit => self.cost_benefit(candidates),
            GcPolicy::Random => self.draw(&candidates).unwrap_or(fewest),
            GcPolicy::DChoices => {
                let choices = 0..self.rules.choices;
                let drawn: Vec<usize> = choices.filter_map(|_| self.draw(&candidates)).collect();
                let best = drawn.into_iter().min_by_key(|&b| self.valid(b).len());
                best.unwrap_or(fewest)
            }
            GcPolicy::Greedy | GcPolicy::None => fewest,
        }
    }

    /// The largest age x (1 - u) / 2u, compared as products; of equals the fewest valid pages, then the
    /// longest at that count.
    fn cost_benefit(&self, mut candidates: Vec<usize>) -> usize {
        candidates.sort_by_key(|&b| (self.valid(b).len(), self.blocks[b].since.0));
        let mut best = candidates[0];
        for &block in &candidates[1..] {
            let terms = |b: usize| {
                let valid = self.valid(b).len() as u128;
                let age = u128::from(self.programmed - self.blocks[b].since.1);
                (age * (self.rules.pages as u128 - valid), valid)
            };
            let ((gain, cost), (most, least)) = (terms(block), terms(best));
            if least > 0 && gain * least > most * cost {
                best = block;
            }
        }
        best
    }

    /// Any block, again while it is no candidate, 64 times.
    fn draw(&mut self, candidates: &[usize]) -> Option<usize> {
        let blocks = self.rules.blocks as u64;
        let drawn = (0..64).map(|_| self.rng.below(blocks) as usize);
        drawn.into_iter().find(|block| candidates.contains(block))
    }
}
