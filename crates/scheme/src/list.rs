//! Doubly linked lists over arrays: the order a scheme keeps its pages in.

/// Any number of doubly linked lists over one set of nodes `0..nodes`; a node is in at most one.
///
/// Head = newest, tail = oldest. The links are rings through one sentinel a list, so no operation
/// branches on emptiness. A scheme that needs to know in which list a node is keeps that itself.
///
/// `L` holds the lengths of the lists: in memory of their own, or, for one list, in the structure.
#[derive(Clone, Debug)]
pub struct ListArena<L = Vec<u32>> {
    rings: Rings,
    len: L,
}

/// A [`ListArena`] with one list, number 0.
pub type OneList = ListArena<[u32; 1]>;

/// Links alone.
#[derive(Clone, Debug)]
struct Rings {
    links: Vec<Link>,
    nodes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    newer: u32,
    older: u32,
}

impl Rings {
    /// `lists` empty lists over `nodes` nodes.
    ///
    /// # Panics
    /// If nodes and lists together exceed 2^32 - 1.
    fn new(nodes: usize, lists: usize) -> Rings {
        let total = u32::try_from(nodes + lists).expect("a list arena has fewer than 2^32 nodes");
        assert!(
            total < u32::MAX,
            "a list arena has fewer than 2^32 - 1 nodes"
        );
        Rings {
            links: (0..total).map(|i| Link { newer: i, older: i }).collect(),
            nodes: nodes as u32,
        }
    }

    #[inline]
    fn sentinel(&self, list: usize) -> u32 {
        self.nodes + list as u32
    }

    #[inline]
    fn real(&self, node: u32) -> Option<u32> {
        (node < self.nodes).then_some(node)
    }

    /// Links `node` in on the older side of `newer`.
    #[inline]
    fn link(&mut self, node: u32, newer: u32) {
        let older = self.links[newer as usize].older;
        self.links[node as usize] = Link { newer, older };
        self.links[newer as usize].older = node;
        self.links[older as usize].newer = node;
    }

    /// Takes `node`, which must be in a list, out of it.
    #[inline]
    fn unlink(&mut self, node: u32) {
        let Link { newer, older } = self.links[node as usize];
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
    }

    /// Puts `node`, which is in no list, at the head of `list`.
    #[inline]
    fn push_head(&mut self, list: usize, node: u32) {
        self.link(node, self.sentinel(list));
    }

    /// Newest node of `list`.
    #[inline]
    fn head(&self, list: usize) -> Option<u32> {
        self.real(self.links[self.sentinel(list) as usize].older)
    }

    /// Oldest node of `list`.
    #[inline]
    fn tail(&self, list: usize) -> Option<u32> {
        self.real(self.links[self.sentinel(list) as usize].newer)
    }

    /// Next newer neighbour of a node that is in a list; `None` at the head.
    #[inline]
    fn newer(&self, node: u32) -> Option<u32> {
        self.real(self.links[node as usize].newer)
    }

    /// Next older neighbour of a node that is in a list; `None` at the tail.
    #[inline]
    fn older(&self, node: u32) -> Option<u32> {
        self.real(self.links[node as usize].older)
    }

    /// Nodes of `list` from the oldest to the newest.
    fn upwards(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.tail(list), |&n| self.newer(n))
    }

    /// Nodes of `list` from the newest to the oldest.
    fn downwards(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.head(list), |&n| self.older(n))
    }

    /// Checks every link; for tests and fuzzing.
    ///
    /// # Errors
    /// The first node that is linked on one side only.
    fn validate(&self) -> Result<(), String> {
        for (i, link) in (0..).zip(&self.links) {
            let newer = self.links[link.newer as usize].older == i;
            let older = self.links[link.older as usize].newer == i;
            if newer != older {
                return Err(format!("node {i} is linked one way only"));
            }
        }
        Ok(())
    }
}

impl ListArena {
    /// `lists` empty lists over `nodes` nodes.
    ///
    /// # Panics
    /// If nodes and lists together exceed 2^32 - 1.
    pub fn new(nodes: usize, lists: usize) -> ListArena {
        ListArena {
            rings: Rings::new(nodes, lists),
            len: vec![0; lists],
        }
    }
}

impl OneList {
    /// An empty list over `nodes` nodes.
    ///
    /// # Panics
    /// If there are 2^32 - 2 nodes or more.
    pub fn one(nodes: usize) -> OneList {
        ListArena {
            rings: Rings::new(nodes, 1),
            len: [0],
        }
    }
}

impl<L: AsRef<[u32]> + AsMut<[u32]>> ListArena<L> {
    /// Puts `node`, which is in no list, at the head of `list`.
    #[inline]
    pub fn push_head(&mut self, list: usize, node: u32) {
        self.rings.push_head(list, node);
        self.len.as_mut()[list] += 1;
    }

    /// Puts `node`, which is in no list, at the tail of `list`.
    #[inline]
    pub fn push_tail(&mut self, list: usize, node: u32) {
        self.link_oldest(list, node);
        self.len.as_mut()[list] += 1;
    }

    #[inline]
    fn link_oldest(&mut self, list: usize, node: u32) {
        let rings = &mut self.rings;
        let oldest = rings.links[rings.sentinel(list) as usize].newer;
        rings.link(node, oldest);
    }

    /// Puts `node`, which is in no list, next to `newer` of `list`, on its older side.
    #[inline]
    pub fn insert_older(&mut self, list: usize, node: u32, newer: u32) {
        self.rings.link(node, newer);
        self.len.as_mut()[list] += 1;
    }

    /// Puts `node`, which is in no list, next to `older` of `list`, on its newer side.
    #[inline]
    pub fn insert_newer(&mut self, list: usize, node: u32, older: u32) {
        let newer = self.rings.links[older as usize].newer;
        self.rings.link(node, newer);
        self.len.as_mut()[list] += 1;
    }

    /// Takes `node` out of `list`, in which it must be.
    #[inline]
    pub fn unlink(&mut self, list: usize, node: u32) {
        self.rings.unlink(node);
        self.len.as_mut()[list] -= 1;
    }

    /// Moves `node` of `list` to its head.
    #[inline]
    pub fn move_to_head(&mut self, list: usize, node: u32) {
        self.rings.unlink(node);
        self.rings.push_head(list, node);
    }

    /// Moves `node` of `list` to its tail.
    #[inline]
    pub fn move_to_tail(&mut self, list: usize, node: u32) {
        self.rings.unlink(node);
        self.link_oldest(list, node);
    }

    /// Newest node of `list`.
    #[inline]
    pub fn head(&self, list: usize) -> Option<u32> {
        self.rings.head(list)
    }

    /// Oldest node of `list`.
    #[inline]
    pub fn tail(&self, list: usize) -> Option<u32> {
        self.rings.tail(list)
    }

    /// Next newer neighbour of a node that is in a list; `None` at the head.
    #[inline]
    pub fn newer(&self, node: u32) -> Option<u32> {
        self.rings.newer(node)
    }

    /// Next older neighbour of a node that is in a list; `None` at the tail.
    #[inline]
    pub fn older(&self, node: u32) -> Option<u32> {
        self.rings.older(node)
    }

    /// Number of lists.
    pub fn lists(&self) -> usize {
        self.len.as_ref().len()
    }

    /// Nodes of `list`.
    #[inline]
    pub fn len(&self, list: usize) -> usize {
        self.len.as_ref()[list] as usize
    }

    /// Is `list` empty?
    #[inline]
    pub fn is_empty(&self, list: usize) -> bool {
        self.len.as_ref()[list] == 0
    }

    /// Nodes of `list` from the oldest to the newest.
    pub fn from_tail(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        self.rings.upwards(list)
    }

    /// Nodes of `list` from the newest to the oldest.
    pub fn from_head(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        self.rings.downwards(list)
    }

    /// Adds `more` nodes that are in no list; for structures with unbounded history.
    ///
    /// Sentinels sit behind the nodes, so their neighbours' links are rewritten: O(lists).
    pub fn grow(&mut self, more: usize) {
        let (old, lists) = (self.rings.nodes, self.len.as_ref().len());
        let nodes = u32::try_from(old as usize + more).expect("fewer than 2^32 nodes");
        let moved = |n: u32| if n >= old { n - old + nodes } else { n };
        let rings = &mut self.rings;
        let sentinels: Vec<Link> = rings.links.split_off(old as usize);
        rings
            .links
            .extend((old..nodes).map(|i| Link { newer: i, older: i }));
        for (l, link) in sentinels.into_iter().enumerate() {
            let link = Link {
                newer: moved(link.newer),
                older: moved(link.older),
            };
            let sentinel = nodes + l as u32;
            rings.links.push(link);
            for (node, side) in [(link.newer, true), (link.older, false)] {
                if node < nodes {
                    let neighbour = &mut rings.links[node as usize];
                    *(if side {
                        &mut neighbour.older
                    } else {
                        &mut neighbour.newer
                    }) = sentinel;
                }
            }
        }
        debug_assert_eq!(rings.links.len(), nodes as usize + lists);
        rings.nodes = nodes;
    }

    /// Checks every link and length; for tests and fuzzing.
    ///
    /// # Errors
    /// The first inconsistency found.
    pub fn validate(&self) -> Result<(), String> {
        for list in 0..self.len.as_ref().len() {
            let (down, up) = (self.from_head(list).count(), self.from_tail(list).count());
            if down != up || down != self.len(list) {
                return Err(format!(
                    "list {list}: {down} down, {up} up, len {}",
                    self.len(list)
                ));
            }
        }
        self.rings.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn arena_agrees_with_deques() {
        let (nodes, lists) = (40usize, 3usize);
        let mut arena = ListArena::new(nodes, lists);
        let mut model: Vec<VecDeque<u32>> = vec![VecDeque::new(); lists];
        let mut of: Vec<Option<usize>> = vec![None; nodes];
        let mut x = 7u64;
        for step in 0..30_000 {
            x = x
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let (node, list, what) = (
                (x >> 33) as usize % of.len(),
                (x >> 50) as usize % lists,
                x >> 60,
            );
            let n = node as u32;
            match (of[node], what % 4) {
                (None, 0 | 1) => {
                    arena.push_head(list, n);
                    model[list].push_front(n);
                    of[node] = Some(list);
                }
                (None, _) => {
                    arena.push_tail(list, n);
                    model[list].push_back(n);
                    of[node] = Some(list);
                }
                (Some(l), w) => {
                    model[l].retain(|&m| m != n);
                    match w {
                        0 => {
                            arena.move_to_head(l, n);
                            model[l].push_front(n);
                        }
                        1 => {
                            arena.move_to_tail(l, n);
                            model[l].push_back(n);
                        }
                        _ => {
                            arena.unlink(l, n);
                            of[node] = None;
                        }
                    }
                }
            }
            if step % 10_000 == 5_000 {
                arena.grow(5);
                of.extend([None; 5]);
            }
            for (l, deque) in model.iter().enumerate() {
                assert!(arena.from_head(l).eq(deque.iter().copied()), "step {step}");
                assert!(
                    arena.from_tail(l).eq(deque.iter().rev().copied()),
                    "step {step}"
                );
                assert_eq!(arena.len(l), deque.len());
            }
            arena.validate().unwrap();
        }
    }

    #[test]
    fn inserting_next_to_a_node() {
        let mut arena = ListArena::new(4, 1);
        arena.push_head(0, 0);
        arena.insert_older(0, 1, 0);
        arena.insert_newer(0, 2, 1);
        arena.insert_newer(0, 3, 0);
        assert!(arena.from_head(0).eq([3, 0, 2, 1]));
        arena.validate().unwrap();
    }
}
