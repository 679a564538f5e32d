//! The least an LRU cache can do: the yardstick for everything else.

const NONE: u32 = u32::MAX;

/// LRU over pages `0..universe` with nothing but an index, two link arrays and a hit counter.
pub fn lru_hits(pages: &[u32], universe: u32, capacity: u32) -> u64 {
    // Ring through node `capacity`: its `newer` is the oldest page.
    let end = capacity as usize;
    let mut slot_of = vec![NONE; universe as usize];
    let mut page_of = vec![0u32; end];
    let mut newer: Vec<u32> = vec![capacity; end + 1];
    let mut older: Vec<u32> = vec![capacity; end + 1];
    let (mut used, mut hits) = (0u32, 0u64);
    for &page in pages {
        let slot = match slot_of[page as usize] {
            NONE if used < capacity => {
                used += 1;
                used - 1
            }
            NONE => {
                let oldest = newer[end];
                slot_of[page_of[oldest as usize] as usize] = NONE;
                let above = newer[oldest as usize];
                newer[end] = above;
                older[above as usize] = capacity;
                oldest
            }
            slot => {
                hits += 1;
                let (above, below) = (newer[slot as usize], older[slot as usize]);
                older[above as usize] = below;
                newer[below as usize] = above;
                slot
            }
        };
        slot_of[page as usize] = slot;
        page_of[slot as usize] = page;
        let newest = older[end];
        newer[slot as usize] = capacity;
        older[slot as usize] = newest;
        newer[newest as usize] = slot;
        older[end] = slot;
    }
    hits
}

#[cfg(test)]
mod tests {
    #[test]
    fn hits_of_a_short_stream() {
        assert_eq!(super::lru_hits(&[0, 1, 0, 2, 1, 0, 0], 3, 2), 2);
        assert_eq!(super::lru_hits(&[0, 1, 2, 0, 1, 2], 3, 3), 3);
    }
}
