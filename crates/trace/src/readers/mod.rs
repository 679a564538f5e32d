//! The trace formats, and the registry that names them.
//!
//! A new text format is an entry of `mappings.toml` if it is a table of columns, else a file here with a `LineFormat`
//! that reads lines in a way of its own, plus its line in [`FORMATS`]. Names, help, documentation rows, detection,
//! fuzzing and the tests that hold for every format follow from that entry.

mod blkparse;
pub(crate) mod block_event;
mod candidate;
pub(crate) mod clock;
pub(crate) mod columns;
mod declared;
mod destage;
pub(crate) mod destage_bin;
mod detect;
mod etw;
mod fio;
mod fs_capture;
mod header;
pub(crate) mod mapped;
pub(crate) mod names;
pub(crate) mod opening;
mod oracle_general;
#[cfg(not(target_family = "wasm"))]
mod parquet;
mod perf_script;
pub(crate) mod plausible;
pub(crate) mod record;
mod shape;
mod snoop;
pub(crate) mod table;
mod unknown;
pub(crate) mod verdict;
mod vscsi;

use std::sync::LazyLock;

use destage_types::{RequestBatch, nearest};

use crate::bytes::input::Input;
use crate::doubts::Doubts;
use crate::error::TraceError;
use crate::mapping::Mapping;
use crate::options::LoadOptions;
pub use crate::sink::{Raise, ReadCounts};
use crate::text::numbers::is_blank;
use crate::time_unit::TimeUnit;
use crate::volume::VolumeName;

pub(crate) use columns::Holds;
pub use columns::TraceColumn;
pub(crate) use destage::{COLUMNS as CSV_COLUMNS, CSV_END, CSV_START, flags_text, tag_name};
pub use destage_bin::layout::LAYOUT as DESTAGE_BIN_LAYOUT;
pub(crate) use detect::{SAMPLE_LINES, Sample, settle};
pub(crate) use header::is_header;
pub(crate) use plausible::Reading;
pub(crate) use shape::Only;
pub(crate) use unknown::refuse_utf16;

/// All formats that are read, in the order of the documentation.
pub static FORMATS: LazyLock<Vec<&'static FormatInfo>> = LazyLock::new(|| {
    let own = [&destage::INFO, &destage_bin::INFO].into_iter();
    let others = [
        &blkparse::INFO,
        &perf_script::INFO,
        &snoop::BIOSNOOP,
        &snoop::IOSNOOP,
        &fio::INFO,
        &fs_capture::INFO,
        &vscsi::INFO,
        &etw::INFO,
        &oracle_general::INFO,
        &oracle_general::OBJECTS,
        &mapped::INFO,
        #[cfg(not(target_family = "wasm"))]
        &parquet::INFO,
    ];
    own.chain(declared::DECLARED.iter()).chain(others).collect()
});

/// The separator of the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Separator {
    /// One comma, perhaps with blanks beside it.
    Comma,
    /// Any number of blanks and tabs.
    Blank,
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

    /// The fields of a line. Compiled into its callers, which know the separator.
    #[inline(always)]
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
    /// What tells it from others with the same columns.
    pub(crate) only: Option<Only>,
    /// The unit of times that are dates, where the format has two.
    pub(crate) dates: Option<TimeUnit>,
    /// May columns follow that are not known?
    pub(crate) open_end: bool,
    /// Do the first lines look like this format?
    pub(crate) detect: fn(&FormatInfo, &Sample<'_>) -> bool,
    /// A reader for what detection accepted or the user named.
    pub(crate) open: fn(&'static FormatInfo, Input, LoadOptions) -> Box<dyn TraceReader>,
}

impl FormatInfo {
    /// A table with times and volumes.
    const BASE: FormatInfo = FormatInfo {
        name: "",
        aliases: &[],
        about: "",
        source: "",
        separator: Separator::Comma,
        columns: &[],
        timed: true,
        volumes: true,
        example: b"",
        example_requests: 0,
        only: None,
        dates: None,
        open_end: false,
        detect: shape::detect,
        open: table::open,
    };

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

/// What a reader tells of its trace beside requests.
pub(crate) trait ReaderFacts {
    /// Has the trace told its times so far? Asked only if the format may have them.
    fn timed(&self) -> bool {
        true
    }

    /// The trace's name of a stream, if it has one besides the number.
    fn volume(&self, _stream: u32) -> Option<VolumeName> {
        None
    }

    /// Which columns hold what, where a mapping says it; with the unit of the times once a request has been read.
    fn mapping(&self) -> Option<&Mapping> {
        None
    }

    /// What speaks for another reading, where only the reader can tell.
    fn doubts(&self) -> Doubts {
        Doubts::default()
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

/// Decodes one trace.
pub(crate) trait TraceReader: Send {
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

    /// What it knows so far.
    fn facts(&self) -> &dyn ReaderFacts;
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

#[cfg(test)]
mod tests;
