//! Measurements of a device besides the requests, and runs that ask for measurements only.

use super::Engine;
use super::completed::Completed;
use super::latency::{LatencyTriple, MeanTime};
use crate::debt::CollectionDebt;
use crate::flash::{FlashReport, FlashState};
use destage_device::map::{BlockStates, DeviceFull};
use destage_device::nand::{ChipStats, OpKind};
use destage_record::scene::SceneGeometry;
use destage_record::{Completion, Counts, Timeline};
use destage_scheme::FlashCosts;
use destage_types::{ChannelId, ChipId, Nanos};

/// Time that the parts of a device were busy, from the start of the measured part to the end of
/// the last operation that was submitted. Of an operation that was under way at the start, what came after it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BusyTimes {
    /// Length of that time.
    pub elapsed: Nanos,
    /// Each channel: its bus carried commands or data.
    pub channels: Vec<Nanos>,
    /// Each die (chips whose dies do not interleave: each chip): held by an operation.
    pub dies: Vec<Nanos>,
}

impl BusyTimes {
    /// Those after `before`.
    pub(crate) fn since(&self, before: &BusyTimes) -> BusyTimes {
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

impl Engine {
    /// Busy times from the moment when the device began to work until `elapsed`, which `channel` and
    /// `die` say.
    fn busy_until(
        &self,
        elapsed: Nanos,
        channel: impl Fn(ChannelId) -> Nanos,
        die: impl Fn(ChipId, u32) -> Nanos,
    ) -> BusyTimes {
        let die = &die;
        let dies_of = |chip| (0..self.gc.dies).map(move |number| die(ChipId(chip), number));
        BusyTimes {
            elapsed,
            channels: (0..self.nand.channels())
                .map(|number| channel(ChannelId(number)))
                .collect(),
            dies: (0..self.nand.chips()).flat_map(dies_of).collect(),
        }
    }

    /// The measured part begins now.
    pub(super) fn start_measures(&mut self) {
        self.traffic = Counts::default();
        self.reads_before = self.started_reads();
        self.suspensions_before = self.nand.suspensions();
        self.before = self.nand.issued();
        self.busy_before = self.busy_so_far();
        self.in_flight.start_measuring();
        self.measure_timeline();
    }

    fn busy_so_far(&self) -> BusyTimes {
        self.busy_until(
            self.now,
            |channel| self.nand.bus_time_so_far(channel),
            |chip, die| self.nand.held_so_far(chip, die),
        )
    }

    /// Promises that only the result of the run is asked for: not the state of channels, no results
    /// before the end, and not when the end of a request became known. Buses may then be granted
    /// early, which changes no time and saves events ([`destage_device::nand::Nand::grant_early`]).
    /// Says whether the device can do so; it cannot if it depends on the state of channels itself,
    /// or if an operation takes no time or may be suspended.
    ///
    /// # Panics
    /// Later, if the promise is broken.
    pub fn skip_unobserved_events(&mut self) -> bool {
        let FlashCosts {
            read,
            program,
            erase,
            ..
        } = self.costs;
        let times = [read, program, erase, self.transfer_of(1)];
        let by_page = self.page_times.iter().flatten();
        self.unobserved = !self.nand.has_open_ends()
            && !self.reads_first
            && !self.dynamic
            && self.multi_plane.is_none()
            && self.cache_region.is_none()
            && !self.watches_idle
            && !self.gc.background
            && times.iter().chain(by_page).all(|&time| time > Nanos::ZERO);
        if self.unobserved {
            self.nand.grant_early();
        }
        self.unobserved
    }

    pub(super) fn assert_observable(&self) {
        assert!(
            !self.unobserved,
            "the promise of Engine::skip_unobserved_events is broken"
        );
    }
}

impl FlashReport for Engine {
    fn fault(&self) -> Option<&DeviceFull> {
        self.full.as_deref()
    }

    fn collection_debt(&self) -> u64 {
        self.debt.as_ref().map_or(0, CollectionDebt::mean)
    }

    fn next_event(&self) -> Nanos {
        self.nand.next_event_time()
    }

    fn start_measuring(&mut self) {
        self.start_measures();
    }

    fn completed(&self) -> Option<&Completed> {
        Some(&self.in_flight.completed)
    }

    fn completed_mut(&mut self) -> Option<&mut Completed> {
        Some(&mut self.in_flight.completed)
    }

    fn evict_times(&self) -> [MeanTime; 2] {
        [self.in_flight.evict_wait, self.in_flight.evict_turnaround]
    }

    fn response_times(&self) -> Option<&LatencyTriple> {
        self.assert_observable();
        Some(self.in_flight.completed.times())
    }

    fn write_back_reads(&self) -> u64 {
        self.started_reads().old_pages - self.reads_before.old_pages
    }

    fn traffic(&self) -> Counts {
        let cached_pages = self.started_reads().cached_pages - self.reads_before.cached_pages;
        let (all, before) = (self.nand.suspensions(), self.suspensions_before);
        let of = |kind: OpKind| all[kind as usize] - before[kind as usize];
        Counts {
            cache_reads: self.traffic.cache_reads + cached_pages,
            erase_suspensions: of(OpKind::Erase),
            program_suspensions: of(OpKind::Program) + of(OpKind::Copyback),
            ..self.traffic.clone()
        }
    }

    fn flash_state(&self) -> Option<FlashState> {
        let start = ChipStats::default();
        let before = self.before.iter().chain(std::iter::repeat(&start));
        let issued = self.nand.issued();
        Some(FlashState {
            wear: self.map.wear(),
            chips: issued
                .iter()
                .zip(before)
                .map(|(all, b)| all.since(b))
                .collect(),
        })
    }

    /// Once nothing waits up to the end of all work, before that up to now.
    fn busy_times(&self) -> Option<BusyTimes> {
        let all = match self.nand.next_event_time() {
            Nanos::NEVER => self.busy_until(
                self.nand.end_of_work(),
                |channel| self.nand.bus_time(channel),
                |chip, die| self.nand.die_stats(chip, die).busy,
            ),
            _ => self.busy_so_far(),
        };
        Some(all.since(&self.busy_before))
    }

    fn rest(&self) -> Nanos {
        self.nand.end_of_work()
    }

    fn expect_fua(&mut self) {
        self.in_flight.ends.get_or_insert_default();
    }

    fn keep_completions(&mut self) {
        self.assert_observable();
        self.in_flight.completed.keep();
    }

    fn timeline_excess(&self) -> Option<(u64, Nanos)> {
        self.timeline.as_ref()?.rows.excess()
    }

    fn note_request(&mut self, done: &Completion) {
        if let Some(timeline) = &mut self.timeline {
            timeline.rows.keep_request(done);
        }
    }

    fn scene_geometry(&self) -> Option<SceneGeometry> {
        let dies = self.nand.chips() * self.nand.dies();
        Some(SceneGeometry {
            channels: self.nand.channels(),
            chips_per_channel: self.nand.chips() / self.nand.channels(),
            dies,
            planes_per_die: self.map.planes() / dies,
            blocks_per_plane: self.map.blocks_per_plane(),
            units_per_block: self.map.pages_per_block(),
            ..SceneGeometry::default()
        })
    }

    fn block_states(&self, out: &mut BlockStates) {
        self.map.block_states(self.nand.dies() > 1, out);
    }

    fn end_timeline(&mut self) -> Option<Timeline> {
        self.timeline_of_run()
    }
}
