//! The trace formats: one file each, and the registry that names them.
//!
//! A new text format is a file here with a `FormatInfo` whose columns say what they hold
//! (`table`), or with a `LineFormat` that reads lines in a way of its own, plus its line in
//! [`FORMATS`]. Names, help, documentation rows, detection, fuzzing and the tests that hold for
//! every format follow from that entry.

mod alibaba;
mod arc;
mod ascii;
mod blkparse;
pub(crate) mod block_event;
mod block_list;
mod destage;
pub(crate) mod destage_bin;
mod diskmon;
mod etw;
mod file_ops;
mod fio;
mod fiu;
mod fs_capture;
mod header;
mod k5cloud;
pub(crate) mod mapped;
mod msr;
pub(crate) mod names;
pub(crate) mod opening;
mod oracle_general;
#[cfg(not(target_family = "wasm"))]
mod parquet;
mod perf_script;
pub(crate) mod plausible;
pub(crate) mod record;
mod snoop;
mod spc;
mod systor17;
pub(crate) mod table;
mod tencent;
mod tracetracker;
mod unknown;
mod vscsi;

use destage_types::{RequestBatch, nearest};

use crate::bytes::input::{BOM, Input, ends_with_cr};
use crate::error::{TraceError, shown};
use crate::mapping::{self, Mapping, guess};
use crate::sink::Restarts;
pub use crate::sink::{Raise, ReadCounts};
use crate::tags::TagSet;
use crate::text::numbers::is_blank;
use crate::text::unusual::usual;
use crate::time_unit::TimeUnit;
use crate::volume::VolumeName;

pub use block_event::BlkEvent;
pub(crate) use destage::{COLUMNS as CSV_COLUMNS, CSV_END, CSV_START, flags_text, tag_name};
pub use destage_bin::layout::LAYOUT as DESTAGE_BIN_LAYOUT;
pub(crate) use header::is_header;
pub(crate) use plausible::Reading;
pub(crate) use table::Holds;
pub use table::TraceColumn;
pub(crate) use unknown::refuse_utf16;

/// All formats that are read, in the order of the documentation.
pub const FORMATS: &[&FormatInfo] = &[
    &destage::INFO,
    &destage_bin::INFO,
    &msr::INFO,
    &spc::INFO,
    &systor17::INFO,
    &alibaba::INFO,
    &tencent::INFO,
    &k5cloud::INFO,
    &ascii::DISKSIM,
    &ascii::SSDSIM,
    &ascii::REPLAYER,
    &fiu::INFO,
    &tracetracker::INFO,
    &blkparse::INFO,
    &perf_script::INFO,
    &snoop::BIOSNOOP,
    &snoop::IOSNOOP,
    &fio::INFO,
    &fs_capture::INFO,
    &file_ops::INFO,
    &vscsi::INFO,
    &diskmon::INFO,
    &etw::INFO,
    &oracle_general::INFO,
    &oracle_general::OBJECTS,
    &block_list::INFO,
    &arc::INFO,
    &mapped::INFO,
    #[cfg(not(target_family = "wasm"))]
    &parquet::INFO,
];

/// Lines that detection looks at.
const SAMPLE_LINES: usize = 1_000;

/// The separator of the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Separator {
    /// One comma, perhaps with blanks beside it.
    Comma,
    /// Any number of blanks and tabs.
    Blank,
    /// Nothing: the line is one field.
    None,
    /// As a mapping says.
    Line,
    /// Nothing: fields of fixed width in binary records.
    Record,
    /// Nothing: binary columns that are found by their names.
    Named,
}

impl Separator {
    /// Are such traces lines of text?
    pub fn is_text(self) -> bool {
        !matches!(self, Separator::Record | Separator::Named)
    }

    /// The fields of a line.
    pub(crate) fn split<'a>(self, line: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        line.split(move |&byte| match self {
            Separator::Comma => byte == b',',
            Separator::Blank => is_blank(byte),
            _ => false,
        })
        .filter(move |field| self != Separator::Blank || !field.is_empty())
        .map(move |field| match self {
            Separator::Comma => field.trim_ascii(),
            _ => field,
        })
    }
}

/// Everything the rest of the program knows about one trace format.
pub struct FormatInfo {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// One sentence on what the format is.
    pub about: &'static str,
    /// Where the format is defined or its traces come from.
    pub source: &'static str,
    /// The separator of the columns.
    pub separator: Separator,
    /// The columns in order.
    pub columns: &'static [TraceColumn],
    /// Do the columns hold arrival times? If not, request i arrives at i us.
    pub timed: bool,
    /// Does the stream of a request tell its volume, each with addresses of its own? If not, all
    /// streams share the addresses of one device.
    pub volumes: bool,
    /// A short trace of the format, all good and fitting no other format.
    pub example: &'static [u8],
    /// Number of requests in `example`.
    pub example_requests: u64,
    /// Do the first lines look like this format?
    pub(crate) detect: fn(&Sample<'_>) -> bool,
    /// A reader for what detection accepted or the user named.
    pub(crate) open: fn(Input, ReadOptions) -> Box<dyn TraceReader>,
}

impl FormatInfo {
    /// The row of the format in a Markdown table: name, description, columns, source.
    pub fn doc_row(&self) -> String {
        let columns: Vec<&str> = self.columns.iter().map(|c| c.name).collect();
        let (name, about, columns) = (self.name, self.about, columns.join(", "));
        format!("| `{name}` | {about} | {columns} | {} |", self.source)
    }

    /// Are arrivals one number, so that a user can say that it has another unit?
    pub(crate) fn takes_time_unit(&self) -> bool {
        self.takes_mapping() || self.columns.iter().any(TraceColumn::is_time)
    }

    /// Does a mapping say which columns hold what?
    pub(crate) fn takes_mapping(&self) -> bool {
        matches!(self.separator, Separator::Line | Separator::Named)
    }

    /// The unit of arrivals, if the format has them.
    pub fn time_unit(&self) -> Option<TimeUnit> {
        self.columns.iter().find_map(TraceColumn::time_unit)
    }

    /// The columns of a line, for messages.
    pub(crate) fn line_shape(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|c| c.name).collect();
        let unit = match self.separator {
            Separator::Record => "record",
            Separator::Named => "row",
            _ => "line",
        };
        format!("a `{}` {unit}: {}", self.name, names.join(","))
    }
}

/// Options of a reader besides its input.
#[derive(Clone, Default, Debug)]
pub(crate) struct ReadOptions {
    /// Count bad lines instead of stopping at the first one.
    pub skip_bad_lines: bool,
    /// The kernel event that counts as a request; `None`: the usual one of the format.
    pub event: Option<BlkEvent>,
    /// Only requests of these kinds are wanted.
    pub tags: Option<TagSet>,
    /// The unit of the times, instead of that of the format.
    pub time_unit: Option<TimeUnit>,
    /// Which columns hold what, where a mapping says it.
    pub columns: Option<Mapping>,
    /// What to do where the clock starts again.
    pub restarts: Restarts,
}

/// Decodes one trace.
pub trait TraceReader: Send {
    /// Appends up to `max` requests to `out`, which the caller owns, and returns their number: 0 only at
    /// the end of the trace, and fewer than `max` only there or where their lists of further extents and
    /// old addresses have more than 4 MiB.
    ///
    /// # Errors
    /// A bad line (unless they are skipped), a damaged file, or an error of the system. The
    /// requests before it have been appended; the reader is at its end then.
    fn next_batch(&mut self, out: &mut RequestBatch, max: usize) -> Result<usize, TraceError>;

    /// The counts so far.
    fn counts(&self) -> &ReadCounts;

    /// Has the trace told its times so far? Asked only if the format may have them.
    fn timed(&self) -> bool {
        true
    }

    /// The unit of its times, where the trace says it; known once a request has been read.
    fn time_unit(&self) -> Option<TimeUnit> {
        None
    }

    /// The trace's name of a stream, if it has one besides the number.
    fn volume(&self, _stream: u32) -> Option<VolumeName> {
        None
    }

    /// Which columns hold what, where a mapping says it.
    fn mapping(&self) -> Option<&Mapping> {
        None
    }

    /// What speaks for another reading, where only the reader can tell.
    fn doubt(&self) -> Option<String> {
        None
    }

    /// Notes for users of the trace, a sentence each; complete at the end.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why the trace has no request, where the format can tell.
    fn no_request(&self) -> Option<String> {
        None
    }
}

/// The start of a trace, for detection.
pub(crate) struct Sample<'a> {
    /// The first bytes as they stand.
    pub(crate) bytes: &'a [u8],
    /// The first lines without comments, empty lines, line ends and trailing blanks.
    pub(crate) lines: Vec<&'a [u8]>,
    /// How many lines they are of.
    read: usize,
}

impl<'a> Sample<'a> {
    /// `complete`: no byte follows, so that the last line is whole.
    fn new(window: &'a [u8], complete: bool) -> Sample<'a> {
        let text = window.strip_prefix(BOM).unwrap_or(window);
        let line_end = match ends_with_cr(text, 0) {
            Some(true) => b'\r',
            _ => b'\n',
        };
        let whole = match memchr::memrchr(line_end, text) {
            Some(end) if !complete => &text[..end],
            _ => text,
        };
        let mut read = 0;
        let lines = whole
            .split(|&byte| byte == line_end)
            .take(SAMPLE_LINES)
            .inspect(|_| read += 1)
            .map(|line| line.trim_ascii_end())
            .filter(|line| !line.is_empty() && line[0] != b'#')
            .collect();
        Sample {
            bytes: window,
            lines,
            read,
        }
    }

    /// The first line that is no comment.
    pub fn first(&self) -> &'a [u8] {
        self.lines.first().copied().unwrap_or(b"")
    }

    /// Does `fits` hold for more than half of the lines? A few bad lines then still leave the
    /// format known, so that the error names them instead of saying that nothing fits.
    pub fn most(&self, fits: impl Fn(&[u8]) -> bool) -> bool {
        2 * self.lines.iter().filter(|line| fits(line)).count() > self.lines.len()
    }

    /// The first whole records of `size` bytes.
    pub fn records(&self, size: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.bytes.chunks_exact(size).take(SAMPLE_LINES)
    }
}

fn known() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    names.join(", ")
}

/// The format with this name or alias.
///
/// # Errors
/// [`TraceError::UnknownFormat`] with the nearest known name.
pub fn by_name(name: &str) -> Result<&'static FormatInfo, TraceError> {
    let named = |f: &&&FormatInfo| f.name == name || f.aliases.contains(&name);
    if let Some(format) = FORMATS.iter().find(named) {
        return Ok(format);
    }
    let names = FORMATS
        .iter()
        .flat_map(|f| std::iter::once(&f.name).chain(f.aliases));
    Err(TraceError::UnknownFormat {
        name: name.to_owned(),
        nearest: nearest(name, names.copied()).unwrap_or_default(),
        known: known(),
    })
}

/// How the start of the input is read: as `named`, or as the one of `formats` that it fits best; in the unit that the
/// options name, else in the one that gives a plausible load; with the columns that they name.
pub(crate) fn settle(
    formats: &[&'static FormatInfo],
    named: Option<&'static FormatInfo>,
    options: &ReadOptions,
    input: &mut Input,
) -> Result<Reading, TraceError> {
    let unit = options.time_unit;
    let named = match (named, &options.columns) {
        (None, Some(_)) => {
            input.sample(SAMPLE_LINES)?;
            let parquet = formats
                .iter()
                .copied()
                .find(|f| f.separator == Separator::Named);
            let sample = Sample::new(input.window(), input.at_end());
            Some(
                parquet
                    .filter(|f| (f.detect)(&sample))
                    .unwrap_or(&mapped::INFO),
            )
        }
        (named, _) => named,
    };
    if let Some(format) = named.filter(|format| format.separator == Separator::Line) {
        input.sample(SAMPLE_LINES)?;
        let sample = Sample::new(input.window(), input.at_end());
        let mapping = options.columns.clone().unwrap_or_default();
        let table = guess::complete(&mapping, unit, &sample.lines);
        return table
            .map(|table| Reading::table(format, table))
            .map_err(|reason| TraceError::Malformed {
                file: input.file().to_owned(),
                format: format.name,
                reason,
            });
    }
    if let Some(format) = named
        && (unit.is_some() || !format.takes_time_unit() || format.takes_mapping())
    {
        return Ok(Reading {
            time_unit: unit,
            ..Reading::certain(format)
        });
    }
    let reading = match named {
        Some(format) => Reading::certain(format),
        None => detect(formats, unit, input)?,
    };
    if unit.is_some() || reading.format.takes_mapping() {
        return Ok(Reading {
            time_unit: unit,
            ..reading
        });
    }
    input.sample(SAMPLE_LINES)?;
    let sample = Sample::new(input.window(), input.at_end());
    Ok(plausible::settle_unit(reading, named.is_some(), &sample))
}

/// The formats of `formats` that a sample fits, in lines that are as they should be.
fn fitting(formats: &[&'static FormatInfo], sample: &Sample<'_>) -> Vec<&'static FormatInfo> {
    let own = formats
        .iter()
        .copied()
        .filter(|f| f.separator != Separator::Line);
    own.filter(|f| (f.detect)(sample)).collect()
}

/// The same in any spelling.
fn fitting_spelled(
    formats: &[&'static FormatInfo],
    sample: &Sample<'_>,
) -> Vec<&'static FormatInfo> {
    let text = formats
        .iter()
        .copied()
        .filter(|f| f.separator.is_text() && f.separator != Separator::Line);
    let fits = text.filter(|format| {
        let usual = |line: &&[u8]| usual(format, line).unwrap_or_else(|| line.to_vec());
        let lines: Vec<Vec<u8>> = sample.lines.iter().map(usual).collect();
        let lines = lines.iter().map(Vec::as_slice).collect();
        (format.detect)(&Sample { lines, ..*sample })
    });
    fits.collect()
}

/// Does the first line have names of other columns than those of the format, whose lines the others look like?
fn other_names(format: &FormatInfo, sample: &Sample<'_>) -> bool {
    let typed = |c: &TraceColumn| matches!(c.holds, Holds::Kind(_) | Holds::KindOrBlank(_));
    let typed = format.columns.iter().any(typed) && !is_header(format, sample.first());
    typed && guess::by_names(&sample.lines, None).is_some()
}

/// The format of `formats` that the start of the input fits best.
pub(crate) fn detect(
    formats: &[&'static FormatInfo],
    unit: Option<TimeUnit>,
    input: &mut Input,
) -> Result<Reading, TraceError> {
    input.sample(SAMPLE_LINES)?;
    let sample = Sample::new(input.window(), input.at_end());
    let file = || input.file().to_owned();
    if let Some(error) = unknown::foreign(input.file(), &sample) {
        return Err(error);
    }
    let tables = formats.iter().any(|f| f.separator == Separator::Line);
    let mut fits = fitting(formats, &sample);
    if fits.is_empty() {
        refuse_utf16(input)?;
        let named = || {
            mapping::named::detect(&sample, unit).or_else(|| guess::by_names(&sample.lines, unit))
        };
        if let Some(table) = tables.then(named).flatten() {
            return Ok(Reading::table(&mapped::INFO, table));
        }
        fits = fitting_spelled(formats, &sample);
    }
    let by_values = || guess::by_values(&sample.lines, unit).filter(|_| tables);
    match fits[..] {
        [format] if opening::streams_are_new(format, &sample) || other_names(format, &sample) => {
            let table = guess::by_names(&sample.lines, unit).or_else(by_values);
            Ok(table.map_or_else(
                || plausible::only(format, &sample),
                |table| Reading::table(&mapped::INFO, table),
            ))
        }
        [format] => Ok(plausible::only(format, &sample)),
        [] if sample.lines.is_empty() && input.at_end() => Err(TraceError::Empty {
            file: file(),
            reason: "it holds no line but comments".into(),
        }),
        [] if sample.lines.is_empty() => Err(TraceError::OnlyComments {
            file: file(),
            lines: sample.read,
        }),
        [] => match (unknown::foreign_text(input.file(), &sample), by_values()) {
            (Some(error), _) => Err(error),
            (_, Some(table)) => Ok(Reading::table(&mapped::INFO, table)),
            _ => Err(TraceError::Undetected {
                file: file(),
                first: shown(sample.first()),
                nearest: unknown::nearest(formats, input.file(), input.window()).map(Box::new),
                known: known(),
            }),
        },
        _ => plausible::choose(&fits, unit, &sample).ok_or_else(|| TraceError::Ambiguous {
            file: file(),
            formats: fits.iter().map(|f| f.name).collect(),
        }),
    }
}

#[cfg(test)]
mod tests;
