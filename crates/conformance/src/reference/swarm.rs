//! Random request streams, swarm style: every seed draws its own mix, so that in some streams an
//! operation, a size or a locality does not occur at all.

use destage_types::{Op, RequestFlags};

use super::request::SlowRequest;
use super::rng::SplitMix64;

/// Features that a stream may contain; the seed decides which it does contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Requests of the stream.
    pub requests: usize,
    /// Sectors of a page: 4 (2 KiB) to 128 (64 KiB).
    pub spp: u32,
    /// Pages of the address space.
    pub pages: u64,
    /// Most pages of one request.
    pub longest: u64,
    /// Requests that cover pages partly.
    pub partial: bool,
    /// TRIM requests.
    pub trim: bool,
    /// FLUSH requests.
    pub flush: bool,
    /// Writes with FUA or a preflush.
    pub forced: bool,
    /// Old addresses with writes, some of them atomic.
    pub prev: bool,
    /// Requests of several extents (never two on one page).
    pub extents: bool,
}

impl Profile {
    /// Everything but FUA, preflushes, old addresses and several extents, in a space of 64 pages.
    pub fn new(requests: usize, spp: u32) -> Profile {
        Profile {
            requests,
            spp,
            pages: 64,
            longest: 12,
            partial: true,
            trim: true,
            flush: true,
            forced: false,
            prev: false,
            extents: false,
        }
    }

    /// Another address space, in pages.
    pub fn pages(self, pages: u64) -> Profile {
        Profile { pages, ..self }
    }

    /// Writes with FUA or a preflush too.
    pub fn with_forced(self) -> Profile {
        Profile {
            forced: true,
            ..self
        }
    }

    /// Old addresses too (cac; pages of 8 sectors).
    pub fn with_prev(self) -> Profile {
        Profile { prev: true, ..self }
    }

    /// Requests of several extents too.
    pub fn with_extents(self) -> Profile {
        Profile {
            extents: true,
            ..self
        }
    }

    /// Whole pages only.
    pub fn whole_pages(self) -> Profile {
        Profile {
            partial: false,
            ..self
        }
    }

    /// Reads and writes only.
    pub fn data_only(self) -> Profile {
        Profile {
            trim: false,
            flush: false,
            ..self
        }
    }
}

/// The mix of one stream.
struct Mix {
    /// Weights of R, W, T, F.
    ops: [u64; 4],
    /// Weights of: anywhere, hot set, on from a former request, a page written lately.
    places: [u64; 4],
    hot_from: u64,
    hot_pages: u64,
    longest: u64,
    partial: u64,
    still: u64,
    gap: u64,
    prev: u64,
    /// Old addresses inside a page, which stand for that page.
    inside: u64,
    atomic: u64,
    extents: u64,
    /// FUA, and a preflush, of writes.
    forced: [u64; 2],
}

fn drawn(rng: &mut SplitMix64, allowed: bool, bound: u64) -> u64 {
    match allowed && rng.chance(75) {
        true => 1 + rng.below(bound),
        false => 0,
    }
}

impl Mix {
    fn draw(rng: &mut SplitMix64, profile: &Profile) -> Mix {
        let mut mix = Mix {
            ops: [
                drawn(rng, true, 20),
                drawn(rng, true, 20),
                drawn(rng, profile.trim, 4),
                drawn(rng, profile.flush, 2),
            ],
            places: [(); 4].map(|()| drawn(rng, true, 10)),
            hot_from: rng.below(profile.pages),
            hot_pages: 1 + rng.below(profile.pages / 4 + 1),
            longest: 1 + rng.below(profile.longest),
            partial: drawn(rng, profile.partial, 99),
            still: drawn(rng, true, 99),
            gap: 1 + rng.below(1_000_000),
            prev: drawn(rng, profile.prev, 99),
            inside: drawn(rng, profile.prev, 99),
            atomic: drawn(rng, profile.prev, 99),
            extents: drawn(rng, profile.extents, 50),
            forced: [0; 2],
        };
        if mix.ops[0] + mix.ops[1] == 0 {
            mix.ops[1] = 1;
        }
        if mix.places.iter().sum::<u64>() == 0 {
            mix.places[0] = 1;
        }
        mix
    }
}

fn choose(rng: &mut SplitMix64, weights: &[u64; 4]) -> usize {
    let mut left = rng.below(weights.iter().sum());
    for (i, &weight) in weights.iter().enumerate() {
        if left < weight {
            return i;
        }
        left -= weight;
    }
    unreachable!("the number is below the sum of the weights")
}

/// Sectors of a request: pages from `page` on, the ends cut off for partial ones.
fn extent(rng: &mut SplitMix64, profile: &Profile, mix: &Mix, page: u64) -> (u64, u32) {
    let most = mix.longest.min(profile.pages - page);
    let pages = match rng.chance(50) {
        true => 1,
        false => 1 + rng.below(most),
    };
    let spp = u64::from(profile.spp);
    let (mut start, mut sectors) = (page * spp, pages * spp);
    if rng.chance(mix.partial) {
        let cut = rng.below(spp);
        start += cut;
        sectors -= cut;
        sectors -= rng.below(sectors.min(spp));
    }
    (start, sectors as u32)
}

fn pages_of(extent: (u64, u32), spp: u32) -> std::ops::RangeInclusive<u64> {
    let spp = u64::from(spp);
    extent.0 / spp..=(extent.0 + u64::from(extent.1) - 1) / spp
}

/// Old addresses of the pages that a write has as its `own`, of those that were `written` before.
fn old_addresses(
    rng: &mut SplitMix64,
    mix: &Mix,
    spp: u64,
    own: &[u64],
    written: &mut Vec<u64>,
) -> Vec<Option<u64>> {
    let mut prev = Vec::new();
    for &page in own {
        let old = written[rng.below(written.len() as u64) as usize];
        let old = rng.chance(mix.prev).then(|| match rng.chance(mix.inside) {
            true => old * spp + rng.below(spp),
            false => old * spp,
        });
        prev.push(old.filter(|_| mix.prev > 0));
        written.insert(0, page);
    }
    written.truncate(24);
    if mix.prev == 0 {
        prev.clear();
    }
    prev
}

/// The stream of `seed`: always the same for the same seed and profile.
pub fn swarm(seed: u64, profile: Profile) -> Vec<SlowRequest> {
    let rng = &mut SplitMix64::new(seed);
    let mut mix = Mix::draw(rng, &profile);
    // Numbers of their own, so that streams are what they were without them.
    let force = &mut SplitMix64::new(seed ^ 0xf0a);
    mix.forced = [(); 2].map(|()| drawn(force, profile.forced, 12));
    let spp = u64::from(profile.spp);
    let space = profile.pages * spp;
    let (mut arrival, mut ends, mut out) = (0, [0; 3], Vec::new());
    let mut written: Vec<u64> = vec![0];
    for _ in 0..profile.requests {
        if !rng.chance(mix.still) {
            arrival += rng.below(mix.gap);
        }
        let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][choose(rng, &mix.ops)];
        let mut request = SlowRequest::new(op, 0, 0);
        request.arrival = arrival;
        if op == Op::Flush {
            out.push(request);
            continue;
        }
        let (place, which) = (choose(rng, &mix.places), rng.below(3) as usize);
        let stream = (place == 2).then_some(which);
        let page = match place {
            0 => rng.below(profile.pages),
            1 => mix.hot_from + rng.below(mix.hot_pages),
            2 => ends[which] / spp,
            _ => written[rng.below(written.len() as u64) as usize],
        } % profile.pages;
        let mut first = extent(rng, &profile, &mix, page);
        if let Some(stream) = stream {
            first.0 = ends[stream];
            first.1 = first.1.min((space - first.0) as u32);
        }
        let mut extents = vec![first];
        while rng.chance(mix.extents) && extents.len() < 4 {
            let more = rng.below(profile.pages);
            let more = extent(rng, &profile, &mix, more);
            let mut taken = extents.iter().flat_map(|&e| pages_of(e, profile.spp));
            if !taken.any(|p| pages_of(more, profile.spp).contains(&p)) {
                extents.push(more);
            }
        }
        let end = first.0 + u64::from(first.1);
        ends[which] = if end < space { end } else { 0 };
        let own: Vec<u64> = (extents.iter())
            .flat_map(|&e| pages_of(e, profile.spp))
            .collect();
        request.extents = extents;
        if op == Op::Write {
            request.atomic = rng.chance(mix.atomic);
            let [fua, preflush] = mix.forced.map(|percent| force.chance(percent));
            request.flags = RequestFlags::FUA
                .only_if(fua)
                .and(RequestFlags::PREFLUSH.only_if(preflush));
            request.prev = old_addresses(rng, &mix, spp, &own, &mut written);
        }
        out.push(request);
    }
    out
}
