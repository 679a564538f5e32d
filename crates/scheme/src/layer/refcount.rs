//! Reference counting: a page enters the cache once it was written often enough; counters fade.
//!
//! Source: Baek, Cho, Choi, PLoS ONE 12(3), 2017, Algorithm 3 (REFCNT). State: 1 B per logical block
//! (section 5.3), here per block that was ever counted. Ties: none. Cost: O(1) per written page: a
//! counter holds when it was brought up to date, so halving all of them halves none at once.
//!
//! Where the paper is silent:
//! - `unit=sector`: a page is hot if the counters of all sectors that the write covers are high
//!   enough; else those that are not count.
//! - `hit-first`: an update in place does not count, but moves the decay on.
//! - A decay period given as a time ends at its multiples; what ended since the last write is made
//!   up for before the next write is tested.

use super::filter::{Filter, Identifier, say_counted};
use super::procache::PAPER;
use crate::contract::boxed;
use crate::info::{Kind, PaperSource, ParamInfo, ParamValue, Role, SchemeInfo, Words, inner};
use crate::store::PageIndex;
use crate::{Access, Boxed, Column, Env, Expr, Notes, params, words};
use destage_types::Nanos;

/// `refcount`: per-block write counters.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "refcount",
    summary: "Admits a page once it has been written often enough; counters decay.",
    source: PaperSource {
        paper: PAPER,
        year: Some(2017),
        section: "Algorithm 3 (REFCNT)",
        certain: true,
    },
    role: Role::Admission,
    params: &[RefCountParams::PARAMS],
    ties: "those of the inner scheme",
    write_buffer: true,
    metadata: |e, c| {
        let per_page = match e.word("unit") {
            "sector" => u64::from(c.page.sectors()),
            _ => 1,
        };
        Some(inner(e, c)?.and_entries(c.pages, per_page))
    },
    vectors: &["refcount"],
    build: Some(boxed::<RefCount<Boxed>>),
    ..SchemeInfo::BASE
};

/// `refcount(S)`.
pub type RefCount<S> = Filter<RefCounters, S>;

/// When all counters are halved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecayPeriod {
    /// After this many page writes.
    Writes(u64),
    /// After this time.
    Time(Nanos),
}

impl ParamValue for DecayPeriod {
    fn read(e: &Expr, key: &str, _env: &Env) -> DecayPeriod {
        match e.time_opt(key) {
            Some(time) => DecayPeriod::Time(time),
            None => DecayPeriod::Writes(e.uint(key)),
        }
    }
}

words! {
    /// The unit that has a counter.
    pub enum CounterUnit {
        /// Every page.
        Page = "page",
        /// Every sector.
        Sector = "sector",
    }
}

params! {
    /// Parameters of [`RefCounters`].
    #[derive(Copy)]
    pub struct RefCountParams {
        /// counter value from which a page is admitted
        threshold: u64 = ParamInfo::integer(0, 255, 4)
            .unit("writes")
            .source("5.3; default uncertain"),
        /// all counters are halved this often
        decay_period: DecayPeriod = ParamInfo::count(1, 5120)
            .kind(Kind::IntegerOrTime { min: 1 })
            .unit("writes")
            .source("5.3; default uncertain"),
        /// a counter per page, or per 512 B
        unit: CounterUnit = ParamInfo::word(CounterUnit::WORDS).source("5.3"),
        /// a cached page is updated whatever its counter says
        hit_first: bool = ParamInfo::flag(false).source("PC-6"),
    }
}

/// Bits of a counter; the rest says at which decay it was written.
const COUNT_BITS: u32 = 8;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;

/// A counter per logical block.
#[derive(Clone, Debug)]
pub struct RefCounters {
    params: RefCountParams,
    page_sectors: u64,
    /// Decay of the last change << 8 | value at that time.
    counters: PageIndex<u64>,
    touched: u64,
    writes: u64,
    /// Decays so far.
    epoch: u64,
    /// Decay periods that ended, of those given as a time.
    periods: u64,
}

impl RefCounters {
    /// Value of a counter now.
    #[inline]
    fn now(&self, counter: u64) -> u64 {
        // The halvings since the counter was written are done here, all at once.
        let decays = self.epoch - (counter >> COUNT_BITS);
        (counter & COUNT_MAX) >> decays.min(u64::from(COUNT_BITS))
    }

    /// Is every block of the written page hot? Those that are not count.
    #[inline]
    fn test_all(&mut self, a: &Access) -> bool {
        if self.params.unit == CounterUnit::Page {
            return self.test(a.lpn.0);
        }
        // All sectors are tested, so that each of the low ones counts.
        let (mut rest, mut hot) = (a.sectors.0, true);
        while rest != 0 {
            let sector = u64::from(rest.trailing_zeros());
            hot &= self.test(a.lpn.0 * self.page_sectors + sector);
            rest &= rest - 1;
        }
        hot
    }

    /// Is block `number` hot? If not, it counts.
    #[inline]
    fn test(&mut self, number: u64) -> bool {
        let old = self.counters.get(number);
        let count = self.now(old);
        if count >= self.params.threshold {
            return true;
        }
        self.touched += u64::from(old == 0);
        *self.counters.at(number) = self.epoch << COUNT_BITS | (count + 1).min(COUNT_MAX);
        false
    }
}

impl Identifier for RefCounters {
    /// All zero.
    fn build(expr: &Expr, env: &Env) -> RefCounters {
        RefCounters {
            params: RefCountParams::of(expr, env),
            page_sectors: u64::from(env.page.sectors()),
            counters: PageIndex::new(0),
            touched: 0,
            writes: 0,
            epoch: 0,
            periods: 0,
        }
    }

    #[inline]
    fn advance(&mut self, now: Nanos, notes: &mut Notes) -> bool {
        let DecayPeriod::Time(period) = self.params.decay_period else {
            return false;
        };
        // Periods end at the multiples of their length, however long nothing was written.
        let ended = now.0 / period.0;
        let new = ended - self.periods;
        (self.periods, self.epoch) = (ended, self.epoch + new);
        if new > 0 {
            notes.add(Column::Event, || "decay".to_owned());
        }
        new > 0
    }

    #[inline]
    fn is_hot(&mut self, a: &Access, cached: bool, notes: &mut Notes) -> bool {
        self.writes += 1;
        let hot = self.params.hit_first && cached || self.test_all(a);
        say_counted(hot, cached, notes);
        hot
    }

    #[inline]
    fn settle(&mut self, notes: &mut Notes) -> bool {
        let DecayPeriod::Writes(period) = self.params.decay_period else {
            return false;
        };
        let due = self.writes >= period;
        if due {
            self.writes = 0;
            self.epoch += 1;
            notes.add(Column::Event, || "decay".to_owned());
        }
        due
    }

    fn metadata_bytes(&self) -> u64 {
        self.touched
    }

    #[cfg(feature = "conformance")]
    fn state(&self, out: &mut String) {
        let counters = self.counters.touched();
        let counters = counters.map(|(number, c)| (number, self.now(c)));
        let counters = counters.filter(|&(_, count)| count > 0);
        let words: Vec<String> = counters.map(|(n, count)| format!("{n}:{count}")).collect();
        out.push_str(&format!("C{{{}}}", words.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccessId;
    use crate::testing::{TestCache, expr};
    use destage_types::{Lpn, Op, SectorMask};

    type Cache = TestCache<RefCount<Boxed>>;

    /// Two pages; hot from the second write on, halved after six.
    fn cache(options: &str) -> Cache {
        let decay = if options.contains("decay") {
            ""
        } else {
            ",decay-period=6"
        };
        Cache::new(&format!("refcount(lru,threshold=2{decay}{options})"), 2)
    }

    fn count(cache: &Cache, number: u64) -> u64 {
        let counters = &cache.scheme.identifier;
        counters.now(counters.counters.get(number))
    }

    #[test]
    fn the_worked_example() {
        let mut cache = cache("");
        for (requests, result, state, why) in [
            ("W1 W1 W1 W2", "MMMM", "[1*] C{1:2 2:1}", ""),
            ("W1 W2", "HM", "[1*] C{1:1 2:1}", "halved"),
            (
                "W2 W1",
                "MM",
                "[] C{1:2 2:2}",
                "the counter is asked although 1 is cached",
            ),
            ("W2 R2", "MH", "[2*] C{1:2 2:2}", ""),
            ("W3 W2", "MH", "[2*] C{1:2 2:2 3:1}", ""),
        ] {
            assert_eq!(
                (cache.run(requests).as_str(), cache.state().as_str()),
                (result, state),
                "{why}"
            );
        }
        assert_eq!((count(&cache, 3), cache.metadata_bytes()), (1, 3 + 12));
    }

    #[test]
    fn hit_first_updates_in_place() {
        let mut cache = cache(",hit-first=true");
        cache.run("W1 W1 W1 W7 W8 W9");
        assert_eq!(count(&cache, 1), 1, "decayed");
        assert_eq!((cache.write(1).as_str(), count(&cache, 1)), ("H", 1));
    }

    #[test]
    fn periods_of_time() {
        let mut cache = cache(",decay-period=100ns");
        cache.write(1);
        cache.at(99).write(1);
        assert_eq!(count(&cache, 1), 2);
        assert_eq!(cache.at(100).write(1), "M");
        assert_eq!(
            (count(&cache, 1), cache.cached().len()),
            (2, 0),
            "halved, then counted"
        );
        cache.at(5000).write(2);
        assert_eq!(count(&cache, 1), 0, "many periods later nothing is left");
    }

    fn counters(text: &str) -> RefCounters {
        Identifier::build(&expr(text), &Env::cache_only(2))
    }

    #[test]
    fn every_sector_has_its_counter() {
        let mut counters = counters("refcount(threshold=2,unit=sector)");
        let mut write = |from, n| {
            let mask = SectorMask::span(from, n);
            let a = Access::new(
                AccessId { request: 1, seq: 1 },
                Nanos::ZERO,
                Op::Write,
                Lpn(3),
                mask,
            );
            counters.is_hot(&a, false, &mut Notes::default())
        };
        assert!(!write(0, 4) && !write(0, 4));
        assert!(write(1, 2));
        assert!(!write(3, 2), "sector 4 is new");
        let value = |n: u64| counters.now(counters.counters.get(24 + n));
        assert_eq!([value(3), value(4), value(5)], [2, 1, 0]);
    }

    #[test]
    fn decays_without_a_write_between() {
        let mut counters = counters("refcount(threshold=2)");
        counters.epoch = 7;
        counters.test(5);
        counters.epoch = 7 + 300;
        assert_eq!(counters.now(counters.counters.get(5)), 0);
    }
}
