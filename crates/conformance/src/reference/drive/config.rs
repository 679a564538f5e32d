//! Keys of the model, named as in the specification, and what is refused.

use destage_device::config::QueueOrder;
use destage_device::nand::{ArrayConfig, Suspension, Timing};
use destage_types::Nanos;

use super::geometry::{Axis, Span};
use crate::reference::array::{Gates, SlowArray};
use crate::reference::rng::SplitMix64;

/// `program_planes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramPlanes {
    /// A program unit lies in one plane.
    One,
    /// A program unit lies in all planes of a die.
    All,
}

/// `suspend`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suspend {
    /// A started operation ends.
    Off,
    /// Erases give way to host reads.
    Erase,
    /// Erases and programs do.
    ProgramErase,
}

/// Parameters of `drain`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drain {
    /// Share of the frames.
    pub low: f64,
    /// Share of the frames.
    pub high: f64,
    /// Program units; `None` is `all`.
    pub depth: Option<u64>,
}

/// `gc_streams`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GcStreams {
    /// Host and collector fill the same block, with units of their own.
    Shared,
    /// Each fills blocks of its own.
    Own,
}

/// One step of `read_retry`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RetryStep {
    /// Share of the reads that reached the step before.
    pub share: f64,
    /// Array time that the step adds.
    pub time: u64,
}

/// `write_pace` and `write_pace_burst`: nanoseconds of a mapping unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WritePrice {
    /// Of the host.
    pub host: u64,
    /// That collection moves for it.
    pub moved: u64,
    /// Of the host, at most.
    pub most: Option<u64>,
    /// Blocks of a GC unit over which the debt is averaged.
    pub window: u64,
    /// Mapping units at once.
    pub burst: u64,
}

impl WritePrice {
    /// Of so many mapping units a second.
    pub fn of_rate(rate: u64, burst: u64) -> WritePrice {
        WritePrice {
            host: 1_000_000_000_u64.div_ceil(rate),
            moved: 0,
            most: None,
            window: 8,
            burst,
        }
    }
}

/// All keys. Times are nanoseconds, `t_byte` is picoseconds, sizes are bytes.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct DriveConfig {
    pub channels: u64,
    pub chips_per_channel: u64,
    pub dies_per_chip: u64,
    pub planes_per_die: u64,
    pub blocks_per_plane: u64,
    pub pages_per_block: u64,
    pub page_bytes: u64,
    pub mapping_bytes: u64,
    pub program_pages: u64,
    pub program_planes: ProgramPlanes,
    /// Millionths of all places.
    pub op: u64,
    /// By page of a word line.
    pub t_read: Vec<u64>,
    /// Array time of a read that wants one mapping unit.
    pub t_read_unit: Option<u64>,
    /// By page of a word line.
    pub t_program: Vec<u64>,
    pub t_erase: u64,
    pub t_cmd_read: u64,
    pub t_cmd_program: u64,
    pub t_cmd_erase: u64,
    pub t_byte: u64,
    pub t_dram: u64,
    pub allocation_static: bool,
    pub allocation_order: [Axis; 4],
    pub frontier: Span,
    pub gc_unit: Span,
    pub read_first: bool,
    pub suspend: Suspend,
    pub max_suspends: u64,
    pub t_suspend: u64,
    pub t_resume: u64,
    pub read_retry: Vec<RetryStep>,
    /// `program_pause`: places between two pauses, and the time of one in ns.
    pub program_pause: Option<(u64, u64)>,
    /// `while_writes_wait = put_off`.
    pub pause_put_off: bool,
    /// Frames of one mapping unit.
    pub frames: u64,
    /// A scheme of the other models.
    pub scheme: String,
    /// `buffer = on_demand`: data leave when room is made, and a request waits for the units that it fills.
    pub on_demand: bool,
    /// `None`: the buffer is bounded and only full frames make it write.
    pub drain: Option<Drain>,
    pub read_allocation: bool,
    pub rewrite_in_place: bool,
    pub release_at_transfer_end: bool,
    pub nvm: bool,
    pub unit_hold: Option<u64>,
    pub flush_at_end: bool,
    pub gc_high: u64,
    pub gc_low: u64,
    pub gc_ratio_max: f64,
    /// `None`: 4 U.
    pub gc_credit: Option<f64>,
    /// `None`: U.
    pub gc_burst: Option<u64>,
    pub gc_hold: bool,
    pub gc_streams: GcStreams,
    pub t_command: u64,
    pub command_cores: u64,
    /// Bytes a second; `None` is unlimited.
    pub link_read: Option<u64>,
    /// Bytes a second; `None` is unlimited.
    pub link_write: Option<u64>,
    /// Of each stream.
    pub queue_depth: Option<u64>,
    pub command_slots: Option<u64>,
    pub command_fifo: bool,
    pub write_pace: Option<WritePrice>,
    pub seed: u64,
}

impl DriveConfig {
    /// The device of the worked examples: one die, one plane, 16 blocks of 8 pages of 16 KiB.
    pub fn small(frames: u64) -> DriveConfig {
        DriveConfig {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 16,
            pages_per_block: 8,
            page_bytes: 16_384,
            mapping_bytes: 4_096,
            program_pages: 1,
            program_planes: ProgramPlanes::One,
            op: 250_000,
            t_read: vec![50_000],
            t_read_unit: None,
            t_program: vec![600_000],
            t_erase: 3_000_000,
            t_cmd_read: 100,
            t_cmd_program: 100,
            t_cmd_erase: 100,
            t_byte: 1_000,
            t_dram: 1_000,
            allocation_static: false,
            allocation_order: [Axis::Channel, Axis::Chip, Axis::Die, Axis::Plane],
            frontier: Span::Die,
            gc_unit: Span::Die,
            read_first: false,
            suspend: Suspend::Off,
            max_suspends: 65_535,
            t_suspend: 0,
            t_resume: 0,
            read_retry: Vec::new(),
            program_pause: None,
            pause_put_off: false,
            frames,
            scheme: "fifo".to_owned(),
            on_demand: false,
            drain: Some(Drain {
                low: 0.0,
                high: 0.0,
                depth: None,
            }),
            read_allocation: false,
            rewrite_in_place: false,
            release_at_transfer_end: false,
            nvm: false,
            unit_hold: None,
            flush_at_end: false,
            gc_high: 3,
            gc_low: 1,
            gc_ratio_max: 16.0,
            gc_credit: None,
            gc_burst: None,
            gc_hold: false,
            gc_streams: GcStreams::Own,
            t_command: 0,
            command_cores: 1,
            link_read: None,
            link_write: None,
            queue_depth: None,
            command_slots: None,
            command_fifo: false,
            write_pace: None,
            seed: 1,
        }
    }

    /// Mapping units of a page.
    pub fn k(&self) -> u64 {
        self.page_bytes / self.mapping_bytes
    }

    /// Planes that one program unit covers.
    pub fn planes_together(&self) -> u64 {
        match self.program_planes {
            ProgramPlanes::One => 1,
            ProgramPlanes::All => self.planes_per_die,
        }
    }

    /// Places of a program unit.
    pub fn unit_places(&self) -> u64 {
        self.program_pages * self.planes_together() * self.k()
    }

    /// Dies of the drive.
    pub fn dies(&self) -> u64 {
        self.channels * self.chips_per_channel * self.dies_per_chip
    }

    /// Bus time of so many bytes, rounded up.
    pub fn transfer(&self, bytes: u64) -> u64 {
        (bytes * self.t_byte).div_ceil(1000)
    }

    /// The array. Dies are its chips, and operations bring their phases.
    pub(super) fn array(&self) -> SlowArray {
        let timing = Timing {
            t_cmd_read: Nanos::ZERO,
            t_cmd_program: Nanos::ZERO,
            t_cmd_erase: Nanos::ZERO,
            t_read: Nanos::ZERO,
            t_program: Nanos::ZERO,
            t_erase: Nanos::ZERO,
            t_ready: Nanos::ZERO,
        };
        let mut array = SlowArray::new(&ArrayConfig {
            channels: self.channels as u32,
            chips_per_channel: (self.dies() / self.channels) as u32,
            dies: 1,
            timing,
            queue: match self.read_first {
                true => QueueOrder::ReadFirst,
                false => QueueOrder::Fifo,
            },
            watch_idle: false,
            suspension: (self.suspend != Suspend::Off).then(|| Suspension {
                pause: Nanos(self.t_suspend),
                programs: self.suspend == Suspend::ProgramErase,
                resume: Nanos(self.t_resume),
                at_most: self.max_suspends as u32,
            }),
            late_times: false,
        });
        array.gates = Some(Gates::default());
        array.retry = self.read_retry.iter().map(|s| (s.share, s.time)).collect();
        array.draws = SplitMix64::new(self.seed);
        array
    }

    /// Refuses what makes no sense, naming the keys.
    pub fn check(&self) -> Result<(), String> {
        let (page, unit, w) = (self.page_bytes, self.mapping_bytes, self.program_pages);
        let all = self.program_planes == ProgramPlanes::All;
        let open_units = match self.allocation_static {
            true => super::geometry::Geometry::new(self).sites.len() as u64,
            false => 1,
        };
        let needed = open_units * self.unit_places();
        let rules = [
            (
                unit >= 512 && unit <= page && page.is_multiple_of(unit) && page / unit <= 16,
                "mapping_bytes must divide page_bytes, 1 to 16 times, and be at least 512",
            ),
            (
                (1..=4).contains(&w) && self.pages_per_block.is_multiple_of(w),
                "program_pages must be 1 to 4 and divide pages_per_block",
            ),
            (
                !all || self.frontier != Span::Plane && self.gc_unit != Span::Plane,
                "program_planes = all needs frontier and gc_unit of a die",
            ),
            (
                self.frontier == self.gc_unit
                    || self.gc_unit == Span::Drive && !self.allocation_static,
                "frontier and gc_unit must be alike in this model, or gc_unit = drive with allocation = dynamic",
            ),
            (
                self.frontier != Span::Drive || self.gc_unit == Span::Drive,
                "frontier = drive needs gc_unit = drive",
            ),
            (
                w == 1 || self.t_program.len() == 1,
                "program_pages > 1 is one array operation: t_program must be one time",
            ),
            (
                !self.t_read.is_empty() && !self.t_program.is_empty(),
                "t_read and t_program need a time",
            ),
            (self.gc_high > self.gc_low, "gc_high must exceed gc_low"),
            (
                self.gc_low >= 1,
                "gc_low must be at least the number of collector frontiers, 1",
            ),
            (self.unit_hold != Some(0), "unit_hold must exceed 0"),
            (
                !self.gc_hold || self.gc_high - self.gc_low >= 4,
                "gc_hold needs gc_high - gc_low of at least 4 blocks",
            ),
            (
                self.frames >= needed || self.on_demand,
                "the buffer must hold one unit of each open host frontier",
            ),
            (
                self.command_cores >= 1 && self.command_slots != Some(0),
                "command_cores and command_slots must be at least 1",
            ),
            (
                !self.pause_put_off || self.program_pause.is_some() && !self.on_demand,
                "while_writes_wait = put_off needs program_pause and buffer = bounded",
            ),
            (
                self.queue_depth != Some(0),
                "queue_depth must be at least 1",
            ),
        ];
        let broken = rules.iter().find(|(holds, _)| !holds);
        broken.map_or(Ok(()), |(_, rule)| Err((*rule).to_string()))
    }
}
