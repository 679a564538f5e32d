//! Random runs against the rules word for word, optimality, ties, gaps in the heap.

use super::*;
use crate::policy::testing::Core;
use crate::policy::{FutureBuilder, NextOf};
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

fn future(run: &Run, next_of: NextOf) -> Arc<Future> {
    let mut builder = FutureBuilder::new(next_of);
    for &(op, lpn) in run {
        match op {
            Op::Trim => builder.trim(Lpn(lpn)),
            op => builder.access(Lpn(lpn), op),
        }
    }
    Arc::new(builder.finish().unwrap())
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
            let scheme = Belady::new(capacity as usize, future.clone(), bypass);
            let mut core = Core::new(capacity, scheme);
            let mut model = Model {
                pages: Vec::new(),
                capacity: capacity as usize,
                bypass,
            };
            let mut seq = 0;
            for &(op, lpn) in &run {
                if op == Op::Trim {
                    core.trim(lpn);
                    model.pages.retain(|p| p.0 != lpn);
                    continue;
                }
                seq += 1;
                let before = core.evicted.len();
                let hit = core.access(op, lpn);
                let left = core.evicted.get(before).copied();
                assert_eq!((hit, left), model.access(lpn, future.next_use(seq)));
            }
        }
    }
}

fn hits<S: Scheme>(core: &mut Core<S>, run: &Run) -> usize {
    run.iter().filter(|s| core.access(s.0, s.1)).count()
}

#[test]
fn nobody_beats_it() {
    for capacity in [1, 3, 10, 30] {
        let run = random_run(50, 0, 5);
        let c = capacity as usize;
        let best = Belady::new(c, future(&run, NextOf::Any), true);
        let best = hits(&mut Core::new(capacity, best), &run);
        let inserting = Belady::new(c, future(&run, NextOf::Any), false);
        assert!(best >= hits(&mut Core::new(capacity, inserting), &run));
        assert!(best >= hits(&mut Core::new(capacity, crate::policy::Lru::new(c)), &run));
        assert!(best >= hits(&mut Core::new(capacity, crate::policy::Arc::new(c)), &run));
        assert!(best >= hits(&mut Core::new(capacity, crate::policy::Lfu::new(c)), &run));
    }
}

#[test]
fn equal_next_uses_leave_by_lpn_and_a_rename_changes_that() {
    let future = Future::given([None, None, None, None, Some(9), None]);
    let mut core = Core::new(3, Belady::new(3, Arc::new(future), true));
    for lpn in [5, 2, 8, 1] {
        core.write(lpn);
    }
    assert_eq!(core.evicted, [2], "never is not behind never");
    assert!(core.rename(1, 7));
    core.write(6);
    assert_eq!(core.evicted, [2, 5]);
    core.write(3);
    assert_eq!(core.evicted, [2, 5, 7]);
    assert!(!core.rename(99, 98), "nothing is remembered");
}

#[test]
fn what_leaves_without_a_replacement_closes_the_gap() {
    let future = Future::given((1..=8).map(|n| Some(100 - n)));
    let mut core = Core::new(4, Belady::new(4, Arc::new(future), false));
    for lpn in 1..=4 {
        core.write(lpn);
    }
    core.make_room();
    core.make_room();
    assert_eq!(
        (core.evicted.as_slice(), core.scheme.size()),
        (&[1, 2][..], 2)
    );
    core.trim(4);
    core.write(5);
    core.make_room();
    assert_eq!(core.evicted, [1, 2, 3]);
}
