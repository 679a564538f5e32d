//! The waiting operations of one lane, in lists.

use super::operation::{
    ALL_MARKED, BLOCKED, BLOCKED_HOLDING, FIRST, HELD, LISTS, NONE, WaitingOp, list_of, marked,
};
use super::pool::{FREE, OpPool};
use super::{Class, OpId, OpKind};

/// Lists of operations that wait for another one, as bits of [`LaneQueue::filled`].
const ALL_BLOCKED: u16 = 1 << BLOCKED_HOLDING | 1 << BLOCKED;

#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
}

/// The operation that a lane runs or has suspended, and those of its job that nothing may come before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeper {
    /// The operation in service.
    pub serves: Option<u64>,
    /// The first and the last of those that follow.
    pub follow: Option<(u64, u64)>,
}

impl Keeper {
    /// Does an operation of the host wait for one of these? Its place is in front of what was submitted
    /// later, but for reads that go first.
    fn is_awaited_by(&self, entry: &WaitingOp) -> bool {
        let host = list_of(Class::Host);
        let holds = |id: OpId| {
            let number = id.number();
            let follows = |(first, last): (u64, u64)| (first..=last).contains(&number);
            self.serves == Some(number) || self.follow.is_some_and(follows)
        };
        let mut awaited = [entry.after, entry.and_after].into_iter().flatten();
        (entry.home == host || entry.home == marked(host)) && awaited.any(holds)
    }
}

/// The waiting operations of one lane.
#[derive(Clone, Debug)]
pub(super) struct LaneQueue {
    lists: [Ends; LISTS],
    /// Bit i: list i is not empty.
    filled: u16,
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
        self.filled & !ALL_BLOCKED != 0
    }

    /// Are there reads or programs of the host?
    #[inline]
    pub fn has_host_work(&self) -> bool {
        (self.host_reads | self.host_writes) != 0
    }

    /// Is there an operation that waits for another one?
    #[inline]
    pub fn has_blocked(&self) -> bool {
        self.filled & ALL_BLOCKED != 0
    }

    /// May an operation marked in-order have to wait although nothing is ready?
    #[inline]
    pub fn holds_marked(&self) -> bool {
        self.filled & (1 << BLOCKED_HOLDING) != 0
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
        let list = match (blocked, pool[slot].holds) {
            (false, _) => home,
            (true, true) => BLOCKED_HOLDING,
            (true, false) => BLOCKED,
        };
        self.link(pool, slot, list);
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
        self.candidate_of(self.filled, pool)
    }

    /// [`LaneQueue::candidate`] if the job that keeps the lane did not.
    pub fn candidate_beside_job(&self, pool: &OpPool) -> u32 {
        self.candidate_of(self.filled & !(1 << HELD), pool)
    }

    /// The first operation of a list.
    #[inline]
    pub fn first(&self, list: u8) -> u32 {
        self.lists[list as usize].head
    }

    /// The operations of a list, in order.
    pub fn each_of<'a>(
        &self,
        list: u8,
        pool: &'a OpPool,
    ) -> impl Iterator<Item = &'a WaitingOp> + use<'a> {
        let at = |slot: u32| (slot != NONE).then(|| &pool[slot]);
        std::iter::successors(at(self.first(list)), move |entry| at(entry.next))
    }

    #[inline]
    fn candidate_of(&self, filled: u16, pool: &OpPool) -> u32 {
        if filled & ALL_MARKED != 0 {
            return self.first_eligible(filled, pool);
        }
        if filled & !ALL_BLOCKED != 0 {
            self.lists[filled.trailing_zeros() as usize].head
        } else {
            NONE
        }
    }

    /// `slot`, which would start next if the job that keeps the lane did not, if it is a read of the host and
    /// none of `keeper` is to end before an operation that stands before it; else `NONE`.
    pub fn next_host_read(&self, pool: &OpPool, slot: u32, keeper: impl Fn() -> Keeper) -> u32 {
        let is_read = |entry: &WaitingOp| entry.kind == OpKind::Read && entry.class == Class::Host;
        if slot == NONE || !is_read(&pool[slot]) {
            return NONE;
        }
        let number = pool[slot].number;
        let stands_first = pool[slot].home == FIRST || !self.has_blocked() || {
            let keeper = keeper();
            [BLOCKED_HOLDING, BLOCKED].iter().all(|&list| {
                let before = self.each_of(list, pool);
                let mut before = before.take_while(|entry| entry.number < number);
                !before.any(|entry| keeper.is_awaited_by(entry))
            })
        };
        if stands_first { slot } else { NONE }
    }

    /// The next operation of the job that keeps the lane.
    pub fn held<'a>(&self, pool: &'a OpPool) -> Option<&'a WaitingOp> {
        self.each_of(HELD, pool).next()
    }

    /// Calls `f` with what waits among the operations of the host for no other one's end but those of
    /// `keeper`, in the order in which it starts if nothing holds it back.
    pub fn each_of_host(&self, pool: &OpPool, keeper: &Keeper, mut f: impl FnMut(&WaitingOp)) {
        self.each_of(FIRST, pool).for_each(&mut f);
        let host = list_of(Class::Host);
        let lists = [host, marked(host), BLOCKED_HOLDING, BLOCKED];
        let mut heads = lists.map(|list| self.lists[list as usize].head);
        loop {
            for head in &mut heads[2..] {
                while *head != NONE && !keeper.is_awaited_by(&pool[*head]) {
                    *head = pool[*head].next;
                }
            }
            let waiting = heads.iter_mut().filter(|head| **head != NONE);
            let Some(first) = waiting.min_by_key(|head| pool[**head].number) else {
                return;
            };
            f(&pool[*first]);
            *first = pool[*first].next;
        }
    }

    /// [`LaneQueue::candidate`] where operations marked in-order wait. Of these only the first of a
    /// class needs a look: what holds it back holds back the others. Programs of the host that may start
    /// need none: they stand before what is marked.
    fn first_eligible(&self, filled: u16, pool: &OpPool) -> u32 {
        if filled & (1 << HELD | 1 << FIRST) != 0 {
            return self.lists[filled.trailing_zeros() as usize].head;
        }
        let limit = self.first_number(pool, BLOCKED_HOLDING);
        for list in Class::ALL.map(list_of) {
            let number = self.first_number(pool, marked(list));
            let other = self.first_number(pool, list);
            if number <= limit && number < other {
                return self.lists[marked(list) as usize].head;
            }
            if other < FREE {
                return self.lists[list as usize].head;
            }
        }
        NONE
    }

    /// Number of the first operation of a list, [`FREE`] if it is empty.
    #[inline]
    fn first_number(&self, pool: &OpPool, list: u8) -> u64 {
        match self.lists[list as usize].head {
            NONE => FREE,
            slot => pool[slot].number,
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
        if pool.get(behind).filter(still).is_some() {
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
