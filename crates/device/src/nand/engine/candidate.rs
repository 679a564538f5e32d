//! The candidate of a lane, and who waits for a bus.

use super::*;

impl<E: Events> Nand<E> {
    /// An operation became ready in the queue of lane `l`.
    #[inline]
    pub(super) fn made_ready(&mut self, l: usize, now: u64) {
        if self.lanes[l].is_free(now) {
            self.refresh(l);
        } else {
            self.arm_end(l);
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
        let lane = &mut self.lanes[l];
        lane.phase = Phase::Free;
        let slot = lane.queue.candidate(&self.pool);
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
}
