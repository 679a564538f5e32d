//! Two slow models against a second reading of their rule: ARC as the paper prints it, and Belady
//! against a search through all choices.

use std::collections::BTreeSet;

use destage_conformance::reference::{
    Profile, SlowCache, SlowConfig, SlowRequest, look_ahead, swarm,
};
use destage_types::Op;

/// ARC as the paper prints it, one page access at a time (Fig. 4).
#[derive(Default)]
struct PrintedArc {
    c: usize,
    p: f64,
    t1: Vec<u64>,
    t2: Vec<u64>,
    b1: Vec<u64>,
    b2: Vec<u64>,
}

impl PrintedArc {
    fn out(list: &mut Vec<u64>, x: u64) -> bool {
        let at = list.iter().position(|&y| y == x);
        at.map(|at| list.remove(at)).is_some()
    }

    fn replace(&mut self, in_b2: bool) {
        let t1 = self.t1.len() as f64;
        let one = t1 > self.p || (in_b2 && t1 == self.p) || self.t2.is_empty();
        if !self.t1.is_empty() && one {
            self.b1.insert(0, self.t1.pop().unwrap());
        } else {
            self.b2.insert(0, self.t2.pop().unwrap());
        }
    }

    fn make_room(&mut self, in_b2: bool) {
        if self.t1.len() + self.t2.len() == self.c {
            self.replace(in_b2);
        }
    }

    fn access(&mut self, x: u64) {
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if Self::out(&mut self.t1, x) || Self::out(&mut self.t2, x) {
            return self.t2.insert(0, x);
        }
        if self.b1.contains(&x) {
            self.p = (self.c as f64).min(self.p + 1f64.max(b2 / b1));
            self.make_room(false);
            Self::out(&mut self.b1, x);
            return self.t2.insert(0, x);
        }
        if self.b2.contains(&x) {
            self.p = 0f64.max(self.p - 1f64.max(b1 / b2));
            self.make_room(true);
            Self::out(&mut self.b2, x);
            return self.t2.insert(0, x);
        }
        let total = self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len();
        if self.t1.len() + self.b1.len() >= self.c {
            if self.t1.len() < self.c {
                self.b1.pop();
                self.make_room(false);
            } else {
                self.t1.pop();
            }
        } else if total >= self.c {
            if total >= 2 * self.c {
                self.b2.pop();
            }
            self.make_room(false);
        }
        self.t1.insert(0, x);
    }

    fn trim(&mut self, x: u64) {
        for list in [&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2] {
            Self::out(list, x);
        }
    }
}

#[test]
fn arc_as_printed() {
    for seed in 0..200 {
        let c = 1 + seed as usize % 12;
        let profile = Profile::new(400, 8).pages(4 + seed % 40).whole_pages();
        let requests = swarm(seed, profile);
        let mut cache = SlowCache::new("arc", SlowConfig::new(c, 8)).unwrap();
        let mut arc = PrintedArc {
            c,
            ..PrintedArc::default()
        };
        for request in requests.iter().filter(|r| r.op != Op::Flush) {
            cache.step(request);
            for access in request.accesses(8) {
                match request.op {
                    Op::Trim => arc.trim(access.lpn),
                    _ => arc.access(access.lpn),
                }
            }
            let list = |pages: &[u64]| cache.store.list(pages);
            let ghosts = |pages: &[u64]| list(pages).replace('*', "");
            let state = format!(
                "T1{} T2{} B1{} B2{} p={}",
                list(&arc.t1),
                list(&arc.t2),
                ghosts(&arc.b1),
                ghosts(&arc.b2),
                arc.p
            );
            assert_eq!(cache.state(), state, "seed {seed} after {request:?}");
        }
    }
}

/// Most hits any policy with bypass can get, by trying everything.
fn best_hits(pages: &[u64], cached: &BTreeSet<u64>, c: usize) -> usize {
    let Some((&x, rest)) = pages.split_first() else {
        return 0;
    };
    if cached.contains(&x) {
        return 1 + best_hits(rest, cached, c);
    }
    let mut best = best_hits(rest, cached, c);
    let mut with = cached.clone();
    with.insert(x);
    if with.len() <= c {
        return best.max(best_hits(rest, &with, c));
    }
    for &victim in cached {
        let mut next = with.clone();
        next.remove(&victim);
        best = best.max(best_hits(rest, &next, c));
    }
    best
}

/// Page hits of a cache of two pages.
fn hits_of(expression: &str, requests: &[SlowRequest]) -> u64 {
    let mut cache = SlowCache::new(expression, SlowConfig::new(2, 8)).unwrap();
    for request in requests {
        cache.step(request);
    }
    cache.counts.page_hits
}

#[test]
fn belady_is_optimal() {
    for seed in 0..60 {
        let profile = Profile::new(12, 8).pages(5).whole_pages().data_only();
        let mut requests = swarm(seed, profile);
        requests.iter_mut().for_each(|r| r.op = Op::Write);
        let mut pages: Vec<u64> = Vec::new();
        for request in &mut requests {
            request.extents[0].1 = 8;
            pages.extend(request.accesses(8).iter().map(|a| a.lpn));
        }
        look_ahead(&mut requests, 8, "any");
        let hits = hits_of("belady", &requests);
        let best = best_hits(&pages, &BTreeSet::new(), 2);
        assert_eq!(hits as usize, best, "seed {seed}");
        for other in ["lru", "arc", "lirs(hir=1)", "lfu", "req-block"] {
            assert!(hits_of(other, &requests) <= hits, "{other}");
        }
    }
}

/// ProCache makes room for the whole request before it admits the first page: under LFU, room made
/// page by page would throw out the pages just admitted (ProCache section 4.1).
#[test]
fn procache_admits_a_request_as_a_whole() {
    let expression = "procache(lfu,p=1,c=1m)";
    let mut cache = SlowCache::new(expression, SlowConfig::new(4, 8)).unwrap();
    for _ in 0..2 {
        cache.step(&SlowRequest::write_pages(8, 1, 4));
    }
    let row = cache.step(&SlowRequest::write_pages(8, 10, 12));
    assert_eq!(row.evicted, "flush{1} flush{2} flush{3}");
    assert_eq!(cache.state(), "[12*:1 11*:1 10*:1 4*:2]");
    assert_eq!((row.hits, cache.counts.page_hits), (vec![false; 3], 4));
}
