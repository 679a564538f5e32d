//! SLRU: pages that were hit are protected from those that were not.
//!
//! State: a probation list for new pages and a protected list for those that were hit, newest first; 12 B per
//! page. Ties: not possible. Cost: O(1).

use destage_scheme::contract::boxed;
use destage_scheme::info::{PaperSource, ParamInfo, SchemeInfo};
use destage_scheme::lists::{ListArray, Lists};
use destage_scheme::{Access, Env, Expr, Pages, Policy, RemoveReason, View, params};
use destage_types::Slot;

/// `slru`: segmented LRU.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "slru",
    summary: "Two LRU lists: pages that were hit, and others, which leave first.",
    source: PaperSource {
        paper: "Karedla, Love, Wherry, Caching Strategies to Improve Disk System Performance, IEEE Computer",
        year: Some(1994),
        section: "",
        certain: true,
    },
    params: &[SlruParams::PARAMS],
    ties: "none: both lists are total orders",
    order: Some("probation list from its tail, then protected list from its tail"),
    build: Some(boxed::<Pages<Slru>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Slru`].
    pub struct SlruParams {
        /// most pages of the protected list
        protected: usize = ParamInfo::frames(1, 1, 2, 1).unit("pages").source("no paper"),
    }
}

/// New pages.
const PROBATION: usize = 0;
/// Pages that were hit.
const PROTECTED: usize = 1;

/// Segmented LRU.
#[derive(Clone, Debug)]
pub struct Slru {
    lists: ListArray<2>,
    protected: usize,
}

impl Policy for Slru {
    fn build(expr: &Expr, env: &Env) -> Slru {
        let SlruParams { protected } = SlruParams::of(expr, env);
        Slru {
            lists: Lists::array(env.slots as usize),
            protected,
        }
    }

    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.lists.push_head(PROBATION, slot.0);
    }

    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.lists.unlink(slot.0);
        self.lists.push_head(PROTECTED, slot.0);
        if self.lists.len(PROTECTED) > self.protected
            && let Some(oldest) = self.lists.tail(PROTECTED)
        {
            self.lists.unlink(oldest);
            self.lists.push_head(PROBATION, oldest);
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.lists.unlink(slot.0);
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let from_tail = |list| self.lists.from_tail(list).map(Slot);
        from_tail(PROBATION).chain(from_tail(PROTECTED))
    }
}
