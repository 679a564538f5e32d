//! K-hash M-entry counters: a page enters the cache if all counters its address hashes to are
//! high; counters fade.
//!
//! Source: Hsieh, Chang, Kuo, SAC 2005 and ACM TOS 2006 (reconstruction: sizes and the decay period
//! from memory). State: `m` counters of `d` bits, here only the neighbourhoods that were touched.
//! Ties: none. Cost: `k` hashes per written page, and the halving of up to `m` counters once per decay
//! period of about as many writes.

use super::filter::{Filter, Identifier, say_counted};
use super::hashes::{Hashes, MOST_HASHES};
use crate::contract::boxed;
use crate::info::{DefaultValue, PaperSource, ParamInfo, Range, Role, SchemeInfo, inner};
use crate::{Access, Boxed, Column, Env, Expr, Notes, params};

/// `multihash`: hashed counters.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "multihash",
    summary: "Admits a page whose k hashed write counters are all high; counters decay.",
    source: PaperSource {
        paper: "Hsieh, Chang, Kuo, SAC 2005 and ACM TOS",
        year: Some(2006),
        section: "K hash functions, M-entry table",
        certain: false,
    },
    role: Role::Admission,
    params: &[MultiHashParams::PARAMS],
    ties: "those of the inner scheme",
    write_buffer: true,
    metadata: |e, c| {
        let bits = e.uint("m").saturating_mul(e.uint("d"));
        Some(inner(e, c)?.and_entries(bits.div_ceil(8), 1))
    },
    cross_check: Some(hot_is_reachable),
    vectors: &["multihash"],
    build: Some(boxed::<MultiHash<Boxed>>),
    hashes: true,
    ..SchemeInfo::BASE
};

/// `multihash(S)`.
pub type MultiHash<S> = Filter<HashCounters, S>;

params! {
    /// Parameters of [`HashCounters`].
    #[derive(Copy)]
    pub struct MultiHashParams {
        /// size of the table
        m: u64 = ParamInfo::count(1, 4096).unit("counters").source("SAC 2005"),
        /// counters of one page
        k: usize = ParamInfo::integer(1, MOST_HASHES as u64, 2).unit("hashes").source("SAC 2005"),
        /// width of a counter
        d: u32 = ParamInfo::integer(1, 16, 4).unit("bits").source("SAC 2005"),
        /// most significant bits that make a page hot: threshold 2^(d-h)
        h: u32 = ParamInfo::integer(0, 16, 2).unit("bits").source("SAC 2005"),
        /// counter value from which a page is hot
        threshold: Option<u64> = ParamInfo::integer(0, 65535, 0)
            .default(DefaultValue::Computed("2^(d-h)"))
            .unit("writes")
            .source("SAC 2005"),
        /// share of hot writes that sets the decay period
        r: f64 = ParamInfo::real(Range::UNIT_NOT_ONE, 0.2)
            .unit("fraction")
            .source("TOS 2006; from memory"),
        /// all counters are halved this often
        decay_period: Option<u64> = ParamInfo::count(1, 0)
            .default(DefaultValue::Computed("floor(m/(1-r))"))
            .unit("writes")
            .source("TOS 2006; from memory"),
    }
}

impl MultiHashParams {
    /// Value from which a counter is high.
    fn high(&self) -> u64 {
        self.threshold.unwrap_or_else(|| 1 << (self.d - self.h))
    }

    /// All counters are halved after this many page writes, at least 1.
    fn period(&self) -> u64 {
        let share = || (self.m as f64 / (1.0 - self.r)).floor() as u64;
        self.decay_period.unwrap_or_else(share)
    }
}

/// A counter of `d` bits stops at 2^d - 1, so a higher threshold would admit nothing.
fn hot_is_reachable(layer: &Expr) -> Result<(), String> {
    let (d, h) = (layer.uint("d"), layer.uint("h"));
    let most = (1u64 << d) - 1;
    match layer.uint_opt("threshold") {
        Some(t) if t > most => Err(format!(
            "out of range: threshold={t} is never reached by counters of d={d} bits; allowed 0 to \
             {most}"
        )),
        None if h > d => Err(format!("out of range: h={h}; allowed 0 to d={d}")),
        None if h == 0 => Err(
            "out of range: h=0 asks for more than a counter holds; allowed 1 \
                               or more"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Counters that are allocated when their neighbourhood is touched: of a large table a run may reach
/// but a small part.
#[derive(Clone, Debug)]
struct Table {
    /// Chunk of `number / CHUNK`; 0 is the chunk that stays zero for ever.
    directory: Vec<u32>,
    chunks: Vec<[u16; CHUNK]>,
}

/// Counters of a chunk.
const CHUNK: usize = 512;

impl Table {
    /// `m` counters, all zero.
    fn new(m: u64) -> Table {
        Table {
            directory: vec![0; m.div_ceil(CHUNK as u64) as usize],
            chunks: vec![[0; CHUNK]],
        }
    }

    #[inline]
    fn get(&self, number: usize) -> u16 {
        self.chunks[self.directory[number / CHUNK] as usize][number % CHUNK]
    }

    #[inline]
    fn at(&mut self, number: usize) -> &mut u16 {
        let chunk = &mut self.directory[number / CHUNK];
        if *chunk == 0 {
            *chunk = self.chunks.len() as u32;
            self.chunks.push([0; CHUNK]);
        }
        &mut self.chunks[*chunk as usize][number % CHUNK]
    }

    fn halve(&mut self) {
        for counter in self.chunks.as_flattened_mut() {
            *counter >>= 1;
        }
    }
}

/// The counters.
#[derive(Clone, Debug)]
pub struct HashCounters {
    params: MultiHashParams,
    /// Value from which a counter is high.
    high: u64,
    /// All counters are halved after this many page writes.
    period: u64,
    table: Table,
    /// Page writes since the last decay.
    writes: u64,
    hashes: Hashes,
}

impl Identifier for HashCounters {
    fn build(expr: &Expr, env: &Env) -> HashCounters {
        let params = MultiHashParams::of(expr, env);
        HashCounters {
            params,
            high: params.high(),
            period: params.period(),
            table: Table::new(params.m),
            writes: 0,
            hashes: Hashes::new(params.k, params.m, env),
        }
    }

    /// The counters are tested as they are; then each of them, once, counts the write.
    #[inline]
    fn is_hot(&mut self, a: &Access, cached: bool, notes: &mut Notes) -> bool {
        self.writes += 1;
        let mut room = [0; MOST_HASHES];
        let places = self.hashes.of(a.lpn.0, &mut room);
        let least = places.iter().map(|&at| self.table.get(at as usize)).min();
        let most = ((1u32 << self.params.d) - 1) as u16;
        for (k, &at) in places.iter().enumerate() {
            if !places[..k].contains(&at) {
                let counter = self.table.at(at as usize);
                *counter += u16::from(*counter < most);
            }
        }
        let hot = u64::from(least.unwrap_or(0)) >= self.high;
        say_counted(hot, cached, notes);
        hot
    }

    #[inline]
    fn settle(&mut self, notes: &mut Notes) -> bool {
        let due = self.writes >= self.period;
        if due {
            self.writes = 0;
            self.table.halve();
            notes.add(Column::Event, || "decay".to_owned());
        }
        due
    }

    fn metadata_bytes(&self) -> u64 {
        (self.params.m * u64::from(self.params.d)).div_ceil(8)
    }

    #[cfg(feature = "conformance")]
    fn state(&self, out: &mut String) {
        let numbers = 0..self.params.m as usize;
        let counters: Vec<u16> = numbers.map(|n| self.table.get(n)).collect();
        out.push_str(&format!("T{counters:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccessId;
    use crate::testing::{boxed, expr};
    use destage_types::{Lpn, Nanos, Op, SectorMask};

    fn write(counters: &mut HashCounters, lpn: u64) -> bool {
        let mask = SectorMask::span(0, 1);
        let a = Access::new(
            AccessId { request: 1, seq: 1 },
            Nanos::ZERO,
            Op::Write,
            Lpn(lpn),
            mask,
        );
        let hot = counters.is_hot(&a, false, &mut Notes::default());
        counters.settle(&mut Notes::default());
        hot
    }

    fn counters(text: &str) -> HashCounters {
        Identifier::build(&expr(text), &Env::cache_only(4))
    }

    #[test]
    fn parameters_follow_from_each_other() {
        for (text, high, period) in [
            ("multihash", 4, 5120),
            ("multihash(d=6,h=1,m=100,r=0.5)", 32, 200),
            ("multihash(threshold=3,decay-period=7)", 3, 7),
        ] {
            let counters = counters(text);
            assert_eq!((counters.high, counters.period), (high, period), "{text}");
        }
        let HashCounters { params: p, .. } = counters("multihash");
        assert_eq!((p.m, p.k, p.d), (4096, 2, 4), "those of the paper");
        assert_eq!(counters("multihash").metadata_bytes(), 2048);
    }

    #[test]
    fn a_page_is_hot_after_as_many_writes_as_the_threshold_says() {
        let mut cache = boxed("multihash(lru)", 4);
        assert_eq!(cache.run("W9 W9 W9 W9 W9 W9"), "MMMMMH");
        assert_eq!(cache.cached(), [9]);
    }

    #[test]
    fn counters_saturate_and_fade() {
        let mut counters = counters("multihash(d=2,h=1,m=1,k=3,decay-period=9)");
        for _ in 0..8 {
            write(&mut counters, 5);
        }
        assert_eq!(
            counters.table.get(0),
            3,
            "k hashes of one counter count once"
        );
        write(&mut counters, 5);
        assert_eq!(counters.table.get(0), 1);
        assert!(!write(&mut counters, 5) && write(&mut counters, 5));
    }

    #[test]
    fn a_large_table_takes_memory_where_it_is_touched() {
        let mut counters = counters("multihash(lru,m=4294967295)");
        let hot: Vec<bool> = (0..5).map(|_| write(&mut counters, 5)).collect();
        assert_eq!(hot, [false, false, false, false, true]);
        for lpn in 0..100 {
            write(&mut counters, lpn);
        }
        assert!(counters.table.chunks.len() <= 1 + 2 * 100);
        counters.table.halve();
        let place = counters.hashes.of(5, &mut [0; MOST_HASHES])[0];
        assert_eq!(counters.table.get(place as usize), 3);
        assert_eq!(counters.metadata_bytes(), 4_294_967_295u64.div_ceil(2));
    }

    #[test]
    fn a_false_positive() {
        let env = Env {
            hashes: Some(vec![[1, 0], [7, 3]]),
            ..Env::cache_only(4)
        };
        let text = "multihash(m=11,threshold=2,decay-period=8)";
        let mut counters: HashCounters = Identifier::build(&expr(text), &env);
        let hot: Vec<bool> = [1, 1, 1, 12].map(|lpn| write(&mut counters, lpn)).into();
        assert_eq!(hot, [false, false, true, true]);
    }
}
