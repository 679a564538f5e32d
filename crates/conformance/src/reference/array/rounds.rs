//! Rounds of an instant: state changes, suspensions, starts without a bus, then one grant for each free bus. They
//! repeat until a round does nothing. (DEVICE_MODEL.md, "Dies and buses")

use super::*;

impl SlowArray {
    pub(super) fn settle(&mut self) {
        if self.held {
            return;
        }
        let pending = self.operations.iter().position(Operation::is_pending);
        self.gone = pending.unwrap_or(self.operations.len());
        loop {
            let changed = self.state_changes();
            if !self.starts() && !changed {
                break;
            }
        }
        self.happened.clear();
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

    /// All state changes that are due when the round begins, by die. Were there any?
    pub fn state_changes(&mut self) -> bool {
        let is_due = |op: &Operation| op.at == Progress::Runs(self.now) && !op.waits_for_its_time();
        let due = self.pending().filter(|(_, op)| is_due(op));
        let mut due: Vec<(u32, usize)> = due.map(|(i, op)| (op.lane, i)).collect();
        due.sort_unstable();
        for &(_, i) in &due {
            while self.operations[i].at == Progress::Runs(self.now)
                && !self.operations[i].waits_for_its_time()
            {
                self.end_phase(i);
            }
        }
        !due.is_empty()
    }

    fn end_phase(&mut self, i: usize) {
        let now = self.now;
        let op = &mut self.operations[i];
        op.phase += 1;
        match op.phases.get(op.phase) {
            Some(Phase::Bus(_)) => op.at = Progress::Asks(now),
            Some(Phase::Array(time)) => {
                op.at = Progress::Runs(now + time);
                if op.command.kind == OpKind::Program {
                    self.happened.push((Happened::Transferred, op.number));
                }
            }
            None => self.end(i),
        }
    }

    fn end(&mut self, i: usize) {
        let now = self.now;
        let op = &mut self.operations[i];
        op.at = Progress::Ended;
        if op.open {
            op.end = now;
            self.tell_times(i);
        }
        let op = &self.operations[i];
        let free_since = &mut self.free_since[op.lane as usize];
        *free_since = op.end.max(*free_since);
        self.happened.push((Happened::Ended, op.number));
        if op.command.notify_end || op.command.class == Class::Background {
            self.notices.push(Notice::Ended {
                token: op.command.token,
                at: Nanos(now),
            });
        }
        self.release();
    }

    /// Operations that have nothing to wait for any more enter their queue.
    pub(super) fn release(&mut self) {
        for i in self.gone..self.operations.len() {
            let op = &self.operations[i];
            let waits = self.is_one_pending(&op.after) || self.waits_outside.contains(&op.number);
            if op.at == Progress::Blocked && !waits {
                self.operations[i].at = Progress::Queued(self.now);
            }
        }
    }

    /// What starts, or goes on, in a round after its state changes. Did anything?
    pub fn starts(&mut self) -> bool {
        let gave_way = self.give_way();
        let started = self.start_without_bus();
        let granted = self.grant_buses();
        gave_way || started || granted
    }

    /// Every die whose turn is an operation that needs no bus starts it. A program of several transfers takes its die
    /// when it asks for the first one (D-2/1).
    fn start_without_bus(&mut self) -> bool {
        let mut started = false;
        for lane in 0..self.chips {
            let Some((since, i)) = self.next_phase(lane) else {
                continue;
            };
            let op = &mut self.operations[i];
            let transfers = op.phases.iter().filter(|phase| phase.is_bus()).count();
            let takes_die = op.command.kind == OpKind::Program && transfers > 1;
            if transfers == 0 {
                self.grant(i);
                started = true;
            } else if takes_die && since <= self.now && op.waits() {
                (op.at, op.since) = (Progress::Asks(since), since);
            }
        }
        started
    }

    /// One grant for every free bus that somebody waits for: to the phase that could begin first, then to the
    /// operation that was submitted first.
    fn grant_buses(&mut self) -> bool {
        let mut granted = false;
        for channel in 0..self.channels {
            if !self.bus_is_free(channel) {
                continue;
            }
            let lanes = (channel..self.chips).step_by(self.channels as usize);
            let wanted = lanes.filter_map(|lane| self.next_phase(lane));
            let wanted = wanted.filter(|&(since, _)| since <= self.now);
            if let Some((_, i)) = wanted.min() {
                self.grant(i);
                granted = true;
            }
        }
        granted
    }

    /// The phase begins.
    fn grant(&mut self, i: usize) {
        let now = self.now;
        let (open, late) = self.is_open(&self.operations[i].command);
        let is_first = self.operations[i].start.is_none();
        if is_first {
            self.draw_retries(i);
        }
        let op = &mut self.operations[i];
        let (c, phase) = (op.command, op.phases[op.phase]);
        op.at = Progress::Runs(now + phase.time());
        op.last_transfer = now;
        if phase.is_bus() {
            op.last_transfer = now + phase.time();
            let channel = (c.chip.0 % self.channels) as usize;
            self.transfers[channel].push([now, now + phase.time()]);
        }
        if is_first {
            (op.start, op.since) = (Some(now), now);
            (op.open, op.late) = (open, late);
            self.happened.push((Happened::Started, op.number));
            if open && c.token != NO_TOKEN {
                self.notices.push(Notice::Started {
                    token: c.token,
                    start: Nanos(now),
                    last_transfer: Nanos(op.last_transfer),
                });
            }
        }
        if op.end_known() {
            op.end = now + phase.time() + op.later();
            self.tell_times(i);
        }
    }

    /// One draw decides how many steps an array read goes through (D-15).
    fn draw_retries(&mut self, i: usize) {
        let lane = self.operations[i].lane;
        let beside_suspended = self.on_lane(lane).any(|(_, op)| op.is_suspended());
        let op = &mut self.operations[i];
        let none = self.retry.is_empty() && self.retry_suspended.is_empty();
        if none || op.command.kind != OpKind::Read || op.steady {
            return;
        }
        let steps = match beside_suspended {
            true => &self.retry_suspended,
            false => &self.retry,
        };
        let (draw, mut reached, mut more) = (self.draws.real(), 1.0, 0);
        for (share, time) in steps {
            reached *= share;
            if draw >= reached {
                break;
            }
            more += time;
        }
        for phase in &mut op.phases {
            if let Phase::Array(time) = phase {
                *time += more;
            }
        }
    }

    fn tell_times(&mut self, i: usize) {
        let op = &self.operations[i];
        let times = OpTimes {
            start: Nanos(op.start.expect("it has started")),
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
            let here = op.command.chip.0 % self.channels == channel;
            let on_bus = matches!(op.at, Progress::Runs(until) if until > self.now);
            here && on_bus && op.phases[op.phase].is_bus()
        })
    }

    /// Operations that are not over, and few that are, with their places.
    pub(super) fn pending(&self) -> impl Iterator<Item = (usize, &Operation)> {
        let all = self.operations.iter().enumerate();
        all.skip(self.gone)
    }
}
