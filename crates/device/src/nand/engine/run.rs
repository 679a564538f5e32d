//! Rounds of an instant: state changes, then grants.

use super::*;

impl<E: Events> Nand<E> {
    /// Settles the instant `now`, at which something is due.
    pub(super) fn settle<S: Sink>(&mut self, now: u64, sink: &mut S) {
        loop {
            self.changes(now, sink);
            self.grants(now, sink);
            if self.events.peek() != now {
                break;
            }
        }
        if self.watch {
            self.report_idle(now, sink);
        }
    }

    /// Settles `now` after work came in.
    #[inline]
    pub(super) fn settle_rest<S: Sink>(&mut self, now: u64, sink: &mut S) {
        self.grants(now, sink);
        if self.events.peek() == now {
            self.settle(now, sink);
        } else if self.watch {
            self.report_idle(now, sink);
        }
    }

    #[inline]
    fn changes<S: Sink>(&mut self, now: u64, sink: &mut S) {
        let (chips, channels) = (self.chips.len(), self.channels.len());
        while let Some(resource) = self.events.pop_due(now) {
            if resource < chips {
                self.chip_event(resource, now, sink);
            } else if resource < chips + channels {
                let channel = &mut self.channels[resource - chips];
                channel.armed = false;
                if !channel.touched {
                    channel.touched = true;
                    self.touched.push((resource - chips) as u32);
                }
            } else {
                self.channels[resource - chips - channels].watch_armed = false;
                self.note_change(resource - chips - channels);
            }
        }
    }

    #[inline]
    fn chip_event<S: Sink>(&mut self, c: usize, now: u64, sink: &mut S) {
        let chip = &mut self.chips[c];
        if chip.phase == Phase::Array {
            chip.phase = Phase::WaitData;
            let waiter = Waiter {
                ready: now,
                number: chip.number,
                chip: c as u32,
            };
            let ch = chip.channel as usize;
            return self.queue_for_bus(ch, waiter);
        }
        debug_assert!(chip.phase == Phase::Last, "only two phases raise events");
        chip.phase = Phase::Free;
        chip.armed = false;
        let dependents = std::mem::replace(&mut chip.dependents, NONE);
        if chip.class == Class::Background {
            self.channels[chip.channel as usize].background_started -= 1;
        }
        if chip.notify {
            sink.ended(chip.token, Nanos(now));
        }
        if dependents != NONE {
            self.release_all(dependents, now);
        }
        if self.chips[c].queue.has_ready() {
            self.refresh(c);
        }
    }

    #[inline]
    fn grants<S: Sink>(&mut self, now: u64, sink: &mut S) {
        if self.touched.len() > 1 {
            self.touched.sort_unstable();
        }
        // A grant touches no channel: what it causes at this instant belongs to the next round.
        for i in 0..self.touched.len() {
            let ch = self.touched[i] as usize;
            self.channels[ch].touched = false;
            self.grant(ch, now, sink);
        }
        self.touched.clear();
    }

    #[inline]
    fn grant<S: Sink>(&mut self, ch: usize, now: u64, sink: &mut S) {
        let channel = &self.channels[ch];
        if channel.waiters.is_empty() {
            return;
        }
        if channel.free_at > now {
            return self.arm_bus(ch);
        }
        let mut at = 0;
        for (i, waiter) in channel.waiters.iter().enumerate().skip(1) {
            let best = &channel.waiters[at];
            if (waiter.ready, waiter.number) < (best.ready, best.number) {
                at = i;
            }
        }
        let c = channel.waiters[at].chip as usize;
        self.withdraw(ch, at);
        self.note_change(ch);
        let chip = &mut self.chips[c];
        if chip.phase == Phase::WaitData {
            let bus = chip.last_bus;
            chip.stalled += now - chip.until;
            self.hold_bus(ch, now, bus);
            self.finish(c, now + bus, now + bus, sink);
        } else {
            let slot = std::mem::replace(&mut chip.candidate, NONE);
            let entry = chip.queue.leave(&mut self.pool, slot);
            self.begin(c, entry, now, sink);
        }
        if !self.channels[ch].waiters.is_empty() {
            self.arm_bus(ch);
        }
    }

    #[inline]
    fn hold_bus(&mut self, ch: usize, now: u64, bus: u64) {
        let channel = &mut self.channels[ch];
        channel.free_at = now + bus;
        channel.busy += bus;
    }

    #[inline]
    fn arm_bus(&mut self, ch: usize) {
        let channel = &mut self.channels[ch];
        if !channel.armed {
            channel.armed = true;
            self.events.set(self.chips.len() + ch, channel.free_at);
        }
    }

    /// Starts an operation that has left the queue: chip and bus are free.
    #[inline]
    pub(super) fn begin<S: Sink>(&mut self, c: usize, entry: Entry, now: u64, sink: &mut S) {
        let chip = &mut self.chips[c];
        chip.number = entry.number;
        chip.start = now;
        chip.last_bus = entry.last_bus;
        chip.token = entry.token;
        chip.dependents = entry.dependents;
        chip.notify = entry.notify;
        chip.kind = entry.kind;
        chip.class = entry.class;
        let ch = chip.channel as usize;
        if entry.class == Class::Background {
            self.channels[ch].background_waiting -= 1;
            self.channels[ch].background_started += 1;
        }
        self.stats.operations[entry.kind as usize][entry.class as usize] += 1;
        let bus_end = now + entry.first_bus;
        let array_end = bus_end + entry.array;
        self.hold_bus(ch, now, entry.first_bus);
        if entry.kind == Kind::Read {
            let chip = &mut self.chips[c];
            chip.phase = Phase::Array;
            chip.until = array_end;
            self.events.set(c, array_end);
        } else {
            self.finish(c, bus_end, array_end, sink);
        }
    }

    /// The last phase of the operation on chip `c` starts; it ends at `end`.
    #[inline]
    fn finish<S: Sink>(&mut self, c: usize, last_transfer: u64, end: u64, sink: &mut S) {
        let chip = &mut self.chips[c];
        chip.phase = Phase::Last;
        chip.until = end;
        chip.busy += end - chip.start;
        let channel = &mut self.channels[chip.channel as usize];
        if chip.class != Class::Background {
            channel.pending -= 1;
            channel.host_end = channel.host_end.max(end);
        }
        let times = OpTimes {
            start: Nanos(chip.start),
            last_transfer: Nanos(last_transfer),
            end: Nanos(end),
        };
        sink.timed(chip.token, times);
        chip.armed = chip.notify || chip.dependents != NONE || chip.queue.has_ready();
        if chip.armed {
            self.events.set(c, end);
        }
    }

    /// Remembers that channel `ch` may have become idle or busy.
    #[inline]
    pub(super) fn note_change(&mut self, ch: usize) {
        let channel = &mut self.channels[ch];
        if self.watch && !channel.changed {
            channel.changed = true;
            self.changed.push(ch as u32);
        }
    }

    fn report_idle<S: Sink>(&mut self, now: u64, sink: &mut S) {
        self.changed.sort_unstable();
        for i in 0..self.changed.len() {
            let ch = self.changed[i] as usize;
            let resource = self.chips.len() + self.channels.len() + ch;
            let channel = &mut self.channels[ch];
            channel.changed = false;
            let idle = channel.is_idle(now);
            if idle && !channel.was_idle {
                sink.idle(ChannelId(ch as u32), Nanos(now));
            }
            channel.was_idle = idle;
            // The event may come too early when more work arrives; then it is set once more.
            if !idle && channel.pending == 0 && !channel.watch_armed {
                channel.watch_armed = true;
                self.events
                    .set(resource, channel.host_end.max(channel.free_at));
            }
        }
        self.changed.clear();
    }
}
