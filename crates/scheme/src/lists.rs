//! Doubly linked lists over arrays: the orders a scheme keeps its pages in.

use destage_types::Slot;

/// Any number of lists over one set of nodes. A node is in one of them or in none, and knows which.
///
/// Head = newest, tail = oldest. The links are rings through one sentinel a list, in front of the
/// nodes, so no operation branches on emptiness. `L` holds the lengths of the lists: in the structure
/// itself, or in memory of their own where their number is known only at run time.
#[derive(Clone, Debug)]
pub struct Lists<L = Vec<u32>> {
    /// Links are indices of this.
    nodes: Vec<Node>,
    len: L,
}

/// So many lists, known when the program is compiled.
pub type ListArray<const LISTS: usize> = Lists<[u32; LISTS]>;

#[derive(Clone, Copy, Debug)]
struct Node {
    newer: u32,
    older: u32,
    /// Number of lists: none.
    list: u32,
}

impl Lists {
    /// `lists` empty lists over nodes `0..nodes`.
    ///
    /// # Panics
    /// If nodes and lists together exceed 2^32 - 1.
    pub fn new(nodes: usize, lists: usize) -> Lists {
        Lists::over(nodes, vec![0; lists])
    }
}

impl<const LISTS: usize> ListArray<LISTS> {
    /// Empty lists over nodes `0..nodes`.
    ///
    /// # Panics
    /// If nodes and lists together exceed 2^32 - 1.
    pub fn array(nodes: usize) -> ListArray<LISTS> {
        Lists::over(nodes, [0; LISTS])
    }

    /// Nodes of each list.
    #[inline(always)]
    pub fn lens(&self) -> [usize; LISTS] {
        self.len.map(|len| len as usize)
    }
}

impl<L: AsRef<[u32]> + AsMut<[u32]>> Lists<L> {
    fn over(nodes: usize, len: L) -> Lists<L> {
        let none = len.as_ref().len() as u32;
        let mut lists = Lists {
            nodes: Vec::new(),
            len,
        };
        lists.add_nodes(nodes + none as usize);
        lists
    }

    /// Makes room for nodes below `nodes`, for structures without a bound.
    #[inline(always)]
    pub fn reserve(&mut self, nodes: usize) {
        let wanted = nodes + self.lists();
        if wanted > self.nodes.len() {
            self.add_nodes(wanted.max(2 * self.nodes.len()));
        }
    }

    #[cold]
    #[inline(never)]
    fn add_nodes(&mut self, total: usize) {
        let total = u32::try_from(total).ok().filter(|&total| total < u32::MAX);
        let total = total.expect("lists have fewer than 2^32 - 1 nodes");
        let (old, none) = (self.nodes.len() as u32, self.lists() as u32);
        self.nodes.extend((old..total).map(|i| Node {
            newer: i,
            older: i,
            list: i.min(none),
        }));
    }

    /// Number of lists.
    #[inline(always)]
    pub fn lists(&self) -> usize {
        self.len.as_ref().len()
    }

    #[inline(always)]
    fn at(&self, node: u32) -> usize {
        node as usize + self.lists()
    }

    #[inline(always)]
    fn real(&self, at: u32) -> Option<u32> {
        at.checked_sub(self.lists() as u32)
    }

    /// Nodes of `list`.
    #[inline(always)]
    pub fn len(&self, list: usize) -> usize {
        self.len.as_ref()[list] as usize
    }

    /// Is `list` empty?
    #[inline(always)]
    pub fn is_empty(&self, list: usize) -> bool {
        self.len(list) == 0
    }

    /// The list that `node` is in; the number of lists if it is in none.
    #[inline(always)]
    pub fn list_of(&self, node: u32) -> usize {
        self.nodes[self.at(node)].list as usize
    }

    /// Newest node of `list`.
    #[inline(always)]
    pub fn head(&self, list: usize) -> Option<u32> {
        self.real(self.nodes[list].older)
    }

    /// Oldest node of `list`.
    #[inline(always)]
    pub fn tail(&self, list: usize) -> Option<u32> {
        self.real(self.nodes[list].newer)
    }

    /// Next newer neighbour of a node that is in a list; `None` at the head.
    #[inline(always)]
    pub fn newer(&self, node: u32) -> Option<u32> {
        self.real(self.nodes[self.at(node)].newer)
    }

    /// Next older neighbour of a node that is in a list; `None` at the tail.
    #[inline(always)]
    pub fn older(&self, node: u32) -> Option<u32> {
        self.real(self.nodes[self.at(node)].older)
    }

    /// Puts `node`, which is in no list, at the head of `list`.
    #[inline(always)]
    pub fn push_head(&mut self, list: usize, node: u32) {
        debug_assert_eq!(self.list_of(node), self.lists());
        self.link(self.at(node), list, list);
    }

    /// Puts `node`, which is in no list, at the tail of `list`.
    #[inline(always)]
    pub fn push_tail(&mut self, list: usize, node: u32) {
        debug_assert_eq!(self.list_of(node), self.lists());
        self.link(self.at(node), list, self.nodes[list].newer as usize);
    }

    /// Puts `node`, which is in no list, next to `newer`, on its older side.
    #[inline]
    pub fn insert_older(&mut self, node: u32, newer: u32) {
        let newer = self.at(newer);
        self.link(self.at(node), self.nodes[newer].list as usize, newer);
    }

    /// Puts `node`, which is in no list, next to `older`, on its newer side.
    #[inline]
    pub fn insert_newer(&mut self, node: u32, older: u32) {
        let older = self.nodes[self.at(older)];
        self.link(self.at(node), older.list as usize, older.newer as usize);
    }

    /// Takes `node` out of the list in which it must be.
    #[inline(always)]
    pub fn unlink(&mut self, node: u32) {
        let at = self.at(node);
        self.leave(at);
        self.nodes[at].list = self.lists() as u32;
    }

    /// Moves `node` from the list in which it must be to the head of `list`, which may be the same.
    #[inline(always)]
    pub fn move_to_head(&mut self, list: usize, node: u32) {
        let at = self.at(node);
        self.leave(at);
        self.link(at, list, list);
    }

    /// Moves `node` from the list in which it must be to the tail of `list`, which may be the same.
    #[inline(always)]
    pub fn move_to_tail(&mut self, list: usize, node: u32) {
        let at = self.at(node);
        self.leave(at);
        self.link(at, list, self.nodes[list].newer as usize);
    }

    /// Links the node at `at`, which nothing points to, in on the older side of `newer`.
    #[inline(always)]
    fn link(&mut self, at: usize, list: usize, newer: usize) {
        let older = self.nodes[newer].older;
        self.nodes[at] = Node {
            newer: newer as u32,
            older,
            list: list as u32,
        };
        self.nodes[newer].older = at as u32;
        self.nodes[older as usize].newer = at as u32;
        self.len.as_mut()[list] += 1;
    }

    /// Joins the neighbours of the node at `at`, which still says where it was.
    #[inline(always)]
    fn leave(&mut self, at: usize) {
        let old = self.nodes[at];
        self.nodes[old.newer as usize].older = old.older;
        self.nodes[old.older as usize].newer = old.newer;
        self.len.as_mut()[old.list as usize] -= 1;
    }

    /// Nodes of `list` from the oldest to the newest.
    pub fn from_tail(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.tail(list), |&n| self.newer(n))
    }

    /// Nodes of `list` from the newest to the oldest.
    pub fn from_head(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.head(list), |&n| self.older(n))
    }

    /// Checks every link and length; for tests and fuzzing.
    ///
    /// # Errors
    /// The first inconsistency found.
    pub fn validate(&self) -> Result<(), String> {
        for list in 0..self.lists() {
            let (down, up) = (self.from_head(list).count(), self.from_tail(list).count());
            let own = self.from_head(list).all(|n| self.list_of(n) == list);
            if down != up || down != self.len(list) || !own {
                let len = self.len(list);
                return Err(format!("list {list}: {down} down, {up} up, len {len}"));
            }
        }
        Ok(())
    }
}

/// One list of pages by slot.
#[derive(Clone, Debug)]
pub struct List(ListArray<1>);

impl List {
    /// An empty list for slots below `slots`.
    pub fn new(slots: usize) -> List {
        List(Lists::array(slots))
    }

    /// Pages of the list.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.0.len(0)
    }

    /// Is it empty?
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The newest page.
    #[inline(always)]
    pub fn head(&self) -> Option<Slot> {
        self.0.head(0).map(Slot)
    }

    /// The oldest page.
    #[inline(always)]
    pub fn tail(&self) -> Option<Slot> {
        self.0.tail(0).map(Slot)
    }

    /// The next newer page; `None` at the head.
    #[inline(always)]
    pub fn newer(&self, slot: Slot) -> Option<Slot> {
        self.0.newer(slot.0).map(Slot)
    }

    /// The next older page; `None` at the tail.
    #[inline(always)]
    pub fn older(&self, slot: Slot) -> Option<Slot> {
        self.0.older(slot.0).map(Slot)
    }

    /// Puts a page that is not in the list at the head.
    #[inline(always)]
    pub fn push_head(&mut self, slot: Slot) {
        self.0.push_head(0, slot.0);
    }

    /// Puts a page that is not in the list next to `newer`, on its older side.
    #[inline(always)]
    pub fn insert_older(&mut self, slot: Slot, newer: Slot) {
        self.0.insert_older(slot.0, newer.0);
    }

    /// Takes a page out, which must be in the list.
    #[inline(always)]
    pub fn unlink(&mut self, slot: Slot) {
        self.0.unlink(slot.0);
    }

    /// Moves a page of the list to its head.
    #[inline(always)]
    pub fn move_to_head(&mut self, slot: Slot) {
        self.0.move_to_head(0, slot.0);
    }

    /// Pages from the oldest to the newest.
    pub fn from_tail(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.from_tail(0).map(Slot)
    }

    /// Pages from the newest to the oldest.
    pub fn from_head(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.from_head(0).map(Slot)
    }

    /// Checks every link; for tests and fuzzing.
    ///
    /// # Errors
    /// The first inconsistency found.
    pub fn validate(&self) -> Result<(), String> {
        self.0.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use std::collections::VecDeque;

    #[test]
    fn lists_agree_with_deques_even_when_they_grow() {
        let lists = 3usize;
        let mut arena = Lists::new(40, lists);
        let mut model: Vec<VecDeque<u32>> = vec![VecDeque::new(); lists];
        let mut of: Vec<Option<usize>> = vec![None; 40];
        let mut rng = SplitMix64::new(7);
        for step in 0..30_000 {
            let x = rng.next_u64();
            let (node, list) = ((x >> 33) as usize % of.len(), (x >> 50) as usize % lists);
            let n = node as u32;
            match (of[node], (x >> 60) % 5) {
                (None, 0 | 1) => {
                    arena.push_head(list, n);
                    model[list].push_front(n);
                    of[node] = Some(list);
                }
                (None, 2) => {
                    arena.push_tail(list, n);
                    model[list].push_back(n);
                    of[node] = Some(list);
                }
                (None, side) => {
                    if let Some(beside) = arena.head(list) {
                        match side {
                            3 => arena.insert_older(n, beside),
                            _ => arena.insert_newer(n, beside),
                        }
                        model[list].insert(usize::from(side == 3), n);
                        of[node] = Some(list);
                    }
                }
                (Some(l), what) => {
                    model[l].retain(|&m| m != n);
                    match what {
                        0 => {
                            arena.move_to_head(list, n);
                            model[list].push_front(n);
                        }
                        1 => {
                            arena.move_to_tail(list, n);
                            model[list].push_back(n);
                        }
                        _ => arena.unlink(n),
                    }
                    of[node] = (what < 2).then_some(list);
                }
            }
            if step % 10_000 == 5_000 {
                arena.reserve(of.len() + 5);
                of.extend([None; 5]);
            }
            for (l, deque) in model.iter().enumerate() {
                assert!(arena.from_head(l).eq(deque.iter().copied()), "step {step}");
                assert_eq!(arena.len(l), deque.len());
            }
            assert_eq!(arena.list_of(n), of[node].unwrap_or(lists));
            arena.validate().unwrap();
        }
    }
}
