//! Statistics of a trace. Memory grows with the number of requests only, whatever their lengths.

mod pages;
mod profile;
mod range_map;

pub use pages::PageMarks;
pub use profile::{DOUBLINGS, TraceMoment, TraceProfile};

use destage_scheme::PREFETCH;
use destage_trace::{RecentSets, RequestSlice};
use destage_types::{Extent, Nanos, Op, RequestFlags, RequestRef, SECTOR_BYTES};
use std::collections::BTreeMap;

/// Sectors of a 4 KiB page, the unit of the footprint.
const PAGE: u64 = 8;
/// Sectors above which a set of sequential writes is large, and writes that a set is remembered
/// for (Prober, sections 3.1 and 4.2.1).
const SSP: u64 = 256;
const RIP: u64 = 3000;
/// Classes of request sizes: up to 512 B, 1 KiB, 2 KiB, ... 2 TiB.
pub const CLASSES: usize = 33;

/// Bytes of the requests of a kind.
#[derive(Clone, Copy)]
pub struct RequestSizes {
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of the smallest; 0 without one.
    pub least: u64,
    /// Bytes of the largest.
    pub most: u64,
    /// Requests of up to `512 << class` bytes and more than half of that.
    pub classes: [u64; CLASSES],
    /// Their bytes.
    pub class_bytes: [u64; CLASSES],
}

impl Default for RequestSizes {
    fn default() -> RequestSizes {
        RequestSizes {
            bytes: 0,
            least: 0,
            most: 0,
            classes: [0; CLASSES],
            class_bytes: [0; CLASSES],
        }
    }
}

impl RequestSizes {
    fn add(&mut self, bytes: u64, first: bool) {
        self.bytes += bytes;
        self.least = if first { bytes } else { self.least.min(bytes) };
        self.most = self.most.max(bytes);
        let sectors = bytes.div_ceil(SECTOR_BYTES);
        let class = sectors.next_power_of_two().trailing_zeros() as usize;
        let class = class.min(CLASSES - 1);
        self.classes[class] += 1;
        self.class_bytes[class] += bytes;
    }
}

/// Counts of the requests of a trace.
pub struct TraceSummary {
    /// Requests of each [`Op`], in its order.
    pub requests: [u64; 4],
    /// Of reads and of writes.
    pub sizes: [RequestSizes; 2],
    /// Of reads and writes.
    pub pages: PageMarks,
    /// Write requests to a page that was written before.
    pub update_requests: u64,
    /// Where the last request of each stream ended.
    ends: BTreeMap<u32, u64>,
    /// Reads and writes that begin where the one before it of the same stream ended.
    pub sequential: u64,
    sets: RecentSets,
    /// Bytes written in sequential sets of more than 128 KiB (Prober, Table 1).
    pub large_bytes: u64,
    /// Lowest sector; `u64::MAX` if no request has an address.
    pub first_sector: u64,
    /// First sector behind the highest address.
    pub end_sector: u64,
    /// Arrival of the last request.
    pub last: Nanos,
    /// Requests that name an old address.
    pub requests_with_prev: u64,
    /// Requests that are part of an atomic write.
    pub atomic: u64,
    /// Writes with FUA.
    pub fua: u64,
    /// Writes with a preflush.
    pub preflush: u64,
    /// How the trace goes, if that is asked for.
    pub profile: Option<Box<TraceProfile>>,
}

impl Default for TraceSummary {
    fn default() -> TraceSummary {
        TraceSummary {
            requests: [0; 4],
            sizes: [RequestSizes::default(); 2],
            pages: PageMarks::default(),
            update_requests: 0,
            ends: BTreeMap::new(),
            sequential: 0,
            sets: RecentSets::new(SSP, RIP),
            large_bytes: 0,
            first_sector: u64::MAX,
            end_sector: 0,
            last: Nanos::ZERO,
            requests_with_prev: 0,
            atomic: 0,
            fua: 0,
            preflush: 0,
            profile: None,
        }
    }
}

impl TraceSummary {
    /// A summary with a profile.
    pub fn with_profile() -> TraceSummary {
        TraceSummary {
            profile: Some(Box::default()),
            ..TraceSummary::default()
        }
    }

    /// Counts the next requests of the trace.
    pub fn add(&mut self, block: RequestSlice<'_>) {
        for next in block.records.chunks(PREFETCH) {
            self.pages
                .prefetch(next.iter().map(|head| head.start_sector / PAGE));
            for head in next {
                self.request(block.batch.with_sides(head));
            }
        }
    }

    /// Streams that have a request.
    pub fn streams(&self) -> u64 {
        self.ends.len() as u64
    }

    fn request(&mut self, request: RequestRef<'_>) {
        let head = request.head;
        let number = &mut self.requests[head.op as usize];
        let first = *number == 0;
        *number += 1;
        self.last = head.arrival;
        self.requests_with_prev += u64::from(!request.prev.is_empty());
        self.atomic += u64::from(head.is_atomic());
        self.fua += u64::from(head.flags.any(RequestFlags::FUA));
        self.preflush += u64::from(head.flags.any(RequestFlags::PREFLUSH));
        let (write, moves) = (
            head.op == Op::Write,
            matches!(head.op, Op::Read | Op::Write),
        );
        if write {
            self.sets.begin();
        }
        let (mut sectors, mut update, mut behind) = (0, false, u64::MAX);
        for extent in request.extents() {
            self.first_sector = self.first_sector.min(extent.start_sector);
            self.end_sector = self.end_sector.max(extent.end());
            sectors += u64::from(extent.sectors);
            behind = extent.end();
            if moves {
                update |= self.data(extent, write);
            }
        }
        let end = self.ends.entry(head.stream).or_insert(u64::MAX);
        if moves {
            self.sequential += u64::from(*end == head.start_sector);
            *end = behind;
            self.sizes[usize::from(write)].add(sectors * SECTOR_BYTES, first);
            self.update_requests += u64::from(write && update);
        }
        if let Some(profile) = &mut self.profile {
            profile.request(request, self.pages.touched, self.pages.written);
        }
    }

    /// Counts an extent of a read or write, and says whether one of its pages was written before.
    fn data(&mut self, extent: Extent, write: bool) -> bool {
        let pages = (extent.start_sector / PAGE, extent.end().div_ceil(PAGE));
        let update = self.pages.access(pages.0, pages.1, write);
        if let Some(profile) = &mut self.profile {
            profile.access(pages.0, pages.1);
        }
        if write {
            self.large(extent);
        }
        update
    }

    /// A set that becomes large brings along what it was made of (Prober, section 3.1).
    fn large(&mut self, extent: Extent) {
        let sectors = self.sets.write(extent.start_sector, extent.end() - 1);
        self.large_bytes += sectors * SECTOR_BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::layer::lwrs::Lwrs;
    use destage_types::rng::SplitMix64;
    use destage_types::{HostRequest, RequestBatch};

    #[test]
    fn sizes_fall_into_classes() {
        let mut sizes = RequestSizes::default();
        for (i, bytes) in [4096, 512, 4608, 8192].into_iter().enumerate() {
            sizes.add(bytes, i == 0);
        }
        assert_eq!((sizes.bytes, sizes.least, sizes.most), (17_408, 512, 8_192));
        assert_eq!(
            (sizes.classes[0], sizes.classes[3], sizes.classes[4]),
            (1, 1, 2)
        );
    }

    #[test]
    fn a_profile_says_when_what_was_touched() {
        let mut batch = RequestBatch::new();
        let mut arrival = 0;
        for i in 0..1_000u64 {
            // 100 pages, ten times over; every tenth request is 8 us behind the one before, the others 1 us.
            arrival += if i % 10 == 0 { 8_000 } else { 1_000 };
            let op = if i < 500 { Op::Write } else { Op::Read };
            let page = i % 100 * PAGE;
            batch.push(HostRequest::new(Nanos(arrival), op, page, PAGE as u32));
        }
        let mut summary = TraceSummary::with_profile();
        let records = batch.records();
        summary.add(RequestSlice {
            batch: &batch,
            records,
        });
        let profile = summary.profile.unwrap();
        assert_eq!((profile.first, profile.reuse[7]), (100, 900));
        assert_eq!((profile.gaps[10], profile.gaps[13]), (900, 99));
        let moments = profile.moments();
        assert!((128..=257).contains(&moments.len()), "{}", moments.len());
        let last = moments.last().unwrap();
        assert_eq!(
            (last.requests, last.touched, last.written),
            (1_000, 100, 100)
        );
        assert_eq!(
            (last.read_bytes, last.write_bytes),
            (500 * 4096, 500 * 4096)
        );
        let halfway = moments.iter().find(|m| m.requests >= 50).unwrap();
        assert_eq!(halfway.touched, halfway.requests);
    }

    #[test]
    fn sets_are_those_of_the_scheme() {
        let mut rng = SplitMix64::new(11);
        // Few sets, and so many that they come in blocks.
        let mut compare = |window, pages| {
            let (mut own, mut scheme) = (RecentSets::new(64, window), Lwrs::new(64, window));
            let (mut large, mut most) = (0, 0);
            for _ in 0..50_000 {
                own.begin();
                scheme.begin();
                for _ in 0..=rng.below(2) {
                    let first = rng.below(pages) * 8;
                    let last = first + 8 * (1 + rng.below(6)) - 1;
                    let grown = scheme.write(first, last);
                    let joined = grown.joined.iter().flatten();
                    let joined: u64 = joined.map(|set| set.sectors()).sum();
                    let expected = if grown.large {
                        joined + (last - first + 1)
                    } else {
                        0
                    };
                    assert_eq!(own.write(first, last), expected);
                    assert_eq!(own.len(), scheme.len());
                    large += u64::from(grown.large);
                    most = most.max(own.len());
                }
            }
            (large, most)
        };
        let (large, _) = compare(50, 300);
        assert!(large > 1_000, "{large}");
        let (large, most) = compare(1_000, 8_000);
        assert!(large > 100 && most > 500, "{large} {most}");
    }
}
