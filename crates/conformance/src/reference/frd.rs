//! FRD with two stacks that share nothing: the pages of the filter, and the entries of D. Stacks are vectors
//! with the top first.

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, tail_first, take_out};
use super::store::Store;

/// Filter and reuse-distance stack.
pub struct Frd {
    filter: Vec<u64>,
    /// Page and whether it is resident here; else its entry is a history.
    stack: Vec<(u64, bool)>,
    stack_size: usize,
    /// The page whose history was found before room was made for it.
    returning: Option<u64>,
}

impl Frd {
    /// `filter`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Frd, String> {
        expr.keys(&["filter"])?;
        let filter = (expr.real("filter", 0.1)? * capacity as f64).floor() as usize;
        Ok(Frd {
            filter: Vec::new(),
            stack: Vec::new(),
            stack_size: capacity.saturating_sub(filter.max(1)),
            returning: None,
        })
    }

    fn residents(&self) -> Vec<u64> {
        let residents = self.stack.iter().filter(|entry| entry.1);
        residents.map(|entry| entry.0).collect()
    }

    fn entry(&self, lpn: u64) -> Option<usize> {
        self.stack.iter().position(|entry| entry.0 == lpn)
    }

    fn take_entry(&mut self, lpn: u64) -> Option<(u64, bool)> {
        self.entry(lpn).map(|at| self.stack.remove(at))
    }

    fn prune(&mut self) {
        while self.stack.last().is_some_and(|entry| !entry.1) {
            self.stack.pop();
        }
    }
}

impl SlowScheme for Frd {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        let in_filter = take_out(&mut self.filter, lpn);
        if in_filter {
            self.filter.insert(0, lpn);
        }
        self.take_entry(lpn);
        self.stack.insert(0, (lpn, !in_filter));
        self.prune();
    }

    fn expect(&mut self, incoming: u64) {
        if self.returning == Some(incoming) {
            return;
        }
        let history = self.take_entry(incoming);
        self.returning = history.map(|entry| entry.0);
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.expect(lpn);
        let returns = self.returning.take().is_some();
        let resident = returns || self.residents().len() < self.stack_size;
        if !resident {
            self.filter.insert(0, lpn);
        }
        self.stack.insert(0, (lpn, resident));
        self.prune();
    }

    fn candidates(&self, incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let (filter, stack) = (tail_first(&self.filter), tail_first(&self.residents()));
        let returns = incoming.is_some() && self.returning == incoming;
        match returns || stack.len() > self.stack_size {
            true => [stack, filter].concat(),
            false => [filter, stack].concat(),
        }
    }

    /// The history of a page of the filter stays.
    fn take(&mut self, lpn: u64, _store: &Store) {
        if !take_out(&mut self.filter, lpn) {
            self.take_entry(lpn);
        }
        self.prune();
    }

    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.filter, lpn);
        self.take_entry(lpn);
        self.prune();
    }

    fn forget_ghost(&mut self, lpn: u64) {
        self.take_entry(lpn);
        if self.returning == Some(lpn) {
            self.returning = None;
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let in_filter = self.filter.contains(&from);
        if !in_filter && self.entry(from).is_none() {
            return false;
        }
        self.take_entry(to);
        replace(&mut self.filter, from, to);
        if let Some(at) = self.entry(from) {
            self.stack[at].0 = to;
        }
        true
    }

    fn pages(&self) -> Vec<u64> {
        [self.filter.clone(), self.residents()].concat()
    }

    fn state(&self, store: &Store) -> String {
        let entry = |&(page, resident): &(u64, bool)| {
            format!("{}{}", store.star(page), if resident { "R" } else { "h" })
        };
        let entries: Vec<String> = self.stack.iter().map(entry).collect();
        format!("F{} D[{}]", store.list(&self.filter), entries.join(" "))
    }
}
