//! Patterns of writes: which page comes next, and how often each page is written.

use super::analytic::RateGroup;
use destage_scheme::rng::threshold;
use destage_trace::synth::{ZipfLaw, ZipfRanks};
use destage_types::rng::SplitMix64;

/// A zone of the logical pages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WafZone {
    /// Its share of the pages.
    pub space: f64,
    /// Its share of the writes.
    pub writes: f64,
}

/// How writes that are not sequential choose their pages.
#[derive(Clone, PartialEq, Debug)]
pub enum WafPattern {
    /// Every page alike.
    Uniform,
    /// The page of rank r, from 1 on, with weight r^-theta. Ranks are shuffled over the pages.
    Zipf(f64),
    /// A zone by its share of the writes, then each of its pages alike. Zones are shuffled over the pages.
    Zones(Vec<WafZone>),
}

/// A pattern of writes.
#[derive(Clone, PartialEq, Debug)]
pub struct WritePattern {
    /// Pages of writes that are not sequential.
    pub at: WafPattern,
    /// Pages of the drive that those of a Zipf pattern stand for (D-20), if it is scaled down.
    pub zipf_pages: Option<u64>,
    /// Share of the writes that go through all logical pages in order, from the first again after the
    /// last; 0 to 1.
    pub sequential: f64,
}

/// Shares must come to 1, up to the rounding of decimals.
const SUM_TOLERANCE: f64 = 1e-9;

impl WritePattern {
    /// Bytes for each logical page that a writer takes at most: the table of ranks while it is made,
    /// and their order.
    pub(super) fn bytes_per_page(&self) -> u64 {
        match self.at {
            WafPattern::Uniform => 0,
            WafPattern::Zipf(_) => 44,
            WafPattern::Zones(_) => 4,
        }
    }

    /// Does the pattern work with so many logical pages?
    pub(super) fn check(&self, logical: u32) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.sequential) {
            return Err(format!(
                "a sequential share of {}: allowed is a number from 0 to 1",
                self.sequential
            ));
        }
        match &self.at {
            WafPattern::Uniform => Ok(()),
            WafPattern::Zipf(_) if self.zipf_pages.is_some_and(|all| all < logical.into()) => {
                Err(format!("{logical} logical pages cannot stand for fewer"))
            }
            WafPattern::Zipf(theta) if (0.0..=10.0).contains(theta) => Ok(()),
            WafPattern::Zipf(theta) => Err(format!(
                "a Zipf exponent of {theta}: allowed is a number from 0 to 10"
            )),
            WafPattern::Zones(zones) => check_zones(zones, logical),
        }
    }

    fn zipf(&self, theta: f64) -> ZipfLaw {
        let ranks = self.zipf_pages;
        ZipfLaw { theta, ranks }
    }

    /// How often each page is written, per host write; `None` if writes depend on those before them.
    pub(super) fn rates(&self, logical: u32) -> Option<Vec<RateGroup>> {
        if self.sequential > 0.0 {
            return None;
        }
        Some(match &self.at {
            WafPattern::Uniform => vec![RateGroup::sharing(f64::from(logical), 1.0)],
            WafPattern::Zipf(theta) => zipf_rates(logical, self.zipf(*theta)),
            WafPattern::Zones(zones) => {
                let group = |(range, zone): (Places, &WafZone)| {
                    RateGroup::sharing(f64::from(range.count), zone.writes)
                };
                places(zones, logical).zip(zones).map(group).collect()
            }
        })
    }
}

fn check_zones(zones: &[WafZone], logical: u32) -> Result<(), String> {
    let share = |x: f64| (0.0..=1.0).contains(&x);
    if zones.len() < 2 {
        return Err("one zone: at least two are needed".to_owned());
    }
    for zone in zones {
        if !share(zone.space) || !share(zone.writes) {
            return Err(format!(
                "zone {}:{}: allowed are shares from 0 to 1",
                zone.space, zone.writes
            ));
        }
    }
    let sums: [f64; 2] =
        [|z: &WafZone| z.space, |z: &WafZone| z.writes].map(|share| zones.iter().map(share).sum());
    for (what, sum) in ["space", "writes"].into_iter().zip(sums) {
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(format!(
                "the shares of {what} of all zones come to {sum}: they must come to 1"
            ));
        }
    }
    for (range, zone) in places(zones, logical).zip(zones) {
        if range.count == 0 && zone.writes > 0.0 {
            return Err(format!(
                "zone {}:{} has no page of {logical} logical pages, but writes",
                zone.space, zone.writes
            ));
        }
    }
    Ok(())
}

/// Consecutive places of the pattern, before they are shuffled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// The places of each zone: from where the one before ends to the sum of the shares so far, rounded.
fn places(zones: &[WafZone], logical: u32) -> impl Iterator<Item = Places> {
    let (mut sum, mut first) = (0.0, 0);
    zones.iter().map(move |zone| {
        sum += zone.space;
        let end = libm::round(sum * f64::from(logical)) as u32;
        let count = end.min(logical) - first;
        first += count;
        Places {
            first: first - count,
            count,
        }
    })
}

/// Ranks of a group are at most 1/128 of the ranks before it, so that their rates hardly differ.
const RANKS_TOGETHER: u32 = 128;

fn zipf_rates(logical: u32, law: ZipfLaw) -> Vec<RateGroup> {
    let mut groups = Vec::new();
    let mut first = 1;
    while first <= logical {
        let count = (first / RANKS_TOGETHER).max(1).min(logical + 1 - first);
        let middle = f64::from(first) + f64::from(count - 1) / 2.0;
        groups.push(RateGroup {
            pages: f64::from(count),
            rate: law.weight(middle, logical),
        });
        first += count;
    }
    let sum: f64 = groups.iter().map(|g| g.pages * g.rate).sum();
    groups.iter_mut().for_each(|group| group.rate /= sum);
    groups
}

/// Draws the places of writes that are not sequential.
#[derive(Clone, Debug)]
enum PlaceDraw {
    Uniform(u32),
    Zipf(ZipfRanks),
    /// The places of each zone, up to which number of 53 bits it is drawn.
    Zones(Vec<(u64, Places)>),
}

/// Writes a pattern, page by page.
#[derive(Clone, Debug)]
pub struct PatternWriter {
    draw: PlaceDraw,
    /// The logical page of each place; empty where the order does not matter.
    shuffled: Vec<u32>,
    /// Below that number of 53 bits a write is sequential.
    sequential: u64,
    next_sequential: u32,
    logical: u32,
    rng: SplitMix64,
}

impl PatternWriter {
    /// A writer of a pattern that was checked. It takes two of `seeds`.
    pub fn new(pattern: &WritePattern, logical: u32, seeds: &mut SplitMix64) -> PatternWriter {
        let (draw, shuffles) = match &pattern.at {
            WafPattern::Uniform => (PlaceDraw::Uniform(logical), false),
            WafPattern::Zipf(theta) => {
                let ranks = ZipfRanks::new(logical, pattern.zipf(*theta));
                (PlaceDraw::Zipf(ranks), true)
            }
            WafPattern::Zones(zones) => (PlaceDraw::Zones(zone_table(zones, logical)), true),
        };
        let mut order = SplitMix64::new(seeds.next_u64());
        PatternWriter {
            draw,
            shuffled: match shuffles {
                true => shuffled(logical, &mut order),
                false => Vec::new(),
            },
            sequential: threshold(pattern.sequential),
            next_sequential: 0,
            logical,
            rng: SplitMix64::new(seeds.next_u64()),
        }
    }

    /// The page of the next write.
    #[inline]
    pub fn next_page(&mut self) -> u32 {
        if self.sequential > 0 && self.rng.next_53() < self.sequential {
            let page = self.next_sequential;
            self.next_sequential = (page + 1) % self.logical;
            return page;
        }
        let place = match &self.draw {
            PlaceDraw::Uniform(pages) => return self.rng.below(u64::from(*pages)) as u32,
            PlaceDraw::Zipf(ranks) => ranks.draw(&mut self.rng) as u32,
            PlaceDraw::Zones(zones) => {
                let drawn = self.rng.next_53();
                let zone = zones.iter().find(|(below, _)| drawn < *below);
                let (_, places) = zone.unwrap_or(&zones[zones.len() - 1]);
                places.first + self.rng.below(u64::from(places.count)) as u32
            }
        };
        self.shuffled[place as usize]
    }
}

/// Zones that are written. Rounding of the sum is the last one's.
fn zone_table(zones: &[WafZone], logical: u32) -> Vec<(u64, Places)> {
    let mut sum = 0.0;
    let written = places(zones, logical)
        .zip(zones)
        .filter(|(_, zone)| zone.writes > 0.0);
    written
        .map(|(places, zone)| {
            sum += zone.writes;
            (threshold(f64::min(sum, 1.0)), places)
        })
        .collect()
}

/// All pages in an order where each is equally likely (Fisher and Yates).
fn shuffled(pages: u32, rng: &mut SplitMix64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..pages).collect();
    for last in (1..order.len()).rev() {
        let other = rng.below(last as u64 + 1) as usize;
        order.swap(last, other);
    }
    order
}
