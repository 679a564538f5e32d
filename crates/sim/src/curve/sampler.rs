//! Which pages are in a sample, and taking it while the requests of a trace come by once.

use super::pages::{PageCount, each_page, only_page};
use super::{CurveCounts, LOOK_EVERY, SampleSize, Sampling};
use crate::RunError;
use crate::run::meter::{Meter, look};
use destage_scheme::rng::{self, mix64};
use destage_trace::{RequestSlice, Trace, TraceMeta};
use destage_types::{
    Extent, HostRequest, Lpn, Op, PageSize, RequestBatch, RequestFlags, RequestRef, SectorMask,
};
use std::collections::BTreeSet;

/// Groups of pages, each of which is left out once for the error.
pub const GROUPS: u64 = 8;

/// Bits of a hash that the threshold is compared with.
const HASH_BITS: u32 = 53;

/// Requests that are kept at least before those of pages that have left the sample are looked for.
const KEPT: usize = 1 << 16;

#[derive(Clone, Copy)]
pub(super) struct PagePicker {
    /// Added to each page number before it is hashed; follows from the seed.
    salt: u64,
    /// Hashes below it are in the sample.
    threshold: u64,
    /// The group that is left out.
    without: Option<u64>,
}

impl PagePicker {
    fn of(sampling: &Sampling) -> PagePicker {
        let threshold = match sampling.size {
            SampleSize::Rate(rate) => {
                assert!(rate > 0.0 && rate <= 1.0, "a rate of {rate}");
                rng::threshold(rate)
            }
            SampleSize::Pages(_) => 1 << HASH_BITS,
        };
        PagePicker {
            salt: mix64(sampling.seed ^ 0x9E37_79B9_7F4A_7C15),
            threshold,
            without: None,
        }
    }

    pub fn without(self, group: u64) -> PagePicker {
        PagePicker {
            without: Some(group),
            ..self
        }
    }

    /// Is every page in the sample?
    pub fn picks_all(&self) -> bool {
        self.threshold == 1 << HASH_BITS
    }

    fn hash(&self, lpn: Lpn) -> u64 {
        mix64(lpn.0.wrapping_add(self.salt))
    }

    fn picks(&self, lpn: Lpn) -> bool {
        let hash = self.hash(lpn);
        hash >> (64 - HASH_BITS) < self.threshold && self.without != Some(hash % GROUPS)
    }

    pub fn rate(&self) -> f64 {
        let rate = self.threshold as f64 / (1u64 << HASH_BITS) as f64;
        match self.without {
            Some(_) => rate * (GROUPS - 1) as f64 / GROUPS as f64,
            None => rate,
        }
    }
}

/// The pages with the smallest hashes so far.
struct Smallest {
    pages: BTreeSet<(u64, u64)>,
    most: u64,
}

impl Smallest {
    /// Takes in a page, and lowers the threshold if there are too many.
    fn add(&mut self, picker: &mut PagePicker, lpn: Lpn) {
        let hash = picker.hash(lpn) >> (64 - HASH_BITS);
        if self.pages.insert((hash, lpn.0)) && self.pages.len() as u64 > self.most {
            let out = self.pages.pop_last().expect("more than one page is kept");
            picker.threshold = out.0;
        }
    }
}

/// Takes a sample of the pages of a trace, whose requests it is shown once. Of other pages it keeps nothing, or
/// a bit each to count them.
pub struct Sampler {
    page: PageSize,
    picker: PagePicker,
    /// If the number of pages is fixed: the threshold falls while pages come, so all accesses to pages that
    /// are in the sample in the end have been kept.
    smallest: Option<Smallest>,
    /// Number of the first request that is measured.
    first: u64,
    requests: u64,
    all: CurveCounts,
    /// Counts all pages, if that is asked for.
    footprint: Option<PageCount>,
    kept: KeptRequests,
    /// Kept requests from which on pages that have left are looked for.
    full: usize,
    extents: Vec<Extent>,
}

/// Requests of which something is kept.
#[derive(Default)]
struct KeptRequests {
    requests: RequestBatch,
    /// Those before the measured ones.
    warmup: u64,
}

impl Sampler {
    /// A sample of pages of size `page`, for a measured part that begins with request number `first`.
    ///
    /// # Panics
    /// If the rate is not above 0 and at most 1.
    pub fn new(page: PageSize, sampling: &Sampling, first: u64) -> Sampler {
        let smallest = match sampling.size {
            SampleSize::Rate(_) => None,
            SampleSize::Pages(most) => Some(Smallest {
                pages: BTreeSet::new(),
                most,
            }),
        };
        Sampler {
            page,
            picker: PagePicker::of(sampling),
            smallest,
            first,
            requests: 0,
            all: CurveCounts::default(),
            footprint: None,
            kept: KeptRequests::default(),
            full: KEPT,
            extents: Vec::new(),
        }
    }

    /// Counts all pages, too, for [`PageSample::footprint`].
    #[must_use]
    pub fn counting(mut self) -> Sampler {
        self.footprint = Some(PageCount::default());
        self
    }

    /// The next requests of the trace.
    ///
    /// # Errors
    /// The program takes too much memory.
    pub fn add(&mut self, block: RequestSlice<'_>, meter: &dyn Meter) -> Result<(), RunError> {
        for records in block.records.chunks(LOOK_EVERY as usize) {
            for head in records {
                self.request(block.batch.with_sides(head));
            }
            look(meter, self.requests - 1)?;
        }
        Ok(())
    }

    fn request(&mut self, request: RequestRef<'_>) {
        // As a rule a request lies in one page, and that is in no sample.
        let preflush = request.head.flags.any(RequestFlags::PREFLUSH);
        match only_page(request, self.page) {
            Some(lpn) if !self.picker.picks(lpn) && !preflush => {
                let moves = moves_data(request.head.op);
                if let (true, Some(footprint)) = (moves, &mut self.footprint) {
                    footprint.touch(lpn);
                }
                self.count(request.head.op, 1);
            }
            _ => self.sample(request),
        }
        self.requests += 1;
    }

    /// Counts a request of so many pages, if it is measured.
    fn count(&mut self, op: Op, pages: u64) {
        if self.requests >= self.first && moves_data(op) {
            self.all.count(op, pages);
        }
    }

    fn sample(&mut self, request: RequestRef<'_>) {
        let (op, moves, mut pages) = (request.head.op, moves_data(request.head.op), 0);
        self.extents.clear();
        each_page(request, self.page, |lpn, mask| {
            pages += 1;
            if let (true, Some(footprint)) = (moves, &mut self.footprint) {
                footprint.touch(lpn);
            }
            if self.picker.picks(lpn) {
                if let (true, Some(smallest)) = (moves, &mut self.smallest) {
                    smallest.add(&mut self.picker, lpn);
                }
                self.extents.push(extent(lpn, mask, self.page));
            }
        });
        self.count(op, pages);
        let warmup = self.requests < self.first;
        self.kept.keep(request.head, &self.extents, warmup);
        if self.smallest.is_some() && self.kept.requests.len() > self.full {
            self.kept = self.kept.filtered(self.page, self.picker);
            self.full = KEPT.max(2 * self.kept.requests.len());
        }
    }

    /// The sample of the trace that `meta` describes.
    pub fn finish(self, meta: TraceMeta) -> PageSample {
        let requests = self.requests;
        let trace = |kept: KeptRequests| SampledRequests::new(kept, &meta);
        PageSample {
            sample: trace(match self.smallest {
                Some(_) => self.kept.filtered(self.page, self.picker),
                None => self.kept,
            }),
            picker: self.picker,
            requests,
            all: self.all,
            footprint: self.footprint.map(|count| count.pages),
        }
    }
}

impl KeptRequests {
    /// Keeps what is left of a request: of a write with a preflush at least that, as a FLUSH.
    fn keep(&mut self, head: &HostRequest, extents: &[Extent], warmup: bool) {
        let HostRequest { arrival, op, .. } = *head;
        let preflush = head.flags.any(RequestFlags::PREFLUSH);
        match extents.split_first() {
            Some((first, more)) => {
                let mut kept = HostRequest::new(arrival, op, first.start_sector, first.sectors);
                kept.flags = head.flags.among(RequestFlags::OF_WRITES);
                self.requests.push_with(kept, more, &[]);
            }
            None if op == Op::Flush || preflush => {
                self.requests
                    .push(HostRequest::new(arrival, Op::Flush, 0, 0));
            }
            None => return,
        }
        self.warmup += u64::from(warmup);
    }

    /// The kept requests, reduced to the pages that `picker` takes.
    fn filtered(&self, page: PageSize, picker: PagePicker) -> KeptRequests {
        filtered(&self.requests, self.warmup, page, picker)
    }
}

fn filtered(
    requests: &RequestBatch,
    warmup: u64,
    page: PageSize,
    picker: PagePicker,
) -> KeptRequests {
    let mut kept = KeptRequests::default();
    let mut extents = Vec::new();
    for (number, request) in (0..).zip(requests.iter()) {
        extents.clear();
        each_page(request, page, |lpn, mask| {
            if picker.picks(lpn) {
                extents.push(extent(lpn, mask, page));
            }
        });
        kept.keep(request.head, &extents, number < warmup);
    }
    kept
}

/// The requests of the sampled pages.
pub(super) struct SampledRequests {
    pub trace: Trace,
    /// Requests of the part before the measured one.
    pub warmup: u64,
}

impl SampledRequests {
    fn new(kept: KeptRequests, meta: &TraceMeta) -> SampledRequests {
        let mut meta = meta.clone();
        meta.requests = kept.requests.len() as u64;
        SampledRequests {
            trace: Trace {
                requests: kept.requests,
                meta,
            },
            warmup: kept.warmup,
        }
    }

    /// Its different pages, and the accesses to them.
    pub fn pages_and_accesses(&self, page: PageSize) -> (u64, u64) {
        let (mut pages, mut accesses) = (PageCount::default(), 0);
        let requests = self.trace.requests.iter();
        for request in requests.filter(|r| moves_data(r.head.op)) {
            each_page(request, page, |lpn, _| {
                accesses += 1;
                pages.touch(lpn);
            });
        }
        (pages.pages, accesses)
    }

    /// The requests and page accesses of the measured part, as a cache without a frame counts them.
    pub fn measured_accesses(&self, page: PageSize) -> CurveCounts {
        let mut counts = CurveCounts::default();
        let requests = self.trace.requests.iter().skip(self.warmup as usize);
        for request in requests.filter(|r| moves_data(r.head.op)) {
            let mut pages = 0;
            each_page(request, page, |_, _| pages += 1);
            counts.count(request.head.op, pages);
        }
        counts
    }

    /// The part of it that `picker` leaves.
    pub fn restricted_to(&self, page: PageSize, picker: PagePicker) -> SampledRequests {
        let kept = filtered(&self.trace.requests, self.warmup, page, picker);
        SampledRequests::new(kept, &self.trace.meta)
    }
}

/// A sample of the pages of a trace, and what is known of all of it.
pub struct PageSample {
    pub(super) sample: SampledRequests,
    pub(super) picker: PagePicker,
    /// Requests of the trace.
    pub(super) requests: u64,
    /// Accesses of the measured part of the whole trace.
    pub(super) all: CurveCounts,
    footprint: Option<u64>,
}

impl PageSample {
    /// Different pages that the whole trace reads or writes, if the sampler counted them.
    pub fn footprint(&self) -> Option<u64> {
        self.footprint
    }

    /// The requests that are left.
    pub fn trace(&self) -> &Trace {
        &self.sample.trace
    }
}

fn moves_data(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write)
}

fn extent(lpn: Lpn, mask: SectorMask, page: PageSize) -> Extent {
    let before = u64::from(mask.0.trailing_zeros());
    Extent::new(page.first_sector(lpn) + before, mask.count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::meter::Unmetered;
    use destage_scheme::rng::SplitMix64;
    use destage_types::Nanos;

    fn requests(count: u64, pages: u64) -> RequestBatch {
        let mut random = SplitMix64::new(5);
        let mut below = |n: u64| (random.next_u64() >> 11) % n;
        let mut batch = RequestBatch::new();
        for i in 0..count {
            let op = [Op::Read, Op::Write, Op::Write, Op::Trim][below(4) as usize];
            let (start, sectors) = (8 * below(pages) + below(3), 1 + below(20) as u32);
            let mut head = match below(50) {
                0 => HostRequest::new(Nanos(i), Op::Flush, 0, 0),
                _ => HostRequest::new(Nanos(i), op, start, sectors),
            };
            if head.op == Op::Write {
                let (fua, preflush) = (below(30) == 0, below(30) == 0);
                head.flags = RequestFlags::FUA
                    .only_if(fua)
                    .and(RequestFlags::PREFLUSH.only_if(preflush));
            }
            batch.push(head);
        }
        batch
    }

    /// The requests that are kept, by two passes: one finds the pages with the smallest hashes, and
    /// one keeps the requests of these pages.
    #[test]
    fn a_fixed_number_of_pages_is_that_of_two_passes() {
        let (page, most) = (PageSize::KIB4, 4_000);
        let batch = requests(150_000, 10_000);
        let sampling = Sampling {
            size: SampleSize::Pages(most),
            seed: 3,
        };
        let mut sampler = Sampler::new(page, &sampling, 1_000).counting();
        let meta = destage_trace::synth::demo(1).meta;
        let records = batch.records();
        let batch = &batch;
        sampler
            .add(RequestSlice { batch, records }, &Unmetered)
            .unwrap();
        assert!(sampler.full > KEPT, "pages that left were looked for");
        let found = sampler.finish(meta);

        let picker = PagePicker::of(&sampling);
        let mut pages = BTreeSet::new();
        for request in batch.iter().filter(|r| moves_data(r.head.op)) {
            each_page(request, page, |lpn, _| {
                pages.insert((picker.hash(lpn), lpn.0));
            });
        }
        assert_eq!(found.footprint(), Some(pages.len() as u64));
        let picked: BTreeSet<u64> = pages.iter().take(most as usize).map(|p| p.1).collect();
        let (mut kept, mut warmup, mut accesses) = (Vec::new(), 0, 0);
        for (i, request) in batch.iter().enumerate() {
            let mut extents = Vec::new();
            each_page(request, page, |lpn, mask| {
                if picked.contains(&lpn.0) {
                    extents.push(extent(lpn, mask, page));
                }
            });
            if moves_data(request.head.op) {
                accesses += extents.len() as u64;
            }
            let mut head = *request.head;
            if extents.is_empty() && head.flags.any(RequestFlags::PREFLUSH) {
                (head.op, head.flags) = (Op::Flush, RequestFlags::NONE);
            }
            if !extents.is_empty() || head.op == Op::Flush {
                kept.push((head.arrival, head.op, head.flags, extents));
                warmup += u64::from(i < 1_000);
            }
        }
        let sample = &found.sample;
        assert_eq!(sample.pages_and_accesses(page), (most, accesses));
        assert_eq!(sample.warmup, warmup);
        let of = |r: RequestRef<'_>| {
            let extents: Vec<_> = r.extents().collect();
            (r.head.arrival, r.head.op, r.head.flags, extents)
        };
        assert!(sample.trace.requests.iter().map(of).eq(kept));
    }
}
