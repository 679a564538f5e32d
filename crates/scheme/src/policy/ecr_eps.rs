//! ecr-eps: ECR without Clean-LRU; clean and dirty pages share their chip's list.
//!
//! Source: Chen, Pan, Li, Xu, CCPE, section 4.2 (ECR with an epsilon superscript).
//! The victim is the LRU page of the chip with the smallest CQCT among those with any page.
//! State: one list a chip, newest first; 13 B a page, 8 B a list. Ties: as ECR.
//! Cost: O(n_chips) an eviction, O(1) otherwise. With all CQCT 0 it is LRU.

use crate::layer::{EcrOptions, Recency};
use crate::registry::Build;
use crate::{Access, Env, Expr, Scheme, View, Why};
use destage_types::{Lpn, Slot};

/// ECR without a list of clean pages.
#[derive(Clone, Debug)]
pub struct EcrEps {
    options: EcrOptions,
    pages: Recency,
    chips: usize,
    zero_decisions: u64,
}

impl EcrEps {
    /// For the cache and the chips of `env`.
    pub fn new(options: EcrOptions, env: &Env) -> EcrEps {
        let chips = env.layout.chips() as usize;
        EcrEps {
            options,
            pages: Recency::new(env.slots as usize, chips),
            chips,
            zero_decisions: 0,
        }
    }
}

impl Build for EcrEps {
    fn build(expr: &Expr, env: &Env) -> EcrEps {
        EcrEps::new(EcrOptions::from_expr(expr), env)
    }
}

impl Scheme for EcrEps {
    fn rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        let Some(slot) = slot else { return false };
        let chip = v.layout.chip(to).index();
        if chip != self.pages.list_of(slot) {
            self.pages.remove(slot);
            self.pages.push(chip, slot);
        }
        true
    }

    #[inline]
    fn insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.pages.push(v.layout.chip(a.lpn).index(), slot);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.pages.touch(self.pages.list_of(slot), slot);
    }

    #[inline]
    fn remove(&mut self, slot: Slot, _why: Why, _v: &View) {
        self.pages.remove(slot);
    }

    #[inline]
    fn size(&self) -> usize {
        self.pages.size()
    }

    #[inline]
    fn page_victim(&mut self, _a: &Access, v: &View) -> Option<Slot> {
        let pages = &self.pages;
        let oldest = |chip| pages.oldest_touch(chip);
        let (chip, all_zero) = self.options.choose(self.chips, v, oldest);
        let oldest = chip.and_then(|c| pages.oldest(c));
        self.zero_decisions += u64::from(all_zero);
        oldest
    }

    /// None: the next victim depends on the queues.
    fn candidates(&self, _v: &View, _f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        None
    }

    fn meta_bytes(&self) -> u64 {
        self.options.bytes(self.size(), self.chips)
    }

    fn stats(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("zero_cqct_decisions", self.zero_decisions);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        out.push_str("clean[]");
        crate::layer::print_chips(out, v, &self.options.cqct, |chip, out| {
            crate::state::pages(out, v, self.pages.newest_first(chip));
        });
    }
}
