//! Static wear levelling: the least worn full block of a plane.

use super::block_table::NONE;

/// A tree per plane over its blocks; every node knows the least worn full block below it.
///
/// Values are stored upside down (the largest is the least worn, 0 is no full block), so that
/// planes without writes take no memory. 8 bytes per block, O(log blocks) per change.
#[derive(Clone, Debug)]
pub(super) struct Coldest {
    nodes: Vec<u32>,
    /// Leaves of a tree, a power of two.
    leaves: u32,
    /// Most erases of a block, by plane.
    most: Vec<u32>,
    per_plane: u32,
}

impl Coldest {
    /// No block is full.
    pub fn new(planes: u32, per_plane: u32) -> Coldest {
        let leaves = per_plane.next_power_of_two();
        Coldest {
            nodes: vec![0; planes as usize * 2 * leaves as usize],
            leaves,
            most: vec![0; planes as usize],
            per_plane,
        }
    }

    fn set(&mut self, block: u32, value: u32) {
        let (plane, within) = (block / self.per_plane, block % self.per_plane);
        let root = plane as usize * 2 * self.leaves as usize;
        let mut node = (self.leaves + within) as usize;
        self.nodes[root + node] = value;
        while node > 1 {
            node /= 2;
            let best = self.nodes[root + 2 * node].max(self.nodes[root + 2 * node + 1]);
            if std::mem::replace(&mut self.nodes[root + node], best) == best {
                break;
            }
        }
    }

    /// `block`, erased `erases` times, is full.
    pub fn filled(&mut self, block: u32, erases: u32) {
        self.set(block, NONE - erases);
    }

    /// `block` is being collected.
    pub fn collected(&mut self, block: u32) {
        self.set(block, 0);
    }

    /// `block` was erased for the `erases`-th time.
    pub fn erased(&mut self, block: u32, erases: u32) {
        let most = &mut self.most[(block / self.per_plane) as usize];
        *most = (*most).max(erases);
    }

    /// The least worn full block of `plane`, of equals the one with the smallest number, and how
    /// many erases the most worn block of the plane has more.
    pub fn coldest(&self, plane: u32) -> Option<(u32, u32)> {
        let root = plane as usize * 2 * self.leaves as usize;
        let best = self.nodes[root + 1];
        if best == 0 {
            return None;
        }
        let mut node = 1;
        while node < self.leaves as usize {
            node *= 2;
            node += usize::from(self.nodes[root + node] != best);
        }
        let block = plane * self.per_plane + node as u32 - self.leaves;
        let spread = self.most[plane as usize].saturating_sub(NONE - best);
        Some((block, spread))
    }

    /// Bytes taken.
    pub fn bytes(&self) -> u64 {
        ((self.nodes.len() + self.most.len()) * 4) as u64
    }
}
