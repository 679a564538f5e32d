//! BPAC: pages that are written again are kept one by one; all others leave in clusters, the pages that are
//! cached of a block. A page that was not used for long goes back to its cluster.
//!
//! Source: Wu, Eckart, He, "BPAC: An Adaptive Write Buffer Management Scheme for Flash-based Solid State
//! Drives", MSST 2010 and ACM TOS 2012 (reconstruction). State: a list of pages, 12 B each, and one of
//! clusters, 24 B each, the older half of it as a list of its own. Ties: the cluster nearest the LRU end.
//! Cost: O(log of the clusters) per page; an eviction looks at the pages of the last cluster, of which
//! there are no more than leave.
//!
//! Where the paper is silent:
//! - BC-1: reads count: a page of the page list moves to its head, and so does the cluster of any other.
//! - BC-2: if there is no cluster, the last page of the page list becomes one.
//! - A page that is renamed stays where it is in the page list; a page of a cluster joins that of its new
//!   address, which goes to the head only if it is new.
//! - D6: the pages of a cluster are spread over the chips.

use super::logical_blocks::{BLOCK_NODE_BYTES, BlockParams, LogicalBlocks};
use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, Role, SchemeInfo};
use crate::lists::List;
use crate::ranking::Ranking;
use crate::{
    Access, Env, Expr, GroupPolicy, Groups, PAGE_NODE_BYTES, PageLists, Placement, RemoveReason,
    SchemeStats, Unit, View,
};
use destage_types::{Lpn, Op, Slot};
use std::cell::Cell;
use std::cmp::Reverse;

/// `bpac`: pages and clusters.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "bpac",
    summary: "Pages written again stay in a page list; the rest leaves as clusters of a block.",
    source: PaperSource {
        paper: "Wu, Eckart, He, BPAC, MSST 2010 and ACM TOS",
        year: Some(2012),
        section: "abstract",
        certain: false,
    },
    role: Role::GroupPolicy,
    params: &[BlockParams::PARAMS],
    ties: "nearest the LRU end",
    write_buffer: true,
    metadata: |_, _| Some(MetadataBound::nodes(BLOCK_NODE_BYTES)),
    vectors: &["bpac"],
    build: Some(boxed::<Groups<Bpac>>),
    ..SchemeInfo::BASE
};

/// The newer and the older half of the clusters; the older one has one more, if their number is odd.
const YOUNG: usize = 0;
const OLD: usize = 1;

/// Pages and clusters.
#[derive(Clone, Debug)]
pub struct Bpac {
    /// Pages that were written at least twice, by last access.
    pages: List,
    /// The other ones.
    clusters: LogicalBlocks<2>,
    /// Old clusters, the fullest first, then those nearest the LRU end.
    fullest: Ranking<(Reverse<usize>, i64)>,
    /// Numbers of the clusters that grow from the LRU end to the head.
    place: Vec<i64>,
    newest: i64,
    oldest: i64,
    /// Last access of each page.
    accessed: Vec<u64>,
    accesses: u64,
    demotions: u64,
    /// By cluster: pages that would come back. Zero but while the next unit is looked for.
    coming: Vec<Cell<usize>>,
}

impl Bpac {
    fn is_old(&self, cluster: u32) -> bool {
        self.clusters.order.list_of(cluster) == OLD
    }

    fn key(&self, cluster: u32) -> (Reverse<usize>, i64) {
        let pages = self.clusters.held(cluster);
        (Reverse(pages), self.place[cluster as usize])
    }

    /// The number of pages of a cluster has changed.
    fn rank(&mut self, cluster: u32) {
        if self.is_old(cluster) {
            self.fullest.set(cluster, self.key(cluster));
        }
    }

    fn touch(&mut self, slot: Slot) {
        self.accesses += 1;
        self.accessed[slot.index()] = self.accesses;
    }

    fn move_to_head(&mut self, cluster: u32) {
        if self.is_old(cluster) {
            self.fullest.remove(cluster);
        }
        self.clusters.order.move_to_head(YOUNG, cluster);
        self.newest += 1;
        self.place[cluster as usize] = self.newest;
        self.balance();
    }

    /// Half of the clusters are old.
    fn balance(&mut self) {
        let order = &mut self.clusters.order;
        let [young, old] = order.lens();
        let half = (young + old).div_ceil(2);
        if old < half {
            let cluster = order.tail(YOUNG).expect("there are more of them");
            order.move_to_head(OLD, cluster);
            self.fullest.insert(cluster, self.key(cluster));
        } else if old > half {
            let cluster = order.head(OLD).expect("there are more of them");
            order.move_to_tail(YOUNG, cluster);
            self.fullest.remove(cluster);
        }
    }

    /// The page, which is in no list, joins its cluster; one that is new goes to the head.
    fn join(&mut self, slot: Slot, lpn: Lpn) -> u32 {
        let cluster = self.clusters.join(slot, lpn);
        match self.clusters.held(cluster) {
            1 => self.move_to_head(cluster),
            _ => self.rank(cluster),
        }
        cluster
    }

    fn leave(&mut self, slot: Slot) {
        if !self.clusters.has(slot) {
            self.pages.unlink(slot);
            return;
        }
        let cluster = self.clusters.of(slot);
        let was_old = self.is_old(cluster);
        if self.clusters.leave(slot) {
            self.rank(cluster);
        } else {
            if was_old {
                self.fullest.remove(cluster);
            }
            self.balance();
        }
    }

    /// The newest access of the last cluster; without clusters no page is as new.
    fn last_cluster_accessed(&self) -> u64 {
        let Some(last) = self.clusters.order.tail(OLD) else {
            return u64::MAX;
        };
        let pages = self.clusters.pages.from_tail(last as usize);
        let accessed = pages.map(|slot| self.accessed[slot as usize]);
        accessed.max().expect("a cluster has a page")
    }

    /// Pages that were accessed before `limit`, longest ago first. They go back to their clusters before
    /// one leaves, up to the first one whose cluster does not exist: it becomes the last cluster, and all
    /// pages behind it are newer.
    fn overdue(&self, limit: u64) -> impl Iterator<Item = Slot> + '_ {
        let due = move |slot: &Slot| self.accessed[slot.index()] < limit;
        self.pages.from_tail().take_while(due)
    }

    /// Those with a cluster, and their clusters.
    fn coming<'a>(&'a self, limit: u64, v: &'a View) -> impl Iterator<Item = (Slot, u32)> + 'a {
        let overdue = self.overdue(limit);
        overdue.map_while(move |slot| Some((slot, self.clusters.find(v.frames.lpn(slot))?)))
    }

    /// A page goes back to its cluster; does that come into being with it?
    fn demote(&mut self, slot: Slot, lpn: Lpn) -> bool {
        self.demotions += 1;
        self.pages.unlink(slot);
        let cluster = self.clusters.join(slot, lpn);
        if self.clusters.held(cluster) > 1 {
            self.rank(cluster);
            return false;
        }
        self.oldest -= 1;
        self.place[cluster as usize] = self.oldest;
        self.clusters.order.move_to_tail(OLD, cluster);
        self.fullest.insert(cluster, self.key(cluster));
        self.balance();
        true
    }

    /// Pages of a cluster when those that are coming are there.
    fn held_then(&self, cluster: u32) -> usize {
        self.clusters.held(cluster) + self.coming[cluster as usize].get()
    }

    /// The fullest old cluster then, where pages are coming to clusters of `coming`, and perhaps one more
    /// cluster at the LRU end.
    fn fullest_then(&self, one_more: bool, coming: impl Iterator<Item = u32>) -> Option<u32> {
        let [young, old] = self.clusters.order.lens();
        // With one more an odd number of clusters becomes even, and the newest old one is young.
        let newest = self.clusters.order.head(OLD);
        let rejuvenated = newest.filter(|_| one_more && old > young);
        let first = [self.fullest.first(), self.fullest.second()];
        let all = coming
            .filter(|&c| self.is_old(c))
            .chain(first.into_iter().flatten());
        all.filter(|&cluster| Some(cluster) != rejuvenated)
            .min_by_key(|&c| (Reverse(self.held_then(c)), self.place[c as usize]))
    }
}

impl GroupPolicy for Bpac {
    fn build(expr: &Expr, env: &Env) -> Bpac {
        let BlockParams { block_pages } = BlockParams::of(expr, env);
        let slots = env.slots as usize;
        Bpac {
            pages: List::new(slots),
            clusters: LogicalBlocks::new(block_pages, env),
            fullest: Ranking::new(slots),
            place: vec![0; slots],
            newest: 0,
            oldest: 0,
            accessed: vec![0; slots],
            accesses: 0,
            demotions: 0,
            coming: vec![Cell::new(0); slots],
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.touch(slot);
        let cluster = self.join(slot, a.lpn);
        self.move_to_head(cluster);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.touch(slot);
        if !self.clusters.has(slot) {
            self.pages.move_to_head(slot);
        } else if a.op == Op::Write {
            self.leave(slot);
            self.pages.push_head(slot);
        } else {
            self.move_to_head(self.clusters.of(slot));
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.leave(slot);
    }

    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Slot, _v: &View) {
        if self.clusters.has(slot) {
            let old = self.clusters.of(slot);
            if self.clusters.number(old) != self.clusters.number_of(to) {
                self.leave(slot);
                self.join(slot, to);
            }
        }
    }

    fn victim(&mut self, _a: &Access, v: &View, unit: &mut Unit) {
        let limit = self.last_cluster_accessed();
        loop {
            let next = self.overdue(limit).next();
            let Some(slot) = next else { break };
            if self.demote(slot, v.frames.lpn(slot)) {
                break;
            }
        }
        if let Some(cluster) = self.fullest.first() {
            self.clusters.collect(cluster, Placement::Stripe, unit);
        }
    }

    /// The unit that `victim` would choose; no page goes back to its cluster for that.
    fn next_unit(&self, v: &View, unit: &mut Unit) {
        let limit = self.last_cluster_accessed();
        let coming = || self.coming(limit, v);
        for (_, cluster) in coming() {
            let count = &self.coming[cluster as usize];
            count.set(count.get() + 1);
        }
        let no_cluster = |&slot: &Slot| self.clusters.find(v.frames.lpn(slot)).is_none();
        let alone = self.overdue(limit).find(no_cluster);
        let chosen = self.fullest_then(alone.is_some(), coming().map(|(_, cluster)| cluster));
        // A page that would become a cluster would be the last one, so it loses to larger ones alone.
        match chosen.filter(|&cluster| alone.is_none() || self.held_then(cluster) > 1) {
            Some(chosen) => {
                self.clusters.collect(chosen, Placement::Stripe, unit);
                let to_it = coming().filter(|&(_, cluster)| cluster == chosen);
                unit.slots.extend(to_it.map(|(slot, _)| slot));
            }
            None => {
                unit.id = alone.map_or(0, |slot| self.clusters.number_of(v.frames.lpn(slot)));
                unit.slots.extend(alone);
            }
        }
        coming().for_each(|(_, cluster)| self.coming[cluster as usize].set(0));
    }

    fn metadata_bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_NODE_BYTES + self.clusters.metadata_bytes()
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("pages", self.pages.len() as u64);
        out.gauge("clusters", self.clusters.len() as u64);
        out.counter("demotions", self.demotions);
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        out.add("pages", self.pages.from_head());
        self.clusters.lists("clusters", v, out);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        out.push_str("PL");
        crate::state::pages(out, v, self.pages.from_head());
        let clusters = self.clusters.all();
        let clusters = clusters.map(|cluster| self.clusters.shown(v, cluster, false, ""));
        out.push_str(" BL ");
        out.push_str(&crate::state::joined_or_dash(clusters));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{STILL, TestCache};

    type Cache = TestCache<Groups<Bpac>>;

    #[test]
    fn pages_written_again_stay_and_old_clusters_leave() {
        let mut cache = Cache::new("bpac(block-pages=4)", 6);
        cache.run("W0-1 W4 W8 W0 W12-13 W16");
        assert_eq!(cache.said(), "flush{1}");
        assert_eq!(cache.state(), "PL[0*] BL B4{16} B3{12,13} B2{8} B1{4}");
        // The older half has two clusters; the one of two pages is no part of it.
        cache.run("W20");
        assert_eq!(cache.said(), "flush{4}");
    }

    #[test]
    fn a_page_not_used_for_long_goes_back_to_its_cluster() {
        let mut cache = Cache::new("bpac(block-pages=4)", 4);
        cache.run("W0 W0 W4 W8-9");
        assert_eq!(cache.state(), "PL[0*] BL B2{8,9} B1{4}");
        // Page 0 is older than page 4 and has no cluster: it is the last one, and two are old now.
        assert_eq!(cache.next_unit(), [0]);
        cache.run("W10");
        assert_eq!(cache.said(), "flush{0}");
        assert_eq!(cache.state(), "PL[] BL B2{8,9,10} B1{4}");
        // Page 8 goes back to the cluster that it came from, once block 1 is newer.
        cache.run("W8 R9 R4 W5");
        assert_eq!(cache.said(), "flush{8,9,10}");
        assert_eq!(cache.state(), "PL[] BL B1{4,5}");
        assert_eq!(cache.stat("demotions"), 2);
    }

    #[test]
    fn bc_1_reads_are_accesses() {
        let mut cache = Cache::new("bpac(block-pages=4)", 6);
        cache.run("W0 W4 W8 W0 W4");
        assert_eq!(cache.state(), "PL[4* 0*] BL B2{8}");
        cache.run("R0 W12 R8");
        assert_eq!(cache.state(), "PL[0* 4*] BL B2{8} B3{12}");
    }

    #[test]
    fn bc_2_without_clusters_the_last_page_leaves() {
        let mut cache = Cache::new("bpac(block-pages=4)", 3);
        cache.run("W0-1 W4 W0-1 W4");
        assert_eq!(cache.state(), "PL[4* 1* 0*] BL -");
        assert_eq!(cache.next_unit(), [0]);
        cache.run("W8");
        assert_eq!(
            (cache.said(), cache.state()),
            ("flush{0}".to_owned(), "PL[4* 1*] BL B2{8}".to_owned())
        );
    }

    #[test]
    fn random_runs_keep_pages_and_clusters_together() {
        for (seed, capacity) in [(1, 3), (2, 7), (3, 20), (4, 40)] {
            let mut cache = Cache::new("bpac(block-pages=4)", capacity);
            cache.random(seed, 20_000, STILL, |cache| {
                let s = cache.scheme.policy();
                let clustered = s.clusters.validate(&cache.frames);
                assert_eq!(clustered + s.pages.len(), cache.frames.used());
                let [young, old] = s.clusters.order.lens();
                assert!(old == young || old == young + 1);
                assert_eq!(s.fullest.len(), old);
                let place = s.clusters.all().map(|c| s.place[c as usize]);
                assert!(place.is_sorted_by(|a, b| a > b));
                let accessed = s.pages.from_head().map(|p| s.accessed[p.index()]);
                assert!(accessed.is_sorted_by(|a, b| a > b));
                assert!(s.coming.iter().all(|n| n.get() == 0));
                if cache.frames.used() > 0 {
                    assert_eq!(cache.next_unit(), cache.next_victim());
                }
            });
        }
    }
}
