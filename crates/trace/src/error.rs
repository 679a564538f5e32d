//! Why a trace was refused. Every message names the file, the place, the value, what is wrong
//! with it and what is allowed.

use std::borrow::Cow;
use std::fmt;
use std::io;

use crate::Container;

/// The fault of a line, without the text: costs nothing when bad lines are skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FieldFault {
    /// Index of the field, or [`FieldFault::LINE`].
    pub column: u16,
    /// Index of its column in the description of the format, where lines may lack some.
    pub known: u16,
    /// The fault; continues the sentence "the value ...".
    pub why: &'static str,
}

impl FieldFault {
    /// Stands for "no field in particular".
    pub const LINE: u16 = u16::MAX;

    #[inline]
    pub const fn at(column: u16, why: &'static str) -> FieldFault {
        FieldFault::of(column, column, why)
    }

    /// Of a line as a whole.
    #[inline]
    pub const fn line(why: &'static str) -> FieldFault {
        FieldFault::at(FieldFault::LINE, why)
    }

    /// Of a field that is column `known`.
    #[inline]
    pub const fn of(column: u16, known: u16, why: &'static str) -> FieldFault {
        FieldFault { column, known, why }
    }
}

/// A line or record that is not a request of the format it was read as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// The file, or `stdin`.
    pub file: String,
    /// The unit of the trace: `line` or `record`.
    pub unit: &'static str,
    /// Number of the line or record, from 1.
    pub line: u64,
    /// Number (from 1) and name of the field; the name is empty behind the last known field.
    /// `None` if the line as a whole is wrong.
    pub column: Option<(usize, &'static str)>,
    /// The field, or the start of the line; control characters are escaped.
    pub value: String,
    /// The fault of the value.
    pub reason: &'static str,
    /// The values that the format allows there.
    pub allowed: String,
}

impl BadLine {
    /// The message without the file.
    fn inside(&self) -> String {
        let column = match self.column {
            Some((number, "")) => format!(", column {number}"),
            Some((number, name)) => format!(", column {number} ({name})"),
            None => String::new(),
        };
        format!(
            "{} {}{column}: `{}` {}; allowed: {}",
            self.unit, self.line, self.value, self.reason, self.allowed
        )
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.inside())
    }
}

/// Characters of a value that a message shows.
const SHOWN: usize = 80;

/// The start of `bytes` in printable characters.
pub fn shown(bytes: &[u8]) -> String {
    // A character takes up to 4 bytes: a cut inside one would show as a broken character.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let start = text.chars().take(SHOWN);
    let mut out: String = start.flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        out.push_str("...");
    }
    out
}

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say what the fields are
pub enum TraceError {
    /// A line is not a request; with `skip_bad_lines` it is counted instead.
    #[error("{0}")]
    Line(Box<BadLine>),
    /// No line at all, or nothing but comments.
    #[error("{file}: the trace is empty: {reason}")]
    Empty {
        file: String,
        reason: Cow<'static, str>,
    },
    /// Bad lines are skipped, and no other line is there.
    #[error("{file}: not one of {lines} lines is a `{format}` request; the first: {first}")]
    AllBad {
        file: String,
        format: &'static str,
        lines: u64,
        first: Box<BadLine>,
    },
    /// The operating system refused to open or read.
    #[error("{file}: {source}")]
    Io { file: String, source: io::Error },
    /// The temporary file of a trace that is larger than the memory for it cannot be written.
    #[error("cannot write {file}: {source}")]
    Spool { file: String, source: io::Error },
    /// A file of requests that were decoded before was damaged since, or cannot be read.
    #[error("cannot read the decoded requests: {0}")]
    Reread(Box<TraceError>),
    /// The trace needs such a file in a browser, which has none.
    #[error("the requests of the trace need more memory than a page in a browser has for them")]
    NoSpool,
    /// The file is compressed, and damaged or cut off.
    #[error("{file}: damaged or truncated {container} file: {source}")]
    Damaged {
        file: String,
        container: Container,
        source: io::Error,
    },
    /// The file is compressed in a way that is not read.
    #[error("{file}: {container} files are not read; allowed: plain, zstd, gzip, xz")]
    Container {
        file: String,
        container: &'static str,
    },
    /// The bytes are known, and no trace: another program makes one of them.
    #[error("{file}: {what}: {advice}")]
    Foreign {
        file: String,
        what: &'static str,
        advice: &'static str,
    },
    /// No such format.
    #[error("unknown trace format `{name}`; did you mean `{nearest}`? known: {known}")]
    UnknownFormat {
        name: String,
        nearest: &'static str,
        known: String,
    },
    /// A mapping has a name, and cannot be read.
    #[error("{name}: {reason}")]
    Mapping { name: String, reason: String },
    /// No format fits the first lines.
    #[error(
        "{file}: no known trace format fits; first line `{first}`{}; {advice}",
        nearest_text(.nearest)
    )]
    Undetected {
        file: String,
        first: String,
        /// The format that reads most columns, and where it fails.
        nearest: Option<Box<NearestFormat>>,
        /// The mapping that may read it.
        advice: String,
    },
    /// Formats are told by the first lines, and they hold nothing.
    #[error(
        "{file}: the trace format cannot be told: the first {lines} lines are blank or comments"
    )]
    OnlyComments { file: String, lines: usize },
    /// Several formats fit the first lines.
    #[error("{file}: several trace formats fit: {}; name the right one", .formats.join(", "))]
    Ambiguous {
        file: String,
        formats: Vec<&'static str>,
    },
    /// A binary trace is damaged, cut off, or of a version that is not known.
    #[error("{file}: no good `{format}` file: {reason}")]
    Malformed {
        file: String,
        format: &'static str,
        reason: String,
    },
    /// A table in memory has not the columns of requests.
    #[error("{name}: {reason} (--trace-columns)")]
    NoColumn { name: String, reason: String },
    /// A unit of times is given, and the format has no number that would be in it.
    #[error("{file}: the times of `{format}` have the unit that the format says, and no other")]
    TimeUnit { file: String, format: &'static str },
    /// Columns are named, and those of the format have their places.
    #[error(
        "{file}: the columns of `{format}` have their places; --trace-columns is for tables: --format table, parquet, \
         or none"
    )]
    Columns { file: String, format: &'static str },
    /// The volume asked for is not in the trace.
    #[error("{file}: the trace has no volume `{wanted}`; its volumes: {known}")]
    NoVolume {
        file: String,
        wanted: String,
        known: String,
    },
    /// The volumes of the trace cannot be placed one behind the other.
    #[error("{file}: the volumes of the trace cannot be stacked: {reason}; {VOLUMES_HINT}")]
    Stack { file: String, reason: &'static str },
}

impl TraceError {
    pub(crate) fn stack(file: &str, reason: &'static str) -> TraceError {
        let file = file.to_owned();
        TraceError::Stack { file, reason }
    }
}

/// The format that is nearest to a file, and where it fails.
#[derive(Debug)]
pub struct NearestFormat {
    /// Its name.
    pub format: &'static str,
    /// The first line that is none of it.
    pub bad: BadLine,
}

fn nearest_text(nearest: &Option<Box<NearestFormat>>) -> String {
    let text = nearest.as_ref().map(|nearest| {
        let (format, bad) = (nearest.format, nearest.bad.inside());
        format!("; the nearest is `{format}`, which fails at {bad}")
    });
    text.unwrap_or_default()
}

const VOLUMES_HINT: &str = "`only=VOLUME` reads one of them, `overlay` lets them share addresses";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_and_escaped() {
        assert_eq!(shown(b"a\0b\t\x1b"), "a\\0b\\t\\u{1b}");
        assert_eq!(shown(&[b'x'; 80]), "x".repeat(80));
        assert_eq!(shown(&[b'x'; 81]), "x".repeat(80) + "...");
        let euros = "\u{20ac}".repeat(100);
        assert_eq!(shown(euros.as_bytes()), "\u{20ac}".repeat(80) + "...");
    }
}
