//! Values that are words: one enum per key, its words, and words whose feature does not exist yet.

use destage_types::{Axis, QueuePer};
use std::fmt;

/// Stands among [`Word::UNAVAILABLE`] for all that starts like a number.
pub(super) const NUMBER: &str = "a number";

/// A value written as one word of a fixed set.
pub(super) trait Word: Copy + PartialEq + 'static {
    /// The words and their values.
    const WORDS: &'static [(&'static str, Self)];
    /// The meaning of each word.
    const MEANINGS: &'static [&'static str];
    /// Words that are understood but ask for something that is not available.
    const UNAVAILABLE: &'static [&'static str] = &[];

    /// The word of a value.
    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, value)| *value == self);
        found.expect("every value has a word").0
    }
}

macro_rules! words {
    ($($(#[$doc:meta])* pub enum $name:ident $(unavailable [$($unavailable:expr),+])? {
        $($(#[doc = $meaning:literal])+ $variant:ident = $word:literal),+ $(,)?
    })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[doc = $meaning])+ $variant,)+
        }

        impl Word for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $name::$variant)),+];
            const MEANINGS: &'static [&'static str] = &[$(concat!($($meaning),+).trim_ascii()),+];
            $(const UNAVAILABLE: &'static [&'static str] = &[$($unavailable),+];)?
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    )+};
}

words! {
    /// How often `t_dram` is charged.
    pub enum Dram {
        /// Once per request, whatever its size.
        PerRequest = "per_request",
        /// Once per page.
        PerPage = "per_page",
    }
    /// Whether a command that waits holds those behind it (D-16).
    pub enum CommandOrder {
        /// No.
        Free = "free",
        /// Commands start in the order in which they were fetched; one that waits for a frame or is paced holds those
        /// behind it.
        Fifo = "fifo",
    }
    /// Translation layer.
    pub enum Ftl unavailable ["block", "bast", "fast", "hybrid"] {
        /// Page-level mapping.
        Page = "page",
    }
    /// Chooser of the plane of a page.
    pub enum Allocation {
        /// The logical address, see `allocation_order`.
        Static = "static",
        /// The device: a plane of the least busy chip.
        Dynamic = "dynamic",
    }
    /// A part of the array that has one of something (write frontier, GC).
    pub enum FlashUnit {
        /// A plane.
        Plane = "plane",
        /// A die.
        Die = "die",
        /// A package.
        Chip = "chip",
        /// The drive. For `gc_unit` alone, with paced collection: blocks of one index over all dies are collected
        /// together.
        Drive = "drive",
    }
    /// Order of host operations in a queue.
    pub enum QueueOrder {
        /// As they came.
        Fifo = "fifo",
        /// Reads before programs.
        ReadFirst = "read-first",
    }
    /// Operations that a read of the host may suspend.
    pub enum Suspend {
        /// Nothing: what has started ends.
        Off = "off",
        /// Erases.
        Erase = "erase",
        /// Programs, copybacks and erases.
        ProgramErase = "program+erase",
    }
    /// How GC chooses its victim.
    pub enum GcPolicy {
        /// No GC: a run that uses up the free pages ends with an error.
        None = "none",
        /// The block with the fewest valid pages.
        Greedy = "greedy",
        /// The block with the best ratio of free space times age to cost.
        CostBenefit = "cost-benefit",
        /// The best of `gc_choices` blocks drawn at random.
        DChoices = "d-choices",
        /// A block drawn at random.
        Random = "random",
    }
    /// Which data share a block (D-12).
    pub enum GcStreams {
        /// Host and collector fill the same block, with units of their own.
        Shared = "shared",
        /// Host and collector fill a block each.
        Own = "own",
        /// Blocks filled by collection are a region of their own (2R); for `destage waf` alone.
        TwoRegion = "two-region",
        /// The victim's valid pages go back into it after its erase, and the host fills the rest; for
        /// `destage waf` alone.
        InPlace = "in-place",
    }
    /// When GC runs.
    pub enum GcMode {
        /// In front of a program that would leave too few free pages.
        Foreground = "foreground",
        /// On chips with nothing to do; in front of a program only where no room is left.
        Background = "background",
        /// A little with each program of the host, the more the fewer blocks are free (D-11).
        Paced = "paced",
        /// Never: a run that uses up the free pages ends with an error.
        Off = "off",
    }
    /// Planes that a program goes to at once (D-2).
    pub enum ProgramPlanes {
        /// One.
        One = "one",
        /// All planes of the die: blocks of one index in all of them are one block.
        All = "all",
    }
    /// When frames of the cache are free (D-8).
    pub enum Buffer {
        /// A victim's frame is free at once; its request waits as `evict_wait` says.
        OnDemand = "on_demand",
        /// A frame is kept until its data are on flash, and a write waits for a free one.
        Bounded = "bounded",
    }
    /// The part of the cache that a power cut leaves (D-4).
    pub enum CachePersistence {
        /// Nothing, so FLUSH and FUA wait for flash.
        Volatile = "volatile",
        /// All, so FLUSH and FUA write nothing.
        Nvm = "nvm",
    }
    /// Where a write goes whose page was handed over and is not on flash (D-8).
    pub enum Rewrite {
        /// Into another frame.
        New = "new",
        /// Into the same place, while its unit is open.
        InPlace = "in_place",
    }
    /// When a frame whose data were handed over is free (D-8).
    pub enum FrameRelease {
        /// At the end of its program.
        ProgramEnd = "program_end",
        /// Once its data are in the chip.
        TransferEnd = "transfer_end",
    }
    /// Where data of the host go while no SLC block can be taken (S-1.3).
    pub enum SlcFull {
        /// To native blocks.
        Direct = "direct",
        /// They wait while an SLC block is folded.
        Fold = "fold",
    }
    /// Whether collected data stay apart by handle (S-3.4).
    pub enum Isolation {
        /// No: data of all handles share the blocks of the collector.
        Initial = "initial",
        /// Yes: the collector has a block for each handle.
        Persistent = "persistent",
    }
    /// The part of the mapping table that is in memory (S-2).
    pub enum MappingTable {
        /// All of it.
        Full = "full",
        /// Entries of `map_cache`; the others are on flash.
        Entry = "entry",
        /// Translation pages of `map_cache`; the others are on flash.
        Page = "page",
    }
    /// Entries that are clean once a translation page is written back (S-2.5).
    pub enum MapEvict {
        /// The entry that leaves.
        One = "one",
        /// All entries of the page.
        Batch = "batch",
    }
    /// A pause that is due while writes wait for a frame (DR-8).
    pub enum PauseWhileWritesWait {
        /// It begins.
        Begin = "begin",
        /// It begins with the first unit of the host that is queued while no write waits.
        PutOff = "put_off",
    }
    /// The event at which a GC unit at its threshold collects.
    pub enum GcTrigger {
        /// A program into it, before that.
        Program = "program",
        /// A read of it, too: whatever the host does there next.
        Operation = "operation",
        /// Coming to its threshold: it collects right behind the program that brought it there.
        Immediate = "immediate",
    }
    /// How much a GC unit collects at a time.
    pub enum GcStop {
        /// One block.
        One = "one",
        /// Block after block, until more is free than the threshold and `gc_stop_blocks` blocks.
        Watermark = "watermark",
    }
    /// The quantity that `gc_threshold` counts.
    pub enum ThresholdUnit {
        /// Free pages, those of the blocks being filled included.
        Pages = "pages",
        /// Free blocks, without those being filled.
        Blocks = "blocks",
    }
    /// The base of the share `gc_threshold`.
    pub enum ThresholdBase {
        /// All pages of the unit.
        Total = "total",
        /// The pages that are not exported.
        Spare = "spare",
    }
    /// Choice of free blocks by wear.
    pub enum WearLevelling {
        /// Free blocks are taken in turn.
        Off = "off",
        /// The least worn free block is taken.
        Dynamic = "dynamic",
        /// That, and data that stay where they are are moved off the least worn block.
        Static = "static",
    }
    /// When a program counts as done.
    pub enum EvictWait {
        /// At its end.
        ProgramDone = "program_done",
        /// At the end of its data transfer.
        TransferDone = "transfer_done",
        /// A caused program when it is enqueued, an own program at its end.
        Issue = "issue",
    }
    /// Whether a read waits for the page that it displaced.
    pub enum EvictWaitRead {
        /// No.
        Issue = "issue",
        /// As `evict_wait` says.
        Same = "same",
    }
    /// Data that a read miss transfers (D2).
    pub enum ReadTransfer {
        /// The whole page.
        Page = "page",
        /// The requested sectors.
        Requested = "requested",
    }
}

impl Word for QueuePer {
    const WORDS: &'static [(&'static str, Self)] =
        &[("chip", QueuePer::Chip), ("die", QueuePer::Die)];
    const MEANINGS: &'static [&'static str] =
        &["A chip; its dies do not work in parallel.", "A die."];
}

impl Word for Axis {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("channel", Axis::Channel),
        ("chip", Axis::Chip),
        ("die", Axis::Die),
        ("plane", Axis::Plane),
    ];
    const MEANINGS: &'static [&'static str] = &["A bus.", "A package.", "A die.", "A plane."];
}
