//! Active write-back of the slow cache (Prober 3.4): pages queued, in flight, cancelled, landed.
//!
//! Works only over a [`SlowDevice`](super::device::SlowDevice); over other flash no channel is
//! ever idle.

use super::cache::SlowCache;
use super::expr::SlowExpr;
use super::occasions::Asked;
use super::scheme::Group;

/// A write-back that is queued or in flight.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub token: u32,
    /// The cached page it belongs to, under its present address; none once that page left or was
    /// flushed.
    pub page: Option<u64>,
    /// The idle channel for which it was queued.
    pub channel: Option<usize>,
    /// Changed since it started.
    pub stale: bool,
    /// Handed over in the host's class: it counts as started at once.
    pub host: bool,
}

/// Counters that only a device has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)] // the names are those of the result record
pub struct DeviceCounts {
    pub background_cancels: u64,
    pub background_stale: u64,
    pub inflight_evictions: u64,
    pub unmapped_reads: u64,
}

/// The layers `awb` and `eager`.
pub struct WriteBack {
    depth: usize,
    /// LDR alone, or then the base too.
    ldr_only: bool,
    wait_for_partial: bool,
    keep_clean: bool,
    cancel_on_reads: bool,
    /// Does the layer `idle-clean` choose? Then nothing else here matters but what is in flight.
    ahead: bool,
    /// `eager`: frames that must be in use, and how many victims are looked at.
    eager: Option<(usize, usize)>,
    /// The layer that is asked on other occasions than idle channels.
    pub(super) asked: Option<Asked>,
    pub(super) flights: Vec<Flight>,
}

impl WriteBack {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<WriteBack, String> {
        expr.keys(&["scope", "depth", "partial", "after", "cancel-on"])?;
        let prober = expr.has("prober");
        let scopes = match prober {
            true => ["ldr", "ldr_then_base"],
            false => ["ldr_then_base", "ldr"],
        };
        Ok(WriteBack {
            depth: expr.number("depth", 2, 1)? as usize,
            ldr_only: expr.word("scope", &scopes)? == "ldr",
            wait_for_partial: expr.word("partial", &["wait", "write"])? == "wait",
            keep_clean: expr.word("after", &["remove", "keep_clean"])? == "keep_clean",
            cancel_on_reads: expr.word("cancel-on", &["any", "write"])? == "any",
            ahead: false,
            eager: None,
            asked: None,
            flights: Vec::new(),
        })
    }

    /// `idle-clean`, whose rules stand in [`Ahead`](super::ahead::Ahead).
    pub fn ahead() -> WriteBack {
        WriteBack {
            depth: usize::MAX,
            ldr_only: false,
            wait_for_partial: false,
            keep_clean: true,
            cancel_on_reads: true,
            ahead: true,
            eager: None,
            asked: None,
            flights: Vec::new(),
        }
    }

    /// `eager` (Prober section 5.2) in a cache of `capacity` pages.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn eager(expr: &SlowExpr, capacity: usize) -> Result<WriteBack, String> {
        expr.keys(&["w"])?;
        let window = expr.number("w", (capacity / 8).max(1) as u64, 1)? as usize;
        Ok(WriteBack {
            depth: 2,
            eager: Some((capacity.saturating_sub(1), window)),
            ..WriteBack::of_scheme()
        })
    }

    /// That of a scheme that chooses by itself, page by page for idle chips.
    pub fn of_scheme() -> WriteBack {
        WriteBack {
            ahead: false,
            ..WriteBack::ahead()
        }
    }

    /// A layer that is asked on other occasions than idle channels.
    pub fn asked(asked: Asked) -> WriteBack {
        WriteBack {
            asked: Some(asked),
            ..WriteBack::of_scheme()
        }
    }

    /// Write-backs of a channel that are queued or in flight.
    pub(super) fn outstanding(&self, channel: usize) -> usize {
        let here = |f: &&Flight| f.channel == Some(channel);
        self.flights.iter().filter(here).count()
    }

    /// Is a write-back of the page queued or in flight?
    pub(super) fn is_busy(&self, lpn: u64) -> bool {
        self.of_page(lpn).is_some()
    }

    fn of_page(&self, lpn: u64) -> Option<usize> {
        self.flights.iter().position(|f| f.page == Some(lpn))
    }
}

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
                        let device = self.store.flash.device();
                        let chips = device.map(|d| d.chips_of(channel).collect());
                        let busy = |x| back.is_busy(x);
                        let chips: Vec<usize> = chips.unwrap_or_default();
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

    /// The next page to write back on `channel`, or the next group, with its number if its pages go
    /// to one plane.
    fn choose(&mut self, back: &WriteBack, channel: usize) -> Group {
        if back.ahead {
            let found = self.choose_ahead(back, channel);
            return found.expect("the layer knows its pages");
        }
        let dynamic = (self.store.flash.device()).is_some_and(|d| d.is_dynamic());
        let mut here: Vec<u64> = self.store.frames.keys().copied().collect();
        let device = self.store.flash.device();
        here.retain(|&x| (device.as_ref()).is_some_and(|d| dynamic || d.channel(x) == channel));
        let store = &self.store;
        let nothing = (Vec::new(), None);
        let Some(scheme) = &self.scheme else {
            return nothing;
        };
        let free = |x: u64| store.dirty(x) && back.of_page(x).is_none();
        if back
            .eager
            .is_some_and(|(least, _)| store.frames.len() < least)
        {
            return nothing;
        }
        let streams = match back.eager {
            Some(_) => Vec::new(),
            None => scheme.streams(),
        };
        let ready = |(x, _, outdated): &&(u64, u64, bool)| {
            let eligible = *outdated || store.whole(*x) || !back.wait_for_partial;
            eligible && free(*x) && here.contains(x)
        };
        if let Some(first) = streams.iter().filter(ready).min_by_key(|s| (s.1, s.0)) {
            return (vec![first.0], None);
        }
        if back.ldr_only {
            return nothing;
        }
        let order = match back.eager {
            Some((_, window)) => scheme
                .next_victims(store)
                .into_iter()
                .take(window)
                .collect(),
            None => scheme.write_back_order(store),
        };
        if let Some(&first) = order.iter().find(|x| free(**x) && here.contains(x)) {
            return (vec![first], None);
        }
        self.next_group_on(back, channel)
    }

    /// The dirty pages of the next group, if it is the turn of `channel` and none of them is busy.
    pub(super) fn next_group_on(&mut self, back: &WriteBack, channel: usize) -> Group {
        let nothing = (Vec::new(), None);
        let store = &self.store;
        let next = self.scheme.as_ref().and_then(|s| s.next_group(store));
        let Some((group, unit)) = next else {
            return nothing;
        };
        let free = |x: u64| store.dirty(x) && back.of_page(x).is_none();
        let busy = group.iter().any(|&x| back.of_page(x).is_some());
        let Some(first) = group.iter().min().filter(|_| !busy) else {
            return nothing;
        };
        let mut pages: Vec<u64> = group.iter().copied().filter(|&x| free(x)).collect();
        pages.sort_unstable();
        let first = *first;
        let device = self.store.flash.device();
        let first_is_here = device.is_some_and(|d| d.is_dynamic() || d.channel(first) == channel);
        let device = self.store.flash.device();
        let of_unit = device.and_then(|d| Some(d.channel_of_unit(unit?)));
        match of_unit.map_or(first_is_here, |of_unit| of_unit == channel) {
            true => (pages, unit),
            false => nothing,
        }
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
}
