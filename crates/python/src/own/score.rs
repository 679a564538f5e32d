//! A policy that evicts the page with the lowest score, which a function of C gives at every access.
#![expect(unsafe_code, reason = "a function of C is called by its address")]

use super::declare::OwnKind;
use super::{Fault, FaultReason, kind_of};
use destage_scheme::{Access, Env, Expr, Pages, Policy, RemoveReason, Scheme, View};
use destage_types::{Op, Slot};

/// `double score(uint64_t page, uint64_t access, uint64_t hits, uint64_t now_ns, int32_t write)`: the address
/// of the page, the number of the page access, accesses to the page since it came in, the arrival of the
/// request, and 1 for a write.
pub type ScoreFn = extern "C" fn(u64, u64, u64, u64, i32) -> f64;

/// A function of C that scores pages.
#[derive(Clone, Copy)]
pub struct ScoreFunction(ScoreFn);

impl ScoreFunction {
    /// The function at `address`; `None` at 0.
    ///
    /// # Safety
    /// There is a function of this type, which any thread may call, as long as runs use it.
    pub unsafe fn at(address: usize) -> Option<ScoreFunction> {
        // SAFETY: the caller says what is there, and a null pointer is `None`.
        let function = unsafe { std::mem::transmute::<usize, Option<ScoreFn>>(address) };
        function.map(ScoreFunction)
    }
}

/// Metadata of a page: its address, a score and a place in the heap, of 4 bytes each, and what it was before.
pub const PAGE_BYTES: u64 = 16;

/// A score, and among equal ones the access that gave it: who was accessed longest ago leaves first.
type Key = (f64, u64);

/// Pages in a heap by their score. A score that has risen since is looked at when the page comes to the top:
/// scores that only rise, as that of LRU, cost a hit no work in the heap.
pub struct ScorePolicy {
    score: ScoreFn,
    /// Slots, the lowest key on top.
    heap: Vec<u32>,
    /// By slot: its place in the heap, its key there, its key now, and its accesses.
    places: Vec<u32>,
    sorted: Vec<Key>,
    keys: Vec<Key>,
    hits: Vec<u64>,
    scheme: String,
}

/// What declarations of scores name as their `build`.
pub fn build(expr: &Expr, env: &Env) -> Box<dyn Scheme + Send> {
    Box::new(Pages::of(ScorePolicy::build(expr, env)))
}

impl ScorePolicy {
    /// The key of the page in `slot` after one more access.
    #[inline]
    fn key(&self, slot: usize, a: &Access) -> Key {
        let write = i32::from(a.op == Op::Write);
        let score = (self.score)(a.lpn.0, a.seq, self.hits[slot], a.now.0, write);
        if score.is_nan() {
            self.refuse(a);
        }
        (score, a.seq)
    }

    #[cold]
    fn refuse(&self, a: &Access) -> ! {
        Fault {
            why: FaultReason::Said(format!("the score of page {} is not a number", a.lpn.0)),
            hook: "score",
            request: a.request.saturating_sub(1),
            scheme: self.scheme.clone(),
        }
        .end()
    }

    fn put(&mut self, place: usize, slot: u32) {
        self.heap[place] = slot;
        self.places[slot as usize] = place as u32;
    }

    fn up(&mut self, mut place: usize) {
        let slot = self.heap[place];
        let key = self.sorted[slot as usize];
        while place > 0 {
            let above = (place - 1) / 2;
            let other = self.heap[above];
            if self.sorted[other as usize] <= key {
                break;
            }
            self.put(place, other);
            place = above;
        }
        self.put(place, slot);
    }

    fn down(&mut self, mut place: usize) {
        let slot = self.heap[place];
        let key = self.sorted[slot as usize];
        loop {
            let mut below = 2 * place + 1;
            let Some(&first) = self.heap.get(below) else {
                break;
            };
            let mut other = first;
            if let Some(&second) = self.heap.get(below + 1)
                && self.sorted[second as usize] < self.sorted[first as usize]
            {
                (below, other) = (below + 1, second);
            }
            if key <= self.sorted[other as usize] {
                break;
            }
            self.put(place, other);
            place = below;
        }
        self.put(place, slot);
    }
}

impl Policy for ScorePolicy {
    fn build(expr: &Expr, env: &Env) -> ScorePolicy {
        let kind = kind_of(expr.scheme());
        let Some(OwnKind::Score(ScoreFunction(score), _)) = kind.as_deref() else {
            unreachable!("only scores are built here");
        };
        let slots = env.slots as usize;
        ScorePolicy {
            score: *score,
            heap: Vec::with_capacity(slots),
            places: vec![0; slots],
            sorted: vec![(0.0, 0); slots],
            keys: vec![(0.0, 0); slots],
            hits: vec![0; slots],
            scheme: format!("{expr}, {} pages", env.capacity),
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let i = slot.index();
        self.hits[i] = 1;
        let key = self.key(i, a);
        (self.keys[i], self.sorted[i]) = (key, key);
        self.heap.push(i as u32);
        self.up(self.heap.len() - 1);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        let i = slot.index();
        self.hits[i] += 1;
        let key = self.key(i, a);
        self.keys[i] = key;
        if key < self.sorted[i] {
            self.sorted[i] = key;
            self.up(self.places[i] as usize);
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        let place = self.places[slot.index()] as usize;
        let last = self
            .heap
            .pop()
            .expect("the page that leaves is in the heap");
        if place < self.heap.len() {
            self.put(place, last);
            self.up(place);
            self.down(self.places[last as usize] as usize);
        }
    }

    fn victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        loop {
            let &top = self.heap.first()?;
            let key = self.keys[top as usize];
            if self.sorted[top as usize] == key {
                return Some(Slot(top));
            }
            self.sorted[top as usize] = key;
            self.down(0);
        }
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * PAGE_BYTES
    }
}
