//! Answers of the drive to a run and to a scheme.

use super::Drive;
use crate::debt::CollectionDebt;
use crate::engine::BusyTimes;
use crate::engine::completed::Completed;
use crate::engine::view::host_service;
use crate::flash::{FlashReport, FlashState};
use destage_device::map::{BlockStates, DeviceFull, UnitShape};
use destage_device::nand::{ChipStats, Class};
use destage_record::scene::SceneGeometry;
use destage_record::{Completion, Counts, Timeline};
use destage_scheme::{DeviceView, Equation1, FlashCosts, GcBlocks, InService};
use destage_types::{ChannelId, ChipId, Nanos, OpKind};

/// Counters when the measured part began.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    chips: Vec<ChipStats>,
    busy: BusyTimes,
    suspensions: [u64; 4],
}

impl Drive {
    fn busy(&self) -> BusyTimes {
        BusyTimes {
            elapsed: self.now,
            channels: (0..self.array.channels())
                .map(|channel| self.array.bus_time_so_far(ChannelId(channel)))
                .collect(),
            dies: (0..self.array.chips())
                .map(|die| self.array.held_so_far(ChipId(die), 0))
                .collect(),
        }
    }

    /// Counts of the drive.
    pub(crate) fn shape(&self) -> &UnitShape {
        self.map.shape()
    }
}

impl FlashReport for Drive {
    fn fault(&self) -> Option<&DeviceFull> {
        self.full.as_deref()
    }

    fn collection_debt(&self) -> u64 {
        self.debt.as_ref().map_or(0, CollectionDebt::mean)
    }

    fn next_event(&self) -> Nanos {
        self.next_instant()
    }

    fn keeps_request_waiting(&self) -> bool {
        self.full.is_some() && self.requests.any()
    }

    fn start_measuring(&mut self) {
        self.traffic = Counts::default();
        self.report = Before {
            chips: self.array.issued(),
            busy: self.busy(),
            suspensions: self.array.suspensions(),
        };
        self.requests.completed.start_measuring();
        self.measure_timeline();
    }

    fn completed(&self) -> Option<&Completed> {
        Some(&self.requests.completed)
    }

    fn completed_mut(&mut self) -> Option<&mut Completed> {
        Some(&mut self.requests.completed)
    }

    fn traffic(&self) -> Counts {
        let (all, before) = (self.array.suspensions(), self.report.suspensions);
        let of = |kind: OpKind| all[kind as usize] - before[kind as usize];
        Counts {
            erase_suspensions: of(OpKind::Erase),
            program_suspensions: of(OpKind::Program),
            ..self.traffic.clone()
        }
    }

    fn flash_state(&self) -> Option<FlashState> {
        let start = ChipStats::default();
        let before = self.report.chips.iter().chain(std::iter::repeat(&start));
        Some(FlashState {
            wear: self.map.wear(),
            chips: self
                .array
                .issued()
                .iter()
                .zip(before)
                .map(|(all, b)| all.since(b))
                .collect(),
        })
    }

    fn busy_times(&self) -> Option<BusyTimes> {
        Some(self.busy().since(&self.report.busy))
    }

    fn rest(&self) -> Nanos {
        self.now
    }

    fn note_request(&mut self, done: &Completion) {
        if let Some(timeline) = &mut self.timeline {
            timeline.rows.keep_request(done);
        }
    }

    fn timeline_excess(&self) -> Option<(u64, Nanos)> {
        self.timeline.as_ref()?.rows.excess()
    }

    /// Each die counts as a chip, as in a timeline.
    fn scene_geometry(&self) -> Option<SceneGeometry> {
        let (shape, channels) = (self.map.shape(), self.array.channels());
        Some(SceneGeometry {
            channels,
            chips_per_channel: shape.dies / channels,
            dies: shape.dies,
            planes_per_die: shape.groups / shape.dies,
            blocks_per_plane: shape.blocks,
            units_per_block: shape.places,
            ..SceneGeometry::default()
        })
    }

    fn block_states(&self, out: &mut BlockStates) {
        self.map.block_states(out);
    }

    fn end_timeline(&mut self) -> Option<Timeline> {
        self.timeline_of_run()
    }
}

/// A chip is a die. Equations 1 to 4 of ECR count mapping units where they speak of pages (DR-10).
impl DeviceView for Drive {
    fn is_idle(&self, chip: ChipId) -> bool {
        self.array.is_chip_idle(chip)
    }

    fn drain_time(&self, chip: ChipId) -> Nanos {
        self.array.drain_time(chip, Class::Gc)
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        let mut gcs = self.map.gcs_of_die(chip.0);
        gcs.any(|gc| self.collectors[gc as usize].collects())
    }

    fn any_in_gc(&self) -> bool {
        self.collecting > 0
    }

    fn in_service(&self, chip: ChipId) -> Option<InService> {
        host_service(&self.array, chip)
    }

    fn equation_1(&self, chip: ChipId) -> Equation1 {
        let places = u64::from(self.map.shape().places);
        let GcBlocks { free, threshold } = self.gc_blocks(chip);
        Equation1 {
            reads: u64::from(self.array.host_reads(chip)),
            writes: u64::from(self.array.host_writes(chip)),
            free_pages: free * places,
            gc_threshold_pages: threshold * places,
            frontier_free_pages: self.map.open_places(chip.0),
            gc_remaining: (self.in_gc(chip)).then(|| self.array.collection_time(chip)),
        }
    }

    fn gc_blocks(&self, chip: ChipId) -> GcBlocks {
        let gcs = || self.map.gcs_of_die(chip.0);
        GcBlocks {
            free: gcs().map(|gc| self.map.free_blocks(gc)).sum(),
            threshold: gcs().map(|_| self.map.gc_low()).sum(),
        }
    }

    fn victim_valid_pages(&self, chip: ChipId) -> u64 {
        let gcs = self.map.gcs_of_die(chip.0);
        gcs.filter_map(|gc| self.map.fewest_valid(gc))
            .min()
            .unwrap_or(0)
    }

    fn spreads_groups(&self) -> bool {
        true
    }

    fn costs(&self) -> FlashCosts {
        self.view_costs
    }

    fn allocates_dynamically(&self) -> bool {
        self.dynamic
    }
}
