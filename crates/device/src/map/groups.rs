//! Which groups of blocks belong to a write frontier, a GC unit, and a chip.
//!
//! A *group* is a plane, a die whose planes are programmed together, or the whole drive. Blocks that have parts have
//! one on each die or plane, which then stands for a group here. All these are numbered with the channel fastest, then
//! chip, die, and plane. So units of one kind that there are `n` of hold the groups of equal number modulo `n`.

use crate::config::DeviceConfig;
use destage_types::{ChannelId, ChipId};

/// The members of a unit: numbers at equal distance, ascending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UnitMembers {
    first: u32,
    step: u32,
    end: u32,
}

impl UnitMembers {
    /// Of `count` units of one kind those inside unit `unit` of `units` of another kind, or the one around it.
    #[inline]
    pub fn of(unit: u32, units: u32, count: u32) -> UnitMembers {
        UnitMembers {
            first: unit % units.min(count),
            step: units,
            end: count,
        }
    }

    /// One number.
    pub fn only(number: u32) -> UnitMembers {
        UnitMembers {
            first: number,
            step: 1,
            end: number + 1,
        }
    }

    #[inline]
    pub fn count(self) -> u32 {
        (self.end - self.first).div_ceil(self.step)
    }

    /// Member number `at`.
    #[inline]
    pub fn at(self, at: u32) -> u32 {
        self.first + at * self.step
    }

    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (self.first..self.end).step_by(self.step as usize)
    }
}

/// The units of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupUnits {
    /// Write frontier.
    pub frontier: u32,
    /// GC unit.
    pub gc: u32,
    /// The unit with its own queue.
    pub chip: ChipId,
    pub channel: ChannelId,
}

/// All groups of a device, and how many units of each kind there are.
#[derive(Clone, Debug)]
pub(super) struct BlockGroups {
    rows: Vec<GroupUnits>,
    pub frontiers: u32,
    pub gcs: u32,
    /// Cells: the full blocks of one are in one set of lists.
    pub cells: u32,
    pub chips: u32,
}

impl BlockGroups {
    /// The groups of a device. Cells are GC units, or with `frontiers_apart` frontiers if those are smaller.
    pub fn new(config: &DeviceConfig, frontiers_apart: bool) -> BlockGroups {
        let (shape, layout) = (config.shape(), config.layout());
        let frontiers = shape.count_of(config.frontier);
        let gcs = shape.count_of(config.gc_unit);
        let cells = if frontiers_apart {
            frontiers.max(gcs)
        } else {
            gcs
        };
        let chips = layout.chips();
        let row = |group: u32| {
            let chip = ChipId(group % chips);
            GroupUnits {
                frontier: group % frontiers,
                gc: group % gcs,
                chip,
                channel: layout.channel(chip),
            }
        };
        BlockGroups {
            rows: (0..shape.groups * shape.parts).map(row).collect(),
            frontiers,
            gcs,
            cells,
            chips,
        }
    }

    #[inline]
    pub fn row(&self, group: u32) -> &GroupUnits {
        &self.rows[group as usize]
    }

    pub fn count(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Groups of a frontier.
    #[inline]
    pub fn of_frontier(&self, frontier: u32) -> UnitMembers {
        UnitMembers::of(frontier, self.frontiers, self.count())
    }

    /// Frontiers of a GC unit.
    pub fn frontiers_of_gc(&self, gc: u32) -> UnitMembers {
        UnitMembers::of(gc, self.gcs, self.frontiers)
    }

    /// Frontiers that write to a chip.
    pub fn frontiers_of_chip(&self, chip: ChipId) -> UnitMembers {
        UnitMembers::of(chip.0, self.chips, self.frontiers)
    }

    /// GC units on a chip; one that spans several chips is on each of them.
    pub fn gcs_of_chip(&self, chip: ChipId) -> UnitMembers {
        UnitMembers::of(chip.0, self.chips, self.gcs)
    }

    /// Chips that a GC unit is on.
    pub fn chips_of_gc(&self, gc: u32) -> UnitMembers {
        UnitMembers::of(gc, self.gcs, self.chips)
    }

    /// Groups and cells of a GC unit.
    pub fn of_gc(&self, gc: u32) -> (UnitMembers, UnitMembers) {
        let of = |count| UnitMembers::of(gc, self.gcs, count);
        (of(self.count()), of(self.cells))
    }

    /// Groups and cells of a frontier.
    pub fn of_frontier_with_cells(&self, frontier: u32) -> (UnitMembers, UnitMembers) {
        let cells = UnitMembers::of(frontier, self.frontiers, self.cells);
        (self.of_frontier(frontier), cells)
    }

    pub fn bytes(&self) -> u64 {
        size_of_val(&self.rows[..]) as u64
    }
}
