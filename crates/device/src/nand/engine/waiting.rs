//! Operations that wait: for their turn in the queue of a lane, for a bus, for the end of another
//! operation, or for pages that may join them.

use super::*;

impl Nand {
    /// An operation became ready in the queue of lane `l`.
    #[inline]
    pub(super) fn made_ready(&mut self, l: usize, now: u64) {
        if self.lanes[l].is_free(now) {
            self.refresh(l);
        } else {
            self.arm_end(l);
            self.look_at(l);
        }
    }

    #[inline]
    pub(super) fn arm_end(&mut self, l: usize) {
        let lane = &mut self.lanes[l];
        if lane.phase == Phase::Last && !lane.armed {
            lane.armed = true;
            self.events.set(l, lane.until);
        }
    }

    /// Chooses the candidate of a free lane again, after its queue changed.
    #[inline]
    pub(super) fn refresh(&mut self, l: usize) {
        if self.lanes[l].suspended {
            return self.look_at(l);
        }
        let lane = &mut self.lanes[l];
        lane.phase = Phase::Free;
        let slot = match &self.drive {
            None => lane.queue.candidate(&self.pool),
            Some(drive) => drive.candidate(l, &lane.queue, &self.pool),
        };
        self.set_candidate(l, slot);
    }

    /// `slot` may start next on lane `l`, which is free or has its operation suspended.
    #[inline]
    pub(super) fn set_candidate(&mut self, l: usize, slot: u32) {
        let lane = &mut self.lanes[l];
        if slot == lane.candidate {
            return;
        }
        lane.candidate = slot;
        let (at, ch) = (lane.waiter, lane.channel as usize);
        if slot == NONE || !self.pool[slot].on_bus() {
            if at != NONE {
                self.withdraw(ch, at as usize);
            }
            if slot != NONE {
                self.startable.push(l as u32);
            }
            return;
        }
        let waiter = Waiter {
            ready: self.pool[slot].ready.max(lane.until),
            number: self.pool[slot].number,
            lane: l as u32,
        };
        if at == NONE {
            self.queue_for_bus(ch, waiter);
        } else {
            self.channels[ch].waiters[at as usize] = waiter;
        }
    }

    #[inline]
    pub(super) fn queue_for_bus(&mut self, ch: usize, waiter: Waiter) {
        let channel = &mut self.channels[ch];
        self.lanes[waiter.lane as usize].waiter = channel.waiters.len() as u32;
        channel.waiters.push(waiter);
        self.touched.add(ch);
    }

    #[inline]
    pub(super) fn withdraw(&mut self, ch: usize, at: usize) {
        let waiters = &mut self.channels[ch].waiters;
        let gone = waiters.swap_remove(at);
        self.lanes[gone.lane as usize].waiter = NONE;
        if let Some(moved) = waiters.get(at) {
            self.lanes[moved.lane as usize].waiter = at as u32;
        }
    }

    // Dependencies.

    /// Makes the operation in `slot` wait for the end of `parent`, which has not ended.
    pub(super) fn hang_on(&mut self, parent: OpId, slot: u32) {
        if !self.pool.holds(parent) {
            self.arm_end(parent.lane as usize);
        }
        let sibling = std::mem::replace(self.first_dependent(parent), slot);
        self.pool[slot].sibling = sibling;
        self.pool[slot].after = Some(parent);
    }

    /// Undoes [`Nand::hang_on`].
    pub(super) fn let_go(&mut self, parent: OpId, slot: u32) {
        let sibling = self.pool[slot].sibling;
        let first = self.first_dependent(parent);
        if *first == slot {
            *first = sibling;
            return;
        }
        let mut at = *first;
        while self.pool[at].sibling != slot {
            at = self.pool[at].sibling;
        }
        self.pool[at].sibling = sibling;
    }

    /// Head of the list of operations that wait for `parent`, which waits itself or runs.
    fn first_dependent(&mut self, parent: OpId) -> &mut u32 {
        if self.pool.holds(parent) {
            &mut self.pool[parent.slot].dependents
        } else {
            self.dependents_of(parent)
        }
    }

    pub(super) fn release_all(&mut self, first: u32, now: u64) {
        let mut slot = first;
        while slot != NONE {
            let entry = &mut self.pool[slot];
            entry.after = None;
            let next = std::mem::replace(&mut entry.sibling, NONE);
            let other = entry.and_after.take();
            match other.filter(|&id| self.is_pending(id)) {
                Some(id) => self.hang_on(id, slot),
                None => self.unblock(slot, now),
            }
            slot = next;
        }
    }

    fn unblock(&mut self, slot: u32, now: u64) {
        let entry = &mut self.pool[slot];
        entry.ready = now;
        let l = entry.lane as usize;
        self.lanes[l].queue.unblock(&mut self.pool, slot);
        self.made_ready(l, now);
    }

    // Multi-plane operations.

    /// Nothing starts from now on until [`Nand::resume`]: what is submitted waits, though its chip
    /// is idle. So pages can join it ([`Nand::join`]) that become known at the same instant. No time
    /// passes in between.
    #[inline]
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// All work of the instant `now` is known: what may start does, by the rules of one instant.
    ///
    /// # Panics
    /// If something is due at or before `now`.
    #[inline]
    pub fn resume(&mut self, now: Nanos) {
        self.enter(now.0);
        self.held = false;
        self.settle_rest(now.0);
    }

    /// [`Nand::submit`] while work is held.
    #[inline(never)]
    pub(super) fn submit_held(&mut self, now: Nanos, command: FlashCommand) -> OpId {
        self.enter(now.0);
        self.submit_entry::<true>(now.0, &command, NONE)
    }

    /// Adds a page on one more plane of the die to a read or program that waits: one command more,
    /// and `transfer` and `bytes` of data; it takes the longest array time of its pages, `array` being
    /// that of the new one where it has its own. The operation keeps its number, its place and its
    /// token.
    ///
    /// # Panics
    /// If the operation does not wait, is no read or program, or is part of a job.
    pub fn join(&mut self, id: OpId, transfer: Nanos, bytes: u32, array: Option<Nanos>) {
        assert!(self.pool.holds(id), "only what waits is joined");
        let entry = &mut self.pool[id.slot];
        let joins = matches!(entry.kind, OpKind::Read | OpKind::Program) && !entry.in_job();
        assert!(joins, "reads and programs of their own are joined");
        entry.planes += 1;
        entry.bytes += bytes;
        entry.plain = false;
        let command = self.shared.command_of(entry.kind);
        match entry.kind {
            OpKind::Read => {
                entry.first_bus += command;
                entry.last_bus += transfer.0;
            }
            _ => entry.first_bus += command + transfer.0,
        }
        let longest = self.shared.array_of(entry.kind, array).max(entry.array);
        let longer = match array {
            Some(_) => longest - std::mem::replace(&mut entry.array, longest),
            None => 0,
        };
        let class = entry.class as usize;
        self.lanes[id.lane as usize].queue.time[class] += command + transfer.0 + longer;
    }
}
