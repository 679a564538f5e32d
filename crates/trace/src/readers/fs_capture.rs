//! Requests of a file system to its device, with the old address of every block it replaced.

use destage_types::request::NO_PREV;
use destage_types::{Extent, Op, RequestFlags, Tag};

use super::columns::{NO_KIND, columns};
use super::destage::group::{GroupRow, OpenRequest};
use super::{FormatInfo, ReaderFacts, Separator};
use crate::error::FieldFault;
use crate::extent::{self, MAX_BYTES};
use crate::tags::TagSet;
use crate::text::fields::{Fields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::parse_u64;

const TIME: u16 = 0;
const OP: u16 = 1;
const START: u16 = 2;
const SECTORS: u16 = 3;
const PREV: u16 = 4;
const TAG: u16 = 6;
const REQUEST: u16 = 7;

/// Sectors of the 4 KiB block that pairs of addresses are about (CAC section 4.1).
const BLOCK: u64 = 8;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "fs-capture",
    about: "CSV capture of a file system's device requests with old addresses.",
    source: "this program's `fs-lab`; the pairs are those of CAC section 4.2",
    separator: Separator::Comma,
    columns: columns! {
        "time_us": OwnTime(TimeUnit::Microseconds), "a whole number of us";
        "op": Own, "R (read), W (write) or D (discard)";
        "lba_sector": Own, "sector of 512 B, the extent ending at or below 256 TiB";
        "sectors": Own, "1 to 4294967295; a request that names old addresses has at most 1 GiB";
        "prev_lba_sector": Own, "for W: sector of the old copy of the row's first 4 KiB block, the others \
              following; the row itself if written in place; empty = no old copy";
        "fs": Own, "name of the file system, not used";
        "tag": Own, "data, node, meta, journal, data_gc, node_gc, discard, unknown or empty";
        "req": Own, "number of the device request; its rows stand together and agree in time \
              and op, and numbers do not fall";
    },
    volumes: false,
    example: b"time_us,op,lba_sector,sectors,prev_lba_sector,fs,tag,req\n\
              134,W,65552,8,241632,f2fs,data,1\n\
              254,W,57848,8,57344,f2fs,node,2\n\
              254,W,57856,8,,f2fs,node,2\n\
              300,D,241632,8,,f2fs,discard,3\n",
    example_requests: 3,
    detect: |_, sample| {
        let mut names = Separator::Comma.split(sample.first());
        names.next() == Some(b"time_us") && names.any(|name| name == b"lba_sector")
    },
    open: |info, input, options| {
        let format = FsCapture {
            tags: options.tags,
            ..FsCapture::default()
        };
        Box::new(LineReader::new(info, format, input, options))
    },
    ..FormatInfo::BASE
};

/// The tag of a row; journal and tables are both metadata, and cleaning is one kind of write.
fn tag_of(text: &[u8]) -> Option<Tag> {
    Some(match text {
        b"data" => Tag::Data,
        b"node" => Tag::Node,
        b"meta" | b"journal" => Tag::Meta,
        b"data_gc" | b"node_gc" => Tag::Gc,
        b"discard" | b"unknown" | b"" => Tag::None,
        _ => return None,
    })
}

fn read_op(text: &[u8]) -> Option<Op> {
    match text {
        b"R" => Some(Op::Read),
        b"W" => Some(Op::Write),
        b"D" => Some(Op::Trim),
        _ => None,
    }
}

#[derive(Default)]
struct FsCapture {
    header_seen: bool,
    tags: Option<TagSet>,
    /// The number of the device request whose rows are being read, and what they share, with the tag of the first row
    /// kept.
    number: u64,
    open: OpenRequest,
}

impl FsCapture {
    fn header(&mut self, line: RawLine<'_>) -> Result<(), FieldFault> {
        let mut names = line.bytes().split(|&byte| byte == b',');
        for (i, column) in INFO.columns.iter().enumerate() {
            let name = names.next().unwrap_or(b"");
            if name.trim_ascii() != column.name.as_bytes() {
                return Err(FieldFault::at(i as u16, "is not the name of this column"));
            }
        }
        if names.next().is_some() {
            return Err(FieldFault::line("has more columns than the format"));
        }
        self.header_seen = true;
        Ok(())
    }

    /// Can `row` be one more of the open request, or the first one of the next request?
    fn has_room(&self, row: Extent, old: u64, number: u64) -> Result<(), FieldFault> {
        let same = self.open.row.is_some() && self.number == number;
        let new = OpenRequest::default();
        let room = if same { &self.open } else { &new };
        let room = room.check(row, old != NO_PREV);
        room.map_err(|fault| fault.at(REQUEST, SECTORS))
    }

    /// Adds a row to the open request.
    fn extend(&mut self, row: Extent, old: u64) {
        let joined = self.open.extents.last().is_some_and(|last| {
            last.end() == row.start_sector
                && row.start_sector.is_multiple_of(BLOCK)
                && last.sectors.checked_add(row.sectors).is_some()
        });
        let listed = if old == NO_PREV {
            0
        } else {
            extent::blocks(row) as usize
        };
        let prev = (0..listed).map(|i| old + i as u64 * BLOCK);
        self.open.add(row, prev, joined);
    }

    /// Makes the row's device request the open one.
    fn switch(
        &mut self,
        number: u64,
        row: GroupRow,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        if let Some(open) = self.open.row {
            if number < self.number {
                let why = "is less than that of the row before";
                return Err(FieldFault::at(REQUEST, why));
            }
            if number == self.number {
                let differs = |column| Err(FieldFault::at(column, "differs inside one request"));
                return match (row.op == open.op, row.ticks == open.ticks) {
                    (true, true) => Ok(()),
                    (false, _) => differs(OP),
                    (_, false) => differs(TIME),
                };
            }
        }
        self.open.push(sink)?;
        self.open.start(row);
        self.number = number;
        Ok(())
    }
}

/// The old address of the first block of a row, or [`NO_PREV`].
fn read_prev(text: &[u8], op: Op, row: Extent) -> Result<u64, FieldFault> {
    let wrong = |why| Err(FieldFault::at(PREV, why));
    if text.is_empty() {
        return Ok(NO_PREV);
    }
    let Ok(old) = parse_u64(text) else {
        return wrong("is no sector number");
    };
    if op != Op::Write {
        return wrong("is given, but only writes replace data");
    }
    if !row.start_sector.is_multiple_of(BLOCK) || !old.is_multiple_of(BLOCK) {
        return wrong("is about whole 4 KiB blocks, but the row or its old copy is not aligned");
    }
    match old.checked_add(extent::blocks(row) * BLOCK) {
        Some(end) if end <= MAX_BYTES / 512 => Ok(old),
        _ => wrong("ends behind 256 TiB"),
    }
}

impl ReaderFacts for FsCapture {}

impl LineFormat for FsCapture {
    const TICK_NS: u64 = 1_000;

    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        if !self.header_seen {
            return self.header(line);
        }
        let mut fields: Fields<'_> = line.fields();
        let ticks = fields.u64()?;
        let op = read_op(fields.text()?).ok_or(FieldFault::at(OP, NO_KIND))?;
        let placed = extent::from_sectors(fields.u64()?, fields.u64()?);
        let row = placed.map_err(|fault| fault.at(START, SECTORS))?;
        let old = read_prev(fields.text()?, op, row)?;
        fields.text()?;
        let tag = tag_of(fields.text()?).ok_or(FieldFault::at(TAG, "is no tag"))?;
        let number = fields.u64()?;
        fields.end()?;
        let row_of = GroupRow {
            ticks,
            op,
            stream: 0,
            flags: RequestFlags::NONE,
            tag,
        };
        let kept = self.tags.is_none_or(|tags| tags.has(op, tag));
        if kept {
            self.has_room(row, old, number)?;
        }
        self.switch(number, row_of, sink)?;
        if kept {
            if self.open.extents.is_empty() {
                self.open.row.iter_mut().for_each(|row| row.tag = tag);
            }
            self.extend(row, old);
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        self.open.push(sink)
    }
}
