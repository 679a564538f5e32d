//! LRU-K, LRFU and MQ: whole histories of accesses, from which everything is computed again each time.

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, take_out};
use super::store::Store;

/// Pages and when they were accessed, oldest first. The page that was accessed last is last: pages of
/// one time, which `ecr` makes when it moves a page to another chip, stay in the order of their events.
struct Times<T>(Vec<(u64, Vec<T>)>);

impl<T> Default for Times<T> {
    fn default() -> Times<T> {
        Times(Vec::new())
    }
}

impl<T> Times<T> {
    fn has(&self, lpn: u64) -> bool {
        self.0.iter().any(|page| page.0 == lpn)
    }

    fn put_last(&mut self, lpn: u64, times: Vec<T>) {
        self.0.push((lpn, times));
    }

    fn take(&mut self, lpn: u64) -> Option<Vec<T>> {
        let at = self.0.iter().position(|page| page.0 == lpn)?;
        Some(self.0.remove(at).1)
    }

    /// Was there a page to rename?
    fn rename(&mut self, from: u64, to: u64) -> bool {
        let page = self.0.iter_mut().find(|page| page.0 == from);
        page.map(|page| page.0 = to).is_some()
    }

    fn pages(&self) -> Vec<u64> {
        self.0.iter().map(|page| page.0).collect()
    }

    /// The `text` of each page, by page number.
    fn each(&self, text: impl Fn(u64, &[T]) -> String) -> String {
        let mut pages: Vec<_> = self.0.iter().collect();
        pages.sort_by_key(|page| page.0);
        let texts: Vec<String> = pages.iter().map(|(x, times)| text(*x, times)).collect();
        texts.join(" ")
    }

    /// The first one to leave first, by a key.
    fn ordered<K: PartialOrd>(&self, key: impl Fn(&[T]) -> K) -> Vec<u64> {
        let mut order: Vec<_> = self.0.iter().map(|(x, times)| (key(times), *x)).collect();
        order.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("no key is a NaN"));
        order.iter().map(|page| page.1).collect()
    }
}

/// A reference to a page: accesses that follow each other within the correlated reference period.
struct Reference {
    first: u64,
    last: u64,
    /// Did it bring the page into the cache?
    fetched: bool,
}

impl Reference {
    fn at(now: u64, fetched: bool) -> Reference {
        Reference {
            first: now,
            last: now,
            fetched,
        }
    }
}

/// HIST(p, 2) of Fig. 2.1, 0 for none. A page that was there when its last reference began has the end of the
/// one before: its begin, moved along by its length. A page that came back has the begin.
fn second_last(references: &[Reference]) -> u64 {
    match references {
        [.., before, last] if last.fetched => before.first,
        [.., before, _] => before.last,
        _ => 0,
    }
}

/// LAST(p).
fn last(references: &[Reference]) -> u64 {
    references[references.len() - 1].last
}

/// LRU-K.
pub struct Lru2 {
    pages: Times<Reference>,
    history: Times<Reference>,
    h: usize,
    crp: u64,
    incoming: Option<u64>,
}

impl Lru2 {
    /// `h`, by default the capacity, and `crp`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Lru2, String> {
        expr.keys(&["h", "crp"])?;
        Ok(Lru2 {
            pages: Times::default(),
            history: Times::default(),
            h: expr.number("h", capacity as u64, 1)? as usize,
            crp: expr.number("crp", 0, 1)?,
            incoming: None,
        })
    }

    /// Does an access at `now` belong to the last of these references?
    fn goes_on(&self, references: &[Reference], now: u64) -> bool {
        self.crp != 0 && last(references) + self.crp >= now
    }
}

/// `[3, 1]`: last access and HIST(p, 2); `[3-5, 1]` where the last reference began with access 3.
fn last_two(references: &[Reference]) -> String {
    let (reference, before) = (&references[references.len() - 1], second_last(references));
    let mut text = reference.last.to_string();
    if reference.first < reference.last {
        text = format!("{}-{text}", reference.first);
    }
    if before > 0 {
        text += &format!(", {before}");
    }
    format!("[{text}]")
}

impl SlowScheme for Lru2 {
    fn touch(&mut self, lpn: u64, _write: bool, store: &Store) {
        let now = store.page_seq;
        let mut references = self.pages.take(lpn).expect("a hit is cached");
        if self.goes_on(&references, now) {
            references.last_mut().expect("it was fetched").last = now;
        } else {
            references.push(Reference::at(now, false));
        }
        self.pages.put_last(lpn, references);
    }

    fn expect(&mut self, incoming: u64) {
        self.incoming = Some(incoming);
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        self.incoming = None;
        let mut references = self.history.take(lpn).unwrap_or_default();
        references.push(Reference::at(store.page_seq, true));
        self.pages.put_last(lpn, references);
    }

    fn candidates(&self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        self.pages.ordered(|references| {
            let in_period = self.goes_on(references, store.page_seq);
            (in_period, second_last(references), last(references))
        })
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        let references = self.pages.take(lpn).expect("a victim is cached");
        self.history.put_last(lpn, references);
        loop {
            let by_last = self.history.ordered(last);
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
        let page = |x: u64, times: &[Reference]| format!("{}:{}", store.star(x), last_two(times));
        let ghost = |x: u64, times: &[Reference]| format!("{x}:{}", last_two(times));
        let (pages, ghosts) = (self.pages.each(page), self.history.each(ghost));
        format!("{{{pages}}} hist{{{ghosts}}}")
    }
}

/// LRFU.
pub struct Lrfu {
    pages: Times<u64>,
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
        let mut times = self.pages.take(lpn).expect("a hit is cached");
        times.push(store.page_seq);
        self.pages.put_last(lpn, times);
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
    /// `ghost=kept`: Qout does not count the page that room is made for.
    keeps: bool,
    /// That page, if it is kept.
    incoming: Option<u64>,
}

impl Mq {
    /// `m`, `lifetime`, `qout` and `ghost`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Mq, String> {
        expr.keys(&["m", "lifetime", "qout", "ghost"])?;
        let capacity = capacity as u64;
        Ok(Mq {
            queues: vec![Vec::new(); expr.number("m", 8, 1)? as usize],
            qout: Vec::new(),
            seen: BTreeMap::new(),
            lifetime: expr.number("lifetime", (8 * capacity).max(1), 1)?,
            qout_size: expr.number("qout", 4 * capacity, 1)? as usize,
            keeps: expr.word("ghost", &["counted", "kept"])? == "kept",
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
        self.incoming = self.keeps.then_some(incoming);
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
