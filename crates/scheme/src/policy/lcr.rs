//! LCR: of the pages nearest to the LRU end the first one whose chip is not overloaded leaves, so that
//! the pages of overloaded chips stay.
//!
//! Source: Liu et al., NAS 2018; the body of the paper was not at hand, so this is a reconstruction. The
//! load of a chip is CQCT of ECR ([`Cqct`]), and a chip is overloaded above the mean of all chips.
//! State: an LRU list, 12 B per page; the pages of the window are also in lists by chip, which replace
//! a scan of the window. Ties: nearest to the LRU end. Cost: O(n_chips) an eviction, O(1) otherwise; a
//! rename to another chip looks through the window's pages of that chip. Without a device it is LRU.

use super::window::LruWindow;
use crate::contract::boxed;
use crate::cqct::Cqct;
use crate::info::{PaperSource, ParamInfo, SchemeInfo};
use crate::lists::Lists;
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, View, params};
use destage_types::{Lpn, Slot};

/// `lcr`: load-aware victim in an LRU window.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lcr",
    summary: "Among the last pages of an LRU list, the first on a chip of at most mean load.",
    source: PaperSource {
        paper: "Liu et al., LCR, NAS",
        year: Some(2018),
        section: "abstract",
        certain: false,
    },
    params: &[LcrParams::PARAMS, Cqct::PARAMS],
    ties: "nearest the LRU end",
    chip_aware: true,
    without_device: Some(|_| "lcr acts as lru".to_owned()),
    vectors: &["lcr"],
    build: Some(boxed::<Pages<Lcr>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Lcr`].
    pub struct LcrParams {
        /// window from the LRU end
        w: usize = ParamInfo::frames(1, 1, 4, 1).unit("pages").source("LC-1"),
    }
}

/// Load-aware LRU.
#[derive(Clone, Debug)]
pub struct Lcr {
    cqct: Cqct,
    pages: LruWindow,
    /// Pages of the window by chip.
    by_chip: Lists,
    /// Load of each chip at the last eviction.
    loads: Vec<u64>,
}

impl Lcr {
    fn leave(&mut self, slot: Slot) {
        if self.pages.holds(slot) {
            self.by_chip.unlink(slot.0);
        }
        self.pages.remove(slot);
    }

    fn fill_window(&mut self, v: &View) {
        while let Some(slot) = self.pages.take_in() {
            self.by_chip.push_head(v.chip(slot).index(), slot.0);
        }
    }
}

impl Policy for Lcr {
    fn build(expr: &Expr, env: &Env) -> Lcr {
        let (slots, chips) = (env.slots as usize, env.layout.chips() as usize);
        Lcr {
            cqct: Cqct::of(expr, env),
            pages: LruWindow::new(slots, LcrParams::of(expr, env).w),
            by_chip: Lists::new(slots, chips),
            loads: vec![0; chips],
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, _a: &Access, v: &View) {
        self.pages.push(slot);
        self.fill_window(v);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, v: &View) {
        self.leave(slot);
        self.pages.push(slot);
        self.fill_window(v);
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, v: &View) {
        self.leave(slot);
        self.fill_window(v);
    }

    /// The page keeps its place in the list (D11).
    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) {
        let Some(slot) = slot.filter(|&slot| self.pages.holds(slot)) else {
            return;
        };
        let chip = v.layout.chip(to).index();
        if chip != self.by_chip.list_of(slot.0) {
            self.by_chip.unlink(slot.0);
            self.pages.place(&mut self.by_chip, chip, slot);
        }
    }

    fn victim(&mut self, _a: &Access, v: &View) -> Option<Slot> {
        let (loads, mut sum) = (&mut self.loads, 0);
        self.cqct.each(loads.len(), v, |chip, load| {
            loads[chip] = load.0;
            sum += u128::from(load.0);
        });
        let chips = loads.len() as u128;
        let at_most_mean = loads.iter().map(|&load| u128::from(load) * chips <= sum);
        let oldest = at_most_mean.enumerate().filter(|chip| chip.1);
        let oldest = oldest.filter_map(|(chip, _)| self.by_chip.tail(chip).map(Slot));
        let first = oldest.min_by_key(|&slot| self.pages.arrival(slot));
        first.or_else(|| self.pages.oldest())
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        out.add("pages", self.pages.newest_first());
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let mut loads: Vec<u64> = Vec::new();
        self.cqct
            .each(self.loads.len(), v, |_, load| loads.push(load.0));
        crate::state::pages(out, v, self.pages.newest_first());
        out.push_str(&format!(" load={loads:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ALL, TestCache, env};
    use destage_types::Nanos;

    type Cache = TestCache<Pages<Lcr>>;

    fn cache(text: &str, capacity: u32, chips: u32) -> Cache {
        Cache::with(text, &env(capacity, 8, chips))
    }

    #[test]
    fn pages_of_overloaded_chips_stay_unless_the_window_has_no_others() {
        for (w, evicted) in [(1, 0), (2, 0), (3, 1)] {
            let mut cache = cache(&format!("lcr(cqct=oracle,w={w})"), 4, 2);
            cache.run("W0 W2 W1 W3");
            cache.chips.states[0].drain = Nanos(5);
            cache.run("W4");
            assert_eq!(cache.evicted, [evicted], "window of {w}");
        }
    }

    #[test]
    fn a_chip_of_just_the_mean_load_is_not_overloaded() {
        let mut cache = cache("lcr(cqct=oracle,w=3)", 3, 3);
        cache.run("W0-2");
        for (state, drain) in cache.chips.states.iter_mut().zip([2, 3, 4]) {
            state.drain = Nanos(drain);
        }
        cache.run("R1 R0 W6");
        assert_eq!(cache.evicted, [1], "2 is on a chip above the mean");
    }

    #[test]
    fn a_renamed_page_keeps_its_place_on_its_new_chip() {
        let mut cache = cache("lcr(cqct=oracle,w=4)", 4, 2);
        cache.run("W1 W0 W3 W5");
        cache.rename(0, 7);
        assert_eq!(cache.state(), "[5* 3* 7* 1*] load=[0, 0]");
        cache.run("R1 W9 W11");
        assert_eq!(cache.evicted, [7, 3]);
    }

    #[test]
    fn pages_of_the_window_are_in_the_list_of_their_chip() {
        for (seed, capacity, w) in [(1, 4, 1), (2, 9, 4), (3, 20, 40)] {
            let mut cache = cache(&format!("lcr(w={w})"), capacity, 3);
            cache.random(seed, 20_000, ALL, |cache| {
                let (lcr, v) = (cache.scheme.policy(), cache.view());
                lcr.by_chip.validate().expect("lists are whole");
                for slot in cache.frames.used_slots() {
                    let chip = if lcr.pages.holds(slot) {
                        v.chip(slot).index()
                    } else {
                        lcr.by_chip.lists()
                    };
                    assert_eq!(lcr.by_chip.list_of(slot.0), chip);
                }
            });
        }
    }
}
