//! Counters of an array: work done and work given.

use destage_types::{ChannelId, ChipId, Nanos};

use super::engine::{Lane, Phase};
use super::operation::{NONE, WaitingOp};
use super::{Class, Nand, OpKind};

/// Counters of a chip, since the start.
///
/// Times grow when the last phase of an operation starts, by the whole operation, and so may run
/// ahead of the clock by the rest of one operation ([`Nand::grant_early`]: when the bus is granted
/// for it); the others when an operation starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChipStats {
    /// Time held, from the start of a first phase to the end of a last one.
    pub busy: Nanos,
    /// Share of `busy` in which a read waited for the bus with its data ready.
    pub stalled: Nanos,
    /// Pages read, programmed and copied and blocks erased, by [`OpKind`]. One for every plane of a
    /// multi-plane operation, as energy is spent in each.
    pub done: [u64; 4],
    /// Bytes moved over the bus from the chip ([`super::FlashCommand::bytes`]).
    pub bytes_read: u64,
    /// Bytes moved over the bus to the chip.
    pub bytes_programmed: u64,
}

impl ChipStats {
    /// Pages (of an erase: blocks) of one kind.
    pub const fn of(&self, kind: OpKind) -> u64 {
        self.done[kind as usize]
    }

    /// The increments since `earlier`.
    pub fn since(&self, earlier: &ChipStats) -> ChipStats {
        let mut done = self.done;
        done.iter_mut().zip(earlier.done).for_each(|(n, e)| *n -= e);
        ChipStats {
            busy: self.busy - earlier.busy,
            stalled: self.stalled - earlier.stalled,
            done,
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_programmed: self.bytes_programmed - earlier.bytes_programmed,
        }
    }
}

impl Lane {
    /// What has started or has its bus ahead of time, times left out.
    fn done(&self) -> ChipStats {
        ChipStats {
            done: std::array::from_fn(|kind| self.started[kind] + self.more_planes[kind]),
            bytes_read: self.bytes[0],
            bytes_programmed: self.bytes[1],
            ..ChipStats::default()
        }
    }

    /// Time up to `now` for which it ran operations.
    fn held_so_far(&self, now: u64) -> u64 {
        match self.phase {
            // The operation counts in full from the start of its last phase.
            Phase::Free | Phase::Last => self.busy - self.until.saturating_sub(now.max(self.start)),
            Phase::Array
            | Phase::WaitData
            | Phase::WaitTime
            | Phase::OpenArray
            | Phase::Moving
            | Phase::Suspending => self.busy + now.saturating_sub(self.start),
        }
    }
}

impl Nand {
    /// Started operations of one kind; a multi-plane operation is one.
    pub fn started(&self, kind: OpKind) -> u64 {
        let of = |lane: &Lane| {
            // Without one that has its bus, but not yet.
            let granted = lane.op.kind == kind && lane.awaits_granted_bus(self.clock);
            lane.started[kind as usize] - u64::from(granted)
        };
        self.lanes.iter().map(of).sum()
    }

    /// Counters of a chip.
    pub fn chip_stats(&self, chip: ChipId) -> ChipStats {
        let lane = self.lane_of(chip);
        let mut stats = ChipStats {
            busy: Nanos(lane.busy),
            stalled: Nanos(lane.stalled),
            ..lane.done()
        };
        if lane.awaits_granted_bus(self.clock) {
            stats.done[lane.op.kind as usize] -= 1;
            let bytes = u64::from(lane.op.bytes);
            match lane.op.kind {
                OpKind::Read => stats.bytes_read -= bytes,
                _ => stats.bytes_programmed -= bytes,
            }
        }
        stats
    }

    /// Suspensions by [`OpKind`] of what was suspended.
    pub fn suspensions(&self) -> [u64; 4] {
        self.open.as_ref().map_or([0; 4], |open| open.counts)
    }

    /// Time up to now for which a chip was held: [`ChipStats::busy`] without what is still to
    /// come of the operation in service, and with what has passed of it.
    pub fn held_so_far(&self, chip: ChipId) -> Nanos {
        Nanos(self.lane_of(chip).held_so_far(self.clock))
    }

    /// Time up to now for which the bus of a channel carried commands or data: [`Nand::bus_time`]
    /// without what is still to come.
    pub fn bus_time_so_far(&self, channel: ChannelId) -> Nanos {
        let bus = &self.channels[channel.index()];
        // Transfers that are granted ahead of time follow the present one without a gap.
        Nanos(bus.busy - bus.free_at.saturating_sub(self.clock))
    }

    /// Pages, blocks and bytes of all operations submitted since the start, by chip; those of
    /// [`Class::Background`], which may be taken back, once they have started. Times are left out.
    ///
    /// Cost: proportional to the operations that wait.
    pub fn issued(&self) -> Vec<ChipStats> {
        let mut chips: Vec<ChipStats> = self.lanes.iter().map(Lane::done).collect();
        let waiting = self.pool.waiting();
        for entry in waiting.filter(|entry| entry.class != Class::Background) {
            let chip = &mut chips[entry.lane as usize];
            add(chip, entry, 1);
            if entry.run != NONE {
                self.job_queue
                    .each_from(entry.run, |entry, count| add(chip, entry, count));
            }
        }
        chips
    }
}

fn add(chip: &mut ChipStats, entry: &WaitingOp, count: u64) {
    chip.done[entry.kind as usize] += count * u64::from(entry.planes);
    let bytes = count * u64::from(entry.bytes);
    match entry.kind {
        OpKind::Read => chip.bytes_read += bytes,
        _ => chip.bytes_programmed += bytes,
    }
}
