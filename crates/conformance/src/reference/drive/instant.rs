//! Writes without time: the precondition, and write amplification by itself. (DEVICE_MODEL.md, "Before the run")

use super::collect::debt;
use super::config::{DriveConfig, Marks};
use super::ftl::{BlockState, Counters, Ftl};
use super::handles::{HandleCounts, Writer};
use super::model::DriveModel;
use super::state::Collector;

/// Write amplification of collection in no time: of the `measured` writes behind the `before` ones.
/// Blocks are collected while the host needs one and no more than `reserve` are free.
///
/// # Errors
///
/// Keys that make no sense together, or no room.
pub fn instant_write_amplification(
    config: &DriveConfig,
    reserve: usize,
    before: impl Iterator<Item = usize>,
    measured: impl Iterator<Item = usize>,
) -> Result<f64, String> {
    let mut ftl = Ftl::new(&config.device()?);
    for lpn in before {
        ftl.write_at_once(lpn, reserve)?;
    }
    let start = ftl.counters;
    for lpn in measured {
        ftl.write_at_once(lpn, reserve)?;
    }
    let host = (ftl.counters.host - start.host) as f64;
    Ok((host + (ftl.counters.moved - start.moved) as f64) / host)
}

impl DriveModel {
    /// Fills and overwrites logical units before the run, without time and counters.
    ///
    /// # Errors
    ///
    /// There is no room.
    pub fn precondition(
        &mut self,
        fill: impl IntoIterator<Item = usize>,
        overwrite: &[usize],
    ) -> Result<(), String> {
        for lpn in fill {
            self.write_before(lpn, Writer::Host(0))?;
        }
        let third = overwrite.len() / 3;
        let mut before = 0;
        for (i, &lpn) in overwrite.iter().enumerate() {
            if i == overwrite.len() - third {
                before = self.ftl.counters.moved;
            }
            self.write_before(lpn, Writer::Host(0))?;
        }
        let moved = self.ftl.counters.moved - before;
        // D-17
        self.debt.sum = match third {
            0 => 0,
            _ => self.debt.units * ((moved << 16) / third as u64),
        };
        self.ftl.close_all();
        for page in self.ftl.geometry.mapped_pages(&self.ftl.map) {
            self.write_before(page, Writer::Map)?;
        }
        self.ftl.start_counting();
        self.collectors.iter_mut().for_each(|own| own.look = true);
        Ok(())
    }

    /// Writes a logical unit; a full unit of the host makes a debt, which is paid at once.
    fn write_before(&mut self, lpn: usize, writer: Writer) -> Result<(), String> {
        let (ftl, collectors, marks) = (&mut self.ftl, &mut self.collectors, &self.marks);
        let full = ftl.write_now(lpn, writer, |ftl, gc_unit| {
            let collector = &mut collectors[gc_unit];
            while ftl.is_host_stuck(gc_unit) && step(ftl, collector, marks, gc_unit, true) {}
        })?;
        if let Some(gc_unit) = full {
            let collector = &mut self.collectors[gc_unit];
            let (h, ftl) = (self.ftl.geometry.unit_places, &mut self.ftl);
            let free = ftl.free_blocks(gc_unit);
            collector.owed = match ftl.to_read(gc_unit, &collector.victims) {
                Some((v, n)) => collector.owed + debt(h, v, n, free, &self.marks),
                None => 0.0,
            };
            while step(ftl, collector, &self.marks, gc_unit, false) {}
        }
        Ok(())
    }
}

/// One step of a collector before the run; false if it owes nothing, is not forced, or finds nothing.
fn step(ftl: &mut Ftl, own: &mut Collector, marks: &Marks, gc_unit: usize, forced: bool) -> bool {
    let paid = own.owed >= 1.0;
    let Some(&(block, from)) = own.victims.first() else {
        if !paid && !forced && ftl.free_blocks(gc_unit) as u64 >= marks.high {
            return false;
        }
        let Some(block) = ftl.victim(gc_unit) else {
            own.owed = 0.0;
            return false;
        };
        if !paid && !forced && ftl.blocks[block].valid > 0 {
            return false;
        }
        ftl.blocks[block].state = BlockState::Victim;
        own.victims = vec![(block, block * ftl.geometry.places_per_block())];
        return true;
    };
    if ftl.blocks[block].valid == 0 {
        own.victims.clear();
        ftl.blocks[block].moving = 0;
        ftl.forget_source(block);
        ftl.erased(block);
        return true;
    }
    let places = ftl.valid_of_read(block, from);
    if places.is_empty() || paid || forced {
        let group = ftl.geometry.k * ftl.geometry.planes;
        own.victims = vec![(block, from + group)];
        own.owed -= if paid { places.len() as f64 } else { 0.0 };
        places
            .into_iter()
            .for_each(|place| ftl.move_now(gc_unit, place));
        return true;
    }
    false
}

impl Ftl {
    /// Writes a logical unit at once; whole blocks are collected while the host needs a block and no
    /// more than `reserve` are free.
    pub fn write_at_once(&mut self, lpn: usize, reserve: usize) -> Result<(), String> {
        let collect = |ftl: &mut Ftl, gc_unit| {
            while ftl.needs_block(gc_unit, Writer::Host(0)) && ftl.free_blocks(gc_unit) <= reserve
                || ftl.is_host_stuck(gc_unit)
            {
                if !ftl.collect_now(gc_unit) {
                    break;
                }
            }
        };
        self.write_now(lpn, Writer::Host(0), collect).map(|_| ())
    }

    /// Writes a logical unit; `make_room` collects where a unit is to be opened. The GC unit of the unit that is full now.
    fn write_now(
        &mut self,
        lpn: usize,
        writer: Writer,
        mut make_room: impl FnMut(&mut Ftl, usize),
    ) -> Result<Option<usize>, String> {
        let unit = match self.open_unit_for(lpn, writer) {
            Some(unit) => unit,
            None => {
                let from = self.sites_for(lpn);
                for &site in from.iter().filter(|_| writer.is_host()) {
                    make_room(self, self.geometry.sites[site].gc_unit);
                }
                let site = self.choose_site(writer, &from, &vec![0; self.geometry.dies]);
                let site = site.ok_or("device full before the run: raise op or lower gc_low")?;
                self.open(site, writer)
            }
        };
        let (_, full) = self.assign(unit, lpn, None);
        let gc_unit = self.gc_unit_of(unit);
        if full {
            self.finish_now(unit);
        }
        Ok(full.then_some(gc_unit))
    }

    fn finish_now(&mut self, unit: usize) {
        self.close(unit);
        self.end(unit);
        self.spare.push(unit);
    }

    /// Collects one block whole; false if none is worth it.
    fn collect_now(&mut self, gc_unit: usize) -> bool {
        let Some(victim) = self.victim(gc_unit) else {
            return false;
        };
        self.blocks[victim].state = BlockState::Victim;
        let n = self.geometry.places_per_block();
        for place in victim * n..(victim + 1) * n {
            if self.valid_at(place).is_some() {
                self.move_now(gc_unit, place);
            }
        }
        self.blocks[victim].moving = 0;
        self.forget_source(victim);
        self.erased(victim);
        true
    }

    /// Moves what a place of a victim holds.
    fn move_now(&mut self, gc_unit: usize, place: usize) {
        let lpn = self.valid_at(place).expect("it is valid");
        let source = self.geometry.block_of(place);
        let (writer, from) = self.destination(gc_unit, lpn, source);
        let unit = match self.open_unit_among(&from, writer) {
            Some(unit) => unit,
            None => {
                let idle = vec![0; self.geometry.dies];
                let site = self.choose_site(writer, &from, &idle);
                self.open(site.expect("a collector may take the last block"), writer)
            }
        };
        let (_, full) = self.assign(unit, lpn, Some(source));
        if full {
            self.finish_now(unit);
        }
    }

    /// Open units must not count a block that is gone.
    fn forget_source(&mut self, victim: usize) {
        for unit in self.open.concat().into_iter().flatten() {
            self.units[unit].sources.retain(|&b| b != victim);
        }
    }

    /// Sites of a GC unit.
    pub fn sites_of(&self, gc_unit: usize) -> Vec<usize> {
        let all = self.geometry.sites.iter().enumerate();
        let mine = all.filter(|(_, s)| s.gc_unit == gc_unit);
        mine.map(|(i, _)| i).collect()
    }

    /// Open units end with padding.
    fn close_all(&mut self) {
        for unit in self.open.concat().into_iter().flatten() {
            self.finish_now(unit);
        }
    }

    /// Ends the precondition: nothing counts.
    pub fn start_counting(&mut self) {
        self.close_all();
        self.counters = Counters::default();
        self.handles.counts.fill(HandleCounts::default());
        self.units.clear();
        self.spare.clear();
    }
}
