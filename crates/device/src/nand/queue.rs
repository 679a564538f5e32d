//! Waiting operations: a pool of entries and the lists of one lane.

use super::operation::{BLOCKED, GC, HELD, LISTS, NONE, WaitingOp};
use super::{Class, OpId, OpKind};

/// Number of a free pool entry; no operation reaches it.
const FREE: u64 = u64::MAX;

/// All waiting operations of the array. Grows with the longest backlog, never shrinks.
#[derive(Clone, Debug)]
pub(super) struct OpPool {
    entries: Vec<WaitingOp>,
    free: u32,
}

impl OpPool {
    pub fn new() -> OpPool {
        OpPool {
            entries: Vec::new(),
            free: NONE,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub fn add(&mut self, entry: WaitingOp) -> u32 {
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
    pub fn take(&mut self, slot: u32) -> WaitingOp {
        let entry = self.entries[slot as usize];
        let freed = &mut self.entries[slot as usize];
        freed.number = FREE;
        freed.next = self.free;
        self.free = slot;
        entry
    }

    /// All operations that wait here, in no order.
    pub fn waiting(&self) -> impl Iterator<Item = &WaitingOp> {
        self.entries.iter().filter(|entry| entry.number != FREE)
    }

    /// Does `id` still wait here?
    #[inline]
    pub fn holds(&self, id: OpId) -> bool {
        id.slot != NONE
            && self
                .entries
                .get(id.slot as usize)
                .is_some_and(|entry| entry.number == id.number())
    }
}

impl std::ops::Index<u32> for OpPool {
    type Output = WaitingOp;
    #[inline]
    fn index(&self, slot: u32) -> &WaitingOp {
        &self.entries[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for OpPool {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut WaitingOp {
        &mut self.entries[slot as usize]
    }
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
}

/// The waiting operations of one lane.
#[derive(Clone, Debug)]
pub(super) struct LaneQueue {
    lists: [Ends; LISTS],
    /// Bit i: list i is not empty.
    filled: u8,
    /// Operations marked in-order outside the blocked list.
    marked: u32,
    /// Operations that a marked one may have to wait for although they stand behind it or nowhere:
    /// blocked ones and those of GC class.
    holding: u32,
    /// Summed durations by class.
    pub time: [u64; 4],
    pub host_reads: u32,
    pub host_writes: u32,
}

impl LaneQueue {
    pub fn new() -> LaneQueue {
        let empty = Ends {
            head: NONE,
            tail: NONE,
        };
        LaneQueue {
            lists: [empty; LISTS],
            filled: 0,
            marked: 0,
            holding: 0,
            time: [0; 4],
            host_reads: 0,
            host_writes: 0,
        }
    }

    /// Does nothing wait?
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Is an operation waiting that waits for no other one's end?
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.filled & !(1 << BLOCKED) != 0
    }

    /// Are there reads or programs of the host?
    #[inline]
    pub fn has_host_work(&self) -> bool {
        (self.host_reads | self.host_writes) != 0
    }

    /// Is there an operation that waits for another one?
    #[inline]
    pub fn has_blocked(&self) -> bool {
        self.filled & (1 << BLOCKED) != 0
    }

    /// May an operation marked in-order have to wait although nothing is ready?
    #[inline]
    pub fn holds_marked(&self) -> bool {
        self.holding != 0
    }

    /// Adds an operation that was just submitted.
    #[inline]
    pub fn join(&mut self, pool: &mut OpPool, slot: u32, blocked: bool) {
        let entry = &pool[slot];
        self.add_up(entry);
        let home = entry.home;
        if blocked {
            pool[slot].behind = self.lists[home as usize].tail;
        }
        self.link(pool, slot, if blocked { BLOCKED } else { home });
    }

    /// Counts an operation that waits.
    #[inline]
    pub fn add_up(&mut self, entry: &WaitingOp) {
        self.time[entry.class as usize] += entry.duration();
        if entry.class == Class::Host {
            self.host_reads += u32::from(entry.kind == OpKind::Read);
            self.host_writes += u32::from(entry.kind == OpKind::Program);
        }
    }

    /// Takes an operation out, because it starts or was cancelled.
    #[inline]
    pub fn leave(&mut self, pool: &mut OpPool, slot: u32) -> WaitingOp {
        self.unlink(pool, slot);
        self.drop_unlinked(pool, slot)
    }

    /// [`LaneQueue::leave`] of an operation that is in no list.
    #[inline]
    pub fn drop_unlinked(&mut self, pool: &mut OpPool, slot: u32) -> WaitingOp {
        let entry = pool.take(slot);
        self.time[entry.class as usize] -= entry.duration();
        if entry.class == Class::Host {
            self.host_reads -= u32::from(entry.kind == OpKind::Read);
            self.host_writes -= u32::from(entry.kind == OpKind::Program);
        }
        entry
    }

    /// The operation before this one in its job starts.
    pub fn follow(&mut self, pool: &mut OpPool, slot: u32) {
        let list = pool[slot].home;
        self.link(pool, slot, list);
    }

    /// The operation this one waited for has ended.
    pub fn unblock(&mut self, pool: &mut OpPool, slot: u32) {
        self.unlink(pool, slot);
        let list = pool[slot].home;
        self.link(pool, slot, list);
    }

    /// The operation that may start next, `NONE` if none may.
    #[inline]
    pub fn candidate(&self, pool: &OpPool) -> u32 {
        if !self.has_ready() {
            return NONE;
        }
        if self.marked == 0 || self.holding == 0 {
            return self.lists[self.filled.trailing_zeros() as usize].head;
        }
        self.first_eligible(pool)
    }

    /// Programs of the host lists need no look: they are eligible and stand before what is marked,
    /// or are jobs that are held back by the same programs.
    #[cold]
    fn first_eligible(&self, pool: &OpPool) -> u32 {
        let holds = |slot: &u32| pool[*slot].holds;
        let first = |list| self.in_list(pool, list).find(holds);
        let first = [first(GC), first(BLOCKED)].into_iter().flatten();
        let limit = first.map(|slot| pool[slot].number).min();
        let limit = limit.expect("something holds back what is marked");
        let eligible = |slot: &u32| !pool[*slot].in_order || pool[*slot].number <= limit;
        let found = (HELD..BLOCKED).find_map(|list| self.in_list(pool, list).find(eligible));
        found.unwrap_or(NONE)
    }

    fn in_list<'a>(&self, pool: &'a OpPool, list: u8) -> impl Iterator<Item = u32> + 'a {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(some(self.lists[list as usize].head), move |&slot| {
            some(pool[slot].next)
        })
    }

    fn count(&mut self, entry: &WaitingOp, list: u8, step: u32) {
        if entry.in_order && list != BLOCKED {
            self.marked = self.marked.wrapping_add(step);
        }
        if (list == GC || list == BLOCKED) && entry.holds {
            self.holding = self.holding.wrapping_add(step);
        }
    }

    /// Puts an entry at its place by number, nearly always the tail.
    #[inline]
    fn link(&mut self, pool: &mut OpPool, slot: u32, list: u8) {
        if list == HELD {
            // The next operation of a job that keeps the lane: it is alone, and never counted.
            (self.lists[0].head, self.lists[0].tail) = (slot, slot);
            self.filled |= 1 << HELD;
            let entry = &mut pool[slot];
            (entry.prev, entry.next, entry.list) = (NONE, NONE, HELD);
            return;
        }
        self.count(&pool[slot], list, 1);
        let number = pool[slot].number;
        let mut prev = self.lists[list as usize].tail;
        if prev != NONE && pool[prev].number > number {
            prev = self.place(pool, list, slot);
        }
        let ends = &mut self.lists[list as usize];
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
        (entry.prev, entry.next, entry.list) = (prev, next, list);
        self.filled |= 1 << list;
    }

    /// The entry of `list` that `slot` stands behind if its number is lower than that of the tail;
    /// `NONE`: it comes first.
    ///
    /// Looks from the tail and, at the same time, from what it stood behind when it was submitted.
    /// If that has left the list, most of what stood before has too, so from the head.
    #[cold]
    fn place(&self, pool: &OpPool, list: u8, slot: u32) -> u32 {
        let WaitingOp {
            number,
            behind,
            lane,
            ..
        } = pool[slot];
        let Ends { mut head, mut tail } = self.lists[list as usize];
        let still =
            |entry: &&WaitingOp| (entry.list, entry.lane) == (list, lane) && entry.number < number;
        if pool.entries.get(behind as usize).filter(still).is_some() {
            head = behind;
        }
        loop {
            if tail == NONE || pool[tail].number < number {
                return tail;
            }
            if pool[head].number > number {
                return pool[head].prev;
            }
            (head, tail) = (pool[head].next, pool[tail].prev);
        }
    }

    #[inline]
    fn unlink(&mut self, pool: &mut OpPool, slot: u32) {
        let (prev, next) = (pool[slot].prev, pool[slot].next);
        let list = pool[slot].list;
        if list == HELD {
            (self.lists[0].head, self.lists[0].tail) = (NONE, NONE);
            self.filled &= !(1 << HELD);
            return;
        }
        self.count(&pool[slot], list, 1u32.wrapping_neg());
        let ends = &mut self.lists[list as usize];
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
