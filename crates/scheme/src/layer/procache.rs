//! ProCache: a write request enters the cache if it is small and a coin says so.
//!
//! Source: Baek, Cho, Choi, "Don't make cache too complex: A simple probability-based cache
//! management scheme for SSDs", PLoS ONE 12(3), 2017, Algorithm 1, sections 3, 4 and 5.2.
//!
//! State: one generator, nothing per page or address. Order inside a request: overlap is dropped,
//! room is made, pages are admitted ascending ([`Admission::Whole`]). Ties: those of the inner
//! scheme. Cost: O(1) per page.

use super::layer_below;
use crate::contract::{Build, boxed};
use crate::info::{
    MetadataContext, PaperSource, ParamInfo, ParamValue, Range, Role, SchemeInfo, Size, Words,
    inner,
};
use crate::rng::{SplitMix64, threshold};
use crate::{
    Access, Admission, Boxed, Column, Env, Expr, Layer, Notes, Request, Scheme, SchemeNotice,
    SchemeStats, View, params, words,
};
use destage_types::{Lpn, Op, Slot};

/// The paper, which brings `refcount` too.
pub(super) const PAPER: &str = "Baek, Cho, Choi, Don't make cache too complex: A simple \
                                probability-based cache management scheme for SSDs, PLoS ONE 12(3)";

/// `procache`: probabilistic admission.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "procache",
    summary: "Admits a small write request with a fixed probability; large ones go to flash.",
    source: PaperSource {
        paper: PAPER,
        year: Some(2017),
        section: "3, 4, Algorithm 1",
        certain: true,
    },
    role: Role::Admission,
    params: &[ProCacheParams::PARAMS],
    ties: "those of the inner scheme",
    write_buffer: true,
    metadata: |e, c| {
        inner(
            e,
            &MetadataContext {
                batches: true,
                ..*c
            },
        )
    },
    vectors: &["procache", "procachegt", "procachev"],
    build: Some(boxed::<ProCache<Boxed>>),
    ..SchemeInfo::BASE
};

words! {
    /// Which requests are cold by their size (PC-1).
    pub enum SizeCmp {
        /// Those greater than `c`.
        Gt = "gt",
        /// Those of at least `c`: Algorithm 1 as printed.
        Ge = "ge",
    }
}

words! {
    /// The rule for a hit, which is written to the cache without a test (PC-2).
    pub enum HitRule {
        /// All pages of the request are cached.
        All = "all",
        /// One page of it is; the whole request goes to the cache.
        Any = "any",
        /// Every page is a request of its own; the size test is on the whole request.
        Page = "page",
    }
}

words! {
    /// How the probability changes during a run (PC-5).
    pub enum Schedule {
        /// Never.
        Constant = "constant",
        /// It is 1 until the cache has been full once.
        Occupancy = "occupancy",
    }
}

/// Seed of a layer's generator: its own if one is given, else that of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(pub u64);

impl ParamValue for Seed {
    fn read(e: &Expr, key: &str, env: &Env) -> Seed {
        if e.is_given(key) {
            Seed(e.uint(key))
        } else {
            Seed(env.seed)
        }
    }
}

params! {
    /// Parameters of [`ProCache`].
    pub struct ProCacheParams {
        /// chance that an eligible request is admitted
        p: f64 = ParamInfo::real(Range::UNIT_NOT_ZERO, 0.1).unit("probability").source("5.2"),
        /// cut-off size of a request above which it is cold
        c: Size = ParamInfo::size(8 << 10).unit("bytes").source("5.2"),
        /// a request is cold if its size is greater than c, or at least c
        cmp: SizeCmp = ParamInfo::word(SizeCmp::WORDS).source("PC-1"),
        /// chance per size class (powers of two of size-unit); replaces p and c
        pv: Option<Vec<f64>> = ParamInfo::reals(Range::UNIT)
            .unit("probabilities")
            .source("4.2, PC-3"),
        /// unit of the size classes
        size_unit: Size = ParamInfo::size(1 << 10).unit("bytes").source("5.1"),
        /// a request updates the cache if all or any of its pages are cached, or page by page
        hit_rule: HitRule = ParamInfo::word(HitRule::WORDS).source("PC-2"),
        /// a read hit refreshes recency
        read_touch: bool = ParamInfo::flag(true).source("Alg. 1"),
        /// seed of the generator, one draw per tested request
        seed: Seed = ParamInfo::integer(0, u64::MAX, 1).source("Alg. 1"),
        /// occupancy: everything eligible is admitted until the cache has been full once
        p_schedule: Schedule = ParamInfo::word(Schedule::WORDS).source("4.2, PC-5"),
    }
}

/// Uniform numbers: the generator's, or those a worked example names.
#[derive(Clone, Debug)]
struct Uniform {
    rng: SplitMix64,
    #[cfg(feature = "conformance")]
    draws: Option<std::vec::IntoIter<f64>>,
}

/// One uniform number r in [0, 1).
#[derive(Clone, Copy)]
struct Draw {
    r: f64,
    /// r * 2^53.
    bits: u64,
}

impl Uniform {
    fn next(&mut self) -> Draw {
        #[cfg(feature = "conformance")]
        if let Some(draws) = &mut self.draws {
            let r = draws.next().expect("a worked example names all its draws");
            // Rounded up like the probabilities, so that equal numbers stay equal.
            return Draw {
                r,
                bits: threshold(r),
            };
        }
        let bits = self.rng.next_53();
        let r = bits as f64 * (1.0 / (1u64 << 53) as f64);
        Draw { r, bits }
    }
}

/// Counters for `scheme_stats`.
#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    updates: u64,
    hot: u64,
    cold: u64,
    cold_size: u64,
    /// Write requests that are not cold by size, hit or not.
    eligible: u64,
}

/// The admission layer.
#[derive(Clone, Debug)]
pub struct ProCache<S> {
    inner: S,
    /// Probabilities as thresholds on 53 bits: one, or one per size class.
    thresholds: Vec<u64>,
    /// Cut-off in bytes; `None` with size classes.
    cutoff: Option<u64>,
    cmp: SizeCmp,
    size_unit: u64,
    hit_rule: HitRule,
    read_touch: bool,
    /// Still filling the cache (PC-5)?
    filling: bool,
    uniform: Uniform,
    /// Size of the current request, for the tests of its pages (`hit-rule=page`).
    request_bytes: u64,
    stats: Stats,
    notes: Notes,
}

impl<S: Scheme> ProCache<S> {
    /// Threshold of a request of `bytes`; `None` if it is cold by size.
    fn threshold(&self, bytes: u64) -> Option<u64> {
        let eligible = match (self.cutoff, self.cmp) {
            (Some(c), SizeCmp::Ge) => (bytes < c).then(|| self.thresholds[0]),
            (Some(c), SizeCmp::Gt) => (bytes <= c).then(|| self.thresholds[0]),
            // Sizes beyond the last class are cold.
            (None, _) => self.thresholds.get(self.class(bytes)).copied(),
        };
        if self.filling {
            eligible.map(|_| 1 << 53)
        } else {
            eligible
        }
    }

    /// ceil(log2(size in units, at least 1)) (PC-3).
    fn class(&self, bytes: u64) -> usize {
        let units = bytes.div_ceil(self.size_unit).max(1);
        (u64::BITS - (units - 1).leading_zeros()) as usize
    }

    /// Tosses the coin: one draw.
    fn is_hot(&mut self, threshold: u64) -> bool {
        let draw = self.uniform.next();
        let hot = draw.bits < threshold;
        let (stat, word) = if hot {
            (&mut self.stats.hot, "hot(r=@)->cache")
        } else {
            (&mut self.stats.cold, "cold(r=@)->NAND")
        };
        *stat += 1;
        let text = || word.replace('@', &format!("{:?}", draw.r));
        self.notes.add(Column::Result, text);
        hot
    }

    fn note_update(&mut self) {
        self.stats.updates += 1;
        self.notes.add(Column::Result, || "update".to_owned());
    }

    fn note_cold_size(&mut self) {
        self.stats.cold_size += 1;
        self.notes
            .add(Column::Result, || "cold(size)->NAND".to_owned());
    }
}

/// Every page of the request in the order of the request.
fn pages(r: &Request, v: &View) -> impl Iterator<Item = Lpn> {
    let page = v.frames.page();
    r.extents.iter().flat_map(move |e| {
        let (first, last) = (page.page_of(e.start_sector), page.page_of(e.end() - 1));
        (first.0..=last.0).map(Lpn)
    })
}

impl<S: Build> Build for ProCache<S> {
    fn build(expr: &Expr, env: &Env) -> ProCache<S> {
        let params = ProCacheParams::of(expr, env);
        let thresholds = match &params.pv {
            Some(classes) => classes.iter().map(|&p| threshold(p)).collect(),
            None => vec![threshold(params.p)],
        };
        ProCache {
            inner: S::build(layer_below(expr), env),
            thresholds,
            cutoff: params.pv.is_none().then(|| params.c.bytes(env.page)),
            cmp: params.cmp,
            size_unit: params.size_unit.bytes(env.page).max(1),
            hit_rule: params.hit_rule,
            read_touch: params.read_touch,
            filling: params.p_schedule == Schedule::Occupancy,
            uniform: Uniform {
                rng: SplitMix64::new(params.seed.0),
                #[cfg(feature = "conformance")]
                draws: env.draws.clone().map(Vec::into_iter),
            },
            request_bytes: 0,
            stats: Stats::default(),
            notes: Notes::default(),
        }
    }
}

impl<S: Scheme> Layer for ProCache<S> {
    crate::inside!(inner: S);

    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        let inside = self.inner.on_request(r, v);
        if r.op == Op::Read {
            return inside;
        }
        self.stats.eligible += u64::from(self.threshold(r.bytes).is_some());
        let hit = match self.hit_rule {
            HitRule::All => pages(r, v).all(|l| v.slot_of(l).is_some()),
            HitRule::Any => pages(r, v).any(|l| v.slot_of(l).is_some()),
            HitRule::Page => {
                self.request_bytes = r.bytes;
                return Admission::PerPage;
            }
        };
        if hit {
            self.note_update();
            return Admission::PerPage;
        }
        // An admitted request comes in as a whole, and only if there are as many frames.
        let fits = r.pages <= v.frames.capacity() as u64;
        match self.threshold(r.bytes).filter(|_| fits) {
            None => {
                self.note_cold_size();
                Admission::Bypass
            }
            // An admitted request may still go past the cache one layer further in.
            Some(threshold) if self.is_hot(threshold) => match inside {
                Admission::Bypass => Admission::Bypass,
                Admission::Whole | Admission::PerPage => Admission::Whole,
            },
            Some(_) => Admission::Bypass,
        }
    }

    fn admit(&mut self, a: &Access, v: &View) -> bool {
        if self.hit_rule != HitRule::Page || a.op == Op::Read {
            return self.inner.admit(a, v);
        }
        if v.slot_of(a.lpn).is_some() {
            self.note_update();
            return self.inner.admit(a, v);
        }
        match self.threshold(self.request_bytes) {
            None => {
                self.note_cold_size();
                false
            }
            Some(threshold) => self.is_hot(threshold) && self.inner.admit(a, v),
        }
    }

    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        if let SchemeNotice::RequestResumed(r) = notice {
            self.request_bytes = r.bytes;
        }
        self.inner.on_notice(notice, v);
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.filling &= v.frames.used() < v.frames.capacity();
        self.inner.on_insert(slot, a, v);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        if a.op != Op::Read || self.read_touch {
            self.inner.on_hit(slot, a, v);
        }
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.counter("updates", self.stats.updates);
        out.counter("admitted", self.stats.hot);
        out.counter("refused_by_draw", self.stats.cold);
        out.counter("refused_by_size", self.stats.cold_size);
        out.counter("eligible", self.stats.eligible);
        self.inner.stats(out);
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<crate::Note>) {
        // A classifier inside speaks before the verdict.
        self.inner.take_notes(out);
        self.notes.take(out);
    }
}

#[cfg(test)]
mod tests;
