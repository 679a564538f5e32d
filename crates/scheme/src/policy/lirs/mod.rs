//! LIRS: keeps the pages whose last two accesses were close to each other.
//!
//! Source: S. Jiang, X. Zhang, SIGMETRICS 2002, section 3. `variant=two-queue`: the simplified text
//! of Prober section 3.3.
//! Parameters: `hir` pages for resident HIR pages, 1.., default max(2, C/100) as in the authors'
//! simulator; `max-nonres` non-resident pages that are remembered, 0.. or inf, default 2C (LI-1:
//! the paper leaves it open); `skip-repeat` ignores a hit on the page that was accessed last
//! (LI-2: the authors' simulator does), default false; `variant` stack or two-queue.
//! Order: queue Q from the oldest, then LIR pages from the bottom of stack S.
//! Ties: not possible.
//! State: 24 B per page in S or Q. Cost: O(1) amortised. A non-resident page stays in the slot it was cached in,
//! as long as at most 2C are remembered; the policy of one chip remembers them apart.
//!
//! Departures: where the paper's text is silent, the bound on non-resident pages is kept at each
//! eviction, before the page that comes in is looked up (GO-2); a LIR page that is evicted (Q is empty,
//! or a layer chose it) is not remembered.

mod log;
mod stack;
#[cfg(test)]
mod tests;
mod two_queue;

use crate::contract::boxed;
use crate::info::{MetadataBound, MinCapacity, PaperSource, ParamInfo, SchemeInfo, Words};
use crate::store::Upcoming;
use crate::{
    Access, Env, Expr, Ghosts, PageLists, Pages, Policy, RemoveReason, View, params, words,
};
use destage_types::{Lpn, Slot};
use stack::Stack;
use two_queue::TwoQueue;

/// Bytes of a page's or a ghost's node.
const NODE_BYTES: u64 = 24;

/// `lirs`: low inter-reference recency.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lirs",
    summary: "Keeps pages of small reuse distance; the few others pass through a short queue.",
    source: PaperSource {
        paper: "Jiang, Zhang, LIRS: An Efficient Low Inter-reference Recency Set Replacement \
                Policy, SIGMETRICS",
        year: Some(2002),
        section: "two-queue variant: Prober 3.3",
        certain: true,
    },
    params: &[LirsParams::PARAMS],
    ties: "none: stack and queue are total orders",
    order: Some("Q oldest to newest, then LIR pages from the bottom of S"),
    min_capacity: MinCapacity::Above("hir"),
    metadata: |e, c| {
        let ghosts = match e.word("variant") {
            "two-queue" => c.frames,
            _ => e.frames("max-nonres", c.frames)?,
        };
        let nodes = MetadataBound::nodes(NODE_BYTES);
        Some(nodes.and_entries(ghosts, NODE_BYTES))
    },
    vectors: &["lirs", "lirs2q"],
    build: Some(boxed::<Pages<Lirs>>),
    ..SchemeInfo::BASE
};

words! {
    /// Which LIRS.
    pub enum LirsVariant {
        /// The paper's stack.
        Stack = "stack",
        /// The simplified text of Prober section 3.3.
        TwoQueue = "two-queue",
    }
}

params! {
    /// Parameters of [`Lirs`].
    pub struct LirsParams {
        /// frames for pages of large reuse distance
        hir: usize = ParamInfo::frames(1, 1, 100, 2).unit("pages").source("author's simulator"),
        /// the paper's stack, or the simplified text of Prober
        variant: LirsVariant = ParamInfo::word(LirsVariant::WORDS).source("Prober 3.3"),
        /// evicted pages that are remembered
        max_nonres: Option<u64> = ParamInfo::frames(0, 2, 1, 0).or_word("inf").unit("pages").source("LI-1"),
        /// an immediate repeat of the same page is ignored
        skip_repeat: bool = ParamInfo::flag(false).source("LI-2"),
    }
}

/// LIRS in one of its variants.
#[derive(Clone, Debug)]
pub struct Lirs {
    body: Body,
    skip_repeat: bool,
    /// Page of the last access.
    last: Lpn,
}

#[derive(Clone, Debug)]
enum Body {
    Stack(Stack),
    TwoQueue(TwoQueue),
}

/// Calls a method that both variants have.
macro_rules! body {
    ($lirs:ident . $($call:tt)*) => {
        match &$lirs.body {
            Body::Stack(b) => b.$($call)*,
            Body::TwoQueue(b) => b.$($call)*,
        }
    };
    (mut $lirs:ident . $($call:tt)*) => {
        match &mut $lirs.body {
            Body::Stack(b) => b.$($call)*,
            Body::TwoQueue(b) => b.$($call)*,
        }
    };
}

impl Policy for Lirs {
    fn build(expr: &Expr, env: &Env) -> Lirs {
        let params = LirsParams::of(expr, env);
        let lir = (env.capacity as usize).saturating_sub(params.hir);
        let max_nonresident = params.max_nonres.map(|most| most as usize);
        Lirs {
            body: match params.variant {
                LirsVariant::Stack => Body::Stack(Stack::new(lir, max_nonresident, env)),
                LirsVariant::TwoQueue => Body::TwoQueue(TwoQueue::new(lir, env)),
            },
            skip_repeat: params.skip_repeat,
            last: Lpn(u64::MAX),
        }
    }

    #[inline]
    fn prefetch(&self, upcoming: &Upcoming) {
        if let Body::Stack(stack) = &self.body {
            stack.prefetch(upcoming);
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.last = a.lpn;
        body!(mut self.insert(slot, a));
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        if self.skip_repeat && self.last == a.lpn {
            return;
        }
        self.last = a.lpn;
        body!(mut self.touch(slot));
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        body!(mut self.remove(slot, reason, v));
    }

    fn on_rename(&mut self, from: Lpn, to: Lpn, _slot: Option<Slot>, _v: &View) {
        if self.last == from {
            self.last = to;
        }
    }

    #[inline]
    fn victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        body!(self.victim())
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let (stack, queues) = match &self.body {
            Body::Stack(stack) => (Some(stack.next_victims()), None),
            Body::TwoQueue(queues) => (None, Some(queues.next_victims())),
        };
        stack
            .into_iter()
            .flatten()
            .chain(queues.into_iter().flatten())
    }

    fn place(&self, slot: Slot, _v: &View) -> Option<u64> {
        body!(self.place(slot))
    }

    #[inline(always)]
    fn ghosts(&self) -> Option<&Ghosts> {
        match &self.body {
            Body::Stack(stack) => Some(&stack.ghosts),
            Body::TwoQueue(queues) => Some(&queues.ghosts),
        }
    }

    #[inline(always)]
    fn ghosts_mut(&mut self) -> Option<&mut Ghosts> {
        match &mut self.body {
            Body::Stack(stack) => Some(&mut stack.ghosts),
            Body::TwoQueue(queues) => Some(&mut queues.ghosts),
        }
    }

    fn forget(&mut self, lpn: Lpn, v: &View) {
        body!(mut self.forget(lpn, v));
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        (pages + body!(self.remembered()) as u64) * NODE_BYTES
    }

    /// A resident HIR page that stands in S too is shown in Q alone.
    fn lists(&self, _v: &View, out: &mut PageLists) {
        body!(self.lists(out))
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        body!(self.state(v, out))
    }
}
