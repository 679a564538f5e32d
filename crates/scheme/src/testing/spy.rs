//! A base policy that tells how it is called.

use crate::{Access, Scheme, View, Why};
use destage_types::{Lpn, Op, Slot};

/// LRU that notes how it is called: `expect 3`, `insert 3 W`, `gone 3`, `clean 3` and so on.
pub(crate) struct Spy {
    lru: crate::policy::Lru,
    pub(crate) calls: Vec<String>,
}

impl Spy {
    pub(crate) fn new(capacity: usize) -> Spy {
        Spy {
            lru: crate::policy::Lru::new(capacity),
            calls: vec![],
        }
    }

    pub(crate) fn take(&mut self) -> String {
        let calls = self.calls.join(", ");
        self.calls.clear();
        calls
    }
}

fn letter(op: Op) -> char {
    if op == Op::Read { 'R' } else { 'W' }
}

impl Scheme for Spy {
    crate::forward!(lru: size candidates meta_bytes);

    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        self.calls.push(format!("rename {from} {to}"));
        slot.is_some()
    }

    fn expect(&mut self, a: &Access, _v: &View) {
        self.calls
            .push(format!("expect {} {}", a.lpn, letter(a.op)));
    }

    fn insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.calls
            .push(format!("insert {} {}", a.lpn, letter(a.op)));
        self.lru.insert(slot, a, v);
    }

    fn touch(&mut self, slot: Slot, a: &Access, v: &View) {
        self.calls.push(format!("touch {} {}", a.lpn, letter(a.op)));
        self.lru.touch(slot, a, v);
    }

    fn remove(&mut self, slot: Slot, why: Why, v: &View) {
        let word = if why == Why::Evicted {
            "evicted"
        } else {
            "gone"
        };
        self.calls.push(format!("{word} {}", v.frames.lpn(slot)));
        self.lru.remove(slot, why, v);
    }

    fn cleaned(&mut self, slots: &[Slot], v: &View) {
        for &slot in slots {
            self.calls.push(format!("clean {}", v.frames.lpn(slot)));
        }
    }

    fn forget(&mut self, lpn: Lpn, _v: &View) {
        self.calls.push(format!("forget {lpn}"));
    }

    fn page_victim(&mut self, a: &Access, v: &View) -> Option<Slot> {
        self.lru.page_victim(a, v)
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        self.lru.state(v, out);
    }
}
