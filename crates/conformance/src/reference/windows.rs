//! LCR and REF: one LRU list, and a search through its last pages. The list is a vector with the head
//! (newest) first.

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, plain, replace, tail_first, take_out};
use super::store::Store;

/// Which of the two.
enum Rule {
    /// The first page whose chip has at most the mean load.
    Load,
    /// Pages of the last victim blocks, newest of these first; else of the block with most pages.
    Blocks {
        block_pages: u64,
        victims: Vec<u64>,
        most: usize,
    },
}

/// An LRU list with a window at its end.
pub struct Window {
    list: Vec<u64>,
    size: usize,
    rule: Rule,
}

impl Window {
    /// `lcr` or `ref`. The keys of the cost equation belong to the flash.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Window, String> {
        let (rule, share) = match expr.name.as_str() {
            "lcr" => {
                let cost = ["xfer", "residual", "cqct", "l-sp", "page-latency", "nfp"];
                let cost = [cost.as_slice(), &["gc-state", "gc-residual"]].concat();
                expr.keys(&[cost.as_slice(), &["w"]].concat())?;
                (Rule::Load, 4)
            }
            _ => {
                expr.keys(&["w", "nvb", "block-pages"])?;
                let rule = Rule::Blocks {
                    block_pages: expr.number("block-pages", 64, 1)?,
                    victims: Vec::new(),
                    most: expr.number("nvb", 7, 1)? as usize,
                };
                (rule, 2)
            }
        };
        let size = expr.number("w", (capacity / share).max(1) as u64, 1)? as usize;
        Ok(Window {
            list: Vec::new(),
            size,
            rule,
        })
    }

    /// Pages of the window, the oldest first.
    fn window(&self) -> Vec<u64> {
        tail_first(&self.list).into_iter().take(self.size).collect()
    }

    fn chosen(&self, store: &Store) -> Option<u64> {
        let window = self.window();
        match &self.rule {
            Rule::Load => {
                let chips = store.flash.chips();
                let loads: Vec<u64> = (0..chips).map(|chip| store.flash.cqct(chip)).collect();
                let sum: u128 = loads.iter().map(|&load| u128::from(load)).sum();
                let fits = |x: &u64| u128::from(loads[store.chip(*x)]) * chips as u128 <= sum;
                let fitting = window.iter().copied().find(fits);
                fitting.or(window.first().copied())
            }
            Rule::Blocks {
                block_pages,
                victims,
                ..
            } => {
                let block = |x: u64| x / block_pages;
                let remembered = window.iter().find(|&&x| victims.contains(&block(x)));
                // Of equals the last one counts: the oldest.
                let newest_first = window.iter().rev();
                let pages = |x: u64| window.iter().filter(|&&y| block(y) == block(x)).count();
                let fullest = newest_first.max_by_key(|&&x| pages(x));
                remembered.or(fullest).copied()
            }
        }
    }
}

impl SlowScheme for Window {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        take_out(&mut self.list, lpn);
        self.list.insert(0, lpn);
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.list.insert(0, lpn);
    }

    fn candidates(&self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let first = self.chosen(store);
        let others = tail_first(&self.list);
        let others = others.into_iter().filter(|&x| Some(x) != first);
        first.into_iter().chain(others).collect()
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        self.remove(lpn);
        if let Rule::Blocks {
            block_pages,
            victims,
            most,
        } = &mut self.rule
        {
            let block = lpn / *block_pages;
            if !victims.contains(&block) {
                victims.insert(0, block);
                victims.truncate(*most);
            }
        }
    }

    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.list, lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        replace(&mut self.list, from, to)
    }

    fn pages(&self) -> Vec<u64> {
        self.list.clone()
    }

    fn state(&self, store: &Store) -> String {
        let list = store.list(&self.list);
        match &self.rule {
            Rule::Blocks { victims, .. } => format!("{list} VB{}", plain(victims, " ")),
            Rule::Load => {
                let chips = 0..store.flash.chips();
                let loads: Vec<u64> = chips.map(|chip| store.flash.cqct(chip)).collect();
                format!("{list} load={loads:?}")
            }
        }
    }
}
