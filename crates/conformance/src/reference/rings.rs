//! CLOCK, SIEVE and 2Q.

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, forget_oldest, plain, replace, tail_first, take_out};
use super::store::Store;

/// A ring with a hand. The hand stands before a page; before none means before the first.
#[derive(Default)]
pub struct Clock {
    ring: Vec<u64>,
    hand: usize,
    bit: BTreeMap<u64, bool>,
}

impl Clock {
    /// The ring from the hand on.
    fn ahead(&self) -> Vec<u64> {
        let (passed, coming) = self.ring.split_at(self.hand);
        [coming, passed].concat()
    }
}

impl SlowScheme for Clock {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        self.bit.insert(lpn, true);
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.ring.insert(self.hand, lpn);
        self.hand += 1;
        self.bit.insert(lpn, false);
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let mut order = self.ahead();
        order.sort_by_key(|x| self.bit[x]); // stable
        order
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        for page in self.ahead().into_iter().cycle() {
            // With its bit set it is passed over in the first round.
            if page == lpn && !self.bit[&page] {
                break;
            }
            self.bit.insert(page, false);
        }
        let at = self.ring.iter().position(|&x| x == lpn);
        self.hand = at.expect("a victim is in the ring");
        self.ring.remove(self.hand);
    }

    fn remove(&mut self, lpn: u64) {
        if let Some(at) = self.ring.iter().position(|&x| x == lpn) {
            self.ring.remove(at);
            self.hand -= usize::from(at < self.hand);
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if let Some(bit) = self.bit.get(&from).copied() {
            self.bit.insert(to, bit);
        }
        replace(&mut self.ring, from, to)
    }

    fn pages(&self) -> Vec<u64> {
        self.ring.clone()
    }

    fn state(&self, store: &Store) -> String {
        let hand = self.ahead().first().copied();
        let item = |&x: &u64| {
            let mark = if hand == Some(x) { ">" } else { "" };
            format!("{mark}{}:{}", store.star(x), u8::from(self.bit[&x]))
        };
        let items: Vec<String> = self.ring.iter().map(item).collect();
        format!("[{}]", items.join(" "))
    }
}

/// A FIFO list, newest page first, each page with its visited bit.
#[derive(Clone, Default)]
pub struct Sieve {
    list: Vec<(u64, bool)>,
    hand: Option<u64>,
}

impl Sieve {
    fn at(&self, lpn: u64) -> Option<usize> {
        self.list.iter().position(|&(page, _)| page == lpn)
    }

    /// The object behind the hand of Algorithm 1, or the one at the tail.
    fn at_hand(&self) -> u64 {
        let (tail, _) = *self.list.last().expect("there are pages");
        self.hand.unwrap_or(tail)
    }

    /// Algorithm 1 as printed, with an eye on the page it evicts: any other one counts as visited.
    fn evict(&mut self, wanted: Option<u64>) -> u64 {
        loop {
            let page = self.at_hand();
            self.hand = Some(page);
            let at = self.at(page).expect("the hand is at a page");
            if !self.list[at].1 && wanted.is_none_or(|x| x == page) {
                self.remove(page);
                return page;
            }
            self.list[at].1 = false;
            self.hand = (at > 0).then(|| self.list[at - 1].0);
        }
    }
}

impl SlowScheme for Sieve {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        let at = self.at(lpn).expect("a hit is in the list");
        self.list[at].1 = true;
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.list.insert(0, (lpn, false));
    }

    /// Evicts one after the other from a copy.
    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let mut copy = self.clone();
        self.list.iter().map(|_| copy.evict(None)).collect()
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        self.evict(Some(lpn));
    }

    fn remove(&mut self, lpn: u64) {
        if let Some(at) = self.at(lpn) {
            if self.hand == Some(lpn) {
                self.hand = (at > 0).then(|| self.list[at - 1].0);
            }
            self.list.remove(at);
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let Some(at) = self.at(from) else {
            return false;
        };
        self.list[at].0 = to;
        self.hand = self.hand.map(|x| if x == from { to } else { x });
        true
    }

    fn pages(&self) -> Vec<u64> {
        self.list.iter().map(|&(page, _)| page).collect()
    }

    fn state(&self, store: &Store) -> String {
        let item = |&(page, visited): &(u64, bool)| {
            let mark = if self.hand == Some(page) { ">" } else { "" };
            let bit = if visited { ":1" } else { "" };
            format!("{mark}{}{bit}", store.star(page))
        };
        let items: Vec<String> = self.list.iter().map(item).collect();
        format!("[{}]", items.join(" "))
    }
}

/// 2Q, full version.
pub struct TwoQ {
    a1in: Vec<u64>,
    a1out: Vec<u64>,
    am: Vec<u64>,
    kin: usize,
    kout: usize,
    /// The page room is made for, which A1out does not count.
    incoming: Option<u64>,
}

impl TwoQ {
    /// `kin` and `kout`, by default a quarter and half of the capacity.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<TwoQ, String> {
        expr.keys(&["kin", "kout"])?;
        let size = |key, share: usize| expr.number(key, share.max(1) as u64, 1);
        Ok(TwoQ {
            a1in: Vec::new(),
            a1out: Vec::new(),
            am: Vec::new(),
            kin: size("kin", capacity / 4)? as usize,
            kout: size("kout", capacity / 2)? as usize,
            incoming: None,
        })
    }
}

impl SlowScheme for TwoQ {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        if take_out(&mut self.am, lpn) {
            self.am.insert(0, lpn);
        }
    }

    fn expect(&mut self, incoming: u64) {
        self.incoming = Some(incoming);
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.incoming = None;
        match take_out(&mut self.a1out, lpn) {
            true => self.am.insert(0, lpn),
            false => self.a1in.insert(0, lpn),
        }
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let (mut a1in, mut am) = (self.a1in.clone(), self.am.clone());
        let mut order = Vec::new();
        while a1in.len() + am.len() > 0 {
            let from_a1 = a1in.len() > self.kin || am.is_empty();
            order.extend(if from_a1 { a1in.pop() } else { am.pop() });
        }
        order
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        if take_out(&mut self.a1in, lpn) {
            self.a1out.insert(0, lpn);
        }
        take_out(&mut self.am, lpn);
        forget_oldest(&mut self.a1out, self.kout, self.incoming);
    }

    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.a1in, lpn);
        take_out(&mut self.am, lpn);
    }

    fn forget_ghost(&mut self, lpn: u64) {
        take_out(&mut self.a1out, lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let all = [&self.a1in, &self.am, &self.a1out];
        if !all.iter().any(|list| list.contains(&from)) {
            return false;
        }
        take_out(&mut self.a1out, to);
        [&mut self.a1in, &mut self.am, &mut self.a1out]
            .map(|list| replace(list, from, to))
            .contains(&true)
    }

    fn pages(&self) -> Vec<u64> {
        [tail_first(&self.a1in), tail_first(&self.am)].concat()
    }

    fn state(&self, store: &Store) -> String {
        format!(
            "A1in{} A1out{} Am{}",
            store.list(&self.a1in),
            plain(&self.a1out, " "),
            store.list(&self.am)
        )
    }
}
