//! Data that leave the buffer when its scheme names a victim, that go past it, or that leave on demand.

use super::frames::sectors;
use super::model::DriveModel;
use super::state::{Event, Flush, Leaving, Pending};

impl DriveModel {
    /// Is there data of the page that no unit could take?
    pub(super) fn keeps(&self, lpn: usize) -> bool {
        let is_of = |pending: &Pending| matches!(pending, Pending::Data(data) if data.lpn == lpn);
        self.pending.iter().any(is_of)
    }

    /// Hands over what has left the buffer. On demand the request `by` waits until it has been, and a write waits for the
    /// units that it fills, and for those that are queued whose pages leave now.
    pub(super) fn hand_over_left(&mut self, by: Option<usize>) {
        let by = by.filter(|_| self.on_demand);
        let (left, adopted) = self.buffer.take_left();
        for place in adopted {
            let unit = self.ftl.unit_at(place);
            let queued = unit.filter(|&unit| !self.ftl.units[unit].open);
            if let (Some(i), Some(unit)) = (by.filter(|&i| self.requests[i].is_write()), queued) {
                self.waits_for_unit(i, unit);
            }
        }
        for data in left {
            self.take_pending(Leaving {
                lpn: data.lpn,
                sectors: data.sectors,
                handle: self.page_handles[data.lpn],
                request: by,
            });
        }
    }

    fn take_pending(&mut self, data: Leaving) {
        if self.pending.is_empty() && self.try_pending(data) {
            return;
        }
        if let Some(i) = data.request {
            self.served[i].parts += 1;
        }
        self.pending.push_back(Pending::Data(data));
        self.look_at_all();
    }

    pub(super) fn look_at_all(&mut self) {
        self.collectors.iter_mut().for_each(|c| c.look = true);
    }

    pub(super) fn waits_for_unit(&mut self, i: usize, unit: usize) {
        self.served[i].parts += 1;
        self.unit_waits[unit].requests.push(i);
    }

    fn try_pending(&mut self, data: Leaving) -> bool {
        let Some((unit, _, full)) = self.put(data.lpn, data.sectors, data.handle) else {
            return false;
        };
        if full {
            if let Some(i) = data.request.filter(|&i| self.requests[i].is_write()) {
                self.waits_for_unit(i, unit);
            }
            self.queue(unit);
        }
        true
    }

    /// Hands over what no unit could take, as far as there is room now.
    pub(super) fn retry_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        while let Some(first) = self.pending.front().cloned() {
            match first {
                Pending::Flush(flush) => self.close_for(&flush),
                Pending::Data(data) if !self.try_pending(data) => break,
                Pending::Data(data) => {
                    if let Some(i) = data.request {
                        self.at(self.now, Event::PartDone(i));
                    }
                }
            }
            self.pending.pop_front();
        }
        self.look_at_all();
    }

    /// DR-9: sectors are cut from the buffer. Of a logical unit that is covered as a whole nothing is left, neither on flash
    /// nor among the data that wait.
    pub(super) fn trim(&mut self, i: usize) {
        self.buffer.begins(&self.seen(i));
        let (r, m) = (self.requests[i], self.m);
        let mut dropped = false;
        for page in r.offset / m..(r.offset + r.bytes).div_ceil(m) {
            let start = r.offset.max(page * m) - page * m;
            let end = (r.offset + r.bytes).min((page + 1) * m) - page * m;
            let (lpn, dirty) = (page as usize, self.buffer.dirty());
            self.buffer.trim(lpn, sectors(start, end));
            let freed = (dirty - self.buffer.dirty()) as u64;
            self.outcome.released.push((self.now, freed));
            if end - start < m {
                continue;
            }
            let was_mapped = self.ftl.map[lpn] != super::ftl::NONE;
            dropped |= self.unmap(lpn);
            if was_mapped {
                self.ask_map(lpn, true, None);
            }
        }
        if dropped {
            self.drain();
        }
        self.serve_flushes();
        self.serve_waiters();
    }

    /// Nothing is left of the data of a logical unit. Did some of them wait for room?
    pub(super) fn unmap(&mut self, lpn: usize) -> bool {
        if let Some(block) = self.ftl.unmap(lpn) {
            self.look_at(block);
        }
        let keeps = self.keeps(lpn);
        if keeps {
            self.drop_pending(lpn);
        }
        keeps
    }

    fn drop_pending(&mut self, lpn: usize) {
        for waits in std::mem::take(&mut self.pending) {
            match waits {
                Pending::Data(data) if data.lpn == lpn => {
                    self.buffer.release(usize::MAX);
                    self.outcome.released.push((self.now, 1));
                    if let Some(i) = data.request {
                        self.at(self.now, Event::PartDone(i));
                    }
                }
                others => self.pending.push_back(others),
            }
        }
        self.retry_pending();
        self.look_at_all();
    }

    /// The next victim leaves for a write that waits. Is there one?
    pub(super) fn evict_for(&mut self, i: usize) -> bool {
        if !self.pending.is_empty() {
            return false;
        }
        let page = self.requests[i].offset / self.m + self.served[i].pages;
        let seen = self.seen(i);
        self.show_dies();
        let went = self.buffer.evict_for(&seen, page as usize);
        self.hand_over_left(None);
        went
    }

    /// On demand: programs all dirty pages, which stay in the cache, and waits for all data that left before.
    pub(super) fn flush_on_demand(&mut self, i: usize) {
        self.served[i].parts += 1;
        self.at(self.now + self.t_dram, Event::PartDone(i));
        self.program_on_demand(self.buffer.dirty_pages());
        self.end_flush(Flush::of_all(i));
    }

    /// The same for the pages of a write with FUA.
    pub(super) fn force_on_demand(&mut self, i: usize) {
        let own = self.own_pages(i);
        let mut dirty = self.buffer.dirty_pages();
        dirty.retain(|lpn| own.contains(lpn));
        self.program_on_demand(dirty);
        self.end_flush(Flush {
            own,
            all: false,
            ..Flush::of_all(i)
        });
    }

    fn program_on_demand(&mut self, pages: Vec<usize>) {
        for &lpn in &pages {
            let frame = self.buffer.frame(lpn).expect("a dirty page has a frame");
            self.take_pending(Leaving {
                lpn,
                sectors: frame.sectors,
                handle: self.page_handles[lpn],
                request: None,
            });
        }
        self.buffer.written(&pages);
    }

    /// A FLUSH or FUA waits for data that no unit could take, then for the programs of units.
    pub(super) fn end_flush(&mut self, flush: Flush) {
        match self.pending.is_empty() {
            true => self.close_for(&flush),
            false => self.pending.push_back(Pending::Flush(flush)),
        }
    }
}
