//! Nodes in the order of their keys, over arrays: a skip list whose nodes keep their height.

const NONE: u32 = u32::MAX;
/// One node of four reaches the next level, so this is enough for 65,536 nodes, and works for more.
const LEVELS: usize = 9;

/// Nodes with different keys, ascending. Nodes are numbers below the count given at first.
#[derive(Clone, Debug)]
pub struct KeyOrder {
    keys: Vec<u64>,
    /// The node behind each node on each level, and last the first nodes.
    next: Vec<[u32; LEVELS]>,
    len: usize,
}

impl KeyOrder {
    /// No node; there will be `nodes` at most.
    pub fn new(nodes: usize) -> KeyOrder {
        KeyOrder {
            keys: vec![0; nodes],
            next: vec![[NONE; LEVELS]; nodes + 1],
            len: 0,
        }
    }

    /// Nodes in the order.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is there no node?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Key of a node in the order.
    #[inline]
    pub fn key(&self, node: u32) -> u64 {
        self.keys[node as usize]
    }

    /// The node with the smallest key.
    pub fn first(&self) -> Option<u32> {
        self.behind(self.keys.len(), 0)
    }

    /// The node with the next larger key.
    #[inline]
    pub fn next(&self, node: u32) -> Option<u32> {
        self.behind(node as usize, 0)
    }

    /// The node with a key.
    pub fn find(&self, key: u64) -> Option<u32> {
        let last = self.before(key)[0];
        self.behind(last, 0).filter(|&node| self.key(node) == key)
    }

    /// Puts a node in its place.
    pub fn insert(&mut self, node: u32, key: u64) {
        self.keys[node as usize] = key;
        let before = self.before(key);
        for (level, &at) in before.iter().enumerate().take(height(node)) {
            self.next[node as usize][level] = std::mem::replace(&mut self.next[at][level], node);
        }
        self.len += 1;
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: u32) {
        let before = self.before(self.key(node));
        for (level, &at) in before.iter().enumerate().take(height(node)) {
            self.next[at][level] = self.next[node as usize][level];
        }
        self.len -= 1;
    }

    #[inline]
    fn behind(&self, at: usize, level: usize) -> Option<u32> {
        let next = self.next[at][level];
        (next != NONE).then_some(next)
    }

    /// The last node with a smaller key on each level.
    fn before(&self, key: u64) -> [usize; LEVELS] {
        let mut at = self.keys.len();
        let mut before = [at; LEVELS];
        for level in (0..LEVELS).rev() {
            while let Some(next) = self.behind(at, level)
                && self.key(next) < key
            {
                at = next as usize;
            }
            before[level] = at;
        }
        before
    }
}

/// Levels of a node: a mixed number ends each with a chance of 3 in 4.
fn height(node: u32) -> usize {
    let mixed = (u64::from(node) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (1 + mixed.leading_zeros() as usize / 2).min(LEVELS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_an_ordered_map() {
        let mut order = KeyOrder::new(300);
        let mut model: BTreeMap<u64, u32> = BTreeMap::new();
        let mut free: Vec<u32> = (0..300).collect();
        let mut rng = SplitMix64::new(7);
        for _ in 0..5_000 {
            let key = rng.next_u64() % 500;
            match model.remove(&key) {
                Some(node) => {
                    assert_eq!(order.find(key), Some(node));
                    order.remove(node);
                    free.push(node);
                }
                None => {
                    assert_eq!(order.find(key), None);
                    if let Some(node) = free.pop() {
                        order.insert(node, key);
                        model.insert(key, node);
                    }
                }
            }
            let nodes = std::iter::successors(order.first(), |&node| order.next(node));
            assert!(nodes.eq(model.values().copied()));
            assert_eq!(
                (order.len(), order.is_empty()),
                (model.len(), model.is_empty())
            );
        }
    }

    #[test]
    fn heights_fall_off() {
        let tall = (0..65_536).filter(|&node| height(node) > 4).count();
        assert!((200..320).contains(&tall), "{tall}");
    }
}
