//! Write amplification by formulas, from how often each page is written.
//!
//! All hold for writes that are independent of each other, and for blocks so large that their valid
//! counts are what is expected of them.
//!
//! - [`fifo`]: one stream, the oldest block is collected (Robinson 1996; Desnoyers, *Analytic Modeling
//!   of SSD Write Performance*, SYSTOR 2012, "LRU cleaning"). A block is collected once in a cycle of
//!   t host writes. A page of rate r that was placed is still valid then with probability e^-rt, so it
//!   is programmed r / (1 - e^-rt) times per host write, and all pages together fill the T physical
//!   pages in t: the sum of rt / (1 - e^-rt) is T, and the write amplification T / t. For uniform
//!   writes greedy collection has this value, too, and it is 1 / (1 - u) with fill = (u - 1) / ln u.
//! - [`separated`]: pages of equal rate share blocks, and no others do. The spare area is divided so
//!   that the total is least (as Stoica and Ailamaki, VLDB 2013, and Desnoyers, TOS 2014, for groups
//!   of pages). A page of rate r in s physical pages costs r W(s), with s = x / (1 - e^-x) and
//!   W = 1 / (1 - e^-x). At the optimum all pages gain equally from more space, r dW/ds = -m, which is
//!   e^x - 1 - x = r / m.
//! - [`behind_lru`]: rates behind an LRU buffer of B pages (Che, Tung, Wang, JSAC 2002): a page misses
//!   with probability e^-rt, where the sum of 1 - e^-rt is B.

/// Pages that are written equally often.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateGroup {
    /// How many.
    pub pages: f64,
    /// Writes of each, per host write.
    pub rate: f64,
}

impl RateGroup {
    /// Pages that share that part of the host's writes.
    pub fn sharing(pages: f64, writes: f64) -> RateGroup {
        let rate = if pages > 0.0 { writes / pages } else { 0.0 };
        RateGroup { pages, rate }
    }
}

/// Halvings of an interval: all bits of a real and some more.
const HALVINGS: u32 = 100;
/// Steps of Newton's method; it converges in eight at most.
const STEPS: u32 = 20;

fn total(groups: &[RateGroup], of: impl Fn(f64) -> f64) -> f64 {
    groups.iter().map(|g| g.pages * of(g.rate)).sum()
}

/// Where `of`, which rises, comes to `wanted`, between 0 and infinity.
fn solve(of: impl Fn(f64) -> f64, wanted: f64) -> f64 {
    let mut high = 1.0;
    while of(high) < wanted && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match of(middle) < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// Physical pages for each page that is written x times in a cycle: x / (1 - e^-x).
fn space(x: f64) -> f64 {
    match x > 0.0 {
        true => x / -libm::expm1(-x),
        false => 1.0,
    }
}

/// Rates at which pages leave an LRU buffer.
pub fn behind_lru(groups: &[RateGroup], buffer: f64) -> Vec<RateGroup> {
    let written = total(groups, |rate| if rate > 0.0 { 1.0 } else { 0.0 });
    if buffer == 0.0 {
        return groups.to_vec();
    }
    let misses: Box<dyn Fn(f64) -> f64> = match written > buffer {
        true => {
            let held = |time: f64| total(groups, |rate| -libm::expm1(-rate * time));
            let time = solve(held, buffer);
            Box::new(move |rate| libm::exp(-rate * time))
        }
        false => Box::new(|_| 0.0),
    };
    let group = |g: &RateGroup| RateGroup {
        pages: g.pages,
        rate: g.rate * misses(g.rate),
    };
    groups.iter().map(group).collect()
}

/// Write amplification of one stream with FIFO collection in so many physical pages, more than the
/// groups have.
pub fn fifo(groups: &[RateGroup], pages: f64) -> f64 {
    if total(groups, |rate| rate) == 0.0 {
        return 0.0;
    }
    let needed = |cycle: f64| total(groups, |rate| space(rate * cycle));
    pages / solve(needed, pages)
}

/// e^x - 1 - x, also where the terms cancel.
fn remainder(x: f64) -> f64 {
    match x < 0.01 {
        true => x * x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x / 120.0))),
        false => libm::expm1(x) - x,
    }
}

/// x with e^x - 1 - x = c. The start lies above the root, and Newton's method comes down to it.
fn root(c: f64) -> f64 {
    if c <= 0.0 {
        return 0.0;
    }
    let mut x = match c < 2.0 {
        true => libm::sqrt(2.0 * c),
        false => libm::log1p(2.0 * c),
    };
    for _ in 0..STEPS {
        x -= (remainder(x) - c) / libm::expm1(x);
    }
    x
}

/// Least write amplification in so many physical pages if pages of equal rate have blocks of their own.
pub fn separated(groups: &[RateGroup], pages: f64) -> f64 {
    if total(groups, |rate| rate) == 0.0 {
        return 0.0;
    }
    // The inverse of the gain m: more of it, more space.
    let needed = |inverse: f64| total(groups, |rate| space(root(rate * inverse)));
    let inverse = solve(needed, pages);
    total(groups, |rate| match root(rate * inverse) {
        x if x > 0.0 => rate / -libm::expm1(-x),
        _ => 0.0,
    })
}
