//! ProCache: a write request enters the cache if it is small and a coin says so.
//!
//! Source: Baek, Cho, Choi, "Don't make cache too complex: A simple probability-based cache
//! management scheme for SSDs", PLoS ONE 12(3), 2017, Algorithm 1, sections 3, 4 and 5.2.
//!
//! State: one generator, nothing per page or address. Order inside a request: overlap is dropped,
//! room is made, pages are admitted ascending ([`Admission::Whole`]). Ties: those of the inner
//! scheme. Cost: O(1) per page.

use crate::registry::Build;
use crate::rng::{SplitMix64, threshold};
use crate::{Access, Admission, Column, Env, Expr, Notes, Request, Scheme, View, forward};
use destage_types::{Lpn, Op, Slot};

/// What is a hit, and so written to the cache without a test (PC-2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HitRule {
    /// All pages of the request are cached.
    #[default]
    All,
    /// One page of it is; the whole request goes to the cache.
    Any,
    /// Every page is a request of its own; the size test is on the whole request.
    Page,
}

/// Parameters of [`ProCache`].
#[derive(Clone, PartialEq, Debug)]
pub struct ProCacheParams {
    /// Probability of admission, 0 < p <= 1.
    pub p: f64,
    /// Cut-off size in bytes.
    pub c: u64,
    /// Is a request of exactly `c` bytes cold? `cmp=ge`, Algorithm 1 as printed (PC-1).
    pub cold_at_c: bool,
    /// Probability per size class, in place of `p` and `c` (PC-3): class i holds sizes of
    /// 2^(i-1) + 1 to 2^i units.
    pub classes: Option<Vec<f64>>,
    /// Unit of the size classes in bytes.
    pub size_unit: u64,
    /// PC-2.
    pub hit_rule: HitRule,
    /// Does a read hit count as a use?
    pub read_touch: bool,
    /// Admit whatever is eligible until the cache has been full once (PC-5,
    /// `p-schedule=occupancy`).
    pub fill_first: bool,
    /// Seed of the generator.
    pub seed: u64,
}

impl Default for ProCacheParams {
    fn default() -> ProCacheParams {
        ProCacheParams {
            p: 0.1,
            c: 8 << 10,
            cold_at_c: false,
            classes: None,
            size_unit: 1 << 10,
            hit_rule: HitRule::All,
            read_touch: true,
            fill_first: false,
            seed: 1,
        }
    }
}

impl ProCacheParams {
    /// As the layer `expr` says, for a cache as `env` says.
    pub fn from_expr(expr: &Expr, env: &Env) -> ProCacheParams {
        ProCacheParams {
            p: expr.real("p"),
            c: expr.size_bytes("c", env.page),
            cold_at_c: expr.word("cmp") == "ge",
            classes: expr.vector("pv").map(<[f64]>::to_vec),
            size_unit: expr.size_bytes("size-unit", env.page),
            hit_rule: match expr.word("hit-rule") {
                "any" => HitRule::Any,
                "page" => HitRule::Page,
                _ => HitRule::All,
            },
            read_touch: expr.flag("read-touch"),
            fill_first: expr.word("p-schedule") == "occupancy",
            seed: match expr.is_given("seed") {
                true => expr.uint("seed"),
                false => env.seed,
            },
        }
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
}

/// The admission layer.
#[derive(Clone, Debug)]
pub struct ProCache<S> {
    inner: S,
    /// Probabilities as thresholds on 53 bits: one, or one per size class.
    thresholds: Vec<u64>,
    /// Cut-off in bytes; `None` with size classes.
    cutoff: Option<u64>,
    cold_at_c: bool,
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
    /// Around `inner`.
    pub fn new(params: &ProCacheParams, inner: S) -> ProCache<S> {
        let thresholds = match &params.classes {
            Some(classes) => classes.iter().map(|&p| threshold(p)).collect(),
            None => vec![threshold(params.p)],
        };
        ProCache {
            inner,
            thresholds,
            cutoff: params.classes.is_none().then_some(params.c),
            cold_at_c: params.cold_at_c,
            size_unit: params.size_unit.max(1),
            hit_rule: params.hit_rule,
            read_touch: params.read_touch,
            filling: params.fill_first,
            uniform: Uniform {
                rng: SplitMix64::new(params.seed),
                #[cfg(feature = "conformance")]
                draws: None,
            },
            request_bytes: 0,
            stats: Stats::default(),
            notes: Notes::default(),
        }
    }

    /// Threshold of a request of `bytes`; `None` if it is cold by size.
    fn threshold(&self, bytes: u64) -> Option<u64> {
        let eligible = match self.cutoff {
            Some(c) if self.cold_at_c => (bytes < c).then(|| self.thresholds[0]),
            Some(c) => (bytes <= c).then(|| self.thresholds[0]),
            None => self.thresholds.get(self.class(bytes)).copied(),
        };
        match self.filling {
            true => eligible.map(|_| 1 << 53),
            false => eligible,
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
        let (stat, word) = match hot {
            true => (&mut self.stats.hot, "hot(r=@)->cache"),
            false => (&mut self.stats.cold, "cold(r=@)->NAND"),
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
        let inner = expr.inner().expect("every wrapper has an inner scheme");
        let params = ProCacheParams::from_expr(expr, env);
        #[allow(unused_mut, reason = "changed only for the conformance tests")]
        let mut scheme = ProCache::new(&params, S::build(inner, env));
        #[cfg(feature = "conformance")]
        {
            scheme.uniform.draws = env.draws.clone().map(Vec::into_iter);
        }
        scheme
    }
}

impl<S: Scheme> Scheme for ProCache<S> {
    forward!(inner: look_ahead ghosts rename_plan tracks_updates rename request request_done full expect foresee
        remove cleaned forget size victim candidates next_group flush_candidates background
        cancels meta_bytes list_pages);

    fn admit_request(&mut self, r: &Request, v: &View) -> Admission {
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
        let fits = r.pages as usize <= v.frames.capacity();
        match self.threshold(r.bytes).filter(|_| fits) {
            None => {
                self.note_cold_size();
                Admission::Bypass
            }
            // What is admitted here may still go past the cache one layer further in.
            Some(threshold) if self.is_hot(threshold) => match self.inner.admit_request(r, v) {
                Admission::Bypass => Admission::Bypass,
                Admission::Whole | Admission::PerPage => Admission::Whole,
            },
            Some(_) => Admission::Bypass,
        }
    }

    fn admit_page(&mut self, a: &Access, v: &View) -> bool {
        if self.hit_rule != HitRule::Page {
            return self.inner.admit_page(a, v);
        }
        if v.slot_of(a.lpn).is_some() {
            self.note_update();
            return self.inner.admit_page(a, v);
        }
        match self.threshold(self.request_bytes) {
            None => {
                self.note_cold_size();
                false
            }
            Some(threshold) => self.is_hot(threshold) && self.inner.admit_page(a, v),
        }
    }

    fn insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.filling &= v.frames.used() < v.frames.capacity();
        self.inner.insert(slot, a, v);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, a: &Access, v: &View) {
        if a.op != Op::Read || self.read_touch {
            self.inner.touch(slot, a, v);
        }
    }

    fn stats(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("updates", self.stats.updates);
        f("admitted", self.stats.hot);
        f("refused_by_draw", self.stats.cold);
        f("refused_by_size", self.stats.cold_size);
        self.inner.stats(f);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        self.inner.state(v, out);
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<(Column, String)>) {
        self.notes.take(out);
        self.inner.take_notes(out);
    }
}

#[cfg(test)]
#[path = "procache_tests.rs"]
mod tests;
