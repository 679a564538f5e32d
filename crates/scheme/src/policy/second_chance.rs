//! A search for a victim from the LRU end that spares pages: each spared page goes to the MRU end once,
//! marked so that it is not spared again.

use crate::lists::Lists;

/// The page that leaves: the first from the tail that is not spared, or the tail if all are, which by
/// then were all marked.
pub fn victim<L: AsRef<[u32]> + AsMut<[u32]>>(
    lists: &Lists<L>,
    list: usize,
    spared: impl Fn(u32) -> bool,
) -> Option<u32> {
    let found = lists.from_tail(list).find(|&page| !spared(page));
    found.or_else(|| lists.tail(list))
}

/// Marks and moves the pages that the search for `victim` spares, perhaps all.
pub fn spare<L: AsRef<[u32]> + AsMut<[u32]>>(
    lists: &mut Lists<L>,
    list: usize,
    victim: u32,
    all: bool,
    mut mark: impl FnMut(u32),
) {
    if all {
        // Every page goes to the MRU end, so that it stands where it stood.
        return lists.from_tail(list).for_each(mark);
    }
    while let Some(page) = lists.tail(list).filter(|&page| page != victim) {
        mark(page);
        lists.move_to_head(list, page);
    }
}
