//! Doubly linked lists over arrays: the orders a scheme keeps its pages in.

use destage_types::Slot;

/// Lists as rings, each through a sentinel, so no operation branches on emptiness. Everything is called by its
/// place among `nodes`: the sentinels come first, which whoever owns this counts. `T` is what a node knows
/// beside its neighbours.
#[derive(Clone, Debug)]
struct Rings<T> {
    nodes: Vec<Node<T>>,
}

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    newer: u32,
    older: u32,
    tag: T,
}

impl<T: Copy> Rings<T> {
    /// `total` nodes, each a ring of its own.
    fn new(total: usize, tag: impl Fn(u32) -> T) -> Rings<T> {
        let mut rings = Rings { nodes: Vec::new() };
        rings.grow(total, tag);
        rings
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, total: usize, tag: impl Fn(u32) -> T) {
        let total = u32::try_from(total).ok().filter(|&total| total < u32::MAX);
        let total = total.expect("lists have fewer than 2^32 - 1 nodes");
        let old = self.nodes.len() as u32;
        self.nodes.extend((old..total).map(|i| Node {
            newer: i,
            older: i,
            tag: tag(i),
        }));
    }

    /// Links the node at `at`, which nothing points to, in on the older side of `newer`.
    #[inline(always)]
    fn link(&mut self, at: usize, newer: usize, tag: T) {
        let nodes = &mut self.nodes[..];
        let older = nodes[newer].older;
        nodes[at] = Node {
            newer: newer as u32,
            older,
            tag,
        };
        nodes[newer].older = at as u32;
        nodes[older as usize].newer = at as u32;
    }

    /// Joins the neighbours of the node at `at`, which still says where it was.
    #[inline(always)]
    fn leave(&mut self, at: usize) -> T {
        let nodes = &mut self.nodes[..];
        let old = nodes[at];
        nodes[old.newer as usize].older = old.older;
        nodes[old.older as usize].newer = old.newer;
        old.tag
    }

    fn oldest_first(&self, sentinel: usize) -> impl Iterator<Item = u32> + '_ {
        self.around(sentinel, |node| node.newer)
    }

    fn newest_first(&self, sentinel: usize) -> impl Iterator<Item = u32> + '_ {
        self.around(sentinel, |node| node.older)
    }

    /// Steps from node to node until it comes round; none is taken before it is asked for.
    fn around(&self, sentinel: usize, step: impl Fn(&Node<T>) -> u32) -> impl Iterator<Item = u32> {
        let mut at = sentinel as u32;
        std::iter::from_fn(move || {
            at = step(&self.nodes[at as usize]);
            (at != sentinel as u32).then_some(at)
        })
    }
}

/// Any number of lists over one set of nodes. A node is in one of them or in none, and knows which.
///
/// Head = newest, tail = oldest. `L` holds the lengths of the lists: in the structure itself, or in
/// memory of their own where their number is known only at run time.
#[derive(Clone, Debug)]
pub struct Lists<L = Vec<u32>> {
    /// The tag is the number of the list; the number of lists for none.
    rings: Rings<u32>,
    len: L,
}

/// So many lists, known when the program is compiled.
pub type ListArray<const LISTS: usize> = Lists<[u32; LISTS]>;

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
        let lists = len.as_ref().len();
        let rings = Rings::new(nodes + lists, |i| i.min(lists as u32));
        Lists { rings, len }
    }

    /// Makes room for nodes below `nodes`, for structures without a bound.
    #[inline(always)]
    pub fn reserve(&mut self, nodes: usize) {
        let (wanted, lists) = (nodes + self.lists(), self.lists() as u32);
        if wanted > self.rings.nodes.len() {
            let total = wanted.max(2 * self.rings.nodes.len());
            self.rings.grow(total, |i| i.min(lists));
        }
    }

    /// Is there room for `node`?
    #[inline(always)]
    pub fn knows(&self, node: u32) -> bool {
        self.at(node) < self.rings.nodes.len()
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

    /// The node at `at`; none if a sentinel is there.
    #[inline(always)]
    fn node(&self, at: u32) -> Option<u32> {
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
        self.rings.nodes[self.at(node)].tag as usize
    }

    /// Newest node of `list`.
    #[inline(always)]
    pub fn head(&self, list: usize) -> Option<u32> {
        self.node(self.rings.nodes[list].older)
    }

    /// Oldest node of `list`.
    #[inline(always)]
    pub fn tail(&self, list: usize) -> Option<u32> {
        self.node(self.rings.nodes[list].newer)
    }

    /// Next newer neighbour of a node that is in a list; `None` at the head.
    #[inline(always)]
    pub fn newer(&self, node: u32) -> Option<u32> {
        self.node(self.rings.nodes[self.at(node)].newer)
    }

    /// Next older neighbour of a node that is in a list; `None` at the tail.
    #[inline(always)]
    pub fn older(&self, node: u32) -> Option<u32> {
        self.node(self.rings.nodes[self.at(node)].older)
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
        let oldest = self.rings.nodes[list].newer;
        self.link(self.at(node), list, oldest as usize);
    }

    /// Puts `node`, which is in no list, next to `newer`, on its older side.
    #[inline]
    pub fn insert_older(&mut self, node: u32, newer: u32) {
        let newer = self.at(newer);
        let list = self.rings.nodes[newer].tag;
        self.link(self.at(node), list as usize, newer);
    }

    /// Puts `node`, which is in no list, next to `older`, on its newer side.
    #[inline]
    pub fn insert_newer(&mut self, node: u32, older: u32) {
        let older = self.rings.nodes[self.at(older)];
        self.link(self.at(node), older.tag as usize, older.newer as usize);
    }

    /// Takes `node` out of the list in which it must be.
    #[inline(always)]
    pub fn unlink(&mut self, node: u32) {
        let at = self.at(node);
        self.leave(at);
        self.rings.nodes[at].tag = self.lists() as u32;
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
        let oldest = self.rings.nodes[list].newer;
        self.link(at, list, oldest as usize);
    }

    #[inline(always)]
    fn link(&mut self, at: usize, list: usize, newer: usize) {
        self.rings.link(at, newer, list as u32);
        self.len.as_mut()[list] += 1;
    }

    #[inline(always)]
    fn leave(&mut self, at: usize) {
        let list = self.rings.leave(at);
        self.len.as_mut()[list as usize] -= 1;
    }

    /// Nodes of `list` from the oldest to the newest.
    pub fn from_tail(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        let lists = self.lists() as u32;
        self.rings.oldest_first(list).map(move |at| at - lists)
    }

    /// Nodes of `list` from the newest to the oldest.
    pub fn from_head(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        let lists = self.lists() as u32;
        self.rings.newest_first(list).map(move |at| at - lists)
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
pub struct List {
    ring: Rings<()>,
    len: usize,
}

/// Its sentinel.
const ENDS: usize = 0;

#[inline(always)]
fn at(slot: Slot) -> usize {
    slot.index() + 1
}

#[inline(always)]
fn slot(at: u32) -> Option<Slot> {
    at.checked_sub(1).map(Slot)
}

impl List {
    /// An empty list for slots below `slots`.
    pub fn new(slots: usize) -> List {
        let ring = Rings::new(slots + 1, |_| ());
        List { ring, len: 0 }
    }

    /// Pages of the list.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is it empty?
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The newest page.
    #[inline(always)]
    pub fn head(&self) -> Option<Slot> {
        slot(self.ring.nodes[ENDS].older)
    }

    /// The oldest page.
    #[inline(always)]
    pub fn tail(&self) -> Option<Slot> {
        slot(self.ring.nodes[ENDS].newer)
    }

    /// The next newer page; `None` at the head.
    #[inline(always)]
    pub fn newer(&self, page: Slot) -> Option<Slot> {
        slot(self.ring.nodes[at(page)].newer)
    }

    /// The next older page; `None` at the tail.
    #[inline(always)]
    pub fn older(&self, page: Slot) -> Option<Slot> {
        slot(self.ring.nodes[at(page)].older)
    }

    /// Puts a page that is not in the list at the head.
    #[inline(always)]
    pub fn push_head(&mut self, page: Slot) {
        self.ring.link(at(page), ENDS, ());
        self.len += 1;
    }

    /// Puts a page that is not in the list next to `newer`, on its older side.
    #[inline(always)]
    pub fn insert_older(&mut self, page: Slot, newer: Slot) {
        self.ring.link(at(page), at(newer), ());
        self.len += 1;
    }

    /// Takes a page out, which must be in the list.
    #[inline(always)]
    pub fn unlink(&mut self, page: Slot) {
        self.ring.leave(at(page));
        self.len -= 1;
    }

    /// Moves a page of the list to its head.
    #[inline(always)]
    pub fn move_to_head(&mut self, page: Slot) {
        self.ring.leave(at(page));
        self.ring.link(at(page), ENDS, ());
    }

    /// Pages from the oldest to the newest.
    pub fn from_tail(&self) -> impl Iterator<Item = Slot> + '_ {
        self.ring.oldest_first(ENDS).filter_map(slot)
    }

    /// Pages from the newest to the oldest.
    pub fn from_head(&self) -> impl Iterator<Item = Slot> + '_ {
        self.ring.newest_first(ENDS).filter_map(slot)
    }

    /// Checks every link; for tests and fuzzing.
    ///
    /// # Errors
    /// The first inconsistency found.
    pub fn validate(&self) -> Result<(), String> {
        let (down, up) = (self.from_head().count(), self.from_tail().count());
        if down == up && down == self.len {
            Ok(())
        } else {
            Err(format!("{down} down, {up} up, len {}", self.len))
        }
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
