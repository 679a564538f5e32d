//! Block events as `perf script` writes them.

use super::block_event::{
    BlkEvent, CUT_OFF, EventCounts, JOINED, device_name, device_number, push, read_kind,
};
use super::columns::{NO_KIND, SECONDS, columns};
use super::{FormatInfo, Separator};
use crate::error::FieldFault;
use crate::extent;
use crate::text::fields::{MISSING, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::{parse_decimal, parse_u64};
use crate::volume::VolumeName;

/// Indices of the columns in the description.
const TIME: usize = 3;
const DEVICE: usize = 5;
const RWBS: usize = 6;
const SECTOR: usize = 8;
const PLUS: usize = 9;
const SECTORS: usize = 10;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "perf-script",
    aliases: &["perf"],
    about: "Text of perf script with block events: the lines of one event (block_rq_issue, D, \
            unless chosen); F before the kind is a preflush, F behind W is FUA, D is a TRIM; other events and \
            call chains are skipped.",
    source: "perf of Linux, `perf record -e 'block:*'`, then `perf script`",
    separator: Separator::Blank,
    columns: columns! {
        "process": Own, "not used";
        "pid": Own, "not used";
        "cpu": Own, "not used";
        "time": OwnTime(TimeUnit::Seconds), SECONDS;
        "event": Own, "block:block_rq_issue or another event of the kernel";
        "device": Own, "major,minor number, at most 4095,1048575";
        "rwbs": Own, "an optional F (preflush), then R (read), W (write), D (discard) or N (none), \
              then flags, F (FUA) among them";
        "command": Own, "bytes and SCSI command in (), not used";
        "sector": Own, "sector of 512 B, the request ending at or below 256 TiB";
        "+": Own, "a plus sign";
        "sectors": Own, "0 to 4294967295; what follows is not used";
    },
    example:
        b"blkid 28996 [039] 1395111.696645: block:block_rq_complete: 8,0 R () 2048 + 8 [0]\n\
               fio 28997 [039] 1395111.696745: block:block_rq_issue: 8,0 W 4096 () 2056 + 8 [fio]\n",
    example_requests: 1,
    detect: |_, sample| {
        let block = |line: &[u8]| find_event(line).is_some();
        let known = sample
            .lines
            .iter()
            .filter(|line| block(line) || is_other(line));
        sample.lines.iter().any(|line| block(line)) && 2 * known.count() > sample.lines.len()
    },
    open: |info, input, options| {
        let format = PerfScript {
            event: options.event.unwrap_or(BlkEvent::Issue),
            ..PerfScript::default()
        };
        Box::new(LineReader::new(info, format, input, options))
    },
    ..FormatInfo::BASE
};

const BLOCK: &[u8] = b" block:block_";

/// Where the name of a block event begins, and where its fields do.
fn find_event(line: &[u8]) -> Option<(usize, usize)> {
    // The first one: a line that was cut in front of another has two.
    let at = memchr::memmem::find(line, b" block:")?;
    if !line[at..].starts_with(BLOCK) {
        return None;
    }
    let (front, name) = (line[..at].trim_ascii_end(), at + b" block:".len());
    let end = name + memchr::memchr(b':', &line[name..])?;
    front.ends_with(b":").then_some((name, end + 1))
}

/// Is it an event of another kind, or a line of a call chain?
fn is_other(line: &[u8]) -> bool {
    let mut words = Separator::Blank.split(line);
    let first = words.next().unwrap_or(b"");
    let chain = line.starts_with(b" ") || line.starts_with(b"\t");
    if chain && first.len() > 5 && first.iter().all(u8::is_ascii_hexdigit) {
        return true;
    }
    let time = |word: &[u8]| {
        let number = word.strip_suffix(b":").unwrap_or(b"");
        number.contains(&b'.') && parse_decimal(number, 9).is_ok()
    };
    words.any(time) && memchr::memmem::find(line, BLOCK).is_none()
}

#[derive(Default)]
struct PerfScript {
    event: BlkEvent,
    counts: EventCounts,
    /// Do lines of the event end with a process in brackets?
    brackets: bool,
    /// Has the last line no line end?
    open_end: bool,
    /// The column of the last fault: processes have any number of words.
    column: usize,
}

/// The words of a line from some byte on.
struct Words<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> &'a [u8] {
        let rest = &self.line[self.at..];
        let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
        let start = rest.iter().take_while(|byte| blank(byte)).count();
        let word = &rest[start..];
        let len = word.iter().take_while(|byte| !blank(byte)).count();
        self.at += start + len;
        &word[..len]
    }

    /// The number of the last word in its line, for messages.
    fn position(&self) -> u16 {
        let words = Separator::Blank.split(&self.line[..self.at]).count();
        u16::try_from(words.saturating_sub(1)).unwrap_or(FieldFault::LINE)
    }
}

impl PerfScript {
    fn fault(&mut self, words: &Words<'_>, column: usize, why: &'static str) -> FieldFault {
        self.column = column;
        FieldFault::at(words.position(), why)
    }

    /// Reads the fields of the chosen event.
    fn request(
        &mut self,
        words: &mut Words<'_>,
        time: u64,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        let device = device_number(words.next());
        let stream = device.map_err(|why| self.fault(words, DEVICE, why))?;
        let kind = read_kind(words.next());
        let kind = kind.ok_or_else(|| self.fault(words, RWBS, NO_KIND))?;
        if self.event != BlkEvent::Queue && self.event != BlkEvent::Get {
            // Bytes, and the command in ().
            let end = memchr::memchr(b')', &words.line[words.at..]);
            words.at += end.map_or(0, |end| end + 1);
        }
        let sector = match words.next() {
            b"" => return Err(self.fault(words, SECTOR, MISSING)),
            text => parse_u64(text).map_err(|why| self.fault(words, SECTOR, why))?,
        };
        if words.next() != b"+" {
            return Err(self.fault(words, PLUS, "is no plus sign"));
        }
        let sectors = parse_u64(words.next()).map_err(|why| self.fault(words, SECTORS, why))?;
        let extent = match sectors {
            0 => None,
            _ => match extent::from_sectors(sector, sectors) {
                Ok(extent) => Some(extent),
                Err(extent::ExtentFault::Start(why)) => {
                    self.column = SECTOR;
                    return Err(FieldFault::at(words.position().saturating_sub(2), why));
                }
                Err(extent::ExtentFault::Length(why)) => {
                    return Err(self.fault(words, SECTORS, why));
                }
            },
        };
        let ended = words.line.ends_with(b"]");
        if self.open_end && self.brackets && !ended {
            return Err(FieldFault::at(FieldFault::LINE, CUT_OFF));
        }
        self.brackets |= ended;
        let pushed = push(kind, extent, time, stream, sink);
        pushed.map_err(|why| FieldFault::at(FieldFault::LINE, why))
    }
}

impl LineFormat for PerfScript {
    const TICK_NS: u64 = 1;

    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let line = line.bytes();
        let Some((name, fields)) = find_event(line) else {
            let why = "is no event of perf script";
            let other = is_other(line).then_some(());
            return other.ok_or(FieldFault::at(FieldFault::LINE, why));
        };
        if memchr::memmem::find(&line[fields..], BLOCK).is_some() {
            return Err(FieldFault::at(FieldFault::LINE, JOINED));
        }
        let event = BlkEvent::of_name(&line[name..fields - 1]);
        if let Some(event) = event {
            self.counts.add(event);
        }
        if event != Some(self.event) {
            return Ok(());
        }
        let front = line[..name - b"block:".len()].trim_ascii_end();
        let time = Separator::Blank.split(front).last().unwrap_or(b"");
        let number = time.strip_suffix(b":").unwrap_or(time);
        let time = parse_decimal(number, 9).map_err(|why| {
            let words = Words {
                line,
                at: front.len(),
            };
            self.fault(&words, TIME, why)
        })?;
        self.request(&mut Words { line, at: fields }, time, sink)
    }

    fn last_line_is_open(&mut self) {
        self.open_end = true;
    }

    fn column(&self, _position: usize) -> usize {
        self.column
    }

    fn no_request(&self) -> Option<String> {
        self.counts.no_request(self.event)
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        Some(device_name(stream))
    }
}
