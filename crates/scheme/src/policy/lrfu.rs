//! LRFU: every access counts, and fades exponentially; the page with the smallest sum leaves first.
//!
//! Source: Lee et al., SIGMETRICS 1999 and IEEE TOC 2001. An access counts (1/2)^(lambda d) once d page
//! accesses came after it. State: the sum at the last access and its time, 28 B per page. Ties: the older
//! last access leaves. Cost: O(log C).
//!
//! Sums fade alike, so pages are compared by log2(sum) + lambda * last access, which does not underflow;
//! the functions are those of a library, so that every machine gives the same order.

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, Range, SchemeInfo};
use crate::ranking::Ranking;
use crate::{
    Access, Env, Expr, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason, View, params,
};
use destage_types::Slot;
use std::cmp::Ordering;

/// Bytes of a page's node: the sum and a time beside the links.
const NODE_BYTES: u64 = PAGE_NODE_BYTES + 16;

/// `lrfu`: combined recency and frequency.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lrfu",
    summary: "Evicts the page with the smallest sum of exponentially fading references.",
    source: PaperSource {
        paper: "Lee et al., LRFU, SIGMETRICS 1999 and IEEE TOC",
        year: Some(2001),
        section: "",
        certain: true,
    },
    params: &[LrfuParams::PARAMS],
    ties: "oldest last access",
    metadata: |_, _| Some(MetadataBound::nodes(NODE_BYTES)),
    vectors: &["lrfu"],
    build: Some(boxed::<Pages<Lrfu>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Lrfu`].
    pub struct LrfuParams {
        /// decay: 0 counts references (LFU), 1 is LRU
        lambda: f64 = ParamInfo::real(Range::UNIT, 0.001).unit("per access").source("paper"),
    }
}

/// The rank of a page.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Worth {
    /// log2(sum) + lambda * last access.
    value: f64,
    last: u64,
}

impl Eq for Worth {}

impl Ord for Worth {
    fn cmp(&self, other: &Worth) -> Ordering {
        let by_value = self.value.total_cmp(&other.value);
        by_value.then(self.last.cmp(&other.last))
    }
}

impl PartialOrd for Worth {
    fn partial_cmp(&self, other: &Worth) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Least recently and frequently used.
#[derive(Clone, Debug)]
pub struct Lrfu {
    pages: Ranking<Worth>,
    /// Sum of the page in each slot at its last access.
    sum: Vec<f64>,
    lambda: f64,
}

impl Lrfu {
    /// The rest of `sum` after so many page accesses.
    fn faded(&self, sum: f64, accesses: u64) -> f64 {
        sum * libm::exp2(-self.lambda * accesses as f64)
    }

    fn accessed(&mut self, slot: Slot, a: &Access, sum: f64) -> Worth {
        self.sum[slot.index()] = sum;
        Worth {
            value: libm::log2(sum) + self.lambda * a.seq as f64,
            last: a.seq,
        }
    }
}

impl Policy for Lrfu {
    fn build(expr: &Expr, env: &Env) -> Lrfu {
        let slots = env.slots as usize;
        Lrfu {
            pages: Ranking::new(slots),
            sum: vec![0.0; slots],
            lambda: LrfuParams::of(expr, env).lambda,
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let worth = self.accessed(slot, a, 1.0);
        self.pages.insert(slot.0, worth);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        let since = a.seq - self.pages.key(slot.0).last;
        let sum = 1.0 + self.faded(self.sum[slot.index()], since);
        let worth = self.accessed(slot, a, sum);
        self.pages.set(slot.0, worth);
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.pages.remove(slot.0);
    }

    /// The next one alone.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        self.pages.first().map(Slot)
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * NODE_BYTES
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        let mut pages: Vec<Slot> = self.pages.nodes().map(Slot).collect();
        v.frames.sort_by_lpn(&mut pages);
        out.add("pages", pages);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        crate::state::by_page(out, v, self.pages.nodes().map(Slot), |slot| {
            let since = v.seq - self.pages.key(slot.0).last;
            format!("{:.4}", self.faded(self.sum[slot.index()], since))
        });
    }
}
