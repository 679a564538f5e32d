//! The default text of `blkparse`: one line per event of the kernel's block layer.

use std::fmt;
use std::str::FromStr;

use destage_types::{HostRequest, Nanos, Op};

use super::table::{NO_KIND, SECONDS, columns};
use super::{FormatInfo, Sample, Separator};
use crate::error::FieldFault;
use crate::extent;
use crate::text::fields::{BlankFields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::{looks_like_decimal, looks_like_integer, parse_u64};
use crate::volume::VolumeName;

const DEVICE: u16 = 0;
const TIME: u16 = 3;
const RWBS: u16 = 6;
const SECTOR: u16 = 7;
const PLUS: u16 = 8;
const SECTORS: u16 = 9;

/// The event of a `blkparse` trace that counts as a request; each request passes most of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BlkEvent {
    /// `Q`: the file system or a process asks for it.
    #[default]
    Queue,
    /// `G`: a request of the kernel is allocated.
    Get,
    /// `I`: it enters the I/O scheduler, merged requests as one.
    Insert,
    /// `D`: it is sent to the device, merged requests as one.
    Issue,
    /// `C`: the device has completed it.
    Complete,
}

const EVENTS: [(BlkEvent, &str); 5] = [
    (BlkEvent::Queue, "Q"),
    (BlkEvent::Get, "G"),
    (BlkEvent::Insert, "I"),
    (BlkEvent::Issue, "D"),
    (BlkEvent::Complete, "C"),
];

impl BlkEvent {
    fn letter(self) -> &'static str {
        let known = EVENTS.iter().find(|(event, _)| *event == self);
        known.expect("every event is in the list").1
    }
}

impl fmt::Display for BlkEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letter())
    }
}

impl FromStr for BlkEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<BlkEvent, String> {
        let known = EVENTS.iter().find(|(_, letter)| *letter == text);
        let event = known.map(|(event, _)| *event);
        event.ok_or_else(|| format!("`{text}` is none of the events Q, G, I, D, C"))
    }
}

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "blkparse",
    aliases: &[],
    about: "blkparse default text: the lines of one kind of event (Q unless chosen); a leading F \
            is a FLUSH before the request, D a TRIM; the summary at the end is skipped.",
    source: "blktrace of Linux, manual page of blkparse",
    separator: Separator::Blank,
    columns: columns! {
        "device": Own, "major,minor number, at most 4095,1048575";
        "cpu": Own, "not used";
        "sequence": Own, "not used";
        "time": OwnTime(TimeUnit::Seconds), SECONDS;
        "pid": Own, "not used";
        "event": Own, "a letter such as Q (queued), D (issued) or C (completed)";
        "rwbs": Own, "an optional F (flush), then R (read), W (write), D (discard) or N (none), \
              then flags";
        "sector": Own, "sector of 512 B, the request ending at or below 256 TiB; missing if no data \
              move";
        "+": Own, "a plus sign";
        "sectors": Own, "0 to 4294967295; what follows is not used";
    },
    timed: true,
    volumes: true,
    example: b"  8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 1444645632\n  \
               8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]\n\
               259,0   11        2     0.024124474  1889  Q FWS [jbd2/dm-4-8]\n\
               259,0   11        9     0.025  1889  Q  DS 128 + 64 [fstrim]\n\
               CPU0 (sdb):\n Reads Queued:           1,      128KiB\n",
    example_requests: 3,
    detect,
    open: |input, options| {
        let event = options.event.letter().as_bytes();
        let format = BlkParse { event };
        Box::new(LineReader::new(&INFO, format, input, options))
    },
};

fn detect(sample: &Sample<'_>) -> bool {
    let event = |line: &[u8]| {
        let mut words = Separator::Blank.split(line);
        let mut next = || words.next().unwrap_or(b"");
        let (device, cpu, sequence, time, pid, _event, rwbs) =
            (next(), next(), next(), next(), next(), next(), next());
        let integers = [cpu, sequence, pid];
        device_number(device).is_ok()
            && integers.into_iter().all(looks_like_integer)
            && looks_like_decimal(time)
            && time.contains(&b'.')
            && !rwbs.is_empty()
    };
    // Short traces have more lines of summary than of events.
    let events = sample.lines.iter().filter(|line| event(line)).count();
    let summary = sample.lines.iter().filter(|line| is_summary(line)).count();
    events > 0 && 2 * (events + summary) > sample.lines.len()
}

/// Starts of the lines behind the events, blanks in front of them removed.
const SUMMARY: [&[u8]; 16] = [
    b"CPU",
    b"Total (",
    b"Throughput (",
    b"Events (",
    b"Skips:",
    b"Input file ",
    b"Reads Queued:",
    b"Read Dispatches:",
    b"Reads Requeued:",
    b"Reads Completed:",
    b"Read Merges:",
    b"Read depth:",
    b"IO unplugs:",
    b"PC Reads ",
    b"PC Read ",
    b"Max depth:",
];

fn is_summary(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    SUMMARY.iter().any(|start| text.starts_with(start))
}

/// The number that the kernel gives a device, 12 bits major and 20 bits minor.
fn device_number(text: &[u8]) -> Result<u32, &'static str> {
    const NO_DEVICE: &str = "is no major,minor number";
    let comma = memchr::memchr(b',', text).ok_or(NO_DEVICE)?;
    let (major, minor) = (parse_u64(&text[..comma]), parse_u64(&text[comma + 1..]));
    match (major, minor) {
        (Ok(major @ ..0x1000), Ok(minor @ ..0x10_0000)) => Ok((major << 20 | minor) as u32),
        _ => Err(NO_DEVICE),
    }
}

/// What a line of the chosen event asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    flush: bool,
    /// None if no data are named.
    op: Option<Op>,
}

fn read_kind(rwbs: &[u8]) -> Option<Kind> {
    let flush = rwbs.first() == Some(&b'F');
    let op = match rwbs.get(usize::from(flush)) {
        Some(b'R') => Some(Op::Read),
        Some(b'W') => Some(Op::Write),
        Some(b'D') => Some(Op::Trim),
        Some(b'N') => None,
        Some(b'F') | None if flush => None,
        _ => return None,
    };
    Some(Kind { flush, op })
}

/// Sector and sectors; none if the line names no data.
fn read_extent(words: &mut BlankFields<'_>) -> Result<Option<(u64, u64)>, FieldFault> {
    let ahead = *words;
    let first = words.next_text();
    if first.is_none_or(|text| text.starts_with(b"[")) {
        return Ok(None);
    }
    *words = ahead;
    let sector = words.u64()?;
    match words.text()? {
        b"+" => {}
        // A completed request without data, or the bytes of a SCSI command.
        text if text.starts_with(b"[") || text.starts_with(b"(") => return Ok(None),
        _ => return Err(FieldFault::at(PLUS, "is no plus sign")),
    }
    let sectors = words.u64()?;
    Ok(Some((sector, sectors)).filter(|_| sectors > 0))
}

struct BlkParse {
    event: &'static [u8],
}

impl LineFormat for BlkParse {
    const TICK_NS: u64 = 1;

    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        if is_summary(line.bytes()) {
            return Ok(());
        }
        let mut words = line.words();
        let stream = device_number(words.text()?).map_err(|why| FieldFault::at(DEVICE, why))?;
        words.u64()?;
        words.u64()?;
        let time = words.decimal(9)?;
        words.u64()?;
        if words.text()? != self.event {
            return Ok(());
        }
        let rwbs = words.text()?;
        let kind = read_kind(rwbs).ok_or(FieldFault::at(RWBS, NO_KIND))?;
        let named = read_extent(&mut words)?;
        let extent = match (kind.op, named) {
            (Some(op), Some((sector, sectors))) => {
                let extent = extent::from_sectors(sector, sectors);
                Some((op, extent.map_err(|fault| fault.at(SECTOR, SECTORS))?))
            }
            _ => None,
        };
        let late = |why| FieldFault::at(TIME, why);
        if kind.flush {
            let mut flush = HostRequest::new(Nanos::ZERO, Op::Flush, 0, 0);
            flush.stream = stream;
            sink.push(time, flush).map_err(late)?;
        }
        let Some((op, extent)) = extent else {
            return Ok(());
        };
        let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
        request.stream = stream;
        match kind.flush {
            // The time was good for the flush.
            true => sink.push_second(time, request).map_err(late),
            false => sink.push(time, request).map_err(late),
        }
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        let (major, minor) = (stream >> 20, stream & 0xf_ffff);
        Some(VolumeName::new(format!("{major},{minor}")))
    }
}
