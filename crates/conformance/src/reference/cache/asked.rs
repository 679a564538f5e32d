//! How time passes, and layers that are asked for write-backs on other occasions than idle channels: after
//! each page, when a program has ended, at a time they name. Those of [`layers`](crate::timed::layers).

use super::SlowCache;
use crate::reference::background::Flight;
use crate::reference::occasions::Choice;

impl SlowCache {
    /// Everything due at or before `until` happens, in time order, each instant followed by
    /// background issue.
    pub fn pass_time(&mut self, until: u64) {
        loop {
            let device = self.store.flash.device();
            let event = device.and_then(|d| d.next_instant(until));
            let ask = self.next_ask().filter(|&at| at <= until);
            let Some(at) = event.into_iter().chain(ask).min() else {
                break;
            };
            self.store.now = at;
            self.store.flash.advance(at);
            if let Some(device) = self.store.flash.device() {
                device.advance_to(at);
            }
            // Events of the device at an instant come first.
            if event != Some(at) {
                self.ask_in_time();
            }
            self.issue();
        }
        self.store.now = until;
        self.store.flash.advance(until);
        if let Some(device) = self.store.flash.device() {
            device.advance_to(until);
        }
        self.drop_translations();
    }

    /// All work ends.
    pub fn drain(&mut self) {
        while let Some(at) = (self.store.flash.device()).and_then(|d| d.next_instant(u64::MAX)) {
            self.pass_time(at);
        }
    }

    /// When a layer is asked because of the time.
    fn next_ask(&self) -> Option<u64> {
        let asked = self.background.as_ref()?.asked.as_ref()?;
        match &asked.choice {
            Choice::Age(age, since) => since.values().min().map(|first| first + age),
            _ => asked.next,
        }
    }

    /// Page `lpn` came in or was written.
    pub(super) fn ask_about_page(&mut self, lpn: u64) {
        let (now, dirty) = (self.store.now, self.store.dirty(lpn));
        let asked = self.background.as_mut().and_then(|b| b.asked.as_mut());
        match asked.map(|asked| &mut asked.choice) {
            Some(Choice::Age(_, since)) if dirty => _ = since.entry(lpn).or_insert(now),
            Some(Choice::Drain(_)) => _ = self.drain_victims(),
            _ => {}
        }
    }

    /// Programs ended. Was anything handed over?
    pub(super) fn ask_after_programs(&mut self) -> bool {
        let device = self.store.flash.device();
        let ended = device.is_some_and(|device| std::mem::take(&mut device.program_ended));
        ended && self.drain_victims()
    }

    fn drain_victims(&mut self) -> bool {
        let mut any = false;
        loop {
            let Some(back) = &self.background else {
                return any;
            };
            let depth = match back.asked.as_ref().map(|asked| &asked.choice) {
                Some(Choice::Drain(depth)) => *depth,
                _ => return any,
            };
            let first = self.first_dirty().filter(|_| back.flights.len() < depth);
            let Some(lpn) = first else {
                return any;
            };
            self.write_back(lpn);
            any = true;
        }
    }

    fn first_dirty(&self) -> Option<u64> {
        let order = self.scheme.as_ref()?.next_victims(None, &self.store);
        order.into_iter().find(|&lpn| self.store.dirty(lpn))
    }

    /// The time has come.
    fn ask_in_time(&mut self) {
        let now = self.store.now;
        let asked = self.background.as_mut().and_then(|b| b.asked.as_mut());
        let Some(asked) = asked else { return };
        let pages: Vec<u64> = match &mut asked.choice {
            Choice::Drain(_) => Vec::new(),
            Choice::Age(age, since) => {
                let mut due: Vec<(u64, u64)> = since.iter().map(|(&lpn, &t)| (t, lpn)).collect();
                due.retain(|&(time, _)| time + *age <= now);
                due.sort_unstable();
                due.into_iter().map(|(_, lpn)| lpn).collect()
            }
            Choice::Tick(every) => {
                asked.next = Some(now + *every);
                self.first_dirty().into_iter().collect()
            }
        };
        for lpn in pages {
            let Some(back) = &mut self.background else {
                return;
            };
            let busy = back.is_busy(lpn);
            let Some(asked) = &mut back.asked else { return };
            let waits = busy && !asked.host;
            if let Choice::Age(_, since) = &mut asked.choice {
                since.remove(&lpn);
                since.extend(waits.then_some((lpn, now)));
            }
            if !waits {
                self.write_back(lpn);
            }
        }
    }

    /// Queues the write-back of a dirty page, for no channel in particular.
    fn write_back(&mut self, lpn: u64) {
        let host = self.background.as_ref().and_then(|b| b.asked.as_ref());
        let host = host.is_some_and(|asked| asked.host);
        let read_first = self.rmw && !self.store.whole(lpn) && self.store.flash.mapped(lpn);
        let device = self.store.flash.device();
        let device = device.expect("without a device nobody is asked");
        let token = match host {
            true => device.hand_over(lpn, read_first),
            false => device.write_back(lpn, None, None, read_first),
        };
        if let Some(back) = &mut self.background {
            let older = back.flights.iter_mut().filter(|f| f.page == Some(lpn));
            older.for_each(|flight| flight.page = None);
            back.flights.push(Flight {
                token,
                page: Some(lpn),
                channel: None,
                stale: false,
                host,
            });
        }
        if host {
            self.counts.flash_reads_host += u64::from(read_first);
            let frame = self.store.frames.get_mut(&lpn);
            frame.expect("a dirty page is cached").dirty = 0;
            let (scheme, store) = self.scheme();
            scheme.cleaned(&[lpn], store);
            self.know(|ahead| ahead.cleaned(&[lpn]));
        }
    }
}
