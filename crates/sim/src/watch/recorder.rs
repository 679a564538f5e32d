//! Changes in the cache and on the device from one step of a watched run to the next.

use super::splice::splices;
use crate::cache::observe::{Event, Observer, WriteBackStep};
use crate::run::run_cache::CacheState;
use destage_device::map::{BlockCounts, BlockStates};
use destage_record::scene::{
    CodedPage, MOST_BLOCKS, SceneBlocks, SceneCounts, SceneEvent, SceneList,
};
use destage_scheme::PageLists;
use destage_types::{Lpn, Nanos, Slot};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the list of pages that no list of the scheme names.
const UNLISTED: &str = "other pages";

/// States and changes that were seen in the window.
#[derive(Clone, Debug, Default)]
pub struct SeenWindow {
    /// Lists of the scheme at the begin.
    pub lists: Vec<SceneList>,
    /// Counts of blocks at the begin, if there are not too many.
    pub blocks: Option<SceneBlocks>,
    /// Blocks that were written then.
    pub open: Vec<u32>,
    /// Counters at the begin and at the end.
    pub counts: [SceneCounts; 2],
    /// Changes, in order.
    pub events: Vec<SceneEvent>,
}

/// Records the changes of a watched run, step by step.
#[derive(Default)]
pub struct Recorder {
    seen: SeenWindow,
    /// Lists as they are now; their places are the numbers of the lists.
    lists: Vec<SceneList>,
    blocks: Vec<BlockCounts>,
    open: Vec<u32>,
    counts: SceneCounts,
    told: Arc<Mutex<Told>>,
    /// Reused.
    page_lists: PageLists,
    states: BlockStates,
}

/// Events that the cache told since the last comparison.
#[derive(Default)]
struct Told {
    /// Are events kept? Else only `other` hears of them.
    kept: bool,
    /// Events. Most of them get their time at the next comparison.
    events: Vec<SceneEvent>,
    /// The observer that the run has beside this one.
    other: Option<Box<dyn Observer + Send>>,
}

/// Receives the events of the cache.
struct Listener(Arc<Mutex<Told>>);

fn lock(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// The observer that the cache tells its events to.
    pub fn listener(&self) -> Box<dyn Observer + Send> {
        Box::new(Listener(Arc::clone(&self.told)))
    }

    /// The run has another observer from now on.
    pub fn observe(&self, other: Box<dyn Observer + Send>) {
        lock(&self.told).other = Some(other);
    }

    /// Takes that observer back.
    pub fn unobserve(&self) -> Option<Box<dyn Observer + Send>> {
        lock(&self.told).other.take()
    }

    /// The window begins with the state that `cache` has now.
    pub fn begin(&mut self, cache: &dyn CacheState, now: Nanos) {
        self.record_changes(cache, now);
        let lists = std::mem::take(&mut self.lists);
        self.seen = SeenWindow {
            blocks: (!self.blocks.is_empty()).then(|| SceneBlocks {
                valid: self.blocks.iter().map(|block| block.valid).collect(),
                written: self.blocks.iter().map(|block| block.written).collect(),
            }),
            open: self.open.clone(),
            counts: [self.counts; 2],
            lists: lists.clone(),
            events: Vec::new(),
        };
        self.lists = lists;
        lock(&self.told).kept = true;
    }

    /// The window ends.
    pub fn end(&mut self) {
        lock(&self.told).kept = false;
    }

    /// The states and changes of the window.
    pub fn finish(mut self) -> SeenWindow {
        self.seen.counts[1] = self.counts;
        self.seen
    }

    /// Records the differences between the state at `now` and the one before.
    pub fn record_changes(&mut self, cache: &dyn CacheState, now: Nanos) {
        let at = now.0;
        let told = std::mem::take(&mut lock(&self.told).events);
        (self.seen.events).extend(told.into_iter().map(|event| timed(event, at)));
        self.record_list_changes(cache, now);
        self.record_block_changes(cache, at);
        let counts = cache.counts();
        let counts = SceneCounts {
            page_hits: counts.page_hits,
            page_misses: counts.page_accesses - counts.page_hits,
            flash_writes: counts.flash_programs(),
            erases: counts.erases,
        };
        if counts != self.counts {
            self.counts = counts;
            self.seen.events.push(SceneEvent::Counts { at, counts });
        }
    }

    fn record_list_changes(&mut self, cache: &dyn CacheState, now: Nanos) {
        let frames = cache.frames();
        cache.page_lists(now, &mut self.page_lists);
        let lists = self.page_lists.take();
        let code = |&slot: &Slot| CodedPage::new(frames.lpn(slot), frames.is_dirty(slot));
        let listed: usize = lists.iter().map(|list| list.slots.len()).sum();
        let unlisted = (listed < frames.used()).then(|| {
            let mut named: Vec<Slot> = lists.iter().flat_map(|l| l.slots.clone()).collect();
            named.sort_unstable();
            let mut others: Vec<Slot> = frames.used_slots().collect();
            others.retain(|slot| named.binary_search(slot).is_err());
            frames.sort_by_lpn(&mut others);
            others
        });
        // A list that the scheme does not have any more is empty.
        let mut new: Vec<Vec<CodedPage>> = vec![Vec::new(); self.lists.len()];
        let named = lists.into_iter().map(|list| (list.name, list.slots));
        for (name, slots) in named.chain(unlisted.map(|slots| (Cow::Borrowed(UNLISTED), slots))) {
            let pages = slots.iter().map(code).collect();
            match self.lists.iter().position(|list| list.name == name) {
                Some(list) => new[list] = pages,
                None => {
                    self.seen.events.push(SceneEvent::List {
                        at: now.0,
                        list: self.lists.len(),
                        name: name.clone(),
                    });
                    let pages_before = Vec::new();
                    self.lists.push(SceneList {
                        name,
                        pages: pages_before,
                    });
                    new.push(pages);
                }
            }
        }
        for (list, (old, new)) in self.lists.iter_mut().zip(new).enumerate() {
            for splice in splices(&old.pages, &new) {
                self.seen.events.push(SceneEvent::Splice {
                    at: now.0,
                    list,
                    start: splice.start,
                    removed: splice.removed,
                    pages: splice.pages,
                });
            }
            old.pages = new;
        }
    }

    fn record_block_changes(&mut self, cache: &dyn CacheState, at: u64) {
        let Some(core) = cache.device() else {
            return;
        };
        let geometry = core.scene_geometry();
        let groups = match geometry.planes_per_die {
            0 => 1,
            planes => u64::from(geometry.dies) * u64::from(planes),
        };
        if groups * u64::from(geometry.blocks_per_plane) > MOST_BLOCKS {
            return;
        }
        core.block_states(&mut self.states);
        self.blocks
            .resize(self.states.counts.len(), BlockCounts::default());
        let pairs = self.blocks.iter_mut().zip(&self.states.counts);
        let mut changed = Vec::new();
        for (block, (old, new)) in pairs.enumerate() {
            if *old != *new {
                *old = *new;
                changed.push([block as u32, new.valid, new.written]);
            }
        }
        if !changed.is_empty() {
            let blocks = changed;
            self.seen.events.push(SceneEvent::Blocks { at, blocks });
        }
        if self.open != self.states.open {
            self.open.clone_from(&self.states.open);
            let blocks = self.open.clone();
            self.seen.events.push(SceneEvent::Open { at, blocks });
        }
    }
}

/// An event that the cache told before the comparison at `now`.
fn timed(mut event: SceneEvent, now: u64) -> SceneEvent {
    match &mut event {
        SceneEvent::Evict { at, .. }
        | SceneEvent::Bypass { at, .. }
        | SceneEvent::Discard { at, .. }
        | SceneEvent::Rename { at, .. } => *at = now,
        _ => {}
    }
    event
}

impl Observer for Listener {
    fn request(&mut self, index: u64) {
        if let Some(other) = &mut lock(&self.0).other {
            other.request(index);
        }
    }

    fn event(&mut self, event: Event<'_>) {
        let mut told = lock(&self.0);
        if told.kept {
            told.events.extend(event_of_scene(event));
        }
        if let Some(other) = &mut told.other {
            other.event(event);
        }
    }

    fn request_done(&mut self) {
        if let Some(other) = &mut lock(&self.0).other {
            other.request_done();
        }
    }
}

fn event_of_scene(event: Event<'_>) -> Option<SceneEvent> {
    let at = 0;
    Some(match event {
        Event::Evicted {
            flush,
            drop,
            inflight,
            ..
        } => {
            let code = |pages: &[Lpn], dirty: bool| -> Vec<CodedPage> {
                let code = |&page: &Lpn| CodedPage::new(page, dirty);
                pages.iter().map(code).collect()
            };
            let dirty = [code(flush, true), code(inflight, true)].concat();
            let pages = [dirty, code(drop, false)].concat();
            SceneEvent::Evict { at, pages }
        }
        Event::Bypassed(page) => SceneEvent::Bypass { at, page },
        Event::Invalidated(pages) => SceneEvent::Discard {
            at,
            pages: pages.to_vec(),
        },
        Event::Discarded(page) => SceneEvent::Discard {
            at,
            pages: vec![page],
        },
        Event::Remapped { from, to } => SceneEvent::Rename { at, from, to },
        Event::WriteBack { lpn, at, step } => SceneEvent::WriteBack {
            at: at.0,
            page: lpn,
            step: word_of(step),
        },
        Event::FlashRead(_) => return None,
    })
}

fn word_of(step: WriteBackStep) -> &'static str {
    match step {
        WriteBackStep::Queued => "queued",
        WriteBackStep::Started => "started",
        WriteBackStep::Cancelled => "cancelled",
        WriteBackStep::Removed => "removed",
        WriteBackStep::Cleaned => "cleaned",
        WriteBackStep::Stale => "stale",
        WriteBackStep::Orphaned => "orphaned",
    }
}
