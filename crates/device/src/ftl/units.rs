//! Which plane belongs to which unit: write frontier, GC unit, cell, chip.

use crate::config::{DeviceConfig, FlashUnit};
use destage_types::{ChannelId, ChipId, PlaneAddress, PlaneId, StaticLayout};

/// The units of a plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneRow {
    /// Unit with one write frontier.
    pub unit: u32,
    /// GC unit.
    pub gc: u32,
    /// The smaller one of both.
    pub cell: u32,
    pub chip: ChipId,
    pub channel: ChannelId,
}

/// Members of groups of equal size, group by group, ascending inside a group.
#[derive(Clone, Debug)]
struct UnitMembers {
    members: Vec<u32>,
    each: usize,
}

impl UnitMembers {
    fn of(&self, group: u32) -> &[u32] {
        &self.members[group as usize * self.each..][..self.each]
    }

    /// Groups the different values of `member` by `group`; both run over all planes.
    fn new(
        rows: &[PlaneRow],
        group: impl Fn(usize) -> u32,
        member: impl Fn(usize) -> u32,
    ) -> UnitMembers {
        let mut pairs: Vec<(u32, u32)> = (0..rows.len()).map(|p| (group(p), member(p))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let groups = pairs.last().map_or(1, |last| last.0 as usize + 1);
        let each = pairs.len() / groups;
        let members = pairs.into_iter().map(|(_, member)| member).collect();
        UnitMembers { members, each }
    }
}

/// All units of a device. Units of one kind all have the same size.
#[derive(Clone, Debug)]
pub(super) struct Units {
    rows: Vec<PlaneRow>,
    frontier_planes: UnitMembers,
    frontier_cells: UnitMembers,
    gc_planes: UnitMembers,
    gc_cells: UnitMembers,
    cell_planes: UnitMembers,
    chip_frontiers: UnitMembers,
    chip_gcs: UnitMembers,
    cells: u32,
    gcs: u32,
}

impl Units {
    pub fn new(config: &DeviceConfig, layout: &StaticLayout) -> Units {
        let planes = config.geometry.planes();
        let finer = if config.planes_per(config.frontier) < config.planes_per(config.gc_unit) {
            config.frontier
        } else {
            config.gc_unit
        };
        let row = |plane| {
            let at = layout.plane_address(PlaneId(plane));
            let chip = layout.chip_of(at);
            PlaneRow {
                unit: unit_of(config, config.frontier, at),
                gc: unit_of(config, config.gc_unit, at),
                cell: unit_of(config, finer, at),
                chip,
                channel: layout.channel(chip),
            }
        };
        let rows: Vec<PlaneRow> = (0..planes).map(row).collect();
        let r = &rows;
        Units {
            frontier_planes: UnitMembers::new(r, |p| r[p].unit, |p| p as u32),
            frontier_cells: UnitMembers::new(r, |p| r[p].unit, |p| r[p].cell),
            gc_planes: UnitMembers::new(r, |p| r[p].gc, |p| p as u32),
            gc_cells: UnitMembers::new(r, |p| r[p].gc, |p| r[p].cell),
            cell_planes: UnitMembers::new(r, |p| r[p].cell, |p| p as u32),
            chip_frontiers: UnitMembers::new(r, |p| r[p].chip.0, |p| r[p].unit),
            chip_gcs: UnitMembers::new(r, |p| r[p].chip.0, |p| r[p].gc),
            cells: planes / config.planes_per(finer),
            gcs: planes / config.planes_per(config.gc_unit),
            rows,
        }
    }

    #[inline]
    pub fn row(&self, plane: PlaneId) -> &PlaneRow {
        &self.rows[plane.index()]
    }

    #[inline]
    pub fn cell_of(&self, plane: u32) -> u32 {
        self.rows[plane as usize].cell
    }

    pub fn planes(&self) -> u32 {
        self.rows.len() as u32
    }

    pub fn cells(&self) -> u32 {
        self.cells
    }

    pub fn gc_units(&self) -> u32 {
        self.gcs
    }

    /// Planes of all units with a frontier, unit by unit.
    pub fn planes_by_frontier(&self) -> Vec<u32> {
        self.frontier_planes.members.clone()
    }

    /// Planes and cells of a unit with a frontier.
    pub fn of_frontier(&self, unit: u32) -> (&[u32], &[u32]) {
        (self.frontier_planes.of(unit), self.frontier_cells.of(unit))
    }

    /// Planes and cells of a GC unit.
    pub fn of_gc(&self, unit: u32) -> (&[u32], &[u32]) {
        (self.gc_planes.of(unit), self.gc_cells.of(unit))
    }

    /// Planes of a cell.
    pub fn of_cell(&self, cell: u32) -> &[u32] {
        self.cell_planes.of(cell)
    }

    /// Units with a frontier on a chip.
    pub fn of_chip(&self, chip: ChipId) -> &[u32] {
        self.chip_frontiers.of(chip.0)
    }

    /// GC units on a chip; one that spans several chips is on each of them.
    pub fn gc_of_chip(&self, chip: ChipId) -> &[u32] {
        self.chip_gcs.of(chip.0)
    }

    pub fn bytes(&self) -> u64 {
        let groups = [
            &self.frontier_planes,
            &self.frontier_cells,
            &self.gc_planes,
            &self.gc_cells,
            &self.cell_planes,
            &self.chip_frontiers,
            &self.chip_gcs,
        ];
        let members: usize = groups.iter().map(|g| g.members.len() * 4).sum();
        (members + self.rows.len() * size_of::<PlaneRow>()) as u64
    }
}

/// Number of the unit of size `kind` that holds the plane at `at`: channel fastest.
fn unit_of(config: &DeviceConfig, kind: FlashUnit, at: PlaneAddress) -> u32 {
    let g = &config.geometry;
    let chip = at.channel + g.channels * at.chip;
    let die = chip + g.channels * g.chips_per_channel * at.die;
    match kind {
        FlashUnit::Drive => 0,
        FlashUnit::Chip => chip,
        FlashUnit::Die => die,
        FlashUnit::Plane => die + g.channels * g.chips_per_channel * g.dies_per_chip * at.plane,
    }
}
