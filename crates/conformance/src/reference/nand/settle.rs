//! Rounds of an instant.

use super::*;

impl Reference {
    pub(super) fn settle(&mut self) {
        if self.held {
            return;
        }
        let pending = self.operations.iter().position(Operation::is_pending);
        self.gone = pending.unwrap_or(self.operations.len());
        loop {
            let changed = self.state_changes();
            let gave_way = self.give_way();
            let started = self.start_without_bus();
            let granted = self.grant_buses();
            if !changed && !gave_way && !started && !granted {
                break;
            }
        }
        for channel in 0..self.channels {
            let idle = self.is_channel_idle(ChannelId(channel));
            let was = std::mem::replace(&mut self.was_idle[channel as usize], idle);
            if self.watch_idle && idle && !was {
                self.notices.push(Notice::Idle {
                    channel: ChannelId(channel),
                    at: Nanos(self.now),
                });
            }
        }
    }

    /// All state changes that are due when the round begins.
    fn state_changes(&mut self) -> bool {
        let mut due = Vec::new();
        for (i, op) in self.pending() {
            let array_done = matches!(op.at, Progress::CommandThenArray { array, .. }
                if array == self.now && !op.late);
            if array_done || op.at == Progress::DataOut(self.now) {
                due.push((op.lane, i));
            }
        }
        due.sort_unstable();
        for &(_, i) in &due {
            let op = self.operations[i];
            let array_done = matches!(op.at, Progress::CommandThenArray { .. });
            if array_done && op.command.kind == OpKind::Read {
                self.operations[i].at = Progress::WaitsForBus(self.now);
                continue;
            }
            self.operations[i].at = Progress::Ended;
            if op.open {
                self.operations[i].end = self.now;
                self.tell_times(i);
            }
            let op = self.operations[i];
            let lane = op.lane;
            let free_since = &mut self.free_since[lane as usize];
            *free_since = op.end.max(*free_since);
            if op.command.notify_end || op.command.class == Class::Background {
                self.notices.push(Notice::Ended {
                    token: op.command.token,
                    at: Nanos(self.now),
                });
            }
            self.release();
        }
        !due.is_empty()
    }

    /// Operations that have nothing to wait for any more enter their queue.
    pub(super) fn release(&mut self) {
        for i in self.gone..self.operations.len() {
            let op = &self.operations[i];
            if op.at == Progress::Blocked && !self.is_one_pending(op.after) {
                self.operations[i].at = Progress::Queued(self.now);
            }
        }
    }

    /// Every die whose turn is an operation that needs no bus starts it.
    fn start_without_bus(&mut self) -> bool {
        let mut started = false;
        for lane in 0..self.chips * self.dies {
            if let Some((_, i)) = self.next_phase(lane).filter(|n| !self.needs_bus(n.1)) {
                self.grant(i);
                started = true;
            }
        }
        started
    }

    fn needs_bus(&self, i: usize) -> bool {
        self.operations[i].command.kind != OpKind::Copyback
    }

    /// One grant for every free bus that somebody waits for.
    fn grant_buses(&mut self) -> bool {
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
                self.grant(i);
                granted = true;
            }
        }
        granted
    }

    fn grant(&mut self, i: usize) {
        let (timing, now) = (self.timing, self.now);
        let c = self.operations[i].command;
        let (open, late) = (self.has_open_end(&c), self.comes_late(&c));
        let op = &mut self.operations[i];
        let bus;
        if let Progress::WaitsForBus(_) = op.at {
            bus = c.transfer.0;
            op.at = Progress::DataOut(now + bus);
            (op.last_transfer, op.end) = (now + bus, now + bus);
        } else {
            let (first, array) = phases(&timing, &c);
            bus = first;
            (op.start, op.since) = (now, now);
            (op.open, op.late) = (open, late);
            op.at = Progress::CommandThenArray {
                bus: now + first,
                array: now + first + array,
            };
            if open {
                op.last_transfer = now + first;
                if c.token != NO_TOKEN {
                    self.notices.push(Notice::Started {
                        token: c.token,
                        start: Nanos(now),
                        last_transfer: Nanos(now + first),
                    });
                }
            } else if c.kind != OpKind::Read {
                (op.last_transfer, op.end) = (now + first, now + first + array);
            }
        }
        self.transfers[(c.chip.0 % self.channels) as usize].push([now, now + bus]);
        if self.operations[i].end_known() {
            self.tell_times(i);
        }
    }

    fn tell_times(&mut self, i: usize) {
        let op = &self.operations[i];
        let times = OpTimes {
            start: Nanos(op.start),
            last_transfer: Nanos(op.last_transfer),
            end: Nanos(op.end),
        };
        let token = op.command.token;
        if token != NO_TOKEN {
            self.notices.push(Notice::Timed { token, times });
        }
    }

    pub(super) fn bus_is_free(&self, channel: u32) -> bool {
        !self.pending().any(|(_, op)| {
            let on_bus = match op.at {
                Progress::CommandThenArray { bus, .. } => bus > self.now,
                Progress::DataOut(until) => until > self.now,
                _ => false,
            };
            on_bus && op.command.chip.0 % self.channels == channel
        })
    }

    /// Operations that are not over, and few that are, with their places.
    pub(super) fn pending(&self) -> impl Iterator<Item = (usize, &Operation)> {
        let all = self.operations.iter().enumerate();
        all.skip(self.gone)
    }

    /// The phase a die would begin if all buses were free: since when it could, and of which
    /// operation.
    fn next_phase(&self, lane: u32) -> Option<(u64, usize)> {
        let mine = || self.pending().filter(|(_, op)| op.lane == lane);
        if let Some((i, op)) = mine().find(|(_, op)| op.holds_die()) {
            return match op.at {
                Progress::WaitsForBus(since) => Some((since, i)),
                _ => None,
            };
        }
        // While an operation is suspended its job has to wait.
        let suspended = mine().any(|(_, op)| op.in_service());
        self.next_in_queue(lane, !suspended)
    }

    /// The operation that goes first in the queue of a die, and since when it could; that of the job
    /// that keeps the die only if wanted.
    pub(super) fn next_in_queue(&self, lane: u32, kept: bool) -> Option<(u64, usize)> {
        let mine = || self.pending().filter(|(_, op)| op.lane == lane);
        let free_since = self.free_since[lane as usize];
        let queued = || mine().filter(|(_, op)| matches!(op.at, Progress::Queued(_)));
        let keeps = |op: &Operation| op.job.is_some_and(|job| job.kept);
        let first = queued().find(|(_, op)| kept && keeps(op));
        let (i, op) = first.or_else(|| {
            queued()
                .filter(|(_, op)| !keeps(op))
                .filter(|(i, _)| !self.must_wait(*i))
                .min_by_key(|(i, op)| (op.rank(), !self.goes_ahead(&op.command), *i))
        })?;
        match op.at {
            Progress::Queued(since) => Some((since.max(free_since), i)),
            _ => None,
        }
    }

    pub(super) fn goes_ahead(&self, command: &FlashCommand) -> bool {
        let host_read = command.kind == OpKind::Read && command.class == Class::Host;
        self.read_first && host_read && !command.in_order
    }

    /// Is operation `i` a read with the in-order mark, or the first of a job, behind a waiting
    /// program?
    fn must_wait(&self, i: usize) -> bool {
        let op = &self.operations[i];
        let marked = op.command.kind == OpKind::Read && op.command.in_order;
        (marked || op.job.is_some_and(|job| job.is_first))
            && self.operations[self.gone..i].iter().any(|before| {
                before.lane == op.lane
                    && matches!(before.command.kind, OpKind::Program | OpKind::Copyback)
                    && matches!(before.command.class, Class::Host | Class::Gc)
                    && before.waits()
            })
    }
}
