//! LIRS (Jiang and Zhang, SIGMETRICS 2002) and the two-queue reading of Prober 3.3.

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, plain, replace, tail_first, take_out};
use super::store::Store;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lir,
    Hir,
    NonResident,
}

/// Pages of the LIR part and of the HIR part: `hir` defaults to `max(2, C/100)`.
fn split(expr: &SlowExpr, capacity: usize) -> Result<usize, String> {
    expr.keys(&["hir", "max-nonres", "skip-repeat", "variant"])?;
    let hir = expr.number("hir", (capacity as u64 / 100).max(2), 1)? as usize;
    Ok(capacity.saturating_sub(hir))
}

/// Stack S with its top first, queue Q of resident HIR pages with the newest first.
pub struct Lirs {
    stack: Vec<(u64, Kind)>,
    queue: Vec<u64>,
    lir_capacity: usize,
    max_nonresident: usize,
    skip_repeat: bool,
    last: Option<u64>,
}

impl Lirs {
    /// Parameters `hir`, `max-nonres` (a number or `inf`), `skip-repeat`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Lirs, String> {
        let unbounded = expr.params.get("max-nonres").is_some_and(|v| v == "inf");
        Ok(Lirs {
            stack: Vec::new(),
            queue: Vec::new(),
            lir_capacity: split(expr, capacity)?,
            max_nonresident: if unbounded {
                usize::MAX
            } else {
                expr.number("max-nonres", 2 * capacity as u64, 1)? as usize
            },
            skip_repeat: expr.flag("skip-repeat", false)?,
            last: None,
        })
    }

    fn kind(&self, lpn: u64) -> Option<Kind> {
        let entry = self.stack.iter().find(|e| e.0 == lpn);
        entry.map(|e| e.1)
    }

    fn number_of(&self, kind: Kind) -> usize {
        self.stack.iter().filter(|e| e.1 == kind).count()
    }

    fn put_on_top(&mut self, lpn: u64, kind: Kind) {
        self.stack.retain(|e| e.0 != lpn);
        self.stack.insert(0, (lpn, kind));
    }

    fn put_newest(&mut self, lpn: u64) {
        take_out(&mut self.queue, lpn);
        self.queue.insert(0, lpn);
    }

    fn prune(&mut self) {
        while self.stack.last().is_some_and(|e| e.1 != Kind::Lir) {
            self.stack.pop();
        }
    }

    /// `lpn` becomes LIR at the top; the bottom LIR page makes way if there are too many.
    fn promote(&mut self, lpn: u64) {
        take_out(&mut self.queue, lpn);
        self.put_on_top(lpn, Kind::Lir);
        if self.number_of(Kind::Lir) > self.lir_capacity {
            let bottom = self.stack.iter().rposition(|e| e.1 == Kind::Lir);
            let bottom = bottom.expect("a LIR page was just put on the stack");
            self.stack[bottom].1 = Kind::Hir;
            self.put_newest(self.stack[bottom].0);
        }
        self.prune();
    }
}

impl SlowScheme for Lirs {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        if self.skip_repeat && self.last == Some(lpn) {
            return;
        }
        self.last = Some(lpn);
        match self.kind(lpn) {
            Some(Kind::Lir) => {
                self.put_on_top(lpn, Kind::Lir);
                self.prune();
            }
            Some(_) => self.promote(lpn),
            None => {
                self.put_on_top(lpn, Kind::Hir);
                self.put_newest(lpn);
            }
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.last = Some(lpn);
        if self.kind(lpn) == Some(Kind::NonResident) {
            self.promote(lpn);
        } else if self.number_of(Kind::Lir) < self.lir_capacity {
            self.put_on_top(lpn, Kind::Lir);
        } else {
            self.put_on_top(lpn, Kind::Hir);
            self.put_newest(lpn);
        }
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let lir = self.stack.iter().rev().filter(|e| e.1 == Kind::Lir);
        let mut order = tail_first(&self.queue);
        order.extend(lir.map(|e| e.0));
        order
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        if !take_out(&mut self.queue, lpn) {
            return self.remove(lpn); // a LIR page is not remembered
        }
        if let Some(entry) = self.stack.iter_mut().find(|e| e.0 == lpn) {
            entry.1 = Kind::NonResident;
        }
        while self.number_of(Kind::NonResident) > self.max_nonresident {
            let lowest = self.stack.iter().rposition(|e| e.1 == Kind::NonResident);
            self.stack.remove(lowest.expect("there is at least one"));
        }
    }

    fn remove(&mut self, lpn: u64) {
        self.stack.retain(|e| e.0 != lpn);
        take_out(&mut self.queue, lpn);
        self.prune();
    }

    fn forget_ghost(&mut self, lpn: u64) {
        self.stack.retain(|e| *e != (lpn, Kind::NonResident));
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if self.kind(from).is_none() && !self.queue.contains(&from) {
            return false;
        }
        self.forget_ghost(to);
        replace(&mut self.queue, from, to);
        if let Some(entry) = self.stack.iter_mut().find(|e| e.0 == from) {
            entry.0 = to;
        }
        if self.last == Some(from) {
            self.last = Some(to);
        }
        true
    }

    fn pages(&self) -> Vec<u64> {
        let mut pages = self.queue.clone();
        let lir = self.stack.iter().filter(|e| e.1 == Kind::Lir);
        pages.extend(lir.map(|e| e.0));
        pages
    }

    fn state(&self, store: &Store) -> String {
        let item = |&(lpn, kind): &(u64, Kind)| match kind {
            Kind::Lir => format!("{}L", store.star(lpn)),
            Kind::Hir => format!("{}H", store.star(lpn)),
            Kind::NonResident => format!("{lpn}N"),
        };
        let stack: Vec<String> = self.stack.iter().map(item).collect();
        format!("S[{}] Q{}", stack.join(" "), store.list(&self.queue))
    }
}

/// The simplified LIRS of Prober 3.3: hot queue S, cold queue Q, evicted pages remembered.
pub struct TwoQueue {
    hot: Vec<u64>,
    cold: Vec<u64>,
    past: Vec<u64>,
    hot_capacity: usize,
    capacity: usize,
    skip_repeat: bool,
    last: Option<u64>,
}

impl TwoQueue {
    /// Parameters `hir`, `skip-repeat`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<TwoQueue, String> {
        Ok(TwoQueue {
            hot: Vec::new(),
            cold: Vec::new(),
            past: Vec::new(),
            hot_capacity: split(expr, capacity)?,
            capacity,
            skip_repeat: expr.flag("skip-repeat", false)?,
            last: None,
        })
    }

    fn make_hot(&mut self, lpn: u64) {
        take_out(&mut self.hot, lpn);
        take_out(&mut self.cold, lpn);
        self.hot.insert(0, lpn);
        if self.hot.len() > self.hot_capacity {
            let tail = self.hot.pop().expect("a page was just inserted");
            self.cold.insert(0, tail);
        }
    }
}

impl SlowScheme for TwoQueue {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        if self.skip_repeat && self.last == Some(lpn) {
            return;
        }
        self.last = Some(lpn);
        self.make_hot(lpn);
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.last = Some(lpn);
        if take_out(&mut self.past, lpn) {
            self.make_hot(lpn);
        } else {
            self.cold.insert(0, lpn);
        }
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        [tail_first(&self.cold), tail_first(&self.hot)].concat()
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        self.remove(lpn);
        self.past.insert(0, lpn);
        self.past.truncate(self.capacity);
    }

    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.hot, lpn);
        take_out(&mut self.cold, lpn);
    }

    fn forget_ghost(&mut self, lpn: u64) {
        take_out(&mut self.past, lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let all = [&self.hot, &self.cold, &self.past];
        if !all.iter().any(|list| list.contains(&from)) {
            return false;
        }
        self.forget_ghost(to);
        for list in [&mut self.hot, &mut self.cold, &mut self.past] {
            replace(list, from, to);
        }
        if self.last == Some(from) {
            self.last = Some(to);
        }
        true
    }

    fn pages(&self) -> Vec<u64> {
        [self.hot.clone(), self.cold.clone()].concat()
    }

    fn state(&self, store: &Store) -> String {
        let (hot, cold) = (store.list(&self.hot), store.list(&self.cold));
        format!("S{hot} Q{cold} past{}", plain(&self.past, ", "))
    }
}
