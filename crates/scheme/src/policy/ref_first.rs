//! REF: pages of blocks that gave a victim lately leave first, so that few log blocks of a hybrid mapping
//! are in use at a time.
//!
//! Source: Seo, Shin, IEEE TCE 2008; the body of the paper was not at hand, so this is a reconstruction.
//! State: an LRU list, 12 B per page, and the numbers of the last victim blocks, 4 B each; the pages of the
//! victim window are also in lists by block, and those blocks in an order by size. Ties: of equally full
//! blocks that which has the page nearest to the LRU end. Cost: O(log of the window), and O(nvb) an
//! eviction; a rename in the window looks through its pages of the new block.
//!
//! Where the abstract is silent (RE-1): a block that is remembered and gives one more victim keeps its
//! place among the victim blocks, and one whose page leaves because a layer outside chose it counts as a
//! victim block too.

use super::logical_blocks::{BLOCK_PAGES, LogicalBlocks};
use super::window::LruWindow;
use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, SchemeInfo};
use crate::ranking::Ranking;
use crate::{
    Access, Env, Expr, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason, SchemeStats, View,
    params,
};
use destage_types::{Lpn, Slot};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Bytes of the number of a victim block.
const NUMBER_BYTES: u64 = 4;

/// `ref`: recently evicted first.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "ref",
    summary: "Evicts pages of the blocks that gave victims lately, to help hybrid mapping.",
    source: PaperSource {
        paper: "Seo, Shin, Recently-Evicted-First, IEEE TCE",
        year: Some(2008),
        section: "abstract",
        certain: false,
    },
    params: &[RefParams::PARAMS],
    ties: "block with most pages; equal: the one that holds the page nearest the LRU end",
    write_buffer: true,
    metadata: |e, _| {
        Some(MetadataBound::nodes(PAGE_NODE_BYTES).and_entries(e.uint("nvb"), NUMBER_BYTES))
    },
    vectors: &["ref"],
    build: Some(boxed::<Pages<RecentlyEvicted>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`RecentlyEvicted`].
    pub struct RefParams {
        /// window from the LRU end
        w: usize = ParamInfo::frames(1, 1, 2, 1).unit("pages").source("uncertain"),
        /// victim blocks remembered; the number of log blocks
        nvb: usize = ParamInfo::count(1, 7).unit("blocks").source("uncertain"),
        /// pages of a logical block
        block_pages: Option<u64> = BLOCK_PAGES,
    }
}

/// Recently-evicted-first.
#[derive(Clone, Debug)]
pub struct RecentlyEvicted {
    pages: LruWindow,
    /// The pages of the window by block, each block in the order of the window.
    blocks: LogicalBlocks,
    /// These blocks by pages, the most first, and by their oldest page.
    fullest: Ranking<(Reverse<usize>, u64)>,
    /// Numbers of the last victim blocks, oldest first.
    victims: VecDeque<u64>,
    nvb: usize,
}

impl RecentlyEvicted {
    /// The page of a block that is nearest to the LRU end.
    fn oldest(&self, node: u32) -> Option<Slot> {
        self.blocks.pages.tail(node as usize).map(Slot)
    }

    fn key(&self, node: u32) -> (Reverse<usize>, u64) {
        let arrival = self.oldest(node).map_or(0, |slot| self.pages.arrival(slot));
        (Reverse(self.blocks.pages.len(node as usize)), arrival)
    }

    /// A page has joined the block at `node`.
    fn rank(&mut self, node: u32) {
        let key = self.key(node);
        match key.0 {
            Reverse(1) => self.fullest.insert(node, key),
            _ => self.fullest.set(node, key),
        }
    }

    fn leave_block(&mut self, slot: Slot) {
        let node = self.blocks.of(slot);
        if self.blocks.leave(slot) {
            self.fullest.set(node, self.key(node));
        } else {
            self.fullest.remove(node);
        }
    }

    fn leave(&mut self, slot: Slot) {
        if self.pages.holds(slot) {
            self.leave_block(slot);
        }
        self.pages.remove(slot);
    }

    fn fill_window(&mut self, v: &View) {
        while let Some(slot) = self.pages.take_in() {
            let node = self.blocks.join(slot, v.frames.lpn(slot));
            self.rank(node);
        }
    }
}

impl Policy for RecentlyEvicted {
    fn build(expr: &Expr, env: &Env) -> RecentlyEvicted {
        let RefParams {
            w,
            nvb,
            block_pages,
        } = RefParams::of(expr, env);
        let slots = env.slots as usize;
        RecentlyEvicted {
            pages: LruWindow::new(slots, w),
            blocks: LogicalBlocks::new(block_pages, env),
            fullest: Ranking::with_room(slots),
            victims: VecDeque::with_capacity(nvb.min(slots)),
            nvb,
        }
    }

    fn on_insert(&mut self, slot: Slot, _a: &Access, v: &View) {
        self.pages.push(slot);
        self.fill_window(v);
    }

    fn on_hit(&mut self, slot: Slot, _a: &Access, v: &View) {
        self.leave(slot);
        self.pages.push(slot);
        self.fill_window(v);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.leave(slot);
        self.fill_window(v);
        let number = self.blocks.number_of(v.frames.lpn(slot));
        if reason == RemoveReason::Evicted && !self.victims.contains(&number) {
            if self.victims.len() == self.nvb {
                self.victims.pop_front();
            }
            self.victims.push_back(number);
        }
    }

    /// The page keeps its place in the list (D11).
    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, _v: &View) {
        let Some(slot) = slot.filter(|&slot| self.pages.holds(slot)) else {
            return;
        };
        if self.blocks.number(self.blocks.of(slot)) == self.blocks.number_of(to) {
            return;
        }
        self.leave_block(slot);
        let node = self.blocks.join(slot, to);
        self.blocks.pages.unlink(slot.0);
        self.pages
            .place(&mut self.blocks.pages, node as usize, slot);
        self.rank(node);
    }

    /// The next one alone: which pages follow it depends on those that come into the window.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        let first_page = |number: &u64| Lpn(number * self.blocks.block_pages);
        let blocks = self.victims.iter().map(first_page);
        let pages = blocks.filter_map(|lpn| self.oldest(self.blocks.find(lpn)?));
        let of_victims = pages.min_by_key(|&slot| self.pages.arrival(slot));
        of_victims.or_else(|| self.oldest(self.fullest.first()?))
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * PAGE_NODE_BYTES + self.victims.len() as u64 * NUMBER_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("blocks_in_window", self.blocks.len() as u64);
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        out.add("pages", self.pages.newest_first());
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        crate::state::pages(out, v, self.pages.newest_first());
        let victims: Vec<String> = self.victims.iter().rev().map(u64::to_string).collect();
        out.push_str(&format!(" VB[{}]", victims.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{STILL, TestCache};

    type Cache = TestCache<Pages<RecentlyEvicted>>;

    #[test]
    fn a_victim_block_gives_its_pages_until_the_window_has_none() {
        let mut cache = Cache::new("ref(block-pages=4,nvb=2,w=6)", 6);
        cache.run("W0 W4-5 W8 W1 W12");
        cache.run("W16");
        assert_eq!(
            cache.evicted,
            [0],
            "of two equally full blocks the older one"
        );
        cache.run("W20 W24");
        assert_eq!(cache.evicted, [0, 1, 4], "block 0 once more, then block 1");
        assert_eq!(cache.state(), "[24* 20* 16* 12* 8* 5*] VB[1 0]");
        cache.run("W2 W28");
        assert_eq!(
            cache.evicted,
            [0, 1, 4, 5, 2],
            "block 0 is remembered still"
        );
    }

    #[test]
    fn re_1_a_block_that_gives_another_victim_keeps_its_place() {
        let mut cache = Cache::new("ref(block-pages=2,nvb=1,w=3)", 3);
        cache.run("W0-1 W4 W6");
        assert_eq!(
            (cache.evicted.as_slice(), cache.state().as_str()),
            (&[0][..], "[6* 4* 1*] VB[0]")
        );
        cache.run("W8 W10");
        assert_eq!(cache.evicted, [0, 1, 4]);
        assert!(cache.state().ends_with("VB[2]"), "the oldest is forgotten");
    }

    #[test]
    fn a_renamed_page_joins_its_block_at_the_place_it_has_in_the_window() {
        let mut cache = Cache::new("ref(block-pages=4,nvb=1,w=4)", 4);
        cache.run("W0 W4 W8 W5");
        cache.rename(0, 7);
        cache.run("W20");
        assert_eq!(cache.evicted, [7]);
        cache.run("W24 W28");
        assert_eq!(cache.evicted, [7, 4, 5]);
    }

    #[test]
    fn the_window_is_in_blocks_and_these_in_order() {
        for (seed, capacity, w) in [(1, 4, 1), (2, 9, 4), (3, 20, 40)] {
            let text = format!("ref(block-pages=4,nvb=2,w={w})");
            let mut cache = Cache::new(&text, capacity);
            cache.random(seed, 20_000, STILL, |cache| {
                let s = cache.scheme.policy();
                assert_eq!(s.fullest.len(), s.blocks.len());
                for slot in cache
                    .frames
                    .used_slots()
                    .filter(|&slot| s.pages.holds(slot))
                {
                    let node = s.blocks.of(slot);
                    let number = s.blocks.number_of(cache.frames.lpn(slot));
                    assert_eq!(s.blocks.number(node), number);
                    assert_eq!(s.fullest.key(node), s.key(node));
                    let ages = s.blocks.pages.from_tail(node as usize);
                    let ages = ages.map(|page| s.pages.arrival(Slot(page)));
                    assert!(ages.is_sorted());
                }
            });
        }
    }
}
