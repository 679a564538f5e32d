//! Nodes by a key, the smallest first.

use std::cell::RefCell;

/// A node by what it is sorted by: its key, and which of all keys ever given that one is.
#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    rank: (K, u64),
    node: u32,
}

/// A binary heap that knows where each of its nodes is, so that any of them can leave or get another
/// key. O(log n) for each change. Of equal keys the one that was given first comes first.
#[derive(Clone, Debug)]
pub struct Ranking<K> {
    heap: Vec<Entry<K>>,
    given: u64,
    /// Place of a node in the heap; meaningless for those that are not there.
    at: Vec<u32>,
    /// Places of the heap whose nodes come next in [`Ranking::any`]; its memory is kept.
    next: RefCell<Vec<u32>>,
}

impl<K: Ord + Copy> Ranking<K> {
    /// No nodes yet; they are below `nodes`.
    pub fn new(nodes: usize) -> Ranking<K> {
        Ranking {
            heap: Vec::new(),
            given: 0,
            at: vec![0; nodes],
            next: RefCell::default(),
        }
    }

    /// The same with memory for all of them from the start, where their number comes and goes.
    pub fn with_room(nodes: usize) -> Ranking<K> {
        let heap = Vec::with_capacity(nodes);
        Ranking {
            heap,
            ..Ranking::new(nodes)
        }
    }

    /// Makes room for nodes below `nodes`.
    pub fn reserve(&mut self, nodes: usize) {
        if nodes > self.at.len() {
            self.at.resize(nodes.max(2 * self.at.len()), 0);
        }
    }

    /// Nodes in it.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Is there no node in it?
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The node with the smallest key.
    pub fn first(&self) -> Option<u32> {
        Some(self.heap.first()?.node)
    }

    /// The node that is first without the first one.
    pub fn second(&self) -> Option<u32> {
        let next = self.heap.iter().skip(1).take(2);
        next.min_by_key(|entry| entry.rank).map(|entry| entry.node)
    }

    /// Does `f` say so of a node? The nodes are asked in order until one is found, O(log n) each.
    pub fn any(&self, mut f: impl FnMut(u32) -> bool) -> bool {
        let mut next = self.next.borrow_mut();
        next.clear();
        next.extend((!self.heap.is_empty()).then_some(0));
        let key = |place: u32| self.heap[place as usize].rank;
        // The places are a heap themselves: the first is the smallest, and its children follow it.
        while let Some(&place) = next.first() {
            if f(self.heap[place as usize].node) {
                return true;
            }
            pop(&mut next, key);
            let children = (2 * place + 1)..(2 * place + 3).min(self.heap.len() as u32);
            children.for_each(|child| push(&mut next, child, key));
        }
        false
    }

    /// The key of a node that is in it.
    pub fn key(&self, node: u32) -> K {
        self.heap[self.at[node as usize] as usize].rank.0
    }

    /// All nodes, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.heap.iter().map(|entry| entry.node)
    }

    /// Adds a node that is not in it.
    pub fn insert(&mut self, node: u32, key: K) {
        self.given += 1;
        let rank = (key, self.given);
        self.heap.push(Entry { rank, node });
        self.settle(self.heap.len() - 1);
    }

    /// Gives a node that is in it another key.
    pub fn set(&mut self, node: u32, key: K) {
        let at = self.at[node as usize] as usize;
        self.given += 1;
        self.heap[at].rank = (key, self.given);
        self.settle(at);
    }

    /// Takes a node out that is in it.
    pub fn remove(&mut self, node: u32) {
        let at = self.at[node as usize] as usize;
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            self.settle(at);
        }
    }

    /// The entry at `at` goes up or down to where it belongs.
    fn settle(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 && entry.rank < self.heap[(at - 1) / 2].rank {
            self.put(at, self.heap[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        loop {
            let children = (2 * at + 1)..self.heap.len().min(2 * at + 3);
            let Some(least) = children.min_by_key(|&child| self.heap[child].rank) else {
                break;
            };
            if self.heap[least].rank >= entry.rank {
                break;
            }
            self.put(at, self.heap[least]);
            at = least;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: Entry<K>) {
        self.heap[at] = entry;
        self.at[entry.node as usize] = at as u32;
    }
}

/// Adds a place to a binary heap of places.
fn push<K: Ord>(heap: &mut Vec<u32>, place: u32, key: impl Fn(u32) -> K) {
    heap.push(place);
    let mut at = heap.len() - 1;
    while at > 0 && key(heap[at]) < key(heap[(at - 1) / 2]) {
        heap.swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/// Takes the first place out of a binary heap of places.
fn pop<K: Ord>(heap: &mut Vec<u32>, key: impl Fn(u32) -> K) {
    heap.swap_remove(0);
    let mut at = 0;
    loop {
        let children = (2 * at + 1)..heap.len().min(2 * at + 3);
        match children.min_by_key(|&child| key(heap[child])) {
            Some(least) if key(heap[least]) < key(heap[at]) => {
                heap.swap(at, least);
                at = least;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn the_smallest_come_first_whatever_happened_before() {
        let mut ranking = Ranking::new(4);
        let mut model: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut rng = SplitMix64::new(5);
        for given in 0..20_000 {
            let x = rng.next_u64();
            let node = (x % 50) as u32;
            let key = (x >> 32) % 40;
            ranking.reserve(node as usize + 1);
            match (model.contains_key(&node), (x >> 16) % 3) {
                (false, _) => ranking.insert(node, key),
                (true, 0) => {
                    ranking.remove(node);
                    model.remove(&node);
                    continue;
                }
                (true, _) => ranking.set(node, key),
            }
            model.insert(node, (key, given));
            let first = model.iter().min_by_key(|(_, key)| **key);
            assert_eq!(ranking.first(), first.map(|(node, _)| *node));
            let others = model.iter().filter(|other| Some(*other) != first);
            let second = others.min_by_key(|(_, key)| **key);
            assert_eq!(ranking.second(), second.map(|(node, _)| *node));
            assert_eq!((ranking.key(node), ranking.len()), (key, model.len()));
            if given % 100 == 0 {
                let mut order: Vec<u32> = model.keys().copied().collect();
                order.sort_by_key(|node| model[node]);
                let most = given as usize % 70;
                let mut asked = Vec::new();
                let found = ranking.any(|node| {
                    asked.push(node);
                    asked.len() == most
                });
                assert_eq!(found, (1..=order.len()).contains(&most));
                order.truncate(if found { most } else { order.len() });
                assert_eq!(asked, order);
            }
        }
    }
}
