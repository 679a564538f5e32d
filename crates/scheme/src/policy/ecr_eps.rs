//! ecr-eps: ECR without Clean-LRU; clean and dirty pages share their chip's list.
//!
//! Source: Chen, Pan, Li, Xu, CCPE, section 4.2 (ECR with an epsilon superscript).
//! The victim is the LRU page of the chip with the smallest CQCT among those with any page.
//! State: one list a chip, newest first; 13 B a page, 8 B a list. Ties: as ECR.
//! Cost: O(n_chips) an eviction, O(1) otherwise. With all CQCT 0 it is LRU.

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, SchemeInfo};
use crate::layer::Recency;
use crate::layer::ecr::{self, ChipChoice, HEAD_BYTES, Heads};
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, SchemeStats, Unit, View};
use destage_types::{Lpn, Slot};

/// `ecr-eps`: one list per chip, clean and dirty together.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "ecr-eps",
    summary: "ECR without the clean list: the LRU page of the chip whose queue drains first.",
    source: PaperSource {
        section: "4.2 (epsilon variant)",
        ..ecr::INFO.source
    },
    params: ChipChoice::PARAMS,
    ties: "equal queue time: the chip whose LRU page was touched longest ago",
    order: Some("from the page touched longest ago on, as if all queues were empty"),
    // The queues have a say.
    victim_is_known: |_| false,
    chip_aware: true,
    chip_lists: true,
    metadata: |e, c| {
        let nodes = MetadataBound::nodes(e.uint("node-bytes"));
        Some(nodes.and_entries(c.chips, HEAD_BYTES))
    },
    without_device: Some(|_| "ecr-eps acts as lru".to_owned()),
    vectors: &["ecreps"],
    build: Some(boxed::<Pages<EcrEps>>),
    ..SchemeInfo::BASE
};

/// ECR without a list of clean pages.
#[derive(Clone, Debug)]
pub struct EcrEps {
    choice: ChipChoice,
    pages: Recency,
    chips: usize,
    heads: Heads,
    zero_decisions: u64,
}

impl EcrEps {
    fn in_order<'a>(&'a self, idle: bool, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let pages = &self.pages;
        let next = |chip: usize, _: usize, last: Option<Slot>| match last {
            None => pages.oldest(chip),
            Some(last) => pages.newer(last),
        };
        let touched = |slot| pages.stamp(slot);
        self.choice
            .in_order(&self.heads, self.chips, idle, v, next, touched)
    }
}

impl Policy for EcrEps {
    fn build(expr: &Expr, env: &Env) -> EcrEps {
        let chips = env.layout.chips() as usize;
        EcrEps {
            choice: ChipChoice::of(expr, env),
            pages: Recency::new(env.slots as usize, chips),
            chips,
            heads: Heads::default(),
            zero_decisions: 0,
        }
    }

    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) {
        let chip = v.layout.chip(to).index();
        if let Some(slot) = slot
            && chip != self.pages.list_of(slot)
        {
            self.pages.remove(slot);
            self.pages.push(chip, slot);
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.pages.push(v.layout.chip(a.lpn).index(), slot);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.pages.touch(self.pages.list_of(slot), slot);
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.pages.remove(slot);
    }

    #[inline]
    fn victim(&mut self, _a: &Access, v: &View) -> Option<Slot> {
        let pages = &self.pages;
        let (chip, all_zero) = self
            .choice
            .choose(self.chips, v, |chip| pages.oldest_touch(chip));
        self.zero_decisions += u64::from(all_zero);
        chip.and_then(|chip| pages.oldest(chip))
    }

    fn next_victims<'a>(&'a self, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        self.in_order(true, v)
    }

    fn next_units(&self, v: &View, unit: &mut Unit, stop: &mut dyn FnMut(&Unit) -> bool) {
        self.in_order(false, v)
            .any(|slot| unit.stops_at(slot, stop));
    }

    fn place(&self, slot: Slot, _v: &View) -> Option<u64> {
        self.choice.place(self.pages.stamp(slot))
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        self.choice.bytes(pages, self.chips)
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.counter("zero_cqct_decisions", self.zero_decisions);
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        for chip in 0..v.layout.chips() as usize {
            out.add(format!("chip {chip}"), self.pages.newest_first(chip));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        out.push_str("clean[]");
        crate::layer::print_chips(out, v, &self.choice.cqct, |chip, out| {
            crate::state::pages(out, v, self.pages.newest_first(chip));
        });
    }
}
