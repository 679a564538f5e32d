//! How large a log-structured volume is, and where its blocks are: units, logs, free space,
//! victims.

use std::collections::BTreeSet;

use super::HostFsError;
use super::config::{Clean, LfsConfig, Pick};

/// No block, or no owner.
pub(super) const NONE: u32 = u32::MAX;

/// The kind of a block's data; each is a log of its own if there are six.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heat {
    /// Data of small requests.
    Hot,
    /// Other data.
    Warm,
    /// Data moved by cleaning.
    Cold,
    /// Index blocks.
    Node,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Open,
    Used,
}

/// An open unit and its next block.
#[derive(Clone, Copy)]
struct Log {
    unit: u32,
    next: u32,
}

/// Valid blocks of a unit, when it was written last if that matters, and its number.
type Rank = (u32, u64, u32);

/// A volume of blocks in units. Every valid block belongs to an owner, a number of the caller's.
pub(super) struct Space {
    unit: u32,
    owner: Vec<u32>,
    valid: Vec<u32>,
    state: Vec<State>,
    /// Requests served when a block of the unit was last written.
    written: Vec<u64>,
    logs: Vec<Option<Log>>,
    /// Free units.
    free: BTreeSet<u32>,
    /// Used units, as [`Space::rank`] ranks them.
    victims: BTreeSet<Rank>,
    /// Valid blocks.
    used: u64,
    /// Unit taken last.
    last: u32,
    pick: Pick,
    clean: Clean,
    ssr: bool,
    reserve: u64,
}

impl Space {
    pub fn new(config: &LfsConfig, units: u32) -> Space {
        let unit = config.unit() as u32;
        let logs = if config.logs == 6 { 4 } else { 1 };
        Space {
            unit,
            owner: vec![NONE; units as usize * unit as usize],
            valid: vec![0; units as usize],
            state: vec![State::Free; units as usize],
            written: vec![0; units as usize],
            logs: vec![None; logs],
            free: (0..units).collect(),
            victims: BTreeSet::new(),
            used: 0,
            last: units - 1,
            pick: config.alloc,
            clean: config.clean,
            ssr: config.ssr,
            reserve: config.reserve,
        }
    }

    pub fn owner(&self, block: u32) -> u32 {
        self.owner[block as usize]
    }

    /// Valid blocks / all blocks.
    pub fn utilisation(&self) -> f64 {
        self.used as f64 / self.owner.len() as f64
    }

    pub fn free_units(&self) -> u64 {
        self.free.len() as u64
    }

    pub fn unit_of(&self, block: u32) -> u32 {
        block / self.unit
    }

    /// Gives a block at the head of the log for `heat` to `owner`; `None`: nothing is free.
    pub fn write(&mut self, heat: Heat, owner: u32, now: u64) -> Option<u32> {
        let log = if self.logs.len() == 1 {
            0
        } else {
            heat as usize
        };
        loop {
            if let Some(Log { unit, next }) = self.logs[log] {
                let end = (unit + 1) * self.unit;
                let block = (next..end).find(|&b| self.owner[b as usize] == NONE);
                if let Some(block) = block {
                    self.logs[log] = Some(Log {
                        unit,
                        next: block + 1,
                    });
                    self.owner[block as usize] = owner;
                    self.valid[unit as usize] += 1;
                    self.written[unit as usize] = now;
                    self.used += 1;
                    return Some(block);
                }
                self.close(unit);
            }
            let unit = self.take(now)?;
            let next = unit * self.unit;
            self.logs[log] = Some(Log { unit, next });
        }
    }

    /// The unit is open no more.
    fn close(&mut self, unit: u32) {
        if self.valid[unit as usize] == 0 {
            self.state[unit as usize] = State::Free;
            self.free.insert(unit);
        } else {
            self.state[unit as usize] = State::Used;
            self.victims.insert(self.rank(unit));
        }
    }

    fn rank(&self, unit: u32) -> Rank {
        let (valid, written) = (self.valid[unit as usize], self.written[unit as usize]);
        match self.clean {
            Clean::Greedy => (valid, 0, unit),
            Clean::CostBenefit => (valid, written, unit),
        }
    }

    /// Opens a unit, in the logarithm of their number unless [`Space::victim`] is asked.
    fn take(&mut self, now: u64) -> Option<u32> {
        if self.ssr && self.free_units() <= self.reserve {
            let holes = self
                .victim(now)
                .filter(|&u| self.valid[u as usize] < self.unit);
            if let Some(unit) = holes {
                self.victims.remove(&self.rank(unit));
                self.state[unit as usize] = State::Open;
                return Some(unit);
            }
        }
        let behind = match self.pick {
            Pick::Lowest => None,
            Pick::Next => self.free.range(self.last + 1..).next(),
        };
        let unit = *behind.or(self.free.first())?;
        self.free.remove(&unit);
        self.state[unit as usize] = State::Open;
        self.last = unit;
        Some(unit)
    }

    /// The block holds no data any more.
    pub fn invalidate(&mut self, block: u32) {
        let unit = self.unit_of(block);
        let used = self.state[unit as usize] == State::Used;
        if used {
            self.victims.remove(&self.rank(unit));
        }
        self.owner[block as usize] = NONE;
        self.valid[unit as usize] -= 1;
        self.used -= 1;
        if used {
            self.close(unit);
        }
    }

    /// The unit to clean: by the rule chosen, ties to the lowest number.
    pub fn victim(&self, now: u64) -> Option<u32> {
        match self.clean {
            Clean::Greedy => self.victims.first().map(|rank| rank.2),
            Clean::CostBenefit => self.most_benefit(now),
        }
    }

    /// The unit of the largest benefit. Of units with as many valid blocks that is the oldest one, so
    /// one search is needed for every number of valid blocks that there is: these are as many as a
    /// unit has blocks, or as there are units, and so no more than the root of all blocks.
    fn most_benefit(&self, now: u64) -> Option<u32> {
        let (mut most, mut best) = (0, None);
        let mut from = (0, 0, 0);
        while let Some(&oldest) = self.victims.range(from..).next() {
            let benefit = self.benefit(oldest, now);
            if benefit > 0 && benefit >= most {
                let unit = self.lowest_of_equals(oldest, benefit, now);
                let lower = best.is_none_or(|b| benefit > most || unit < b);
                (most, best) = (benefit, if lower { Some(unit) } else { best });
            }
            from = (oldest.0 + 1, 0, 0);
        }
        // Without any benefit the volume is full, or was written just now.
        best.or_else(|| self.victims.iter().map(|rank| rank.2).min())
    }

    /// The lowest number of the units with as many valid blocks as `oldest` and the same `benefit`,
    /// which has at most 2000 values of the age.
    fn lowest_of_equals(&self, oldest: Rank, benefit: u64, now: u64) -> u32 {
        let (mut at, mut lowest) = (oldest, oldest.2);
        loop {
            let younger = self.victims.range((at.0, at.1 + 1, 0)..).next();
            match younger.filter(|&&r| r.0 == at.0 && self.benefit(r, now) == benefit) {
                Some(&rank) => (at, lowest) = (rank, lowest.min(rank.2)),
                None => return lowest,
            }
        }
    }

    /// Free share x age / (1 + used share) in fixed point; F2FS, get_cb_cost.
    fn benefit(&self, (valid, written, _): Rank, now: u64) -> u64 {
        let used = u64::from(valid) * 1000 / u64::from(self.unit);
        let age = (now - written).min(1 << 40);
        (1000 - used) * age / (1000 + used)
    }

    /// The valid blocks of a unit, ascending.
    pub fn blocks(&self, unit: u32) -> impl Iterator<Item = u32> + '_ {
        let blocks = unit * self.unit..(unit + 1) * self.unit;
        blocks.filter(|&b| self.owner[b as usize] != NONE)
    }
}

/// Units of the volume, and blocks that other files take.
pub(super) fn size(config: &LfsConfig, files: u64, own: u64) -> Result<(u64, u64), HostFsError> {
    let (unit, reserve) = (config.unit(), config.reserve);
    let open = if config.logs == 6 { 4 } else { 1 };
    let spare = reserve + open + 1;
    let blocks = config.blocks.unwrap_or_else(|| {
        // The size of the paper's emulation, but never less than can be cleaned.
        let usual = (files + files.div_ceil(4)).max(config.least);
        usual.max((own.div_ceil(unit) + spare) * unit)
    });
    let units = blocks.div_ceil(unit);
    let blocks = units * unit;
    if blocks > 1 << 31 {
        return Err(HostFsError::TooLarge { blocks });
    }
    let fill = ((blocks as f64 * config.fill) as u64).saturating_sub(own);
    let needed = own + fill;
    if needed > blocks {
        return Err(HostFsError::TooSmall { blocks, needed });
    }
    let most = units.saturating_sub(spare) * unit;
    if needed > most {
        return Err(HostFsError::TooFull {
            blocks,
            needed,
            most,
            reserve,
        });
    }
    Ok((units, fill))
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    impl Space {
        /// The unit to clean and the unit to take, found by looking at all of them.
        fn looked_up(&self, now: u64) -> (Option<u32>, Option<u32>) {
            let units = || 0..self.state.len() as u32;
            let is = |u: u32, state: State| self.state[u as usize] == state;
            let used = units().filter(|&u| is(u, State::Used));
            let rank = |u: u32| (self.valid[u as usize], self.written[u as usize], u);
            let victim = match self.clean {
                Clean::Greedy => { used }.min_by_key(|&u| self.valid[u as usize]),
                Clean::CostBenefit => {
                    { used }.min_by_key(|&u| std::cmp::Reverse(self.benefit(rank(u), now)))
                }
            };
            let from = match self.pick {
                Pick::Lowest => 0,
                Pick::Next => self.last + 1,
            };
            let mut order = units().skip(from as usize).chain(units());
            (victim, order.find(|&u| is(u, State::Free)))
        }
    }

    fn space(clean: Clean, alloc: Pick, segment: u64, units: u32) -> Space {
        let config = LfsConfig {
            segment,
            clean,
            alloc,
            ..LfsConfig::default()
        };
        Space::new(&config, units)
    }

    #[test]
    fn units_are_chosen_as_if_all_were_looked_at() {
        for seed in 0..200 {
            let mut rng = SplitMix64::new(seed);
            let clean = [Clean::Greedy, Clean::CostBenefit][seed as usize % 2];
            let pick = [Pick::Lowest, Pick::Next][seed as usize / 2 % 2];
            let segment = 2 + rng.below(9) * rng.below(9);
            let mut space = space(clean, pick, segment, 4 + rng.below(60) as u32);
            let mut held: Vec<u32> = Vec::new();
            let (mut now, share) = (0, 30 + rng.below(69));
            for _ in 0..2000 {
                now += rng.below(2) * rng.below(20);
                let all = space.state.len() as u64 * segment;
                if held.is_empty() || held.len() as u64 * 100 < share * all {
                    let written = space.write(Heat::Warm, 7, now);
                    held.extend(written);
                    assert!(written.is_some() || space.free.is_empty());
                }
                if rng.below(4) > 0 && !held.is_empty() {
                    let at = rng.below(held.len() as u64) as usize;
                    space.invalidate(held.swap_remove(at));
                }
                let (victim, next) = space.looked_up(now);
                assert_eq!(space.victim(now), victim, "seed {seed}");
                let free = space.state.iter().filter(|&&s| s == State::Free);
                assert_eq!(space.free_units(), free.count() as u64);
                if rng.below(8) == 0 && next.is_some() {
                    let taken = space.take(now);
                    assert_eq!(taken, next, "seed {seed}");
                    space.close(next.unwrap_or(NONE));
                }
            }
        }
    }

    /// 1,048,576 units, each of which is opened, invalidated and opened again. Looking at all of them
    /// for each would take very long.
    #[test]
    fn opening_a_unit_does_not_look_at_all_units() {
        for (clean, alloc) in [
            (Clean::Greedy, Pick::Lowest),
            (Clean::CostBenefit, Pick::Next),
        ] {
            let mut space = space(clean, alloc, 2, 1 << 20);
            let blocks = 2 << 20;
            for now in 0..blocks {
                let block = space.write(Heat::Warm, 1, now).expect("there is room");
                assert_eq!(u64::from(block), now);
            }
            assert_eq!(space.write(Heat::Warm, 1, blocks), None);
            for half in (0..blocks).step_by(2) {
                space.invalidate(half as u32);
                let now = 2 * blocks + half;
                // The last unit is open still.
                let oldest = u64::from(space.victim(now).unwrap_or(0));
                assert!(oldest == 0 || half + 2 == blocks, "{oldest} at {half}");
            }
            for block in (1..blocks).step_by(2) {
                space.invalidate(block as u32);
            }
            assert_eq!(space.free_units(), 1 << 20);
            assert_eq!(space.write(Heat::Warm, 1, 4 * blocks), Some(0));
        }
    }
}
