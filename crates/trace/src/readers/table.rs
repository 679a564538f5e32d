//! Text formats of one request per line that are nothing but a table: their columns say how a
//! line is read and how the format is told from others.

use std::marker::PhantomData;

use destage_types::Op;

use super::{FormatInfo, ReadOptions, Sample, Separator, TraceReader, is_header, opening};
use crate::bytes::input::Input;
use crate::error::FieldFault;
use crate::extent::{self, ExtentFault};
use crate::text::fields::{Fields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::{looks_like_decimal, looks_like_integer, parse_decimal, parse_u64};
use crate::text::spelling::kind;
use crate::time_unit::TimeUnit;
use crate::volume::VolumeName;

/// One column of a format.
#[derive(Clone, Copy, Debug)]
pub struct TraceColumn {
    /// Name of the column, as messages and documentation use it.
    pub name: &'static str,
    /// The values that the column may hold, with their unit.
    pub allowed: &'static str,
    /// The meaning of its values.
    pub(crate) holds: Holds,
}

/// The columns of a format: name, what they hold, and what is allowed there.
macro_rules! columns {
    ($($name:literal: $holds:expr, $allowed:expr;)*) => {{
        #[allow(unused_imports)]
        use $crate::readers::table::{Holds::*, TraceColumn};
        #[allow(unused_imports)]
        use $crate::time_unit::TimeUnit;
        &[$(TraceColumn { name: $name, holds: $holds, allowed: $allowed }),*]
    }};
}
pub(super) use columns;

/// The meaning of a column's values for the request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// Its arrival, a whole number of units of so many nanoseconds.
    Ticks(u64),
    /// Its arrival, a decimal number of which so many places make nanoseconds.
    Decimal(u32),
    /// Its arrival in seconds, or a whole number of ms since 1970.
    Clock,
    /// Its source.
    Stream,
    /// The major number of the device that is its source.
    Major,
    /// The minor number of that device.
    Minor,
    /// Its kind.
    Kind(fn(&[u8]) -> Option<Op>),
    /// The same, or empty: then the line is no request, and is counted (TR-4).
    KindOrBlank(fn(&[u8]) -> Option<Op>),
    /// Its first sector.
    Sector,
    /// Its first byte.
    Offset,
    /// Its first block of 4 KiB.
    Block,
    /// The same, which only the format's own code reads.
    ListedBlock,
    /// Its length in sectors.
    Sectors,
    /// Its length in bytes.
    Bytes,
    /// Its length in blocks of 4 KiB.
    Blocks,
    /// A number that is not used.
    Number,
    /// The same, one more in each line.
    Counter,
    /// A text that is not used, but must fit; the reason if it does not.
    Unused(fn(&[u8]) -> bool, &'static str),
    /// The same in a last column that a line may lack.
    Optional(fn(&[u8]) -> bool, &'static str),
    /// Only the format's own code reads it.
    Own,
    /// Its arrival in a unit that the format fixes, which only the format's own code reads.
    OwnTime(TimeUnit),
}

/// The values that most formats allow in these columns.
pub(super) const OFFSET: &str = "bytes, the request ending at or below 256 TiB";
pub(super) const BYTES: &str = "bytes, 1 to 2199023255040, at most 4294967295 sectors";
pub(super) const SECTOR: &str = "sector of 512 B, the request ending at or below 256 TiB";
pub(super) const SECTORS: &str = "sectors, 1 to 4294967295";
pub(super) const SECONDS: &str = "s, digits behind the ns dropped";
/// Why a field of [`Holds::Kind`] is refused.
pub(crate) const NO_KIND: &str = "is no kind of request";

/// A time in seconds in ns. A whole number of 12 digits and more would be thousands of years: it
/// counts ms since 1970 (TR-3).
fn clock(text: &[u8]) -> Result<u64, &'static str> {
    if text.len() < 12 || text.contains(&b'.') {
        return parse_decimal(text, 9);
    }
    parse_u64(text)?
        .checked_mul(1_000_000)
        .ok_or("is too large")
}

/// `Read` or `Write`, whatever the case.
#[inline]
pub(super) fn read_or_write(text: &[u8]) -> Option<Op> {
    match text {
        b"Read" => Some(Op::Read),
        b"Write" => Some(Op::Write),
        _ if text.eq_ignore_ascii_case(b"read") => Some(Op::Read),
        _ => text.eq_ignore_ascii_case(b"write").then_some(Op::Write),
    }
}

/// Any word for a kind of request that has an address.
#[cold]
#[inline(never)]
pub(super) fn other_kind(text: &[u8]) -> Option<Op> {
    kind(text).filter(|&op| op != Op::Flush)
}

/// `R` or `W`.
pub(super) fn r_or_w(text: &[u8]) -> Option<Op> {
    match text {
        b"R" => Some(Op::Read),
        b"W" => Some(Op::Write),
        _ => None,
    }
}

impl TraceColumn {
    /// Is it the arrival, a number of units?
    pub(crate) fn is_time(&self) -> bool {
        matches!(
            self.holds,
            Holds::Ticks(_) | Holds::Decimal(_) | Holds::Clock
        )
    }

    /// The unit of the arrival, if the column holds that.
    pub(crate) fn time_unit(&self) -> Option<TimeUnit> {
        match self.holds {
            Holds::Ticks(ns) => TimeUnit::of_ns(ns),
            Holds::Decimal(places) => TimeUnit::of_places(places),
            Holds::OwnTime(unit) => Some(unit),
            Holds::Clock => Some(TimeUnit::Seconds),
            _ => None,
        }
    }

    /// Nanoseconds of what a reader calls a tick, if the user says that times are in `unit`.
    pub(crate) fn tick_ns(&self, unit: TimeUnit) -> Option<u64> {
        matches!(self.holds, Holds::Ticks(_)).then(|| unit.ns())
    }

    /// Does a field look like one of the column? For telling formats apart: a number may be
    /// negative or too large here, and is refused with its reason when it is read.
    fn fits(&self, field: &[u8]) -> bool {
        match self.holds {
            Holds::Decimal(_) | Holds::Clock => looks_like_decimal(field),
            Holds::Kind(read) => read(field).is_some(),
            Holds::KindOrBlank(read) => field.is_empty() || read(field).is_some(),
            Holds::Unused(fits, _) | Holds::Optional(fits, _) => fits(field),
            Holds::Own | Holds::OwnTime(_) => true,
            _ => looks_like_integer(field),
        }
    }
}

/// Has a line the columns of `info`, and no others unless `open_end`?
pub(super) fn fits(info: &FormatInfo, open_end: bool, line: &[u8]) -> bool {
    let mut fields = info.separator.split(line);
    let fit = info.columns.iter().all(|column| match fields.next() {
        Some(field) => column.fits(field),
        None => matches!(column.holds, Holds::Optional(..)),
    });
    fit && (open_end || fields.next().is_none())
}

/// The parts of a reader that one table format defines.
pub(super) trait TableFormat: Send + 'static {
    /// Its declaration.
    const INFO: &'static FormatInfo;
    /// May columns follow that are not known?
    const OPEN_END: bool = false;

    /// Is what follows the known columns no second request of a line whose end is missing?
    fn check_rest(_rest: &[u8]) -> Result<(), FieldFault> {
        Ok(())
    }

    /// The trace's name of a stream, if it has one besides the number.
    fn volume(_stream: u32) -> Option<VolumeName> {
        None
    }
}

/// Do most of the first lines have the columns?
pub(super) fn detect<T: TableFormat>(sample: &Sample<'_>) -> bool {
    is_header(T::INFO, sample.first())
        || sample.most(|line| fits(T::INFO, T::OPEN_END, line))
            && !opening::streams_are_dates(T::INFO, sample)
}

/// A reader of the table.
pub(super) fn open<T: TableFormat>(input: Input, options: ReadOptions) -> Box<dyn TraceReader> {
    let table = Table {
        unit: options.time_unit,
        blank: 0,
        format: PhantomData::<T>,
    };
    Box::new(LineReader::new(T::INFO, table, input, options))
}

struct Table<T> {
    /// The unit of the times, if it is not that of the column.
    unit: Option<TimeUnit>,
    /// Lines without a kind.
    blank: u64,
    format: PhantomData<T>,
}

/// Values of the columns of a line.
struct Values {
    ticks: u64,
    stream: u32,
    op: Op,
    /// The line names no kind.
    blank: bool,
    /// First sector or byte, and length in sectors or bytes.
    start: u64,
    length: u64,
}

/// Where the columns of a table are that may be at fault once all are read, and their units.
#[derive(Clone, Copy)]
struct Places {
    tick_ns: u64,
    time: u16,
    start: u16,
    length: u16,
    start_in_bytes: bool,
    length_in_bytes: bool,
    blocks: bool,
}

const fn places(columns: &[TraceColumn]) -> Places {
    let mut places = Places {
        tick_ns: 1,
        time: FieldFault::LINE,
        start: FieldFault::LINE,
        length: FieldFault::LINE,
        start_in_bytes: false,
        length_in_bytes: false,
        blocks: false,
    };
    let mut i = 0;
    while i < columns.len() {
        let at = i as u16;
        match columns[i].holds {
            Holds::Ticks(tick_ns) => (places.time, places.tick_ns) = (at, tick_ns),
            Holds::Decimal(_) | Holds::Clock => places.time = at,
            Holds::Sector => places.start = at,
            Holds::Offset => (places.start, places.start_in_bytes) = (at, true),
            Holds::Sectors => places.length = at,
            Holds::Bytes => (places.length, places.length_in_bytes) = (at, true),
            Holds::Block => (places.start, places.blocks) = (at, true),
            Holds::Blocks => places.length = at,
            _ => {}
        }
        i += 1;
    }
    places
}

impl<T: TableFormat> Table<T> {
    const COLUMNS: &'static [TraceColumn] = T::INFO.columns;
    const PLACES: Places = places(Self::COLUMNS);

    /// Column `I`, if there is one. It is known when the program is compiled what it holds.
    #[inline(always)]
    fn column<const I: usize, const BLANKS: bool>(
        &self,
        fields: &mut Fields<'_, BLANKS>,
        values: &mut Values,
    ) -> Result<(), FieldFault> {
        if I >= Self::COLUMNS.len() {
            return Ok(());
        }
        let refused = |why| Err(FieldFault::at(I as u16, why));
        match Self::COLUMNS[I].holds {
            Holds::Ticks(_) => values.ticks = fields.u64()?,
            Holds::Decimal(places) => {
                let places = self.unit.map_or(places, TimeUnit::places);
                values.ticks = fields.decimal(places)?;
            }
            Holds::Clock => {
                let text = fields.text()?;
                let read = self
                    .unit
                    .map_or_else(|| clock(text), |unit| parse_decimal(text, unit.places()));
                values.ticks = read.map_err(|why| FieldFault::at(I as u16, why))?;
            }
            Holds::Stream => values.stream = fields.u32()?,
            Holds::Major => match fields.u64()? {
                major @ ..0x1000 => values.stream |= (major as u32) << 20,
                _ => return refused("is no major number"),
            },
            Holds::Minor => match fields.u64()? {
                minor @ ..0x10_0000 => values.stream |= minor as u32,
                _ => return refused("is no minor number"),
            },
            Holds::KindOrBlank(read) => match fields.text()? {
                b"" => values.blank = true,
                text => match read(text).or_else(|| other_kind(text)) {
                    Some(op) => values.op = op,
                    None => return refused(NO_KIND),
                },
            },
            Holds::Kind(read) => {
                let text = fields.text()?;
                match read(text).or_else(|| other_kind(text)) {
                    Some(op) => values.op = op,
                    None => return refused(NO_KIND),
                }
            }
            Holds::Sector | Holds::Offset | Holds::Block => values.start = fields.u64()?,
            Holds::Sectors | Holds::Bytes | Holds::Blocks => values.length = fields.u64()?,
            Holds::Number | Holds::Counter => drop(fields.u64()?),
            Holds::Unused(fits, why) if !fits(fields.text()?) => return refused(why),
            Holds::Optional(fits, why) if !fields.next_text().is_none_or(fits) => {
                return refused(why);
            }
            Holds::Unused(..) | Holds::Optional(..) => {}
            Holds::Own | Holds::OwnTime(_) | Holds::ListedBlock => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn read<const BLANKS: bool>(
        &mut self,
        mut fields: Fields<'_, BLANKS>,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        let (f, op) = (&mut fields, Op::Read);
        let (ticks, stream, start, length) = (0, 0, 0, 0);
        let mut values = Values {
            ticks,
            stream,
            op,
            blank: false,
            start,
            length,
        };
        self.column::<0, BLANKS>(f, &mut values)?;
        self.column::<1, BLANKS>(f, &mut values)?;
        self.column::<2, BLANKS>(f, &mut values)?;
        self.column::<3, BLANKS>(f, &mut values)?;
        self.column::<4, BLANKS>(f, &mut values)?;
        self.column::<5, BLANKS>(f, &mut values)?;
        self.column::<6, BLANKS>(f, &mut values)?;
        self.column::<7, BLANKS>(f, &mut values)?;
        self.column::<8, BLANKS>(f, &mut values)?;
        const { assert!(Self::COLUMNS.len() <= 9, "one call for each column") };
        if T::OPEN_END {
            T::check_rest(fields.rest())?
        } else {
            fields.end()?
        }
        let at = Self::PLACES;
        let placed = match (at.start_in_bytes, at.length_in_bytes) {
            _ if at.blocks => extent::from_blocks(values.start, values.length),
            (true, _) => extent::from_bytes(values.start, values.length),
            (_, true) => extent::from_sector_and_bytes(values.start, values.length),
            _ => extent::from_sectors(values.start, values.length).map(|extent| (extent, false)),
        };
        let (extent, rounded) =
            placed.map_err(|fault: ExtentFault| fault.at(at.start, at.length))?;
        if values.blank {
            self.blank += 1;
            return Ok(());
        }
        if T::INFO.timed {
            let pushed = sink.push_extent(values.ticks, values.op, extent, values.stream);
            pushed.map_err(|why| FieldFault::at(at.time, why))?;
        } else {
            sink.push_untimed(values.op, extent);
        }
        sink.count_unaligned(rounded);
        Ok(())
    }
}

impl<T: TableFormat> LineFormat for Table<T> {
    const TICK_NS: u64 = Self::PLACES.tick_ns;

    #[inline(always)]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        match T::INFO.separator {
            Separator::Blank => self.read(line.words(), sink),
            _ => self.read(line.fields(), sink),
        }
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        T::volume(stream)
    }

    fn notes(&self) -> Vec<String> {
        if self.blank == 0 {
            return Vec::new();
        }
        vec![format!(
            "lines without a kind of request, which are not read as requests: {}",
            self.blank
        )]
    }

    fn no_request(&self) -> Option<String> {
        (self.blank > 0).then(|| "no line names a kind of request".to_owned())
    }
}
