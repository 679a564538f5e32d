//! The collector of a GC unit: its victims, the places on their way, and the blocks behind them.

use crate::drive::mapping::MapUpdates;

/// The collector of a GC unit.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Collector {
    /// Places that it owes.
    pub owed: f64,
    /// Victims under way: one, or with an SLC cache one that folding passes over and one that collection does.
    pub victims: Vec<VictimBlock>,
    /// Places that the read under way moves.
    pub reading: Vec<u64>,
    /// Places that were read and are not handed on, in order.
    pub moving: Vec<u64>,
    /// Translation pages to be changed before the next victim is read.
    pub updates: MapUpdates,
    /// Is it read because places are owed? Others, for which a frontier of the host waits, are not taken off that.
    pub paid: bool,
    /// `gc_hold`: is a burst under way, and how many places has it moved?
    pub burst: Option<u64>,
    /// `gc_hold`: programs of the host, by token, that start before the next burst.
    pub must_start: Vec<u32>,
    /// Collected blocks that wait: units of theirs whose programs have not ended.
    waiting: Vec<(u32, u32)>,
    /// Blocks whose parts are erased, and parts that are not.
    erasing: Vec<(u32, u32)>,
}

/// The block that is collected.
#[derive(Clone, Debug)]
pub(in crate::drive) struct VictimBlock {
    pub block: u32,
    /// The next read.
    pub read: u32,
    /// Units that its places went to and whose programs have not ended.
    pub units: u32,
    /// Translation pages that change on flash as its places move.
    pub pages: Vec<u64>,
}

impl Collector {
    /// Is there a collected block whose data are not all programmed?
    pub fn waits_for_programs(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Does one of these blocks wait for programs?
    pub fn waits_for(&self, blocks: &[u32]) -> bool {
        self.waiting.iter().any(|(block, _)| blocks.contains(block))
    }

    /// Is nothing on its way, no read, place, or erase? Programs are not looked at.
    pub fn is_at_rest(&self) -> bool {
        let none_read = self.reading.is_empty() && self.updates.are_done();
        none_read && self.moving.is_empty() && self.erasing.is_empty()
    }

    /// The victim under way that is this block.
    pub fn victim(&mut self, block: u32) -> Option<&mut VictimBlock> {
        (self.victims.iter_mut()).find(|victim| victim.block == block)
    }

    /// Gives up what is not collected. Gives the victims, whose places stay where they are.
    pub fn give_up(&mut self) -> Vec<VictimBlock> {
        self.reading.clear();
        self.moving.clear();
        self.updates = MapUpdates::default();
        // Nor does a program of the host wait for what is owed, once a pause ends.
        self.owed = 0.0;
        self.burst = None;
        std::mem::take(&mut self.victims)
    }

    /// Places of a read were moved, all that are still wanted of it: they are to be handed on.
    pub fn has_read(&mut self, places: Vec<u64>) {
        if self.paid {
            self.owed -= places.len() as f64;
        }
        if let Some(burst) = &mut self.burst {
            *burst += places.len() as u64;
        }
        self.moving = places;
    }

    /// All places of a victim are moved or not wanted any more. Is it to be erased now, as none of its units is under way?
    pub fn finish(&mut self, victim: &VictimBlock) -> bool {
        if victim.units > 0 {
            self.waiting.push((victim.block, victim.units));
        }
        victim.units == 0
    }

    /// A program with places of a block has ended. Was it the last of a block that waits to be erased?
    pub fn program_ended(&mut self, block: u32) -> bool {
        match self.victim(block) {
            Some(victim) => {
                victim.units -= 1;
                false
            }
            None => count_down(&mut self.waiting, block),
        }
    }

    /// The parts of a block are erased from now on.
    pub fn erase(&mut self, block: u32, parts: u32) {
        self.erasing.push((block, parts));
    }

    /// The erase of a part of a block has ended. Was it the last?
    pub fn part_erased(&mut self, block: u32) -> bool {
        count_down(&mut self.erasing, block)
    }
}

/// One less is left of a block. Was it the last?
fn count_down(rows: &mut Vec<(u32, u32)>, block: u32) -> bool {
    let Some(at) = rows.iter().position(|row| row.0 == block) else {
        return false;
    };
    rows[at].1 -= 1;
    let last = rows[at].1 == 0;
    if last {
        rows.swap_remove(at);
    }
    last
}
