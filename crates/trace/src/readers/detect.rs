//! Telling formats by the start of a trace.

use super::candidate::Candidate;
use super::columns::Holds;
use super::{
    FORMATS, FormatInfo, LoadOptions, Reading, Separator, TraceColumn, clock, is_header, known,
    mapped, plausible, unknown,
};
use crate::bytes::input::{BOM, Input, ends_with_cr};
use crate::error::{TraceError, shown};
use crate::mapping::guess::{self, GuessedTable};
use crate::mapping::lines::{has_names, is_drawn, names_columns};
use crate::mapping::words::meaning;
use crate::mapping::{ColumnRole, Mapping, named, values};
use crate::text::unusual::usual;
use crate::time_unit::TimeUnit;

/// Lines that detection looks at.
pub(crate) const SAMPLE_LINES: usize = 1_000;

/// The start of a trace, for detection.
pub(crate) struct Sample<'a> {
    /// The first bytes as they stand.
    pub(crate) bytes: &'a [u8],
    /// The first lines without comments, empty lines, line ends and trailing blanks.
    pub(crate) lines: Vec<&'a [u8]>,
    /// The last comment in front of them, without its mark.
    comment: Option<&'a [u8]>,
    /// How many lines they are of.
    read: usize,
}

impl<'a> Sample<'a> {
    /// `complete`: no byte follows, so that the last line is whole.
    pub fn new(window: &'a [u8], complete: bool) -> Sample<'a> {
        let text = window.strip_prefix(BOM).unwrap_or(window);
        let line_end = match ends_with_cr(text, 0) {
            Some(true) => b'\r',
            _ => b'\n',
        };
        let whole = match memchr::memrchr(line_end, text) {
            Some(end) if !complete => &text[..end],
            _ => text,
        };
        let (mut read, mut comment, mut begun) = (0, None, false);
        let lines = whole
            .split(|&byte| byte == line_end)
            .take(SAMPLE_LINES)
            .inspect(|_| read += 1)
            .map(|line| line.trim_ascii_end())
            .filter(|line| {
                if let Some(text) = line.strip_prefix(b"#").filter(|_| !begun) {
                    comment = Some(text.trim_ascii());
                }
                let is_line = !line.is_empty() && line[0] != b'#' && !is_drawn(line);
                begun |= is_line;
                is_line
            })
            .collect();
        Sample {
            bytes: window,
            lines,
            comment,
            read,
        }
    }

    /// The lines, and in front of them the comment that names their columns, if there is one and `mapping` allows it.
    pub fn named_lines(&self, mapping: &Mapping) -> Option<Vec<&'a [u8]>> {
        let (comment, layout) = (self.comment?, &mapping.layout);
        let words = || {
            comment
                .split(|b| b" \t,;|".contains(b))
                .map(String::from_utf8_lossy)
        };
        let is = |name: &str, role: ColumnRole| meaning(name).is_some_and(|m| m.role == role);
        let known = |role: &&ColumnRole| words().any(|name| is(&name, **role));
        let has = |name: &String| memchr::memmem::find(comment, name.as_bytes()).is_some();
        let telling = match mapping.column_names().next() {
            _ if layout.header == Some(true) => true,
            Some(_) => mapping.column_names().all(has),
            None => ColumnRole::ALL.iter().filter(known).count() > 2,
        };
        let free = layout.skip == 0 && layout.header != Some(false);
        let lines: Vec<&[u8]> = [&[comment], &self.lines[..]].concat();
        (telling && free && names_columns(layout, &lines)).then_some(lines)
    }

    /// The first bytes of text, behind the mark of its encoding.
    pub fn text(&self) -> &'a [u8] {
        self.bytes.strip_prefix(BOM).unwrap_or(self.bytes)
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

/// The sample of an input.
fn sample(input: &mut Input) -> Result<Sample<'_>, TraceError> {
    input.sample(SAMPLE_LINES)?;
    Ok(Sample::new(input.window(), input.at_end()))
}

/// How the start of the input is read: as `named`, or as the format that it fits best; in the unit that the
/// options name, else in the one that gives a plausible load; with the columns that they name.
pub(crate) fn settle(
    mut named: Option<&'static FormatInfo>,
    options: &LoadOptions,
    input: &mut Input,
) -> Result<Reading, TraceError> {
    let unit = options.time_unit;
    if named.is_none() && options.columns.is_some() {
        let sample = sample(input)?;
        let is_parquet = |f: &FormatInfo| f.separator == Separator::Named && (f.detect)(f, &sample);
        let parquet = FORMATS.iter().copied().find(|f| is_parquet(f));
        named = Some(parquet.unwrap_or(&mapped::INFO));
    }
    if let Some(format) = named.filter(|format| format.separator == Separator::Line) {
        let mapping = options.columns.clone().unwrap_or_default();
        let sample = sample(input)?;
        let lines = sample.named_lines(&mapping);
        let table = guess::complete(&mapping, unit, lines.as_ref().unwrap_or(&sample.lines));
        let table = table.map(Reading::table);
        return table.map_err(|reason| input.malformed(format.name, reason));
    }
    let mut reading = match named {
        Some(format) => Reading::certain(format),
        None => detect(unit, input)?,
    };
    let format = reading.format;
    if unit.is_some() || !format.takes_time_unit() || format.takes_mapping() {
        reading.time_unit = unit;
        return Ok(reading);
    }
    let sample = sample(input)?;
    Ok(clock::settle_unit(reading, named.is_some(), &sample))
}

/// The formats that a sample fits, in lines that are as they should be, or in any spelling.
fn fitting(unit: Option<TimeUnit>, sample: &Sample<'_>, spelled: bool) -> Vec<Candidate> {
    let own = FORMATS.iter().copied();
    let own = own.filter(|f| f.separator != Separator::Line);
    let fits = |format: &&'static FormatInfo| {
        if !spelled {
            return (format.detect)(format, sample);
        }
        let usual = |line: &&[u8]| usual(format, line).unwrap_or_else(|| line.to_vec());
        let lines: Vec<Vec<u8>> = sample.lines.iter().map(usual).collect();
        let lines = lines.iter().map(Vec::as_slice).collect();
        format.separator.is_text() && (format.detect)(format, &Sample { lines, ..*sample })
    };
    let candidate = |format| Candidate::of(format, unit, &sample.lines, !spelled);
    let candidates = own.filter(fits).map(candidate);
    candidates
        .filter(|candidate| candidate.may_be(sample.first()))
        .collect()
}

/// Does the first line have names of other columns than those of the format, whose lines the others look like?
fn other_names(format: &FormatInfo, lines: &[&[u8]]) -> bool {
    let kind = |c: &TraceColumn| matches!(c.holds, Holds::Kind(_));
    let typed = format.columns.iter().any(kind);
    let first = lines.first().copied().unwrap_or(b"");
    typed && !is_header(format, first) && has_names(lines)
}

/// The format that the start of the input fits best.
pub(super) fn detect(unit: Option<TimeUnit>, input: &mut Input) -> Result<Reading, TraceError> {
    input.sample(SAMPLE_LINES)?;
    let sample = Sample::new(input.window(), input.at_end());
    let file = || input.file().to_owned();
    if let Some(error) = unknown::foreign(input.file(), &sample) {
        return Err(error);
    }
    let commented = sample.named_lines(&Mapping::default());
    let lines = commented.as_ref().unwrap_or(&sample.lines);
    let by_names = || values::by_names(&Mapping::default(), lines, unit);
    let by_values = || values::by_values(lines, unit);
    // Between blanks, DiskSim and its kin have 1 for reads; elsewhere both are as common.
    let told = |table: &GuessedTable| !table.has_numbered_kinds() || table.is_of_blanks();
    let all_told = || by_values().into_iter().filter(told).collect();
    let mut fits = fitting(unit, &sample, false);
    if fits.is_empty() {
        unknown::refuse_utf16(input)?;
        if let Some(table) = named::detect(&sample, unit).or_else(by_names) {
            return Ok(Reading::table(table));
        }
        fits = fitting(unit, &sample, true);
    }
    let refuse = |table: Option<GuessedTable>| {
        let nearest = || unknown::nearest(input.file(), input.window()).map(Box::new);
        let advice = unknown::advice(table, lines);
        Err(TraceError::Undetected {
            file: file(),
            first: shown(sample.first()),
            nearest: advice.is_none().then(nearest).flatten(),
            advice: advice.unwrap_or_else(|| format!("{}; known: {}", unknown::ADVICE, known())),
        })
    };
    let empty = sample.lines.is_empty();
    match &fits[..] {
        [candidate] if commented.is_some() && other_names(candidate.format, lines) => {
            let base = candidate.kinds();
            let same = candidate.reads_as(&guess::outline(&base, lines).table);
            let table = || values::by_names(&base, lines, unit).filter(|_| !same);
            let format = || plausible::only(candidate, all_told);
            Ok(table().map_or_else(format, Reading::table))
        }
        [candidate] if other_names(candidate.format, lines) => {
            let table = by_names().or_else(|| by_values().into_iter().find(told));
            table.map_or_else(|| refuse(None), |table| Ok(Reading::table(table)))
        }
        [candidate] => Ok(plausible::only(candidate, all_told)),
        [] if empty && input.at_end() => Err(TraceError::Empty {
            file: file(),
            reason: "it holds no line but comments".into(),
        }),
        [] if empty => Err(TraceError::OnlyComments {
            file: file(),
            lines: sample.read,
        }),
        [] => match unknown::foreign_text(input.file(), &sample) {
            Some(error) => Err(error),
            None => match by_values().into_iter().next() {
                Some(table) if told(&table) => Ok(Reading::table(table)),
                table => refuse(table),
            },
        },
        _ => plausible::choose(&fits).ok_or_else(|| TraceError::Ambiguous {
            file: file(),
            formats: fits.iter().map(|c| c.format.name).collect(),
        }),
    }
}
