//! Which program that has not started writes the newest data of a page.
//!
//! Programs of older versions may wait in other queues; no read depends on those. Asked for by page
//! and not by place: garbage collection moves data that are still to be written, and a place may
//! wait for data twice.

use destage_types::Lpn;

const NONE: u32 = u32::MAX;
/// Chains; the pages of a few hundred waiting programs are spread over them by their number.
const CHAINS: u64 = 1024;

#[derive(Clone, Debug)]
struct Row {
    lpn: Lpn,
    next: u32,
}

/// Tokens of waiting programs, by page. One program per page at most.
#[derive(Clone, Debug)]
pub(super) struct Newest {
    chains: Vec<u32>,
    /// By token.
    rows: Vec<Row>,
}

impl Newest {
    pub fn new() -> Newest {
        Newest {
            chains: vec![NONE; CHAINS as usize],
            rows: Vec::new(),
        }
    }

    /// Program `token` writes the newest data of `lpn`.
    pub fn set(&mut self, lpn: Lpn, token: u32) {
        self.clear(lpn);
        let at = token as usize;
        if at >= self.rows.len() {
            let row = Row { lpn, next: NONE };
            self.rows.resize(at + 1, row);
        }
        let chain = (lpn.0 % CHAINS) as usize;
        let next = std::mem::replace(&mut self.chains[chain], token);
        self.rows[at] = Row { lpn, next };
    }

    /// The newest data of `lpn` are not those of a waiting program.
    pub fn clear(&mut self, lpn: Lpn) {
        let chain = (lpn.0 % CHAINS) as usize;
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
        let mut at = self.chains[(lpn.0 % CHAINS) as usize];
        while at != NONE && self.rows[at as usize].lpn != lpn {
            at = self.rows[at as usize].next;
        }
        (at != NONE).then_some(at)
    }
}
