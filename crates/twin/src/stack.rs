//! A recency stack with order statistics: a bit for each time slot, and a Fenwick tree over words of
//! 64 slots, which stays in the processor's caches where one over slots does not.

/// Counters of a node: all pages, then those of each tag.
const COUNTERS: usize = TAGS + 1;
const TAGS: usize = 4;
/// Slots of a word.
const WORD: usize = u64::BITS as usize;

/// A change of a word that the tree does not know yet: pages that came and went, by tag, modulo
/// 2^32.
#[derive(Clone, Copy, Default)]
struct Change {
    word: usize,
    by_tag: [u32; TAGS],
}

/// Pages in the order of their last access; each has a tag of `0..4`.
pub struct PageStack<T> {
    /// Pages of the words that each node stands for.
    tree: Vec<[u32; COUNTERS]>,
    /// The taken slots of each word, by tag.
    taken: Vec<[u64; TAGS]>,
    /// The page that stands in each slot or stood there, oldest first.
    pages: Vec<T>,
    size: u32,
    /// Of the last words that pages were put into and taken from. Pages of a request lie side by side, so
    /// the tree learns of several at once.
    unsettled: [Change; 2],
}

impl<T: Copy> PageStack<T> {
    pub fn new() -> PageStack<T> {
        PageStack::with(1024)
    }

    /// A power of two of at least a word of slots.
    ///
    /// # Panics
    /// Of 2^31 slots or more, which four accessed terabytes take: a page keeps 31 bits of its slot.
    fn with(capacity: usize) -> PageStack<T> {
        assert!(capacity < 1 << 31, "a stack of {capacity} pages");
        let words = capacity / WORD;
        PageStack {
            tree: vec![[0; COUNTERS]; words + 1],
            taken: vec![[0; TAGS]; words],
            pages: Vec::new(),
            size: 0,
            unsettled: Default::default(),
        }
    }

    pub fn size(&self) -> u64 {
        u64::from(self.size)
    }

    /// Are there slots for so many pages more? If not, [`PageStack::renumber`] makes at least 512.
    pub fn has_room(&self, pages: usize) -> bool {
        self.pages.len() + pages <= self.taken.len() * WORD
    }

    /// Puts a page on top and says in which slot. Positions are asked for after [`PageStack::settle`].
    ///
    /// # Panics
    /// If the stack is full.
    pub fn push(&mut self, page: T, tag: u8) -> u32 {
        let slot = self.pages.len();
        self.pages.push(page);
        self.mark(slot, tag);
        slot as u32
    }

    fn mark(&mut self, slot: usize, tag: u8) {
        self.taken[slot / WORD][usize::from(tag)] |= 1 << (slot % WORD);
        self.size += 1;
        self.change(0, slot / WORD, tag, 1);
    }

    /// Takes the page with this tag out of its slot. Positions are asked for after [`PageStack::settle`].
    pub fn remove(&mut self, slot: u32, tag: u8) {
        let slot = slot as usize;
        self.taken[slot / WORD][usize::from(tag)] &= !(1 << (slot % WORD));
        self.size -= 1;
        self.change(1, slot / WORD, tag, u32::MAX);
    }

    fn change(&mut self, way: usize, word: usize, tag: u8, n: u32) {
        if self.unsettled[way].word != word {
            self.settle_way(way);
            self.unsettled[way].word = word;
        }
        let of_tag = &mut self.unsettled[way].by_tag[usize::from(tag)];
        *of_tag = of_tag.wrapping_add(n);
    }

    /// After pages were put or taken, before a position is asked for.
    pub fn settle(&mut self) {
        self.settle_way(0);
        self.settle_way(1);
    }

    fn settle_way(&mut self, way: usize) {
        let Change { word, by_tag } = std::mem::take(&mut self.unsettled[way]);
        if by_tag == [0; TAGS] {
            return;
        }
        let all = by_tag.into_iter().fold(0, u32::wrapping_add);
        let mut i = word + 1;
        while let Some(node) = self.tree.get_mut(i) {
            node[0] = node[0].wrapping_add(all);
            for (own, n) in node[1..].iter_mut().zip(by_tag) {
                *own = own.wrapping_add(n);
            }
            i += i & i.wrapping_neg();
        }
    }

    /// Closes the gaps, with room for as many pages again; tells where each page is now.
    pub fn renumber(&mut self, mut moved: impl FnMut(T, u32)) {
        let capacity = (2 * self.size as usize).max(1024).next_power_of_two();
        let old = std::mem::replace(self, PageStack::with(capacity));
        // In place: there may be hundreds of MB of them.
        self.pages = old.pages;
        for slot in 0..self.pages.len() {
            let of_tags = old.taken[slot / WORD].iter();
            let tag = of_tags
                .map(|bits| bits >> (slot % WORD) & 1)
                .position(|bit| bit == 1);
            if let Some(tag) = tag {
                let (page, to) = (self.pages[slot], self.size as usize);
                self.pages[to] = page;
                self.mark(to, tag as u8);
                moved(page, to as u32);
            }
        }
        self.pages.truncate(self.size as usize);
        self.settle();
    }

    /// Pages above the one in `slot`.
    pub fn distance(&self, slot: u32) -> u64 {
        u64::from(self.size - self.below(0, slot as usize + 1))
    }

    /// Slot of the page with `distance` pages above it.
    pub fn at(&self, distance: u64) -> u32 {
        self.nth(0, self.size - 1 - distance as u32)
    }

    /// Pages with a tag that are older than `slot`.
    pub fn older(&self, tag: u8, slot: u32) -> u32 {
        self.below(usize::from(tag) + 1, slot as usize)
    }

    /// All pages with a tag.
    pub fn tagged(&self, tag: u8) -> u32 {
        self.below(usize::from(tag) + 1, self.taken.len() * WORD)
    }

    /// Slot of the `i`-th page with a tag, from the oldest.
    pub fn kth(&self, tag: u8, i: u32) -> u32 {
        self.nth(usize::from(tag) + 1, i)
    }

    /// The page in `slot`.
    pub fn page(&self, slot: u32) -> &T {
        &self.pages[slot as usize]
    }

    /// The slots of a word that a counter counts.
    fn bits(&self, counter: usize, word: usize) -> u64 {
        let taken = &self.taken[word];
        match counter {
            0 => taken.iter().fold(0, |all, of_tag| all | of_tag),
            _ => taken[counter - 1],
        }
    }

    fn below(&self, counter: usize, slot: usize) -> u32 {
        let (word, inside) = (slot / WORD, slot % WORD);
        let mut sum = match inside {
            0 => 0,
            _ => (self.bits(counter, word) & ((1 << inside) - 1)).count_ones(),
        };
        let mut i = word;
        while i > 0 {
            sum += self.tree[i][counter];
            i &= i - 1;
        }
        sum
    }

    fn nth(&self, counter: usize, mut n: u32) -> u32 {
        let (mut word, mut step) = (0, self.taken.len() / 2);
        while step > 0 {
            // Either way is as likely, so no branch is taken.
            let pages = self.tree[word + step][counter];
            let (passed, by) = if pages <= n { (pages, step) } else { (0, 0) };
            n -= passed;
            word += by;
            step /= 2;
        }
        let mut bits = self.bits(counter, word);
        for _ in 0..n {
            bits &= bits - 1;
        }
        (word * WORD) as u32 + bits.trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    #[test]
    fn it_is_a_list_with_the_newest_first() {
        let (mut stack, mut list) = (PageStack::<u32>::new(), Vec::<(u32, u8)>::new());
        let mut slots = [0u32; 300];
        let mut random = SplitMix64::new(3);
        for _ in 0..5_000 {
            let page = random.below(300) as u32;
            let tag = random.below(4) as u8;
            if let Some(i) = list.iter().position(|&(p, _)| p == page) {
                assert_eq!(stack.distance(slots[page as usize]), i as u64);
                let (_, tag) = list.remove(i);
                stack.remove(slots[page as usize], tag);
            }
            if !stack.has_room(1) {
                stack.renumber(|page, slot| slots[page as usize] = slot);
            }
            slots[page as usize] = stack.push(page, tag);
            stack.settle();
            list.insert(0, (page, tag));
            let d = random.below(list.len() as u64);
            assert_eq!(*stack.page(stack.at(d)), list[d as usize].0);
            let of_tag: Vec<u32> = list
                .iter()
                .rev()
                .filter(|p| p.1 == tag)
                .map(|p| p.0)
                .collect();
            assert_eq!(stack.tagged(tag) as usize, of_tag.len());
            let i = random.below(of_tag.len() as u64) as u32;
            assert_eq!(*stack.page(stack.kth(tag, i)), of_tag[i as usize]);
            assert_eq!(stack.older(tag, stack.kth(tag, i)), i);
        }
        assert_eq!(stack.size(), 300);
    }
}
