//! Victim filters: `gcar` over anything that lists what could leave (GC-1, GC-2), `ecr` over groups
//! (ECR-10).

use std::ops::Range;

use super::chips::ECR_KEYS;
use super::expr::SlowExpr;
use super::scheme::{Group, Served, SlowScheme, SlowUnit};
use super::store::Store;

/// Which unit of the scheme inside leaves: its place among those that could.
trait Choice {
    fn choose(&self, units: &[SlowUnit], store: &Store) -> usize;

    /// The units in the order in which this would take them, as those outside see it.
    fn sorted(&self, units: Vec<SlowUnit>, _store: &Store) -> Vec<SlowUnit> {
        units
    }
}

/// A scheme whose units a choice goes through.
pub struct Filter<C> {
    inner: Box<dyn SlowScheme>,
    choice: C,
    /// The unit that left last.
    last: Option<SlowUnit>,
}

/// The inner scheme's choice among what needs no collecting chip.
pub type Gcar = Filter<NotCollecting>;

/// The inner scheme's choice among the groups that wait least.
pub type EcrGroups = Filter<LeastWait>;

/// See [`Gcar`].
pub struct NotCollecting {
    only_dirty: bool,
    depth: usize,
}

/// See [`EcrGroups`].
pub struct LeastWait {
    oldest: bool,
}

impl Gcar {
    /// Parameters `protect` (`all`, `dirty`) and `depth` (units searched).
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, inner: Box<dyn SlowScheme>) -> Result<Gcar, String> {
        expr.keys(&["protect", "depth"])?;
        let choice = NotCollecting {
            only_dirty: expr.word("protect", &["all", "dirty"])? == "dirty",
            depth: match expr.word("depth", &["inf", "inf"]) {
                Ok(_) => usize::MAX,
                Err(_) => expr.number("depth", u64::MAX, 1)? as usize,
            },
        };
        Ok(Filter {
            inner,
            choice,
            last: None,
        })
    }
}

impl EcrGroups {
    /// `tie` is `oldest` or `lowest_index`; the keys of the cost equation belong to the flash.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, inner: Box<dyn SlowScheme>) -> Result<EcrGroups, String> {
        expr.keys(&ECR_KEYS)?;
        let oldest = expr.word("tie", &["oldest", "lowest_index"])? == "oldest";
        Ok(Filter {
            inner,
            choice: LeastWait { oldest },
            last: None,
        })
    }
}

impl Choice for NotCollecting {
    fn choose(&self, units: &[SlowUnit], store: &Store) -> usize {
        let protected = |unit: &SlowUnit| {
            let chips = unit.chips(store, |x| store.dirty(x) || !self.only_dirty);
            chips.iter().any(|&chip| store.flash.in_gc(chip))
        };
        let seen = &units[..units.len().min(self.depth)];
        seen.iter().position(|unit| !protected(unit)).unwrap_or(0)
    }
}

impl LeastWait {
    /// Nothing to program, or the time of the slowest chip and, if it decides, its number.
    fn cost(&self, unit: &SlowUnit, store: &Store) -> Option<(u64, usize)> {
        let chips = unit.chips(store, |x| store.dirty(x));
        let wait = chips.iter().map(|&chip| store.flash.cqct(chip)).max()?;
        let slowest = chips
            .into_iter()
            .filter(|&chip| store.flash.cqct(chip) == wait);
        let number = slowest.min().expect("some chip is the slowest");
        Some((wait, if self.oldest { 0 } else { number }))
    }
}

impl Choice for LeastWait {
    fn choose(&self, units: &[SlowUnit], store: &Store) -> usize {
        let places = 0..units.len();
        let best = places.min_by_key(|&i| (self.cost(&units[i], store), i));
        best.expect("a full cache holds a unit")
    }

    fn sorted(&self, mut units: Vec<SlowUnit>, store: &Store) -> Vec<SlowUnit> {
        units.sort_by_key(|unit| self.cost(unit, store)); // stable
        units
    }
}

impl<C: Choice> SlowScheme for Filter<C> {
    fn victim(&mut self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        self.inner.prepare(incoming, store);
        let mut units = self.inner.units(incoming, store);
        let unit = units.swap_remove(self.choice.choose(&units, store));
        for &page in &unit.pages {
            self.inner.take(page, store);
        }
        self.last = Some(unit.clone());
        unit.pages
    }
    fn units(&self, incoming: Option<u64>, store: &Store) -> Vec<SlowUnit> {
        let units = self.inner.units(incoming, store);
        self.choice.sorted(units, store)
    }
    fn unit(&self) -> Option<u64> {
        self.last.as_ref()?.number
    }
    fn whole_block(&self) -> Option<Range<u64>> {
        self.last.as_ref()?.whole.clone()
    }
    fn request(&mut self, served: &Served, store: &Store) {
        self.inner.request(served, store);
    }
    fn waits(&mut self, request: u64) {
        self.inner.waits(request);
    }
    fn resumes(&mut self, request: u64) {
        self.inner.resumes(request);
    }
    fn touch(&mut self, lpn: u64, write: bool, store: &Store) {
        self.inner.touch(lpn, write, store);
    }
    fn partial_miss(&mut self, lpn: u64, store: &Store) {
        self.inner.partial_miss(lpn, store);
    }
    fn admit(&mut self, lpn: u64, store: &Store) {
        self.inner.admit(lpn, store);
    }
    fn prepare(&mut self, incoming: Option<u64>, store: &Store) {
        self.inner.prepare(incoming, store);
    }
    fn expect(&mut self, incoming: u64) {
        self.inner.expect(incoming);
    }
    fn candidates(&self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        self.inner.candidates(incoming, store)
    }
    fn take(&mut self, lpn: u64, store: &Store) {
        self.inner.take(lpn, store);
    }
    fn full(&self, incoming: u64, store: &Store) -> bool {
        self.inner.full(incoming, store)
    }
    fn next_victims(&self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        self.inner.next_victims(incoming, store)
    }
    fn write_back_order(&self, store: &Store) -> Vec<u64> {
        self.inner.write_back_order(store)
    }
    fn next_group(&self, store: &Store) -> Option<Group> {
        self.inner.next_group(store)
    }
    fn remove(&mut self, lpn: u64) {
        self.inner.remove(lpn);
    }
    fn forget_ghost(&mut self, lpn: u64) {
        self.inner.forget_ghost(lpn);
    }
    fn rename(&mut self, from: u64, to: u64, store: &Store) -> bool {
        self.inner.rename(from, to, store)
    }
    fn cleaned(&mut self, pages: &[u64], store: &Store) {
        self.inner.cleaned(pages, store);
    }
    fn words(&mut self) -> Vec<String> {
        self.inner.words()
    }
    fn pages(&self) -> Vec<u64> {
        self.inner.pages()
    }
    fn state(&self, store: &Store) -> String {
        self.inner.state(store)
    }
}
