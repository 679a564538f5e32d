//! A queue for room on flash: data that were handed over and that no frontier can take yet, and
//! each FLUSH or FUA for those before it.

use super::writes::HandOver;
use super::{CachedMapping, Drive};
use destage_types::{Lpn, Nanos};

/// An entry of the queue for room.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    Unit(HandOver),
    /// A FLUSH, or a FUA of these mapping units, waits for those before it.
    Flush {
        request: u32,
        of: Option<Vec<Lpn>>,
    },
}

impl Waiting {
    /// The mapping unit that waits.
    pub fn lpn(&self) -> Option<Lpn> {
        match self {
            Waiting::Unit(unit) => Some(unit.lpn),
            Waiting::Flush { .. } => None,
        }
    }
}

impl Drive {
    /// Takes a mapping unit from the cache. Units that no frontier can take wait in order, and so
    /// do their requests.
    pub(super) fn hand_over(&mut self, mut data: HandOver) {
        data.version = self.name_version(&data);
        if !self.waiting.is_empty() || !self.try_hand_over(data) {
            if let Some(request) = data.request {
                self.core.requests.wait(request, 1);
            }
            self.waiting.push_back(Waiting::Unit(data));
            self.collectors.look_at_all();
        }
    }

    /// Are data of this mapping unit kept here because no frontier could take them?
    pub(super) fn keeps(&self, lpn: Lpn) -> bool {
        self.waiting.iter().any(|waits| waits.lpn() == Some(lpn))
    }

    /// Is there a frontier that takes this mapping unit, or one that takes any?
    pub(super) fn has_open_frontier(&self, lpn: Option<Lpn>) -> bool {
        let mut any = self.frontiers_of_hosts();
        match lpn {
            Some(lpn) => self.frontier_for(lpn).is_some(),
            None => any.any(|(stream, frontier)| self.core.map.can_open(stream, frontier)),
        }
    }

    /// Hands over what waited, as far as there is room.
    fn retry_waiting(&mut self) {
        while let Some(first) = self.waiting.pop_front() {
            match first {
                Waiting::Unit(unit) if !self.try_hand_over(unit) => {
                    return self.waiting.push_front(first);
                }
                Waiting::Unit(unit) => self.waits_no_more(&unit),
                Waiting::Flush { request, of } => self.close_flushed(request, of.as_deref()),
            }
        }
    }

    fn waits_no_more(&mut self, data: &HandOver) {
        if let Some(request) = data.request {
            self.core.requests.ended(request, self.core.now);
        }
    }

    /// There may be room for what waits.
    pub(super) fn retry_after_room(&mut self) {
        if !self.waiting.is_empty() {
            self.retry_waiting();
            self.collectors.look_at_all();
        }
    }

    /// DR-9: a mapping unit is trimmed. Its data that wait are dropped with their frames, and what waits behind them
    /// may go on.
    pub(super) fn drop_waiting(&mut self, lpn: Lpn) {
        self.wanted.take_if(|wanted| *wanted == lpn);
        if !self.keeps(lpn) {
            return;
        }
        for waits in std::mem::take(&mut self.waiting) {
            match waits {
                Waiting::Unit(unit) if unit.lpn == lpn => {
                    self.waits_no_more(&unit);
                    self.told.freed.extend(unit.frame);
                }
                others => self.waiting.push_back(others),
            }
        }
        // As after a program: there may be room for what the cache keeps.
        self.told.asks_scheme = true;
        self.retry_waiting();
        self.collectors.look_at_all();
    }

    /// The mapping unit that waits first for room, here or in the cache.
    pub(super) fn next_for_room(&self) -> Option<Lpn> {
        let mut waiting = self.waiting.iter();
        waiting.find_map(Waiting::lpn).or(self.wanted)
    }

    /// The run ends if data of the host need a block, and none will become free.
    pub(super) fn check_room(&mut self) {
        let table = self.mapping.as_ref();
        let page = table.and_then(CachedMapping::waits_for_block);
        let page = page.map(|page| self.core.map.translation_page(page));
        let Some(lpn) = self.next_for_room().or(page) else {
            return;
        };
        let at_rest = self.core.nand.next_event_time() == Nanos::NEVER;
        if at_rest && self.core.full.is_none() {
            self.core.full = Some(self.core.map.full(lpn));
        }
    }
}
