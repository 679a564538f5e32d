//! Prober (sections 3.1 to 3.3): the LWRS queue finds large sequential write streams, whose pages
//! wait in the LDR list in front of the base scheme's victims.

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{Group, Served, SlowScheme, SlowUnit, replace, take_out};
use super::store::Store;

/// A stream of writes: sectors `first..=last`, last extended by write request `asn`.
#[derive(Clone, Copy)]
struct Node {
    asn: u64,
    first: u64,
    last: u64,
    large: bool,
}

/// Prober over any page-granular base.
pub struct Prober {
    base: Box<dyn SlowScheme>,
    /// Sorted by the first sector.
    lwrs: Vec<Node>,
    asn: u64,
    /// Serial number of the last write of every page written so far, by present address.
    written: BTreeMap<u64, u64>,
    /// Newest page last.
    ldr: Vec<u64>,
    /// Is the request being served LW?
    lw: bool,
    /// The same of writes that wait, by number.
    large_waiting: BTreeMap<u64, bool>,
    /// Did the base give the last victim?
    base_gave: bool,
    renamed: Vec<u64>,
    words: Vec<String>,
    ssp: u64,
    rip: u64,
    rip_gt: bool,
    count_all: bool,
    ldr_bypass: bool,
    evict_head: bool,
    promote: bool,
    skip_partial: bool,
    exempt: bool,
}

impl Prober {
    /// Parameters as `expr` has them, on pages of `page` bytes.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, page: u64, base: Box<dyn SlowScheme>) -> Result<Prober, String> {
        let own = ["ssp", "rip", "rip-cmp", "asn-counts", "ldr", "ldr-evict"];
        let more = ["ldr-read-hit", "ldr-skip-partial", "cac-updates"];
        expr.keys(&[own.as_slice(), more.as_slice()].concat())?;
        let ssp = match expr.params.get("ssp") {
            Some(v) if v.bytes().all(|b| b.is_ascii_digit()) => expr.number("ssp", 256, 1)?,
            _ => expr.number("ssp", 128 << 10, page)? / 512,
        };
        Ok(Prober {
            base,
            lwrs: Vec::new(),
            asn: 0,
            written: BTreeMap::new(),
            ldr: Vec::new(),
            lw: false,
            large_waiting: BTreeMap::new(),
            base_gave: false,
            renamed: Vec::new(),
            words: Vec::new(),
            ssp,
            rip: expr.number("rip", 3000, 1)?,
            rip_gt: expr.word("rip-cmp", &["ge", "gt"])? == "gt",
            count_all: expr.word("asn-counts", &["writes", "all"])? == "all",
            ldr_bypass: expr.word("ldr", &["queue", "bypass"])? == "bypass",
            evict_head: expr.word("ldr-evict", &["tail", "head"])? == "head",
            promote: expr.word("ldr-read-hit", &["stay", "promote"])? == "promote",
            skip_partial: expr.flag("ldr-skip-partial", false)?,
            exempt: expr.word("cac-updates", &["classify", "exempt"])? == "exempt",
        })
    }

    fn outdated(&self, asn: u64) -> bool {
        let age = self.asn - asn;
        age > self.rip || (age == self.rip && !self.rip_gt)
    }

    /// The queue learns of a write of sectors `a..=b`; the sectors whose pages migrate.
    fn learn(&mut self, a: u64, b: u64) -> Vec<(u64, u64)> {
        let old = std::mem::take(&mut self.lwrs);
        let overlaps = |n: &Node| n.first <= b && a <= n.last;
        let kept = old
            .into_iter()
            .filter(|n| !self.outdated(n.asn) && !overlaps(n));
        let adjacent = |n: &Node| n.last + 1 == a || n.first == b + 1;
        let (merged, rest): (Vec<Node>, Vec<Node>) = kept.partition(adjacent);
        let mut new = Node {
            asn: self.asn,
            first: merged.iter().map(|n| n.first).min().unwrap_or(a).min(a),
            last: merged.iter().map(|n| n.last).max().unwrap_or(b).max(b),
            large: false,
        };
        new.large = new.last - new.first + 1 > self.ssp;
        self.lw |= new.large;
        self.lwrs = rest;
        self.lwrs.push(new);
        self.lwrs.sort_by_key(|n| n.first);
        let fresh = merged.iter().filter(|n| new.large && !n.large);
        fresh.map(|n| (n.first, n.last)).collect()
    }

    /// Moves the cached base pages of sectors `first..=last` to the LDR tail.
    fn migrate(&mut self, first: u64, last: u64, own: &[u64], spp: u64) -> Vec<u64> {
        let mut pages = self.base.pages();
        pages.retain(|x| (first / spp..=last / spp).contains(x) && !own.contains(x));
        pages.sort_unstable();
        for &page in &pages {
            self.base.remove(page);
            self.ldr.push(page);
        }
        pages
    }

    /// Does the write of this page count as large?
    fn large(&self, lpn: u64) -> bool {
        self.lw && !(self.exempt && self.renamed.contains(&lpn))
    }

    /// Does what comes in, if anything, go to the base?
    fn enters_base(&self, incoming: Option<u64>, store: &Store) -> bool {
        !incoming.is_some_and(|lpn| store.writing && self.large(lpn))
    }
}

impl SlowScheme for Prober {
    fn request(&mut self, served: &Served, store: &Store) {
        self.base.request(served, store);
        self.lw = false;
        self.asn += u64::from(served.write || self.count_all);
        if !served.write {
            return;
        }
        self.renamed = served.renamed.clone();
        let mut moved = Vec::new();
        for &(a, b) in &served.spans {
            for (first, last) in self.learn(a, b) {
                moved.extend(self.migrate(first, last, &served.pages, u64::from(store.spp)));
            }
        }
        if self.lw {
            self.words.push("LW".to_owned());
        }
        if !moved.is_empty() {
            self.words.push(format!("mig{moved:?}"));
        }
    }

    fn waits(&mut self, request: u64) {
        self.large_waiting.insert(request, self.lw);
        self.base.waits(request);
    }

    fn resumes(&mut self, request: u64) {
        self.lw = self.large_waiting.remove(&request).expect("it waits");
        self.base.resumes(request);
    }

    fn units(&self, incoming: Option<u64>, store: &Store) -> Vec<SlowUnit> {
        self.base.units(incoming, store)
    }

    fn prepare(&mut self, incoming: Option<u64>, store: &Store) {
        // Large data do not enter the base, which adapts to them only where it gives the victim.
        if self.enters_base(incoming, store) {
            self.base.prepare(incoming, store);
        }
    }

    fn take(&mut self, lpn: u64, store: &Store) {
        if !take_out(&mut self.ldr, lpn) {
            self.base.take(lpn, store);
        }
    }

    fn sends_past(&self, lpn: u64) -> bool {
        self.ldr_bypass && self.large(lpn)
    }

    fn bypasses(&mut self, lpn: u64, store: &Store) -> bool {
        store.writing && self.ldr_bypass && self.large(lpn)
    }

    fn touch(&mut self, lpn: u64, write: bool, store: &Store) {
        if write {
            self.written.insert(lpn, self.asn);
        }
        let waiting = self.ldr.contains(&lpn);
        if write && self.large(lpn) {
            if !take_out(&mut self.ldr, lpn) {
                self.base.remove(lpn);
            }
            self.ldr.push(lpn);
        } else if !waiting {
            self.base.touch(lpn, write, store);
        } else if write || self.promote {
            take_out(&mut self.ldr, lpn);
            self.base.admit(lpn, store);
            self.base.touch(lpn, write, store);
        }
    }

    fn partial_miss(&mut self, lpn: u64, store: &Store) {
        if !self.ldr.contains(&lpn) {
            self.base.partial_miss(lpn, store);
        }
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        if store.writing {
            self.written.insert(lpn, self.asn);
        }
        if store.writing && self.large(lpn) {
            self.base.forget_ghost(lpn);
            self.ldr.push(lpn);
        } else {
            self.base.admit(lpn, store);
        }
    }

    fn victim(&mut self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let mut order = self.ldr.clone();
        if !self.evict_head {
            order.reverse();
        }
        let base_empty = self.base.pages().is_empty();
        let allowed = |x: &&u64| !self.skip_partial || base_empty || store.whole(**x);
        let chosen = order.iter().find(|x| store.whole(**x));
        let chosen = chosen.filter(|_| self.skip_partial);
        let chosen = chosen.or_else(|| order.iter().find(allowed));
        self.base_gave = chosen.is_none();
        match chosen {
            Some(&page) => {
                take_out(&mut self.ldr, page);
                vec![page]
            }
            None => self.base.victim(incoming, store),
        }
    }

    fn unit(&self) -> Option<u64> {
        self.base.unit().filter(|_| self.base_gave)
    }

    fn whole_block(&self) -> Option<std::ops::Range<u64>> {
        self.base.whole_block().filter(|_| self.base_gave)
    }

    fn full(&self, incoming: u64, store: &Store) -> bool {
        self.base.full(incoming, store)
    }

    fn next_group(&self, store: &Store) -> Option<Group> {
        self.base.next_group(store)
    }

    fn remove(&mut self, lpn: u64) {
        if !take_out(&mut self.ldr, lpn) {
            self.base.remove(lpn);
        }
    }

    fn forget_ghost(&mut self, lpn: u64) {
        self.base.forget_ghost(lpn);
    }

    fn streams(&self) -> Vec<(u64, u64, bool)> {
        let state = |&lpn: &u64| {
            let asn = self.written.get(&lpn).copied().unwrap_or(0);
            (lpn, asn, self.outdated(asn))
        };
        self.ldr.iter().map(state).collect()
    }

    fn write_back_order(&self, store: &Store) -> Vec<u64> {
        self.base.write_back_order(store)
    }

    fn idle_page(
        &self,
        chip: Option<usize>,
        busy: &dyn Fn(u64) -> bool,
        store: &Store,
    ) -> Option<u64> {
        self.base.idle_page(chip, busy, store)
    }

    fn next_victims(&self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let mut ldr = self.ldr.clone();
        if !self.evict_head {
            ldr.reverse();
        }
        let spared = |x: &u64| self.skip_partial && !store.whole(*x);
        let (last, first): (Vec<u64>, Vec<u64>) = ldr.into_iter().partition(spared);
        let incoming = incoming.filter(|_| self.enters_base(incoming, store));
        [first, self.base.next_victims(incoming, store), last].concat()
    }

    fn rename(&mut self, from: u64, to: u64, store: &Store) -> bool {
        if let Some(asn) = self.written.get(&from).copied() {
            self.written.insert(to, asn);
        }
        if self.ldr.contains(&from) {
            self.base.forget_ghost(to);
            return replace(&mut self.ldr, from, to);
        }
        self.base.rename(from, to, store)
    }

    fn cleaned(&mut self, pages: &[u64], store: &Store) {
        let base: Vec<u64> = (pages.iter().copied())
            .filter(|x| !self.ldr.contains(x))
            .collect();
        self.base.cleaned(&base, store);
    }

    fn words(&mut self) -> Vec<String> {
        let mut words = std::mem::take(&mut self.words);
        words.extend(self.base.words());
        words
    }

    fn pages(&self) -> Vec<u64> {
        [self.base.pages(), self.ldr.clone()].concat()
    }

    fn state(&self, store: &Store) -> String {
        let item = |n: &Node| {
            let mark = if n.large { ",L" } else { "" };
            format!("({},{},{}{mark})", n.asn, n.first, n.last)
        };
        let nodes: Vec<String> = self.lwrs.iter().map(item).collect();
        format!(
            "LWRS {} ; RDR {} ; LDR {}",
            nodes.join(" "),
            self.base.state(store),
            store.list(&self.ldr)
        )
    }
}
