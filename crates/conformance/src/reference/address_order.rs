//! WOW and CSCAN: groups of pages in a circle, in order of address.

use std::collections::BTreeSet;

use super::expr::SlowExpr;
use super::group_circle::GroupCircle;
use super::scheme::SlowScheme;
use super::store::Store;

/// The circle, and the pages.
pub struct AddressOrder {
    groups: GroupCircle,
    pages: BTreeSet<u64>,
}

impl AddressOrder {
    /// `wow` or `cscan`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<AddressOrder, String> {
        expr.keys(&["group"])?;
        let size = expr.number("group", 16, 1)? as usize;
        Ok(AddressOrder {
            groups: GroupCircle::new(size, expr.name == "cscan"),
            pages: BTreeSet::new(),
        })
    }

    fn of_group(&self, number: usize) -> impl Iterator<Item = u64> + '_ {
        self.pages.range(self.groups.pages(number)).copied()
    }

    /// Pages are written: the pointer takes the first of them if no other dirty page comes before it (WO-1).
    fn written(&mut self, pages: &[u64], store: &Store) {
        let order = self.candidates(None, store);
        let first = order
            .into_iter()
            .find(|x| pages.contains(x) || store.dirty(*x));
        if let Some(first) = first.filter(|x| pages.contains(x)) {
            self.groups.take(first as usize);
        }
    }
}

impl SlowScheme for AddressOrder {
    fn touch(&mut self, lpn: u64, write: bool, _store: &Store) {
        if write {
            self.groups.is_hit(lpn as usize);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.groups.comes_in(lpn as usize);
        self.pages.insert(lpn);
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let numbers = self.groups.in_order().into_iter();
        numbers.flat_map(|number| self.of_group(number)).collect()
    }

    fn take(&mut self, lpn: u64, store: &Store) {
        if store.dirty(lpn) {
            self.written(&[lpn], store);
        }
        self.remove(lpn);
    }

    fn remove(&mut self, lpn: u64) {
        let number = self.groups.number_of(lpn as usize);
        if self.pages.remove(&lpn) && self.of_group(number).next().is_none() {
            self.groups.leaves(lpn as usize);
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if !self.pages.contains(&from) {
            return false;
        }
        let number = |x| self.groups.number_of(x as usize);
        if number(from) == number(to) {
            self.pages.remove(&from);
        } else {
            self.remove(from);
            self.groups.comes_in(to as usize);
        }
        self.pages.insert(to)
    }

    fn cleaned(&mut self, pages: &[u64], store: &Store) {
        self.written(pages, store);
    }

    fn pages(&self) -> Vec<u64> {
        self.pages.iter().copied().collect()
    }

    fn state(&self, store: &Store) -> String {
        let show = |(number, recent, at): (usize, bool, bool)| {
            let pages: Vec<String> = self.of_group(number).map(|x| store.star(x)).collect();
            let mark = if at { ">" } else { "" };
            format!("{mark}{number}{{{}}}:{}", pages.join(","), u8::from(recent))
        };
        let groups: Vec<String> = self.groups.rows().map(show).collect();
        match groups.is_empty() {
            true => "-".to_owned(),
            false => groups.join(" "),
        }
    }
}
