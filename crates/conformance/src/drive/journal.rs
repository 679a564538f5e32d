//! Events of one request, in the words of the worked examples.

use crate::reference::Evicted;
use destage_scheme::{Column, Note};
use destage_sim::observe::WriteBackStep;
use destage_sim::{Event, Observer};
use destage_types::{Lpn, Nanos};
use std::sync::{Arc, Mutex, MutexGuard};

/// Everything that happened during one request, in order.
#[derive(Debug, Default)]
pub struct Journal {
    /// Words behind the letters of the result column.
    pub words: Vec<String>,
    /// Items of the evicted column.
    pub events: Vec<String>,
    /// Numbers (`page_seq`) of the page accesses that the scheme was told of as hits.
    pub touched: Vec<u64>,
    /// The write was admitted or bypassed as a whole: every page counts as a miss (PC-7).
    pub whole: bool,
    /// Victim units in order.
    pub evictions: Vec<Evicted>,
    /// Cached pages removed without a flush because newer data exist.
    pub discards: Vec<u64>,
    /// Renames that found something.
    pub remaps: Vec<(u64, u64)>,
    /// Programs in order, whatever caused them.
    pub programs: Vec<u64>,
    /// Flash reads in order.
    pub reads: Vec<u64>,
    /// There is no cache: reads and programs of the request itself are events too.
    pub uncached: bool,
    /// Leave out that background programs were queued.
    pub hide_queued: bool,
    /// Background programs that are queued, in order.
    pub queue: Vec<u64>,
    /// The most bytes of metadata that the scheme had so far.
    pub most_metadata: u64,
    /// The most evicted pages whose slots the scheme kept so far.
    pub most_ghosts: usize,
    /// The item of `events` that programs of the current eviction belong to.
    flush_item: Option<usize>,
}

/// The journal of a run; the checks around the scheme, the observer of the cache and the flash
/// write to the same one, so that its order is the order of things.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Journal>>);

impl Shared {
    /// Opens the journal.
    pub fn open(&self) -> MutexGuard<'_, Journal> {
        // A failed assertion elsewhere must be reported as itself, not as a poisoned lock.
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Journal {
    /// Takes what is written of the request.
    pub fn take(&mut self) -> Journal {
        let next = Journal {
            uncached: self.uncached,
            hide_queued: self.hide_queued,
            queue: self.queue.clone(),
            most_metadata: self.most_metadata,
            most_ghosts: self.most_ghosts,
            ..Journal::default()
        };
        std::mem::replace(self, next)
    }

    /// Adds a word of the scheme's own.
    pub fn note(&mut self, note: Note) {
        match note.column {
            Column::Result => self.words.push(note.word),
            Column::Event => self.events.push(note.word),
        }
    }

    /// Adds to the item of the current eviction, for example `@chip0 wait 15`.
    pub fn annotate_eviction(&mut self, text: &str) {
        if let Some(item) = self.flush_item {
            self.events[item].push_str(text);
        }
    }

    fn item(&mut self, word: &str, pages: &[Lpn]) {
        if !pages.is_empty() {
            let names: Vec<String> = pages.iter().map(Lpn::to_string).collect();
            self.events.push(format!("{word}{{{}}}", names.join(",")));
        }
    }

    fn evicted(&mut self, flush: &[Lpn], drop: &[Lpn], inflight: &[Lpn], pad: &[Lpn]) {
        self.flush_item = (!flush.is_empty()).then_some(self.events.len());
        self.item("flush", flush);
        self.item("drop", drop);
        self.item("inflight", inflight);
        self.item("pad-read", pad);
        let dirty = flush.iter().chain(inflight);
        self.evictions.push(Evicted {
            flush: dirty.map(|l| l.0).collect(),
            drop: drop.iter().map(|l| l.0).collect(),
        });
    }

    fn written_back(&mut self, lpn: Lpn, at: Nanos, step: WriteBackStep) {
        let text = match step {
            WriteBackStep::Queued => format!("queue {lpn}"),
            WriteBackStep::Started => format!("start {lpn}"),
            WriteBackStep::Cancelled => format!("cancel {lpn}"),
            WriteBackStep::Removed => format!("done {lpn} removed"),
            WriteBackStep::Cleaned => format!("clean {lpn}"),
            WriteBackStep::Stale => format!("done {lpn} stale"),
            WriteBackStep::Orphaned => format!("done {lpn} gone"),
        };
        match step {
            WriteBackStep::Queued => self.queue.push(lpn.0),
            WriteBackStep::Started | WriteBackStep::Cancelled => {
                let at = self.queue.iter().position(|&x| x == lpn.0);
                self.queue
                    .remove(at.expect("only a queued write-back starts"));
            }
            _ => {}
        }
        if step != WriteBackStep::Queued || !self.hide_queued {
            self.events.push(format!("t{at}:{text}"));
        }
    }
}

impl Observer for Shared {
    fn request(&mut self, _index: u64) {}

    fn event(&mut self, event: Event<'_>) {
        let mut journal = self.open();
        match event {
            Event::Evicted {
                flush,
                drop,
                inflight,
                pad,
            } => journal.evicted(flush, drop, inflight, pad),
            Event::Bypassed(lpn) if journal.uncached => journal.item("flush", &[lpn]),
            Event::FlashRead(lpn) if journal.uncached => journal.item("read", &[lpn]),
            Event::Bypassed(_) | Event::FlashRead(_) => {}
            Event::Invalidated(lpns) => {
                journal.item("inval", lpns);
                journal.discards.extend(lpns.iter().map(|l| l.0));
            }
            Event::Discarded(lpn) => {
                journal.events.push(format!("discard {lpn}"));
                journal.discards.push(lpn.0);
            }
            Event::Remapped { from, to } => {
                journal.events.push(format!("remap {from}->{to}"));
                journal.remaps.push((from.0, to.0));
            }
            Event::WriteBack { lpn, at, step } => journal.written_back(lpn, at, step),
        }
    }
}
