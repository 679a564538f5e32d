//! LPN -> node with hashing, for tables much smaller than the address space.

use destage_types::Lpn;

/// LPN -> node: buckets of one cache line, searched without branches; a node goes to the first
/// bucket with a free lane from its home on.
///
/// A lane holds the hash, so that an LPN is compared only when it is almost surely the right one.
/// The last lane counts the nodes that passed the bucket because it was full: searches go on to
/// the next bucket only where that is not zero, so removal moves nothing.
#[derive(Clone, Debug)]
pub(crate) struct LpnHash {
    buckets: Vec<Bucket>,
    mask: u32,
}

/// Entries of a bucket.
const LANES: usize = 7;
/// Index of the counter.
const PASSED: usize = LANES;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    /// Hashes, 0 for a free lane; the count of passed nodes.
    hash: [u32; LANES + 1],
    node: [u32; LANES + 1],
}

const EMPTY: Bucket = Bucket {
    hash: [0; LANES + 1],
    node: [0; LANES + 1],
};

/// Bit i says whether lane i is `wanted`.
#[inline]
fn lanes(of: &[u32; LANES + 1], wanted: u32) -> u32 {
    let mut found = 0;
    for (i, lane) in of.iter().enumerate() {
        found |= u32::from(*lane == wanted) << i;
    }
    found & ((1 << LANES) - 1)
}

/// High half of a multiplication by 2^64 / golden ratio: good enough for page numbers, cheap.
/// Never 0.
#[inline]
fn hash(lpn: Lpn) -> u32 {
    let x = (lpn.0 ^ (lpn.0 >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x >> 32) as u32 | 1 << 31
}

impl LpnHash {
    /// A table for up to `capacity` nodes.
    pub(crate) fn new(capacity: usize) -> LpnHash {
        let size = LpnHash::size(capacity);
        LpnHash {
            buckets: vec![EMPTY; size],
            mask: u32::try_from(size - 1).expect("a table has at most 2^32 buckets"),
        }
    }

    /// Buckets for `capacity` nodes: 64/15 nodes to a bucket at most, so that one node more than
    /// a power of two does not double the table, and few buckets are ever full.
    fn size(capacity: usize) -> usize {
        (15 * capacity.max(1)).div_ceil(64).next_power_of_two()
    }

    /// Node of `lpn`, whose LPNs stand in `lpns` by node.
    #[inline]
    pub(crate) fn get(&self, lpn: Lpn, lpns: &[Lpn]) -> Option<u32> {
        let hash = hash(lpn);
        let home = hash & self.mask;
        let mut at = home;
        loop {
            let bucket = &self.buckets[at as usize];
            let mut found = lanes(&bucket.hash, hash);
            while found != 0 {
                let node = bucket.node[found.trailing_zeros() as usize];
                if lpns[node as usize] == lpn {
                    return Some(node);
                }
                found &= found - 1;
            }
            at = (at + 1) & self.mask;
            // A few buckets may all have been passed at some time.
            if bucket.hash[PASSED] == 0 || at == home {
                return None;
            }
        }
    }

    /// Enters `lpn`, which must not be in the table.
    #[inline]
    pub(crate) fn insert(&mut self, lpn: Lpn, node: u32) {
        let hash = hash(lpn);
        let mut at = hash & self.mask;
        loop {
            let bucket = &mut self.buckets[at as usize];
            let free = lanes(&bucket.hash, 0);
            if free != 0 {
                let lane = free.trailing_zeros() as usize;
                bucket.hash[lane] = hash;
                bucket.node[lane] = node;
                return;
            }
            bucket.hash[PASSED] += 1;
            at = (at + 1) & self.mask;
        }
    }

    /// Removes `lpn`, which must be in the table as `node`.
    #[inline]
    pub(crate) fn remove(&mut self, lpn: Lpn, node: u32) {
        let hash = hash(lpn);
        let mut at = hash & self.mask;
        loop {
            let bucket = &mut self.buckets[at as usize];
            let found = lanes(&bucket.hash, hash) & lanes(&bucket.node, node);
            if found != 0 {
                bucket.hash[found.trailing_zeros() as usize] = 0;
                return;
            }
            debug_assert!(bucket.hash[PASSED] > 0, "{lpn} is not in the table");
            bucket.hash[PASSED] -= 1;
            at = (at + 1) & self.mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_end_when_every_bucket_has_been_passed() {
        let mut table = LpnHash::new(8);
        assert_eq!(table.buckets.len(), 2);
        let at = |home: u32| (0..).map(Lpn).filter(move |&l| hash(l) & 1 == home);
        let lpns: Vec<Lpn> = at(0).take(8).chain(at(1).take(9)).collect();
        // Eight of bucket 0: one passes it. Then seven of them make room for as many of bucket 1.
        (0..8).for_each(|n| table.insert(lpns[n], n as u32));
        (0..7).for_each(|n| table.remove(lpns[n], n as u32));
        (8..15).for_each(|n| table.insert(lpns[n], n as u32));
        assert!(table.buckets.iter().all(|b| b.hash[PASSED] > 0));
        assert_eq!(table.get(lpns[0], &lpns), None);
        assert_eq!(table.get(lpns[16], &lpns), None);
        for n in 7..15 {
            assert_eq!(table.get(lpns[n], &lpns), Some(n as u32));
        }
    }
}
