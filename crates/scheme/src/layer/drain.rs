//! Draining: dirty pages are handed over as firmware does, without asking whether a chip is idle.
//!
//! Source: the write path of drives with power-loss capacitors, as measured by Haas et al., SSD-iq, PVLDB
//! 18(11), 2025; high and low marks and the linear threshold are those of Gill and Modha, WOW, FAST 2005, section
//! IV, and of the works cited there. Uncertain: no maker publishes the rule.
//! State: the inner scheme's, and which pages are dirty. Order: the dirty pages of the inner scheme in its order
//! of eviction; over a policy that lists no order, the page that was not written for the longest time first, 8 B per
//! page more. Cost: over `lru` a search of the order for each 64 pages. Elsewhere a search for each page: of the dirty pages where
//! the inner scheme has places and few are dirty, else of the order, or of the groups. O(1) in the order of writes.
//!
//! After every page that comes in or is written, and every end of a program, pages are handed over while more
//! than `low` of the frames are dirty and fewer than A units of the host are queued or running. A is `depth` from
//! `high` on, and grows in a line from `low` to there. A page is clean once it is handed over, and stays; written
//! again it is dirty anew. Over `fifo` with both marks 0 this is the plain staging buffer.
//!
//! Over a policy of groups the groups are handed over in the order in which they would leave to let the page of the
//! last access in, page by page, each group where it would be written if it left.
//!
//! Which page is written first need not be which page leaves first. In the order of writes the policy inside orders
//! what stays after it was handed over, clean.

use super::awb::evicts_groups;
use super::layer_below;
use super::sweep::{CHECKED, DirtyVictims};
use crate::contract::{Build, WriteBackRules, WriteClass, boxed};
use crate::info::{DefaultValue, PaperSource, ParamInfo, Range, Role, SchemeInfo, inner};
use crate::lists::{ListArray, Lists};
use crate::{
    Access, Boxed, Env, Expr, Layer, Occasion, RemoveReason, Scheme, SchemeNotice, Terms, Unit,
    View, WriteBack, WriteBackQuery, params,
};
use destage_types::{Op, Slot};

/// Bytes of two links of a page in the order of writes.
const LINK_BYTES: u64 = 8;

/// `drain`: what firmware does with a write buffer.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "drain",
    summary: "Hands dirty pages over at once, or between two marks, whatever the chips do.",
    source: PaperSource {
        paper: "Haas, Lee, Bonnet, Leis, SSD-iq, PVLDB 18(11); marks: Gill, Modha, WOW, FAST 2005",
        year: Some(2025),
        section: "measurements; IV",
        certain: false,
    },
    role: Role::Background,
    write_backs: Some(WriteBackRules {
        on_page: true,
        on_program_end: true,
        class: WriteClass::Host,
        ..WriteBackRules::NEVER
    }),
    params: &[DrainParams::PARAMS],
    ties: "none: the inner scheme's order is total",
    metadata: |e, c| match drains_by_writes(layer_below(e)) {
        true => Some(inner(e, c)?.and_per_page(LINK_BYTES)),
        false => inner(e, c),
    },
    cross_check: Some(marks_in_order),
    without_device: Some(|_| "drain never hands a page over".to_owned()),
    build: Some(boxed::<Drain<Boxed>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Drain`].
    pub struct DrainParams {
        /// share of the frames that may stay dirty
        low: f64 = ParamInfo::real(Range::UNIT, 0.0).source("FAST 2005, IV"),
        /// share of dirty frames from which on `depth` units are under way
        high: f64 = ParamInfo::real(Range::UNIT, 0.0).source("FAST 2005, IV"),
        /// units of the host that are queued or running at most; all: as many as dies
        depth: Option<u64> = ParamInfo::count(1, 1).or_word("all").default(DefaultValue::Word("all")).unit("units").source("PVLDB 2025"),
    }
}

fn marks_in_order(expr: &Expr) -> Result<(), String> {
    let env = Env::cache_only(1);
    let DrainParams { low, high, .. } = DrainParams::of(expr, &env);
    if low <= high {
        Ok(())
    } else {
        Err(format!("low={low} is above high={high}"))
    }
}

/// Does the policy of `expr` list no order of its victims?
fn drains_by_writes(expr: &Expr) -> bool {
    expr.policy().scheme().order.is_none()
}

/// Dirty pages, the one written last at the head.
#[derive(Clone, Debug)]
struct Writes {
    pages: ListArray<1>,
}

impl Writes {
    /// A page takes the slot of its ghost, so slots may lie beyond the frames.
    fn wrote(&mut self, slot: Slot) {
        self.pages.reserve(slot.index() + 1);
        self.forget(slot);
        self.pages.push_head(0, slot.0);
    }

    fn forget(&mut self, slot: Slot) {
        if self.pages.knows(slot.0) && self.pages.list_of(slot.0) == 0 {
            self.pages.unlink(slot.0);
        }
    }
}

/// The layer around another scheme.
#[derive(Clone, Debug)]
pub struct Drain<S> {
    inner: DirtyVictims<S>,
    /// The order of the dirty pages where the policy inside lists none.
    writes: Option<Writes>,
    /// Does the policy evict groups, and list them?
    groups: bool,
    /// The last access of a page that is cached: the order of groups depends on it.
    last: Option<Access>,
    /// Dirty pages that may stay, and from which on all `depth` units are used.
    low: f64,
    high: f64,
    depth: u64,
}

impl<S> Drain<S> {
    /// Units that may be under way with so many dirty pages: A of the rule, 0 at or below the low mark.
    fn allowed(&self, dirty: u64) -> u64 {
        let dirty = dirty as f64;
        if dirty <= self.low {
            0
        } else if self.low == self.high || dirty >= self.high {
            self.depth
        } else {
            (self.depth as f64 * (dirty - self.low) / (self.high - self.low)).ceil() as u64
        }
    }
}

impl<S: Build> Build for Drain<S> {
    fn build(expr: &Expr, env: &Env) -> Drain<S> {
        let params = DrainParams::of(expr, env);
        let below = layer_below(expr);
        let inner = S::build(below, &env.with_background());
        let frames = f64::from(env.capacity);
        let writes = drains_by_writes(below).then(|| Writes {
            pages: Lists::array(env.slots as usize),
        });
        Drain {
            inner: DirtyVictims::new(inner, usize::MAX).around(below),
            groups: evicts_groups(below) && writes.is_none(),
            writes,
            last: None,
            low: params.low * frames,
            high: params.high * frames,
            depth: params.depth.unwrap_or(u64::from(env.layout.chips())),
        }
    }
}

impl<S: Scheme> Drain<S> {
    /// Leaves the next page in `unit`, which is empty.
    fn take_next(&mut self, busy: &dyn Fn(Slot) -> bool, v: &View, unit: &mut Unit) {
        if let Some(writes) = &self.writes {
            let mut oldest = writes.pages.from_tail(0).map(Slot);
            let next = oldest.find(|&slot| v.frames.is_dirty(slot) && !busy(slot));
            return unit.slots.extend(next);
        }
        self.inner.refresh(v);
        match self.inner.first(v, |slot| !busy(slot)) {
            Some(slot) => unit.slots.push(slot),
            None if self.groups => self.take_from_group(busy, v, unit),
            None => {}
        }
    }

    /// Leaves the first page of the next group with a page that may be handed over in `unit`.
    fn take_from_group(&self, busy: &dyn Fn(Slot) -> bool, v: &View, unit: &mut Unit) {
        let Some(last) = &self.last else { return };
        let may_go = |slot: &Slot| v.frames.is_dirty(*slot) && !busy(*slot);
        let take_first = |unit: &mut Unit| {
            let first = unit.slots.iter().copied().filter(may_go);
            let first = first.min_by_key(|&slot| v.frames.lpn(slot));
            unit.slots.clear();
            unit.pad.clear();
            unit.whole = false;
            first
        };
        let mut stop = |unit: &Unit| unit.slots.iter().any(may_go);
        Scheme::next_dirty_unit(&self.inner, last, v, unit, &mut stop);
        let first = take_first(unit);
        if cfg!(debug_assertions) && v.frames.used() <= CHECKED {
            Scheme::next_units(&self.inner, Some(last), v, unit, &mut stop);
            assert_eq!(first, take_first(unit), "a group before it is dirty");
        }
        unit.slots.extend(first);
    }
}

impl<S: Scheme> Layer for Drain<S> {
    crate::inside!(inner: DirtyVictims<S>);

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.last = Some(*a);
        if let Some(writes) = self.writes.as_mut().filter(|_| v.frames.is_dirty(slot)) {
            writes.wrote(slot);
        }
        Scheme::on_insert(&mut self.inner, slot, a, v);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.last = Some(*a);
        if let Some(writes) = self.writes.as_mut().filter(|_| a.op == Op::Write) {
            writes.wrote(slot);
        }
        Scheme::on_hit(&mut self.inner, slot, a, v);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        if let Some(writes) = &mut self.writes {
            writes.forget(slot);
        }
        Scheme::on_remove(&mut self.inner, slot, reason, v);
    }

    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        if let (Some(writes), SchemeNotice::Cleaned(slots)) = (&mut self.writes, notice) {
            slots.iter().for_each(|&slot| writes.forget(slot));
        }
        Scheme::on_notice(&mut self.inner, notice, v);
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        let links = self.writes.as_ref().map_or(0, |_| LINK_BYTES);
        Scheme::metadata_bytes(&self.inner, pages) + pages * links
    }

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        if let Occasion::IdleChannel(_) = query.occasion {
            return WriteBack::Nothing;
        }
        if u64::from(query.units) >= self.allowed(v.frames.dirty_pages()) {
            return WriteBack::Nothing;
        }
        self.take_next(query.busy, v, unit);
        match unit.slots.is_empty() {
            true => WriteBack::Nothing,
            false => WriteBack::Unit(Terms::KEEP_CLEAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Occasion;
    use crate::testing::{TestCache, boxed};

    #[test]
    fn a_group_is_handed_over_page_by_page_in_the_order_of_groups() {
        let mut cache = boxed("drain(bplru(block-pages=4,placement=stripe))", 8);
        cache.run("W9 W1 W2 W5");
        assert_eq!(order(&mut cache), [9, 1, 2, 5]);
    }

    fn order(cache: &mut TestCache<crate::Boxed>) -> Vec<u64> {
        let mut pages = Vec::new();
        while let [page] = cache.write_back_on(Occasion::ProgramEnd, 0, &pages).0[..] {
            pages.push(page);
        }
        pages
    }

    /// Worked by hand: reads and the order of the policy inside change nothing; a page written again comes last.
    #[test]
    fn without_an_order_pages_are_handed_over_in_the_order_of_writes() {
        for policy in [
            "2q",
            "sieve",
            "s3-fifo",
            "mq",
            "frd",
            "lru-2",
            "pud-lru(block-pages=4)",
        ] {
            let mut cache = boxed(&format!("drain({policy})"), 8);
            cache.run("W9 W1 W2 W5 W1 R9 R2");
            assert_eq!(order(&mut cache), [9, 2, 5, 1], "{policy}");
            cache.run("T2 W9 W7");
            assert_eq!(order(&mut cache), [5, 1, 9, 7], "{policy}");
        }
    }
}
