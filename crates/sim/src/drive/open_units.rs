//! Program units that are open, queued or running.

use destage_device::config::DeviceConfig;
use destage_device::map::{FlashMap, UnitMap, UnitPlace, UnitStream, Writers};
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
    /// Reads of old data and translations that have not ended.
    pub reads: u32,
    /// Those among them that wait for translations.
    pub untranslated: u32,
    /// Its program, once it is queued.
    pub program: Option<OpId>,
    pub queued: bool,
    /// Is it a unit of parity?
    pub is_parity: bool,
    /// Are its data in the chip?
    pub moved: bool,
    /// Names of the versions that it has, if they are kept.
    pub versions: Vec<(u32, Lpn)>,
}

impl ProgramUnit {
    /// Does the host write it?
    pub fn is_of_host(&self) -> bool {
        matches!(self.stream, UnitStream::Host(_))
    }

    /// Has it data of the host, so that FLUSH waits for it?
    pub fn has_host_data(&self) -> bool {
        self.is_of_host() && !self.is_parity
    }
}

/// Open units of all frontiers.
#[derive(Clone, Debug)]
pub(super) struct OpenUnits {
    writers: Writers,
    /// By writer and frontier.
    of: Vec<Vec<Option<u32>>>,
    /// When open units are closed, those of the host, by writer and frontier.
    pub due: Vec<Vec<Option<Nanos>>>,
    /// Units that are queued or running, by [`OpenUnits::side`] and die.
    busy: [Vec<u32>; 2],
    /// Frontier that dynamic allocation fills for each writer.
    current: Vec<Option<u32>>,
    /// How long they stay open, in ns.
    pub hold: Option<u64>,
    /// Bus times of the pages of a program, with their commands.
    pub grants: Vec<u64>,
}

impl OpenUnits {
    pub fn new(config: &DeviceConfig, map: &UnitMap) -> OpenUnits {
        let (shape, frontiers) = (map.shape(), map.frontier_count() as usize);
        let writers = map.writers();
        let page = config.t_cmd_program.times(1) + config.page_transfer();
        OpenUnits {
            of: vec![vec![None; frontiers]; writers.count()],
            due: vec![vec![None; frontiers]; writers.hosts().count()],
            busy: [(); 2].map(|()| vec![0; shape.dies as usize]),
            current: vec![None; writers.count()],
            writers,
            hold: config.unit_hold.map(|hold| hold.times(1).0),
            grants: vec![page.0; shape.unit_pages() as usize],
        }
    }

    pub fn slot(&mut self, stream: UnitStream, frontier: u32) -> &mut Option<u32> {
        &mut self.of[self.writers.number(stream)][frontier as usize]
    }

    /// The frontier that dynamic allocation fills for a writer.
    pub fn current(&self, stream: UnitStream) -> Option<u32> {
        self.current[self.writers.number(stream)]
    }

    /// The same changes.
    pub fn set_current(&mut self, stream: UnitStream, frontier: u32) {
        self.current[self.writers.number(stream)] = Some(frontier);
    }

    /// Handles and frontiers whose units have been open long enough at `now`.
    pub fn held_until(&self, now: Nanos) -> Vec<(u8, u32)> {
        let rows = (0..).zip(&self.due);
        let all = rows.flat_map(|(handle, row)| (0..).zip(row).map(move |at| (handle, at)));
        let due = all.filter(|(_, (_, due))| due.is_some_and(|due| due <= now));
        due.map(|(handle, (frontier, _))| (handle, frontier))
            .collect()
    }

    /// Which units count together as load of a die: those of host and map, or of collectors (S-0.2).
    fn side(stream: UnitStream) -> usize {
        usize::from(matches!(stream, UnitStream::Collector(_)))
    }

    /// Units that are queued or running on a die beside those of a writer.
    pub fn load(&self, stream: UnitStream, die: u32) -> u32 {
        self.busy[OpenUnits::side(stream)][die as usize]
    }

    /// The same, to be counted.
    pub fn busy(&mut self, stream: UnitStream, die: u32) -> &mut u32 {
        &mut self.busy[OpenUnits::side(stream)][die as usize]
    }

    /// When the next open unit is closed.
    pub fn next_hold(&self) -> Nanos {
        self.due
            .iter()
            .flatten()
            .flatten()
            .min()
            .copied()
            .unwrap_or(Nanos::NEVER)
    }
}
