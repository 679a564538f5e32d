//! Collection changes the mapping table (S-2.7). It changes cached entries in memory, and those of others on flash, page by page.

use super::MapEvent;
use crate::drive::Drive;
use destage_device::nand::Class;
use destage_types::Lpn;
use std::collections::VecDeque;

/// How far the first page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    NotBegun,
    /// It is being read.
    UnderWay,
    /// It was read, and is to be handed over.
    Read,
}

/// Translation pages that a collector has to change, in order.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct MapUpdates {
    pages: VecDeque<u64>,
    stage: Stage,
}

impl MapUpdates {
    /// A victim is moved whole, which changes these pages.
    pub fn add(&mut self, mut pages: Vec<u64>) {
        pages.sort_unstable();
        pages.dedup();
        self.pages.extend(pages);
    }

    /// Is nothing left to be changed?
    pub fn are_done(&self) -> bool {
        self.pages.is_empty()
    }

    /// The first page was read.
    pub fn has_read(&mut self) {
        // A power cut has forgotten what was to be changed.
        if !self.pages.is_empty() {
            self.stage = Stage::Read;
        }
    }
}

impl Drive {
    /// Goes on with the translation pages that a collector changes. Are all of them changed?
    pub(in crate::drive) fn update_mapping(&mut self, gc: u32) -> bool {
        loop {
            let MapUpdates { pages, stage } = self.collectors.updates(gc);
            let Some(&page) = pages.front() else {
                return true;
            };
            match stage {
                Stage::UnderWay => return false,
                Stage::NotBegun => {
                    *stage = Stage::UnderWay;
                    let event = MapEvent::Update { gc };
                    match self.read_translation(page, event, Class::Gc) {
                        Some(from_flash) => self.core.traffic.map_gc_reads += u64::from(from_flash),
                        None => self.collectors.updates(gc).has_read(),
                    }
                }
                Stage::Read => {
                    let Some(unit) = self.hand_over_translation(page, false) else {
                        return false;
                    };
                    self.core.traffic.map_gc_places += 1;
                    self.queue_if_full(unit);
                    let updates = self.collectors.updates(gc);
                    updates.pages.pop_front();
                    updates.stage = Stage::NotBegun;
                }
            }
        }
    }

    /// A mapping unit of a victim is moved. The translation page that has to change, if its entry is not in memory.
    pub(in crate::drive) fn page_of_moved(&mut self, lpn: Lpn) -> Option<u64> {
        let cache = &mut self.mapping.as_mut()?.cache;
        let page = cache.page_of(cache.entry_of(lpn.0));
        (!cache.moves(lpn.0)).then_some(page)
    }
}
