//! How large a log-structured volume is, and where its blocks are: units, logs, free space,
//! victims.

use super::HostFsError;
use super::config::{Clean, LfsConfig, Pick};

/// No block, or no owner.
pub(super) const NONE: u32 = u32::MAX;

/// What a block is written for; each is a log of its own if there are six.
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

/// A volume of blocks in units. Every valid block belongs to an owner, a number of the caller's.
pub(super) struct Space {
    unit: u32,
    owner: Vec<u32>,
    valid: Vec<u32>,
    state: Vec<State>,
    /// Requests served when a block of the unit was last written.
    written: Vec<u64>,
    logs: Vec<Option<Log>>,
    free: u64,
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
            free: u64::from(units),
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
        self.free
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

    fn close(&mut self, unit: u32) {
        let empty = self.valid[unit as usize] == 0;
        self.state[unit as usize] = if empty { State::Free } else { State::Used };
        self.free += u64::from(empty);
    }

    fn take(&mut self, now: u64) -> Option<u32> {
        if self.ssr && self.free <= self.reserve {
            let holes = self
                .victim(now)
                .filter(|&u| self.valid[u as usize] < self.unit);
            if let Some(unit) = holes {
                self.state[unit as usize] = State::Open;
                return Some(unit);
            }
        }
        let units = self.state.len() as u32;
        let from = match self.pick {
            Pick::Lowest => 0,
            Pick::Next => self.last + 1,
        };
        let order = (from..units).chain(0..from.min(units));
        let unit = { order }.find(|&u| self.state[u as usize] == State::Free)?;
        self.state[unit as usize] = State::Open;
        self.free -= 1;
        self.last = unit;
        Some(unit)
    }

    /// The block holds no data any more.
    pub fn invalidate(&mut self, block: u32) {
        let unit = self.unit_of(block) as usize;
        self.owner[block as usize] = NONE;
        self.valid[unit] -= 1;
        self.used -= 1;
        if self.valid[unit] == 0 && self.state[unit] == State::Used {
            self.state[unit] = State::Free;
            self.free += 1;
        }
    }

    /// The unit to clean: by the rule chosen, ties to the lowest number.
    pub fn victim(&self, now: u64) -> Option<u32> {
        let used = (0..self.state.len()).filter(|&u| self.state[u] == State::Used);
        let best = match self.clean {
            Clean::Greedy => used.min_by_key(|&u| self.valid[u]),
            Clean::CostBenefit => used.min_by_key(|&u| std::cmp::Reverse(self.benefit(u, now))),
        };
        best.map(|u| u as u32)
    }

    /// Free share x age / (1 + used share) in fixed point; F2FS, get_cb_cost.
    fn benefit(&self, unit: usize, now: u64) -> u64 {
        let used = u64::from(self.valid[unit]) * 1000 / u64::from(self.unit);
        let age = (now - self.written[unit]).min(1 << 40);
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
        // What the paper's emulation has, but never less than can be cleaned.
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
