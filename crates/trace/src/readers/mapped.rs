//! Text tables whose columns a mapping tells: delimited text, JSON lines, and lines of text with holes.

use super::columns::{BYTES, OFFSET, columns};
use super::{FormatInfo, LoadOptions, ReaderFacts, Sample, Separator, TraceReader};
use crate::bytes::input::Input;
use crate::error::FieldFault;
use crate::mapping::cut::Cut;
use crate::mapping::guess::{self, GuessedTable};
use crate::mapping::lines::is_drawn;
use crate::mapping::row::{Cell, Cells, MappedRows};
use crate::mapping::{ColumnRole, Mapping, Roles, values};
use crate::text::fields::{RawLine, TOO_MANY};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::volume::VolumeName;

/// A column of flags.
pub(super) const FLAG: &str =
    "optional, of writes: 0, 1, true, false, yes, no, the name of the flag, or empty";

pub(crate) const INFO: FormatInfo = FormatInfo {
    name: "table",
    aliases: &["csv", "jsonl"],
    about: "Any table of text: columns between separators, a JSON object a line, or text with holes. `--trace-columns` \
            says which columns hold what; what it does not say is told by the names of the columns.",
    source: "tables of pandas, spreadsheets, databases and tools",
    separator: Separator::Line,
    columns: columns! {
        "time": OwnTime(TimeUnit::Nanoseconds), "a number in the unit of the mapping, or a date with a time of day";
        "op": Own, "R, W, T or F, or read, write, trim, discard or flush, whatever the case, or a word of the mapping, as in op=COLUMN:GET=R,PUT=W";
        "offset": Own, OFFSET;
        "size": Own, BYTES;
        "volume": Own, "optional: a name of at most 4096 bytes, at most 1048576 different ones";
        "fua": Own, FLAG;
        "preflush": Own, FLAG;
    },
    example: b"when_us,kind,lba,nbytes,disk\n0,read,8,4096,a\n250,WRITE,16,512,b\n",
    example_requests: 2,
    detect: |_, sample| values::by_names(&Mapping::default(), &sample.lines, None).is_some(),
    open,
    ..FormatInfo::BASE
};

pub(super) fn open(
    info: &'static FormatInfo,
    mut input: Input,
    mut options: LoadOptions,
) -> Box<dyn TraceReader> {
    let mapping = options.columns.take().unwrap_or_default();
    // Opened without detection, as for the message about the nearest format.
    let _ = input.sample(super::SAMPLE_LINES);
    let sample = Sample::new(input.window(), input.at_end());
    let named = sample.named_lines(&mapping);
    let lines = named.as_ref().unwrap_or(&sample.lines);
    let table = guess::complete(&mapping, options.time_unit, lines);
    let mut lines = Mapped::new(table.unwrap_or_default());
    lines.is_header &= named.is_none();
    Box::new(LineReader::new(info, lines, input, options))
}

struct Mapped {
    table: GuessedTable,
    cut: Cut,
    rows: MappedRows,
    /// Lines in front of the first row.
    skip: usize,
    header: Option<Box<[u8]>>,
    is_header: bool,
    /// Lines that the pattern does not fit.
    others: u64,
}

impl Mapped {
    fn new(table: GuessedTable) -> Mapped {
        let layout = &table.mapping.layout;
        Mapped {
            cut: layout.cut.clone().unwrap_or(Cut::Json),
            rows: MappedRows::new(&table.mapping),
            skip: layout.skip,
            is_header: layout.header == Some(true),
            header: None,
            table,
            others: 0,
        }
    }
}

/// The values of the columns of a line.
pub(crate) fn cells<'a>(
    fields: &[Option<&'a [u8]>],
    places: &Roles<Vec<usize>>,
    joined: &'a mut Vec<u8>,
) -> Cells<'a> {
    let field = |place: &usize| fields.get(*place).copied().flatten();
    let mut cells = [Cell::Null; ColumnRole::ALL.len()];
    for (cell, places) in cells.iter_mut().zip(places) {
        if let [place] = places[..]
            && let Some(text) = field(&place)
            && !text.is_empty()
        {
            *cell = Cell::Text(text);
        }
    }
    // A date and a time of day, or a host and a disk.
    let several = |role: &ColumnRole| places[*role as usize].len() > 1;
    if ![ColumnRole::Time, ColumnRole::Volume].iter().any(several) {
        return cells;
    }
    joined.clear();
    let roles = [(ColumnRole::Time, b" "), (ColumnRole::Volume, b"_")];
    let ends = roles.map(|(role, gap)| {
        let start = joined.len();
        let places = places[role as usize].iter().filter(|_| several(&role));
        for (i, place) in places.enumerate() {
            joined.extend(if i > 0 { &gap[..] } else { b"" });
            joined.extend(field(place).unwrap_or(b""));
        }
        start..joined.len()
    });
    for ((role, _), range) in roles.into_iter().zip(ends) {
        if several(&role) {
            cells[role as usize] = Cell::Text(&joined[range]);
        }
    }
    cells
}

const NO_OBJECT: &str = "is no JSON object in one line";

impl LineFormat for Mapped {
    const TICK_NS: u64 = 1;

    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let text = line.bytes();
        if is_drawn(text) {
            return Ok(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        if self.is_header {
            self.is_header = false;
            self.header = Some(text.into());
            return Ok(());
        }
        let mut fields = Vec::with_capacity(16);
        if !self.cut.fields(text, &self.table.names, &mut fields) {
            if self.cut == Cut::Json {
                return Err(FieldFault::line(NO_OBJECT));
            }
            self.others += 1;
            return Ok(());
        }
        if let Some(width) = self.table.width.filter(|&width| fields.len() > width) {
            let place = u16::try_from(width).unwrap_or(FieldFault::LINE);
            return Err(FieldFault::of(place, FieldFault::LINE, TOO_MANY));
        }
        let mut joined = Vec::new();
        let cells = cells(&fields, &self.table.places, &mut joined);
        // Files may have been joined.
        if self.header.as_deref() == Some(text) {
            return Ok(());
        }
        self.rows.push(cells, sink).map_err(|(role, why)| {
            let place = self.table.places[role as usize].first();
            let place = place.and_then(|&place| place.try_into().ok());
            FieldFault::of(place.unwrap_or(FieldFault::LINE), role as u16, why)
        })
    }

    fn field<'a>(&self, text: &'a [u8], position: usize, _: &FormatInfo) -> &'a [u8] {
        let mut fields = Vec::new();
        self.cut.fields(text, &self.table.names, &mut fields);
        fields.get(position).copied().flatten().unwrap_or(b"")
    }
}

impl ReaderFacts for Mapped {
    fn timed(&self) -> bool {
        self.rows.timed()
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        self.rows.volume(stream)
    }

    fn mapping(&self) -> Option<&Mapping> {
        Some(&self.table.mapping)
    }

    fn notes(&self) -> Vec<String> {
        let others = self.others;
        let note = || format!("lines that no pattern fits, which are not read: {others}");
        let others = (others > 0).then(note);
        others.into_iter().chain(self.rows.notes()).collect()
    }

    fn no_request(&self) -> Option<String> {
        (self.others > 0).then(|| "no line fits line=".to_owned())
    }
}
