//! The state of the engine, all in constant time, and its counters.

use destage_types::{ChannelId, ChipId, Nanos};

use super::engine::{Channel, Lane, Phase, SuspendedOp};
use super::{Class, Nand, OpId, OpKind, OpState};

impl Lane {
    #[inline]
    pub(super) fn is_free(&self, now: u64) -> bool {
        // A free lane is not armed, and became free in the past.
        matches!(self.phase, Phase::Free | Phase::Last) & !self.armed & (self.until <= now)
    }

    /// Does its operation still wait for a bus that was granted ahead of time?
    #[inline]
    pub(super) fn awaits_granted_bus(&self, now: u64) -> bool {
        self.start > now
    }

    /// Does it run an operation, which is not about to be suspended?
    #[inline]
    fn is_running(&self, now: u64) -> bool {
        !self.is_free(now) & (self.phase != Phase::Suspending)
    }

    fn residual(&self, now: u64) -> u64 {
        if self.awaits_granted_bus(now) {
            return 0;
        }
        match self.phase {
            Phase::Free => 0,
            Phase::Array | Phase::Moving => self.until - now + self.last_bus,
            Phase::WaitData | Phase::WaitTime => self.last_bus,
            Phase::OpenArray | Phase::Suspending => self.until - now,
            Phase::Last => {
                let rest = self.until.saturating_sub(now);
                // Its data may still wait for the bus.
                match self.op.kind {
                    OpKind::Read => rest.min(self.last_bus),
                    _ => rest,
                }
            }
        }
    }

    /// Time of the operation that still waits for a bus granted ahead of time.
    fn granted_time(&self, now: u64) -> u64 {
        match (self.awaits_granted_bus(now), self.phase) {
            (false, _) => 0,
            (true, Phase::Array) => self.until - self.start + self.last_bus,
            (true, _) => self.until - self.start,
        }
    }

    /// End of the operation it runs, if the bus is granted to it at once.
    fn end(&self, now: u64) -> u64 {
        match self.phase {
            Phase::Free => 0,
            Phase::Array | Phase::Moving => self.until + self.last_bus,
            Phase::WaitData | Phase::WaitTime => now + self.last_bus,
            Phase::Last | Phase::OpenArray | Phase::Suspending => self.until,
        }
    }
}

impl Channel {
    #[inline]
    pub(super) fn is_idle(&self, now: u64) -> bool {
        (self.pending == 0) & (self.host_end <= now) & (self.free_at <= now)
    }
}

/// State at [`Nand::now`].
impl Nand {
    /// The clock: latest time given to the engine or settled by it.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.clock)
    }

    /// Number of chips.
    pub fn chips(&self) -> u32 {
        self.lanes.len() as u32
    }

    #[inline]
    pub(super) fn lane_of(&self, chip: ChipId) -> &Lane {
        &self.lanes[chip.index()]
    }

    /// Number of channels.
    pub fn channels(&self) -> u32 {
        self.channels.len() as u32
    }

    /// How far an operation is.
    pub fn state(&self, id: OpId) -> OpState {
        if self.pool.holds(id) {
            OpState::Waiting
        } else if self.runs(id) {
            OpState::Started
        } else {
            OpState::Finished
        }
    }

    /// Host reads of a chip: waiting (also for another operation) and in service. N_r of ECR.
    #[inline]
    pub fn host_reads(&self, chip: ChipId) -> u32 {
        let lane = self.lane_of(chip);
        lane.queue.host_reads + u32::from(self.serves(lane, OpKind::Read))
    }

    /// Host programs of a chip: waiting (also for another operation), suspended and in service. N_w
    /// of ECR. A multi-plane program is one.
    #[inline]
    pub fn host_writes(&self, chip: ChipId) -> u32 {
        let lane = self.lane_of(chip);
        let serves = u32::from(self.serves(lane, OpKind::Program));
        let suspended = self.suspended_on(chip);
        let program =
            suspended.filter(|s| s.op.kind == OpKind::Program && s.op.class == Class::Host);
        lane.queue.host_writes + serves + u32::from(program.is_some())
    }

    /// The operation of a chip that is suspended.
    #[inline]
    fn suspended_on(&self, chip: ChipId) -> Option<&SuspendedOp> {
        let suspends = self.lane_of(chip).suspended;
        suspends.then(|| self.suspended(chip.index())).flatten()
    }

    /// Which of `count` chips from `first` on, at most 64, have host reads or programs, waiting or
    /// in service: the chip after `first` is bit 1.
    #[inline]
    pub fn with_host_work(&self, first: ChipId, count: u32) -> u64 {
        assert!(count <= u64::BITS, "a chip has a bit");
        let first = first.index();
        let mut bits = 0;
        // Without branches: which are busy is random.
        for (i, &until) in self.host_until[first..first + count as usize]
            .iter()
            .enumerate()
        {
            bits |= u64::from(until > self.clock) << i;
        }
        debug_assert!(
            (0..count).all(|i| {
                let chip = ChipId(first as u32 + i);
                let work = self.host_reads(chip) + self.host_writes(chip);
                (work > 0) == (bits >> i & 1 == 1)
            }),
            "what is noted is what is so"
        );
        bits
    }

    /// Has the chip nothing to do, of any class: no operation waits or is in service? A suspended
    /// operation has a read before it.
    pub fn is_chip_idle(&self, chip: ChipId) -> bool {
        let lane = self.lane_of(chip);
        lane.queue.is_empty() && lane.is_free(self.clock)
    }

    #[inline]
    fn serves(&self, lane: &Lane, kind: OpKind) -> bool {
        lane.op.kind == kind && lane.op.class == Class::Host && lane.is_running(self.clock)
    }

    /// Kind and class of the operation a chip runs.
    pub fn in_service(&self, chip: ChipId) -> Option<(OpKind, Class)> {
        let (lane, now) = (self.lane_of(chip), self.clock);
        let serves = lane.is_running(now) && !lane.awaits_granted_bus(now);
        serves.then_some((lane.op.kind, lane.op.class))
    }

    /// Time until the operation in service ends if the bus is granted to it at once, 0 without
    /// one. Exact once its last phase has started and for programs and erases, otherwise a lower
    /// bound.
    #[inline]
    pub fn residual(&self, chip: ChipId) -> Nanos {
        Nanos(self.lane_of(chip).residual(self.clock))
    }

    /// End of the last operation of all chips, exact once nothing waits.
    pub fn end_of_work(&self) -> Nanos {
        let ends = self.lanes.iter().map(|lane| lane.end(self.clock));
        Nanos(ends.fold(self.clock, u64::max))
    }

    /// Time until the chip has done the operation in service and all waiting ones of `lowest`
    /// class or above, each phase following at once on the one before.
    ///
    /// Counts the chip's own operations only. Waiting for a bus that other chips use, and for
    /// operations elsewhere ([`super::FlashCommand::after`]), is not in it; without both, and with
    /// nothing else arriving, it is the exact drain time (the `cqct=oracle` of `ecr`). A suspended
    /// operation counts with its rest, and the time that resuming will add is counted as if no read
    /// were marked [`super::FlashCommand::in_order`]. With a penalty for resuming this looks at all
    /// that waits.
    #[inline]
    pub fn drain_time(&self, chip: ChipId, lowest: Class) -> Nanos {
        let lane = self.lane_of(chip);
        let waiting: u64 = lane.queue.time[..=lowest as usize].iter().sum();
        let plain = lane.residual(self.clock) + lane.granted_time(self.clock) + waiting;
        if self.open.is_none() {
            return Nanos(plain);
        }
        let suspended = self.suspended(chip.index()).map_or(0, |op| op.left);
        Nanos(plain + suspended + self.resumes_to_come(chip.index()))
    }

    /// Is the chip in GC state: from the submission of a job, foreground or background, to its end
    /// (GC-1)?
    #[inline]
    pub fn in_gc(&self, chip: ChipId) -> bool {
        self.lane_of(chip).jobs.is_busy(self.clock)
    }

    /// Is any chip in GC state?
    #[inline]
    pub fn any_in_gc(&self) -> bool {
        self.jobs.is_busy(self.clock)
    }

    /// Rest of the operations of all collections of a chip in GC state, in service, suspended and
    /// waiting, without any wait: what a running or scheduled job puts in place of S_i * T_gc in
    /// Eq. 1 of ECR.
    #[inline]
    pub fn gc_remaining(&self, chip: ChipId) -> Option<Nanos> {
        self.in_gc(chip).then(|| self.collection_time(chip))
    }

    /// The same, whatever state the chip is in.
    pub fn collection_time(&self, chip: ChipId) -> Nanos {
        let lane = self.lane_of(chip);
        let serves = lane.op.class.collects() && lane.is_running(self.clock);
        let rest = if serves { lane.residual(self.clock) } else { 0 };
        let waiting = &lane.queue.time;
        let suspended = self
            .suspended_on(chip)
            .filter(|suspended| suspended.op.class.collects());
        let left = suspended.map_or(0, |op| op.left);
        Nanos(rest + left + waiting[Class::Gc as usize] + waiting[Class::BackgroundGc as usize])
    }

    /// Idle in the sense of Prober 3.4: no host or GC operation, background GC included, waiting or
    /// in service on any chip of the channel, and its bus free. Background operations do not count.
    #[inline]
    pub fn is_channel_idle(&self, channel: ChannelId) -> bool {
        self.channels[channel.index()].is_idle(self.clock)
    }

    /// Background operations of a channel: (waiting, started and not ended).
    #[inline]
    pub fn background(&self, channel: ChannelId) -> (u32, u32) {
        let at = &self.channels[channel.index()];
        (at.background_waiting, at.background_started)
    }

    /// Time the bus of a channel carried commands or data, the present transfer in full.
    pub fn bus_time(&self, channel: ChannelId) -> Nanos {
        Nanos(self.channels[channel.index()].busy)
    }

    /// Room for waiting operations the engine has made so far: for the longest backlog seen, in
    /// which the operations of a job count less than those by themselves.
    pub fn backlog_capacity(&self) -> usize {
        self.pool.len() + self.job_queue.len()
    }
}
