//! How an operation comes in: it starts at once, or waits in its queue.

use super::*;

impl Nand {
    /// The lane on which `command` may start at once, without an entry, and when: now, or once the bus
    /// is free. That is the common case: a read or program of the host on one plane that waits for
    /// nothing, and a chip and a bus for which nothing waits.
    #[inline(always)]
    fn open_lane(&self, now: u64, command: &FlashCommand) -> Option<(u32, u64)> {
        let number = command.chip.0;
        let lane = &self.lanes[command.chip.index()];
        let reads = command.kind == OpKind::Read;
        // One branch: which of the conditions fails is random.
        let usual = (reads | (command.kind == OpKind::Program))
            & (command.class == Class::Host)
            & command.after.is_none()
            & (command.planes == 1)
            & !command.in_order;
        let bus = &self.channels[lane.channel as usize];
        let early = self.early_grants & !lane.queue.has_blocked() & bus.waiters.is_empty();
        let open = lane.is_free(now) & !lane.queue.has_ready() & ((bus.free_at <= now) | early);
        (usual & open).then_some((number, bus.free_at.max(now)))
    }

    /// The next operation, on channel `ch`: one of the host that waits for nothing.
    #[inline(always)]
    fn next_plain(&mut self, ch: usize, command: &FlashCommand) -> OpStart {
        let number = self.next_number;
        self.next_number += 1;
        self.channels[ch].pending += 1;
        let reads = command.kind == OpKind::Read;
        OpStart {
            op: RunningOp {
                number,
                token: command.token,
                bytes: command.bytes,
                dependents: NONE,
                kind: command.kind,
                class: Class::Host,
                notify: command.notify_end,
                ends_job: false,
            },
            first_bus: self.shared.first_bus(command),
            array: self.shared.array(command),
            last_bus: if reads { command.transfer.0 } else { 0 },
        }
    }

    /// Submits a program at `now` if it may start at once, or its start is known already
    /// ([`Nand::grant_early`]), and says when it runs, for which there is no [`Notice`]. Otherwise
    /// nothing happens: [`Nand::submit`] it.
    ///
    /// # Panics
    /// If something is due at or before `now`, or `command` is not a program of the host without
    /// notice of its end.
    #[inline]
    pub fn program_at_once(&mut self, now: Nanos, command: &FlashCommand) -> Option<OpTimes> {
        let plain = command.kind == OpKind::Program && command.class == Class::Host;
        assert!(plain && !command.notify_end, "a program of the host");
        let open = |open: &OpenEnds| open.is_open(OpKind::Program, Class::Host);
        if self.held || self.open.as_deref().is_some_and(open) {
            return None;
        }
        let now = now.0;
        self.enter(now);
        let (lane, at) = self.open_lane(now, command)?;
        let l = lane as usize;
        let ch = self.lanes[l].channel as usize;
        let start = self.next_plain(ch, command);
        let times = self.run(l, start, true, at);
        if self.watch {
            self.note_change(ch);
            self.report_idle(now);
        }
        times
    }

    /// Submits what may start at once, see [`Nand::open_lane`].
    #[inline(always)]
    pub(super) fn start_at_once(&mut self, now: u64, command: &FlashCommand) -> Option<OpId> {
        let (lane, at) = self.open_lane(now, command)?;
        let l = lane as usize;
        let ch = self.lanes[l].channel as usize;
        let start = self.next_plain(ch, command);
        if let Some(times) = self.run(l, start, true, at) {
            self.tell(command.token, times);
        }
        self.note_change(ch);
        if self.events.peek() == now {
            self.settle(now);
        } else if self.watch {
            self.report_idle(now);
        }
        Some(OpId::new(start.op.number, NONE, lane))
    }

    #[inline(never)]
    pub(super) fn submit_entry<const HELD: bool>(
        &mut self,
        now: u64,
        command: &FlashCommand,
        of_drive: u32,
    ) -> OpId {
        let mut entry = self.entry(now, command);
        if HELD && self.drive.is_some() {
            (entry.plain, entry.of_drive) = (false, of_drive);
        }
        let (number, lane) = (entry.number, entry.lane);
        let ch = self.lanes[lane as usize].channel as usize;
        match entry.class {
            Class::Background => self.channels[ch].background_waiting += 1,
            _ => self.channels[ch].pending += 1,
        }
        let slot = self.take_in::<HELD>(entry, command.after, command.and_after, now);
        self.note_change(ch);
        if !HELD {
            self.settle_rest(now);
        }
        OpId::new(number, slot, lane)
    }

    /// Starts an operation or puts it in its queue, where it stays for now if work is `HELD`; gives
    /// its place in the pool.
    #[inline]
    pub(super) fn take_in<const HELD: bool>(
        &mut self,
        mut entry: WaitingOp,
        after: Option<OpId>,
        and_after: Option<OpId>,
        now: u64,
    ) -> u32 {
        let l = entry.lane as usize;
        let mut parent = None;
        if after.is_some() {
            parent = after.filter(|&id| self.is_pending(id));
            match parent {
                Some(_) => entry.and_after = and_after,
                None => parent = and_after.filter(|&id| self.is_pending(id)),
            }
        }
        let lane = &self.lanes[l];
        if parent.is_none()
            && !HELD
            && lane.is_free(now)
            && !lane.queue.has_ready()
            && (self.channels[lane.channel as usize].free_at <= now || !entry.on_bus())
            && !(entry.in_order() && lane.queue.holds_marked())
        {
            self.begin(l, entry, now);
            return NONE;
        }
        let slot = self.pool.add(entry);
        let queue = &mut self.lanes[l].queue;
        queue.join(&mut self.pool, slot, parent.is_some());
        if queue.has_host_work() {
            self.host_until[l] = NEVER;
        }
        match parent {
            Some(id) => self.hang_on(id, slot),
            None => self.made_ready(l, now),
        }
        slot
    }
}
