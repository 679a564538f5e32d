//! K-hash M-entry counters: a page enters the cache if all counters its address hashes to are
//! high; counters fade.
//!
//! Source: Hsieh, Chang, Kuo, SAC 2005 and ACM TOS 2006 (reconstruction: sizes and the decay period
//! from memory). State: `m` counters of `d` bits. Ties: none. Cost: `k` hashes per written page, and
//! the halving of `m` counters once per decay period of about as many writes.

use super::filter::{Filter, Identifier};
use crate::rng::mix64;
use crate::{Access, Env, Expr};

/// `multihash(S)`.
pub type MultiHash<S> = Filter<HashCounters, S>;

/// Distance of the hash functions of one address.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Most hashes of an address.
const MOST_HASHES: usize = 64;

/// Parameters of [`HashCounters`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MultiHashParams {
    /// Counters, at least 1.
    pub m: usize,
    /// Hashes of an address, 1 to 64.
    pub k: usize,
    /// Bits of a counter, 1 to 16.
    pub d: u32,
    /// Value from which a counter is high.
    pub threshold: u64,
    /// All counters are halved after this many page writes, at least 1.
    pub decay_period: u64,
}

impl MultiHashParams {
    /// As the layer `expr` says.
    pub fn from_expr(expr: &Expr) -> MultiHashParams {
        let (m, d) = (expr.uint("m"), expr.uint("d") as u32);
        let hot_bits = || expr.uint("h") as u32;
        let share = || (m as f64 / (1.0 - expr.real("r"))).floor() as u64;
        MultiHashParams {
            m: m as usize,
            k: expr.uint("k") as usize,
            d,
            threshold: (expr.uint_opt("threshold")).unwrap_or_else(|| 1 << (d - hot_bits())),
            decay_period: expr.uint_opt("decay-period").unwrap_or_else(share),
        }
    }
}

/// The counters.
#[derive(Clone, Debug)]
pub struct HashCounters {
    params: MultiHashParams,
    table: Vec<u16>,
    writes: u64,
    /// Factor and summand of each hash function, in place of the real ones.
    #[cfg(feature = "conformance")]
    given: Option<Vec<[u64; 2]>>,
}

impl HashCounters {
    /// All zero.
    pub fn new(params: MultiHashParams) -> HashCounters {
        HashCounters {
            params,
            table: vec![0; params.m],
            writes: 0,
            #[cfg(feature = "conformance")]
            given: None,
        }
    }

    /// Counter of hash function `k`.
    #[inline]
    fn place(&self, lpn: u64, k: usize) -> usize {
        let m = self.params.m as u64;
        #[cfg(feature = "conformance")]
        if let Some([factor, summand]) = self.given.as_ref().map(|given| given[k]) {
            return ((factor * lpn + summand) % m) as usize;
        }
        let hash = mix64(lpn.wrapping_add((k as u64).wrapping_mul(STEP)));
        // Most tables are powers of two, and a division takes longer than all the rest.
        let at = match m.is_power_of_two() {
            true => hash & (m - 1),
            false => hash % m,
        };
        at as usize
    }
}

impl Identifier for HashCounters {
    fn build(expr: &Expr, env: &Env) -> HashCounters {
        let counters = HashCounters::new(MultiHashParams::from_expr(expr));
        #[cfg(feature = "conformance")]
        let counters = HashCounters {
            given: env.hashes.clone(),
            ..counters
        };
        #[cfg(not(feature = "conformance"))]
        let _ = env;
        counters
    }

    /// The counters are tested as they are; then each of them, once, counts the write.
    #[inline]
    fn is_hot(&mut self, a: &Access, _cached: bool) -> bool {
        self.writes += 1;
        let mut places = [0; MOST_HASHES];
        let places = &mut places[..self.params.k];
        for (k, place) in places.iter_mut().enumerate() {
            *place = self.place(a.lpn.0, k);
        }
        let least = places.iter().map(|&at| self.table[at]).min();
        let most = ((1u32 << self.params.d) - 1) as u16;
        for (k, &at) in places.iter().enumerate() {
            if !places[..k].contains(&at) {
                self.table[at] += u16::from(self.table[at] < most);
            }
        }
        u64::from(least.unwrap_or(0)) >= self.params.threshold
    }

    #[inline]
    fn settle(&mut self) -> bool {
        let due = self.writes >= self.params.decay_period;
        if due {
            self.writes = 0;
            self.table.iter_mut().for_each(|c| *c >>= 1);
        }
        due
    }

    fn meta_bytes(&self) -> u64 {
        (self.params.m as u64 * u64::from(self.params.d)).div_ceil(8)
    }

    #[cfg(feature = "conformance")]
    fn state(&self, out: &mut String) {
        out.push_str(&format!("T{:?}", self.table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mini::Mini;
    use crate::policy::Lru;
    use destage_types::{Lpn, Nanos, Op, SectorMask};

    fn write(counters: &mut HashCounters, lpn: u64) -> bool {
        let a = Access {
            lpn: Lpn(lpn),
            op: Op::Write,
            now: Nanos::ZERO,
            request: 1,
            seq: 1,
            sectors: SectorMask::span(0, 1),
            entry: crate::Entry::BLANK,
        };
        let hot = counters.is_hot(&a, false);
        counters.settle();
        hot
    }

    fn params(text: &str) -> MultiHashParams {
        MultiHashParams::from_expr(&Expr::parse(text).unwrap())
    }

    #[test]
    fn defaults_are_those_of_the_paper() {
        let p = params("multihash");
        assert_eq!(
            (p.m, p.k, p.d, p.threshold, p.decay_period),
            (4096, 2, 4, 4, 5120)
        );
        assert_eq!(HashCounters::new(p).meta_bytes(), 2048);
        let p = params("multihash(d=6,h=1,m=100,r=0.5)");
        assert_eq!((p.threshold, p.decay_period), (32, 200));
        let p = params("multihash(threshold=3,decay-period=7)");
        assert_eq!((p.threshold, p.decay_period), (3, 7));
    }

    #[test]
    fn a_page_is_hot_after_as_many_writes_as_the_threshold_says() {
        let mut m = Mini::new(
            4,
            false,
            Filter::new(HashCounters::new(params("multihash")), Lru::new(4)),
        );
        let answers: Vec<String> = (0..6).map(|i| m.write(9, 9, i)).collect();
        assert_eq!(answers, ["M", "M", "M", "M", "M", "H"]);
        assert_eq!(m.cached(), [9]);
    }

    #[test]
    fn counters_saturate_and_fade() {
        let mut counters = HashCounters::new(params("multihash(d=2,h=1,m=1,k=3,decay-period=9)"));
        for _ in 0..8 {
            write(&mut counters, 5);
        }
        assert_eq!(counters.table, [3], "k hashes of one counter count once");
        write(&mut counters, 5);
        assert_eq!(counters.table, [1]);
        assert!(!write(&mut counters, 5) && write(&mut counters, 5));
    }

    #[cfg(feature = "conformance")]
    #[test]
    fn a_false_positive() {
        let mut counters = HashCounters::new(params("multihash(m=11,threshold=2,decay-period=8)"));
        counters.given = Some(vec![[1, 0], [7, 3]]);
        let hot: Vec<bool> = [1, 1, 1, 12].map(|lpn| write(&mut counters, lpn)).into();
        assert_eq!(hot, [false, false, true, true]);
    }
}
