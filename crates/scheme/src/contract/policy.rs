//! Page policies: which page leaves next.

use super::answers::no_part_in_other_stages;
use super::{
    Access, PageLists, RemoveReason, Request, Scheme, SchemeNotice, Unit, Victim, View, WriteBack,
    WriteBackQuery,
};
use crate::store::{Ghosts, Upcoming};
use crate::{Env, Expr, SchemeStats};
use destage_types::{Lpn, Slot};

/// Bytes of a page's node where a paper gives none: two links and an address of 4 bytes each
/// (Req-block section 4.2.6).
pub const PAGE_NODE_BYTES: u64 = 12;

/// Keeps single pages in an order and names the one that leaves.
///
/// The cache owns the pages: it says which slot a page is in, with every call, and the policy
/// keeps what it wants to know of it by slot. The contract:
///
/// - a page is inserted once, hit while it is there, and removed once;
/// - **any** page may be removed at any time, not only the next victim: the host trims it, a layer outside
///   passes over the victim or takes the page for itself;
/// - a layer that chooses among [`Policy::next_victims`], perhaps the first of them, does not ask for
///   `victim`: what an eviction does to the policy's own state (a hand, a counter) belongs in
///   `on_remove` with [`RemoveReason::Evicted`], for whichever page it is;
/// - a page may get another address while it is cached, of which the policy hears only if it wants
///   to ([`Policy::on_rename`]);
/// - several pages may leave before the one comes in that room is made for, or that page may not
///   come in at all;
/// - methods with `&self` change nothing, and after the first pass nothing allocates memory.
///
/// Slots are below [`Env::slots`], or with [`Ghosts`] below [`Ghosts::nodes`].
///
/// A whole policy. Inside this crate it says `crate::` for `destage_scheme::`, and it has a line in the
/// registry in place of the last two of the example.
///
/// ```
/// use destage_scheme::info::{PaperSource, SchemeInfo};
/// use destage_scheme::lists::List;
/// use destage_scheme::contract::{Build, boxed};
/// use destage_scheme::{Access, Boxed, Env, Expr, Pages, Policy, RemoveReason, View};
/// use destage_types::Slot;
///
/// pub const INFO: SchemeInfo = SchemeInfo {
///     name: "mru",
///     summary: "Evicts the page that was read or written last.",
///     source: PaperSource::CLASSIC,
///     ties: "none: recency is a total order",
///     order: Some("head to tail"),
///     build: Some(boxed::<Pages<Mru>>),
///     ..SchemeInfo::BASE
/// };
///
/// pub struct Mru {
///     list: List,
/// }
///
/// impl Policy for Mru {
///     fn build(_expr: &Expr, env: &Env) -> Mru {
///         let list = List::new(env.slots as usize);
///         Mru { list }
///     }
///
///     fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
///         self.list.push_head(slot);
///     }
///
///     fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
///         self.list.move_to_head(slot);
///     }
///
///     fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
///         self.list.unlink(slot);
///     }
///
///     fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
///         self.list.from_head()
///     }
/// }
///
/// let expr = Expr::parse_with("cac(prober(gcar(mru)))", &[&INFO]).unwrap();
/// Boxed::build(&expr, &Env::cache_only(64));
/// ```
pub trait Policy: Sized {
    /// As the layer `expr` of an expression says, for a cache as `env` says.
    fn build(expr: &Expr, env: &Env) -> Self;

    /// Page `a` is in `slot` now.
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View);

    /// Page `a`, which is in `slot`, is read or written; `v.frames` has the state before that.
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View);

    /// The page in `slot` leaves; `v.frames` still knows it. Only an evicted page may be
    /// remembered.
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View);

    /// All pages in the order in which they would leave if nothing else happened. A policy that has such an
    /// order describes it in its declaration (`order`); others show the next victim alone
    /// ([`Policy::next_victim`]), or nothing and write `victim`, and layers that need an order refuse them.
    fn next_victims<'a>(&'a self, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        self.next_victim(v).into_iter()
    }

    /// The page that leaves next, of a policy that knows no order beyond it. With this, `next_victims` and
    /// `victim` all left out, no page can leave, and every suite says so.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        None
    }

    /// The page that leaves to let `a` in, the first of `next_victims` if there are some: `None` only while
    /// there are no pages. It stays until `on_remove`. Written by a policy whose search moves something of
    /// its own.
    #[inline(always)]
    fn victim(&mut self, _a: &Access, v: &View) -> Option<Slot> {
        self.next_victims(v).next()
    }

    /// The same pages as units of one, with what the device says taken into account; see
    /// [`Scheme::next_units`]. Only a policy that chooses by the chips writes it.
    fn next_units(&self, v: &View, unit: &mut Unit, stop: &mut dyn FnMut(&Unit) -> bool) {
        self.next_victims(v).any(|slot| unit.stops_at(slot, stop));
    }

    /// A number for a dirty page: of two of them the one with the smaller number comes first in
    /// `next_victims`, also after other pages became clean. `None` of a policy that would have to search for
    /// it. Background layers put the dirty pages in order with it where most pages are clean.
    fn place(&self, _slot: Slot, _v: &View) -> Option<u64> {
        None
    }

    /// A read or write request begins.
    #[inline(always)]
    fn on_request(&mut self, _r: &Request, _v: &View) {}

    /// Page `a` is about to come in: adapt. Once for each page, before room is made for it.
    #[inline(always)]
    fn on_miss(&mut self, _a: &Access, _v: &View) {}

    /// These dirty pages are clean now and stay; `v.frames` says so already.
    fn on_clean(&mut self, _slots: &[Slot], _v: &View) {}

    /// Page `from`, cached in `slot` or remembered, is page `to` from now on.
    fn on_rename(&mut self, _from: Lpn, _to: Lpn, _slot: Option<Slot>, _v: &View) {}

    /// A write waits for a frame of a bounded buffer, perhaps once more.
    fn on_wait(&mut self, _r: &Request) {}

    /// Page `a` is in `slot`, but a sector that it reads is not valid: not a hit (D2).
    #[inline(always)]
    fn on_partial_hit(&mut self, _slot: Slot, _a: &Access, _v: &View) {}

    /// May page `a`, read or written, be cached? For off-line policies; admission is a layer.
    #[inline(always)]
    fn admits(&mut self, _a: &Access, _v: &View) -> bool {
        true
    }

    /// The evicted pages that the policy remembers, if it remembers any. A policy with ghosts
    /// writes `remembers!(FIELD)`, which is this method and the next one.
    #[inline(always)]
    fn ghosts(&self) -> Option<&Ghosts> {
        None
    }

    /// The same, to change it.
    #[inline(always)]
    fn ghosts_mut(&mut self) -> Option<&mut Ghosts> {
        None
    }

    /// Renames the ghost of page `from` to page `to`; says whether there was one.
    fn rename_ghost(&mut self, from: Lpn, to: Lpn, v: &View) -> bool {
        let ghosts = self.ghosts_mut();
        ghosts.is_some_and(|ghosts| ghosts.rename(from, to, v))
    }

    /// Page `lpn`, which is not cached, holds other data from now on: it must not be remembered.
    fn forget(&mut self, _lpn: Lpn, _v: &View) {}

    /// Puts pages to write back into `unit`, which is empty. Asked of a policy that declares
    /// `write_backs`.
    fn write_back(&mut self, _query: &WriteBackQuery, _v: &View, _unit: &mut Unit) -> WriteBack {
        WriteBack::Nowhere
    }

    /// Bytes of metadata with `pages` pages.
    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * PAGE_NODE_BYTES
    }

    /// Counters and gauges of the policy's own, reported as `scheme_stats`.
    fn stats(&self, _out: &mut SchemeStats) {}

    /// The lists that the policy keeps its pages in: by default one, last to leave first. A policy without an
    /// order over all its pages writes it. A picture puts pages that no list names into a list of their own.
    fn lists(&self, v: &View, out: &mut PageLists) {
        let mut pages: Vec<Slot> = self.next_victims(v).collect();
        pages.reverse();
        out.add("pages", pages);
    }

    /// Reads what is known of pages that are accessed soon, so that the processor has it at hand.
    #[inline(always)]
    fn prefetch(&self, _upcoming: &Upcoming) {}

    /// The state as the worked examples print it: by default the pages, last to leave first.
    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let mut pages: Vec<Slot> = self.next_victims(v).collect();
        pages.reverse();
        crate::state::pages(out, v, pages.into_iter());
    }

    /// Moves the words noted since the last call to `out`.
    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, _out: &mut Vec<crate::Note>) {}
}

/// The methods that every [`Policy`] with ghosts writes alike: the ghosts are the field of this
/// name.
#[macro_export]
macro_rules! remembers {
    ($field:ident) => {
        fn ghosts(&self) -> Option<&$crate::Ghosts> {
            Some(&self.$field)
        }

        fn ghosts_mut(&mut self) -> Option<&mut $crate::Ghosts> {
            Some(&mut self.$field)
        }
    };
}

/// A page policy as a scheme: answers for all stages that it has no part in.
#[derive(Clone, Debug)]
pub struct Pages<P> {
    policy: P,
}

impl<P: Policy> Pages<P> {
    /// An empty cache under `policy`.
    pub fn of(policy: P) -> Pages<P> {
        Pages { policy }
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }
}

impl<P: Policy> Scheme for Pages<P> {
    no_part_in_other_stages!();

    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        let known = slot.is_some() || self.policy.rename_ghost(from, to, v);
        if known {
            self.policy.on_rename(from, to, slot, v);
        }
        known
    }

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        self.policy.write_back(query, v, unit)
    }

    #[inline(always)]
    fn admit(&mut self, a: &Access, v: &View) -> bool {
        self.policy.admits(a, v)
    }

    #[inline(always)]
    fn is_full(&self, _a: &Access, v: &View) -> bool {
        v.frames.used() >= v.frames.capacity()
    }

    fn next_victims(&self, v: &View, visit: &mut dyn FnMut(Slot) -> bool) {
        self.policy.next_victims(v).all(visit);
    }

    fn place(&self, slot: Slot, v: &View) -> Option<u64> {
        self.policy.place(slot, v)
    }

    fn next_units(
        &self,
        incoming: Option<&Access>,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        if incoming.is_some() {
            self.policy.next_units(v, unit, stop);
        } else {
            let mut order = self.policy.next_victims(v);
            order.any(|slot| unit.stops_at(slot, stop));
        }
    }

    fn next_dirty_unit(
        &self,
        incoming: &Access,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        Scheme::next_units(self, Some(incoming), v, unit, stop);
    }

    #[inline(always)]
    fn on_miss(&mut self, a: &Access, v: &View) {
        if let Some(ghosts) = self.policy.ghosts_mut() {
            ghosts.expect_none();
        }
        self.policy.on_miss(a, v);
    }

    #[inline(always)]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        if let Some(ghosts) = self.policy.ghosts_mut() {
            ghosts.in_use(slot);
        }
        self.policy.on_insert(slot, a, v);
    }

    #[inline(always)]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.policy.on_hit(slot, a, v);
    }

    #[inline(always)]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.policy.on_remove(slot, reason, v);
        if let Some(ghosts) = self.policy.ghosts_mut() {
            ghosts.in_use(slot);
        }
    }

    #[inline(always)]
    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        match notice {
            SchemeNotice::RequestEnd(_) | SchemeNotice::RequestResumed(_) => {}
            SchemeNotice::RequestWaits(r) => self.policy.on_wait(r),
            SchemeNotice::PartialHit(slot, a) => self.policy.on_partial_hit(slot, a, v),
            SchemeNotice::Cleaned(slots) => self.policy.on_clean(slots, v),
            SchemeNotice::Forgotten(lpn) => {
                self.policy.forget(lpn, v);
                if let Some(slot) = v.slot_of(lpn)
                    && let Some(ghosts) = self.policy.ghosts_mut()
                {
                    ghosts.in_use(slot);
                }
            }
        }
    }

    #[inline(always)]
    fn victim(&mut self, a: &Access, v: &View, _unit: &mut Unit) -> Victim {
        match self.policy.victim(a, v) {
            Some(slot) => Victim::Page(slot),
            None => Victim::Unit,
        }
    }

    #[inline(always)]
    fn ghosts(&mut self) -> Option<&mut Ghosts> {
        self.policy.ghosts_mut()
    }

    #[inline(always)]
    fn prefetch(&self, upcoming: &Upcoming) {
        if let Some(ghosts) = self.policy.ghosts() {
            ghosts.prefetch(upcoming);
        }
        self.policy.prefetch(upcoming);
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        self.policy.metadata_bytes(pages)
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<crate::Note>) {
        self.policy.take_notes(out);
    }
}
