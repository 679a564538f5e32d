//! Which pages are written back next on idle channels and chips.

use super::SlowCache;
use crate::reference::ahead::Ahead;
use crate::reference::background::WriteBack;
use crate::reference::co_active::Quota;
use crate::reference::scheme::Group;

impl SlowCache {
    /// The next page to write back on `channel`, or the next group, with its number if its pages go
    /// to one plane.
    pub(super) fn choose(&mut self, back: &WriteBack, channel: usize) -> Group {
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
                .next_victims(None, store)
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
    fn next_group_on(&mut self, back: &WriteBack, channel: usize) -> Group {
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

    /// What `idle-clean` cleans next on `channel`, as `choose` says it of other layers.
    fn choose_ahead(&mut self, back: &WriteBack, channel: usize) -> Option<Group> {
        let mut ahead = self.ahead.take()?;
        let found = self.find_ahead(&ahead, back, channel);
        ahead.name(&found.0);
        self.ahead = Some(ahead);
        Some(found)
    }

    fn find_ahead(&mut self, ahead: &Ahead, back: &WriteBack, channel: usize) -> Group {
        let nothing = (Vec::new(), None);
        let frames = self.store.frames.clone();
        let dirty: Vec<u64> = frames
            .keys()
            .copied()
            .filter(|&x| self.store.dirty(x))
            .collect();
        if ahead.allows(dirty.len()) {
            return nothing;
        }
        let outstanding = back.outstanding(channel);
        let scheme = self.scheme.as_ref().expect("a cache has a scheme");
        if scheme.next_group(&self.store).is_some() {
            let (pages, unit) = match outstanding {
                0 => self.next_group_on(back, channel),
                _ => nothing.clone(),
            };
            return match pages.iter().all(|&x| ahead.is_old(x)) {
                true => (pages, unit),
                false => nothing,
            };
        }
        let chips: Vec<usize> = dirty.iter().map(|&x| self.store.chip(x)).collect();
        let device = self
            .store
            .flash
            .device()
            .expect("idle channels are a device's");
        let mut best: Option<u64> = None;
        for (&lpn, &chip) in dirty.iter().zip(&chips) {
            let possible = match device.is_dynamic() {
                true => outstanding < device.chips_of_channel(),
                false => device.channel(lpn) == channel && device.is_chip_idle(chip),
            };
            let ready = possible && !back.is_busy(lpn) && ahead.is_old(lpn);
            if ready && best.is_none_or(|b| ahead.last_access(lpn) < ahead.last_access(b)) {
                best = Some(lpn);
            }
        }
        (best.into_iter().collect(), None)
    }

    /// The first of `chips` that is idle and has a page to write back, and that page.
    pub(super) fn choose_by_chip(
        &mut self,
        quota: &Quota,
        chips: &[usize],
        busy: &dyn Fn(u64) -> bool,
    ) -> Option<(usize, u64)> {
        let device = self.store.flash.device();
        let dynamic = device.as_ref().is_some_and(|d| d.is_dynamic());
        let idle = |chip: &usize| device.as_ref().is_none_or(|d| d.is_chip_idle(*chip));
        let chips: Vec<usize> = chips.iter().copied().filter(idle).collect();
        let scheme = self.scheme.as_ref()?;
        let page = |chip: usize| {
            let of = (!dynamic).then_some(chip);
            Some((chip, scheme.idle_page(of, busy, &self.store)?))
        };
        let chips = chips.into_iter().filter(|&chip| quota.allows(chip));
        chips.filter_map(page).next()
    }
}
