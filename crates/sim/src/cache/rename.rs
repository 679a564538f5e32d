//! The mapping layer: cached pages get the new addresses of an update before the write itself
//! (all renames first, then one ordinary request: CAC-8).

use super::{Cache, page_span, view};
use crate::cache::observe::Event;
use crate::flash::Flash;
use destage_scheme::{RenamePlan, Request, Scheme, SchemeNotice, Update};
use destage_types::{Lpn, Nanos, Op, request::NO_PREV};

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Renames what the blocks of the request replace. `prev` holds one old start sector per
    /// block in the order of the request, or nothing.
    #[cold]
    pub(super) fn rename_all(&mut self, r: &Request<'_>, prev: &[u64], atomic: bool) {
        let page = self.frames.page();
        let mut prev = prev.iter();
        for extent in r.extents {
            let (first, pages) = page_span(extent, page);
            for i in 0..u64::from(pages) {
                let old = prev.next().filter(|&&p| p != NO_PREV);
                let update = Update {
                    current: Lpn(first.0 + i),
                    previous: old.map(|&sector| page.page_of(self.wrapped(sector))),
                    atomic,
                };
                let plan = self.scheme.rename_plan(&update, &view!(self, r.now));
                self.apply(&plan, update.current, r.now);
            }
        }
    }

    fn wrapped(&self, sector: u64) -> u64 {
        self.options.wrap.map_or(sector, |space| sector % space)
    }

    fn apply(&mut self, plan: &RenamePlan, current: Lpn, now: Nanos) {
        if plan.forget {
            self.scheme
                .on_notice(SchemeNotice::Forgotten(current), &view!(self, now));
            self.free_released_slots();
        }
        if let Some(source) = plan.source {
            match (self.frames.slot_of(current), self.frames.slot_of(source)) {
                (None, Some(slot)) => {
                    self.accessed(slot, Op::Write, now);
                    self.frames.rekey(slot, current);
                    self.scheme
                        .rename(source, current, Some(slot), &view!(self, now));
                    self.remapped(plan, source, current);
                }
                (None, None) => {
                    let v = view!(self, now);
                    if plan.ghosts && self.scheme.rename(source, current, None, &v) {
                        if let Some(kept) = self.frames.ghost_of(source) {
                            self.frames.rekey(kept, current);
                        }
                        self.remapped(plan, source, current);
                    }
                }
                (Some(_), _) => self.discard(source, now),
            }
        }
        if let Some(old) = plan.discard {
            self.discard(old, now);
        }
    }

    fn remapped(&mut self, plan: &RenamePlan, from: Lpn, to: Lpn) {
        self.counts.remaps += 1;
        if plan.unmap {
            self.flash.trim(from);
        }
        if let Some(o) = &mut self.observer {
            o.event(Event::Remapped { from, to });
        }
    }

    /// Drops a superseded page, if it is cached, without a flash write.
    fn discard(&mut self, lpn: Lpn, now: Nanos) {
        let Some(slot) = self.frames.slot_of(lpn) else {
            return;
        };
        self.drop_page(slot, now);
        self.counts.discarded_pages += 1;
        if let Some(o) = &mut self.observer {
            o.event(Event::Discarded(lpn));
        }
    }
}
