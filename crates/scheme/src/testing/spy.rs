//! A policy that tells how it is called.

use crate::policy::lru::Lru;
use crate::{Access, Env, Expr, Policy, RemoveReason, View};
use destage_types::{Lpn, Op, Slot};
use std::cell::RefCell;

/// LRU that notes how it is called: `miss 3 W`, `insert 3 W`, `gone 3`, `clean 3` and so on.
pub(crate) struct Spy {
    lru: Lru,
    /// Pages it is meant for.
    pub capacity: u32,
    calls: RefCell<Vec<String>>,
}

impl Spy {
    /// The calls since this was asked last.
    pub fn take(&self) -> String {
        self.calls.take().join(", ")
    }

    fn note(&self, call: String) {
        self.calls.borrow_mut().push(call);
    }

    fn note_access(&self, call: &str, a: &Access) {
        let letter = if a.op == Op::Read { 'R' } else { 'W' };
        self.note(format!("{call} {} {letter}", a.lpn));
    }
}

impl Policy for Spy {
    fn build(expr: &Expr, env: &Env) -> Spy {
        Spy {
            lru: Lru::build(expr, env),
            capacity: env.capacity,
            calls: RefCell::default(),
        }
    }

    fn rename_ghost(&mut self, from: Lpn, to: Lpn, _v: &View) -> bool {
        self.note(format!("rename ghost {from} {to}"));
        false
    }

    fn on_rename(&mut self, from: Lpn, to: Lpn, _slot: Option<Slot>, _v: &View) {
        self.note(format!("rename {from} {to}"));
    }

    fn on_miss(&mut self, a: &Access, _v: &View) {
        self.note_access("miss", a);
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.note_access("insert", a);
        self.lru.on_insert(slot, a, v);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.note_access("hit", a);
        self.lru.on_hit(slot, a, v);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let word = if reason == RemoveReason::Evicted {
            "evicted"
        } else {
            "gone"
        };
        self.note(format!("{word} {}", v.frames.lpn(slot)));
        self.lru.on_remove(slot, reason, v);
    }

    fn on_clean(&mut self, slots: &[Slot], v: &View) {
        for &slot in slots {
            self.note(format!("clean {}", v.frames.lpn(slot)));
        }
    }

    fn forget(&mut self, lpn: Lpn, _v: &View) {
        self.note(format!("forget {lpn}"));
    }

    fn victim(&mut self, a: &Access, v: &View) -> Option<Slot> {
        self.lru.victim(a, v)
    }

    fn next_victims<'a>(&'a self, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        self.lru.next_victims(v)
    }
}
