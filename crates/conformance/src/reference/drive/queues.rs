//! The queue of a die, as Equations 1 to 4 of ECR count it (DR-10).

use destage_device::nand::{Class, OpKind};
use destage_types::ChipId;

use super::config::ns;
use super::dies::SlowDies;
use super::ftl::{BlockState, Ftl};
use super::geometry::Site;
use super::handles::Writer;
use super::model::DriveModel;
use crate::reference::cqct::{Cost, Queue};

impl DriveModel {
    /// The dies as they are now.
    pub(super) fn dies(&self) -> SlowDies {
        let c = &self.device;
        let dies = 0..self.ftl.geometry.dies;
        let weighed = dies.clone().filter(|_| self.buffer.weighs_dies());
        SlowDies {
            queues: weighed.map(|die| self.queue_of(die)).collect(),
            times: (c.t_read.mean().0, c.t_program.mean().0),
            in_gc: dies.clone().map(|die| self.collects_on(die)).collect(),
            idle: dies
                .map(|die| self.array.is_chip_idle(ChipId(die as u32)))
                .collect(),
            die_of_plane: self.ftl.geometry.dies_in_order(),
            k: self.ftl.geometry.k as u64,
            channels: c.geometry.channels as usize,
            dynamic: !self.ftl.static_allocation,
            cost: Cost::default(),
        }
    }

    /// GC units that collect on a die.
    fn gc_units_on(&self, die: usize) -> Vec<usize> {
        let on = |s: &&Site| s.die == die;
        let mut units: Vec<usize> = (self.ftl.geometry.sites.iter().filter(on))
            .map(|site| site.gc_unit)
            .collect();
        units.sort_unstable();
        units.dedup();
        units
    }

    /// Has a collector of the die a victim, or a block that waits for programs or its erase?
    fn collects_on(&self, die: usize) -> bool {
        self.gc_units_on(die).into_iter().any(|gc_unit| {
            let waits = |&b: &usize| {
                let state = self.ftl.blocks[b].state;
                matches!(state, BlockState::Waiting | BlockState::Erasing)
            };
            let mut blocks = self.ftl.geometry.blocks_of(gc_unit);
            !self.collectors[gc_unit].victims.is_empty() || blocks.any(|b| waits(&b))
        })
    }

    fn queue_of(&self, die: usize) -> Queue {
        let (c, g) = (&self.device, &self.ftl.geometry);
        let units = self.gc_units_on(die);
        let places = g.places_per_block() as u64;
        let free: usize = units.iter().map(|&u| self.ftl.free_blocks(u)).sum();
        let threshold = self.marks.low * units.len() as u64;
        let page = self.transfer(c.geometry.page.bytes());
        let chip = ChipId(die as u32);
        Queue {
            drain: self.array.drain_time(chip, Class::Gc).0,
            reads: self.array.host_count(chip, OpKind::Read).into(),
            writes: self.array.host_count(chip, OpKind::Program).into(),
            in_service: self.array.host_in_service(chip),
            residual: self.array.residual(chip).0,
            t_read: c.t_read.mean().0,
            t_program: c.t_program.mean().0,
            t_next_program: c.t_program.mean().0,
            t_erase: ns(c.t_erase),
            transfer: page,
            program_transfer: page * (g.unit_places / g.k) as u64,
            pages_per_program: g.unit_places as u64,
            pages_per_block: places,
            free: free as u64 * places,
            threshold: threshold * places,
            free_blocks: free as u64,
            threshold_blocks: threshold,
            frontier_free: self.ftl.open_places(die),
            victim_valid: (units.iter())
                .filter_map(|&u| self.ftl.fewest_valid(u))
                .min()
                .unwrap_or(0),
            gc_remaining: self.collects_on(die).then(|| self.array.gc_time(chip).0),
        }
    }
}

impl Ftl {
    /// Valid places of the closed block that has the fewest, static ones left out.
    fn fewest_valid(&self, gc_unit: usize) -> Option<u64> {
        let blocks = self.geometry.blocks_of(gc_unit);
        let blocks = blocks.filter(|&b| !self.geometry.is_static(b));
        let blocks = blocks.map(|b| &self.blocks[b]);
        let ended = blocks.filter(|b| b.state == BlockState::Closed && b.unfinished == 0);
        ended.map(|b| b.valid as u64).min()
    }

    /// Places of the host's open blocks and open units on a die that nothing has taken.
    fn open_places(&self, die: usize) -> u64 {
        let g = &self.geometry;
        let of_site = |(i, site): (usize, &Site)| {
            let of_writer = |writer: Writer| {
                let unit = self.open[self.handles.index(writer)][i].map(|unit| &self.units[unit]);
                let of_unit = unit.map_or(0, |u| u.places - u.lpns.len());
                let block = self.filling[site.gc_unit][self.stream(writer)];
                let of_block = block.map_or(0, |b| {
                    let left = self.units_per_part(b) - self.blocks[b].opened[site.part];
                    left * self.unit_places(b)
                });
                of_unit + of_block
            };
            self.handles.hosts().map(of_writer).sum::<usize>()
        };
        let sites = g.sites.iter().enumerate();
        let left = sites.filter(|(_, site)| site.die == die).map(of_site);
        left.sum::<usize>() as u64
    }
}
