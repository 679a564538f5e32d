//! A policy that evicts the page with the lowest score, which a function of C gives at every access.
#![expect(unsafe_code, reason = "a function of C is called by its address")]

use super::declare::OwnKind;
use super::{Fault, FaultReason, kind_of};
use destage_scheme::{Access, Env, Expr, List, Pages, Policy, RemoveReason, Scheme, View};
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

/// Pages by their score. A key that is not below all others goes to the head of a list, which so is sorted:
/// where every access gives the highest score so far, as in LRU, nothing else is needed. All other keys are in
/// a heap, where one that has risen is looked at when its page comes to the top.
pub struct ScorePolicy {
    score: ScoreFn,
    list: List,
    /// By slot: is the page in the list?
    listed: Vec<bool>,
    /// Slots, the lowest key on top.
    heap: Vec<u32>,
    /// By slot: its place in the heap, its key there, its key now, and its accesses.
    places: Vec<u32>,
    sorted: Vec<Key>,
    keys: Vec<Key>,
    hits: Vec<u64>,
    scheme: String,
}

/// The function that declarations of scores name as their `build`.
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

    /// Is no key in the list above `key`?
    #[inline]
    fn is_highest(&self, key: Key) -> bool {
        let head = self.list.head();
        head.is_none_or(|head| self.keys[head.index()] <= key)
    }

    /// A page in neither list nor heap goes into the heap.
    fn push(&mut self, i: usize, key: Key) {
        self.sorted[i] = key;
        self.heap.push(i as u32);
        self.up(self.heap.len() - 1);
    }

    /// The page on top of the heap, whose key there is what it is now.
    fn top(&mut self) -> Option<Slot> {
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
            list: List::new(slots),
            listed: vec![false; slots],
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
        self.listed[i] = self.is_highest(key);
        self.keys[i] = key;
        match self.listed[i] {
            true => self.list.push_head(slot),
            false => self.push(i, key),
        }
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        let i = slot.index();
        self.hits[i] += 1;
        let key = self.key(i, a);
        if self.listed[i] {
            let stays = self.is_highest(key);
            self.keys[i] = key;
            if stays {
                return self.list.move_to_head(slot);
            }
            self.list.unlink(slot);
            self.listed[i] = false;
            return self.push(i, key);
        }
        self.keys[i] = key;
        if key < self.sorted[i] {
            self.sorted[i] = key;
            self.up(self.places[i] as usize);
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        if self.listed[slot.index()] {
            return self.list.unlink(slot);
        }
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
        let of = |slot: Slot, keys: &[Key]| keys[slot.index()];
        match (self.list.tail(), self.top()) {
            (Some(tail), Some(top)) if of(top, &self.keys) < of(tail, &self.keys) => Some(top),
            (None, top) => top,
            (tail, _) => tail,
        }
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * PAGE_BYTES
    }
}
