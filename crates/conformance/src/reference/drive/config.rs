//! The keys of a drive's device, and what a run adds to them.

use std::collections::BTreeMap;
use std::fmt::Display;

use destage_device::config::{
    DeviceConfig, EffectiveDevice, FlashUnit, GcMode, MapEvict, MappingTable, Ratio, SlcDynamic,
    SlcFull, SlcIdle, Suspend,
};
use destage_device::nand::{ArrayConfig, Suspension, Timing};
use destage_types::{Nanos, Picos, QueuePer};

use crate::reference::array::{Gates, SlowArray};
use crate::reference::rng::SplitMix64;

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

/// A drive, and a run on it.
#[derive(Clone, PartialEq, Debug)]
pub struct DriveConfig {
    /// Keys of the device, beside those of the preset `default`.
    keys: BTreeMap<&'static str, String>,
    /// Over-provisioning in place of `op`, for closed forms on drives that are too full to go on for ever.
    pub unchecked_op: Option<f64>,
    /// Frames of one mapping unit.
    pub frames: u64,
    /// A scheme of the other models.
    pub scheme: String,
    /// Parameters of `cac` around it, each behind a comma.
    pub cac: Option<&'static str>,
    /// `None`: only full frames make the buffer write.
    pub drain: Option<Drain>,
    /// Do pages that a read missed enter?
    pub read_allocation: bool,
    /// Is a FLUSH served when all else is done?
    pub flush_at_end: bool,
    /// Of each stream.
    pub queue_depth: Option<u64>,
    /// Of all draws.
    pub seed: u64,
}

/// Keys of the device of the worked examples: one die, one plane, 16 blocks of 8 pages of 16 KiB.
const SMALL: [(&str, &str); 28] = [
    ("channels", "1"),
    ("chips_per_channel", "1"),
    ("dies_per_chip", "1"),
    ("planes_per_die", "1"),
    ("blocks_per_plane", "16"),
    ("pages_per_block", "8"),
    ("page_bytes", "16384"),
    ("mapping_bytes", "4096"),
    ("program_pages", "1"),
    ("program_planes", "one"),
    ("op", "0.5"),
    ("t_read", "50us"),
    ("t_program", "600us"),
    ("t_erase", "3ms"),
    ("t_cmd", "100ns"),
    ("t_byte", "1ns"),
    ("t_dram", "1us"),
    ("t_resume", "0ns"),
    ("allocation", "dynamic"),
    ("queue_per", "die"),
    ("frontier", "die"),
    ("gc_unit", "die"),
    ("gc_mode", "paced"),
    ("gc_high", "3"),
    ("gc_low", "1"),
    ("gc_streams", "own"),
    ("wear_levelling", "dynamic"),
    ("buffer", "bounded"),
];

/// All keys of the SLC cache.
const SLC: [&str; 10] = [
    "cell_bits",
    "slc_blocks",
    "slc_dynamic",
    "slc_reserve",
    "slc_full",
    "slc_idle",
    "slc_keep",
    "t_program_slc",
    "t_read_slc",
    "t_erase_slc",
];

impl DriveConfig {
    /// The device of the worked examples with so many frames, drained as fast as it can be.
    pub fn small(frames: u64) -> DriveConfig {
        DriveConfig {
            keys: SMALL.map(|(key, value)| (key, value.to_owned())).into(),
            unchecked_op: Some(0.25),
            frames,
            scheme: "fifo".to_owned(),
            cac: None,
            drain: Some(Drain {
                low: 0.0,
                high: 0.0,
                depth: None,
            }),
            read_allocation: false,
            flush_at_end: false,
            queue_depth: None,
            seed: 1,
        }
    }

    /// Gives a key another value.
    pub fn set(&mut self, key: &'static str, value: impl Display) {
        self.keys.insert(key, value.to_string());
    }

    /// Takes a key out.
    pub fn unset(&mut self, key: &'static str) {
        self.keys.remove(key);
    }

    /// Takes the SLC cache away.
    pub fn unset_slc(&mut self) {
        for key in SLC {
            self.unset(key);
        }
    }

    /// Replaces a word in the value of a key, if it is given.
    pub fn change(&mut self, key: &str, from: &str, to: &str) {
        if let Some(value) = self.keys.get_mut(key) {
            *value = value.replace(from, to);
        }
    }

    /// Has the key this value?
    pub fn is(&self, key: &str, value: &str) -> bool {
        self.keys.get(key).is_some_and(|given| given == value)
    }

    /// Is the key given?
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// The value of a key that is a number.
    ///
    /// # Panics
    /// It is not given, or is none.
    pub fn number(&self, key: &str) -> u64 {
        self.keys[key].parse().expect("a number")
    }

    /// Dies of the drive.
    pub fn dies(&self) -> u64 {
        self.number("channels") * self.number("chips_per_channel") * self.number("dies_per_chip")
    }

    /// Places of a program unit.
    pub fn unit_places(&self) -> u64 {
        let planes = match self.is("program_planes", "all") {
            true => self.number("planes_per_die"),
            false => 1,
        };
        let units = self.number("page_bytes") / self.number("mapping_bytes");
        self.number("program_pages") * planes * units
    }

    /// Places of a program unit of a block in SLC mode.
    pub fn slc_unit_places(&self) -> u64 {
        self.unit_places() / self.number("program_pages")
    }

    /// The scheme in the `drain` around it.
    pub fn expression(&self) -> String {
        let mut scheme = self.scheme.clone();
        if let Some(Drain { low, high, depth }) = self.drain {
            let depth = depth.map_or("all".to_owned(), |depth| depth.to_string());
            scheme = format!("drain({scheme},low={low},high={high},depth={depth})");
        }
        self.cac
            .map_or(scheme.clone(), |of| format!("cac({scheme}{of})"))
    }

    /// The device.
    ///
    /// # Errors
    /// Keys that make none together, or none that the slow drive models.
    pub fn device(&self) -> Result<DeviceConfig, String> {
        let keys = self.keys.iter();
        let keys: Vec<String> = keys.map(|(key, value)| format!("{key}={value}")).collect();
        let device = EffectiveDevice::from_preset("default", &keys).map_err(|e| e.to_string())?;
        let mut device = device.into_config();
        device.op = self
            .unchecked_op
            .and_then(Ratio::from_f64)
            .unwrap_or(device.op);
        let alike = device.frontier == device.gc_unit && device.gc_unit != FlashUnit::Chip;
        let paced = device.gc_mode == GcMode::Paced && device.queue_per == QueuePer::Die;
        match paced && (alike || device.gc_unit == FlashUnit::Drive) {
            true => Ok(device),
            false => Err(
                "the slow drive needs gc_mode = paced, queue_per = die, and frontier = gc_unit"
                    .to_owned(),
            ),
        }
    }
}

/// D-11: marks and limits of paced collection, in blocks and places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub high: u64,
    pub low: u64,
    pub ratio_max: u64,
    pub credit: u64,
    pub burst: u64,
}

impl Marks {
    /// Those of a device with units of so many places.
    pub(super) fn new(c: &DeviceConfig, unit_places: u64) -> Marks {
        let or = |key: Option<u32>, usual: u64| key.map_or(usual, u64::from);
        Marks {
            high: or(c.gc_high, 0),
            low: or(c.gc_low, 0),
            ratio_max: or(c.gc_ratio_max, 16),
            credit: or(c.gc_credit, 4 * unit_places),
            burst: or(c.gc_burst, unit_places),
        }
    }
}

/// S-1: the keys of the SLC cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlcKeys {
    /// Is there one?
    pub on: bool,
    /// b': 1 without a cache.
    pub smaller: usize,
    /// `slc_blocks` of each GC unit.
    pub static_blocks: usize,
    /// `slc_dynamic` of each GC unit.
    pub most_dynamic: usize,
    /// `slc_reserve`.
    pub reserve: usize,
    /// `slc_full = fold`.
    pub fold: bool,
    /// `slc_idle`.
    pub idle: Option<u64>,
    /// `slc_keep`.
    pub keep: usize,
    pub t_program: u64,
    pub t_read: u64,
    pub t_erase: u64,
}

impl SlcKeys {
    pub(super) fn new(c: &DeviceConfig) -> SlcKeys {
        let number = |key: Option<u32>, usual: u32| key.unwrap_or(usual) as usize;
        let most_dynamic = match c.slc_dynamic {
            None => 0,
            Some(SlcDynamic::Blocks(blocks)) => blocks as usize,
            Some(SlcDynamic::All) => usize::MAX,
        };
        let static_blocks = number(c.slc_blocks, 0);
        let on = static_blocks > 0 || most_dynamic > 0;
        let smaller = match c.program_pages.unwrap_or(1) {
            _ if !on => 1,
            1 => number(c.cell_bits, 3),
            pages => pages as usize,
        };
        SlcKeys {
            on,
            smaller,
            static_blocks,
            most_dynamic,
            reserve: number(c.slc_reserve.or(c.gc_high), 0),
            fold: c.slc_full == Some(SlcFull::Fold),
            idle: match c.slc_idle {
                Some(SlcIdle::Off) => None,
                None => on.then_some(1_000_000_000),
                Some(SlcIdle::After(time)) => on.then(|| ns(time)),
            },
            keep: number(c.slc_keep, 0),
            t_program: c.t_program_slc.map_or(200_000, ns),
            t_read: c.t_read_slc.map_or(25_000, ns) + ns(c.t_ready),
            t_erase: ns(c.t_erase_slc.unwrap_or(c.t_erase)),
        }
    }
}

/// S-2: the keys of a mapping table on flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapKeys {
    /// Are slots translation pages?
    pub by_page: bool,
    /// T.
    pub entries_per_page: usize,
    /// Slots, and those of them in the drive.
    pub capacity: usize,
    pub near: usize,
    pub batch: bool,
    pub depth: usize,
    pub t_hmb: u64,
}

impl MapKeys {
    /// None if the mapping table is in memory.
    pub(super) fn new(c: &DeviceConfig) -> Option<MapKeys> {
        let by_page = match c.mapping? {
            MappingTable::Full => return None,
            MappingTable::Entry => false,
            MappingTable::Page => true,
        };
        let m = c.mapping().bytes();
        let slots = |bytes: u64| (bytes / if by_page { m } else { 8 }) as usize;
        let capacity = slots(c.map_cache?.0).max(1);
        let dies = c.geometry.planes() / c.geometry.planes_per_die;
        Some(MapKeys {
            by_page,
            entries_per_page: (m / u64::from(c.mapping_entry_bytes.unwrap_or(8))) as usize,
            capacity,
            near: c.map_sram.map_or(usize::MAX, |size| slots(size.0)),
            batch: c.map_evict == Some(MapEvict::Batch),
            depth: c.map_evict_depth.unwrap_or(dies) as usize,
            t_hmb: c.t_hmb.map_or(1_000, ns),
        })
    }

    /// Key of the slot of a logical unit.
    pub(super) fn key(&self, lpn: usize) -> usize {
        match self.by_page {
            true => lpn / self.entries_per_page,
            false => lpn,
        }
    }

    /// Translation page of a key.
    pub(super) fn page(&self, key: usize) -> usize {
        match self.by_page {
            true => key,
            false => key / self.entries_per_page,
        }
    }
}

/// Nanoseconds of a key, rounded up.
pub(super) fn ns(time: Picos) -> u64 {
    time.0.div_ceil(1000)
}

/// The array of a drive. Dies are its chips, and operations bring their phases.
pub(super) fn array(c: &DeviceConfig, seed: u64) -> SlowArray {
    let g = &c.geometry;
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
        channels: g.channels,
        chips_per_channel: g.chips_per_channel * g.dies_per_chip,
        timing,
        queue: c.queue,
        watch_idle: false,
        suspension: (c.suspend != Suspend::Off).then(|| Suspension {
            pause: Nanos(c.t_suspend.map_or(0, ns)),
            programs: c.suspend == Suspend::ProgramErase,
            resume: Nanos(ns(c.t_resume)),
        }),
        late_times: false,
    });
    array.gates = Some(Gates::default());
    let steps = c.read_retry.iter().flat_map(|retry| retry.steps());
    array.retry = steps.map(|s| (s.share.as_f64(), ns(s.time))).collect();
    array.retry_suspended = match &c.read_retry_suspended {
        Some(retry) => (retry.steps().iter())
            .map(|s| (s.share.as_f64(), ns(s.time)))
            .collect(),
        None => array.retry.clone(),
    };
    array.draws = SplitMix64::new(seed);
    array
}
