//! What the engine tells about its state, all in constant time, and its counters.

use destage_types::{ChannelId, ChipId, Nanos};

use super::engine::{Channel, Chip, Phase};
use super::{Class, Events, Kind, Nand, OpId, OpState};

/// Counters of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Started operations by [`Kind`] and [`Class`].
    pub operations: [[u64; 3]; 3],
    /// Background operations taken back before they started.
    pub cancelled: u64,
}

impl Stats {
    /// Started operations of one kind, all classes.
    pub fn of_kind(&self, kind: Kind) -> u64 {
        self.operations[kind as usize].iter().sum()
    }

    /// Started operations of one class, all kinds.
    pub fn of_class(&self, class: Class) -> u64 {
        self.operations.iter().map(|by| by[class as usize]).sum()
    }
}

/// Time counters of a chip. They grow when the last phase of an operation starts, by the whole
/// operation, and so may run ahead of the clock by the rest of one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChipStats {
    /// Time held, from the start of a first phase to the end of a last one.
    pub busy: Nanos,
    /// Share of `busy` in which a read waited for the bus with its data ready.
    pub stalled: Nanos,
}

impl Chip {
    #[inline]
    pub(super) fn is_free(&self, now: u64) -> bool {
        match self.phase {
            Phase::Free => true,
            Phase::Last => !self.armed && self.until <= now,
            _ => false,
        }
    }

    fn residual(&self, now: u64) -> u64 {
        match self.phase {
            Phase::Free => 0,
            Phase::Array => self.until - now + self.last_bus,
            Phase::WaitData => self.last_bus,
            Phase::Last => self.until.saturating_sub(now),
        }
    }
}

impl Channel {
    #[inline]
    pub(super) fn is_idle(&self, now: u64) -> bool {
        self.pending == 0 && self.host_end <= now && self.free_at <= now
    }
}

/// State at [`Nand::now`].
impl<E: Events> Nand<E> {
    /// The clock: latest time given to the engine or settled by it.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.clock)
    }

    /// Number of chips.
    pub fn chips(&self) -> u32 {
        self.chips.len() as u32
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
            OpState::Gone
        }
    }

    /// Host reads of a chip: waiting (also for another operation) and in service. N_r of spec 40.
    #[inline]
    pub fn host_reads(&self, chip: ChipId) -> u32 {
        let at = &self.chips[chip.index()];
        at.queue.host_reads + u32::from(self.serves(at, Kind::Read))
    }

    /// Host programs of a chip: waiting (also for another operation) and in service. N_w of
    /// spec 40.
    #[inline]
    pub fn host_writes(&self, chip: ChipId) -> u32 {
        let at = &self.chips[chip.index()];
        at.queue.host_writes + u32::from(self.serves(at, Kind::Program))
    }

    fn serves(&self, chip: &Chip, kind: Kind) -> bool {
        chip.kind == kind && chip.class == Class::Host && !chip.is_free(self.clock)
    }

    /// Kind and class of the operation a chip runs.
    pub fn in_service(&self, chip: ChipId) -> Option<(Kind, Class)> {
        let at = &self.chips[chip.index()];
        (!at.is_free(self.clock)).then_some((at.kind, at.class))
    }

    /// Time until the operation in service ends if the bus is granted to it at once, 0 without
    /// one. Exact once its last phase has started and for programs and erases, otherwise a lower
    /// bound.
    #[inline]
    pub fn residual(&self, chip: ChipId) -> Nanos {
        Nanos(self.chips[chip.index()].residual(self.clock))
    }

    /// Time until the chip has done the operation in service and all waiting ones of `lowest`
    /// class or above, each phase following at once on the one before.
    ///
    /// Counts the chip's own operations only. Waiting for a bus that other chips use, and for
    /// operations elsewhere ([`super::Command::after`]), is not in it; without both, and with
    /// nothing else arriving, it is the exact drain time (the `cqct=oracle` of spec 40).
    #[inline]
    pub fn drain_time(&self, chip: ChipId, lowest: Class) -> Nanos {
        let at = &self.chips[chip.index()];
        let waiting: u64 = at.queue.time[..=lowest as usize].iter().sum();
        Nanos(at.residual(self.clock) + waiting)
    }

    /// Idle in the sense of spec 20 C: no host or GC operation waiting or in service on any chip
    /// of the channel, and its bus free. Background operations do not count.
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

    /// Counters of the array.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Time counters of a chip.
    pub fn chip_stats(&self, chip: ChipId) -> ChipStats {
        let at = &self.chips[chip.index()];
        ChipStats {
            busy: Nanos(at.busy),
            stalled: Nanos(at.stalled),
        }
    }

    /// Time the bus of a channel carried commands or data, the present transfer in full.
    pub fn bus_time(&self, channel: ChannelId) -> Nanos {
        Nanos(self.channels[channel.index()].busy)
    }

    /// Room for waiting operations the engine has made so far: the longest backlog seen.
    pub fn backlog_capacity(&self) -> usize {
        self.pool.len()
    }
}
