//! Lists whose nodes know which one they are in, for pages that move between lists.

/// `LISTS` doubly linked lists over one set of nodes; a node is in one of them or in none.
///
/// For schemes whose pages move between lists with nearly every access and that must know which
/// list a page is in (ARC): the list stands beside the links, in one line of the processor's cache,
/// and the lengths in the structure itself. Where the number of lists is known only at run time, a
/// node's list is known from elsewhere, or nodes are put at the tail or next to others, there is
/// [`crate::list::ListArena`], whose nodes are a third smaller and whose operations are more.
///
/// Head = newest, tail = oldest. The links are rings through one sentinel a list, which stand in
/// front of the nodes.
#[derive(Clone, Debug)]
pub struct Shelves<const LISTS: usize> {
    nodes: Vec<Node>,
    len: [u32; LISTS],
}

/// Links are indices into [`Shelves::nodes`].
#[derive(Clone, Copy, Debug)]
struct Node {
    newer: u32,
    older: u32,
    /// `LISTS`: none.
    list: u32,
}

impl<const LISTS: usize> Shelves<LISTS> {
    /// Empty lists over nodes `0..nodes`.
    ///
    /// # Panics
    /// If nodes and lists together exceed 2^32 - 1.
    pub fn new(nodes: usize) -> Shelves<LISTS> {
        let total = u32::try_from(nodes + LISTS).expect("there are fewer than 2^32 nodes");
        let none = LISTS as u32;
        let node = |i: u32| Node {
            newer: i,
            older: i,
            list: i.min(none),
        };
        Shelves {
            nodes: (0..total).map(node).collect(),
            len: [0; LISTS],
        }
    }

    #[inline(always)]
    fn at(node: u32) -> usize {
        node as usize + LISTS
    }

    #[inline(always)]
    fn real(at: u32) -> Option<u32> {
        at.checked_sub(LISTS as u32)
    }

    /// Nodes of each list.
    #[inline(always)]
    pub fn lens(&self) -> [usize; LISTS] {
        self.len.map(|len| len as usize)
    }

    /// The list `node` is in; `LISTS` if it is in none.
    #[inline(always)]
    pub fn list_of(&self, node: u32) -> usize {
        self.nodes[Self::at(node)].list as usize
    }

    /// Oldest node of `list`.
    #[inline(always)]
    pub fn tail(&self, list: usize) -> Option<u32> {
        Self::real(self.nodes[list % LISTS].newer)
    }

    /// Puts `node`, which is in no list, at the head of `list`.
    #[inline(always)]
    pub fn push_head(&mut self, list: usize, node: u32) {
        let at = Self::at(node);
        debug_assert_eq!(self.nodes[at].list, LISTS as u32);
        self.link(list % LISTS, at);
    }

    /// Moves `node` from the list in which it must be to the head of `list`, which may be the
    /// same.
    #[inline(always)]
    pub fn move_to_head(&mut self, list: usize, node: u32) {
        let at = Self::at(node);
        self.leave(at);
        self.link(list % LISTS, at);
    }

    /// Takes `node` out of the list in which it must be.
    #[inline(always)]
    pub fn unlink(&mut self, node: u32) {
        let at = Self::at(node);
        self.leave(at);
        self.nodes[at].list = LISTS as u32;
    }

    /// Links the node at `at`, which nothing points to, in at the head of `list`.
    #[inline(always)]
    fn link(&mut self, list: usize, at: usize) {
        let nodes = &mut self.nodes[..];
        let older = nodes[list].older;
        nodes[at] = Node {
            newer: list as u32,
            older,
            list: list as u32,
        };
        nodes[list].older = at as u32;
        nodes[older as usize].newer = at as u32;
        self.len[list] += 1;
    }

    /// Joins the neighbours of the node at `at`, which still says where it was.
    #[inline(always)]
    fn leave(&mut self, at: usize) {
        let nodes = &mut self.nodes[..];
        let old = nodes[at];
        nodes[old.newer as usize].older = old.older;
        nodes[old.older as usize].newer = old.newer;
        self.len[old.list as usize % LISTS] -= 1;
    }

    /// Nodes of `list` from the oldest to the newest.
    pub fn from_tail(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.tail(list), |&n| {
            Self::real(self.nodes[Self::at(n)].newer)
        })
    }

    /// Nodes of `list` from the newest to the oldest.
    #[cfg(any(test, feature = "conformance"))]
    pub fn from_head(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Self::real(self.nodes[list].older), |&n| {
            Self::real(self.nodes[Self::at(n)].older)
        })
    }
}

#[cfg(test)]
impl<const LISTS: usize> Shelves<LISTS> {
    /// Checks every list against its length and what its nodes know.
    pub fn validate(&self) {
        let mut listed = 0;
        for list in 0..LISTS {
            let mut nodes: Vec<u32> = self.from_head(list).collect();
            assert!(nodes.iter().all(|&n| self.list_of(n) == list));
            nodes.reverse();
            assert!(self.from_tail(list).eq(nodes.iter().copied()));
            assert_eq!(nodes.len(), self.lens()[list]);
            listed += nodes.len();
        }
        let own = &self.nodes[LISTS..];
        assert_eq!(listed, own.iter().filter(|n| n.list < LISTS as u32).count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn lists_agree_with_deques() {
        let mut lists = Shelves::<3>::new(20);
        let mut model: [VecDeque<u32>; 3] = Default::default();
        let mut x = 3u64;
        for _ in 0..20_000 {
            x = x
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let (node, to) = ((x >> 33) as u32 % 20, (x >> 50) as usize % 3);
            let from = lists.list_of(node);
            assert_eq!(from < 3, model.iter().any(|list| list.contains(&node)));
            match from {
                3 => lists.push_head(to, node),
                _ if x >> 62 == 0 => lists.unlink(node),
                _ => lists.move_to_head(to, node),
            }
            if from < 3 {
                model[from].retain(|&n| n != node);
            }
            if lists.list_of(node) < 3 {
                model[to].push_front(node);
            }
            for (list, model) in model.iter().enumerate() {
                assert!(lists.from_head(list).eq(model.iter().copied()));
                assert_eq!(lists.tail(list), model.back().copied());
            }
        }
        lists.validate();
    }
}
