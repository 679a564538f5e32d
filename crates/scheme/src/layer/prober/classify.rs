//! Which write requests are large write data (LWdata), and which pages they take out of the base.

use super::Prober;
use crate::layer::lwrs::{Grown, Set};
use crate::{Column, RemoveReason, Request, Scheme, View};
use destage_types::{Extent, Lpn, Slot};

impl<S: Scheme> Prober<S> {
    /// Feeds the queue with a write request and moves what it points out.
    #[inline(always)]
    pub(super) fn classify(&mut self, r: &Request, v: &View) {
        match r.extents {
            [only] if self.renamed.is_empty() => {
                let alone = self.queue.begin_alone(only.start_sector, only.end() - 1);
                if alone {
                    return;
                }
            }
            _ => self.queue.begin(),
        }
        self.classify_many(r, v);
    }

    #[inline(never)]
    fn classify_many(&mut self, r: &Request, v: &View) {
        if self.renamed.len() > 1 {
            self.renamed.sort_unstable();
        }
        self.scratch.clear();
        // Every extent grows a set of its own; one large set makes the whole request LWdata.
        for e in r.extents {
            let grown = self.queue.write(e.start_sector, e.end() - 1);
            if grown.large {
                self.grow(&grown, r.extents, v);
            }
        }
        if self.large {
            self.large_requests += 1;
            self.migrated += self.scratch.len() as u64;
            self.ldr.sort_in(&self.scratch, v);
            self.note(v);
        }
    }

    /// The write with these extents is part of a large set.
    fn grow(&mut self, grown: &Grown, extents: &[Extent], v: &View) {
        self.large = true;
        for set in grown.joined.into_iter().flatten() {
            self.leave_base(set, extents, v);
        }
    }

    /// Takes the pages of a set that just became part of a large one out of the base, except
    /// those of the request itself, appends them to LDR and collects them in `scratch`.
    fn leave_base(&mut self, set: Set, extents: &[Extent], v: &View) {
        let page = v.frames.page();
        let own = |lpn: Lpn| {
            let mut ends = extents.iter().map(|e| (e.start_sector, e.end() - 1));
            ends.any(|(a, b)| page.page_of(a) <= lpn && lpn <= page.page_of(b))
        };
        for lpn in page.page_of(set.first).0..=page.page_of(set.last).0 {
            let Some(slot) = v.slot_of(Lpn(lpn)) else {
                continue;
            };
            // Pages of the request itself follow one by one, when they are hit.
            if !self.ldr.contains(slot) && !own(Lpn(lpn)) {
                self.inner.on_remove(slot, RemoveReason::Discarded, v);
                self.ldr.append(slot);
                self.scratch.push(slot);
            }
        }
    }

    fn note(&mut self, v: &View) {
        self.notes.add(Column::Result, || "LW".to_owned());
        if !self.scratch.is_empty() {
            let lpn = |s: &Slot| v.frames.lpn(*s).to_string();
            let moved = &self.scratch;
            self.notes.add(Column::Result, || {
                format!(
                    "mig[{}]",
                    moved.iter().map(lpn).collect::<Vec<_>>().join(", ")
                )
            });
        }
    }
}
