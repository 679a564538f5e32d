//! BPLRU, FAB and VBBMS: leaves that evict blocks.

use std::collections::BTreeSet;
use std::ops::Range;

use super::clusters::words_or_dash;
use super::expr::SlowExpr;
use super::scheme::{Group, Served, SlowScheme, SlowUnit};
use super::store::Store;

/// A block with its cached pages, and what its scheme knows of it besides.
#[derive(Clone, Debug)]
pub(super) struct Block<T> {
    pub number: u64,
    pub pages: BTreeSet<u64>,
    pub own: T,
}

/// The block with this number at the head of the list: moved there, or made.
pub(super) fn to_front<T: Default>(list: &mut Vec<Block<T>>, number: u64) -> &mut Block<T> {
    let new = || Block {
        number,
        pages: BTreeSet::new(),
        own: T::default(),
    };
    let at = list.iter().position(|b| b.number == number);
    let block = at.map_or_else(new, |at| list.remove(at));
    list.insert(0, block);
    &mut list[0]
}

/// The page leaves its block, which leaves when it is empty. The number of the block.
pub(super) fn take_page<T>(list: &mut Vec<Block<T>>, lpn: u64) -> Option<u64> {
    let block = list.iter_mut().find(|b| b.pages.contains(&lpn))?;
    let number = block.number;
    block.pages.remove(&lpn);
    list.retain(|b| !b.pages.is_empty());
    Some(number)
}

pub(super) fn all_pages<T>(list: &[Block<T>]) -> Vec<u64> {
    list.iter().flat_map(|b| b.pages.iter().copied()).collect()
}

/// The page joins the block of its new address, which goes to the head if it is new; one that is there
/// already does not move. A new one gets the value `new`.
pub(super) fn rename_page<T>(list: &mut Vec<Block<T>>, from: u64, to: u64, number: u64, new: T) {
    if let Some(block) = list.iter_mut().find(|b| b.number == number) {
        block.pages.insert(to);
    } else {
        let block = Block {
            number,
            pages: BTreeSet::from([to]),
            own: new,
        };
        list.insert(0, block);
    }
    take_page(list, from);
}

fn shown<T>(list: &[Block<T>], letter: char, page: impl Fn(u64) -> String) -> String {
    let show = |b: &Block<T>| {
        let pages: Vec<String> = b.pages.iter().map(|&x| page(x)).collect();
        format!("{letter}{}{{{}}}", b.number, pages.join(","))
    };
    words_or_dash(list.iter().map(show).collect())
}

/// Block padding LRU, newest block first.
#[derive(Clone)]
pub struct Bplru {
    /// With the offset that would go on with a sequential fill, -1 if there is none.
    blocks: Vec<Block<i64>>,
    block_pages: u64,
    padding: bool,
    compensation: &'static str,
    protect_current: bool,
    read_touch: bool,
    single_block: bool,
    /// Blocks of all page writes, last one last.
    history: Vec<u64>,
    victim: Option<u64>,
    pad_victim: bool,
}

impl Bplru {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<Bplru, String> {
        let keys = ["block-pages", "padding", "compensation", "protect-current"];
        expr.keys(&[keys.as_slice(), &["read-touch", "placement"]].concat())?;
        let placement = expr.word("placement", &["single_block", "stripe"])?;
        Ok(Bplru {
            blocks: Vec::new(),
            block_pages: expr.number("block-pages", 64, 1)?,
            padding: expr.flag("padding", false)?,
            compensation: expr.word("compensation", &["full", "half", "off"])?,
            protect_current: expr.flag("protect-current", false)?,
            read_touch: expr.flag("read-touch", false)?,
            single_block: placement == "single_block",
            history: Vec::new(),
            victim: None,
            pad_victim: false,
        })
    }

    fn number(&self, lpn: u64) -> u64 {
        lpn / self.block_pages
    }

    /// Page writes into the same block up to now, without another block between.
    fn row(&self) -> u64 {
        let last = self.history.last();
        let row = self.history.iter().rev().take_while(|b| Some(*b) == last);
        row.count() as u64
    }

    fn written(&mut self, lpn: u64) {
        let (number, offset) = (self.number(lpn), (lpn % self.block_pages) as i64);
        self.history.push(number);
        let (block_pages, row) = (self.block_pages, self.row());
        let compensation = self.compensation;
        let block = to_front(&mut self.blocks, number);
        block.own = if block.own == offset { offset + 1 } else { -1 };
        let last = match compensation {
            "full" => block.own == block_pages as i64,
            "half" => row >= (block_pages / 2).max(1),
            _ => false,
        };
        if last {
            let block = self.blocks.remove(0);
            self.blocks.push(block);
        }
    }
}

impl SlowScheme for Bplru {
    fn touch(&mut self, lpn: u64, write: bool, _store: &Store) {
        if write {
            self.written(lpn);
        } else if self.read_touch {
            let number = self.number(lpn);
            to_front(&mut self.blocks, number);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        let number = self.number(lpn);
        to_front(&mut self.blocks, number).pages.insert(lpn);
        self.written(lpn);
    }

    fn units(&self, _incoming: Option<u64>, store: &Store) -> Vec<SlowUnit> {
        let current = self.number(store.current);
        let mut blocks: Vec<&Block<i64>> = self.blocks.iter().rev().collect();
        blocks.sort_by_key(|b| self.protect_current && b.number == current); // stable
        let unit = |b: &Block<i64>| {
            let first = b.number * self.block_pages;
            let padded = self.padding && b.pages.iter().any(|&x| store.dirty(x));
            SlowUnit {
                pages: b.pages.iter().copied().collect(),
                number: self.single_block.then_some(b.number),
                whole: padded.then_some(first..first + self.block_pages),
            }
        };
        blocks.into_iter().map(unit).collect()
    }

    fn victim(&mut self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let current = Some(self.number(store.current));
        let current = current.filter(|_| self.protect_current);
        let mut at = self.blocks.len() - 1;
        if Some(self.blocks[at].number) == current && at > 0 {
            at -= 1;
        }
        let block = self.blocks.remove(at);
        self.victim = Some(block.number);
        self.pad_victim = self.padding && block.pages.iter().any(|&x| store.dirty(x));
        block.pages.into_iter().collect()
    }

    fn whole_block(&self) -> Option<Range<u64>> {
        let first = self.victim.filter(|_| self.pad_victim)? * self.block_pages;
        Some(first..first + self.block_pages)
    }

    fn unit(&self) -> Option<u64> {
        self.victim.filter(|_| self.single_block)
    }

    fn next_group(&self, _store: &Store) -> Option<Group> {
        let last = self.blocks.last()?;
        let pages = last.pages.iter().copied().collect();
        Some((pages, self.single_block.then_some(last.number)))
    }

    fn remove(&mut self, lpn: u64) {
        if let Some(number) = take_page(&mut self.blocks, lpn) {
            let left = self.blocks.iter_mut().find(|b| b.number == number);
            if let Some(block) = left {
                block.own = -1;
            }
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if !self.pages().contains(&from) {
            return false;
        }
        let number = self.number(to);
        rename_page(&mut self.blocks, from, to, number, 0);
        true
    }

    fn pages(&self) -> Vec<u64> {
        all_pages(&self.blocks)
    }

    fn state(&self, store: &Store) -> String {
        shown(&self.blocks, 'B', |x| store.star(x))
    }
}

/// FAB, newest block first.
pub struct Fab {
    blocks: Vec<Block<()>>,
    block_pages: u64,
    protect_current: bool,
    victim: Option<u64>,
}

impl Fab {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<Fab, String> {
        expr.keys(&["block-pages", "protect-current"])?;
        Ok(Fab {
            blocks: Vec::new(),
            block_pages: expr.number("block-pages", 64, 1)?,
            protect_current: expr.flag("protect-current", false)?,
            victim: None,
        })
    }

    /// Where the fullest block is, and of equals the oldest, but not `spared` unless it is alone.
    fn fullest(&self, spared: Option<u64>) -> Option<usize> {
        let mut fit: Vec<usize> = (0..self.blocks.len()).collect();
        fit.retain(|&at| Some(self.blocks[at].number) != spared);
        if fit.is_empty() {
            fit.extend(0..self.blocks.len());
        }
        fit.into_iter()
            .max_by_key(|&at| (self.blocks[at].pages.len(), at))
    }
}

impl SlowScheme for Fab {
    fn touch(&mut self, lpn: u64, write: bool, _store: &Store) {
        if write {
            to_front(&mut self.blocks, lpn / self.block_pages);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        let block = to_front(&mut self.blocks, lpn / self.block_pages);
        block.pages.insert(lpn);
    }

    fn units(&self, _incoming: Option<u64>, store: &Store) -> Vec<SlowUnit> {
        let current = store.current / self.block_pages;
        let mut blocks: Vec<&Block<()>> = self.blocks.iter().rev().collect();
        let spared = |b: &Block<()>| self.protect_current && b.number == current;
        blocks.sort_by_key(|b| (spared(b), usize::MAX - b.pages.len())); // stable: the oldest first
        let unit = |b: &Block<()>| SlowUnit {
            pages: b.pages.iter().copied().collect(),
            number: Some(b.number),
            whole: None,
        };
        blocks.into_iter().map(unit).collect()
    }

    fn victim(&mut self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let current = self
            .protect_current
            .then_some(store.current / self.block_pages);
        let at = self.fullest(current);
        let block = self.blocks.remove(at.expect("a full cache has a block"));
        self.victim = Some(block.number);
        block.pages.into_iter().collect()
    }

    fn unit(&self) -> Option<u64> {
        self.victim
    }

    fn next_group(&self, _store: &Store) -> Option<Group> {
        let block = &self.blocks[self.fullest(None)?];
        Some((block.pages.iter().copied().collect(), Some(block.number)))
    }

    fn remove(&mut self, lpn: u64) {
        take_page(&mut self.blocks, lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if !self.pages().contains(&from) {
            return false;
        }
        let number = to / self.block_pages;
        rename_page(&mut self.blocks, from, to, number, ());
        true
    }

    fn pages(&self) -> Vec<u64> {
        all_pages(&self.blocks)
    }

    fn state(&self, store: &Store) -> String {
        shown(&self.blocks, 'B', |x| store.star(x))
    }
}

const RANDOM: usize = 0;
const SEQUENTIAL: usize = 1;
/// Pages of a virtual block.
const WIDTH: [u64; 2] = [3, 4];

/// Virtual blocks in two regions, newest first.
#[derive(Clone)]
pub struct Vbbms {
    regions: [Vec<Block<()>>; 2],
    share: [usize; 2],
    min_pages: u64,
    classify: &'static str,
    migrate: bool,
    class: usize,
    /// Of the write that came last.
    newest: usize,
    /// Of writes that wait, by number.
    classes: Vec<(u64, usize)>,
    /// Last page of the previous write.
    last: Option<u64>,
}

impl Vbbms {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Vbbms, String> {
        expr.keys(&["seq-min-pages", "classify", "migrate"])?;
        Ok(Vbbms {
            regions: [Vec::new(), Vec::new()],
            share: [3 * capacity / 5, capacity - 3 * capacity / 5],
            min_pages: expr.number("seq-min-pages", 4, 1)?,
            classify: expr.word("classify", &["size", "contiguous", "either"])?,
            migrate: expr.flag("migrate", false)?,
            class: RANDOM,
            newest: RANDOM,
            classes: Vec::new(),
            last: None,
        })
    }

    fn used(&self, region: usize) -> usize {
        all_pages(&self.regions[region]).len()
    }

    fn is_full(&self, region: usize) -> bool {
        self.used(region) >= self.share[region]
    }

    /// The region that has to make room: the other one only if it is above its share, or if the
    /// request's own has nothing.
    fn giving(&self) -> usize {
        let other = 1 - self.class;
        if self.used(other) > self.share[other] || self.used(self.class) == 0 {
            return other;
        }
        self.class
    }

    fn region_of(&self, lpn: u64) -> Option<usize> {
        [RANDOM, SEQUENTIAL]
            .into_iter()
            .find(|&r| all_pages(&self.regions[r]).contains(&lpn))
    }

    /// The page enters the region of the request.
    fn place(&mut self, lpn: u64) {
        let (list, number) = (&mut self.regions[self.class], lpn / WIDTH[self.class]);
        let known = list.iter_mut().find(|b| b.number == number);
        match known {
            // First in, first out: the sequential region does not move what it has.
            Some(block) if self.class == SEQUENTIAL => drop(block.pages.insert(lpn)),
            _ => drop(to_front(list, number).pages.insert(lpn)),
        }
    }
}

impl SlowScheme for Vbbms {
    fn request(&mut self, served: &Served, _store: &Store) {
        if !served.write {
            return;
        }
        let first = served.pages.first().copied().expect("a write has a page");
        let large = served.pages.len() as u64 >= self.min_pages;
        let follows = self.last.is_some_and(|last| last + 1 == first);
        let sequential = match self.classify {
            "size" => large,
            "contiguous" => follows,
            _ => large || follows,
        };
        self.class = usize::from(sequential);
        self.newest = self.class;
        self.last = served.pages.last().copied();
    }

    fn waits(&mut self, request: u64) {
        self.classes.push((request, self.class));
        self.class = self.newest;
    }

    fn resumes(&mut self, request: u64) {
        let of = |row: &&(u64, usize)| row.0 == request;
        self.class = self.classes.iter().find(of).expect("it waits").1;
        self.classes.retain(|row| row.0 != request);
    }

    fn full(&self, _incoming: u64, store: &Store) -> bool {
        self.is_full(self.class) || store.frames.len() >= store.capacity
    }

    fn touch(&mut self, lpn: u64, write: bool, _store: &Store) {
        let region = self.region_of(lpn).expect("a hit page is in a region");
        if write && self.migrate && region != self.class {
            take_page(&mut self.regions[region], lpn);
            self.place(lpn);
        } else if region == RANDOM {
            to_front(&mut self.regions[RANDOM], lpn / WIDTH[RANDOM]);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.place(lpn);
    }

    fn units(&self, _incoming: Option<u64>, _store: &Store) -> Vec<SlowUnit> {
        let unit = |b: &Block<()>| SlowUnit {
            pages: b.pages.iter().copied().collect(),
            number: None,
            whole: None,
        };
        self.regions[self.giving()].iter().rev().map(unit).collect()
    }

    fn victim(&mut self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let region = self.giving();
        let block = self.regions[region].pop();
        let block = block.expect("the region holds a virtual block");
        block.pages.into_iter().collect()
    }

    fn next_group(&self, _store: &Store) -> Option<Group> {
        let order = match (self.is_full(RANDOM), self.is_full(SEQUENTIAL)) {
            (false, true) => [SEQUENTIAL, RANDOM],
            _ => [RANDOM, SEQUENTIAL],
        };
        let block = order.iter().find_map(|&r| self.regions[r].last())?;
        Some((block.pages.iter().copied().collect(), None))
    }

    fn remove(&mut self, lpn: u64) {
        for list in &mut self.regions {
            take_page(list, lpn);
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let Some(region) = self.region_of(from) else {
            return false;
        };
        let number = to / WIDTH[region];
        rename_page(&mut self.regions[region], from, to, number, ());
        true
    }

    fn pages(&self) -> Vec<u64> {
        [all_pages(&self.regions[0]), all_pages(&self.regions[1])].concat()
    }

    fn state(&self, _store: &Store) -> String {
        let list = |region: usize, letter| shown(&self.regions[region], letter, |x| x.to_string());
        format!(
            "RRSR: {} ; SRSR: {}",
            list(RANDOM, 'r'),
            list(SEQUENTIAL, 's')
        )
    }
}
