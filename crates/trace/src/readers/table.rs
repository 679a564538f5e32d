//! Text formats of one request per line that are nothing but a table of columns in their places. `mappings.toml`
//! declares them ([`super::declared`]); their columns say how a line is read and how the format is told from others.

use destage_types::Op;

use super::columns::{Holds, KindWord, NO_KIND, TraceColumn};
use super::names::Names;
use super::{FormatInfo, LoadOptions, ReaderFacts, Separator, TraceReader, mapped};
use crate::bytes::input::Input;
use crate::error::FieldFault;
use crate::extent::{self, ExtentFault};
use crate::mapping::named::named_mappings;
use crate::mapping::row::{NO_REQUESTS, kinds_note};
use crate::mapping::rule::ColumnUnit;
use crate::text::fields::{Fields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::spelling::kind;
use crate::time_unit::TimeUnit;
use crate::volume::VolumeName;

/// Why a line of two requests is refused.
const JOINED: &str =
    "holds a second request: the end of a line is missing, as where files were joined";

/// Any word for a kind of request that has an address, and the fields behind it.
#[cold]
#[inline(never)]
fn other_kind<const BLANKS: bool>(
    mut fields: Fields<'_, BLANKS>,
) -> Result<(Option<Op>, Fields<'_, BLANKS>), FieldFault> {
    let refused = FieldFault::at(fields.column(), NO_KIND);
    let op = kind(fields.text()?).filter(|&op| op != Op::Flush);
    Ok((Some(op.ok_or(refused)?), fields))
}

/// Does the end of a line hold all columns of a second request but the first?
fn holds_second(info: &FormatInfo, rest: &[u8]) -> bool {
    let fields: Vec<&[u8]> = info.separator.split(rest).collect();
    let columns = &info.columns[1..];
    let request = |some: &[&[u8]]| {
        let mut pairs = columns.iter().zip(some);
        pairs.all(|(column, field)| column.fits(field))
    };
    fields.windows(columns.len()).any(request)
}

/// The orders of columns that are read fast: the separator, then a letter for each column, as [`letter`] has it. Each
/// is compiled by itself; tables in other orders are read as any table under their mapping.
#[rustfmt::skip]
const ORDERS: [&[u8]; 15] = [
    b",VKOLT", b" OLUN", b" NDUVKOL", b" DVOLK", b",KOL", b" TNUOLKMm?", b",VDKOL", b",THdKOLN",
    b",VOLKD", b" TVOLK?", b",DUKVOL", b",TOLKV", b" DKOL", b",TNKLO?", b" O",
];

/// The letter of a column in [`ORDERS`].
fn letter(holds: Holds) -> u8 {
    match holds {
        Holds::Ticks(_) => b'T',
        Holds::Decimal(_) => b'D',
        Holds::Stream => b'V',
        Holds::Host => b'H',
        Holds::Disk => b'd',
        Holds::Major => b'M',
        Holds::Minor => b'm',
        Holds::Kind(_) => b'K',
        Holds::Start(_) => b'O',
        Holds::Length(_) => b'L',
        Holds::Unused(..) => b'U',
        Holds::Optional(..) => b'?',
        _ => b'N',
    }
}

/// The place of the order of a table among those that are read fast.
pub(super) fn order(info: &FormatInfo) -> Option<usize> {
    let gap = match info.separator {
        Separator::Blank => b' ',
        _ => b',',
    };
    let letters = info.columns.iter().map(|column| letter(column.holds));
    let order: Vec<u8> = std::iter::once(gap).chain(letters).collect();
    ORDERS.iter().position(|known| *known == order)
}

/// A reader of the table.
pub(super) fn open(
    info: &'static FormatInfo,
    input: Input,
    options: LoadOptions,
) -> Box<dyn TraceReader> {
    macro_rules! reader {
        ($($order:literal)*) => {
            match order(info) {
                $(Some($order) => {
                    let table = Table::<$order>::new(info, options.time_unit);
                    Box::new(LineReader::new(info, table, input, options))
                })*
                _ => {
                    let columns = named_mappings().get(info.name).and_then(|named| named.mapping().ok());
                    mapped::open(&mapped::INFO, input, LoadOptions { columns, ..options })
                }
            }
        };
    }
    reader!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
}

/// The published volumes of MSR Cambridge come from 13 servers.
const MAX_HOSTS: usize = 1_024;

/// A table whose columns are in one of [`ORDERS`].
struct Table<const ORDER: usize> {
    info: &'static FormatInfo,
    places: u32,
    /// At most four of fewer than eight bytes, the first one again for those that are missing.
    words: [KindWord; 4],
    /// Those of addresses and lengths.
    units: [ColumnUnit; 2],
    hosts: Names,
    /// Lines of kinds that are no requests.
    skipped: u64,
}

/// Values of the columns of a line.
#[derive(Default)]
struct Values {
    ticks: u64,
    stream: u32,
    op: Option<Op>,
    /// First sector, byte or block, and length.
    start: u64,
    length: u64,
}

fn four(words: &[KindWord]) -> [KindWord; 4] {
    let first = words.first().copied().unwrap_or_default();
    [0, 1, 2, 3].map(|i| words.get(i).copied().unwrap_or(first))
}

/// The column that a letter stands for.
const fn place(order: &[u8], letters: [u8; 2]) -> u16 {
    let mut at = 1;
    while at < order.len() {
        if order[at] == letters[0] || order[at] == letters[1] {
            return at as u16 - 1;
        }
        at += 1;
    }
    FieldFault::LINE
}

impl<const ORDER: usize> Table<ORDER> {
    const COLUMNS: &'static [u8] = ORDERS[ORDER];
    const TIME: u16 = place(Self::COLUMNS, [b'T', b'D']);
    const START: u16 = place(Self::COLUMNS, [b'O'; 2]);
    const LENGTH: u16 = place(Self::COLUMNS, [b'L'; 2]);

    fn new(info: &'static FormatInfo, unit: Option<TimeUnit>) -> Table<ORDER> {
        let mut table = Table {
            info,
            places: 0,
            words: Default::default(),
            units: [ColumnUnit::Bytes; 2],
            hosts: Names::at_most(MAX_HOSTS),
            skipped: 0,
        };
        for column in info.columns {
            match column.holds {
                Holds::Decimal(own) => table.places = unit.unwrap_or(own).places(),
                Holds::Kind(words) => table.words = four(words),
                Holds::Start(unit) => table.units[0] = unit,
                Holds::Length(unit) => table.units[1] = unit,
                _ => {}
            }
        }
        table
    }

    /// Column `I`, if there is one. It is known when the program is compiled what it holds.
    #[inline(always)]
    fn column<const I: usize, const BLANKS: bool>(
        &mut self,
        fields: &mut Fields<'_, BLANKS>,
        values: &mut Values,
    ) -> Result<(), FieldFault> {
        if I + 1 >= Self::COLUMNS.len() {
            return Ok(());
        }
        let refused = |why| FieldFault::at(I as u16, why);
        match Self::COLUMNS[I + 1] {
            b'T' => values.ticks = fields.u64()?,
            b'D' => values.ticks = fields.decimal(self.places)?,
            b'V' => values.stream = fields.u32()?,
            b'H' => {
                let host = self.hosts.stream(fields.text()?.trim_ascii());
                values.stream = host.map_err(refused)? << 16;
            }
            b'd' => match fields.u64()? {
                disk @ ..0x1_0000 => values.stream |= disk as u32,
                _ => return Err(refused("is no number of a disk")),
            },
            b'M' => match fields.u64()? {
                major @ ..0x1000 => values.stream = (major as u32) << 20,
                _ => return Err(refused("is no major number")),
            },
            b'm' => match fields.u64()? {
                minor @ ..0x10_0000 => values.stream |= minor as u32,
                _ => return Err(refused("is no minor number")),
            },
            b'K' => {
                let before = *fields;
                let word = fields.short_word();
                match self.words.iter().find(|known| Some(known.0) == word) {
                    Some(known) => values.op = known.1,
                    None => (values.op, *fields) = other_kind(before)?,
                }
            }
            b'O' => values.start = fields.u64()?,
            b'L' => values.length = fields.u64()?,
            b'N' => fields.unused_integer()?,
            _ => match self.info.columns[I].holds {
                Holds::Unused(fits, why) if !fits(fields.text()?) => return Err(refused(why)),
                Holds::Optional(fits, why) if !fields.next_text().is_none_or(fits) => {
                    return Err(refused(why));
                }
                _ => {}
            },
        }
        Ok(())
    }

    #[inline(always)]
    fn read<const BLANKS: bool>(
        &mut self,
        mut fields: Fields<'_, BLANKS>,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        let (f, v) = (&mut fields, &mut Values::default());
        v.op = Some(Op::Read);
        v.length = u64::from(Self::LENGTH == FieldFault::LINE);
        self.column::<0, BLANKS>(f, v)?;
        self.column::<1, BLANKS>(f, v)?;
        self.column::<2, BLANKS>(f, v)?;
        self.column::<3, BLANKS>(f, v)?;
        self.column::<4, BLANKS>(f, v)?;
        self.column::<5, BLANKS>(f, v)?;
        self.column::<6, BLANKS>(f, v)?;
        self.column::<7, BLANKS>(f, v)?;
        self.column::<8, BLANKS>(f, v)?;
        const { assert!(Self::COLUMNS.len() <= 10, "one call for each column") };
        if !self.info.open_end {
            fields.end()?;
        } else if !fields.rest().is_empty() && holds_second(self.info, fields.rest()) {
            return Err(FieldFault::line(JOINED));
        }
        let placed = match self.units {
            [ColumnUnit::Sectors, ColumnUnit::Sectors] => {
                extent::from_sectors(v.start, v.length).map(|extent| (extent, false))
            }
            [ColumnUnit::Sectors, _] => extent::from_sector_and_bytes(v.start, v.length),
            [ColumnUnit::Blocks, _] => extent::from_blocks(v.start, v.length),
            _ => extent::from_bytes(v.start, v.length),
        };
        let fault = |fault: ExtentFault| fault.at(Self::START, Self::LENGTH);
        let (extent, rounded) = placed.map_err(fault)?;
        let Some(op) = v.op else {
            self.skipped += 1;
            return Ok(());
        };
        if Self::TIME == FieldFault::LINE {
            sink.push_untimed(op, extent);
        } else {
            let pushed = sink.push_extent(v.ticks, op, extent, v.stream);
            pushed.map_err(|why| FieldFault::at(Self::TIME, why))?;
        }
        sink.count_unaligned(rounded);
        Ok(())
    }
}

impl<const ORDER: usize> LineFormat for Table<ORDER> {
    const TICK_NS: u64 = 1;

    #[inline(always)]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        match Self::COLUMNS[0] {
            b' ' => self.read(line.words(), sink),
            _ => self.read(line.fields(), sink),
        }
    }
}

impl<const ORDER: usize> ReaderFacts for Table<ORDER> {
    fn volume(&self, stream: u32) -> Option<VolumeName> {
        let major = |column: &TraceColumn| matches!(column.holds, Holds::Major);
        if self.info.columns.iter().any(major) {
            return Some(super::block_event::device_name(stream));
        }
        let (host, disk) = (self.hosts.volume(stream >> 16)?.name, stream & 0xffff);
        Some(VolumeName::new(format!("{host}_{disk}")))
    }

    fn notes(&self) -> Vec<String> {
        kinds_note(self.skipped)
    }

    fn no_request(&self) -> Option<String> {
        (self.skipped > 0).then(|| NO_REQUESTS.to_owned())
    }
}
