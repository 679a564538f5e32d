//! Text formats of one request per line that are nothing but a table of columns in their places. `mappings.toml`
//! declares them ([`super::declared`]); their columns say how a line is read and how the format is told from others.

use destage_types::Op;

use super::columns::{Holds, NO_KIND, kind_of};
use super::{FormatInfo, ReadOptions, Sample, Separator, TraceReader, is_header, opening};
use crate::bytes::input::Input;
use crate::error::FieldFault;
use crate::extent::{self, ExtentFault};
use crate::mapping::row::{NO_REQUESTS, kinds_note};
use crate::text::fields::{Fields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::spelling::kind;
use crate::time_unit::TimeUnit;
use crate::volume::VolumeName;

/// Why a line of two requests is refused.
const JOINED: &str =
    "holds a second request: the end of a line is missing, as where files were joined";

/// Any word for a kind of request that has an address.
#[cold]
#[inline(never)]
fn other_kind(text: &[u8]) -> Option<Option<Op>> {
    kind(text).filter(|&op| op != Op::Flush).map(Some)
}

/// What tells a table from others whose columns are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Only {
    /// Some time has a fraction.
    Fraction,
    /// No time has one.
    Whole,
    /// Nearly all addresses and lengths are multiples of 512: they may be bytes.
    Multiples,
}

impl Only {
    fn holds(self, info: &FormatInfo, sample: &Sample<'_>) -> bool {
        let fraction = |line: &&[u8]| {
            info.separator
                .split(line)
                .next()
                .is_some_and(|time| time.contains(&b'.'))
        };
        match self {
            Only::Fraction => sample.lines.iter().any(fraction),
            Only::Whole => !sample.lines.iter().any(fraction),
            Only::Multiples => {
                let lines = || sample.lines.iter().filter(|line| fits(info, line));
                let multiple = |line: &&&[u8]| {
                    let mut numbers = info.separator.split(line).skip(2).take(2);
                    numbers.all(is_multiple_of_512)
                };
                let multiples = lines().filter(multiple).count();
                lines().next().is_none() || opening::most(multiples, lines().count())
            }
        }
    }
}

/// Of a number that looks like an integer, whatever its length.
fn is_multiple_of_512(digits: &[u8]) -> bool {
    let digits = digits.iter().filter(|b| b.is_ascii_digit());
    digits.fold(0u32, |n, d| (10 * n + u32::from(d - b'0')) % 512) == 0
}

/// Has a line the columns of `info`, and no others unless they are allowed?
pub(super) fn fits(info: &FormatInfo, line: &[u8]) -> bool {
    let mut fields = info.separator.split(line);
    let fit = info.columns.iter().all(|column| match fields.next() {
        Some(field) => column.fits(field),
        None => matches!(column.holds, Holds::Optional(..)),
    });
    fit && (info.open_end || fields.next().is_none())
}

/// Does the end of a line hold all columns of a second request but the first?
fn holds_second(info: &FormatInfo, rest: &[u8]) -> bool {
    let fields: Vec<&[u8]> = info.separator.split(rest).collect();
    let columns = &info.columns[1..];
    let request = |some: &[&[u8]]| {
        columns
            .iter()
            .zip(some)
            .all(|(column, field)| column.fits(field))
    };
    fields.windows(columns.len()).any(request)
}

/// Do most of the first lines have the columns?
pub(super) fn detect(info: &FormatInfo, sample: &Sample<'_>) -> bool {
    let fit = || sample.most(|line| fits(info, line)) && !opening::streams_are_dates(info, sample);
    (is_header(info, sample.first()) || fit())
        && info.only.is_none_or(|only| only.holds(info, sample))
        // Other tables with these columns have their times elsewhere, and response times there.
        && (!info.open_end || opening::goes_forward(info, sample))
}

/// A reader of the table.
pub(super) fn open(
    info: &'static FormatInfo,
    input: Input,
    options: ReadOptions,
) -> Box<dyn TraceReader> {
    Box::new(LineReader::new(
        info,
        Table::new(info, options.time_unit),
        input,
        options,
    ))
}

/// The published volumes of MSR Cambridge come from 13 servers.
const MAX_HOSTS: usize = 1_024;

/// Servers in order of appearance.
#[derive(Default)]
struct Hosts {
    names: Vec<Box<[u8]>>,
    /// Index of the host of the line before.
    last: usize,
}

impl Hosts {
    /// The number of a host, which may be new.
    #[inline(always)]
    fn number(&mut self, host: &[u8]) -> Result<usize, &'static str> {
        if self.names.get(self.last).is_none_or(|last| **last != *host) {
            self.last = self.find(host)?;
        }
        Ok(self.last)
    }

    #[cold]
    fn find(&mut self, host: &[u8]) -> Result<usize, &'static str> {
        if let Some(known) = self.names.iter().position(|known| **known == *host) {
            return Ok(known);
        }
        match (host, self.names.len()) {
            (b"", _) => Err("is empty"),
            (_, MAX_HOSTS) => Err("is one name too many"),
            (_, count) => {
                self.names.push(host.into());
                Ok(count)
            }
        }
    }
}

/// The units of addresses and lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Units {
    Sectors,
    SectorAndBytes,
    Bytes,
    Blocks,
}

struct Table {
    info: &'static FormatInfo,
    holds: Vec<Holds>,
    units: Units,
    /// Where the columns are that may be at fault once all are read.
    time: u16,
    start: u16,
    length: u16,
    hosts: Hosts,
    /// Lines of kinds that are no requests.
    skipped: u64,
}

impl Table {
    fn new(info: &'static FormatInfo, unit: Option<TimeUnit>) -> Table {
        let holds = info
            .columns
            .iter()
            .map(|column| match (column.holds, unit) {
                (Holds::Decimal(_), Some(unit)) => Holds::Decimal(unit.places()),
                (holds, _) => holds,
            });
        let place = |is: fn(Holds) -> bool| {
            let at = info.columns.iter().position(|column| is(column.holds));
            at.map_or(FieldFault::LINE, |at| at as u16)
        };
        let has = |is: fn(Holds) -> bool| place(is) != FieldFault::LINE;
        Table {
            info,
            holds: holds.collect(),
            units: match () {
                () if has(|h| matches!(h, Holds::Block)) => Units::Blocks,
                () if has(|h| matches!(h, Holds::Offset)) => Units::Bytes,
                () if has(|h| matches!(h, Holds::Bytes)) => Units::SectorAndBytes,
                () => Units::Sectors,
            },
            time: place(|h| matches!(h, Holds::Ticks(_) | Holds::Decimal(_))),
            start: place(|h| matches!(h, Holds::Sector | Holds::Offset | Holds::Block)),
            length: place(|h| matches!(h, Holds::Sectors | Holds::Bytes | Holds::Blocks)),
            hosts: Hosts::default(),
            skipped: 0,
        }
    }

    #[inline(always)]
    fn read<const BLANKS: bool>(
        &mut self,
        mut fields: Fields<'_, BLANKS>,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        let (mut ticks, mut stream, mut start, mut length) = (0, 0, 0, 0);
        let mut op = Some(Op::Read);
        for (at, holds) in self.holds.iter().enumerate() {
            let refused = |why| FieldFault::at(at as u16, why);
            match *holds {
                Holds::Ticks(_) => ticks = fields.u64()?,
                Holds::Decimal(places) => ticks = fields.decimal(places)?,
                Holds::Stream => stream = fields.u32()?,
                Holds::Host => {
                    let host = self
                        .hosts
                        .number(fields.text()?.trim_ascii())
                        .map_err(refused)?;
                    stream = (host as u32) << 16;
                }
                Holds::Disk => match fields.u64()? {
                    disk @ ..0x1_0000 => stream |= disk as u32,
                    _ => return Err(refused("is no number of a disk")),
                },
                Holds::Major => match fields.u64()? {
                    major @ ..0x1000 => stream = (major as u32) << 20,
                    _ => return Err(refused("is no major number")),
                },
                Holds::Minor => match fields.u64()? {
                    minor @ ..0x10_0000 => stream |= minor as u32,
                    _ => return Err(refused("is no minor number")),
                },
                Holds::Kind(words) => {
                    let text = fields.text()?;
                    let found = kind_of(words, text).or_else(|| other_kind(text));
                    op = found.ok_or(refused(NO_KIND))?;
                }
                Holds::Sector | Holds::Offset | Holds::Block => start = fields.u64()?,
                Holds::Sectors | Holds::Bytes | Holds::Blocks => length = fields.u64()?,
                Holds::Whole | Holds::Counter => fields.unused_integer()?,
                Holds::Unused(fits, why) if !fits(fields.text()?) => return Err(refused(why)),
                Holds::Optional(fits, why) if !fields.next_text().is_none_or(fits) => {
                    return Err(refused(why));
                }
                Holds::Unused(..) | Holds::Optional(..) => {}
                Holds::Own | Holds::OwnTime(_) | Holds::ListedBlock => {}
            }
        }
        if !self.info.open_end {
            fields.end()?;
        } else if !fields.rest().is_empty() && holds_second(self.info, fields.rest()) {
            return Err(FieldFault::at(FieldFault::LINE, JOINED));
        }
        let placed = match self.units {
            Units::Sectors => extent::from_sectors(start, length).map(|extent| (extent, false)),
            Units::SectorAndBytes => extent::from_sector_and_bytes(start, length),
            Units::Bytes => extent::from_bytes(start, length),
            Units::Blocks => extent::from_blocks(start, length),
        };
        let fault = |fault: ExtentFault| fault.at(self.start, self.length);
        let (extent, rounded) = placed.map_err(fault)?;
        let Some(op) = op else {
            self.skipped += 1;
            return Ok(());
        };
        if self.time == FieldFault::LINE {
            sink.push_untimed(op, extent);
        } else {
            let pushed = sink.push_extent(ticks, op, extent, stream);
            pushed.map_err(|why| FieldFault::at(self.time, why))?;
        }
        sink.count_unaligned(rounded);
        Ok(())
    }
}

impl LineFormat for Table {
    const TICK_NS: u64 = 1;

    #[inline(always)]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        match self.info.separator {
            Separator::Blank => self.read(line.words(), sink),
            _ => self.read(line.fields(), sink),
        }
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        if self.holds.iter().any(|holds| matches!(holds, Holds::Major)) {
            return Some(super::block_event::device_name(stream));
        }
        let host = self.hosts.names.get((stream >> 16) as usize)?;
        let (host, disk) = (String::from_utf8_lossy(host), stream & 0xffff);
        Some(VolumeName::new(format!("{host}_{disk}")))
    }

    fn notes(&self) -> Vec<String> {
        kinds_note(self.skipped)
    }

    fn no_request(&self) -> Option<String> {
        (self.skipped > 0).then(|| NO_REQUESTS.to_owned())
    }
}
