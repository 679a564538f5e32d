//! cflru-eps: ECR without the choice of a chip. Clean pages leave first, then the dirty page that
//! was touched longest ago.
//!
//! Source: Chen, Pan, Li, Xu, CCPE, section 4.2. Equal to CFLRU with the whole cache as its
//! clean-first region.
//! State: Clean-LRU and a list of dirty pages, newest first; 12 B a page. Ties: not possible.
//! Cost: O(1). No candidate order is offered: `ecr` and `gcar` refuse this leaf.

use crate::layer::Recency;
use crate::policy::PAGE_NODE_BYTES;
use crate::registry::Build;
use crate::{Access, Env, Expr, Scheme, View, Why};
use destage_types::{Lpn, Op, Slot};

const DIRTY: usize = 0;
const CLEAN: usize = 1;

/// Clean first, else the oldest dirty page.
#[derive(Clone, Debug)]
pub struct CflruEps {
    pages: Recency,
}

impl CflruEps {
    /// For a cache of `capacity` pages.
    pub fn new(capacity: usize) -> CflruEps {
        CflruEps {
            pages: Recency::new(capacity, 2),
        }
    }
}

impl Build for CflruEps {
    fn build(_expr: &Expr, env: &Env) -> CflruEps {
        CflruEps::new(env.slots as usize)
    }
}

impl Scheme for CflruEps {
    fn rename(&mut self, _from: Lpn, _to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        slot.is_some()
    }

    #[inline]
    fn insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let list = if a.op == Op::Read { CLEAN } else { DIRTY };
        self.pages.push(list, slot);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, a: &Access, _v: &View) {
        let list = self.pages.list_of(slot);
        if list == CLEAN && a.op == Op::Write {
            self.pages.remove(slot);
            return self.pages.push(DIRTY, slot);
        }
        self.pages.touch(list, slot);
    }

    #[inline]
    fn remove(&mut self, slot: Slot, _why: Why, _v: &View) {
        self.pages.remove(slot);
    }

    fn cleaned(&mut self, slots: &[Slot], _v: &View) {
        self.pages.merge(CLEAN, slots);
    }

    #[inline]
    fn size(&self) -> usize {
        self.pages.size()
    }

    #[inline]
    fn page_victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        let oldest = self.pages.oldest(CLEAN);
        oldest.or_else(|| self.pages.oldest(DIRTY))
    }

    fn candidates(&self, _v: &View, _f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        None
    }

    fn meta_bytes(&self) -> u64 {
        self.size() as u64 * PAGE_NODE_BYTES
    }

    /// The dirty list by chip and the exact drain times, as the worked example prints them.
    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let cqct = crate::cqct::Cqct {
            estimate: crate::cqct::Estimate::Oracle,
            ..crate::cqct::Cqct::default()
        };
        out.push_str("clean");
        crate::state::pages(out, v, self.pages.newest_first(CLEAN));
        crate::layer::print_chips(out, v, &cqct, |chip, out| {
            let here = |s: &Slot| v.chip(*s).index() == chip;
            crate::state::pages(out, v, self.pages.newest_first(DIRTY).filter(here));
        });
    }
}
