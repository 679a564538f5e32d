//! The settings of a modelled file system.

/// A file system between a trace and the device.
#[derive(Clone, PartialEq, Debug)]
pub enum HostFs {
    /// Every block is written where it is: addresses stay, in whole blocks of 4 KiB.
    InPlace,
    /// A log-structured file system.
    Lfs(LfsConfig),
}

/// Which blocks are updated where they are, beside those that `ipu` chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InPlace {
    /// None.
    Never,
    /// All: F2FS on volumes of up to 16 GB.
    Force,
    /// Those written while more than `ipu-util` of the volume is used.
    Util,
    /// Those of requests of at most `ipu-blocks` blocks: small synced writes.
    Small,
}

/// Which unit is cleaned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clean {
    /// The one with the fewest valid blocks.
    Greedy,
    /// The one with the largest free share x age / (1 + used share), as F2FS in the background.
    CostBenefit,
}

/// When the device hears of addresses that hold no data any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trim {
    /// Never.
    None,
    /// In gaps of at least 10 ms between requests.
    Idle,
    /// At once.
    Sync,
}

/// When index blocks are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// Never.
    Off,
    /// With the next checkpoint: nobody asks for durability.
    Checkpoint,
    /// With every request, as fsync and fdatasync do for roll-forward recovery.
    Sync,
}

/// Which free unit a log takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The lowest-numbered one.
    Lowest,
    /// The next one behind the unit taken last, as F2FS does.
    Next,
}

/// Settings of a log-structured file system. Blocks have 4 KiB.
#[derive(Clone, PartialEq, Debug)]
pub struct LfsConfig {
    /// Blocks of the volume; `None`: 1.25 x those that the trace touches, in whole units.
    pub blocks: Option<u64>,
    /// At least so many blocks if `blocks` is `None`.
    pub least: u64,
    /// Blocks of a segment.
    pub segment: u64,
    /// Segments of a section, the unit of allocation and cleaning.
    pub section: u64,
    /// Free units below which cleaning begins.
    pub reserve: u64,
    /// Logs: 1, or 6 (hot, warm, cold data and nodes by the rules of F2FS).
    pub logs: u64,
    /// Share of the blocks that is always updated in place.
    pub ipu: f64,
    /// Further updates in place.
    pub ipu_policy: InPlace,
    /// Used share of the volume for [`InPlace::Util`].
    pub ipu_util: f64,
    /// Blocks of a request for [`InPlace::Small`].
    pub ipu_blocks: u64,
    /// Writes of index blocks.
    pub nodes: Nodes,
    /// Do writes of index blocks name their old address?
    pub node_pairs: bool,
    /// Seconds between checkpoints, of which one is at the end of the trace; 0 = none.
    pub checkpoint_s: u64,
    /// Which unit is cleaned.
    pub clean: Clean,
    /// Which unit is taken.
    pub alloc: Pick,
    /// Write into the holes of used units instead of cleaning them.
    pub ssr: bool,
    /// TRIM.
    pub trim: Trim,
    /// Share of the volume that is used before the trace begins, data of the trace included.
    pub fill: f64,
    /// Are the blocks of the trace on the volume before it begins, in order?
    pub prealloc: bool,
}

impl Default for LfsConfig {
    /// One log, greedy cleaning below two free segments, nothing in place, no TRIM.
    fn default() -> LfsConfig {
        LfsConfig {
            blocks: None,
            least: 0,
            segment: 512,
            section: 1,
            reserve: 2,
            logs: 1,
            ipu: 0.0,
            ipu_policy: InPlace::Never,
            ipu_util: 0.7,
            ipu_blocks: 8,
            nodes: Nodes::Off,
            node_pairs: true,
            checkpoint_s: 0,
            clean: Clean::Greedy,
            alloc: Pick::Lowest,
            ssr: false,
            trim: Trim::None,
            fill: 0.0,
            prealloc: false,
        }
    }
}

impl LfsConfig {
    /// As F2FS with `mode=lfs` and an fdatasync after every write: six logs, index blocks,
    /// checkpoints every 60 s and at the end, a file that exists, a volume of at least 2 GiB.
    pub fn f2fs() -> LfsConfig {
        LfsConfig {
            least: 2 << 18,
            reserve: 6,
            logs: 6,
            nodes: Nodes::Sync,
            checkpoint_s: 60,
            alloc: Pick::Next,
            prealloc: true,
            ..LfsConfig::default()
        }
    }

    /// Blocks of the unit of allocation and cleaning.
    pub fn unit(&self) -> u64 {
        self.segment * self.section
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.nodes == Nodes::Checkpoint && self.checkpoint_s == 0 {
            return Err("nodes=checkpoint: there is none; say checkpoint=60s".to_owned());
        }
        let least = if self.logs == 6 { 3 } else { 2 };
        if self.reserve < least {
            return Err(format!(
                "reserve={}: cleaning into {} logs needs at least {least} free units",
                self.reserve, self.logs
            ));
        }
        if self.unit() > 1 << 24 {
            return Err(format!(
                "a section of {} blocks; allowed: up to 16777216",
                self.unit()
            ));
        }
        Ok(())
    }
}
