//! The lists by time against a stack in a vector, and the cases the paper leaves open.

use super::*;
use crate::policy::testing::{Core, Done, storm};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Lir,
    Hir,
    Gone,
}

/// S with its top first and Q with its newest page first, as the paper draws them.
#[derive(Default)]
struct Model {
    stack: Vec<(u64, Kind)>,
    queue: Vec<u64>,
    lir: usize,
    max_gone: usize,
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
            return self.gone(lpn);
        }
        self.queue.retain(|&l| l != lpn);
        if let Some(entry) = self.stack.iter_mut().find(|e| e.0 == lpn) {
            entry.1 = Kind::Gone;
        }
        if self.count(Kind::Gone) > self.max_gone {
            let lowest = self.stack.iter().rposition(|e| e.1 == Kind::Gone).unwrap();
            self.stack.remove(lowest);
        }
    }

    fn gone(&mut self, lpn: u64) {
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

fn stack_of(core: &Core<Lirs>) -> &Stack {
    match &core.scheme.body {
        Body::Stack(stack) => stack,
        Body::TwoQueue(_) => panic!("not the variant under test"),
    }
}

/// S and Q of the scheme in the form of the model.
fn lists(core: &Core<Lirs>) -> (Vec<(u64, Kind)>, Vec<u64>) {
    let stack = stack_of(core);
    let kind = |letter| match letter {
        'L' => Kind::Lir,
        'H' => Kind::Hir,
        _ => Kind::Gone,
    };
    let pages = stack.pages_of_stack(&core.view()).into_iter();
    let queue = stack.slots_of_queue();
    (
        pages.map(|(lpn, _, c)| (lpn.0, kind(c))).collect(),
        queue.map(|slot| core.frames.lpn(slot).0).collect(),
    )
}

fn follow(capacity: u32, options: LirsOptions, pages: u64, passed_over: bool, keep: bool) {
    let c = capacity as usize;
    let mut core = Core::new(capacity, Lirs::with_slots(c, c, options, keep));
    let mut model = Model {
        lir: c - options.hir,
        max_gone: options.max_nonres.unwrap_or(usize::MAX),
        ..Model::default()
    };
    let mut left = 0;
    storm(&mut core, (15_000, pages, 23), passed_over, |core, done| {
        for &lpn in &core.evicted[left..] {
            model.evict(lpn);
        }
        left = core.evicted.len();
        match done {
            Done::Access(lpn, hit) => model.access(lpn, hit),
            Done::Trim(lpn) => match core.frames.slot_of(Lpn(lpn)) {
                None if model.kind(lpn) == Some(Kind::Gone) => model.stack.retain(|e| e.0 != lpn),
                None if model.kind(lpn).is_some() || model.queue.contains(&lpn) => model.gone(lpn),
                _ => {}
            },
            Done::Rename(from, to, _) => model.rename(from, to),
            Done::Flush => {}
        }
        let (stack, queue) = lists(core);
        assert_eq!((&stack, &queue), (&model.stack, &model.queue), "{done:?}");
        let count = |kind| stack.iter().filter(|e| e.1 == kind).count();
        assert!(count(Kind::Lir) <= model.lir && count(Kind::Gone) <= model.max_gone);
        assert_eq!(count(Kind::Lir) + queue.len(), core.frames.used());
        let nodes = core.frames.used() + count(Kind::Gone);
        assert_eq!(core.scheme.metadata_bytes(), nodes as u64 * 24);
        let slots = (0..core.frames.slots() as u32).map(Slot);
        let kept = slots.filter(|&slot| core.scheme.holds_ghost(slot)).count();
        let keeps = core.scheme.max_ghosts() > 0;
        assert_eq!(kept, if keeps { count(Kind::Gone) } else { 0 });
    });
    assert_eq!(
        core.scheme.max_ghosts() > 0,
        keep && options.max_nonres.is_some()
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
        let options = LirsOptions {
            hir,
            max_nonres,
            ..LirsOptions::for_capacity(capacity)
        };
        for passed_over in [false, true] {
            for keep in [false, true] {
                let pages = 4 * capacity as u64;
                follow(capacity as u32, options, pages, passed_over, keep);
            }
        }
    }
}

fn small(options: LirsOptions) -> Core<Lirs> {
    Core::new(5, Lirs::new(5, LirsOptions { hir: 2, ..options }))
}

#[test]
fn defaults_are_those_of_the_authors_simulator() {
    let hir = |c| LirsOptions::for_capacity(c).hir;
    assert_eq!((hir(5), hir(299), hir(1000)), (2, 2, 10));
    assert_eq!(LirsOptions::for_capacity(7).max_nonres, Some(14));
}

#[test]
fn a_lir_page_that_moves_elsewhere_leaves_room_for_the_next() {
    let mut core = small(LirsOptions::for_capacity(5));
    for n in [1, 2, 3, 4, 5] {
        core.write(n);
    }
    core.trim(2);
    core.write(5);
    let (stack, queue) = lists(&core);
    let lir: Vec<u64> = stack
        .iter()
        .filter(|e| e.1 == Kind::Lir)
        .map(|e| e.0)
        .collect();
    assert_eq!((lir, queue), (vec![5, 3, 1], vec![4]), "nobody makes way");
}

#[test]
fn without_a_queue_the_bottom_of_the_stack_leaves_for_good() {
    let mut core = small(LirsOptions::for_capacity(5));
    for n in [1, 2, 3, 4, 5] {
        core.write(n);
    }
    core.trim(4);
    core.trim(5);
    assert_eq!(core.order(), [1, 2, 3]);
    core.make_room();
    let (stack, _) = lists(&core);
    assert_eq!((core.evicted[0], stack.len()), (1, 2));
}

#[test]
fn the_oldest_memory_goes_even_if_it_is_wanted_next() {
    let options = LirsOptions {
        max_nonres: Some(1),
        ..LirsOptions::for_capacity(5)
    };
    let mut core = small(options);
    for n in [1, 2, 3, 4, 5, 6] {
        core.write(n);
    }
    assert_eq!(core.evicted, [4]);
    core.write(4); // 5 is remembered first, and there is room for one
    let (stack, _) = lists(&core);
    assert_eq!(stack[0], (4, Kind::Hir));
}

#[test]
fn repeats_are_ignored_on_demand_and_follow_a_rename() {
    for skip_repeat in [false, true] {
        let mut core = small(LirsOptions {
            skip_repeat,
            ..LirsOptions::for_capacity(5)
        });
        for n in [1, 2, 3, 4] {
            core.write(n);
        }
        assert!(core.rename(4, 40));
        assert!(core.write(40));
        let kind = lists(&core).0[0];
        assert_eq!(kind, (40, if skip_repeat { Kind::Hir } else { Kind::Lir }));
        core.write(1);
        core.write(40);
        assert_eq!(lists(&core).0[0], (40, Kind::Lir), "no repeat any more");
    }
}

#[test]
fn two_queues_remember_at_most_the_capacity() {
    let options = LirsOptions {
        hir: 3,
        variant: LirsVariant::TwoQueue,
        ..LirsOptions::for_capacity(8)
    };
    let mut core = Core::new(8, Lirs::new(8, options));
    storm(&mut core, (20_000, 40, 31), true, |core, done| {
        let Body::TwoQueue(queues) = &core.scheme.body else {
            panic!("not the variant under test");
        };
        assert!(queues.ghosts() <= 8, "{done:?}");
        let nodes = core.frames.used() + queues.ghosts();
        assert_eq!(core.scheme.metadata_bytes(), nodes as u64 * 24);
        assert!(core.frames.used() - queues.cold() <= 5, "{done:?}");
    });
}

#[test]
fn two_queues_take_from_the_hot_one_when_the_cold_one_is_empty() {
    let mut core = small(LirsOptions {
        variant: LirsVariant::TwoQueue,
        ..LirsOptions::for_capacity(5)
    });
    for n in [1, 2, 1, 2] {
        core.write(n);
    }
    core.make_room();
    assert_eq!(core.evicted, [1]);
    core.write(1);
    core.write(7);
    assert_eq!(core.order(), [7, 2, 1], "an evicted page comes back hot");
}

#[cfg(feature = "conformance")]
#[test]
fn states_print_all_three_kinds() {
    let mut core = small(LirsOptions::for_capacity(5));
    for n in [1, 2, 3, 4, 5] {
        core.write(n);
    }
    core.read(6);
    assert_eq!(core.state(), "S[6H 5*H 4N 3*L 2*L 1*L] Q[6 5*]");
}
