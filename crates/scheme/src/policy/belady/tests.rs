//! Random runs against the rules word for word, optimality, ties, gaps in the heap.

use super::*;
use crate::Scheme;
use crate::policy::{FutureBuilder, NextOf};
use crate::testing::{TestCache, env};
use destage_types::Op;

/// Steps of a run: an operation and its page.
type Run = Vec<(Op, u64)>;

fn random_run(pages: u64, trims: u64, seed: u64) -> Run {
    let mut rng = crate::rng::SplitMix64::new(seed);
    let step = |_| {
        let x = rng.next_u64();
        let op = match (x >> 50) % 100 {
            n if n < trims => Op::Trim,
            n if n % 2 == 0 => Op::Read,
            _ => Op::Write,
        };
        let lpn = if x & 1 == 0 {
            (x >> 8) % pages
        } else {
            (x >> 8) % (pages / 4 + 1)
        };
        (op, lpn)
    };
    (0..3000).map(step).collect()
}

fn future(run: &Run, next_of: NextOf) -> Future {
    let mut builder = FutureBuilder::new(next_of);
    for &(op, lpn) in run {
        match op {
            Op::Trim => builder.trim(Lpn(lpn)),
            op => builder.access(Lpn(lpn), op),
        }
    }
    builder.finish().unwrap()
}

/// A cache of the run that `future` describes, under `text`.
fn cache(text: &str, capacity: u32, future: Future) -> TestCache<crate::Boxed> {
    let env = Env {
        future: Some(Arc::new(future)),
        ..env(capacity, 8, 1)
    };
    let mut cache = TestCache::with(text, &env);
    cache.read_alloc = true;
    cache
}

/// One step; says whether the page hit.
fn serve(cache: &mut TestCache<crate::Boxed>, (op, lpn): (Op, u64)) -> bool {
    match op {
        Op::Trim => cache.trim(lpn),
        Op::Read => return cache.read(lpn) == "H",
        _ => return cache.write(lpn) == "H",
    }
    false
}

/// Cached pages with their next uses, by the rules of ProCache section 3 word for word.
struct Model {
    pages: Vec<(u64, Option<u64>)>,
    capacity: usize,
    bypass: bool,
}

impl Model {
    /// Says whether the page hit, and which page left.
    fn access(&mut self, lpn: u64, next: Option<u64>) -> (bool, Option<u64>) {
        if let Some(page) = self.pages.iter_mut().find(|p| p.0 == lpn) {
            page.1 = next;
            return (true, None);
        }
        let rank = |n: Option<u64>| n.unwrap_or(u64::MAX);
        let mut left = None;
        if self.pages.len() == self.capacity {
            let key = |p: &&(u64, Option<u64>)| (rank(p.1), u64::MAX - p.0);
            let victim = *self.pages.iter().max_by_key(key).unwrap();
            if self.bypass && rank(next) > rank(victim.1) {
                return (false, None);
            }
            self.pages.retain(|p| *p != victim);
            left = Some(victim.0);
        }
        self.pages.push((lpn, next));
        (false, left)
    }
}

#[test]
fn random_runs_agree_with_the_rules_word_for_word() {
    for (capacity, pages, trims) in [(1, 5, 0), (4, 12, 3), (20, 60, 0), (21, 90, 5)] {
        for (bypass, next_of) in [
            (true, NextOf::Any),
            (false, NextOf::Any),
            (true, NextOf::Write),
            (false, NextOf::Write),
        ] {
            let run = random_run(pages, trims, 77);
            let future = future(&run, next_of);
            let mut cache = cache(
                &format!("belady(bypass={bypass})"),
                capacity,
                future.clone(),
            );
            let mut model = Model {
                pages: Vec::new(),
                capacity: capacity as usize,
                bypass,
            };
            let mut seq = 0;
            for &(op, lpn) in &run {
                let before = cache.evicted.len();
                let hit = serve(&mut cache, (op, lpn));
                if op == Op::Trim {
                    model.pages.retain(|p| p.0 != lpn);
                    continue;
                }
                seq += 1;
                let left = cache.evicted.get(before).copied();
                assert_eq!((hit, left), model.access(lpn, future.next_use(seq)));
            }
        }
    }
}

#[test]
fn nobody_beats_it() {
    for capacity in [1, 3, 10, 30] {
        let run = random_run(50, 0, 5);
        let hits = |text: &str| {
            let mut cache = cache(text, capacity, future(&run, NextOf::Any));
            run.iter().filter(|&&step| serve(&mut cache, step)).count()
        };
        let best = hits("belady");
        for text in ["belady(bypass=false)", "lru", "arc", "lfu"] {
            assert!(best >= hits(text), "{text}");
        }
    }
}

#[test]
fn equal_next_uses_leave_by_lpn_and_a_rename_changes_that() {
    let future = Future::given([None, None, None, None, Some(9), None]);
    let mut cache = cache("belady", 3, future);
    cache.run("W5 W2 W8 W1");
    assert_eq!(cache.evicted, [2], "never is not behind never");
    assert!(cache.rename(1, 7));
    cache.run("W6 W3");
    assert_eq!(cache.evicted, [2, 5, 7]);
    assert!(!cache.rename(99, 98), "nothing is remembered");
}

#[test]
fn what_leaves_without_a_replacement_closes_the_gap() {
    let future = Future::given((1..=8).map(|n| Some(100 - n)));
    let mut cache = cache("belady(bypass=false)", 4, future);
    cache.run("W1 W2 W3 W4");
    cache.make_room();
    cache.make_room();
    assert_eq!((&cache.evicted, cache.scheme.size()), (&vec![1, 2], 2));
    cache.run("T4 W5");
    cache.make_room();
    assert_eq!(cache.evicted, [1, 2, 3]);
}
