//! Reads of requests (D-5) and array times of reads. (DEVICE_MODEL.md, "Drives with units", Reads)

use super::config::ns;
use super::frames::{Missed, sectors};
use super::model::DriveModel;
use super::slc::Mode;
use super::state::{Event, Task};
use crate::reference::array::Phase;

/// The data of one physical page that a request wants.
pub(super) struct Wanted {
    page: usize,
    place: usize,
    bytes: u64,
    units: u64,
}

impl DriveModel {
    /// Serves a read: what the buffer or the collector has comes from memory, the rest from flash.
    pub(super) fn read(&mut self, i: usize) {
        let r = self.requests[i];
        let m = self.m;
        let mut missed: Vec<(usize, u64)> = Vec::new();
        let mut pages: Vec<Wanted> = Vec::new();
        let mut from_memory = false;
        self.served[i].passage = self.buffer.begins(&self.seen(i));
        for page in r.offset / m..(r.offset + r.bytes).div_ceil(m) {
            let lpn = page as usize;
            let start = r.offset.max(page * m) - page * m;
            let end = (r.offset + r.bytes).min((page + 1) * m) - page * m;
            let need = sectors(start, end);
            let frame = self.buffer.frame(lpn);
            if frame.is_some_and(|f| f.sectors & need == need) {
                self.outcome.read_hits += 1;
                self.buffer.read_hit(lpn);
                from_memory = true;
                continue;
            }
            // Pages that enter the buffer are read whole, others only where sectors are missing.
            let have = frame.map_or(0, |f| f.sectors);
            let bytes = match self.config.read_allocation {
                true => m,
                false => u64::from((need & !have).count_ones()) * 512,
            };
            let place = self.ftl.map[lpn];
            let kept = self.keeps(lpn);
            if frame.is_some() {
                self.buffer.read_in_part(lpn);
            }
            let entered = match self.config.read_allocation {
                true => self.read_enters(i, lpn),
                false => {
                    if frame.is_none() {
                        self.buffer.read_past();
                    }
                    false
                }
            };
            self.hand_over_left(Some(i));
            if entered {
                self.drain();
            }
            if kept || place == super::ftl::NONE || self.ftl.unit_at(place as usize).is_some() {
                self.outcome.memory_reads += u64::from(place != super::ftl::NONE);
                from_memory = true;
                continue;
            }
            missed.push((lpn, bytes));
            self.want(&mut pages, place as usize, bytes);
        }
        match self.map_cache {
            Some(_) if !missed.is_empty() => self.ask_map_for(i, missed),
            _ => self.read_pages(i, pages),
        }
        match from_memory {
            true => self.at(self.now + self.t_dram, Event::PartDone(i)),
            false => self.part_done(i),
        }
    }

    /// Reads the data of a request from flash.
    pub(super) fn read_pages(&mut self, i: usize, pages: Vec<Wanted>) {
        self.served[i].parts += pages.len();
        for w in pages {
            self.read_page(w.place, w.bytes, w.units, Task::HostRead(i));
        }
    }

    /// So many bytes of a place are read from flash.
    pub(super) fn want(&self, pages: &mut Vec<Wanted>, place: usize, bytes: u64) {
        let page = place / self.ftl.geometry.k;
        match pages.iter_mut().find(|w| w.page == page) {
            Some(wanted) => {
                wanted.bytes += bytes;
                wanted.units += 1;
            }
            None => pages.push(Wanted {
                page,
                place,
                bytes,
                units: 1,
            }),
        }
    }

    /// A missed page comes in if there is a frame for it. Has it?
    fn read_enters(&mut self, i: usize, lpn: usize) -> bool {
        let mut again = false;
        loop {
            self.show_dies();
            match self.buffer.read_miss(lpn, u128::MAX, again) {
                Missed::MadeRoom => self.hand_over_left(Some(i)),
                missed => return missed == Missed::Entered,
            }
            again = true;
        }
    }

    /// One array read of a page, then one transfer of what is wanted of it.
    pub(super) fn read_page(&mut self, place: usize, bytes: u64, units: u64, task: Task) -> u64 {
        let phases = vec![
            Phase::Bus(ns(self.device.t_cmd_read)),
            Phase::Array(self.read_time(place, units)),
            Phase::Bus(self.transfer(bytes)),
        ];
        self.submit_read(task, place, phases)
    }

    /// Queues an array read at a place. Reads of SLC blocks draw no retries.
    pub(super) fn submit_read(&mut self, task: Task, place: usize, phases: Vec<Phase>) -> u64 {
        let die = self.ftl.geometry.die_of_place(place);
        let number = self.submit(task, die, phases, Vec::new(), None);
        if self.mode_at(place) == Mode::Slc {
            self.array.never_retries(number);
        }
        number
    }

    fn mode_at(&self, place: usize) -> Mode {
        self.ftl.blocks[self.ftl.geometry.block_of(place)].mode
    }

    /// Array time of a read of so many mapping units.
    pub(super) fn read_time(&self, place: usize, units: u64) -> u64 {
        if self.mode_at(place) == Mode::Slc {
            return self.ftl.slc.t_read;
        }
        let times = self.device.t_read.of_types();
        let by_page = times[self.ftl.geometry.page_offset(place) % times.len()].0;
        match self.t_read_unit {
            Some(time) if units == 1 => time,
            _ => by_page,
        }
    }
}
