//! Rounds of an instant.

use super::*;

impl Reference {
    pub(super) fn settle<S: Sink>(&mut self, sink: &mut S) {
        if self.held {
            return;
        }
        loop {
            let changed = self.state_changes(sink);
            let started = self.start_without_bus(sink);
            let granted = self.grant_buses(sink);
            if !changed && !started && !granted {
                break;
            }
        }
        for channel in 0..self.channels {
            let idle = self.is_channel_idle(ChannelId(channel));
            let was = std::mem::replace(&mut self.was_idle[channel as usize], idle);
            if self.watch_idle && idle && !was {
                sink.idle(ChannelId(channel), Nanos(self.now));
            }
        }
    }

    /// All state changes that are due when the round begins.
    fn state_changes<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut due = Vec::new();
        for lane in 0..self.chips * self.dies {
            for (i, op) in self.operations.iter().enumerate() {
                let array_done = matches!(op.at, At::CommandThenArray { array, .. }
                    if array == self.now);
                if self.lane(&op.command) == lane && (array_done || op.at == At::DataOut(self.now))
                {
                    due.push(i);
                }
            }
        }
        for &i in &due {
            let op = self.operations[i];
            let array_done = matches!(op.at, At::CommandThenArray { .. });
            if array_done && op.command.kind == Kind::Read {
                self.operations[i].at = At::WaitsForBus(self.now);
                continue;
            }
            self.operations[i].at = At::Ended;
            let lane = self.lane(&op.command);
            let free_since = &mut self.free_since[lane as usize];
            *free_since = op.end.max(*free_since);
            if op.command.notify_end || op.command.class == Class::Background {
                sink.ended(op.command.token, Nanos(self.now));
            }
            self.release();
        }
        !due.is_empty()
    }

    /// Operations that have nothing to wait for any more enter their queue.
    pub(super) fn release(&mut self) {
        for i in 0..self.operations.len() {
            let op = &self.operations[i];
            if op.at == At::Blocked && !self.is_one_pending(op.after) {
                self.operations[i].at = At::Queued(self.now);
            }
        }
    }

    /// Every die whose turn is an operation that needs no bus starts it.
    fn start_without_bus<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut started = false;
        for lane in 0..self.chips * self.dies {
            if let Some((_, i)) = self.next_phase(lane).filter(|n| !self.needs_bus(n.1)) {
                self.grant(i, sink);
                started = true;
            }
        }
        started
    }

    fn needs_bus(&self, i: usize) -> bool {
        let copies = self.operations[i].command.kind == Kind::Copyback;
        !copies || self.timing.t_cmd_copyback > Nanos::ZERO
    }

    /// One grant for every free bus that somebody waits for.
    fn grant_buses<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut granted = false;
        for channel in 0..self.channels {
            if !self.bus_is_free(channel) {
                continue;
            }
            let mut best: Option<(u64, usize)> = None;
            for lane in (channel..self.chips * self.dies).step_by(self.channels as usize) {
                let wanted = self.next_phase(lane).filter(|n| self.needs_bus(n.1));
                let Some(request) = wanted else { continue };
                if best.is_none_or(|b| request < b) {
                    best = Some(request);
                }
            }
            if let Some((_, i)) = best {
                self.grant(i, sink);
                granted = true;
            }
        }
        granted
    }

    fn grant<S: Sink>(&mut self, i: usize, sink: &mut S) {
        let (timing, now) = (self.timing, self.now);
        let op = &mut self.operations[i];
        let c = op.command;
        let bus;
        if let At::WaitsForBus(_) = op.at {
            bus = c.transfer.0;
            op.at = At::DataOut(now + bus);
            (op.last_transfer, op.end) = (now + bus, now + bus);
        } else {
            let (first, array) = phases(&timing, &c);
            bus = first;
            op.start = now;
            op.at = At::CommandThenArray {
                bus: now + first,
                array: now + first + array,
            };
            if c.kind != Kind::Read {
                (op.last_transfer, op.end) = (now + first, now + first + array);
            }
        }
        self.bus_time[(c.chip.0 % self.channels) as usize] += bus;
        let op = &self.operations[i];
        if op.end_known() {
            let times = OpTimes {
                start: Nanos(op.start),
                last_transfer: Nanos(op.last_transfer),
                end: Nanos(op.end),
            };
            sink.timed(c.token, times);
        }
    }

    pub(super) fn bus_is_free(&self, channel: u32) -> bool {
        !self.operations.iter().any(|op| {
            let on_bus = match op.at {
                At::CommandThenArray { bus, .. } => bus > self.now,
                At::DataOut(until) => until > self.now,
                _ => false,
            };
            on_bus && op.command.chip.0 % self.channels == channel
        })
    }

    /// A die by its number: chips counted fastest.
    fn lane(&self, command: &Command) -> u32 {
        command.die * self.chips + command.chip.0
    }

    /// The phase a die would begin if all buses were free: since when it could, and of which
    /// operation.
    fn next_phase(&self, lane: u32) -> Option<(u64, usize)> {
        let mine = || {
            let ops = self.operations.iter().enumerate();
            ops.filter(move |(_, op)| self.lane(&op.command) == lane)
        };
        if let Some((i, op)) = mine().find(|(_, op)| op.in_service()) {
            return match op.at {
                At::WaitsForBus(since) => Some((since, i)),
                _ => None,
            };
        }
        let free_since = self.free_since[lane as usize];
        let queued = || mine().filter(|(_, op)| matches!(op.at, At::Queued(_)));
        let kept = queued().find(|(_, op)| op.job.is_some_and(|job| job.kept));
        let (i, op) = kept.or_else(|| {
            queued()
                .filter(|(i, _)| !self.must_wait(*i))
                .min_by_key(|(i, op)| (op.rank(), !self.goes_ahead(&op.command), *i))
        })?;
        match op.at {
            At::Queued(since) => Some((since.max(free_since), i)),
            _ => None,
        }
    }

    fn goes_ahead(&self, command: &Command) -> bool {
        let host_read = command.kind == Kind::Read && command.class == Class::Host;
        self.read_first && host_read && !command.in_order
    }

    /// Is operation `i` a read with the in-order mark, or the first of a job, behind a waiting
    /// program?
    fn must_wait(&self, i: usize) -> bool {
        let op = &self.operations[i];
        let marked = op.command.kind == Kind::Read && op.command.in_order;
        (marked || op.job.is_some_and(|job| job.is_first))
            && self.operations[..i].iter().any(|before| {
                self.lane(&before.command) == self.lane(&op.command)
                    && matches!(before.command.kind, Kind::Program | Kind::Copyback)
                    && matches!(before.command.class, Class::Host | Class::Gc)
                    && before.waits()
            })
    }
}
