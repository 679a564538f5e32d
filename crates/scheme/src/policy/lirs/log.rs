//! A queue whose nodes move to its new end or leave it, from anywhere, all the time.

/// Place that no node has ever got.
pub(super) const NOWHERE: u32 = 0;

/// A queue of nodes: every node that enters is written down behind the one before.
///
/// A node that moves to the new end is written down again, and one that leaves is not crossed out:
/// the owner knows the place of each node, and what is written down of a node anywhere else is a
/// gap. So moving a node touches nothing but the node and the end of the log, where a list touches
/// the node's neighbours. Gaps at the old end are passed over; those in between are closed when
/// the log is full, which costs O(1) amortised. Places grow from the old to the new end.
#[derive(Clone, Debug)]
pub(super) struct Log {
    nodes: Vec<u32>,
    /// Place of the oldest node, or gap, that was not passed over.
    begin: u32,
    /// Number of places at which it is full.
    most: usize,
}

/// Gaps are closed when there are three times as many as nodes. Fewer would be closed more often,
/// more would take memory from the processor's cache.
const PLACES_PER_NODE: usize = 4;
/// Places of the smallest log.
const LEAST_PLACES: usize = 64;

impl Log {
    /// Nothing; memory is reserved for `nodes` nodes, but not touched. More make it grow.
    pub(super) fn new(nodes: usize) -> Log {
        let mut places = Vec::with_capacity(PLACES_PER_NODE * nodes + LEAST_PLACES);
        places.push(u32::MAX);
        Log {
            nodes: places,
            begin: 1,
            most: LEAST_PLACES,
        }
    }

    /// Must gaps be closed before the next node is entered?
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() >= self.most
    }

    /// Enters a node at the new end, where there must be room; says where.
    #[inline(always)]
    pub(super) fn push(&mut self, node: u32) -> u32 {
        let place = self.nodes.len() as u32;
        self.nodes.push(node);
        place
    }

    /// Place of the oldest node or gap; the next place if there is none.
    #[inline(always)]
    pub(super) fn begin(&self) -> u32 {
        self.begin
    }

    /// The node at place [`Log::begin`].
    #[inline(always)]
    pub(super) fn oldest(&self) -> Option<u32> {
        self.nodes.get(self.begin as usize).copied()
    }

    /// Passes over what is at place [`Log::begin`].
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        self.begin += 1;
    }

    /// The node at a place.
    #[inline]
    pub(super) fn at(&self, place: u32) -> u32 {
        self.nodes[place as usize]
    }

    /// Writes a node down at a place instead of what is there.
    #[inline]
    pub(super) fn set(&mut self, place: u32, node: u32) {
        self.nodes[place as usize] = node;
    }

    /// Nodes and gaps with their places, from the oldest to the newest.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> + '_ {
        (self.begin..self.nodes.len() as u32).map(|place| (place, self.at(place)))
    }

    /// Closes all gaps: `moved(node, from, to)` says whether what is at place `from` is not a gap,
    /// and notes the new place of the node, which is not above the old one. Places of nodes that
    /// were passed over mean nothing any more.
    ///
    /// # Panics
    /// If there are 2^31 nodes or more.
    #[cold]
    #[inline(never)]
    pub(super) fn close_gaps(&mut self, mut moved: impl FnMut(u32, u32, u32) -> bool) {
        let mut to = 1;
        for from in self.begin..self.nodes.len() as u32 {
            let node = self.nodes[from as usize];
            self.nodes[to as usize] = node;
            to += u32::from(moved(node, from, to));
        }
        self.nodes.truncate(to as usize);
        self.begin = 1;
        let most = PLACES_PER_NODE * to as usize + LEAST_PLACES;
        self.most = most.min(1 << 31);
        assert!(!self.is_full(), "a log has fewer than 2^31 nodes");
    }
}
