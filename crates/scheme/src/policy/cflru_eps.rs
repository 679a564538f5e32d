//! cflru-eps: ECR without the choice of a chip. Clean pages leave first, then the dirty page that
//! was touched longest ago.
//!
//! Source: Chen, Pan, Li, Xu, CCPE, section 4.2. Equal to CFLRU with the whole cache as its
//! clean-first region.
//! State: Clean-LRU and a list of dirty pages, newest first; 12 B a page. Ties: not possible.
//! Cost: O(1).

use crate::contract::boxed;
use crate::info::{PaperSource, SchemeInfo};
use crate::layer::{Recency, ecr};
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, View};
use destage_types::{Op, Slot};

/// `cflru-eps`: clean pages first, then the LRU dirty page.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "cflru-eps",
    summary: "The LRU clean page; without clean pages the LRU dirty page of all chips.",
    source: PaperSource {
        section: "4.2 (epsilon variant)",
        ..ecr::INFO.source
    },
    ties: "none: recency is a total order",
    order: Some("clean pages tail to head, then dirty ones"),
    chip_lists: true,
    vectors: &["ecreps"],
    build: Some(boxed::<Pages<CflruEps>>),
    ..SchemeInfo::BASE
};

const DIRTY: usize = 0;
const CLEAN: usize = 1;

/// Clean first, else the oldest dirty page.
#[derive(Clone, Debug)]
pub struct CflruEps {
    pages: Recency,
}

impl Policy for CflruEps {
    fn build(_expr: &Expr, env: &Env) -> CflruEps {
        let pages = Recency::new(env.slots as usize, 2);
        CflruEps { pages }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let list = if a.op == Op::Read { CLEAN } else { DIRTY };
        self.pages.push(list, slot);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        let list = self.pages.list_of(slot);
        if list == CLEAN && a.op == Op::Write {
            self.pages.remove(slot);
            return self.pages.push(DIRTY, slot);
        }
        self.pages.touch(list, slot);
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.pages.remove(slot);
    }

    fn on_clean(&mut self, slots: &[Slot], _v: &View) {
        self.pages.merge(CLEAN, slots);
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let dirty = self.pages.oldest_first(DIRTY);
        self.pages.oldest_first(CLEAN).chain(dirty)
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        out.add("clean", self.pages.newest_first(CLEAN));
        out.add("dirty", self.pages.newest_first(DIRTY));
    }

    /// The dirty list by chip and the exact drain times, as the worked example prints them.
    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let cqct = crate::cqct::Cqct {
            cqct: crate::cqct::CqctSource::Oracle,
            ..crate::cqct::Cqct::DEFAULT
        };
        out.push_str("clean");
        crate::state::pages(out, v, self.pages.newest_first(CLEAN));
        crate::layer::print_chips(out, v, &cqct, |chip, out| {
            let here = |s: &Slot| v.chip(*s).index() == chip;
            crate::state::pages(out, v, self.pages.newest_first(DIRTY).filter(here));
        });
    }
}
