//! Multiple Bloom filters: a page enters the cache if enough filters have seen a write of it; a young
//! filter counts more than an old one, and the oldest is cleared from time to time.
//!
//! Source: Park, Du, "Hot Data Identification for Flash-based Storage Systems Using Multiple Bloom
//! Filters", MSST 2011 (reconstruction: sizes and the threshold from memory). State: `v` filters of `m`
//! bits. Ties: none. Cost: `k` hashes per written page and a step for each filter that has it; clearing a
//! filter costs what was set in it.
//!
//! Where the paper is silent:
//! - HD-2: the hash functions are those of `multihash`, and a page that several of them send to one bit
//!   has only that bit.

use super::filter::{Filter, Identifier};
use super::hashes::{Hashes, MOST_HASHES};
use crate::contract::boxed;
use crate::info::{DefaultValue, PaperSource, ParamInfo, Range, Role, SchemeInfo, inner};
use crate::store::PageIndex;
use crate::{Access, Boxed, Column, Env, Expr, Notes, params};

/// `mbf`: multiple Bloom filters.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "mbf",
    summary: "Admits a page whose weighted presence in several Bloom filters is high.",
    source: PaperSource {
        paper: "Park, Du, Hot Data Identification for Flash-based Storage Systems Using \
                Multiple Bloom Filters, MSST",
        year: Some(2011),
        section: "",
        certain: false,
    },
    role: Role::Admission,
    params: &[MbfParams::PARAMS],
    ties: "those of the inner scheme",
    write_buffer: true,
    metadata: |e, c| {
        let bits = e.uint("v").saturating_mul(e.uint("m"));
        Some(inner(e, c)?.and_entries(bits.div_ceil(8), 1))
    },
    cross_check: Some(hot_is_reachable),
    vectors: &["mbf"],
    build: Some(boxed::<Mbf<Boxed>>),
    hashes: true,
    ..SchemeInfo::BASE
};

/// `mbf(S)`.
pub type Mbf<S> = Filter<BloomFilters, S>;

params! {
    /// Parameters of [`BloomFilters`].
    #[derive(Copy)]
    pub struct MbfParams {
        /// number of Bloom filters
        v: u32 = ParamInfo::integer(1, 64, 4).unit("filters").source("MSST 2011"),
        /// size of one filter
        m: u64 = ParamInfo::integer(1, MOST_BITS, 2048).unit("bits").source("MSST 2011"),
        /// bits of one page
        k: usize = ParamInfo::integer(1, MOST_HASHES as u64, 2).unit("hashes").source("MSST 2011"),
        /// one filter is cleared this often
        decay_period: Option<u64> = ParamInfo::count(1, 0)
            .default(DefaultValue::Computed("m/v"))
            .unit("writes")
            .source("MSST 2011"),
        /// sum of filter weights from which a page is hot
        threshold: f64 = ParamInfo::real(Range::POSITIVE, 4.0)
            .unit("weight")
            .source("HD-3"),
    }
}

/// Most bits of a filter: 2 MiB. Bits are looked up one by one, so that many more would take gigabytes.
const MOST_BITS: u64 = 1 << 24;

/// All weights together are v + 1, so a higher threshold would admit nothing.
fn hot_is_reachable(layer: &Expr) -> Result<(), String> {
    let (v, threshold) = (layer.uint("v"), layer.real("threshold"));
    if threshold > (v + 1) as f64 {
        Err(format!(
            "out of range: threshold={threshold} is never reached by v={v} filters, whose weights \
             are {} in all",
            v + 1
        ))
    } else {
        Ok(())
    }
}

/// The filters.
#[derive(Clone, Debug)]
pub struct BloomFilters {
    filters: u32,
    hashes: Hashes,
    /// By number of a bit: the filters in which it is set.
    bits: PageIndex<u64>,
    /// The bits that are set in each filter.
    set: Vec<Vec<u64>>,
    threshold: f64,
    /// A filter is cleared after this many page writes.
    period: u64,
    /// Page writes since then.
    writes: u64,
    /// The filter that is tried first for the next write.
    next: u32,
    /// The filter that was cleared last.
    youngest: u32,
}

/// Bits that a filter has room for from the start; a list of more grows.
const ROOM: u64 = 4096;

impl BloomFilters {
    /// Sum of the weights of the filters in `set`: 2 - a * 2/v, where a of them were cleared later.
    fn weight(&self, set: u64) -> f64 {
        let v = self.filters;
        let (mut rest, mut sum) = (set, 0);
        while rest != 0 {
            let later = (self.youngest + v - rest.trailing_zeros()) % v;
            sum += 2 * (v - later);
            rest &= rest - 1;
        }
        f64::from(sum) / f64::from(v)
    }

    /// The first filter from the next one on that is not in `set`.
    fn first_without(&self, set: u64) -> Option<u32> {
        let free = !set & (u64::MAX >> (u64::BITS - self.filters));
        let ahead = free >> self.next << self.next;
        let first = if ahead != 0 { ahead } else { free };
        (first != 0).then(|| first.trailing_zeros())
    }

    /// Records the bits of a page in a filter.
    fn record(&mut self, filter: u32, places: &[u64]) {
        for &place in places {
            let word = self.bits.at(place);
            if *word >> filter & 1 == 0 {
                *word |= 1 << filter;
                self.set[filter as usize].push(place);
            }
        }
    }

    fn clear(&mut self, filter: u32) {
        for place in self.set[filter as usize].drain(..) {
            *self.bits.at(place) &= !(1 << filter);
        }
    }
}

impl Identifier for BloomFilters {
    /// All clear; the last filter counts as cleared last.
    fn build(expr: &Expr, env: &Env) -> BloomFilters {
        let params = MbfParams::of(expr, env);
        let MbfParams { v, m, k, .. } = params;
        BloomFilters {
            filters: v,
            hashes: Hashes::new(k, m, env),
            bits: PageIndex::new(0),
            set: vec![Vec::with_capacity(m.min(ROOM) as usize); v as usize],
            threshold: params.threshold,
            period: params.decay_period.unwrap_or(m / u64::from(v)).max(1),
            writes: 0,
            next: 0,
            youngest: v - 1,
        }
    }

    /// The write is recorded first and then counts with the others.
    #[inline]
    fn is_hot(&mut self, a: &Access, _cached: bool, notes: &mut Notes) -> bool {
        let mut room = [0; MOST_HASHES];
        let places = self.hashes.of(a.lpn.0, &mut room);
        let mut holders = u64::MAX >> (u64::BITS - self.filters);
        for &place in places {
            holders &= self.bits.get(place);
        }
        if let Some(filter) = self.first_without(holders) {
            self.record(filter, places);
            holders |= 1 << filter;
        }
        self.next = (self.next + 1) % self.filters;
        self.writes += 1;
        let weight = self.weight(holders);
        let hot = weight >= self.threshold;
        notes.add(Column::Result, || {
            format!("weight {weight} {}", if hot { "hot" } else { "cold" })
        });
        hot
    }

    #[inline]
    fn settle(&mut self, notes: &mut Notes) -> bool {
        let due = self.writes >= self.period;
        if due {
            self.writes = 0;
            self.youngest = (self.youngest + 1) % self.filters;
            self.clear(self.youngest);
            notes.add(Column::Event, || format!("reset BF{}", self.youngest));
        }
        due
    }

    fn metadata_bytes(&self) -> u64 {
        (u64::from(self.filters) * self.hashes.places()).div_ceil(8)
    }

    #[cfg(feature = "conformance")]
    fn state(&self, out: &mut String) {
        let filters = self.set.iter().enumerate().map(|(i, set)| {
            let mut set = set.clone();
            set.sort_unstable();
            format!("BF{i}{set:?}")
        });
        out.push_str(&filters.collect::<Vec<_>>().join(" "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccessId;
    use crate::rng::SplitMix64;
    use crate::testing::{boxed, expr};
    use destage_types::{Lpn, Nanos, Op, SectorMask};

    fn filters(text: &str, hashes: Option<Vec<[u64; 2]>>) -> BloomFilters {
        let env = Env {
            hashes,
            ..Env::cache_only(4)
        };
        Identifier::build(&expr(text), &env)
    }

    fn write(filters: &mut BloomFilters, lpn: u64) -> bool {
        let mask = SectorMask::span(0, 1);
        let a = Access::new(
            AccessId { request: 1, seq: 1 },
            Nanos::ZERO,
            Op::Write,
            Lpn(lpn),
            mask,
        );
        let hot = filters.is_hot(&a, false, &mut Notes::default());
        filters.settle(&mut Notes::default());
        hot
    }

    fn state(filters: &BloomFilters) -> String {
        let mut out = String::new();
        filters.state(&mut out);
        out
    }

    #[test]
    fn sizes_are_those_of_the_paper() {
        let filters = filters("mbf", None);
        assert_eq!((filters.period, filters.metadata_bytes()), (512, 1024));
        assert_eq!(filters.threshold, 4.0);
    }

    #[test]
    fn a_write_is_recorded_where_the_page_is_not_yet() {
        let text = "mbf(v=2,m=8,k=2,decay-period=100,threshold=3)";
        let mut filters = filters(text, Some(vec![[1, 0], [3, 1]]));
        // The weights are 1 and 2; the second write finds the page in neither filter from 1 on.
        let hot = [1, 1, 1].map(|lpn| write(&mut filters, lpn));
        assert_eq!(hot, [false, true, true]);
        assert_eq!(state(&filters), "BF0[1, 4] BF1[1, 4]");
        // The first one tried is the second filter now.
        write(&mut filters, 2);
        assert_eq!(state(&filters), "BF0[1, 4] BF1[1, 2, 4, 7]");
    }

    #[test]
    fn hd_2_two_hashes_of_one_bit_are_one_bit() {
        let mut filters = filters("mbf(v=1,m=1,k=5,threshold=2)", None);
        assert!(
            write(&mut filters, 7) && state(&filters) == "BF0[]",
            "cleared each time"
        );
        let mut filters = BloomFilters {
            period: 10,
            ..filters
        };
        write(&mut filters, 7);
        assert_eq!(state(&filters), "BF0[0]");
    }

    #[test]
    fn every_filter_is_cleared_in_turn() {
        let mut filters = filters("mbf(v=3,m=64,k=1,decay-period=2)", Some(vec![[1, 0]]));
        let mut seen = Vec::new();
        for lpn in 0..8 {
            write(&mut filters, lpn);
            seen.push(filters.youngest);
        }
        assert_eq!(seen, [2, 0, 0, 1, 1, 2, 2, 0]);
        assert_eq!(filters.weight(0b001), 2.0, "cleared last");
        assert_eq!(filters.weight(0b110), 2.0 - 2.0 / 3.0 + 2.0 - 4.0 / 3.0);
    }

    #[test]
    fn bits_and_the_lists_of_them_agree() {
        let mut filters = filters("mbf(v=5,m=100,k=3,decay-period=11,threshold=1)", None);
        let mut rng = SplitMix64::new(3);
        for _ in 0..5000 {
            write(&mut filters, rng.next_u64() % 60);
            for (i, set) in filters.set.iter().enumerate() {
                let held = (0..100).filter(|&n| filters.bits.get(n) >> i & 1 == 1);
                let mut set = set.clone();
                set.sort_unstable();
                assert!(held.eq(set));
            }
        }
    }

    #[test]
    fn a_page_enters_once_enough_filters_have_it() {
        let mut cache = boxed("mbf(lru)", 4);
        // 0.5, 1.5, 3 and 5 with weights 0.5, 1, 1.5 and 2.
        assert_eq!(cache.run("W9 W9 W9 W9 W9"), "MMMMH");
        assert_eq!(cache.cached(), [9]);
    }
}
