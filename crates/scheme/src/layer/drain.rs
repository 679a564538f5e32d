//! Draining: dirty pages are handed over as firmware does, without asking whether a chip is idle.
//!
//! Source: the write path of drives with power-loss capacitors, as measured by Haas et al., SSD-iq, PVLDB
//! 18(11), 2025; high and low marks and the linear threshold are those of Gill and Modha, WOW, FAST 2005, section
//! IV, and of the works cited there. Uncertain: no maker publishes the rule.
//! State: the inner scheme's, and which pages are dirty. Order: the dirty pages of the inner scheme in its order
//! of eviction. Cost: O(log n) per page where the inner scheme has places, else a search of the order.
//!
//! After every page that comes in or is written, and every end of a program, pages are handed over while more
//! than `low` of the frames are dirty and fewer than A units of the host are queued or running. A is `depth` from
//! `high` on, and grows in a line from `low` to there. A page is clean once it is handed over, and stays; written
//! again it is dirty anew. Over `fifo` with both marks 0 this is the plain staging buffer.
//!
//! Over a policy of groups the groups are handed over in the order in which they would leave to let the page of the
//! last access in, page by page, each group where it would be written if it left.

use super::awb::evicts_groups;
use super::layer_below;
use super::sweep::DirtyVictims;
use crate::contract::{Build, WriteBackRules, WriteClass, boxed};
use crate::expr::{Broken, Composition};
use crate::info::{DefaultValue, OF_INNER, PaperSource, ParamInfo, Range, Role, SchemeInfo};
use crate::{
    Access, Boxed, Code, Env, Expr, Layer, Occasion, Scheme, Terms, Unit, View, WriteBack,
    WriteBackQuery, params,
};
use destage_types::Slot;

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
    metadata: OF_INNER,
    cross_check: Some(marks_in_order),
    needs_order: |_| true,
    refuse_composition,
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

/// Only the next group of such a policy would ever be handed over.
fn refuse_composition(c: &Composition) -> Result<(), Broken> {
    let policy = c.policy();
    if policy.role == Role::GroupPolicy && policy.order.is_none() {
        let why = format!("{} lists no order of groups", policy.name);
        return Err((Code::Candidates, why));
    }
    Ok(())
}

/// The layer around another scheme.
#[derive(Clone, Debug)]
pub struct Drain<S> {
    inner: DirtyVictims<S>,
    /// Does the policy evict groups?
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
        Drain {
            inner: DirtyVictims::new(inner, usize::MAX),
            groups: evicts_groups(below),
            last: None,
            low: params.low * frames,
            high: params.high * frames,
            depth: params.depth.unwrap_or(u64::from(env.layout.chips())),
        }
    }
}

impl<S: Scheme> Drain<S> {
    /// Leaves the first page of the next group with a page that may be handed over in `unit`.
    fn take_from_group(&self, busy: &dyn Fn(Slot) -> bool, v: &View, unit: &mut Unit) {
        let Some(last) = &self.last else { return };
        let may_go = |slot: &Slot| v.frames.is_dirty(*slot) && !busy(*slot);
        Scheme::next_units(&self.inner, Some(last), v, unit, &mut |unit| {
            unit.slots.iter().any(may_go)
        });
        let first = unit.slots.iter().copied().filter(may_go);
        let first = first.min_by_key(|&slot| v.frames.lpn(slot));
        unit.slots.clear();
        unit.slots.extend(first);
        unit.pad.clear();
        unit.whole = false;
    }
}

impl<S: Scheme> Layer for Drain<S> {
    crate::inside!(inner: DirtyVictims<S>);

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.last = Some(*a);
        Scheme::on_insert(&mut self.inner, slot, a, v);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.last = Some(*a);
        Scheme::on_hit(&mut self.inner, slot, a, v);
    }

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        if let Occasion::IdleChannel(_) = query.occasion {
            return WriteBack::Nothing;
        }
        if u64::from(query.units) >= self.allowed(v.frames.dirty_pages()) {
            return WriteBack::Nothing;
        }
        self.inner.refresh(v);
        match self.inner.first(v, |slot| !(query.busy)(slot)) {
            Some(slot) => unit.slots.push(slot),
            None if self.groups => self.take_from_group(query.busy, v, unit),
            None => {}
        }
        match unit.slots.is_empty() {
            true => WriteBack::Nothing,
            false => WriteBack::Unit(Terms::KEEP_CLEAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::boxed;
    use crate::{Expr, Occasion};

    #[test]
    fn a_group_is_handed_over_page_by_page_in_the_order_of_groups() {
        let mut cache = boxed("drain(bplru(block-pages=4,placement=stripe))", 8);
        cache.run("W9 W1 W2 W5");
        let mut pages = Vec::new();
        while let [page] = cache.write_back_on(Occasion::ProgramEnd, 0, &pages).0[..] {
            pages.push(page);
        }
        assert_eq!(pages, [9, 1, 2, 5]);
    }

    #[test]
    fn policies_that_show_one_group_are_refused() {
        for policy in ["pud-lru", "bpac", "lb-clock"] {
            let error = Expr::parse(&format!("drain({policy})")).expect_err(policy);
            assert!(error.to_string().contains("no order of groups"), "{error}");
        }
        assert!(Expr::parse("drain(prober(req-block))").is_ok());
    }
}
