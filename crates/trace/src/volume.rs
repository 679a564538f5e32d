//! Traces of several volumes: what the volumes are called, and where their addresses go.
//!
//! A volume is a stream of a format whose devices have addresses of their own. A simulated
//! device is one range of addresses, so the volumes are put one behind the other
//! ([`Volumes::Stack`]), or all but one are dropped ([`Volumes::Only`]), or they share addresses
//! ([`Volumes::Overlay`]). To give every volume a device of its own, split a loaded trace.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, Nanos, RequestBatch, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

use crate::extent::MAX_BYTES;
use crate::sink::UNTIMED_NS;

/// Room of a stacked volume is a multiple of this many sectors, 1 MiB.
const ROOM: u64 = (1 << 20) / SECTOR_BYTES;
/// Different streams of one trace; more would be no table of volumes but a second trace.
pub(crate) const MAX_VOLUMES: usize = 1 << 20;

/// Treatment of the volumes of a trace that has several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Volumes {
    /// Each volume has an address range of its own: in order of first appearance, each as long as
    /// its highest address in the trace (up to the limit) rounded up to 1 MiB. A trace with one
    /// volume keeps its addresses.
    ///
    /// The ranges depend on the whole trace. [`load`](fn@crate::load) places the requests when all
    /// are read. A [`Reader`](crate::Reader) of a file reads the file a second time once it meets
    /// a second volume, and goes on; one of standard input or of a stream cannot and refuses.
    #[default]
    Stack,
    /// Only the volume that [`Volume::name`] calls so. Addresses
    /// are those of the trace, and the first request of the volume arrives at 0.
    Only(String),
    /// All volumes at the addresses of the trace: they share data.
    Overlay,
}

impl FromStr for Volumes {
    type Err = String;

    fn from_str(text: &str) -> Result<Volumes, String> {
        match text.split_once('=') {
            Some(("only", id)) if !id.is_empty() => Ok(Volumes::Only(id.to_owned())),
            None if text == "stack" => Ok(Volumes::Stack),
            None if text == "overlay" => Ok(Volumes::Overlay),
            _ => Err(format!("`{text}` is none of stack, only=VOLUME, overlay")),
        }
    }
}

impl fmt::Display for Volumes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Volumes::Stack => f.write_str("stack"),
            Volumes::Only(id) => write!(f, "only={id}"),
            Volumes::Overlay => f.write_str("overlay"),
        }
    }
}

/// One stream of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Volume {
    /// Number of the stream in the requests.
    pub stream: u32,
    /// Name in the trace; its number if it has no name.
    pub name: String,
    /// Its requests, those of other volumes and behind the limit not counted.
    pub requests: u64,
    /// First sector behind its highest address, as the trace has it.
    pub end_sector: u64,
    /// Where its sector 0 is on the device: not 0 only if stacked behind another volume.
    pub start_sector: u64,
}

/// Name and place of a stream, as a format knows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumeName {
    /// Name in the trace.
    pub name: String,
    /// Where its sector 0 is on the device.
    pub start_sector: u64,
}

impl VolumeName {
    /// A name; the place is not known to the format.
    pub(crate) fn new(name: String) -> VolumeName {
        let start_sector = 0;
        VolumeName { name, start_sector }
    }
}

/// Streams seen so far, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeTable {
    pub rows: Vec<VolumeRow>,
    index: BTreeMap<u32, usize>,
}

/// Counts of a stream.
#[derive(Clone, Debug)]
pub(crate) struct VolumeRow {
    pub stream: u32,
    requests: u64,
    end_sector: u64,
    /// Where its sector 0 is.
    pub start_sector: u64,
}

impl VolumeTable {
    /// Counts requests `from` and later.
    ///
    /// # Errors
    /// Too many streams.
    pub fn add(&mut self, batch: &RequestBatch, from: usize) -> Result<(), &'static str> {
        let few = self.count(batch, from, MAX_VOLUMES);
        few.then_some(()).ok_or("it has more than 1048576 streams")
    }

    /// False if there are more than `limit` streams.
    fn count(&mut self, batch: &RequestBatch, from: usize, limit: usize) -> bool {
        let records = batch.records();
        let mut at = from;
        while let Some(first) = records.get(at) {
            let row = self.row(first.stream);
            if self.rows.len() > limit {
                return false;
            }
            let mut end_sector = 0;
            let run = at;
            while let Some(head) = records.get(at).filter(|r| r.stream == first.stream) {
                end_sector = end_sector.max(head.start_sector + u64::from(head.sectors));
                at += 1;
            }
            self.rows[row].requests += (at - run) as u64;
            let own = &mut self.rows[row].end_sector;
            *own = end_sector.max(*own);
        }
        true
    }

    fn row(&mut self, stream: u32) -> usize {
        *self.index.entry(stream).or_insert_with(|| {
            self.rows.push(VolumeRow {
                stream,
                requests: 0,
                end_sector: 0,
                start_sector: 0,
            });
            self.rows.len() - 1
        })
    }

    /// Extents behind the first one, which only formats of one device have.
    pub fn add_more(&mut self, batch: &RequestBatch, from: usize) {
        if batch.side_memory() == 0 {
            return;
        }
        for request in (from..batch.len()).map(|i| batch.get(i)) {
            if let Some(&row) = self.index.get(&request.head.stream) {
                let ends = request.more.iter().map(|e| e.end());
                let own = &mut self.rows[row].end_sector;
                *own = ends.max().unwrap_or(0).max(*own);
            }
        }
    }

    /// Puts the volumes one behind the other.
    ///
    /// # Errors
    /// They are longer than the largest address.
    pub fn place(&mut self) -> Result<(), &'static str> {
        let mut end = 0u64;
        for row in &mut self.rows {
            row.start_sector = end;
            end += row.end_sector.next_multiple_of(ROOM);
            if end > MAX_BYTES / SECTOR_BYTES {
                return Err("together they are longer than 256 TiB");
            }
        }
        Ok(())
    }

    /// Moves requests to the places of their volumes.
    ///
    /// # Errors
    /// A stream that the table does not know.
    pub fn apply(&self, records: &mut [HostRequest]) -> Result<(), &'static str> {
        let (mut stream, mut start) = (None, 0);
        for request in records {
            if stream != Some(request.stream) {
                stream = Some(request.stream);
                let row = self.index.get(&request.stream);
                let row = *row.ok_or("the file changed while it was read")?;
                start = self.rows[row].start_sector;
            }
            // A flush has no address to move.
            if request.sectors > 0 {
                request.start_sector += start;
            }
        }
        Ok(())
    }

    /// Where sector 0 of a stream is put.
    pub fn start_of(&self, stream: u32) -> u64 {
        let row = self.index.get(&stream);
        row.map_or(0, |&row| self.rows[row].start_sector)
    }

    /// The table of a result.
    pub fn volumes(&self, name: impl Fn(u32) -> Option<VolumeName>) -> Vec<Volume> {
        let volume = |row: &VolumeRow| {
            let named = name(row.stream);
            let start = named.as_ref().map_or(0, |n| n.start_sector);
            Volume {
                stream: row.stream,
                name: named.map_or_else(|| row.stream.to_string(), |n| n.name),
                requests: row.requests,
                end_sector: row.end_sector.saturating_sub(start),
                start_sector: row.start_sector + start,
            }
        };
        self.rows.iter().map(volume).collect()
    }
}

/// The origin from which the addresses and times of a volume are counted.
#[derive(Clone, Copy)]
pub(crate) struct VolumeOrigin {
    /// Are the arrivals those of a clock?
    pub timed: bool,
    /// First sector of the volume.
    pub start: u64,
}

/// Copies requests of one stream, the first of them arriving at 0.
#[derive(Default)]
pub(crate) struct Picker {
    first: Option<Nanos>,
    kept: u64,
}

impl Picker {
    /// Appends request `index` of `from` to `out`, its addresses lowered by the start of the volume.
    pub fn keep(
        &mut self,
        from: &RequestBatch,
        index: usize,
        origin: VolumeOrigin,
        out: &mut RequestBatch,
    ) {
        let request = from.get(index);
        let mut head = *request.head;
        let first = *self.first.get_or_insert(head.arrival);
        let VolumeOrigin { timed, start } = origin;
        head.arrival = match timed {
            true => Nanos(head.arrival.0 - first.0),
            false => Nanos(self.kept * UNTIMED_NS),
        };
        self.kept += 1;
        if start == 0 || head.sectors == 0 {
            return out.push_with(head, request.more, request.prev);
        }
        head.start_sector -= start;
        let moved = |e: &Extent| Extent {
            start_sector: e.start_sector - start,
            ..*e
        };
        let more: Vec<Extent> = request.more.iter().map(moved).collect();
        let old = |&sector: &u64| match sector {
            NO_PREV => NO_PREV,
            sector => sector.saturating_sub(start),
        };
        let prev: Vec<u64> = request.prev.iter().map(old).collect();
        out.push_with(head, &more, &prev);
    }
}

/// The streams of a batch whose addresses are those of one device, called by their numbers.
pub(crate) fn streams_of(batch: &RequestBatch) -> Vec<Volume> {
    let mut table = VolumeTable::default();
    table.count(batch, 0, usize::MAX);
    table.add_more(batch, 0);
    table.volumes(|_| None)
}
