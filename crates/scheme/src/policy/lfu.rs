//! LFU: the page with the fewest accesses since it was inserted leaves first.
//!
//! Source: in-cache LFU without ageing, as the baseline of the papers; no single origin.
//! A page counts 1 at insertion and 1 more per hit; eviction forgets it.
//! Order: by (count, least recent touch). Ties: equal counts leave by least recent touch.
//! State: one list ordered by count and recency, a bucket per distinct count; accounted as 16 B
//! per page. Cost: O(1).
//!
//! Departures: none.

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::{Access, Env, Expr, Pages, Policy, RemoveReason, View};
use destage_types::Slot;

/// Bytes of a page node: a page node of LRU and its count.
const NODE_BYTES: u64 = 16;

/// `lfu`: least often used first.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lfu",
    summary: "Evicts the page with the fewest accesses since its insertion; no aging.",
    source: PaperSource::CLASSIC,
    ties: "least recently touched",
    order: Some("by count, then least recent touch"),
    metadata: |_, _| Some(MetadataBound::nodes(NODE_BYTES)),
    vectors: &["lfu"],
    build: Some(boxed::<Pages<Lfu>>),
    ..SchemeInfo::BASE
};

/// The pages of one count; consecutive in the list.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    count: u64,
    /// The page of this count that was touched last.
    newest: u32,
}

/// Least frequently used.
#[derive(Clone, Debug)]
pub struct Lfu {
    /// List 0, nodes are slots: tail = smallest count, least recently touched.
    list: ListArray<1>,
    /// Bucket of the page in each slot.
    bucket_of: Vec<u32>,
    buckets: Vec<Bucket>,
    free: Vec<u32>,
    /// When the page in each slot was touched last, for the order in which the state is printed,
    /// and the clock: accesses have numbers, but a page that is renamed to another list has none.
    #[cfg(feature = "conformance")]
    touched: (Vec<u64>, u64),
}

impl Lfu {
    #[cfg(feature = "conformance")]
    fn stamp(&mut self, slot: Slot) {
        let (stamps, clock) = &mut self.touched;
        *clock += 1;
        stamps[slot.index()] = *clock;
    }

    #[inline]
    fn bucket(&self, node: u32) -> Bucket {
        self.buckets[self.bucket_of[node as usize] as usize]
    }

    /// Makes `node`, which is in its place in the list, the only page of a new bucket.
    #[inline]
    fn open(&mut self, node: u32, count: u64) {
        let bucket = self.free.pop();
        let bucket = bucket.expect("there are never more counts than pages");
        self.bucket_of[node as usize] = bucket;
        self.buckets[bucket as usize] = Bucket {
            count,
            newest: node,
        };
    }

    /// Takes `node` out of its bucket, but leaves it in the list.
    #[inline]
    fn leave(&mut self, node: u32) {
        let bucket = self.bucket_of[node as usize];
        if self.buckets[bucket as usize].newest != node {
            return;
        }
        // The pages of a bucket are neighbours: its next one, if there is one, is just below.
        match self.list.older(node) {
            Some(older) if self.bucket_of[older as usize] == bucket => {
                self.buckets[bucket as usize].newest = older;
            }
            _ => self.free.push(bucket),
        }
    }

    /// Puts `node`, which is in no list, behind the newest page of `bucket`'s count.
    #[inline]
    fn join(&mut self, node: u32, bucket: u32) {
        let newest = std::mem::replace(&mut self.buckets[bucket as usize].newest, node);
        self.bucket_of[node as usize] = bucket;
        self.list.insert_newer(node, newest);
    }
}

impl Policy for Lfu {
    fn build(_expr: &Expr, env: &Env) -> Lfu {
        let slots = env.slots as usize;
        let none = Bucket {
            count: 0,
            newest: 0,
        };
        Lfu {
            list: Lists::array(slots),
            bucket_of: vec![0; slots],
            buckets: vec![none; slots],
            free: (0..env.slots).rev().collect(),
            #[cfg(feature = "conformance")]
            touched: (vec![0; slots], 0),
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        #[cfg(feature = "conformance")]
        self.stamp(slot);
        match self.list.tail(0) {
            Some(tail) if self.bucket(tail).count == 1 => {
                self.join(slot.0, self.bucket_of[tail as usize]);
            }
            _ => {
                self.list.push_tail(0, slot.0);
                self.open(slot.0, 1);
            }
        }
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        #[cfg(feature = "conformance")]
        self.stamp(slot);
        let node = slot.0;
        let own = self.bucket(node);
        let above = self.list.newer(own.newest);
        let next = above.filter(|&n| self.bucket(n).count == own.count + 1);
        self.leave(node);
        if let Some(next) = next {
            self.list.unlink(node);
            return self.join(node, self.bucket_of[next as usize]);
        }
        // No page has the new count: this one stands alone between its old bucket and the next one,
        // and the newest page of its old bucket is there already.
        if own.newest != node {
            self.list.unlink(node);
            self.list.insert_newer(node, own.newest);
        }
        self.open(node, own.count + 1);
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.leave(slot.0);
        self.list.unlink(slot.0);
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        self.list.from_tail(0).map(Slot)
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * NODE_BYTES
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        use std::fmt::Write;
        let mut pages: Vec<u32> = self.list.from_head(0).collect();
        pages.sort_by_key(|&n| std::cmp::Reverse(self.touched.0[n as usize]));
        crate::state::list(out, pages, |out, node| {
            crate::state::page(out, v, Slot(node));
            write!(out, ":{}", self.bucket(node).count).expect("writing to a string cannot fail");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Done, Storm, TestCache};
    use std::collections::HashMap;

    type Cache = TestCache<Pages<Lfu>>;

    #[test]
    fn order_is_count_then_recency_whatever_happens() {
        for (capacity, pages) in [(1, 4), (6, 14), (40, 90)] {
            let mut cache = Cache::new("lfu", capacity);
            // LPN -> (count, number of the last touch)
            let mut model: HashMap<u64, (u64, u64)> = HashMap::new();
            let (mut now, mut left) = (0, 0);
            let storm = Storm {
                steps: 20_000,
                pages,
                seed: 3,
                passed_over: true,
            };
            cache.storm(storm, |cache, done| {
                now += 1;
                model.retain(|l, _| !cache.evicted[left..].contains(l));
                left = cache.evicted.len();
                match done {
                    Done::Access(lpn, hit) => {
                        let count = if hit { model[&lpn].0 + 1 } else { 1 };
                        model.insert(lpn, (count, now));
                    }
                    Done::Trim(lpn) => drop(model.remove(&lpn)),
                    Done::Rename(from, to, known) => {
                        if let Some(page) = model.remove(&from) {
                            model.insert(to, page);
                        }
                        assert_eq!(known, model.contains_key(&to));
                    }
                    Done::Flush => {}
                }
                let mut order: Vec<u64> = model.keys().copied().collect();
                order.sort_by_key(|l| model[l]);
                assert_eq!(cache.order(), order, "{done:?}");
            });
            cache.scheme.policy().list.validate().unwrap();
        }
    }

    #[test]
    fn buckets_are_reused() {
        let mut cache = Cache::new("lfu", 3);
        cache.run("W1 W2 W2 W3 W3 W3 W1 W1 W1 W1");
        assert_eq!(cache.state(), "[1*:5 3*:3 2*:2]");
        assert_eq!(cache.order(), [2, 3, 1]);
        let free = |cache: &Cache| cache.scheme.policy().free.len();
        assert_eq!(free(&cache), 0, "three counts, three buckets");
        cache.write(2);
        assert_eq!((free(&cache), cache.metadata_bytes()), (1, 48));
    }

    #[test]
    fn eviction_forgets_the_count() {
        let mut cache = Cache::new("lfu", 1);
        cache.run("W1 W1 W1 W2 W1");
        assert_eq!(cache.state(), "[1*:1]");
    }
}
