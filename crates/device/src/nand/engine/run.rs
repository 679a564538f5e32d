//! Rounds of an instant: state changes, then grants.

use super::*;

impl Nand {
    /// Settles the instant `now`, at which something is due.
    pub(super) fn settle(&mut self, now: u64) {
        if self.open.is_some() {
            return self.settle_open(now);
        }
        while let Some(resource) = self.events.pop_due(now) {
            let alone = self.events.peek() != now;
            // All changes of the instant come before its grants: a bus that becomes free and a die that
            // becomes ready for it must see each other.
            if !alone || !self.alone(resource, now) {
                self.change(resource, now);
                self.changes(now);
                self.grants(now);
            }
        }
        if self.watch {
            self.report_idle(now);
        }
    }

    /// A round in which only `resource` has an event, and only its own lane and channel change:
    /// nothing has to be collected before the bus is granted. False if it is another round, of
    /// which nothing has happened then.
    #[inline(always)]
    fn alone(&mut self, resource: usize, now: u64) -> bool {
        let lanes = self.lanes.len();
        if resource >= lanes {
            let ch = resource - lanes;
            if ch >= self.channels.len() {
                return false;
            }
            self.channels[ch].armed = false;
            self.grant_bus(ch, now);
            return true;
        }
        let lane = &mut self.lanes[resource];
        let ch = lane.channel as usize;
        let bus = &mut self.channels[ch];
        let at = bus.free_at.max(now);
        let granted = at == now || self.early_grants;
        if !granted || !bus.waiters.is_empty() || lane.op.dependents != NONE {
            return false;
        }
        if lane.phase == Phase::Array {
            let (bus, token) = (lane.last_bus, lane.op.token);
            lane.stalled += at - now;
            self.hold_bus(ch, at, bus);
            self.note_change(ch);
            let times = self.finish(resource, at + bus, at + bus);
            self.tell(token, times);
            return true;
        }
        let slot = lane.queue.candidate(&self.pool);
        if slot == NONE || !self.pool[slot].on_bus() {
            return false;
        }
        if at > now {
            // Only a plain one of the host keeps its place until then, and only if nothing in its queue
            // is blocked: all others may give way to what arrives later.
            let entry = &self.pool[slot];
            let keeps = entry.plain && entry.class == Class::Host && !entry.in_order();
            if !keeps || lane.queue.has_blocked() {
                return false;
            }
        }
        lane.phase = Phase::Free;
        lane.armed = false;
        bus.background_started -= u32::from(lane.op.class == Class::Background);
        if lane.op.notify {
            self.notices.push(Notice::Ended {
                token: lane.op.token,
                at: Nanos(now),
            });
        }
        let entry = lane.queue.leave(&mut self.pool, slot);
        self.note_change(ch);
        self.begin(resource, entry, at);
        true
    }

    /// Settles `now` after work came in.
    #[inline]
    pub(super) fn settle_rest(&mut self, now: u64) {
        if self.open.is_some() {
            self.review(now);
        }
        self.grants(now);
        if self.events.peek() == now {
            self.settle(now);
        } else if self.watch {
            self.report_idle(now);
        }
    }

    /// [`Nand::settle_rest`], unless all work waits.
    pub(super) fn settle_unheld(&mut self, now: u64) {
        if !self.held {
            self.settle_rest(now);
        }
    }

    #[inline]
    fn changes(&mut self, now: u64) {
        while let Some(resource) = self.events.pop_due(now) {
            self.change(resource, now);
        }
    }

    #[inline]
    pub(super) fn change(&mut self, resource: usize, now: u64) {
        let (lanes, channels) = (self.lanes.len(), self.channels.len());
        if resource < lanes {
            self.lane_event(resource, now);
        } else if resource < lanes + channels {
            self.channels[resource - lanes].armed = false;
            self.touched.add(resource - lanes);
        } else {
            self.channels[resource - lanes - channels].watch_armed = false;
            self.note_change(resource - lanes - channels);
        }
    }

    #[inline]
    fn lane_event(&mut self, l: usize, now: u64) {
        let lane = &mut self.lanes[l];
        if lane.phase == Phase::Array {
            lane.phase = Phase::WaitData;
            let waiter = Waiter {
                ready: now,
                number: lane.op.number,
                lane: l as u32,
            };
            let ch = lane.channel as usize;
            return self.queue_for_bus(ch, waiter);
        }
        debug_assert!(lane.phase == Phase::Last, "only two phases raise events");
        lane.phase = Phase::Free;
        lane.armed = false;
        let dependents = std::mem::replace(&mut lane.op.dependents, NONE);
        if lane.op.class == Class::Background {
            self.channels[lane.channel as usize].background_started -= 1;
        }
        if lane.op.notify {
            self.notices.push(Notice::Ended {
                token: lane.op.token,
                at: Nanos(now),
            });
        }
        if dependents != NONE {
            self.release_all(dependents, now);
        }
        if self.lanes[l].queue.has_ready() {
            self.refresh(l);
        }
    }

    #[inline]
    pub(super) fn grants(&mut self, now: u64) {
        if !self.startable.is_empty() {
            self.start_without_bus(now);
        }
        // A grant touches no channel: what it causes at this instant belongs to the next round.
        for word in 0..self.touched.words() {
            while let Some(ch) = self.touched.take_from(word) {
                self.grant_bus(ch, now);
            }
        }
    }

    /// Lanes whose candidate needs no bus start it, in ascending order.
    #[cold]
    fn start_without_bus(&mut self, now: u64) {
        self.startable.sort_unstable();
        for i in 0..self.startable.len() {
            let l = self.startable[i] as usize;
            let lane = &mut self.lanes[l];
            // It may have got another candidate since, or be listed twice.
            if lane.candidate == NONE || lane.waiter != NONE {
                continue;
            }
            let slot = std::mem::replace(&mut lane.candidate, NONE);
            let entry = lane.queue.leave(&mut self.pool, slot);
            self.note_change(self.lanes[l].channel as usize);
            self.begin(l, entry, now);
        }
        self.startable.clear();
    }

    #[inline]
    fn grant_bus(&mut self, ch: usize, now: u64) {
        let channel = &self.channels[ch];
        if channel.waiters.is_empty() {
            return;
        }
        if channel.free_at > now {
            return self.arm_bus(ch);
        }
        // The longest wait first, then the order of submission, whatever order the waiters are kept in.
        let (mut at, mut first) = (0, channel.waiters[0].key());
        for (i, waiter) in channel.waiters.iter().enumerate().skip(1) {
            let key = waiter.key();
            (at, first) = if key < first { (i, key) } else { (at, first) };
        }
        let l = channel.waiters[at].lane as usize;
        self.withdraw(ch, at);
        self.note_change(ch);
        if self.drive.is_some() && self.next_grant(ch, l, now) {
            return self.arm_if_wanted(ch);
        }
        let lane = &mut self.lanes[l];
        if lane.phase == Phase::WaitData {
            let (bus, token) = (lane.last_bus, lane.op.token);
            lane.stalled += now - lane.until;
            self.hold_bus(ch, now, bus);
            let times = self.finish(l, now + bus, now + bus);
            if self.open.is_some() {
                self.keep_in_view(l);
            }
            self.tell(token, times);
        } else {
            let slot = std::mem::replace(&mut lane.candidate, NONE);
            let entry = lane.queue.leave(&mut self.pool, slot);
            self.begin(l, entry, now);
        }
        self.arm_if_wanted(ch);
    }

    /// Sets an event at the end of the transfer on a bus if something waits for the bus.
    #[inline]
    fn arm_if_wanted(&mut self, ch: usize) {
        if !self.channels[ch].waiters.is_empty() {
            self.arm_bus(ch);
        }
    }

    #[inline]
    pub(super) fn hold_bus(&mut self, ch: usize, now: u64, bus: u64) {
        let channel = &mut self.channels[ch];
        channel.free_at = now + bus;
        channel.busy += bus;
    }

    #[inline]
    fn arm_bus(&mut self, ch: usize) {
        let channel = &mut self.channels[ch];
        if !channel.armed {
            channel.armed = true;
            self.events.set(self.lanes.len() + ch, channel.free_at);
        }
    }

    /// Starts an operation that has left the queue: lane and, where it needs it, bus are free.
    #[inline]
    pub(super) fn begin(&mut self, l: usize, mut entry: WaitingOp, now: u64) {
        if !entry.plain {
            self.begin_special(l, &mut entry);
        }
        let on_bus = entry.plain || entry.on_bus();
        if let Some(times) = self.run(l, entry.start(), on_bus, now) {
            self.tell(entry.token, times);
        }
    }

    /// The operation runs from `now` on. Gives its times if they are known by that.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        l: usize,
        start: OpStart,
        on_bus: bool,
        now: u64,
    ) -> Option<OpTimes> {
        let lane = &mut self.lanes[l];
        let op = start.op;
        (lane.op, lane.start, lane.last_bus) = (op, now, start.last_bus);
        lane.started[op.kind as usize] += 1;
        lane.bytes[usize::from(op.kind != OpKind::Read)] += u64::from(op.bytes);
        let ch = lane.channel as usize;
        if op.class == Class::Background {
            self.channels[ch].background_waiting -= 1;
            self.channels[ch].background_started += 1;
        }
        let bus_end = now + start.first_bus;
        let array_end = bus_end + start.array;
        if on_bus {
            self.hold_bus(ch, now, start.first_bus);
        }
        if let Some(activities) = &mut self.activities {
            let bus_end = if on_bus { bus_end } else { now };
            activities.begin(l, &op, now, bus_end, array_end);
        }
        if op.kind == OpKind::Read {
            let lane = &mut self.lanes[l];
            lane.phase = Phase::Array;
            lane.until = array_end;
            if op.class == Class::Host {
                self.host_until[l] = NEVER;
            }
            self.events.set(l, array_end);
        } else if let Some(open) = &self.open
            && (open.is_open(op.kind, op.class)
                || self
                    .drive
                    .as_ref()
                    .is_some_and(|drive| drive.is_open(l, op.kind)))
        {
            self.start_open(l, bus_end, start.array);
        } else {
            return Some(self.finish(l, bus_end, array_end));
        }
        None
    }

    /// Notes when the operation called `token` runs. Drives want to know ends alone.
    #[inline]
    pub(super) fn tell(&mut self, token: u32, times: OpTimes) {
        if token != NO_TOKEN && self.drive.is_none() {
            self.notices.push(Notice::Timed { token, times });
        }
    }

    /// The last phase of the operation on lane `l` starts; it ends at `end`.
    #[inline]
    pub(super) fn finish(&mut self, l: usize, last_transfer: u64, end: u64) -> OpTimes {
        let times = self.count_to_end(l, last_transfer, end);
        let lane = &mut self.lanes[l];
        lane.armed = lane.op.notify || lane.op.dependents != NONE || lane.queue.has_ready();
        if lane.armed {
            self.events.set(l, end);
        }
        times
    }

    /// [`Nand::finish`] without an event at the end.
    #[inline]
    pub(super) fn count_to_end(&mut self, l: usize, last_transfer: u64, end: u64) -> OpTimes {
        let lane = &mut self.lanes[l];
        lane.phase = Phase::Last;
        lane.until = end;
        lane.busy += end - lane.start;
        if lane.op.class == Class::Host && matches!(lane.op.kind, OpKind::Read | OpKind::Program) {
            self.host_until[l] = if lane.queue.has_host_work() {
                NEVER
            } else {
                end
            };
        }
        let channel = &mut self.channels[lane.channel as usize];
        if lane.op.class != Class::Background {
            channel.pending -= 1;
            channel.host_end = channel.host_end.max(end);
        }
        if lane.op.ends_job {
            lane.jobs.close(end);
            self.jobs.close(end);
        }
        if let Some(activities) = &mut self.activities {
            activities.end(l, end, lane.last_bus);
        }
        OpTimes {
            start: Nanos(lane.start),
            last_transfer: Nanos(last_transfer),
            end: Nanos(end),
        }
    }

    /// Remembers that channel `ch` may have become idle or busy.
    #[inline]
    pub(super) fn note_change(&mut self, ch: usize) {
        if self.watch {
            self.changed.add(ch);
        }
    }

    pub(super) fn report_idle(&mut self, now: u64) {
        for word in 0..self.changed.words() {
            while let Some(ch) = self.changed.take_from(word) {
                self.report_idle_channel(ch, now);
            }
        }
    }

    #[inline]
    fn report_idle_channel(&mut self, ch: usize, now: u64) {
        let resource = self.lanes.len() + self.channels.len() + ch;
        let channel = &mut self.channels[ch];
        let idle = channel.is_idle(now);
        if idle && !channel.was_idle {
            self.notices.push(Notice::Idle {
                channel: ChannelId(ch as u32),
                at: Nanos(now),
            });
        }
        channel.was_idle = idle;
        // The event may come too early when more work arrives; then it is set once more.
        if !idle && channel.pending == 0 && !channel.watch_armed {
            channel.watch_armed = true;
            self.events
                .set(resource, channel.host_end.max(channel.free_at));
        }
    }
}
