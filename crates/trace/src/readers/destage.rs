//! The program's own CSV: the only text format that can say all that a request may hold.

pub(super) mod group;

use destage_types::request::NO_PREV;
use destage_types::{Extent, Op, RequestFlags, Tag};

use super::columns::{NO_KIND, TraceColumn, columns};
use super::{FormatInfo, ReaderFacts, Separator};
use crate::error::FieldFault;
use crate::extent::{self, MAX_BYTES};
use crate::mapping::Mapping;
use crate::mapping::values::by_names;
use crate::text::fields::{Fields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::parse_u64;
use group::{GroupRow, OpenRequest, Seen};

const TIME: u16 = 0;
const OP: u16 = 1;
const START: u16 = 2;
const SECTORS: u16 = 3;
const PREV: u16 = 5;
const ATOMIC: u16 = 6;
/// Columns that every file has; the others may follow in any order.
const FIXED: usize = 7;
/// Index of the optional columns in [`COLUMNS`].
const TAG: usize = 7;
const GROUP: usize = 8;
const FLAGS: usize = 9;

/// The columns in the order in which they are written.
pub(crate) const COLUMNS: &[TraceColumn] = columns! {
    "arrival_ns": OwnTime(TimeUnit::Nanoseconds), "time in ns";
    "op": Own, "R (read), W (write), T (trim) or F (flush)";
    "start_sector": Own, "sector of 512 B, the extent ending at or below 256 TiB; 0 for F";
    "sectors": Own, "1 to 4294967295; 0 for F";
    "stream": Own, "number of the source, 0 to 4294967295, or empty for 0";
    "prev": Own, "for W: the start sector of the old copy of each 4 KiB block that the extent \
          touches, joined by `;`, -1 = none; for all: empty or -1 = no old copy";
    "atomic": Own, "0, 1, or empty for 0";
    "tag": Own, "optional column: empty, data, node, meta or gc";
    "group": Own, "optional column: consecutive lines with the same text are one request of \
          several extents and agree in all but extent and prev; empty = none";
    "flags": Own, "optional column: for W: fua, preflush, fua+preflush or empty; for all others: empty";
};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "destage",
    about: "Own CSV with a header: everything a request may hold, old addresses included. A file that \
            begins with `# destage csv 2` must end with `# requests: N`.",
    source: "this program; `prev` and `atomic` are CAC section 4",
    separator: Separator::Comma,
    columns: COLUMNS,
    volumes: false,
    example: b"arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group,flags\n\
              0,W,0,16,0,800;-1,0,data,,\n\
              2500,W,800,8,0,0,1,node,1,fua\n\
              2500,W,4096,8,0,-1,1,node,1,fua\n\
              9000,T,0,16,0,,0,,,\n\
              9100,F,0,0,0,,0,,,\n",
    example_requests: 4,
    detect: |_, sample| {
        let names: Vec<&[u8]> = Separator::Comma.split(sample.first()).collect();
        // Fewer columns are a table of other programs, if a table reads all of them.
        let own = &COLUMNS[usize::from(PREV)..];
        let is_own = |name: &&[u8]| own.iter().any(|own| own.name.as_bytes() == *name);
        names[0] == b"arrival_ns"
            && (names.len() >= FIXED
                || names.iter().any(is_own)
                || by_names(&Mapping::default(), &sample.lines, None).is_none())
    },
    open: |info, input, options| {
        Box::new(LineReader::new(info, Destage::default(), input, options))
    },
    ..FormatInfo::BASE
};

/// Text of a tag in the `tag` column.
pub(crate) fn tag_name(tag: Tag) -> &'static str {
    match tag {
        Tag::None => "",
        Tag::Data => "data",
        Tag::Node => "node",
        Tag::Meta => "meta",
        Tag::Gc => "gc",
    }
}

fn tag_of(text: &[u8]) -> Option<Tag> {
    let mut all = [Tag::None, Tag::Data, Tag::Node, Tag::Meta, Tag::Gc].into_iter();
    all.find(|&tag| tag_name(tag).as_bytes() == text)
}

/// Texts of the `flags` column.
const FLAG_TEXTS: [(&str, RequestFlags); 4] = [
    ("", RequestFlags::NONE),
    ("fua", RequestFlags::FUA),
    ("preflush", RequestFlags::PREFLUSH),
    ("fua+preflush", RequestFlags::OF_WRITES),
];

/// Text of the flags that have no column of their own.
pub(crate) fn flags_text(flags: RequestFlags) -> &'static str {
    let of_writes = flags.among(RequestFlags::OF_WRITES);
    let row = FLAG_TEXTS.iter().find(|row| row.1 == of_writes);
    row.map_or("", |row| row.0)
}

fn read_flags(text: &[u8], op: Op) -> Result<RequestFlags, &'static str> {
    let row = FLAG_TEXTS.iter().find(|row| row.0.as_bytes() == text);
    match row.ok_or("is none of fua, preflush, fua+preflush")?.1 {
        RequestFlags::NONE => Ok(RequestFlags::NONE),
        _ if op != Op::Write => Err("is given, but only writes have flags"),
        flags => Ok(flags),
    }
}

/// Comment that announces [`CSV_END`], so that a file that was cut is known.
pub(crate) const CSV_START: &str = " destage csv 2";
/// Comment before the number of requests, in the last line.
pub(crate) const CSV_END: &str = " requests: ";

#[derive(Default)]
struct Destage {
    header_seen: bool,
    /// Must the number of requests come at the end?
    announced: bool,
    /// The number of requests, once it has come.
    ended: Option<u64>,
    /// Indices in [`COLUMNS`] of the columns behind the fixed ones.
    optional: Vec<usize>,
    open: OpenRequest,
    /// Its group; empty for a request of one line.
    group: Vec<u8>,
    seen: Seen,
    /// Old addresses of the line being read; empty if it names none.
    prev: Vec<u64>,
}

impl Destage {
    fn header(&mut self, line: RawLine<'_>) -> Result<(), FieldFault> {
        const NAME: &str = "is not the name of this column: arrival_ns, op, start_sector, sectors, stream, prev and atomic \
                            come first, also where they are empty";
        self.optional.clear();
        let mut count = 0;
        for (i, name) in line.bytes().split(|&byte| byte == b',').enumerate() {
            let name = name.trim_ascii();
            let index = match i {
                0..FIXED => i,
                _ if name == b"tag" => TAG,
                _ if name == b"flags" => FLAGS,
                _ => GROUP,
            };
            if name != COLUMNS[index].name.as_bytes() || self.optional.contains(&index) {
                let column = u16::try_from(i).unwrap_or(FieldFault::LINE);
                return Err(FieldFault::at(column, NAME));
            }
            if i >= FIXED {
                self.optional.push(index);
            }
            count += 1;
        }
        if count < FIXED {
            const FEW: &str = "is no complete header: stream, prev and atomic follow sectors, also where they are empty";
            return Err(FieldFault::line(FEW));
        }
        self.header_seen = true;
        Ok(())
    }

    /// Reads the old addresses of one extent into `self.prev`.
    #[inline(always)]
    fn read_prev(&mut self, text: &[u8], op: Op, extent: Option<Extent>) -> Result<(), FieldFault> {
        self.prev.clear();
        if text.is_empty() || text == b"-1" {
            return Ok(());
        }
        self.old_addresses(text, op, extent)
    }

    #[inline(never)]
    fn old_addresses(&mut self, text: &[u8], op: Op, of: Option<Extent>) -> Result<(), FieldFault> {
        let bad = |why| FieldFault::at(PREV, why);
        let extent = of.filter(|_| op == Op::Write);
        let extent = extent.ok_or(bad("is given, but only writes replace data"))?;
        for entry in text.split(|&byte| byte == b';') {
            if entry == b"-1" {
                self.prev.push(NO_PREV);
                continue;
            }
            let sector = parse_u64(entry).map_err(|_| bad("holds no sector number"))?;
            if sector > MAX_BYTES / 512 - 8 {
                return Err(bad("names a sector behind 256 TiB"));
            }
            self.prev.push(sector);
        }
        if self.prev.len() as u64 != extent::blocks(extent) {
            return Err(bad("has not one entry per 4 KiB block of the extent"));
        }
        if self.prev.iter().all(|&sector| sector == NO_PREV) {
            self.prev.clear();
        }
        Ok(())
    }

    /// Reads the columns behind the fixed ones of a line, and says the group and its column.
    #[inline(always)]
    fn optional<'a>(
        &self,
        fields: &mut Fields<'a>,
        row: &mut GroupRow,
    ) -> Result<(&'a [u8], u16), FieldFault> {
        let mut group = (&b""[..], FieldFault::LINE);
        for &index in &self.optional {
            let column = fields.column();
            let text = fields.text()?;
            match index {
                TAG => row.tag = tag_of(text).ok_or(FieldFault::at(column, "is no tag"))?,
                FLAGS => {
                    let flags = read_flags(text, row.op);
                    let flags = flags.map_err(|why| FieldFault::at(column, why))?;
                    row.flags = row.flags.and(flags);
                }
                _ => group = (text, column),
            }
        }
        Ok(group)
    }

    fn push_open(&mut self, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        if self.open.row.is_some() {
            self.seen.insert(&self.group);
        }
        self.open.push(sink)
    }

    /// Takes a line once all of its columns are known to be good.
    fn accept(
        &mut self,
        row: GroupRow,
        extent: Option<Extent>,
        group: &[u8],
        column: u16,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        const DIFFER: &str = "joins lines that differ in time, op, stream, atomic, tag or flags";
        const FLUSH: &str = "is given, but a flush has no extent to group";
        const USED: &str = "was used before: lines of a group must be consecutive";
        let grouped = |why| Err(FieldFault::at(column, why));
        let same = !group.is_empty() && self.group == group;
        let open = self.open.row.filter(|_| same);
        match (open, extent) {
            (Some(open), Some(extent)) if open == row => {
                let room = self.open.check(extent, !self.prev.is_empty());
                room.map_err(|fault| fault.at(column, column))?;
            }
            (Some(_), _) => return grouped(DIFFER),
            (None, None) if !group.is_empty() => return grouped(FLUSH),
            (None, _) if self.seen.contains(group) => return grouped(USED),
            (None, _) => {
                // Held back even without a group if a request is waiting: one request per line keeps `limit` exact.
                self.push_open(sink)?;
                self.open.start(row);
                self.group.clear();
                self.group.extend_from_slice(group);
            }
        }
        if let Some(extent) = extent {
            self.open.add(extent, self.prev.iter().copied(), false);
        }
        Ok(())
    }

    /// Reads a line behind the header.
    #[inline(always)]
    fn read(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        if self.ended.is_some() {
            let why = "follows the last line, which has the number of requests";
            return Err(FieldFault::line(why));
        }
        let mut fields = line.fields();
        let ticks = fields.u64()?;
        let op = read_op(fields.text()?)?;
        let extent = read_extent(op, &mut fields)?;
        let stream = fields.u32_or_empty()?;
        self.read_prev(fields.text()?, op, extent)?;
        let atomic = read_atomic(fields.text()?)?;
        let mut row = GroupRow {
            ticks,
            op,
            stream,
            flags: RequestFlags::ATOMIC.only_if(atomic),
            tag: Tag::None,
        };
        let (group, column) = self.optional(&mut fields, &mut row)?;
        fields.end()?;
        // As a rule a line is a request and no other line belongs to it.
        if group.is_empty() && self.open.row.is_none() {
            let pushed = match self.prev.is_empty() {
                true => sink.push(row.ticks, row.request(extent.as_ref())),
                false => sink.push_with(row.ticks, row.request(extent.as_ref()), &[], &self.prev),
            };
            return pushed.map_err(|why| FieldFault::at(TIME, why));
        }
        self.accept(row, extent, group, column, sink)
    }
}

fn read_op(text: &[u8]) -> Result<Op, FieldFault> {
    match text {
        b"R" | b"r" => Ok(Op::Read),
        b"W" | b"w" => Ok(Op::Write),
        b"T" | b"t" => Ok(Op::Trim),
        b"F" | b"f" => Ok(Op::Flush),
        _ => Err(FieldFault::at(OP, NO_KIND)),
    }
}

/// The extent of a line; none for FLUSH, which must have 0,0.
#[inline(always)]
fn read_extent(op: Op, fields: &mut Fields<'_>) -> Result<Option<Extent>, FieldFault> {
    let (start, sectors) = (fields.u64()?, fields.u64()?);
    if op != Op::Flush {
        let extent = extent::from_sectors(start, sectors).map_err(|f| f.at(START, SECTORS))?;
        return Ok(Some(extent));
    }
    const ADDRESS: &str = "is given, but a flush has no address";
    match (start, sectors) {
        (0, 0) => Ok(None),
        (0, _) => Err(FieldFault::at(SECTORS, ADDRESS)),
        _ => Err(FieldFault::at(START, ADDRESS)),
    }
}

fn read_atomic(text: &[u8]) -> Result<bool, FieldFault> {
    match text {
        b"" | b"0" => Ok(false),
        b"1" => Ok(true),
        _ => Err(FieldFault::at(ATOMIC, "is neither 0 nor 1")),
    }
}

impl ReaderFacts for Destage {}

impl LineFormat for Destage {
    const TICK_NS: u64 = 1;

    #[inline(always)]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let read = match self.header_seen {
            true => self.read(line, sink),
            false => self.header(line),
        };
        read.map_err(|fault| {
            let optional = usize::from(fault.column).checked_sub(FIXED);
            let optional = optional.map(|i| self.optional.get(i).map_or(u16::MAX, |&at| at as u16));
            FieldFault::of(fault.column, optional.unwrap_or(fault.column), fault.why)
        })
    }

    fn comment(&mut self, text: &[u8]) -> Result<(), FieldFault> {
        match text.strip_prefix(CSV_END.as_bytes()) {
            _ if !self.header_seen => self.announced |= text == CSV_START.as_bytes(),
            Some(number) if self.announced => {
                let why = FieldFault::line("is no number of requests");
                self.ended = Some(parse_u64(number).map_err(|_| why)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        self.push_open(sink)?;
        const CUT: &str =
            "is the end, and the last line, with the number of requests, is missing: cut off";
        let fault = |why| Err(FieldFault::line(why));
        match self.ended {
            None if self.announced => fault(CUT),
            Some(n)
                if n != sink.intake.counts.requests && sink.intake.counts.skipped_lines == 0 =>
            {
                fault("is the end, and there are more or fewer requests than the last line says")
            }
            _ => Ok(()),
        }
    }
}
