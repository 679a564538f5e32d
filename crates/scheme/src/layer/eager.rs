//! Eager write-back: while a channel is idle and the cache is full, dirty pages that would leave
//! soon are written and stay, clean.
//!
//! Source: Lee, Tyson, Farrens, MICRO 2000, as Prober section 5.2 describes it. The layer names
//! pages; issue, cancellation and pages in flight follow active write-back (Prober section 3.4),
//! so without a device `eager(X)` is X.
//! State: the inner scheme's. Order: the dirty page nearest the LRU end among the `w` that
//! leave next. Cost: at most `w` pages per change of the inner scheme.
//!
//! Where the source is silent:
//! - Two write-backs per channel are outstanding at most, as with active write-back (PR-8).
//! - Over a policy that evicts groups the unit is all dirty pages of the group that leaves next, as
//!   with active write-back; `w` does not matter then.
//! - A partly filled page is written like any other: the rule that it waits concerns the queue of
//!   large sequential writes alone.

use super::awb::{evicts_groups, take_unit};
use super::layer_below;
use super::sweep::DirtyVictims;
use crate::contract::{Build, boxed};
use crate::info::{OF_INNER, PaperSource, ParamInfo, Role, SchemeInfo};
use crate::{
    Boxed, Env, Expr, Layer, Occasion, Scheme, Terms, Unit, View, WriteBack, WriteBackQuery, params,
};

/// `eager`: eager write-back.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "eager",
    summary: "Cleans dirty pages near the LRU end while a channel is idle and the cache is full.",
    source: PaperSource {
        paper: "Lee, Tyson, Farrens, Eager Writeback, MICRO",
        year: Some(2000),
        section: "as described by Prober 5.2",
        certain: true,
    },
    role: Role::Background,
    params: &[EagerParams::PARAMS],
    ties: "nearest the LRU end; channels ascending",
    metadata: OF_INNER,
    needs_order: |_| true,
    without_device: Some(|_| "eager never writes back".to_owned()),
    vectors: &["eager"],
    build: Some(boxed::<Eager<Boxed>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Eager`].
    pub struct EagerParams {
        /// candidates from the LRU end that are looked at
        w: usize = ParamInfo::frames(1, 1, 8, 1).unit("pages").source("MICRO 2000"),
    }
}

/// Outstanding write-backs per channel (PR-8).
const DEPTH: u32 = 2;

/// The background layer around another scheme.
#[derive(Clone, Debug)]
pub struct Eager<S> {
    inner: DirtyVictims<S>,
    /// Does the policy evict groups?
    groups: bool,
}

impl<S: Build> Build for Eager<S> {
    fn build(expr: &Expr, env: &Env) -> Eager<S> {
        let below = layer_below(expr);
        let inner = S::build(below, &env.with_background());
        Eager {
            groups: evicts_groups(below),
            inner: DirtyVictims::new(inner, EagerParams::of(expr, env).w),
        }
    }
}

impl<S: Scheme> Layer for Eager<S> {
    crate::inside!(inner: DirtyVictims<S>);

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        let Occasion::IdleChannel(channel) = query.occasion else {
            return WriteBack::Nothing;
        };
        if query.outstanding >= DEPTH || v.frames.used() + 1 < v.frames.capacity() {
            return WriteBack::Nothing;
        }
        self.inner.refresh(v);
        let may_go = |slot| v.may_go_to(slot, channel) && !(query.busy)(slot);
        match self.inner.first(v, may_go) {
            Some(slot) => unit.slots.push(slot),
            None if self.groups && take_unit(&self.inner, channel, query.busy, v, unit) => {}
            None => return WriteBack::Nothing,
        }
        WriteBack::Unit(Terms::KEEP_CLEAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestCache, boxed, env};
    use destage_types::SectorMask;

    #[test]
    fn only_a_cache_that_is_nearly_full_is_cleaned() {
        let mut cache = boxed("eager(lru,w=2)", 4);
        cache.run("W1-2");
        assert!(cache.write_back(0, 0, &[]).0.is_empty());
        cache.write(3);
        let keep = WriteBack::Unit(Terms::KEEP_CLEAN);
        assert_eq!(cache.write_back(0, 0, &[]), (vec![1], keep));
        assert_eq!(cache.write_back(0, 1, &[1]), (vec![2], keep));
        assert!(cache.write_back(0, 2, &[]).0.is_empty(), "enough is queued");
        assert!(
            cache.write_back(0, 1, &[1, 2]).0.is_empty(),
            "3 is beyond the window"
        );
    }

    #[test]
    fn clean_pages_and_those_of_other_channels_count_in_the_window() {
        let mut cache = TestCache::<Boxed>::with("eager(lru,w=2)", &env(4, 8, 2));
        cache.run("R1 W2-4");
        assert_eq!(cache.write_back(0, 0, &[]).0, [2]);
        assert!(cache.write_back(1, 0, &[]).0.is_empty());
        cache.read(1);
        assert_eq!(cache.write_back(1, 0, &[]).0, [3]);
    }

    #[test]
    fn a_page_that_lost_sectors_changes_the_order() {
        let text = "eager(prober(lru,ldr-skip-partial=true,ssp=4k),w=1)";
        let mut cache = boxed(text, 2);
        cache.run("W1-2");
        assert_eq!(cache.write_back(0, 0, &[]).0, [2]);
        let slot = cache.slot(2).expect("it is cached");
        cache.frames.trim(slot, SectorMask::span(0, 1));
        assert_eq!(cache.write_back(0, 0, &[]).0, [1], "2 is spared");
    }

    #[test]
    fn a_group_is_cleaned_whole() {
        let mut cache = boxed("eager(bplru(block-pages=4,placement=stripe),w=1)", 4);
        cache.run("W1-2 W4");
        let mut pages = cache.write_back(0, 0, &[]).0;
        pages.sort_unstable();
        assert_eq!(pages, [1, 2]);
        assert!(
            cache.write_back(0, 0, &[2]).0.is_empty(),
            "the whole group waits"
        );
    }
}
