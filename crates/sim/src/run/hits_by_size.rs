//! Hits of pages by the size of the write request that brought them in (Req-block, Figs 2 and 3).

use crate::RunError;
use destage_record::counts::ratio;
use destage_record::{HitsBySize, SizeClass};
use destage_scheme::{Access, Admission, Boxed, Layer, Request, SchemeNotice, View};
use destage_trace::Workload;
use destage_types::{Op, Slot};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts of requests of one exact size.
type Sizes = BTreeMap<u64, SizeClass>;

/// Hits that a [`SizeMeter`] has counted so far.
#[derive(Clone, Default)]
pub(crate) struct SizesFound {
    sizes: Arc<Mutex<Sizes>>,
    counts: Arc<AtomicBool>,
}

impl SizesFound {
    /// Says whether the requests that come to the cache next are of the measured part.
    pub fn count(&self, on: bool) {
        self.counts.store(on, Ordering::Relaxed);
    }

    fn counts(&self) -> bool {
        self.counts.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64, what: impl FnOnce(&mut SizeClass)) {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        what(sizes.entry(bytes).or_default());
    }

    pub fn report(&self, mean_bytes: f64) -> HitsBySize {
        let sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut small, mut large) = (SizeClass::default(), SizeClass::default());
        let mut classes: Sizes = BTreeMap::new();
        for (&bytes, found) in sizes.iter() {
            let side = if bytes as f64 > mean_bytes {
                &mut large
            } else {
                &mut small
            };
            side.add(found);
            let class = SizeClass::of(bytes);
            let row = classes.entry(class).or_default();
            row.bytes = class;
            row.add(found);
        }
        let share = |part: u64, rest: u64| ratio(part as f64, (part + rest) as f64);
        HitsBySize {
            mean_bytes,
            small_insert_share: share(small.inserts, large.inserts),
            small_hit_share: share(small.hits, large.hits),
            large_reaccessed_share: ratio(large.reaccessed as f64, large.inserts as f64),
            classes: classes.into_values().collect(),
        }
    }
}

/// The page in a slot.
#[derive(Clone, Copy, Default)]
struct Origin {
    /// Bytes of the write request that brought it in; 0 if a read did.
    bytes: u64,
    /// It came in in the measured part.
    counts: bool,
    /// It was hit since.
    hit: bool,
}

/// A request that is served.
#[derive(Clone, Copy)]
struct Served {
    /// 0 for a read.
    bytes: u64,
    /// Is it of the measured part? Where later requests overtake those of the warm-up, the order does not tell.
    counts: bool,
}

/// Watches what the cache tells the scheme inside, and decides nothing. Pages that leave are not
/// watched: the next page in the slot takes their place.
pub(super) struct SizeMeter {
    inner: Boxed,
    /// The requests that are served, by their numbers. Several are where writes wait for frames.
    requests: BTreeMap<u64, Served>,
    slots: Vec<Origin>,
    found: SizesFound,
}

impl SizeMeter {
    pub fn around(inner: Boxed) -> (Boxed, SizesFound) {
        let found = SizesFound::default();
        let meter = SizeMeter {
            inner,
            requests: BTreeMap::new(),
            slots: Vec::new(),
            found: found.clone(),
        };
        (Boxed(Box::new(meter)), found)
    }

    fn served(&self, a: &Access) -> Served {
        let known = self.requests.get(&a.request).copied();
        known.unwrap_or(Served {
            bytes: 0,
            counts: self.found.counts(),
        })
    }
}

impl Layer for SizeMeter {
    destage_scheme::inside!(inner: Boxed);

    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        let bytes = match r.op {
            Op::Read => 0,
            _ => r.bytes,
        };
        let counts = self.found.counts();
        self.requests.insert(r.id, Served { bytes, counts });
        self.inner.on_request(r, v)
    }

    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        if let SchemeNotice::RequestEnd(r) = notice {
            self.requests.remove(&r.id);
        }
        self.inner.on_notice(notice, v);
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        let i = slot.index();
        if i >= self.slots.len() {
            self.slots.resize(i + 1, Origin::default());
        }
        let Served { bytes, counts } = self.served(a);
        self.slots[i] = Origin {
            bytes,
            counts,
            hit: false,
        };
        if counts && bytes > 0 {
            self.found.add(bytes, |class| class.inserts += 1);
        }
        self.inner.on_insert(slot, a, v);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        let served = self.served(a);
        let origin = &mut self.slots[slot.index()];
        if served.counts && origin.bytes > 0 {
            let first = origin.counts && !origin.hit;
            self.found.add(origin.bytes, |class| {
                class.hits += 1;
                class.reaccessed += u64::from(first);
            });
        }
        origin.hit = true;
        self.inner.on_hit(slot, a, v);
    }
}

/// Mean size of all reads and writes, in bytes; 0 without one.
pub(super) fn mean_bytes(workload: Workload<'_>) -> Result<f64, RunError> {
    let (mut requests, mut bytes) = (0u64, 0u128);
    let mut pass = workload.pass()?;
    while let Some(block) = pass.next(u64::MAX)? {
        for head in block.records {
            if matches!(head.op, Op::Read | Op::Write) {
                requests += 1;
                bytes += u128::from(block.batch.with_sides(head).bytes());
            }
        }
    }
    Ok(ratio(bytes as f64, requests as f64).unwrap_or(0.0))
}
