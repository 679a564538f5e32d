//! W-TinyLFU with one counter in each place of its sketch. Lists are vectors with the head (newest) first.

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, tail_first, take_out};
use super::store::Store;
use destage_types::rng::mix64;

/// How often pages were accessed.
enum Counts {
    /// Four rows of counters, and the sample counter.
    Rows([Vec<u32>; 4], usize),
    /// The truth.
    Exact(BTreeMap<u64, u32>),
}

/// Window, probation and protected pages, and counts.
pub struct WTinyLfu {
    window: Vec<u64>,
    probation: Vec<u64>,
    protected: Vec<u64>,
    counts: Counts,
    capacity: usize,
    window_size: usize,
    protected_size: usize,
    /// `increment=plain`: an access increments all counters of its page.
    plain: bool,
    /// The page that was counted before room was made for it.
    counted: Option<u64>,
}

impl WTinyLfu {
    /// `window`, `protected` and `increment`; counts pages exactly if `exact`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize, exact: bool) -> Result<WTinyLfu, String> {
        expr.keys(&["window", "protected", "increment"])?;
        let window = expr.real("window", 0.01)? * capacity as f64;
        let window_size = (window.floor() as usize).max(1);
        let main = capacity.saturating_sub(window_size) as f64;
        let mut width = 1;
        while width < capacity {
            width *= 2;
        }
        Ok(WTinyLfu {
            window: Vec::new(),
            probation: Vec::new(),
            protected: Vec::new(),
            counts: match exact {
                true => Counts::Exact(BTreeMap::new()),
                false => Counts::Rows([0; 4].map(|_| vec![0; width]), 0),
            },
            capacity,
            window_size,
            protected_size: (expr.real("protected", 0.8)? * main).floor() as usize,
            plain: expr.word("increment", &["minimal", "plain"])? == "plain",
            counted: None,
        })
    }

    fn index(row: u64, width: usize, lpn: u64) -> usize {
        let hash = mix64(lpn.wrapping_add(row.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        (hash % width as u64) as usize
    }

    fn count(&mut self, lpn: u64) {
        let most = 10 * self.capacity;
        let least = self.frequency(lpn);
        match &mut self.counts {
            Counts::Exact(counts) => *counts.entry(lpn).or_insert(0) += 1,
            Counts::Rows(rows, accesses) => {
                for (row, counters) in (0..).zip(rows.iter_mut()) {
                    let at = WTinyLfu::index(row, counters.len(), lpn);
                    if self.plain || counters[at] == least {
                        counters[at] = 15.min(counters[at] + 1);
                    }
                }
                *accesses += 1;
                if *accesses == most {
                    *accesses /= 2;
                    rows.iter_mut().flatten().for_each(|counter| *counter /= 2);
                }
            }
        }
    }

    fn frequency(&self, lpn: u64) -> u32 {
        match &self.counts {
            Counts::Exact(counts) => counts.get(&lpn).copied().unwrap_or(0),
            Counts::Rows(rows, _) => {
                let rows = (0..).zip(rows);
                let of_page =
                    rows.map(|(row, counters)| counters[WTinyLfu::index(row, counters.len(), lpn)]);
                of_page.min().expect("four rows")
            }
        }
    }

    /// Probation pages, then protected ones, the first to leave first.
    fn main(&self) -> Vec<u64> {
        [tail_first(&self.probation), tail_first(&self.protected)].concat()
    }
}

impl SlowScheme for WTinyLfu {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        self.count(lpn);
        if take_out(&mut self.window, lpn) {
            self.window.insert(0, lpn);
        } else if take_out(&mut self.protected, lpn) {
            self.protected.insert(0, lpn);
        } else {
            take_out(&mut self.probation, lpn);
            self.protected.insert(0, lpn);
            if self.protected.len() > self.protected_size {
                let last = self.protected.pop();
                self.probation.splice(0..0, last);
            }
        }
    }

    fn expect(&mut self, incoming: u64) {
        if self.counted != Some(incoming) {
            self.count(incoming);
            self.counted = Some(incoming);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.expect(lpn);
        self.counted = None;
        self.window.insert(0, lpn);
        if self.window.len() > self.window_size {
            let candidate = self.window.pop();
            self.probation.splice(0..0, candidate);
        }
    }

    /// The window gives a candidate only where it would be longer than it may be with one page more.
    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let (window, main) = (tail_first(&self.window), self.main());
        let full = self.window.len() + 1 > self.window_size;
        let window_first = match (window.first(), main.first()) {
            (Some(&candidate), Some(&victim)) => {
                full && self.frequency(candidate) <= self.frequency(victim)
            }
            _ => true,
        };
        match window_first {
            true => [window, main].concat(),
            false => [main, window].concat(),
        }
    }

    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.window, lpn);
        take_out(&mut self.probation, lpn);
        take_out(&mut self.protected, lpn);
    }

    /// The page that was counted did not come in: its next access counts again.
    fn forget_ghost(&mut self, lpn: u64) {
        self.counted = self.counted.filter(|&counted| counted != lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        [&mut self.window, &mut self.probation, &mut self.protected]
            .map(|list| replace(list, from, to))
            .contains(&true)
    }

    fn pages(&self) -> Vec<u64> {
        [self.window.clone(), self.main()].concat()
    }

    fn state(&self, store: &Store) -> String {
        let mut known: Vec<u64> = match &self.counts {
            Counts::Exact(counts) => counts.keys().copied().collect(),
            Counts::Rows(..) => self.pages(),
        };
        known.sort_unstable();
        let count = |&x: &u64| format!("{x}:{}", self.frequency(x));
        let counts: Vec<String> = known.iter().map(count).collect();
        format!(
            "W{} Prob{} Prot{} freq{{{}}}",
            store.list(&self.window),
            store.list(&self.probation),
            store.list(&self.protected),
            counts.join(" ")
        )
    }
}
