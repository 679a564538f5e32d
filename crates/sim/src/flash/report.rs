//! What a run asks of the flash besides serving requests.

use crate::device::DeviceCore;
use crate::device::completed::Completed;
use crate::device::debt::CollectionDebt;
use crate::device::latency::LatencyTriple;
use destage_device::map::{DeviceFull, Wear};
use destage_device::nand::ChipStats;
use destage_record::{Backlog, Completion, Counts, Latencies, MeanNs};
use destage_types::Nanos;

/// Questions of a run to the flash besides serving requests: figures of the result, and the next event. Those with a body
/// have one answer, that of the device.
pub trait FlashReport {
    /// The device, if there is one.
    fn core(&self) -> Option<&DeviceCore> {
        None
    }

    /// The same, to be changed.
    fn core_mut(&mut self) -> Option<&mut DeviceCore> {
        None
    }

    /// When something happens next without new requests.
    fn next_event(&self) -> Nanos {
        Nanos::NEVER
    }

    /// The measured part begins with the next request.
    fn start_measuring(&mut self) {
        if let Some(core) = self.core_mut() {
            core.start_measuring();
        }
    }

    /// Writes with FUA come, which wait for programs of their pages.
    fn expect_fua(&mut self) {}

    /// What flash adds to the counters in the measured part so far: work beside programming host data, and reads before
    /// background programs that have started.
    fn traffic(&self) -> Counts {
        self.core()
            .map_or_else(Counts::default, DeviceCore::traffic)
    }

    /// The device ran out of space, and what was to be programmed since then is lost.
    fn fault(&self) -> Option<&DeviceFull> {
        self.core()?.full.as_deref()
    }

    /// Mapping units that collection moves for each of the host, as the admission of writes sees it (D-17): in units of 2^-16.
    fn collection_debt(&self) -> u64 {
        let debt = self.core().and_then(|core| core.debt.as_ref());
        debt.map_or(0, CollectionDebt::mean)
    }

    /// Does a request wait for room, which a device that is full never gives?
    fn keeps_request_waiting(&self) -> bool {
        self.core()
            .is_some_and(|core| core.full.is_some() && core.requests.any())
    }

    /// Requests that are complete, where time is kept.
    fn completed(&self) -> Option<&Completed> {
        self.core().map(|core| &core.requests.completed)
    }

    /// The same, to be changed.
    fn completed_mut(&mut self) -> Option<&mut Completed> {
        self.core_mut().map(|core| &mut core.requests.completed)
    }

    /// Do times of the following requests count? Returns whether those before did.
    fn measure(&mut self, on: bool) -> bool {
        let completed = self.completed_mut();
        completed.is_some_and(|completed| completed.measure(on))
    }

    /// The last request arrives at `last`, which is not known elsewhere.
    fn expect_arrivals_until(&mut self, last: Nanos) {
        if let Some(completed) = self.completed_mut() {
            completed.expect_arrivals_until(last);
        }
    }

    /// Response times and what else only a device has, over the measured part.
    fn measures(&self) -> Option<DeviceMeasures> {
        let core = self.core()?;
        let [evict_wait, evict_turnaround] = core.evict_times.map(|time| time.summary());
        let completed = &core.requests.completed;
        Some(DeviceMeasures {
            latency: completed.latencies(),
            evict_wait,
            evict_turnaround,
            backlog: completed.backlog(),
        })
    }

    /// Response times of the measured part so far.
    fn response_times(&self) -> Option<&LatencyTriple> {
        let core = self.core()?;
        core.assert_observable();
        Some(core.requests.completed.times())
    }

    /// How worn the flash is, and what it has done in the measured part so far.
    fn flash_state(&self) -> Option<FlashState> {
        self.core().map(|core| FlashState {
            wear: core.map.wear(),
            chips: core.chips(),
        })
    }

    /// When all work that is known ends, 0 without a device. Exact once nothing waits.
    fn rest(&self) -> Nanos {
        self.core().map_or(Nanos::ZERO, DeviceCore::rest)
    }

    /// Keeps completed requests from now on.
    fn keep_completions(&mut self) {
        if let Some(core) = self.core_mut() {
            core.assert_observable();
            core.requests.completed.keep();
        }
    }

    /// Were requests completed since the last call of [`FlashReport::take_completions`], if they are kept?
    fn has_completions(&self) -> bool {
        self.completed().is_some_and(Completed::has_kept)
    }

    /// Moves the requests that were completed since the last call to `out`.
    fn take_completions(&mut self, out: &mut Vec<Completion>) {
        if let Some(kept) = self.completed_mut().and_then(Completed::kept) {
            out.append(kept);
        }
    }

    /// A request is complete, for the timeline if one is kept.
    fn note_request(&mut self, done: &Completion) {
        if let Some(rows) = self.core_mut().and_then(DeviceCore::timeline_rows) {
            rows.keep_request(done);
        }
    }
}

/// Figures that only a device can measure.
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
}
