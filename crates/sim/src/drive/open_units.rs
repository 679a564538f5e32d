//! Program units that are open, queued or running.

use destage_device::config::DeviceConfig;
use destage_device::map::{FlashMap, UnitMap, UnitPlace, UnitStream};
use destage_device::nand::OpId;
use destage_types::{Lpn, Nanos};

/// A unit that is open, queued or running.
#[derive(Clone, Debug)]
pub(super) struct ProgramUnit {
    pub stream: UnitStream,
    pub frontier: u32,
    pub place: UnitPlace,
    /// Its first mapping unit, and the places of padding.
    pub lpn: Lpn,
    pub padded: u32,
    /// Frames to free at its end.
    pub frames: Vec<u32>,
    /// Requests that wait for it as `evict_wait` says: for its end, or for its data to be in the chip.
    pub waiters: Vec<u32>,
    /// Of the host, once it is queued: see [`ProgramWaits`](crate::device::program_waits::ProgramWaits).
    pub number: u64,
    /// Blocks that are erased when it and others have ended.
    pub victims: Vec<u32>,
    /// Reads of old data that have not ended.
    pub reads: u32,
    /// Its program, once it is queued.
    pub program: Option<OpId>,
    pub queued: bool,
    /// Are its data in the chip?
    pub moved: bool,
    /// Names of the versions that it has, if they are kept.
    pub versions: Vec<(u32, Lpn)>,
}

/// Open units of all frontiers.
#[derive(Clone, Debug)]
pub(super) struct OpenUnits {
    /// By stream and frontier.
    of: [Vec<Option<u32>>; 2],
    /// When open units of the host are closed, by frontier.
    pub due: Vec<Option<Nanos>>,
    /// Units that are queued or running, by stream and die.
    pub busy: [Vec<u32>; 2],
    /// Frontier that dynamic allocation fills.
    pub current: Option<u32>,
    /// How long they stay open, in ns.
    pub hold: Option<u64>,
    /// Bus times of the pages of a program, with their commands.
    pub grants: Vec<u64>,
}

impl OpenUnits {
    pub fn new(config: &DeviceConfig, map: &UnitMap) -> OpenUnits {
        let (shape, frontiers) = (map.shape(), map.frontier_count() as usize);
        let page = config.t_cmd_program.times(1) + config.page_transfer();
        OpenUnits {
            of: [vec![None; frontiers], vec![None; frontiers]],
            due: vec![None; frontiers],
            busy: [(); 2].map(|()| vec![0; shape.dies as usize]),
            current: None,
            hold: config.unit_hold.map(|hold| hold.times(1).0),
            grants: vec![page.0; shape.unit_pages() as usize],
        }
    }

    pub fn slot(&mut self, stream: UnitStream, frontier: u32) -> &mut Option<u32> {
        &mut self.of[stream as usize][frontier as usize]
    }

    /// Units of a stream that are queued or running on a die.
    pub fn load(&self, stream: UnitStream, die: u32) -> u32 {
        self.busy[stream as usize][die as usize]
    }

    /// When the next open unit is closed.
    pub fn next_hold(&self) -> Nanos {
        self.due
            .iter()
            .flatten()
            .min()
            .copied()
            .unwrap_or(Nanos::NEVER)
    }
}
