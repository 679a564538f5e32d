//! The tables of biosnoop (BPF compiler collection) and iosnoop (perf-tools), which have a header.
//! Where they tell completions only, those are the arrivals (TR-1).

use super::block_event::{push, read_kind};
use super::columns::{BYTES, NO_KIND, SECTOR, columns};
use super::names::Names;
use super::{FormatInfo, LoadOptions, ReaderFacts, Separator, TraceReader};
use crate::bytes::input::Input;
use crate::error::FieldFault;
use crate::extent;
use crate::text::fields::{MISSING, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::{looks_like_integer, parse_decimal, parse_u64};
use crate::volume::VolumeName;

/// Indices of the columns in both descriptions.
const TIME: usize = 0;
const PROCESS: usize = 1;
const PID: usize = 2;
const DISK: usize = 3;
const KIND: usize = 4;
const START: usize = 5;
const LENGTH: usize = 6;
const OTHER: usize = 7;

/// The letters of both tools.
const LETTERS: &str =
    "an optional F (flush), then R (read), W (write), D (discard) or N (none), then flags";
/// Bytes that the kernel keeps of the name of a process.
const MAX_PROCESS: usize = 16;
/// Values that biosnoop shows for a request without an address.
const NO_SECTOR: [&[u8]; 2] = [b"-1", b"18446744073709551615"];

pub(super) const BIOSNOOP: FormatInfo = FormatInfo {
    name: "biosnoop",
    about: "The table of biosnoop with its header: addresses in sectors, sizes in bytes, rounded up \
            to whole sectors. Its time is that of the completion, and is taken as the arrival.",
    source: "biosnoop of bcc and of libbpf-tools, also with -Q",
    separator: Separator::Blank,
    columns: columns! {
        "TIME(s)": OwnTime(TimeUnit::Seconds), "s, digits behind the ns dropped";
        "COMM": Own, "name of the process, not used";
        "PID": Own, "number of the process, not used";
        "DISK": Own, "name of the disk, which may be missing";
        "T": Own, LETTERS;
        "SECTOR": Own, SECTOR;
        "BYTES": Own, BYTES;
        "LAT(ms)": Own, "not used";
    },
    example: b"TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n\
               0.000004    supervise      1950    xvda1     W 13092560   4096      0.74\n\
               0.000178    Web Content    1950    xvda1     R 13092432   8192      0.61\n",
    example_requests: 2,
    detect: |_, sample| is_table(sample.first(), b"TIME(s)"),
    open,
    ..FormatInfo::BASE
};

pub(super) const IOSNOOP: FormatInfo = FormatInfo {
    name: "iosnoop",
    about: "The table of iosnoop with its header: addresses in sectors, sizes in bytes, rounded up \
            to whole sectors. Times are those of the starts (-s) or of the ends (-t); without both \
            a request arrives 1 us after the one before.",
    source: "iosnoop of perf-tools (ftrace)",
    separator: Separator::Blank,
    columns: columns! {
        "STARTs": OwnTime(TimeUnit::Seconds), "s, digits behind the ns dropped; may be missing, or ENDs";
        "COMM": Own, "name of the process, not used";
        "PID": Own, "number of the process, not used";
        "DEV": Own, "the device";
        "TYPE": Own, LETTERS;
        "BLOCK": Own, SECTOR;
        "BYTES": Own, BYTES;
        "LATms": Own, "not used";
    },
    example: b"Tracing block I/O. Ctrl-C to end.\n\
               STARTs         COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n\
               5982800.302061 supervise    1809   W    202,1    17039600     4096       1.32\n\
               5982800.302423 supervise    1809   RM   202,1    17039608     4096       1.30\n",
    example_requests: 2,
    detect: |_, sample| {
        sample.lines.iter().take(3).any(|line| {
            !line.starts_with(b"TIME(s)") && is_table(line, b"") && line.ends_with(b"LATms")
        })
    },
    open,
    ..FormatInfo::BASE
};

fn open(info: &'static FormatInfo, input: Input, options: LoadOptions) -> Box<dyn TraceReader> {
    Box::new(LineReader::new(info, Snoop::default(), input, options))
}

/// Is the line a header that begins with `first`?
fn is_table(line: &[u8], first: &[u8]) -> bool {
    line.starts_with(first) && Layout::of(line).is_some()
}

/// Where the columns are. Processes have any number of words, so those behind are counted from
/// the end of the line.
struct Layout {
    /// Words in front of the process, and which of them is the time.
    front: usize,
    time: Option<usize>,
    /// The columns behind the number of the process.
    tail: Vec<usize>,
}

impl Layout {
    /// The layout that a header says.
    fn of(header: &[u8]) -> Option<Layout> {
        let words: Vec<&[u8]> = Separator::Blank.split(header).collect();
        let front = words.iter().position(|word| *word == b"COMM")?;
        let (before, behind) = words.split_at(front);
        let [_, pid, behind @ ..] = behind else {
            return None;
        };
        let tail: Vec<usize> = behind.iter().map(|word| column(word)).collect();
        let whole = [DISK, KIND, START, LENGTH]
            .iter()
            .all(|column| tail.iter().filter(|other| *other == column).count() == 1);
        let is = |names: &[&[u8]]| before.iter().position(|word| names.contains(word));
        let time = is(&[b"TIME(s)", b"STARTs"]).or_else(|| is(&[b"ENDs"]));
        (*pid == b"PID" && whole).then_some(Layout { front, time, tail })
    }
}

/// The column that a header calls so.
fn column(name: &[u8]) -> usize {
    match name {
        b"DISK" | b"DEV" => DISK,
        b"T" | b"TYPE" => KIND,
        b"SECTOR" | b"BLOCK" => START,
        b"BYTES" => LENGTH,
        _ => OTHER,
    }
}

/// The words of a line, and which of them each column is.
struct Row<'a> {
    words: Vec<&'a [u8]>,
    places: [usize; OTHER + 1],
}

fn fault(at: usize, column: usize, why: &'static str) -> FieldFault {
    let at = u16::try_from(at).unwrap_or(FieldFault::LINE);
    FieldFault::of(at, column as u16, why)
}

impl<'a> Row<'a> {
    fn of(layout: &Layout, line: &'a [u8]) -> Result<Row<'a>, FieldFault> {
        let mut words: Vec<&[u8]> = Separator::Blank.split(line).collect();
        let tail = words.len().saturating_sub(layout.tail.len());
        let number = |at: usize| words.get(at).is_some_and(|word| looks_like_integer(word));
        // Some disks have no name.
        let no_disk = layout.tail[0] == DISK && !number(tail.wrapping_sub(1)) && number(tail);
        let behind = tail + usize::from(no_disk);
        if behind <= layout.front {
            return Err(fault(words.len(), LENGTH, MISSING));
        }
        if !number(behind - 1) {
            return Err(fault(behind - 1, PID, "is no number of a process"));
        }
        let process = words[layout.front..behind - 1].iter();
        if process.map(|word| word.len() + 1).sum::<usize>() > MAX_PROCESS + 1 {
            let why = "is no name of a process, which has at most 16 bytes: the end of a line may be \
                       missing, as where files were joined";
            return Err(fault(layout.front, PROCESS, why));
        }
        if no_disk {
            words[tail] = b"?";
        }
        let mut places = [0; OTHER + 1];
        let columns = layout.tail.iter().enumerate();
        columns.for_each(|(i, &column)| places[column] = tail + i);
        places[TIME] = layout.time.unwrap_or(0);
        Ok(Row { words, places })
    }

    fn word(&self, column: usize) -> &'a [u8] {
        self.words.get(self.places[column]).copied().unwrap_or(b"")
    }

    fn fault(&self, column: usize, why: &'static str) -> FieldFault {
        fault(self.places[column], column, why)
    }

    /// The word of a column as a whole number.
    fn number(&self, column: usize) -> Result<u64, FieldFault> {
        parse_u64(self.word(column)).map_err(|why| self.fault(column, why))
    }
}

#[derive(Default)]
struct Snoop {
    layout: Option<Layout>,
    disks: Names,
    /// Without times: ns of the next request.
    next: u64,
}

impl Snoop {
    fn row(
        &mut self,
        row: &Row<'_>,
        timed: bool,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        let ticks = match timed {
            true => parse_decimal(row.word(TIME), 9).map_err(|why| row.fault(TIME, why))?,
            false => self.next,
        };
        let kind = read_kind(row.word(KIND)).ok_or_else(|| row.fault(KIND, NO_KIND))?;
        let length = row.number(LENGTH)?;
        let none = length == 0 || NO_SECTOR.contains(&row.word(START)) || kind.op.is_none();
        let placed = if none {
            None
        } else {
            let placed = extent::from_sector_and_bytes(row.number(START)?, length);
            Some(placed.map_err(|fault| match fault {
                extent::ExtentFault::Start(why) => row.fault(START, why),
                extent::ExtentFault::Length(why) => row.fault(LENGTH, why),
            })?)
        };
        let stream = self.disks.stream(row.word(DISK));
        let stream = stream.map_err(|why| row.fault(DISK, why))?;
        self.next += u64::from(kind.flush || placed.is_some()) * 1_000;
        let extent = placed.map(|(extent, _)| extent);
        push(kind, extent, ticks, stream, sink).map_err(|why| fault(0, TIME, why))?;
        sink.count_unaligned(placed.is_some_and(|(_, unaligned)| unaligned));
        Ok(())
    }
}

impl LineFormat for Snoop {
    const TICK_NS: u64 = 1;

    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let line = line.bytes();
        if let Some(layout) = Layout::of(line) {
            self.layout = Some(layout); // Files may have been joined.
            return Ok(());
        }
        if line.starts_with(b"Tracing ") || line.starts_with(b"Ending tracing") {
            return Ok(());
        }
        let Some(layout) = self.layout.take() else {
            let why = "is no header with COMM, PID, the disk, the type, the sector and BYTES";
            return Err(FieldFault::line(why));
        };
        let timed = layout.time.is_some();
        let read = Row::of(&layout, line).and_then(|row| self.row(&row, timed, sink));
        self.layout = Some(layout);
        read
    }
}

impl ReaderFacts for Snoop {
    fn timed(&self) -> bool {
        let layout = self.layout.as_ref();
        layout.is_none_or(|layout| layout.time.is_some())
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        self.disks.volume(stream)
    }
}
