//! The lists by time against a stack in a vector, and the cases the paper leaves open.

use super::*;
use crate::SchemeExt;
use crate::testing::{Done, Storm, TestCache, env};

type Cache = TestCache<Pages<Lirs>>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Lir,
    Hir,
    NonResident,
}

/// S with its top first and Q with its newest page first, as the paper draws them.
#[derive(Default)]
struct Model {
    stack: Vec<(u64, Kind)>,
    queue: Vec<u64>,
    lir: usize,
    max_nonresident: usize,
}

impl Model {
    fn kind(&self, lpn: u64) -> Option<Kind> {
        self.stack.iter().find(|e| e.0 == lpn).map(|e| e.1)
    }

    fn count(&self, kind: Kind) -> usize {
        self.stack.iter().filter(|e| e.1 == kind).count()
    }

    fn put_on_top(&mut self, lpn: u64, kind: Kind) {
        self.stack.retain(|e| e.0 != lpn);
        self.stack.insert(0, (lpn, kind));
    }

    fn put_newest(&mut self, lpn: u64) {
        self.queue.retain(|&l| l != lpn);
        self.queue.insert(0, lpn);
    }

    fn prune(&mut self) {
        while self.stack.last().is_some_and(|e| e.1 != Kind::Lir) {
            self.stack.pop();
        }
    }

    fn promote(&mut self, lpn: u64) {
        self.queue.retain(|&l| l != lpn);
        self.put_on_top(lpn, Kind::Lir);
        if self.count(Kind::Lir) > self.lir {
            let bottom = self.stack.iter().rposition(|e| e.1 == Kind::Lir).unwrap();
            self.stack[bottom].1 = Kind::Hir;
            self.put_newest(self.stack[bottom].0);
        }
        self.prune();
    }

    fn access(&mut self, lpn: u64, hit: bool) {
        match (self.kind(lpn), hit) {
            (Some(Kind::Lir), _) => {
                self.put_on_top(lpn, Kind::Lir);
                self.prune();
            }
            (Some(_), _) => self.promote(lpn),
            (None, false) if self.count(Kind::Lir) < self.lir => self.put_on_top(lpn, Kind::Lir),
            (None, _) => {
                self.put_on_top(lpn, Kind::Hir);
                self.put_newest(lpn);
            }
        }
    }

    fn evict(&mut self, lpn: u64) {
        if self.kind(lpn) == Some(Kind::Lir) {
            return self.forget(lpn);
        }
        self.queue.retain(|&l| l != lpn);
        if let Some(entry) = self.stack.iter_mut().find(|e| e.0 == lpn) {
            entry.1 = Kind::NonResident;
        }
        if self.count(Kind::NonResident) > self.max_nonresident {
            let lowest = self
                .stack
                .iter()
                .rposition(|e| e.1 == Kind::NonResident)
                .unwrap();
            self.stack.remove(lowest);
        }
    }

    fn forget(&mut self, lpn: u64) {
        self.stack.retain(|e| e.0 != lpn);
        self.queue.retain(|&l| l != lpn);
        self.prune();
    }

    fn rename(&mut self, from: u64, to: u64) {
        self.stack.retain(|e| e.0 != to);
        for entry in self.stack.iter_mut().filter(|e| e.0 == from) {
            entry.0 = to;
        }
        for lpn in self.queue.iter_mut().filter(|l| **l == from) {
            *lpn = to;
        }
    }
}

/// S and Q of the scheme in the form of the model.
fn lists(cache: &Cache) -> (Vec<(u64, Kind)>, Vec<u64>) {
    let Body::Stack(stack) = &cache.scheme.policy().body else {
        panic!("not the variant under test");
    };
    let kind = |letter| match letter {
        'L' => Kind::Lir,
        'H' => Kind::Hir,
        _ => Kind::NonResident,
    };
    let pages = stack.pages_of_stack(&cache.view()).into_iter();
    let pages = pages.map(|(lpn, _, c)| (lpn.0, kind(c))).collect();
    (pages, cache.lpns(stack.slots_of_queue()))
}

fn follow(
    capacity: u32,
    hir: usize,
    max_nonresident: Option<usize>,
    passed_over: bool,
    keep: bool,
) {
    let env = Env {
        ghosts_in_slots: keep,
        ..env(capacity, 8, 1)
    };
    let most = max_nonresident.map_or("inf".to_owned(), |n| n.to_string());
    let mut cache = Cache::with(&format!("lirs(hir={hir},max-nonres={most})"), &env);
    let mut model = Model {
        lir: capacity as usize - hir,
        max_nonresident: max_nonresident.unwrap_or(usize::MAX),
        ..Model::default()
    };
    let (mut left, pages) = (0, 4 * u64::from(capacity));
    let storm = Storm {
        steps: 15_000,
        pages,
        seed: 23,
        passed_over,
    };
    cache.storm(storm, |cache, done| {
        for &lpn in &cache.evicted[left..] {
            model.evict(lpn);
        }
        left = cache.evicted.len();
        match done {
            Done::Access(lpn, hit) => model.access(lpn, hit),
            Done::Trim(lpn) if model.kind(lpn) == Some(Kind::NonResident) => {
                model.stack.retain(|e| e.0 != lpn);
            }
            Done::Trim(lpn) if model.kind(lpn).is_some() || model.queue.contains(&lpn) => {
                model.forget(lpn);
            }
            Done::Rename(from, to, _) => model.rename(from, to),
            Done::Trim(_) | Done::Flush => {}
        }
        let (stack, queue) = lists(cache);
        assert_eq!((&stack, &queue), (&model.stack, &model.queue), "{done:?}");
        let count = |kind| stack.iter().filter(|e| e.1 == kind).count();
        assert!(count(Kind::Lir) <= model.lir && count(Kind::NonResident) <= model.max_nonresident);
        assert_eq!(count(Kind::Lir) + queue.len(), cache.frames.used());
        let nodes = cache.frames.used() + count(Kind::NonResident);
        assert_eq!(cache.metadata_bytes(), nodes as u64 * 24);
        let slots = (0..cache.frames.slots() as u32).map(Slot);
        let ghosts = cache.scheme.policy().ghosts();
        let in_slot = |&slot: &Slot| ghosts.is_some_and(|ghosts| ghosts.is_in_slot(slot));
        let kept = slots.filter(in_slot).count();
        let keeps = ghosts.is_some_and(|ghosts| ghosts.max_in_slots() > 0);
        assert_eq!(kept, if keeps { count(Kind::NonResident) } else { 0 });
    });
    assert_eq!(
        cache.scheme.max_ghosts() > 0,
        keep && max_nonresident.is_some()
    );
}

#[test]
fn random_runs_agree_with_a_stack_in_a_vector() {
    for (capacity, hir, max_nonres) in [
        (2, 1, Some(4)),
        (5, 2, Some(10)),
        (12, 3, Some(0)),
        (12, 11, Some(3)),
        (30, 2, None),
        (30, 2, Some(60)),
    ] {
        for (passed_over, keep) in [(false, false), (false, true), (true, false), (true, true)] {
            follow(capacity, hir, max_nonres, passed_over, keep);
        }
    }
}

/// Five frames, two of them for HIR pages.
fn small(options: &str, requests: &str) -> Cache {
    let mut cache = Cache::new(&format!("lirs(hir=2{options})"), 5);
    cache.run(requests);
    cache
}

#[test]
fn defaults_are_those_of_the_authors_simulator() {
    let of = |capacity| {
        let params = LirsParams::of(&Expr::parse("lirs").unwrap(), &Env::cache_only(capacity));
        (params.hir, params.max_nonres)
    };
    assert_eq!([of(5).0, of(299).0, of(1000).0], [2, 2, 10]);
    assert_eq!(of(7).1, Some(14));
}

#[test]
fn li_1_what_the_paper_leaves_open() {
    for (options, requests, state, why) in [
        (
            "",
            "W1 W2 W3 W4 W5 R6",
            "S[6H 5*H 4N 3*L 2*L 1*L] Q[6 5*]",
            "all three kinds",
        ),
        (
            "",
            "W1 W2 W3 W4 W5 T2 W5",
            "S[5*L 4*H 3*L 1*L] Q[4*]",
            "a LIR page left room, so nobody makes way",
        ),
        (
            ",max-nonres=1",
            "W1 W2 W3 W4 W5 W6 W4",
            "S[4*H 6*H 5N 3*L 2*L 1*L] Q[4* 6*]",
            "5 is remembered first, and there is room for one, although 4 is wanted next",
        ),
    ] {
        assert_eq!(small(options, requests).state(), state, "{why}");
    }
}

#[test]
fn without_a_queue_the_bottom_of_the_stack_leaves_for_good() {
    let mut cache = small("", "W1 W2 W3 W4 W5 T4 T5");
    assert_eq!(cache.order(), [1, 2, 3]);
    cache.make_room();
    assert_eq!(
        (cache.evicted[0], cache.state().as_str()),
        (1, "S[3*L 2*L] Q[]")
    );
}

#[test]
fn repeats_are_ignored_on_demand_and_follow_a_rename() {
    for (skip, kind) in [(false, Kind::Lir), (true, Kind::Hir)] {
        let mut cache = small(&format!(",skip-repeat={skip}"), "W1 W2 W3 W4");
        assert!(cache.rename(4, 40));
        assert_eq!(cache.write(40), "H");
        assert_eq!(lists(&cache).0[0], (40, kind));
        cache.run("W1 W40");
        assert_eq!(lists(&cache).0[0], (40, Kind::Lir), "no repeat any more");
    }
}

#[test]
fn two_queues_remember_at_most_the_capacity() {
    let mut cache = Cache::new("lirs(hir=3,variant=two-queue)", 8);
    let storm = Storm {
        steps: 20_000,
        pages: 40,
        seed: 31,
        passed_over: true,
    };
    cache.storm(storm, |cache, done| {
        let Body::TwoQueue(queues) = &cache.scheme.policy().body else {
            panic!("not the variant under test");
        };
        assert!(queues.remembered() <= 8, "{done:?}");
        let nodes = cache.frames.used() + queues.remembered();
        assert_eq!(cache.metadata_bytes(), nodes as u64 * 24);
        assert!(cache.frames.used() - queues.cold() <= 5, "{done:?}");
    });
}

#[test]
fn two_queues_take_from_the_hot_one_when_the_cold_one_is_empty() {
    let mut cache = small(",variant=two-queue", "W1 W2 W1 W2");
    cache.make_room();
    assert_eq!(cache.evicted, [1]);
    cache.run("W1 W7");
    assert_eq!(cache.order(), [7, 2, 1], "an evicted page comes back hot");
}

/// The bound is one page: the victim, page 3, pushes out the page that room is made for.
#[test]
fn go_2_the_ghost_of_the_new_page_counts() {
    let mut cache = Cache::new("lirs(hir=1,max-nonres=1)", 2);
    cache.run("W1 W2 W3 W2");
    assert_eq!(cache.state(), "S[2*H 3N 1*L] Q[2*]");
}
