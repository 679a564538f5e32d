//! Writes without time: the precondition, and write amplification by itself. (DEVICE_MODEL.md, "Before the run")

use super::config::DriveConfig;
use super::ftl::{BlockState, Counters, Ftl};

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
        ftl.write_now(lpn, reserve)?;
    }
    let start = ftl.counters;
    for lpn in measured {
        ftl.write_now(lpn, reserve)?;
    }
    let host = (ftl.counters.host - start.host) as f64;
    Ok((host + (ftl.counters.moved - start.moved) as f64) / host)
}

impl Ftl {
    /// Writes a logical unit at once; whole blocks are collected while the host needs a block and no
    /// more than `reserve` are free.
    pub fn write_now(&mut self, lpn: usize, reserve: usize) -> Result<(), String> {
        let unit = match self.open_unit_for(lpn) {
            Some(unit) => unit,
            None => {
                let site = self.site_now(lpn, reserve)?;
                self.open(site, true)
            }
        };
        let (_, full) = self.assign(unit, lpn, None);
        if full {
            self.finish_now(unit);
        }
        Ok(())
    }

    fn site_now(&mut self, lpn: usize, reserve: usize) -> Result<usize, String> {
        let idle = vec![0; self.geometry.dies];
        let from = self.sites_for(lpn);
        for &site in &from {
            let gc_unit = self.geometry.sites[site].gc_unit;
            while self.needs_block(gc_unit, true) && self.free_blocks(gc_unit) <= reserve
                || self.is_host_stuck(gc_unit)
            {
                if !self.collect_now(gc_unit) {
                    break;
                }
            }
        }
        let site = self.choose_site(true, &from, &idle);
        site.ok_or_else(|| "device full before the run: raise op or lower gc_low".to_string())
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
            let Some(lpn) = self.valid_at(place) else {
                continue;
            };
            let unit = match self.open_gc_unit(gc_unit) {
                Some(unit) => unit,
                None => {
                    let idle = vec![0; self.geometry.dies];
                    let from = self.sites_of(gc_unit);
                    let site = self.choose_site(false, &from, &idle);
                    self.open(site.expect("a collector may take the last block"), false)
                }
            };
            let (_, full) = self.assign(unit, lpn, Some(victim));
            if full {
                self.finish_now(unit);
            }
        }
        self.blocks[victim].moving = 0;
        self.forget_source(victim);
        self.erased(victim);
        true
    }

    /// Open units must not count a block that is gone.
    fn forget_source(&mut self, victim: usize) {
        for unit in self.open_gc.clone().into_iter().flatten() {
            self.units[unit].sources.retain(|&b| b != victim);
        }
    }

    /// The collector's open unit of a GC unit.
    pub fn open_gc_unit(&self, gc_unit: usize) -> Option<usize> {
        let sites = self.sites_of(gc_unit);
        sites.into_iter().find_map(|s| self.open_gc[s])
    }

    /// Sites of a GC unit.
    pub fn sites_of(&self, gc_unit: usize) -> Vec<usize> {
        let all = self.geometry.sites.iter().enumerate();
        let mine = all.filter(|(_, s)| s.gc_unit == gc_unit);
        mine.map(|(i, _)| i).collect()
    }

    /// Ends the precondition: open units end with padding, nothing counts.
    pub fn start_counting(&mut self) {
        let open = [self.open_host.clone(), self.open_gc.clone()].concat();
        for unit in open.into_iter().flatten() {
            self.finish_now(unit);
        }
        self.counters = Counters::default();
        self.units.clear();
        self.spare.clear();
    }
}
