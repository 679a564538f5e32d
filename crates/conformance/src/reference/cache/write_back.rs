//! Active write-back of the slow cache (Prober 3.4): pages queued, in flight, cancelled, landed.
//!
//! Works only over a [`SlowDevice`](crate::reference::SlowDevice); over other flash no channel is
//! ever idle.

use super::SlowCache;
use crate::reference::background::{Flight, WriteBack};
use crate::reference::choosing::{self, Question};
use crate::reference::co_active::Quota;
use crate::reference::flash::SlowChannels;
use crate::reference::scheme::Group;

impl SlowCache {
    /// Pages whose write-back ended leave or are clean, then idle channels get work; again if some
    /// of that work took no time at all.
    pub(super) fn issue(&mut self) {
        loop {
            let landed = self.land();
            let asked = self.ask_after_programs();
            let queued = self.issue_once();
            if !landed && !asked && !queued {
                break;
            }
        }
    }

    fn land(&mut self) -> bool {
        let Some(mut back) = self.background.take() else {
            return false;
        };
        let flights = std::mem::take(&mut back.flights);
        let (ended, flying): (Vec<Flight>, Vec<Flight>) = (flights.into_iter()).partition(|f| {
            self.store
                .flash
                .device()
                .is_some_and(|d| d.has_ended(f.token))
        });
        back.flights = flying;
        for flight in &ended {
            let Some(lpn) = flight.page else { continue };
            if flight.stale {
                self.device_counts.background_stale += 1;
            } else if flight.host {
                // It has been clean since it was handed over.
            } else if back.keep_clean {
                let frame = self.store.frames.get_mut(&lpn);
                frame.expect("a page in flight is cached").dirty = 0;
                let (scheme, store) = self.scheme();
                scheme.cleaned(&[lpn], store);
                self.know(|ahead| ahead.cleaned(&[lpn]));
            } else {
                self.scheme().0.remove(lpn);
                self.store.frames.remove(&lpn);
            }
        }
        self.background = Some(back);
        !ended.is_empty()
    }

    fn issue_once(&mut self) -> bool {
        let Some(mut back) = self.background.take() else {
            return false;
        };
        let mut any = false;
        let device = self.store.flash.device().filter(|_| back.asked.is_none());
        let channels = device.map_or(0, |d| d.channels());
        for channel in 0..channels {
            if !self
                .store
                .flash
                .device()
                .is_some_and(|d| d.is_idle(channel))
            {
                continue;
            }
            while back.outstanding(channel) < back.depth {
                let (pages, unit) = match self.quota.take() {
                    Some(mut quota) => {
                        let channels = self.store.flash.by_channel();
                        let chips = channels.map(|c| c.chips_of(channel)).unwrap_or_default();
                        let busy = |x| back.is_busy(x);
                        let chosen = self.choose_by_chip(&quota, &chips, &busy);
                        chosen.iter().for_each(|&(chip, _)| quota.count(chip));
                        self.quota = Some(quota);
                        (chosen.iter().map(|c| c.1).collect(), None)
                    }
                    None => self.choose(&back, channel),
                };
                if pages.is_empty() {
                    break;
                }
                for lpn in pages {
                    any = true;
                    self.queue(&mut back, lpn, unit, channel);
                }
            }
        }
        self.background = Some(back);
        any
    }

    fn choose(&mut self, back: &WriteBack, channel: usize) -> Group {
        let nothing = (Vec::new(), None);
        let (Some(scheme), Some(channels)) = (&self.scheme, self.store.flash.by_channel()) else {
            return nothing;
        };
        let question = Question {
            back,
            scheme: scheme.as_ref(),
            store: &self.store,
            channels,
            busy: &|x| back.is_busy(x),
        };
        match &mut self.ahead {
            Some(ahead) if back.ahead => {
                let found = question.choose_ahead(ahead, channel);
                ahead.name(&found.0);
                found
            }
            _ => question.choose(channel),
        }
    }

    fn choose_by_chip(
        &self,
        quota: &Quota,
        chips: &[usize],
        busy: &dyn Fn(u64) -> bool,
    ) -> Option<(usize, u64)> {
        let scheme = self.scheme.as_ref()?;
        choosing::choose_by_chip(quota, chips, scheme.as_ref(), &self.store, busy)
    }

    fn queue(&mut self, back: &mut WriteBack, lpn: u64, unit: Option<u64>, channel: usize) {
        let read_first = self.rmw && !self.store.whole(lpn) && self.store.flash.mapped(lpn);
        let device = self.store.flash.device();
        let token = device.expect("only a device has idle channels").write_back(
            lpn,
            unit,
            Some(channel),
            read_first,
        );
        back.flights.push(Flight {
            token,
            page: Some(lpn),
            channel: Some(channel),
            stale: false,
            host: false,
        });
    }

    /// A host request touches a cached page; `change` tells a write, TRIM or rename from a read.
    pub(super) fn accessed(&mut self, lpn: u64, change: bool) {
        let Some(mut back) = self.background.take() else {
            return;
        };
        if let Some(i) = back.of_page(lpn) {
            if self.started(&back.flights[i]) {
                back.flights[i].stale |= change;
            } else if change || back.cancel_on_reads {
                self.cancel(&mut back, i);
            }
        }
        self.background = Some(back);
    }

    fn started(&mut self, flight: &Flight) -> bool {
        let device = self.store.flash.device();
        flight.host || device.is_some_and(|d| d.has_started(flight.token))
    }

    fn cancel(&mut self, back: &mut WriteBack, i: usize) {
        let flight = back.flights.remove(i);
        let device = self.store.flash.device();
        device
            .expect("only a device has flights")
            .cancel(flight.token);
        self.device_counts.background_cancels += 1;
    }

    /// The page leaves or is flushed: its write-back, if it is in flight and current.
    pub(super) fn release(&mut self, lpn: u64) -> Option<u32> {
        let mut back = self.background.take()?;
        let mut current = None;
        if let Some(i) = back.of_page(lpn) {
            if self.started(&back.flights[i]) {
                let flight = &mut back.flights[i];
                flight.page = None;
                current = (!flight.stale).then_some(flight.token);
            } else {
                self.cancel(&mut back, i);
            }
        }
        self.background = Some(back);
        current
    }

    /// Dirty pages that nothing in flight writes as they are now.
    pub fn dirty_pages_left(&mut self) -> u64 {
        let device = self.store.flash.device();
        let flights = self.background.iter().flat_map(|b| &b.flights);
        let in_flight: Vec<u64> = match device {
            None => Vec::new(),
            Some(device) => flights
                .filter(|f| !f.stale && device.has_started(f.token))
                .filter_map(|f| f.page)
                .collect(),
        };
        let frames = self.store.frames.iter();
        let left = frames.filter(|(lpn, f)| f.dirty != 0 && !in_flight.contains(lpn));
        left.count() as u64
    }

    /// The page has a new address.
    pub(super) fn readdress(&mut self, from: u64, to: u64) {
        let flights = self.background.iter_mut().flat_map(|b| &mut b.flights);
        for flight in flights.filter(|f| f.page == Some(from)) {
            flight.page = Some(to);
        }
        let asked = self.background.as_mut().and_then(|b| b.asked.as_mut());
        asked.into_iter().for_each(|asked| asked.renamed(from, to));
    }

    /// These chips are idle, no others, and what is written back on them takes no time.
    pub fn idle(&mut self, chips: &[usize]) -> String {
        let mut words = Vec::new();
        while let Some(mut quota) = self.quota.take() {
            let chosen = self.choose_by_chip(&quota, chips, &|_| false);
            if let Some((chip, lpn)) = chosen {
                quota.count(chip);
                let frame = self.store.frames.get_mut(&lpn);
                frame.expect("what is written back is cached").dirty = 0;
                let (scheme, store) = self.scheme();
                scheme.cleaned(&[lpn], store);
                words.push(format!("wb{{{lpn}}}"));
            }
            self.quota = Some(quota);
            if chosen.is_none() {
                break;
            }
        }
        words.join(" ")
    }
}
