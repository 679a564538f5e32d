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
//! eviction, before the page that comes in is looked up; a LIR page that is evicted (Q is empty,
//! or a wrapper chose it) is not remembered.

mod log;
mod stack;
#[cfg(test)]
mod tests;
mod two_queue;

use crate::registry::Build;
use crate::{Access, Ahead, Env, Expr, Scheme, View, Why};
use destage_types::{Lpn, Slot};
use stack::Stack;
use two_queue::TwoQueue;

/// Bytes of a node, resident or not.
pub(crate) const NODE_BYTES: u64 = 24;

/// Which text is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LirsVariant {
    /// The stack S and the queue Q of the LIRS paper.
    #[default]
    Stack,
    /// A hot and a cold queue (Prober section 3.3).
    TwoQueue,
}

/// Parameters of [`Lirs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LirsOptions {
    /// Pages for resident HIR pages; the others, at least one, are for LIR pages.
    pub hir: usize,
    /// Most non-resident pages in S; `None` is no bound. The two-queue variant remembers C.
    pub max_nonres: Option<usize>,
    /// Ignore a hit on the page that was accessed last.
    pub skip_repeat: bool,
    /// Text that is followed.
    pub variant: LirsVariant,
}

impl LirsOptions {
    /// The defaults for a cache of `capacity` pages.
    pub fn for_capacity(capacity: usize) -> LirsOptions {
        LirsOptions {
            hir: (capacity / 100).max(2),
            max_nonres: Some(2 * capacity),
            skip_repeat: false,
            variant: LirsVariant::Stack,
        }
    }
}

/// Low inter-reference recency set.
#[derive(Clone, Debug)]
pub struct Lirs {
    body: Body,
    skip_repeat: bool,
    /// Page that was accessed last.
    last: Lpn,
}

#[derive(Clone, Debug)]
enum Body {
    Stack(Stack),
    TwoQueue(TwoQueue),
}

/// Calls a method of whichever body there is.
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

impl Lirs {
    /// For a cache of `capacity` pages.
    pub fn new(capacity: usize, options: LirsOptions) -> Lirs {
        Lirs::with_slots(capacity, capacity, options, true)
    }

    /// The same in a cache of `slots` frames, more of which than `capacity` it may come to hold.
    /// `keep`: non-resident pages stay in their slots, of which there are more then.
    fn with_slots(slots: usize, capacity: usize, options: LirsOptions, keep: bool) -> Lirs {
        let lir = capacity.saturating_sub(options.hir);
        Lirs {
            body: match options.variant {
                LirsVariant::Stack => Body::Stack(Stack::new(slots, lir, options.max_nonres, keep)),
                LirsVariant::TwoQueue => Body::TwoQueue(TwoQueue::new(slots, capacity, lir)),
            },
            skip_repeat: options.skip_repeat,
            last: Lpn(u64::MAX),
        }
    }
}

impl Build for Lirs {
    fn build(expr: &Expr, env: &Env) -> Lirs {
        let capacity = u64::from(env.capacity);
        let hir = expr.frames("hir", capacity);
        let variant = match expr.word("variant") {
            "two-queue" => LirsVariant::TwoQueue,
            _ => LirsVariant::Stack,
        };
        let options = LirsOptions {
            hir: hir.expect("hir is a number of pages") as usize,
            max_nonres: expr.frames("max-nonres", capacity).map(|n| n as usize),
            skip_repeat: expr.flag("skip-repeat"),
            variant,
        };
        let (slots, capacity) = (env.slots as usize, env.capacity as usize);
        Lirs::with_slots(slots, capacity, options, env.keeps_slots)
    }
}

impl Scheme for Lirs {
    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        let known = slot.is_some() || body!(mut self.rename_ghost(from, to, v));
        if known && self.last == from {
            self.last = to;
        }
        known
    }

    fn most_kept(&self) -> u32 {
        body!(self.most_kept())
    }

    #[inline(always)]
    fn keeps(&self, slot: Slot) -> bool {
        body!(self.keeps(slot))
    }

    #[inline(always)]
    fn give_up(&mut self) -> Option<Slot> {
        body!(mut self.give_up())
    }

    #[inline]
    fn look_ahead(&self, ahead: &Ahead) -> u64 {
        body!(self.look_ahead(ahead))
    }

    #[inline]
    fn insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.last = a.lpn;
        body!(mut self.insert(slot, a.lpn));
    }

    #[inline]
    fn touch(&mut self, slot: Slot, a: &Access, _v: &View) {
        if self.skip_repeat && self.last == a.lpn {
            return;
        }
        self.last = a.lpn;
        body!(mut self.touch(slot));
    }

    #[inline]
    fn remove(&mut self, slot: Slot, why: Why, v: &View) {
        body!(mut self.remove(slot, (why == Why::Evicted).then(|| v.frames.lpn(slot))));
    }

    fn forget(&mut self, lpn: Lpn, v: &View) {
        body!(mut self.forget(lpn, v));
    }

    #[inline]
    fn size(&self) -> usize {
        body!(self.size())
    }

    #[inline]
    fn page_victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        body!(self.victim())
    }

    fn candidates(&self, _v: &View, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        body!(self.candidates(f))
    }

    fn meta_bytes(&self) -> u64 {
        (self.size() + body!(self.ghosts())) as u64 * NODE_BYTES
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        body!(self.state(v, out))
    }
}
