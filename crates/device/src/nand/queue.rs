//! Waiting operations: a pool of entries and the lists of one chip.

use super::{Class, Kind, OpId};

pub(super) const NONE: u32 = u32::MAX;
/// Number of a free pool entry; no operation reaches it.
const FREE: u64 = u64::MAX;

/// Lists of a chip, in the order in which its candidate is looked for. The last one holds the
/// operations that wait for another one to end.
const FIRST: usize = 0;
const HOST: usize = 1;
const GC: usize = 2;
const BACKGROUND: usize = 3;
const BLOCKED: usize = 4;
const LISTS: usize = 5;

/// A waiting operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub number: u64,
    /// Since when it may start, as far as it is concerned.
    pub ready: u64,
    pub first_bus: u64,
    pub array: u64,
    /// Bus time of the last phase of a read, else 0.
    pub last_bus: u64,
    pub token: u32,
    pub chip: u32,
    /// Operations that wait for this one: head of a list linked by `sibling`.
    pub dependents: u32,
    pub sibling: u32,
    pub after: Option<OpId>,
    pub kind: Kind,
    pub class: Class,
    pub in_order: bool,
    pub notify: bool,
    pub ahead: bool,
    list: u8,
    next: u32,
    prev: u32,
}

impl Entry {
    /// All phases, one right after the other.
    #[inline]
    pub fn duration(&self) -> u64 {
        self.first_bus + self.array + self.last_bus
    }

    /// An entry in no list, of a host read that takes no time.
    pub fn blank(number: u64, chip: u32) -> Entry {
        Entry {
            number,
            ready: 0,
            first_bus: 0,
            array: 0,
            last_bus: 0,
            token: 0,
            chip,
            dependents: NONE,
            sibling: NONE,
            after: None,
            kind: Kind::Read,
            class: Class::Host,
            in_order: false,
            notify: false,
            ahead: false,
            list: 0,
            next: NONE,
            prev: NONE,
        }
    }

    fn ready_list(&self) -> usize {
        match self.class {
            Class::Host if self.ahead => FIRST,
            Class::Host => HOST,
            Class::Gc => GC,
            Class::Background => BACKGROUND,
        }
    }

    /// A program that reads marked in-order go after.
    fn holds_reads(&self) -> bool {
        self.kind == Kind::Program && self.class != Class::Background
    }
}

/// All waiting operations of the array. Grows with the longest backlog, never shrinks.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    entries: Vec<Entry>,
    free: u32,
}

impl Pool {
    pub fn new() -> Pool {
        Pool {
            entries: Vec::new(),
            free: NONE,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub fn add(&mut self, entry: Entry) -> u32 {
        if self.free == NONE {
            self.entries.push(entry);
            return (self.entries.len() - 1) as u32;
        }
        let slot = self.free;
        self.free = self.entries[slot as usize].next;
        self.entries[slot as usize] = entry;
        slot
    }

    #[inline]
    pub fn take(&mut self, slot: u32) -> Entry {
        let entry = self.entries[slot as usize];
        let freed = &mut self.entries[slot as usize];
        freed.number = FREE;
        freed.next = self.free;
        self.free = slot;
        entry
    }

    /// Does `id` still wait here?
    #[inline]
    pub fn holds(&self, id: OpId) -> bool {
        id.slot != NONE
            && self
                .entries
                .get(id.slot as usize)
                .is_some_and(|entry| entry.number == id.number)
    }
}

impl std::ops::Index<u32> for Pool {
    type Output = Entry;
    #[inline]
    fn index(&self, slot: u32) -> &Entry {
        &self.entries[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for Pool {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.entries[slot as usize]
    }
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
}

/// The waiting operations of one chip.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    lists: [Ends; LISTS],
    /// Bit i: list i is not empty.
    filled: u8,
    /// Reads marked in-order outside the blocked list.
    marked: u32,
    /// Programs that a marked read may have to wait for although they stand behind it or nowhere:
    /// blocked ones and those of GC class.
    holding: u32,
    /// Summed durations by class.
    pub time: [u64; 3],
    pub host_reads: u32,
    pub host_writes: u32,
}

impl Queue {
    pub fn new() -> Queue {
        let empty = Ends {
            head: NONE,
            tail: NONE,
        };
        Queue {
            lists: [empty; LISTS],
            filled: 0,
            marked: 0,
            holding: 0,
            time: [0; 3],
            host_reads: 0,
            host_writes: 0,
        }
    }

    /// Is an operation waiting that waits for no other one's end?
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.filled & !(1 << BLOCKED) != 0
    }

    /// Would a read marked in-order have to wait although nothing is ready?
    #[inline]
    pub fn holds_marked(&self) -> bool {
        self.holding != 0
    }

    /// Adds an operation that was just submitted.
    #[inline]
    pub fn join(&mut self, pool: &mut Pool, slot: u32, blocked: bool) {
        let entry = &pool[slot];
        self.time[entry.class as usize] += entry.duration();
        if entry.class == Class::Host {
            self.host_reads += u32::from(entry.kind == Kind::Read);
            self.host_writes += u32::from(entry.kind == Kind::Program);
        }
        let list = if blocked { BLOCKED } else { entry.ready_list() };
        self.link(pool, slot, list);
    }

    /// Takes an operation out, because it starts or was cancelled.
    #[inline]
    pub fn leave(&mut self, pool: &mut Pool, slot: u32) -> Entry {
        self.unlink(pool, slot);
        let entry = pool.take(slot);
        self.time[entry.class as usize] -= entry.duration();
        if entry.class == Class::Host {
            self.host_reads -= u32::from(entry.kind == Kind::Read);
            self.host_writes -= u32::from(entry.kind == Kind::Program);
        }
        entry
    }

    /// The operation this one waited for has ended.
    pub fn unblock(&mut self, pool: &mut Pool, slot: u32) {
        self.unlink(pool, slot);
        let list = pool[slot].ready_list();
        self.link(pool, slot, list);
    }

    /// The operation that may start next, `NONE` if none may.
    #[inline]
    pub fn candidate(&self, pool: &Pool) -> u32 {
        if !self.has_ready() {
            return NONE;
        }
        if self.marked == 0 || self.holding == 0 {
            return self.lists[self.filled.trailing_zeros() as usize].head;
        }
        self.first_eligible(pool)
    }

    /// Programs of the host lists need no look: they are eligible and stand before the read.
    #[cold]
    fn first_eligible(&self, pool: &Pool) -> u32 {
        for list in FIRST..BLOCKED {
            let found = self.walk(pool, list).find(|&slot| {
                let entry = &pool[slot];
                let reads_on =
                    |other: u32| !pool[other].holds_reads() || pool[other].number > entry.number;
                !entry.in_order
                    || [GC, BLOCKED]
                        .into_iter()
                        .all(|list| self.walk(pool, list).all(reads_on))
            });
            if let Some(slot) = found {
                return slot;
            }
        }
        NONE
    }

    fn walk<'a>(&self, pool: &'a Pool, list: usize) -> impl Iterator<Item = u32> + 'a {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(some(self.lists[list].head), move |&slot| {
            some(pool[slot].next)
        })
    }

    fn count(&mut self, entry: &Entry, list: usize, step: u32) {
        if entry.in_order && list != BLOCKED {
            self.marked = self.marked.wrapping_add(step);
        }
        if (list == GC || list == BLOCKED) && entry.holds_reads() {
            self.holding = self.holding.wrapping_add(step);
        }
    }

    /// Puts an entry at its place by number, nearly always the tail.
    #[inline]
    fn link(&mut self, pool: &mut Pool, slot: u32, list: usize) {
        self.count(&pool[slot], list, 1);
        let number = pool[slot].number;
        let mut prev = self.lists[list].tail;
        while prev != NONE && pool[prev].number > number {
            prev = pool[prev].prev;
        }
        let ends = &mut self.lists[list];
        let next = if prev == NONE {
            std::mem::replace(&mut ends.head, slot)
        } else {
            std::mem::replace(&mut pool[prev].next, slot)
        };
        if next == NONE {
            ends.tail = slot;
        } else {
            pool[next].prev = slot;
        }
        let entry = &mut pool[slot];
        (entry.prev, entry.next, entry.list) = (prev, next, list as u8);
        self.filled |= 1 << list;
    }

    #[inline]
    fn unlink(&mut self, pool: &mut Pool, slot: u32) {
        let (prev, next) = (pool[slot].prev, pool[slot].next);
        let list = pool[slot].list as usize;
        self.count(&pool[slot], list, 1u32.wrapping_neg());
        let ends = &mut self.lists[list];
        if prev == NONE {
            ends.head = next;
        } else {
            pool[prev].next = next;
        }
        if next == NONE {
            ends.tail = prev;
        } else {
            pool[next].prev = prev;
        }
        if ends.head == NONE {
            self.filled &= !(1 << list);
        }
    }
}
