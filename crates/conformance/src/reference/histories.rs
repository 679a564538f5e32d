//! LRU-K, LRFU and MQ: whole histories of accesses, from which everything is computed again each time.

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, take_out};
use super::store::Store;

/// Pages and when they were accessed, oldest first. The page that was accessed last is last: pages of
/// one time, which `ecr` makes when it moves a page to another chip, stay in the order of their events.
#[derive(Default)]
struct Times(Vec<(u64, Vec<u64>)>);

impl Times {
    fn has(&self, lpn: u64) -> bool {
        self.0.iter().any(|page| page.0 == lpn)
    }

    fn put_last(&mut self, lpn: u64, times: Vec<u64>) {
        self.0.push((lpn, times));
    }

    fn take(&mut self, lpn: u64) -> Option<Vec<u64>> {
        let at = self.0.iter().position(|page| page.0 == lpn)?;
        Some(self.0.remove(at).1)
    }

    /// Was there a page to rename?
    fn rename(&mut self, from: u64, to: u64) -> bool {
        let page = self.0.iter_mut().find(|page| page.0 == from);
        page.map(|page| page.0 = to).is_some()
    }

    fn accessed(&mut self, lpn: u64, now: u64) {
        let mut times = self.take(lpn).expect("a hit is cached");
        times.push(now);
        self.put_last(lpn, times);
    }

    fn pages(&self) -> Vec<u64> {
        self.0.iter().map(|page| page.0).collect()
    }

    /// What `text` says of each page, by page number.
    fn each(&self, text: impl Fn(u64, &[u64]) -> String) -> String {
        let mut pages: Vec<_> = self.0.iter().collect();
        pages.sort_unstable();
        let texts: Vec<String> = pages.iter().map(|(x, times)| text(*x, times)).collect();
        texts.join(" ")
    }

    /// The first one to leave first, by a key.
    fn ordered<K: PartialOrd>(&self, key: impl Fn(&[u64]) -> K) -> Vec<u64> {
        let mut order: Vec<_> = self.0.iter().map(|(x, times)| (key(times), *x)).collect();
        order.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("no key is a NaN"));
        order.iter().map(|page| page.1).collect()
    }
}

/// LRU-K.
pub struct Lru2 {
    pages: Times,
    history: Times,
    h: usize,
    incoming: Option<u64>,
}

impl Lru2 {
    /// `h`, by default the capacity.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Lru2, String> {
        expr.keys(&["h"])?;
        Ok(Lru2 {
            pages: Times::default(),
            history: Times::default(),
            h: expr.number("h", capacity as u64, 1)? as usize,
            incoming: None,
        })
    }
}

/// `[3, 1]`: the last two of some times, the last one first.
fn last_two(times: &[u64]) -> String {
    let two: Vec<String> = times.iter().rev().take(2).map(u64::to_string).collect();
    format!("[{}]", two.join(", "))
}

impl SlowScheme for Lru2 {
    fn touch(&mut self, lpn: u64, _write: bool, store: &Store) {
        self.pages.accessed(lpn, store.page_seq);
    }

    fn expect(&mut self, incoming: u64) {
        self.incoming = Some(incoming);
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        self.incoming = None;
        let mut times = self.history.take(lpn).unwrap_or_default();
        times.push(store.page_seq);
        self.pages.put_last(lpn, times);
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        self.pages.ordered(|times| {
            let before = times.iter().rev().nth(1).copied().unwrap_or(0);
            (before, times.last().copied())
        })
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        let times = self.pages.take(lpn).expect("a victim is cached");
        self.history.put_last(lpn, times);
        loop {
            let by_last = self.history.ordered(|times| times.last().copied());
            let counted: Vec<_> = by_last
                .iter()
                .filter(|x| Some(**x) != self.incoming)
                .collect();
            if counted.len() <= self.h {
                break;
            }
            self.history.take(*counted[0]);
        }
    }

    fn remove(&mut self, lpn: u64) {
        self.pages.take(lpn);
    }

    fn forget_ghost(&mut self, lpn: u64) {
        self.history.take(lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if !self.pages.has(from) && !self.history.has(from) {
            return false;
        }
        self.history.take(to);
        self.pages.rename(from, to) || self.history.rename(from, to)
    }

    fn pages(&self) -> Vec<u64> {
        self.pages.pages()
    }

    fn state(&self, store: &Store) -> String {
        let page = |x: u64, times: &[u64]| format!("{}:{}", store.star(x), last_two(times));
        let ghost = |x: u64, times: &[u64]| format!("{x}:{}", last_two(times));
        let (pages, ghosts) = (self.pages.each(page), self.history.each(ghost));
        format!("{{{pages}}} hist{{{ghosts}}}")
    }
}

/// LRFU.
pub struct Lrfu {
    pages: Times,
    lambda: f64,
}

impl Lrfu {
    /// `lambda`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<Lrfu, String> {
        expr.keys(&["lambda"])?;
        Ok(Lrfu {
            pages: Times::default(),
            lambda: expr.real("lambda", 0.001)?,
        })
    }

    fn weight(&self, accesses: u64) -> f64 {
        libm::exp2(-self.lambda * accesses as f64)
    }

    /// The sum at the last access, faded from access to access.
    fn sum(&self, times: &[u64]) -> f64 {
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.fold(1.0, |sum, gap| 1.0 + sum * self.weight(gap))
    }
}

impl SlowScheme for Lrfu {
    fn touch(&mut self, lpn: u64, _write: bool, store: &Store) {
        self.pages.accessed(lpn, store.page_seq);
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        self.pages.put_last(lpn, vec![store.page_seq]);
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        self.pages.ordered(|times| {
            let last = times[times.len() - 1];
            let worth = libm::log2(self.sum(times)) + self.lambda * last as f64;
            (worth, last)
        })
    }

    fn remove(&mut self, lpn: u64) {
        self.pages.take(lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        self.pages.rename(from, to)
    }

    fn pages(&self) -> Vec<u64> {
        self.pages.pages()
    }

    fn state(&self, store: &Store) -> String {
        let page = |x: u64, times: &[u64]| {
            let since = store.page_seq - times[times.len() - 1];
            let sum = self.sum(times) * self.weight(since);
            format!("{}:{sum:.4}", store.star(x))
        };
        format!("{{{}}}", self.pages.each(page))
    }
}

/// MQ: queues are vectors with the head (newest) first.
pub struct Mq {
    queues: Vec<Vec<u64>>,
    qout: Vec<u64>,
    /// Accesses and expiry of pages and ghosts.
    seen: BTreeMap<u64, (u64, u64)>,
    lifetime: u64,
    qout_size: usize,
    incoming: Option<u64>,
}

impl Mq {
    /// `m`, `lifetime` and `qout`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Mq, String> {
        expr.keys(&["m", "lifetime", "qout"])?;
        let capacity = capacity as u64;
        Ok(Mq {
            queues: vec![Vec::new(); expr.number("m", 8, 1)? as usize],
            qout: Vec::new(),
            seen: BTreeMap::new(),
            lifetime: expr.number("lifetime", (8 * capacity).max(1), 1)?,
            qout_size: expr.number("qout", 4 * capacity, 1)? as usize,
            incoming: None,
        })
    }

    fn accessed(&mut self, lpn: u64, now: u64) {
        let accesses = self.seen.get(&lpn).map_or(0, |seen| seen.0) + 1;
        self.seen.insert(lpn, (accesses, now + self.lifetime));
        let mut queue = 0;
        while queue + 1 < self.queues.len() && accesses >= 2 << queue {
            queue += 1;
        }
        self.queues[queue].insert(0, lpn);
        for queue in 1..self.queues.len() {
            let Some(&oldest) = self.queues[queue].last() else {
                continue;
            };
            let (accesses, expires) = self.seen[&oldest];
            if expires < now {
                self.queues[queue].pop();
                self.queues[queue - 1].insert(0, oldest);
                self.seen.insert(oldest, (accesses, now + self.lifetime));
            }
        }
    }

    fn leave_queues(&mut self, lpn: u64) {
        for queue in &mut self.queues {
            take_out(queue, lpn);
        }
    }
}

impl SlowScheme for Mq {
    fn touch(&mut self, lpn: u64, _write: bool, store: &Store) {
        self.leave_queues(lpn);
        self.accessed(lpn, store.page_seq);
    }

    fn expect(&mut self, incoming: u64) {
        self.incoming = Some(incoming);
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        self.incoming = None;
        take_out(&mut self.qout, lpn);
        self.accessed(lpn, store.page_seq);
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let queues = self.queues.iter();
        queues
            .flat_map(|queue| queue.iter().rev().copied())
            .collect()
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        self.leave_queues(lpn);
        self.qout.insert(0, lpn);
        let incoming = self.incoming;
        let counted = |x: &&u64| Some(**x) != incoming;
        while self.qout.iter().filter(counted).count() > self.qout_size {
            let oldest = self.qout.iter().rev().find(counted).copied();
            self.forget_ghost(oldest.expect("it was just counted"));
        }
    }

    fn remove(&mut self, lpn: u64) {
        self.leave_queues(lpn);
        self.seen.remove(&lpn);
    }

    fn forget_ghost(&mut self, lpn: u64) {
        if take_out(&mut self.qout, lpn) {
            self.seen.remove(&lpn);
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if !self.seen.contains_key(&from) {
            return false;
        }
        self.forget_ghost(to);
        let seen = self.seen.remove(&from);
        self.seen.extend(seen.map(|seen| (to, seen)));
        let lists = self.queues.iter_mut().chain([&mut self.qout]);
        lists.for_each(|list| {
            replace(list, from, to);
        });
        true
    }

    fn pages(&self) -> Vec<u64> {
        self.queues.concat()
    }

    fn state(&self, store: &Store) -> String {
        let mut out = String::new();
        for (i, queue) in self.queues.iter().enumerate().filter(|q| !q.1.is_empty()) {
            let page = |x: &u64| {
                let (accesses, expires) = self.seen[x];
                format!("{}:{accesses}/{expires}", store.star(*x))
            };
            let pages: Vec<String> = queue.iter().map(page).collect();
            out += &format!("Q{i}[{}] ", pages.join(" "));
        }
        let ghost = |x: &u64| format!("{x}:{}", self.seen[x].0);
        let ghosts: Vec<String> = self.qout.iter().map(ghost).collect();
        format!("{out}Qout[{}]", ghosts.join(" "))
    }
}
