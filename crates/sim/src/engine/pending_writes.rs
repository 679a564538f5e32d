//! Pending writes: which program that has not started writes the newest data of a page.
//!
//! Programs of older versions may wait in other queues; no read depends on those. Asked for by page
//! and not by place: garbage collection moves data that are still to be written, and a place may
//! wait for data twice.

use destage_types::Lpn;

const NONE: u32 = u32::MAX;
/// Chains at first; the pages of waiting programs are spread over them by their number.
const CHAINS: usize = 1024;

#[derive(Clone, Debug)]
struct PendingWrite {
    lpn: Lpn,
    next: u32,
}

/// Tokens of waiting programs, by page. One program per page at most.
#[derive(Clone, Debug)]
pub(super) struct PendingWrites {
    /// A power of two of them, more than there were ever programs waiting at once.
    chains: Vec<u32>,
    /// By token.
    rows: Vec<PendingWrite>,
}

impl PendingWrites {
    pub fn new() -> PendingWrites {
        PendingWrites {
            chains: vec![NONE; CHAINS],
            rows: Vec::new(),
        }
    }

    #[inline]
    fn chain(&self, lpn: Lpn) -> usize {
        lpn.0 as usize & (self.chains.len() - 1)
    }

    /// Makes more chains if there are more rows than chains, so that chains stay short however
    /// long the queues are.
    fn spread(&mut self) {
        let wanted = self.rows.len().next_power_of_two();
        if wanted <= self.chains.len() {
            return;
        }
        for mut at in std::mem::replace(&mut self.chains, vec![NONE; wanted]) {
            while at != NONE {
                let (chain, row) = (self.chain(self.rows[at as usize].lpn), at);
                at = self.rows[row as usize].next;
                self.rows[row as usize].next = std::mem::replace(&mut self.chains[chain], row);
            }
        }
    }

    /// Program `token` writes the newest data of `lpn`.
    pub fn set(&mut self, lpn: Lpn, token: u32) {
        self.clear(lpn);
        let at = token as usize;
        if at >= self.rows.len() {
            let row = PendingWrite { lpn, next: NONE };
            self.rows.resize(at + 1, row);
            self.spread();
        }
        let chain = self.chain(lpn);
        let next = std::mem::replace(&mut self.chains[chain], token);
        self.rows[at] = PendingWrite { lpn, next };
    }

    /// The newest data of `lpn` are not those of a waiting program.
    pub fn clear(&mut self, lpn: Lpn) {
        let chain = self.chain(lpn);
        let (mut before, mut at) = (NONE, self.chains[chain]);
        while at != NONE && self.rows[at as usize].lpn != lpn {
            (before, at) = (at, self.rows[at as usize].next);
        }
        if at == NONE {
            return;
        }
        let next = self.rows[at as usize].next;
        match before {
            NONE => self.chains[chain] = next,
            _ => self.rows[before as usize].next = next,
        }
    }

    /// Program `token` waits no more.
    pub fn started(&mut self, lpn: Lpn, token: u32) {
        if self.get(lpn) == Some(token) {
            self.clear(lpn);
        }
    }

    /// The program that writes the newest data of `lpn`, if it waits.
    pub fn get(&self, lpn: Lpn) -> Option<u32> {
        let mut at = self.chains[self.chain(lpn)];
        while at != NONE && self.rows[at as usize].lpn != lpn {
            at = self.rows[at as usize].next;
        }
        (at != NONE).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::rng::SplitMix64;
    use std::collections::BTreeMap;

    /// Against a map from pages to tokens, while more and more programs wait.
    #[test]
    fn finds_what_waits_however_many_wait() {
        let (mut pending, mut model) = (PendingWrites::new(), BTreeMap::new());
        let mut random = SplitMix64::new(5);
        let mut draw = |n: u64| random.next_u64() % n;
        for token in 0..3 * CHAINS as u32 {
            let page = Lpn(draw(4 * CHAINS as u64));
            pending.set(page, token);
            model.insert(page, token);
            let other = Lpn(draw(4 * CHAINS as u64));
            if draw(8) == 0 {
                let token = model.remove(&other).unwrap_or(token);
                pending.started(other, token);
            }
            assert_eq!(pending.get(other), model.get(&other).copied());
        }
        assert_eq!(pending.chains.len(), 4 * CHAINS);
        for page in (0..4 * CHAINS as u64).map(Lpn) {
            assert_eq!(pending.get(page), model.get(&page).copied(), "{page}");
        }
    }
}
