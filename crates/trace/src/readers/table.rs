//! Text formats of one request per line that are nothing but a table: their columns say how a
//! line is read and how the format is told from others.

use std::marker::PhantomData;

use destage_types::Op;

use super::{FormatInfo, ReadOptions, Sample, Separator, TraceReader, opening};
use crate::bytes::input::Input;
use crate::error::FieldFault;
use crate::extent::{self, ExtentFault};
use crate::text::fields::{Fields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::{looks_like_decimal, looks_like_integer};
use crate::time_unit::TimeUnit;

/// One column of a format.
#[derive(Clone, Copy, Debug)]
pub struct TraceColumn {
    /// Name of the column, as messages and documentation use it.
    pub name: &'static str,
    /// What the column may hold, with its unit.
    pub allowed: &'static str,
    /// What its values mean.
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

/// What the values of a column mean for the request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// Its arrival, a whole number of units of so many nanoseconds.
    Ticks(u64),
    /// Its arrival, a decimal number of which so many places make nanoseconds.
    Decimal(u32),
    /// Its source.
    Stream,
    /// Its kind.
    Kind(fn(&[u8]) -> Option<Op>),
    /// Its first sector.
    Sector,
    /// Its first byte.
    Offset,
    /// Its length in sectors.
    Sectors,
    /// Its length in bytes.
    Bytes,
    /// A number that is not used.
    Number,
    /// A text that is not used, but must fit; the reason if it does not.
    Unused(fn(&[u8]) -> bool, &'static str),
    /// The same in a last column that a line may lack.
    Optional(fn(&[u8]) -> bool, &'static str),
    /// What only the format's own code reads.
    Own,
    /// Its arrival in a unit that the format fixes, which only the format's own code reads.
    OwnTime(TimeUnit),
}

/// What most formats allow in such columns.
pub(super) const OFFSET: &str = "bytes, the request ending at or below 256 TiB";
pub(super) const BYTES: &str = "bytes, 1 to 2199023255040, at most 4294967295 sectors";
pub(super) const SECTOR: &str = "sector of 512 B, the request ending at or below 256 TiB";
pub(super) const SECTORS: &str = "sectors, 1 to 4294967295";
pub(super) const SECONDS: &str = "s, digits behind the ns dropped";
/// Why a field of [`Holds::Kind`] is refused.
pub(super) const NO_KIND: &str = "is no kind of request";

/// `Read` or `Write`, whatever the case.
pub(super) fn read_or_write(text: &[u8]) -> Option<Op> {
    if text.eq_ignore_ascii_case(b"read") {
        return Some(Op::Read);
    }
    text.eq_ignore_ascii_case(b"write").then_some(Op::Write)
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
        matches!(self.holds, Holds::Ticks(_) | Holds::Decimal(_))
    }

    /// The unit of the arrival, if the column holds that.
    pub(crate) fn time_unit(&self) -> Option<TimeUnit> {
        match self.holds {
            Holds::Ticks(ns) => TimeUnit::of_ns(ns),
            Holds::Decimal(places) => TimeUnit::of_places(places),
            Holds::OwnTime(unit) => Some(unit),
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
            Holds::Decimal(_) => looks_like_decimal(field),
            Holds::Kind(read) => read(field).is_some(),
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

/// What is special about one table.
pub(super) trait TableFormat: Send + 'static {
    /// Its declaration.
    const INFO: &'static FormatInfo;
    /// The first line of a file, which may come again where files were joined.
    const HEADER: &'static [u8] = b"";
    /// May columns follow that are not known?
    const OPEN_END: bool = false;
}

/// Do most of the first lines have the columns?
pub(super) fn detect<T: TableFormat>(sample: &Sample<'_>) -> bool {
    let header = !T::HEADER.is_empty() && sample.first() == T::HEADER;
    header
        || sample.most(|line| fits(T::INFO, T::OPEN_END, line))
            && !opening::streams_are_dates(T::INFO, sample)
}

/// A reader of the table.
pub(super) fn open<T: TableFormat>(input: Input, options: ReadOptions) -> Box<dyn TraceReader> {
    let table = Table {
        unit: options.time_unit,
        format: PhantomData::<T>,
    };
    Box::new(LineReader::new(T::INFO, table, input, options))
}

struct Table<T> {
    /// The unit of the times, if it is not that of the column.
    unit: Option<TimeUnit>,
    format: PhantomData<T>,
}

/// What the columns of a line say.
struct Values {
    ticks: u64,
    stream: u32,
    op: Op,
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
}

const fn places(columns: &[TraceColumn]) -> Places {
    let mut places = Places {
        tick_ns: 1,
        time: FieldFault::LINE,
        start: FieldFault::LINE,
        length: FieldFault::LINE,
        start_in_bytes: false,
        length_in_bytes: false,
    };
    let mut i = 0;
    while i < columns.len() {
        let at = i as u16;
        match columns[i].holds {
            Holds::Ticks(tick_ns) => (places.time, places.tick_ns) = (at, tick_ns),
            Holds::Decimal(_) => places.time = at,
            Holds::Sector => places.start = at,
            Holds::Offset => (places.start, places.start_in_bytes) = (at, true),
            Holds::Sectors => places.length = at,
            Holds::Bytes => (places.length, places.length_in_bytes) = (at, true),
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
            Holds::Stream => values.stream = fields.u32()?,
            Holds::Kind(read) => match read(fields.text()?) {
                Some(op) => values.op = op,
                None => return refused(NO_KIND),
            },
            Holds::Sector | Holds::Offset => values.start = fields.u64()?,
            Holds::Sectors | Holds::Bytes => values.length = fields.u64()?,
            Holds::Number => drop(fields.u64()?),
            Holds::Unused(fits, why) if !fits(fields.text()?) => return refused(why),
            Holds::Optional(fits, why) if !fields.next_text().is_none_or(fits) => {
                return refused(why);
            }
            Holds::Unused(..) | Holds::Optional(..) | Holds::Own | Holds::OwnTime(_) => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn read<const BLANKS: bool>(
        &self,
        mut fields: Fields<'_, BLANKS>,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        let (f, op) = (&mut fields, Op::Read);
        let (ticks, stream, start, length) = (0, 0, 0, 0);
        let mut values = Values {
            ticks,
            stream,
            op,
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
        const { assert!(Self::COLUMNS.len() <= 7, "one call for each column") };
        if !T::OPEN_END {
            fields.end()?;
        }
        let at = Self::PLACES;
        let placed = match (at.start_in_bytes, at.length_in_bytes) {
            (true, _) => extent::from_bytes(values.start, values.length),
            (_, true) => extent::from_sector_and_bytes(values.start, values.length),
            _ => extent::from_sectors(values.start, values.length).map(|extent| (extent, false)),
        };
        let (extent, rounded) =
            placed.map_err(|fault: ExtentFault| fault.at(at.start, at.length))?;
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

    #[inline]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        if !T::HEADER.is_empty() && line.bytes() == T::HEADER {
            return Ok(());
        }
        match T::INFO.separator {
            Separator::Blank => self.read(line.words(), sink),
            _ => self.read(line.fields(), sink),
        }
    }
}
