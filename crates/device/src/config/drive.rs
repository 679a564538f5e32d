//! Devices with units of their own: which of the keys make one, and what follows from them.

use super::reader::KeyReader;
use super::{
    Allocation, Buffer, CachePersistence, CommandOrder, DeviceConfig, EvictWait, FlashUnit, GcMode,
    GcStreams, PauseWhileWritesWait, ProgramPlanes, ReadRetry, WearLevelling,
};
use crate::map::UnitShape;
use destage_types::{PageSize, Picos, QueuePer};

impl DeviceConfig {
    /// Does the device map, program, buffer or collect in units of its own? Then its map is
    /// [`crate::map::UnitMap`].
    pub fn has_units(&self) -> bool {
        self.unit_key().is_some()
    }

    /// The first key that asks for units, as messages name it.
    pub fn unit_key(&self) -> Option<&'static str> {
        let keys = [
            ("mapping_bytes", self.mapping() != self.geometry.page),
            (
                "program_pages",
                self.program_pages.is_some_and(|pages| pages > 1),
            ),
            ("program_planes", self.programs_all_planes()),
            ("unit_hold", self.unit_hold.is_some()),
            ("buffer", self.is_bounded()),
            ("gc_mode", self.gc_mode == GcMode::Paced),
            ("gc_unit = drive", self.gc_unit == FlashUnit::Drive),
            ("cache_persistence = nvm", self.keeps_cache()),
            ("t_suspend", self.t_suspend.is_some()),
            ("a list for t_read", self.t_read.differ()),
            ("read_retry", self.read_retry.is_some()),
            ("read_retry_suspended", self.read_retry_suspended.is_some()),
            ("program_pause", self.program_pause.is_some()),
            ("slc_blocks or slc_dynamic", self.has_slc()),
            ("handles", self.handles() > 1),
            ("mapping", self.has_cached_mapping()),
            ("parity", self.parity.unwrap_or(0) > 0),
        ];
        keys.into_iter().find(|key| key.1).map(|key| key.0)
    }

    /// Steps of reads on a die that has suspended a program or an erase.
    pub fn steps_beside_suspended(&self) -> Option<&ReadRetry> {
        (self.read_retry_suspended.as_ref()).or(self.read_retry.as_ref())
    }

    /// The first key that asks for the host's side: what commands pass on their way to the cache and back.
    pub fn host_side_key(&self) -> Option<&'static str> {
        let keys = [
            ("t_command", self.t_command.is_some()),
            ("command_slots", self.command_slots.is_some()),
            (
                "command_order",
                self.command_order == Some(CommandOrder::Fifo),
            ),
            ("write_pace", self.write_pace.is_some()),
            (
                "host_link",
                self.host_link.read().is_some() || self.host_link.write().is_some(),
            ),
        ];
        keys.into_iter().find(|key| key.1).map(|key| key.0)
    }

    /// The unit of mapping, which is a page of the cache too.
    pub fn mapping(&self) -> PageSize {
        self.mapping_bytes.unwrap_or(self.geometry.page)
    }

    /// Mapping units of a page: k.
    pub fn mapping_units_per_page(&self) -> u32 {
        (self.geometry.page.bytes() / self.mapping().bytes()) as u32
    }

    /// Mapping units of a block of one plane.
    pub fn mapping_units_per_block(&self) -> u32 {
        self.geometry.pages_per_block * self.mapping_units_per_page()
    }

    /// Bytes that programs at the same time on all planes write.
    pub fn bytes_of_planes(&self) -> u64 {
        let pages = self.geometry.planes() * self.program_pages.unwrap_or(1);
        u64::from(pages) * self.geometry.page.bytes()
    }

    /// Does a program go to all planes of its die?
    pub fn programs_all_planes(&self) -> bool {
        self.program_planes == Some(ProgramPlanes::All)
    }

    /// Does a frame stay until its data are on flash?
    pub fn is_bounded(&self) -> bool {
        self.buffer == Some(Buffer::Bounded)
    }

    /// Does the cache survive a power cut?
    pub fn keeps_cache(&self) -> bool {
        self.cache_persistence == Some(CachePersistence::Nvm)
    }

    /// How units, pages and blocks lie in each other.
    pub fn shape(&self) -> UnitShape {
        UnitShape::new(
            &self.geometry,
            self.mapping_units_per_page(),
            self.program_pages.unwrap_or(1),
            self.programs_all_planes(),
            self.gc_unit == FlashUnit::Drive,
        )
    }

    /// Frontiers of the host.
    pub fn host_frontiers(&self) -> u32 {
        self.shape().count_of(self.frontier)
    }
}

/// Most mapping units of a page.
const MAX_PER_PAGE: u64 = 16;

/// Fewest blocks between the marks with `gc_hold`.
const LEAST_HELD: u32 = 4;

/// Do the keys of units go together, and with the others?
pub(super) fn checks(read: &mut KeyReader, c: &DeviceConfig) {
    let mut no = |key: &str, why: String| read.impossible(key, format!("impossible: {why}"));
    let (page, unit) = (c.geometry.page.bytes(), c.mapping().bytes());
    if unit > page {
        return no(
            "mapping_bytes",
            format!("a mapping unit of {unit} bytes is larger than page_bytes = {page}"),
        );
    }
    if page / unit > MAX_PER_PAGE {
        let why = format!(
            "page_bytes = {page} are {} mapping units, at most {MAX_PER_PAGE} are allowed",
            page / unit
        );
        return no("mapping_bytes", why);
    }
    needs(&mut no, c);
    let Some(asks) = c.unit_key() else {
        return inside(&mut no, c);
    };
    if !matches!(c.gc_mode, GcMode::Paced | GcMode::Off) {
        let why =
            format!("{asks} needs gc_mode = paced or off: collection at once knows pages alone");
        no("gc_mode", why);
    }
    refuses(&mut no, c, asks);
    if c.programs_all_planes() {
        for (key, unit) in [("frontier", c.frontier), ("gc_unit", c.gc_unit)] {
            if unit == FlashUnit::Plane {
                no(key, "program_planes = all makes one block of those of all planes, so it must be die or chip".to_owned());
            }
        }
    }
    if c.gc_unit == FlashUnit::Drive {
        drive_wide(&mut no, c);
    }
    of_units(&mut no, c);
    inside(&mut no, c);
    marks(&mut no, c);
}

/// Keys of what is inside a drive.
fn inside(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    super::slc::checks(no, c);
    super::handles::checks(no, c);
    super::mapping::checks(no, c);
}

/// What S-0 needs: every part of the drive has frontiers of its own, and `key` says which part asks.
pub(super) fn needs_frontiers(no: &mut dyn FnMut(&str, String), c: &DeviceConfig, key: &str) {
    let needed = [
        (c.allocation == Allocation::Dynamic, "allocation = dynamic"),
        (c.is_bounded(), "buffer = bounded"),
        (c.gc_mode == GcMode::Paced, "gc_mode = paced"),
        (
            c.gc_streams != Some(GcStreams::Shared),
            "gc_streams = own (collected data have blocks of their own)",
        ),
    ];
    for (_, needed) in needed.iter().filter(|row| !row.0) {
        no(key, format!("it needs {needed}"));
    }
}

/// Keys that need another one.
fn needs(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    let paced_keys = [
        ("gc_high", c.gc_high.is_some()),
        ("gc_low", c.gc_low.is_some()),
        ("gc_ratio_max", c.gc_ratio_max.is_some()),
        ("gc_credit", c.gc_credit.is_some()),
        ("gc_burst", c.gc_burst.is_some()),
        ("gc_hold", c.gc_hold.is_some()),
        ("gc_streams", c.gc_streams.is_some()),
    ];
    for (key, _) in paced_keys
        .iter()
        .filter(|key| key.1 && c.gc_mode != GcMode::Paced)
    {
        no(
            key,
            format!("it needs gc_mode = paced, and gc_mode is {}", c.gc_mode),
        );
    }
    if let Some(streams @ (GcStreams::TwoRegion | GcStreams::InPlace)) = c.gc_streams {
        let why = format!(
            "gc_mode = paced collects a little at a time, and gc_streams = {streams} whole blocks in no time: it is a rule of \
             `destage waf` alone (gc_streams = shared or own)"
        );
        no("gc_streams", why);
    }
    for (key, given) in [
        ("rewrite", c.rewrite.is_some()),
        ("frame_release", c.frame_release.is_some()),
    ] {
        if given && !c.is_bounded() {
            no(key, "it needs buffer = bounded".to_owned());
        }
    }
    if let Some(pause) = c.program_pause
        && pause.while_writes_wait == PauseWhileWritesWait::PutOff
        && !c.is_bounded()
    {
        let why = "while_writes_wait = put_off needs buffer = bounded: no write waits for a frame otherwise";
        no("program_pause", why.to_owned());
    }
}

/// Features that only devices of pages have; `asks` is the key that asks for units.
fn refuses(no: &mut dyn FnMut(&str, String), c: &DeviceConfig, asks: &str) {
    let refused = [
        ("queue_per", c.queue_per != QueuePer::Die, "queue_per = die"),
        (
            "multi_plane",
            c.multi_plane,
            "multi_plane = false (program_planes = all programs all planes)",
        ),
        ("copyback", c.copyback, "copyback = false"),
        ("summary_page", c.summary_page, "summary_page = false"),
        (
            "wear_levelling",
            c.wear_levelling == WearLevelling::Static,
            "wear_levelling = dynamic or off (data that stay where they are are not moved)",
        ),
        (
            "cache_region",
            c.cache_region.is_some(),
            "cache_region = false",
        ),
    ];
    for (key, _, needed) in refused.iter().filter(|row| row.1) {
        no(key, format!("{asks} needs {needed}"));
    }
}

/// Keys of program units and of the buffer.
fn of_units(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    let pages = c.program_pages.unwrap_or(1);
    if !c.geometry.pages_per_block.is_multiple_of(pages) {
        let why = format!(
            "{pages} pages do not divide pages_per_block = {}",
            c.geometry.pages_per_block
        );
        no("program_pages", why);
    }
    if pages > 1 && c.t_program.differ() {
        no(
            "t_program",
            format!("program_pages = {pages} programs all pages of a word line in one time"),
        );
    }
    if c.unit_hold == Some(Picos(0)) {
        no(
            "unit_hold",
            "0 closes a unit as it is opened; leave it out, or give a time".to_owned(),
        );
    }
    if c.is_bounded() && c.evict_wait != EvictWait::ProgramDone {
        let why = format!(
            "buffer = bounded says when a write is done, so evict_wait = {} has no meaning (evict_wait = program_done)",
            c.evict_wait
        );
        no("evict_wait", why);
    }
}

/// Blocks of one index over all dies are one block: what that asks for.
fn drive_wide(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    if c.allocation == Allocation::Static {
        let why = "gc_unit = drive fills a block on all dies, so allocation must be dynamic";
        no("gc_unit", why.to_owned());
    }
    let needed = match c.programs_all_planes() {
        true => FlashUnit::Die,
        false => FlashUnit::Plane,
    };
    if c.frontier != needed {
        let why = format!(
            "gc_unit = drive has a part of its block on every {needed}, so frontier must be {needed}, and it is {}",
            c.frontier
        );
        no("gc_unit", why);
    }
}

/// Can paced collection always make room?
fn marks(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    if c.gc_mode != GcMode::Paced {
        return;
    }
    let (Some(high), Some(low)) = (c.gc_high, c.gc_low) else {
        return no("gc_mode", "paced needs gc_high and gc_low".to_owned());
    };
    if high <= low {
        return no(
            "gc_high",
            format!("gc_high = {high} must be larger than gc_low = {low}"),
        );
    }
    if c.gc_hold == Some(true) && high - low < LEAST_HELD {
        let why = format!(
            "it needs gc_high - gc_low of at least {LEAST_HELD} blocks, and gc_high = {high}, gc_low = {low}"
        );
        return no("gc_hold", why);
    }
    let shape = c.shape();
    let unit = |of: FlashUnit| shape.count_of(of);
    if unit(c.gc_unit) > unit(c.frontier) {
        let why = format!(
            "gc_mode = paced charges what a frontier writes to one gc_unit, and a {} has several of {} (gc_unit = {}, or \
             frontier = {})",
            c.frontier, c.gc_unit, c.frontier, c.gc_unit
        );
        return no("gc_unit", why);
    }
    // Frontiers that fill parts of one block are one.
    let frontiers = match c.gc_unit {
        FlashUnit::Drive => 1,
        _ => unit(c.frontier) / unit(c.gc_unit).min(unit(c.frontier)).max(1),
    };
    let of_collector = frontiers * (c.collector_frontiers() + u32::from(c.has_cached_mapping()));
    if low < of_collector {
        let map = if c.has_cached_mapping() {
            " and the map"
        } else {
            ""
        };
        let why = format!(
            "gc_low = {low} is below the {of_collector} frontiers of the collector{map} in a gc_unit"
        );
        return no("gc_low", why);
    }
    room_of_marks(no, c, high, frontiers);
}

/// Do blocks and their marks leave room for all that the host can address?
fn room_of_marks(no: &mut dyn FnMut(&str, String), c: &DeviceConfig, high: u32, frontiers: u32) {
    let shape = c.shape();
    if shape.places > 65_535 {
        let why = format!(
            "a block of {} mapping units with gc_unit = {}, at most 65535 are allowed",
            shape.places, c.gc_unit
        );
        return no("pages_per_block", why);
    }
    if shape.all_places() > u64::from(u32::MAX) {
        let why = format!(
            "{} mapping units, at most {} are allowed",
            shape.all_places(),
            u32::MAX
        );
        return no("blocks_per_plane", why);
    }
    // Each GC unit keeps gc_high free blocks and the open ones.
    let units = u64::from(shape.count_of(c.gc_unit));
    let blocks = native_blocks(c);
    let kept = u64::from(high) + u64::from(frontiers * c.open_blocks());
    let logical = (c.logical_pages() + c.translation_pages()).div_ceil(units);
    let most = blocks.saturating_sub(kept) * u64::from(shape.places);
    if logical > most {
        let why = format!(
            "a gc_unit of {blocks} blocks holds up to {logical} logical mapping units; with gc_high = {high} free blocks and \
             the open ones it takes {most} (more op, more and smaller blocks, or lower marks)"
        );
        no("op", why);
    }
}

/// Blocks of a GC unit that are not always in SLC mode.
fn native_blocks(c: &DeviceConfig) -> u64 {
    let shape = c.shape();
    let static_slc = c.slc_blocks_of_group() * shape.groups;
    u64::from(shape.all_blocks() - static_slc) / u64::from(shape.count_of(c.gc_unit))
}

/// S-0.8: a drive with frontiers of its own that has few spare blocks.
pub(super) fn few_spare_blocks(c: &DeviceConfig) -> Option<String> {
    if c.handles() == 1 && !c.has_cached_mapping() {
        return None;
    }
    let shape = c.shape();
    let units = u64::from(shape.count_of(c.gc_unit));
    let used = (c.logical_pages() + c.translation_pages()).div_ceil(units);
    let spare = native_blocks(c) - used.div_ceil(u64::from(shape.places));
    let needed = u64::from(c.gc_high? + c.open_blocks());
    (spare < 2 * needed).then(|| {
        format!(
            "a gc_unit has {spare} spare blocks, and gc_high and its open blocks take {needed} of them: below twice that \
             write amplification can be very high (more op)"
        )
    })
}
