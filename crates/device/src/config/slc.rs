//! The SLC cache: blocks that are written with one bit a cell (S-1).

use super::reader::{Allowed, KeyReader, KeyValue, ValueType};
use super::{DeviceConfig, FlashUnit, GcPolicy, SlcFull};
use destage_types::{Nanos, Picos};
use toml::Value;

/// Most native blocks of a GC unit that are in SLC mode at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlcDynamic {
    /// So many.
    Blocks(u32),
    /// All.
    All,
}

impl KeyValue for SlcDynamic {
    const EXPECTED: &'static str = "blocks of a gc_unit, or \"all\"";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        match value {
            Value::String(word) if word == "all" => SlcDynamic::All,
            Value::Integer(_) => SlcDynamic::Blocks(from.value(key, value, Some(0..=1 << 24))),
            _ => from.wrong_type(key, SlcDynamic::All),
        }
    }

    fn toml(&self) -> Option<String> {
        match self {
            SlcDynamic::Blocks(blocks) => Some(blocks.to_string()),
            SlcDynamic::All => Some("\"all\"".to_owned()),
        }
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::IntegerOr(0..=1 << 24, "all")
    }
}

/// When an idle drive begins to fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlcIdle {
    /// Never.
    Off,
    /// So long after the last command has left.
    After(Picos),
}

impl KeyValue for SlcIdle {
    const EXPECTED: &'static str = "a time such as \"1s\", or \"off\"";
    const TAKES_OFF: bool = true;

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        match from.value(key, value, None) {
            Some(time) => SlcIdle::After(time),
            None => SlcIdle::Off,
        }
    }

    fn toml(&self) -> Option<String> {
        match self {
            SlcIdle::Off => Some("\"off\"".to_owned()),
            SlcIdle::After(time) => time.toml(),
        }
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Time
    }
}

/// When an idle drive folds if nothing is given.
const A_SECOND: Nanos = Nanos(1_000_000_000);

/// Bits of a native cell where none are given: TLC.
const CELL_BITS: u32 = 3;

/// Cycles of a cell with one bit, for each of those with several.
const CYCLES: u32 = 30;

/// Times of a block in SLC mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlcTimes {
    /// Of the array, for a program.
    pub program: Nanos,
    /// The same for a read, without `t_ready`.
    pub read: Nanos,
    /// Of an erase.
    pub erase: Nanos,
}

impl DeviceConfig {
    /// Is there an SLC cache?
    pub fn has_slc(&self) -> bool {
        self.slc_blocks.unwrap_or(0) > 0 || self.slc_dynamic_most() > 0
    }

    /// Most native blocks of a GC unit that are in SLC mode at a time: d.
    pub fn slc_dynamic_most(&self) -> u32 {
        match self.slc_dynamic {
            None => 0,
            Some(SlcDynamic::Blocks(blocks)) => blocks,
            Some(SlcDynamic::All) => u32::MAX,
        }
    }

    /// How long after its last command an idle drive folds, if it ever does.
    pub fn slc_idle_time(&self) -> Option<Nanos> {
        match self.slc_idle {
            None => Some(A_SECOND),
            Some(SlcIdle::Off) => None,
            Some(SlcIdle::After(time)) => Some(time.times(1)),
        }
    }

    /// Times that a block is smaller in SLC mode: b'.
    pub fn slc_divisor(&self) -> u32 {
        match self.program_pages.unwrap_or(1) {
            1 => self.cell_bits.unwrap_or(CELL_BITS),
            pages => pages,
        }
    }

    /// Places of the smallest program unit of the host: one of SLC blocks if there are any.
    pub fn least_host_unit(&self) -> u32 {
        let shape = self.shape();
        match self.has_slc() {
            true => shape.read_places(),
            false => shape.unit(),
        }
    }

    /// Times of blocks in SLC mode.
    pub fn slc_times(&self) -> SlcTimes {
        let micros = |given: Option<Picos>, usual: u64| given.unwrap_or(Picos(usual * 1_000_000));
        SlcTimes {
            program: micros(self.t_program_slc, 200).times(1),
            read: micros(self.t_read_slc, 25).times(1),
            erase: self.t_erase_slc.unwrap_or(self.t_erase).times(1),
        }
    }

    /// Rated cycles of a block in SLC mode, if the device has any.
    pub fn rated_slc_cycles(&self) -> Option<u32> {
        let usual = self.pe_cycles.map(|cycles| cycles.saturating_mul(CYCLES));
        self.pe_cycles_slc.or(usual)
    }

    /// Free native blocks of a GC unit that the SLC cache leaves alone.
    pub fn slc_left_alone(&self) -> u32 {
        self.slc_reserve.or(self.gc_high).unwrap_or(0)
    }

    /// Groups of blocks in a GC unit.
    fn groups_of_gc_unit(&self) -> u32 {
        let of_group = match (self.gc_unit, self.programs_all_planes()) {
            (FlashUnit::Drive, _) => self.geometry.planes(),
            (_, true) => self.geometry.planes_per_die,
            (_, false) => 1,
        };
        (self.planes_per(self.gc_unit) / of_group).max(1)
    }

    /// Static SLC blocks of each group of blocks, and so of each plane.
    pub fn slc_blocks_of_group(&self) -> u32 {
        let of_group = self.slc_blocks.unwrap_or(0) / self.groups_of_gc_unit();
        of_group.min(self.geometry.blocks_per_plane - 1)
    }

    /// Pages in static SLC blocks.
    pub(super) fn static_slc_pages(&self) -> u64 {
        let g = &self.geometry;
        let of_plane = u64::from(self.slc_blocks_of_group()) * u64::from(g.pages_per_block);
        of_plane * u64::from(g.planes())
    }

    fn slc_keys(&self) -> [(&'static str, bool); 9] {
        [
            ("cell_bits", self.cell_bits.is_some()),
            ("slc_reserve", self.slc_reserve.is_some()),
            ("slc_full", self.slc_full.is_some()),
            ("slc_idle", self.slc_idle.is_some()),
            ("slc_keep", self.slc_keep.is_some()),
            ("t_program_slc", self.t_program_slc.is_some()),
            ("t_read_slc", self.t_read_slc.is_some()),
            ("t_erase_slc", self.t_erase_slc.is_some()),
            ("pe_cycles_slc", self.pe_cycles_slc.is_some()),
        ]
    }

    /// Does a host frontier without SLC blocks wait for folding?
    pub fn folds_when_full(&self) -> bool {
        self.slc_full == Some(SlcFull::Fold)
    }
}

/// Do the keys of the SLC cache go together, and with the others?
pub(super) fn checks(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    if !c.has_slc() {
        for (key, _) in c.slc_keys().iter().filter(|key| key.1) {
            no(
                key,
                "it needs an SLC cache: slc_blocks or slc_dynamic".to_owned(),
            );
        }
        return;
    }
    let key = match c.slc_dynamic_most() {
        0 => "slc_blocks",
        _ => "slc_dynamic",
    };
    super::drive::needs_frontiers(no, c, key);
    if c.gc_policy != GcPolicy::Greedy {
        no(key, "it needs gc_policy = greedy".to_owned());
    }
    let (w, b) = (c.program_pages.unwrap_or(1), c.slc_divisor());
    if w > 1 && c.cell_bits.is_some_and(|bits| bits != w) {
        let why = format!("program_pages = {w} programs all {w} bits of its cells at once");
        no("cell_bits", why);
    }
    if !c.geometry.pages_per_block.is_multiple_of(w * b) {
        let why = format!(
            "in SLC mode a block has a part of its pages, in whole units, so {} pages must be a multiple of {} (program_pages = \
             {w} times {b} bits of a cell)",
            c.geometry.pages_per_block,
            w * b
        );
        no("pages_per_block", why);
    }
    if let (Some(reserve), Some(high)) = (c.slc_reserve, c.gc_high)
        && reserve < high
    {
        no(
            "slc_reserve",
            format!("{reserve} is below gc_high = {high}"),
        );
    }
    if c.pe_cycles_slc.is_some() && c.pe_cycles.is_none() {
        no("pe_cycles_slc", "it needs pe_cycles".to_owned());
    }
    static_blocks(no, c);
}

fn static_blocks(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    let (blocks, groups) = (c.slc_blocks.unwrap_or(0), c.groups_of_gc_unit());
    if !blocks.is_multiple_of(groups) {
        let why = format!("{blocks} blocks of a gc_unit cannot be spread over its {groups} planes");
        no("slc_blocks", why);
    }
    let all = c.geometry.blocks_per_plane;
    if blocks / groups >= all {
        no(
            "slc_blocks",
            format!("of {all} blocks of a plane none would be native"),
        );
    }
}
