//! A window of a run for a picture: the state at its begin, and all events until its end.
//!
//! A scene is one JSON object. `docs/WATCH.md` describes its fields. Times are ns from the start of the run. A page is
//! coded as `2 * page + dirty`.

mod write;

use crate::ResultRecord;
use destage_types::{Lpn, Nanos, Op};
use std::borrow::Cow;

/// Name of the format.
pub const FORMAT: &str = "destage-scene-1";

/// A window of a run.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Scene {
    /// [`FORMAT`].
    pub format: &'static str,
    /// Expression of the scheme.
    pub scheme: String,
    /// Name of the device.
    pub device: String,
    /// Name of the trace.
    pub trace: String,
    /// Counts of the device and the cache.
    pub geometry: SceneGeometry,
    /// Begin of the window, in ns.
    pub from: u64,
    /// End of the window, or of all work if that is earlier, in ns.
    pub to: u64,
    /// The state at the begin.
    pub start: SceneStart,
    /// Events, in order of time.
    pub events: Vec<SceneEvent>,
    /// The state at the end.
    pub end: SceneEnd,
    /// Totals of the whole run.
    pub run: SceneRun,
}

/// Figures of the whole run, as its record has them.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct SceneRun {
    /// Requests of the measured part.
    pub requests: u64,
    /// Mean response time in ns.
    pub mean_ns: Option<f64>,
    /// 99th percentile of response times in ns.
    pub p99_ns: Option<u64>,
    /// Page hits of all page accesses.
    pub page_hit_ratio: Option<f64>,
    /// Pages programmed for the host: the table's flash writes.
    pub host_writes: u64,
    /// Pages programmed, for the host and for collection.
    pub flash_writes: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl SceneRun {
    /// Those of a record.
    pub fn of(record: &ResultRecord) -> SceneRun {
        let all = record.latency_ns.map(|latency| latency.all);
        let counts = &record.counts;
        SceneRun {
            requests: counts.requests,
            mean_ns: all.and_then(|all| all.mean),
            p99_ns: all.and_then(|all| all.p99),
            page_hit_ratio: record.ratios.page_hit_ratio,
            host_writes: counts.flash_writes_host,
            flash_writes: counts.flash_programs(),
            erases: counts.erases.unwrap_or(0),
        }
    }
}

/// Counts of the device and the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct SceneGeometry {
    /// Channels.
    pub channels: u32,
    /// Chips of a channel: queues of the array.
    pub chips_per_channel: u32,
    /// Dies that work at the same time, one for each queue: chip `c` is on channel `c % channels`.
    pub dies: u32,
    /// Groups of blocks of a die; 0 where each block spans all dies.
    pub planes_per_die: u32,
    /// Blocks of a group.
    pub blocks_per_plane: u32,
    /// Mapping units of a block.
    pub units_per_block: u32,
    /// Bytes of a mapping unit.
    pub mapping_bytes: u64,
    /// Bytes of a page of the cache.
    pub page_bytes: u64,
    /// Pages that the cache holds at most.
    pub frames: u32,
}

/// A page with its dirty bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize)]
pub struct CodedPage(pub u64);

impl CodedPage {
    /// The code of a page.
    pub fn new(page: Lpn, dirty: bool) -> CodedPage {
        CodedPage(2 * page.0 + u64::from(dirty))
    }

    /// The page.
    pub fn page(self) -> Lpn {
        Lpn(self.0 / 2)
    }

    /// Is it dirty?
    pub fn is_dirty(self) -> bool {
        self.0 % 2 == 1
    }
}

/// A list of the scheme.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct SceneList {
    /// Name.
    pub name: Cow<'static, str>,
    /// Pages from the head.
    pub pages: Vec<CodedPage>,
}

/// Counts of all blocks, in mapping units: die by die, plane by plane.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct SceneBlocks {
    /// Units with data that are wanted.
    pub valid: Vec<u32>,
    /// Units written since the last erase.
    pub written: Vec<u32>,
}

/// Figures of the measured part so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct SceneFigures {
    /// Requests that are complete.
    pub requests: u64,
    /// Sum of their response times, in ns.
    pub response_sum: u64,
    /// Counters of the caches and the flash.
    #[serde(flatten)]
    pub counts: SceneCounts,
}

/// Counters of the measured part so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct SceneCounts {
    /// Page accesses that hit.
    pub page_hits: u64,
    /// Page accesses that missed.
    pub page_misses: u64,
    /// Pages programmed, for the host and for collection.
    pub flash_writes: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// The state at the begin of the window.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct SceneStart {
    /// Lists of the scheme.
    pub lists: Vec<SceneList>,
    /// Counts of blocks; left out for a device with more than [`MOST_BLOCKS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<SceneBlocks>,
    /// Blocks that are written now.
    pub open: Vec<u32>,
    /// Operations that began before the window and still run.
    pub busy: Vec<SceneOperation>,
    /// Requests that arrived before and are not complete.
    pub flying: Vec<SceneRequest>,
    /// Figures.
    pub so_far: SceneFigures,
}

/// Blocks of a device whose counts a scene has.
pub const MOST_BLOCKS: u64 = 1 << 16;

/// The state at the end of the window.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct SceneEnd {
    /// Figures.
    pub so_far: SceneFigures,
    /// Operations that wait: they were queued in the window or before, and begin after it.
    pub waiting: Vec<SceneOperation>,
}

/// A request as the host sends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SceneRequest {
    /// Number in the trace.
    pub id: u64,
    /// Arrival in ns.
    pub at: u64,
    /// Kind.
    pub op: Op,
    /// First page.
    pub page: Lpn,
    /// Pages it touches.
    pub pages: u64,
}

/// An operation of the array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SceneOperation {
    /// Start of its first phase, in ns.
    pub begin: u64,
    /// End of its last phase, in ns.
    pub end: u64,
    /// Die.
    pub die: u32,
    /// `read`, `program`, `erase` or `copyback`.
    pub kind: &'static str,
    /// Why it runs: a name of [`PURPOSES`](crate::timeline::PURPOSES).
    pub cause: &'static str,
    /// Pages that it works on.
    pub units: u32,
    /// When it was suspended: from and to, in ns.
    pub suspended: Vec<[u64; 2]>,
    /// When it was queued, in ns.
    pub queued: u64,
    /// The request it belongs to.
    pub request: Option<u64>,
    /// First page of the host.
    pub page: Option<Lpn>,
}

/// Something that happens in the window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SceneEvent {
    /// `["request", t, id, op, first page, pages]`: a request arrives.
    Request(SceneRequest),
    /// `["done", t, id, response, pages, hits, timed]`: a request is complete.
    Done {
        /// When.
        at: u64,
        /// Number in the trace.
        id: u64,
        /// Response time in ns.
        response: u64,
        /// Page accesses.
        pages: u64,
        /// Page hits.
        hits: u64,
        /// 1 if its response time counts, else 0: then it is of the warm-up, or of a file system's cleaning.
        timed: u8,
    },
    /// `["evict", t, [coded pages], "demand"]`: pages leave the cache to make room; dirty ones are programmed.
    Evict {
        /// When.
        at: u64,
        /// Pages.
        pages: Vec<CodedPage>,
    },
    /// `["write-back", t, page, step]`: a dirty page is written back in the background.
    WriteBack {
        /// When.
        at: u64,
        /// Page.
        page: Lpn,
        /// How far it has come: `queued`, `started`, `cancelled`, `removed`, `cleaned`, `stale` or `orphaned`.
        step: &'static str,
    },
    /// `["bypass", t, page]`: a page of a request goes to flash past the cache.
    Bypass {
        /// When.
        at: u64,
        /// Page.
        page: Lpn,
    },
    /// `["discard", t, [pages]]`: cached pages that newer data supersede; nothing is programmed for them.
    Discard {
        /// When.
        at: u64,
        /// Pages.
        pages: Vec<Lpn>,
    },
    /// `["rename", t, from, to]`: a cached page gets another address.
    Rename {
        /// When.
        at: u64,
        /// Old address.
        from: Lpn,
        /// New address.
        to: Lpn,
    },
    /// `["list", t, list number, name]`: a list appears, empty.
    List {
        /// When.
        at: u64,
        /// Number; lists of the start have the first ones.
        list: usize,
        /// Name.
        name: Cow<'static, str>,
    },
    /// `["splice", t, list number, start, removed, [coded pages]]`: pages of a list are replaced by others.
    Splice {
        /// When.
        at: u64,
        /// Number of the list.
        list: usize,
        /// Position of the first page that is replaced.
        start: usize,
        /// Pages that are replaced.
        removed: usize,
        /// Pages that stand there now.
        pages: Vec<CodedPage>,
    },
    /// `["blocks", t, [[block, valid, written], ...]]`: counts of blocks change.
    Blocks {
        /// When.
        at: u64,
        /// The blocks and their new counts.
        blocks: Vec<[u32; 3]>,
    },
    /// `["open", t, [blocks]]`: other blocks are written from now on.
    Open {
        /// When.
        at: u64,
        /// All of them.
        blocks: Vec<u32>,
    },
    /// `["counts", t, page hits, page misses, flash writes, erases]`: new counters.
    Counts {
        /// When.
        at: u64,
        /// Of the measured part so far.
        counts: SceneCounts,
    },
    /// `["op", begin, end, die, kind, cause, units, suspended, queued, request, page]`: an operation begins. `request` and
    /// `page` are null where there is none.
    Operation(SceneOperation),
}

impl SceneEvent {
    /// When it happens, in ns.
    pub fn at(&self) -> Nanos {
        Nanos(match self {
            SceneEvent::Request(request) => request.at,
            SceneEvent::Operation(operation) => operation.begin,
            SceneEvent::Done { at, .. }
            | SceneEvent::Evict { at, .. }
            | SceneEvent::WriteBack { at, .. }
            | SceneEvent::Bypass { at, .. }
            | SceneEvent::Discard { at, .. }
            | SceneEvent::Rename { at, .. }
            | SceneEvent::List { at, .. }
            | SceneEvent::Splice { at, .. }
            | SceneEvent::Blocks { at, .. }
            | SceneEvent::Open { at, .. }
            | SceneEvent::Counts { at, .. } => *at,
        })
    }

    /// Place among events of the same time: causes come before effects.
    pub fn rank(&self) -> u8 {
        match self {
            SceneEvent::Request(_) => 0,
            SceneEvent::Evict { .. }
            | SceneEvent::WriteBack { .. }
            | SceneEvent::Bypass { .. }
            | SceneEvent::Discard { .. }
            | SceneEvent::Rename { .. } => 1,
            SceneEvent::List { .. } | SceneEvent::Splice { .. } => 2,
            SceneEvent::Blocks { .. } | SceneEvent::Open { .. } => 3,
            SceneEvent::Operation(_) => 4,
            SceneEvent::Counts { .. } => 5,
            SceneEvent::Done { .. } => 6,
        }
    }
}
