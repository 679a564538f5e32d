//! The interface of a cache scheme, on page numbers.

use super::reserve::Programs;
use super::store::Store;

/// A write or read request as classifiers see it.
#[derive(Clone, Debug)]
pub struct Served {
    /// Sector intervals, first and last inclusive.
    pub spans: Vec<(u64, u64)>,
    /// Pages in request order.
    pub pages: Vec<u64>,
    /// Pages that were renamed into residence for this request (CAC).
    pub renamed: Vec<u64>,
    /// Write or read?
    pub write: bool,
}

/// Pages that could leave together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowUnit {
    /// Its pages.
    pub pages: Vec<u64>,
    /// Its number, if all goes to one plane (D6).
    pub number: Option<u64>,
    /// All pages of the block, if they are programmed whether dirty, clean or absent (BP-1).
    pub whole: Option<std::ops::Range<u64>>,
}

impl SlowUnit {
    /// The chips on which those of the pages for which `counts` says so are programmed.
    pub fn chips(&self, store: &Store, counts: impl Fn(u64) -> bool) -> Vec<usize> {
        let pages = self.pages.iter().copied().filter(|&x| counts(x));
        let number = self.number.filter(|_| !store.flash.spreads_groups());
        let chip = |x| match number {
            Some(number) => store.flash.chip_of_unit(number),
            None => store.chip(x),
        };
        pages.map(chip).collect()
    }
}

/// A group of pages that leaves together, and its number if they go to one plane (D6).
pub type Group = (Vec<u64>, Option<u64>);

/// A cache scheme. It keeps orders and history; frames and masks are the cache's.
///
/// The cache updates its frames before `touch` and `admit`, and after `victim` and `remove`.
pub trait SlowScheme {
    /// A read or write request begins; renames are done, no page was served yet.
    fn request(&mut self, _served: &Served, _store: &Store) {}

    /// The write with this number waits for frames, and others are served.
    fn waits(&mut self, _request: u64) {}

    /// It goes on with its next page.
    fn resumes(&mut self, _request: u64) {}

    /// Does this page of the request go past the cache? `store.writing` tells reads from writes.
    fn bypasses(&mut self, _lpn: u64, _store: &Store) -> bool {
        false
    }

    /// Does this page of the request being served go past the cache whatever is cached? A write
    /// of which this holds for all pages is dropped from the cache at once.
    fn sends_past(&self, _lpn: u64) -> bool {
        false
    }

    /// A resident page was accessed (hit).
    fn touch(&mut self, lpn: u64, write: bool, store: &Store);

    /// A resident page was read, but not all sectors were there (D2): no touch.
    fn partial_miss(&mut self, _lpn: u64, _store: &Store) {}

    /// A page enters; whether it is dirty stands in the store.
    fn admit(&mut self, lpn: u64, store: &Store);

    /// Adapts to a page that is about to enter; a second call for the same page does nothing.
    fn expect(&mut self, _incoming: u64) {}

    /// The same before a victim is chosen, for which `incoming` may be nobody.
    fn prepare(&mut self, incoming: Option<u64>, _store: &Store) {
        if let Some(x) = incoming {
            self.expect(x);
        }
    }

    /// Units that could leave now, first one first, each if those before it had to stay.
    fn units(&self, incoming: Option<u64>, store: &Store) -> Vec<SlowUnit> {
        let alone = |x| SlowUnit {
            pages: vec![x],
            number: None,
            whole: None,
        };
        let order = self.candidates(incoming, store);
        order.into_iter().map(alone).collect()
    }

    /// Pages in the order in which they would become victims. None where groups leave, or where no order
    /// is declared and nothing filters the victims (X15); a classifier is never asked: nothing but the
    /// cache stands above it.
    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        Vec::new()
    }

    /// Page `lpn` leaves as the victim, wherever it stands in the candidate order.
    fn take(&mut self, lpn: u64, _store: &Store) {
        self.remove(lpn);
    }

    /// Chooses one victim unit, takes it out and names its pages.
    fn victim(&mut self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        self.prepare(incoming, store);
        let chosen = self.candidates(incoming, store)[0];
        self.take(chosen, store);
        vec![chosen]
    }

    /// Must a unit leave before `incoming` can enter?
    fn full(&self, _incoming: u64, store: &Store) -> bool {
        store.frames.len() >= store.capacity
    }

    /// All pages of the block that `victim` named last, if they are to be programmed whether
    /// dirty, clean or absent (BP-1).
    fn whole_block(&self) -> Option<std::ops::Range<u64>> {
        None
    }

    /// Number of the unit that `victim` named last, if its pages go to one plane (D6).
    fn unit(&self) -> Option<u64> {
        None
    }

    /// Pages of large sequential writes: page, serial number of its last write, is it outdated
    /// (PR-9)?
    fn streams(&self) -> Vec<(u64, u64, bool)> {
        Vec::new()
    }

    /// Pages for background layers behind those of `streams`, first one first.
    fn write_back_order(&self, store: &Store) -> Vec<u64> {
        self.candidates(None, store)
    }

    /// The page that is written back while this chip is idle, or any chip, of a scheme that does so by
    /// itself; `busy` pages are written back already.
    fn idle_page(
        &self,
        _chip: Option<usize>,
        _busy: &dyn Fn(u64) -> bool,
        _store: &Store,
    ) -> Option<u64> {
        None
    }

    /// Pages in the order in which they would leave, those of a classifier's own first; for `incoming` if that decides.
    fn next_victims(&self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        self.candidates(incoming, store)
    }

    /// The group that leaves next if nothing else happens, of a scheme that evicts groups.
    fn next_group(&self, _store: &Store) -> Option<Group> {
        None
    }

    /// Dirty pages that may be handed over now, first one first, of a scheme that drains by itself.
    fn hands_over(&mut self, _programs: Programs, _store: &Store) -> Vec<u64> {
        Vec::new()
    }

    /// One of them is to be handed over, whether or not there is room.
    fn named(&mut self, _lpn: u64) {}

    /// A resident page leaves without trace (TRIM, superseded, migrated).
    fn remove(&mut self, lpn: u64);

    /// Nothing is remembered of a page that is not resident.
    fn forget_ghost(&mut self, _lpn: u64) {}

    /// D11. `to` is not resident. False, and nothing changes, if `from` is unknown.
    fn rename(&mut self, from: u64, to: u64, store: &Store) -> bool;

    /// Dirty pages became clean without leaving.
    fn cleaned(&mut self, _pages: &[u64], _store: &Store) {}

    /// Words for the result column gathered during the request; forgotten by the call.
    fn words(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// All resident pages, in any order.
    fn pages(&self) -> Vec<u64>;

    /// The state column of the worked examples.
    fn state(&self, store: &Store) -> String;
}

/// A scheme, or what is wrong with its expression.
pub type Built = Result<Box<dyn SlowScheme>, String>;

/// Takes `lpn` out of a list; was it there?
pub fn take_out(list: &mut Vec<u64>, lpn: u64) -> bool {
    let before = list.len();
    list.retain(|&x| x != lpn);
    list.len() < before
}

/// Takes the oldest pages out of a list that has them last until it holds at most so many besides the page
/// that comes in.
pub fn forget_oldest(list: &mut Vec<u64>, most: usize, incoming: Option<u64>) {
    let counted = |x: &&u64| Some(**x) != incoming;
    while list.iter().filter(counted).count() > most {
        let oldest = list.iter().rev().find(counted).copied();
        take_out(list, oldest.expect("it was just counted"));
    }
}

/// Puts `to` where `from` stands; was it there?
pub fn replace(list: &mut [u64], from: u64, to: u64) -> bool {
    match list.iter_mut().find(|x| **x == from) {
        Some(x) => {
            *x = to;
            true
        }
        None => false,
    }
}

/// A list as it is, from the tail to the head.
pub fn tail_first(list: &[u64]) -> Vec<u64> {
    list.iter().rev().copied().collect()
}

/// `[3 2 1]` with the given separator.
pub fn plain(list: &[u64], separator: &str) -> String {
    let items: Vec<String> = list.iter().map(u64::to_string).collect();
    format!("[{}]", items.join(separator))
}
