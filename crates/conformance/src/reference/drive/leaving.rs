//! Data that leave the buffer when its scheme names a victim, that go past it, or that leave on demand.

use std::collections::VecDeque;

use super::model::{DriveModel, Event};

/// Data that no unit can take yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    lpn: usize,
    sectors: u128,
    /// On demand: the request that waits for it.
    request: Option<usize>,
    /// Is that a FLUSH?
    flush: bool,
}

impl DriveModel {
    /// Is there data of the page that no unit could take?
    pub(super) fn keeps(&self, lpn: usize) -> bool {
        self.pending.iter().any(|data| data.lpn == lpn)
    }

    /// Hands over what has left the buffer. On demand the request `by` waits until it has been, and a write waits for the
    /// units that it fills, and for those that are queued whose pages leave now.
    pub(super) fn hand_over_left(&mut self, by: Option<usize>) {
        let by = by.filter(|_| self.config.on_demand);
        let (left, adopted) = self.buffer.take_left();
        for place in adopted {
            let unit = self.ftl.unit_at(place);
            let queued = unit.filter(|&unit| !self.ftl.units[unit].open);
            if let (Some(i), Some(unit)) = (by.filter(|&i| self.requests[i].is_write()), queued) {
                self.waits_for_unit(i, unit);
            }
        }
        for data in left {
            self.take_pending(Pending {
                lpn: data.lpn,
                sectors: data.sectors,
                request: by,
                flush: false,
            });
        }
    }

    fn take_pending(&mut self, data: Pending) {
        if self.pending.is_empty() && self.try_pending(data) {
            return;
        }
        if let Some(i) = data.request {
            self.served[i].parts += 1;
        }
        self.pending.push_back(data);
        self.look_at_all();
    }

    fn look_at_all(&mut self) {
        self.collectors.iter_mut().for_each(|c| c.look = true);
    }

    fn waits_for_unit(&mut self, i: usize, unit: usize) {
        self.served[i].parts += 1;
        self.unit_waits[unit].requests.push(i);
    }

    fn try_pending(&mut self, data: Pending) -> bool {
        let Some((unit, _, full)) = self.put(data.lpn, data.sectors) else {
            return false;
        };
        let waits = |&i: &usize| full && self.requests[i].is_write() || data.flush;
        if let Some(i) = data.request.filter(waits) {
            self.waits_for_unit(i, unit);
        }
        if full {
            self.queue(unit);
        }
        true
    }

    /// Hands over what no unit could take, as far as there is room now.
    pub(super) fn retry_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        while let Some(&data) = self.pending.front() {
            if !self.try_pending(data) {
                break;
            }
            self.pending.pop_front();
            if let Some(i) = data.request {
                let open = self.ftl.open_unit_for(data.lpn);
                let place = self.ftl.map[data.lpn] as usize;
                let own = open.filter(|&unit| self.ftl.unit_at(place) == Some(unit));
                if let Some(unit) = own.filter(|_| data.flush) {
                    self.queue(unit);
                }
                self.at(self.now, Event::PartDone(i));
            }
        }
        self.look_at_all();
    }

    /// The next victim leaves for a write that waits. Is there one?
    pub(super) fn evict_for(&mut self, i: usize) -> bool {
        if !self.pending.is_empty() {
            return false;
        }
        let page = self.requests[i].offset / self.config.mapping_bytes + self.served[i].pages;
        let seen = self.seen(i);
        let went = self.buffer.evict_for(&seen, page as usize);
        self.hand_over_left(None);
        went
    }

    /// On demand: all dirty pages are programmed and stay; then all open units are closed and waited for.
    pub(super) fn flush_on_demand(&mut self, i: usize) {
        self.served[i].parts += 1;
        self.at(self.now + self.config.t_dram, Event::PartDone(i));
        let pages = self.buffer.dirty_pages();
        for &lpn in &pages {
            let frame = self.buffer.frame(lpn).expect("a dirty page has a frame");
            self.take_pending(Pending {
                lpn,
                sectors: frame.sectors,
                request: Some(i),
                flush: true,
            });
        }
        self.buffer.written(&pages);
        let all = self.ftl.units.iter().enumerate();
        let mut units: VecDeque<usize> = all
            .filter(|(_, unit)| unit.host && !unit.ended)
            .map(|(number, _)| number)
            .collect();
        let order = |&unit: &usize| (self.ftl.frontier_of(unit), unit);
        units.make_contiguous().sort_unstable_by_key(order);
        for unit in units {
            if self.ftl.units[unit].open {
                self.queue(unit);
            }
            self.waits_for_unit(i, unit);
        }
        self.at(self.now, Event::PartDone(i));
    }
}
