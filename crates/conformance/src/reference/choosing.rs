//! Which pages are written back next on idle channels and chips.

use super::ahead::Ahead;
use super::background::WriteBack;
use super::co_active::Quota;
use super::flash::SlowChannels;
use super::scheme::{Group, SlowScheme};
use super::store::Store;

/// A question about write-backs, with all that the answer depends on.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub back: &'a WriteBack,
    pub scheme: &'a dyn SlowScheme,
    pub store: &'a Store,
    pub channels: &'a dyn SlowChannels,
    /// Pages that cannot be named now.
    pub busy: &'a dyn Fn(u64) -> bool,
}

impl Question<'_> {
    fn free(&self, lpn: u64) -> bool {
        self.store.dirty(lpn) && !(self.busy)(lpn)
    }

    fn may_go_to(&self, lpn: u64, channel: usize) -> bool {
        self.channels.is_dynamic() || self.channels.channel(lpn) == channel
    }

    /// The next page to write back on `channel`, or the next group, with its number if its pages go
    /// to one plane.
    pub fn choose(&self, channel: usize) -> Group {
        let (back, scheme, store) = (self.back, self.scheme, self.store);
        let nothing = (Vec::new(), None);
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
        let here = |x: u64| store.has(x) && self.may_go_to(x, channel);
        let ready = |(x, _, outdated): &&(u64, u64, bool)| {
            let eligible = *outdated || store.whole(*x) || !back.wait_for_partial;
            eligible && self.free(*x) && here(*x)
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
        if let Some(&first) = order.iter().find(|x| self.free(**x) && here(**x)) {
            return (vec![first], None);
        }
        self.next_group_on(channel)
    }

    /// The dirty pages of the next group, if it is the turn of `channel` and none of them is busy.
    fn next_group_on(&self, channel: usize) -> Group {
        let nothing = (Vec::new(), None);
        let Some((group, unit)) = self.scheme.next_group(self.store) else {
            return nothing;
        };
        let unit = unit.filter(|_| !self.store.flash.spreads_groups());
        let busy = group.iter().any(|&x| (self.busy)(x));
        let Some(&first) = group.iter().min().filter(|_| !busy) else {
            return nothing;
        };
        let mut pages: Vec<u64> = group.iter().copied().filter(|&x| self.free(x)).collect();
        pages.sort_unstable();
        let of_unit = unit.map(|unit| self.channels.channel_of_unit(unit));
        let is_here = match of_unit {
            Some(of_unit) => of_unit == channel,
            None => self.may_go_to(first, channel),
        };
        match is_here {
            true => (pages, unit),
            false => nothing,
        }
    }

    /// The pages that `idle-clean` cleans next on `channel`, as `choose` does for other layers.
    pub fn choose_ahead(&self, ahead: &Ahead, channel: usize) -> Group {
        let nothing = (Vec::new(), None);
        let pages = self.store.frames.keys().copied();
        let dirty: Vec<u64> = pages.filter(|&x| self.store.dirty(x)).collect();
        if ahead.allows(dirty.len()) {
            return nothing;
        }
        let outstanding = self.back.outstanding(channel);
        if self.scheme.next_group(self.store).is_some() {
            let (pages, unit) = match outstanding {
                0 => self.next_group_on(channel),
                _ => nothing.clone(),
            };
            return match pages.iter().all(|&x| ahead.is_old(x)) {
                true => (pages, unit),
                false => nothing,
            };
        }
        let possible = |lpn: u64| match self.channels.is_dynamic() {
            true => outstanding < self.channels.chips_of(channel).len(),
            false => {
                let is_here = self.channels.channel(lpn) == channel;
                is_here && self.channels.is_chip_idle(self.store.chip(lpn))
            }
        };
        let ready = |&x: &u64| possible(x) && !(self.busy)(x) && ahead.is_old(x);
        let best = dirty.into_iter().filter(ready);
        let best = best.min_by_key(|&x| ahead.last_access(x));
        (best.into_iter().collect(), None)
    }
}

/// The first of `chips` that is idle and has a page to write back, and that page. Without channels all chips are idle.
pub(super) fn choose_by_chip(
    quota: &Quota,
    chips: &[usize],
    scheme: &dyn SlowScheme,
    store: &Store,
    busy: &dyn Fn(u64) -> bool,
) -> Option<(usize, u64)> {
    let channels = store.flash.by_channel();
    let dynamic = channels.is_some_and(|c| c.is_dynamic());
    let idle = |&chip: &usize| channels.is_none_or(|c| c.is_chip_idle(chip));
    let page = |chip: usize| {
        let of = (!dynamic).then_some(chip);
        Some((chip, scheme.idle_page(of, busy, store)?))
    };
    let chips = chips.iter().copied().filter(idle);
    let chips = chips.filter(|&chip| quota.allows(chip));
    chips.filter_map(page).next()
}
