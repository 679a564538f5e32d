//! Req-block (Lin et al., ICPP 2022, Algorithm 1 corrected as RB-0 says).

use super::clusters::words_or_dash;
use super::expr::SlowExpr;
use super::scheme::{Group, SlowScheme, SlowUnit, replace, take_out};
use super::store::Store;

/// A request block.
#[derive(Clone, Debug)]
struct Block {
    /// Number of the block in order of creation.
    id: u64,
    /// Request that created it.
    request: u64,
    /// Newest page first.
    pages: Vec<u64>,
    /// Pages its request put into it.
    created: usize,
    accesses: u64,
    inserted: u64,
    split: bool,
    /// Blocks it was divided from.
    origins: Vec<u64>,
    /// Request that last counted an access (`access_unit=request`).
    counted: u64,
}

const IRL: usize = 0;
const DRL: usize = 1;
const SRL: usize = 2;

/// Lists in the order IRL, DRL, SRL (the order of preference among equal victims), head first.
#[derive(Clone)]
pub struct ReqBlock {
    lists: [Vec<Block>; 3],
    blocks: u64,
    delta: usize,
    size_original: bool,
    per_request: bool,
    time: &'static str,
    split_access: &'static str,
    inherit_time: bool,
    origin: &'static str,
    merge: &'static str,
    single_block: bool,
    last_victim: u64,
}

impl ReqBlock {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<ReqBlock, String> {
        let own = [
            "delta",
            "size-basis",
            "access-unit",
            "time-basis",
            "split-access",
        ];
        let more = ["split-insert-time", "origin", "merge", "placement"];
        expr.keys(&[own.as_slice(), more.as_slice()].concat())?;
        let times = ["request_time", "page_seq", "req_seq"];
        Ok(ReqBlock {
            lists: [Vec::new(), Vec::new(), Vec::new()],
            blocks: 0,
            delta: expr.number("delta", 5, 1)? as usize,
            size_original: expr.word("size-basis", &["current", "original"])? == "original",
            per_request: expr.word("access-unit", &["page", "request"])? == "request",
            time: expr.word("time-basis", &times)?,
            split_access: expr.word("split-access", &["one", "per_page", "inherit"])?,
            inherit_time: expr.word("split-insert-time", &["now", "inherit"])? == "inherit",
            origin: expr.word("origin", &["root", "direct", "none"])?,
            merge: expr.word("merge", &["first", "all", "neighbour"])?,
            single_block: expr.word("placement", &["stripe", "single_block"])? == "single_block",
            last_victim: 0,
        })
    }

    fn clock(&self, store: &Store) -> u64 {
        match self.time {
            "page_seq" => store.page_seq,
            "req_seq" => store.data.1,
            _ => store.data.0,
        }
    }

    /// List and position of the block that holds `lpn`.
    fn find(&self, lpn: u64) -> Option<(usize, usize)> {
        (0..3).find_map(|list| {
            let at = self.lists[list].iter().position(|b| b.pages.contains(&lpn));
            at.map(|at| (list, at))
        })
    }

    /// The head of `list` if the current request made it, else a new block there.
    fn head_of(&mut self, list: usize, store: &Store) -> &mut Block {
        let head = self.lists[list].first();
        if head.is_none_or(|b| b.request != store.request) {
            self.blocks += 1;
            let block = Block {
                id: self.blocks,
                request: store.request,
                pages: Vec::new(),
                created: 0,
                accesses: 1,
                inserted: self.clock(store),
                split: false,
                origins: Vec::new(),
                counted: 0,
            };
            self.lists[list].insert(0, block);
        }
        &mut self.lists[list][0]
    }

    /// Lines 22 to 24: a hit on a small block.
    fn upgrade(&mut self, list: usize, at: usize, store: &Store) {
        let mut block = self.lists[list].remove(at);
        if !self.per_request || block.counted != store.request {
            block.accesses += 1;
        }
        block.counted = store.request;
        self.lists[SRL].insert(0, block);
    }

    /// Lines 26 to 28: a hit on a large block.
    fn divide(&mut self, lpn: u64, store: &Store) {
        let (list, at) = self.find(lpn).expect("a hit page is in a block");
        take_out(&mut self.lists[list][at].pages, lpn);
        let from = self.lists[list][at].clone();
        if from.pages.is_empty() {
            self.lists[list].remove(at);
        }
        let (origin, merge) = (self.origin, self.merge);
        let (split_access, inherit_time) = (self.split_access, self.inherit_time);
        let head = self.head_of(DRL, store);
        let origins = match origin {
            "none" => Vec::new(),
            "root" if from.split => from.origins.clone(),
            _ => vec![from.id],
        };
        if head.split && split_access == "per_page" {
            head.accesses += 1;
        }
        if !head.split {
            head.split = true;
            head.origins = origins;
            if split_access == "inherit" {
                head.accesses = from.accesses;
            }
            if inherit_time {
                head.inserted = from.inserted;
            }
        } else if merge == "all" {
            head.origins.extend(origins);
        }
        head.pages.insert(0, lpn);
        head.created += 1;
    }

    /// Is Freq of `a` below Freq of `b` (Eq. 1)? Young blocks have an infinite one.
    fn colder(&self, a: &Block, b: &Block, now: u64) -> bool {
        let age = |x: &Block| u128::from(now.saturating_sub(x.inserted));
        match (age(a), age(b)) {
            (0, _) => false,
            (_, 0) => true,
            (d1, d2) => {
                let (n1, n2) = (a.pages.len() as u128, b.pages.len() as u128);
                u128::from(a.accesses) * n2 * d2 < u128::from(b.accesses) * n1 * d1
            }
        }
    }

    /// The list whose tail is the coldest.
    fn coldest(&self, lists: &[Vec<Block>; 3], store: &Store) -> Option<usize> {
        let now = self.clock(store);
        let mut chosen: Option<usize> = None;
        for list in [IRL, DRL, SRL] {
            let Some(tail) = lists[list].last() else {
                continue;
            };
            let best = chosen.and_then(|c| lists[c].last());
            if best.is_none_or(|b| self.colder(tail, b, now)) {
                chosen = Some(list);
            }
        }
        chosen
    }

    /// Which IRL blocks leave together with a victim.
    fn goes_along(&self, victim: &Block, from: usize, block: &Block) -> bool {
        if self.merge == "neighbour" {
            let near = |x: &u64| block.pages.iter().any(|y| x.abs_diff(*y) == 1);
            return from != IRL && victim.pages.iter().any(near);
        }
        victim.split && victim.origins.contains(&block.id)
    }
}

impl SlowScheme for ReqBlock {
    fn touch(&mut self, lpn: u64, _write: bool, store: &Store) {
        let (list, at) = self.find(lpn).expect("a hit page is in a block");
        let block = &self.lists[list][at];
        let size = if self.size_original {
            block.created
        } else {
            block.pages.len()
        };
        if size <= self.delta {
            self.upgrade(list, at, store);
        } else {
            self.divide(lpn, store);
        }
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        let head = self.head_of(IRL, store);
        head.pages.insert(0, lpn);
        head.created += 1;
    }

    fn units(&self, _incoming: Option<u64>, store: &Store) -> Vec<SlowUnit> {
        let (mut left, mut units) = (self.lists.clone(), Vec::new());
        while let Some(list) = self.coldest(&left, store) {
            let block = left[list].pop().expect("the tail was just seen");
            let along = self.lists[IRL].iter();
            let along = along.filter(|b| b.id != block.id && self.goes_along(&block, list, b));
            let mut pages = block.pages.clone();
            pages.extend(along.flat_map(|b| b.pages.clone()));
            units.push(SlowUnit {
                pages,
                number: self.single_block.then_some(block.id),
                whole: None,
            });
        }
        units
    }

    fn victim(&mut self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let list = self.coldest(&self.lists, store);
        let list = list.expect("a full cache holds a block");
        let victim = self.lists[list].pop().expect("the tail was just seen");
        let irl = std::mem::take(&mut self.lists[IRL]);
        let (gone, kept) = irl
            .into_iter()
            .partition(|b| self.goes_along(&victim, list, b));
        self.lists[IRL] = kept;
        self.last_victim = victim.id;
        let mut pages = victim.pages;
        pages.extend(gone.into_iter().flat_map(|b: Block| b.pages));
        pages
    }

    fn unit(&self) -> Option<u64> {
        self.single_block.then_some(self.last_victim)
    }

    fn next_group(&self, store: &Store) -> Option<Group> {
        let mut later = self.clone();
        let any = self.lists.iter().any(|list| !list.is_empty());
        any.then(|| (later.victim(None, store), later.unit()))
    }

    fn remove(&mut self, lpn: u64) {
        for list in &mut self.lists {
            for block in list.iter_mut() {
                take_out(&mut block.pages, lpn);
            }
            list.retain(|b| !b.pages.is_empty());
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let Some((list, at)) = self.find(from) else {
            return false;
        };
        replace(&mut self.lists[list][at].pages, from, to)
    }

    fn pages(&self) -> Vec<u64> {
        let blocks = self.lists.iter().flatten();
        blocks.flat_map(|b| b.pages.clone()).collect()
    }

    fn state(&self, _store: &Store) -> String {
        let show = |b: &Block| {
            let pages: Vec<String> = b.pages.iter().map(u64::to_string).collect();
            let mark = if b.split { ";s" } else { "" };
            let (id, a, t) = (b.id, b.accesses, b.inserted);
            format!("b{id}({};a{a};t{t}{mark})", pages.join(","))
        };
        let list = |name: &str, list: usize| {
            let blocks = self.lists[list].iter().map(show);
            format!("{name} {}", words_or_dash(blocks.collect()))
        };
        [list("IRL", IRL), list("SRL", SRL), list("DRL", DRL)].join(" ; ")
    }
}
