//! What is measured of a device besides its requests.

use super::DeviceCore;
use super::latency::LatencyTriple;
use destage_device::map::{FlashMap, HandleCounts, Wear};
use destage_device::nand::{ChipStats, OpKind};
use destage_record::{Backlog, Completion, Counts, Latencies, MeanNs};
use destage_types::{ChannelId, ChipId, Nanos};

/// Time that the parts of a device were busy, from the start of the measured part to the end of
/// the last operation that was submitted. Of an operation that was under way at the start, what came after it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BusyTimes {
    /// Length of that time.
    pub elapsed: Nanos,
    /// Each channel: its bus carried commands or data.
    pub channels: Vec<Nanos>,
    /// Each unit with a queue of its own: held by an operation.
    pub dies: Vec<Nanos>,
}

impl BusyTimes {
    /// Those after `before`.
    fn since(&self, before: &BusyTimes) -> BusyTimes {
        let since = |all: &[Nanos], before: &[Nanos]| {
            let before = before.iter().copied().chain(std::iter::repeat(Nanos::ZERO));
            all.iter().zip(before).map(|(&a, b)| a - b).collect()
        };
        BusyTimes {
            elapsed: self.elapsed.since(before.elapsed),
            channels: since(&self.channels, &before.channels),
            dies: since(&self.dies, &before.dies),
        }
    }
}

/// Figures of requests that only a device can measure.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMeasures {
    /// Response times.
    pub latency: Latencies,
    /// Waiting time of the programs of dirty evictions.
    pub evict_wait: MeanNs,
    /// The same until their end.
    pub evict_turnaround: MeanNs,
    /// Requests left when the last one arrives, if its arrival is known.
    pub backlog: Option<Backlog>,
}

/// The state of flash at the end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlashState {
    /// Erases since the device was new, preconditioning included.
    pub wear: Wear,
    /// Commands given to every chip in the measured part ([`destage_device::nand::Nand::issued`]).
    pub chips: Vec<ChipStats>,
    /// What was counted of each handle in the measured part, and of blocks that belong to none; empty with one handle.
    pub handles: Vec<HandleCounts>,
}

/// Counters of the array when the measured part began.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    chips: Vec<ChipStats>,
    suspensions: [u64; 4],
    busy: BusyTimes,
}

impl<M: ?Sized> DeviceCore<M> {
    /// Busy times from the moment when the device began to work until `elapsed`, which `channel` and
    /// `chip` say.
    fn busy_until(
        &self,
        elapsed: Nanos,
        channel: impl Fn(ChannelId) -> Nanos,
        chip: impl Fn(ChipId) -> Nanos,
    ) -> BusyTimes {
        let (channels, chips) = (0..self.nand.channels(), 0..self.nand.chips());
        BusyTimes {
            elapsed,
            channels: channels.map(ChannelId).map(channel).collect(),
            dies: chips.map(ChipId).map(chip).collect(),
        }
    }

    fn busy_so_far(&self) -> BusyTimes {
        self.busy_until(
            self.now,
            |channel| self.nand.bus_time_so_far(channel),
            |chip| self.nand.held_so_far(chip),
        )
    }

    /// Busy times of the measured part: once nothing waits up to the end of all work, before that up to now.
    pub(crate) fn busy_times(&self) -> BusyTimes {
        let all = match self.nand.next_event_time() {
            Nanos::NEVER => self.busy_until(
                self.rest(),
                |channel| self.nand.bus_time(channel),
                |chip| self.nand.chip_stats(chip).busy,
            ),
            _ => self.busy_so_far(),
        };
        all.since(&self.before.busy)
    }

    /// When all work that is known ends. Exact once nothing waits.
    pub(crate) fn rest(&self) -> Nanos {
        self.nand.end_of_work().max(self.now)
    }

    /// The counters of the measured part.
    pub(crate) fn traffic(&self) -> Counts {
        let (all, before) = (self.nand.suspensions(), self.before.suspensions);
        let of = |kind: OpKind| all[kind as usize] - before[kind as usize];
        Counts {
            erase_suspensions: of(OpKind::Erase),
            program_suspensions: of(OpKind::Program) + of(OpKind::Copyback),
            ..self.traffic.clone()
        }
    }

    /// Response times and what else only a device has, over the measured part.
    pub fn measures(&self) -> DeviceMeasures {
        let [evict_wait, evict_turnaround] = self.evict_times.map(|time| time.summary());
        DeviceMeasures {
            latency: self.requests.completed.latencies(),
            evict_wait,
            evict_turnaround,
            backlog: self.requests.completed.backlog(),
        }
    }

    /// Response times of the measured part so far.
    pub(crate) fn response_times(&self) -> &LatencyTriple {
        self.assert_observable();
        self.requests.completed.times()
    }

    /// Keeps completed requests from now on.
    pub fn keep_completions(&mut self) {
        self.assert_observable();
        self.requests.completed.keep();
    }

    /// Moves the requests that were completed since the last call to `out`, if they are kept.
    pub fn take_completions(&mut self, out: &mut Vec<Completion>) {
        if let Some(kept) = self.requests.completed.kept() {
            out.append(kept);
        }
    }

    /// Commands given to every chip in the measured part.
    fn chips(&self) -> Vec<ChipStats> {
        let start = ChipStats::default();
        let before = self.before.chips.iter().chain(std::iter::repeat(&start));
        let issued = self.nand.issued();
        let chips = issued.iter().zip(before);
        chips.map(|(all, before)| all.since(before)).collect()
    }
}

impl<M: FlashMap + ?Sized> DeviceCore<M> {
    /// The measured part begins now.
    pub(crate) fn start_measuring(&mut self) {
        self.traffic = Counts::default();
        self.map.reset_handle_counts();
        self.evict_times = Default::default();
        self.before = Before {
            chips: self.nand.issued(),
            suspensions: self.nand.suspensions(),
            busy: self.busy_so_far(),
        };
        self.requests.completed.start_measuring();
        self.measure_timeline();
    }

    /// How worn the flash is, and what it has done in the measured part so far.
    pub(crate) fn flash_state(&self) -> FlashState {
        FlashState {
            wear: self.map.wear(),
            chips: self.chips(),
            handles: self.map.handle_counts().to_vec(),
        }
    }
}
