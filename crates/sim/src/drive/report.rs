//! Answers of the drive to a run and to a scheme.

use super::Drive;
use crate::device::DeviceCore;
use crate::flash::FlashReport;
use destage_device::map::{BlockStates, Wear};
use destage_device::nand::Class;
use destage_record::Counts;
use destage_record::scene::SceneGeometry;
use destage_scheme::{DeviceView, Equation1, FlashCosts, GcBlocks, InService};
use destage_types::{ChipId, Nanos};

impl FlashReport for Drive {
    fn core(&self) -> Option<&DeviceCore> {
        Some(&self.core)
    }

    fn core_mut(&mut self) -> Option<&mut DeviceCore> {
        Some(&mut self.core)
    }

    fn next_event(&self) -> Nanos {
        self.next_instant()
    }

    fn start_measuring(&mut self) {
        self.core.start_measuring();
    }

    /// What FUA waits for is found among the units under way.
    fn expect_fua(&mut self) {}

    fn traffic(&self) -> Counts {
        self.core.traffic()
    }

    fn wear(&self) -> Option<Wear> {
        Some(self.map.wear())
    }

    /// Each die counts as a chip, as in a timeline.
    fn scene_geometry(&self) -> Option<SceneGeometry> {
        let (shape, channels) = (self.map.shape(), self.core.nand.channels());
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
}

/// A chip is a die. Equations 1 to 4 of ECR count mapping units where they speak of pages (DR-10).
impl DeviceView for Drive {
    fn is_idle(&self, chip: ChipId) -> bool {
        self.core.nand.is_chip_idle(chip)
    }

    fn drain_time(&self, chip: ChipId) -> Nanos {
        self.core.nand.drain_time(chip, Class::Gc)
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        let mut gcs = self.map.gcs_of_die(chip.0);
        gcs.any(|gc| self.collectors[gc as usize].collects())
    }

    fn any_in_gc(&self) -> bool {
        self.collecting > 0
    }

    fn in_service(&self, chip: ChipId) -> Option<InService> {
        self.core.host_service(chip)
    }

    fn equation_1(&self, chip: ChipId) -> Equation1 {
        let places = u64::from(self.map.shape().places);
        let GcBlocks { free, threshold } = self.gc_blocks(chip);
        Equation1 {
            reads: u64::from(self.core.nand.host_reads(chip)),
            writes: u64::from(self.core.nand.host_writes(chip)),
            free_pages: free * places,
            gc_threshold_pages: threshold * places,
            frontier_free_pages: self.map.open_places(chip.0),
            gc_remaining: (self.in_gc(chip)).then(|| self.core.nand.collection_time(chip)),
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
        self.core.costs
    }

    fn allocates_dynamically(&self) -> bool {
        self.core.dynamic
    }
}
