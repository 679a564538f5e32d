//! The texts of Linux block events: devices, kinds of requests, events, and the reader that they share.

use std::marker::PhantomData;

use destage_types::{Extent, HostRequest, Nanos, Op, RequestFlags};

use super::columns::NO_KIND;
use super::{FormatInfo, LoadOptions, ReaderFacts, Separator, TraceReader};
use crate::bytes::input::Input;
use crate::error::FieldFault;
use crate::extent;
use crate::options::{BlkEvent, EVENTS, EventRow};
use crate::text::fields::{BlankFields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::{looks_like_decimal, looks_like_integer, parse_u64};
pub(super) use crate::text::spelling::{EventKind, read_kind};
use crate::volume::VolumeName;

/// The front of a line of an event.
pub(super) struct EventFront<'a> {
    pub event: Option<BlkEvent>,
    /// In ns; without meaning, as the device, if the event is not the one that was asked for.
    pub time: u64,
    pub device: u32,
    /// The words from the kind of the request on.
    pub words: BlankFields<'a>,
}

/// A text of block events.
pub(super) trait EventText: Send {
    /// The column of the time.
    const TIME: u16;
    /// Do bytes and a SCSI command in () stand behind the kind of an event of the queue of requests?
    const COMMANDS: bool;

    /// The front of a line; `None` if it is of no event.
    fn front(line: RawLine<'_>, wanted: BlkEvent) -> Result<Option<EventFront<'_>>, FieldFault>;

    /// A fault whose column is one of [`EventFront::words`] at its place in the line.
    fn placed(_line: &[u8], fault: FieldFault) -> FieldFault {
        fault
    }
}

/// Reads a text of block events.
pub(super) struct EventLines<T> {
    text: PhantomData<T>,
    event: BlkEvent,
    /// The lines of each event, for a trace that lacks those of the event chosen.
    lines: [u64; EVENTS.len()],
    /// Do lines of the event end with a process in brackets?
    brackets: bool,
    /// Has the last line no line end?
    open_end: bool,
}

impl<T: EventText + 'static> EventLines<T> {
    /// A reader of the lines of one event, `usual` if nobody says which.
    pub fn open(
        info: &'static FormatInfo,
        input: Input,
        options: LoadOptions,
        usual: BlkEvent,
    ) -> Box<dyn TraceReader> {
        let lines = EventLines::<T> {
            text: PhantomData,
            event: options.event.unwrap_or(usual),
            lines: [0; EVENTS.len()],
            brackets: false,
            open_end: false,
        };
        Box::new(LineReader::new(info, lines, input, options))
    }
}

/// Steps over the command in (), and over the bytes in front of it.
fn skip_command(words: &mut BlankFields<'_>) {
    while words.next_text().is_some_and(|text| !text.ends_with(b")")) {}
}

/// The extent that the words name; none if they name no data.
#[inline(always)]
fn read_extent(words: &mut BlankFields<'_>) -> Result<Option<Extent>, FieldFault> {
    let (ahead, at) = (*words, words.column());
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
        _ => return Err(FieldFault::at(at + 1, "is no plus sign")),
    }
    match words.u64()? {
        0 => Ok(None),
        sectors => {
            let extent = extent::from_sectors(sector, sectors);
            Ok(Some(extent.map_err(|fault| fault.at(at, at + 2))?))
        }
    }
}

impl<T: EventText> LineFormat for EventLines<T> {
    const TICK_NS: u64 = 1;

    #[inline]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let Some(front) = T::front(line, self.event)? else {
            return Ok(());
        };
        if let Some(event) = front.event {
            self.lines[event as usize] += 1;
        }
        if front.event != Some(self.event) {
            return Ok(());
        }
        let EventFront {
            mut words,
            time,
            device,
            ..
        } = front;
        let placed = |fault| T::placed(line.bytes(), fault);
        let at = words.column();
        let kind = read_kind(words.text().map_err(placed)?);
        let kind = kind.ok_or_else(|| placed(FieldFault::at(at, NO_KIND)))?;
        if T::COMMANDS && !matches!(self.event, BlkEvent::Queue | BlkEvent::Get) {
            skip_command(&mut words);
        }
        let extent = match kind.op {
            Some(_) => read_extent(&mut words).map_err(placed)?,
            None => None,
        };
        let ended = line.bytes().ends_with(b"]");
        if self.open_end && self.brackets && !ended {
            return Err(FieldFault::line(CUT_OFF));
        }
        self.brackets |= ended;
        let pushed = push(kind, extent, time, device, sink);
        pushed.map_err(|why| FieldFault::at(T::TIME, why))
    }

    fn last_line_is_open(&mut self) {
        self.open_end = true;
    }
}

impl<T> ReaderFacts for EventLines<T> {
    fn volume(&self, stream: u32) -> Option<VolumeName> {
        Some(device_name(stream))
    }

    fn no_request(&self) -> Option<String> {
        if self.lines[self.event as usize] > 0 {
            return None; // Its lines name no data.
        }
        let present = EVENTS.iter().zip(self.lines).filter(|row| row.1 > 0);
        let text =
            |((event, _, name), lines): (&EventRow, u64)| format!("{lines} of {event} ({name})");
        let texts: Vec<String> = present.clone().map(text).collect();
        let first = present.map(|((event, ..), _)| event).next()?;
        Some(format!(
            "no line has the event {}; lines of other events: {}; `--event {first}` reads those of {first}",
            self.event,
            texts.join(", ")
        ))
    }
}

/// The number that the kernel gives a device, 12 bits major and 20 bits minor.
pub(super) fn device_number(text: &[u8]) -> Result<u32, &'static str> {
    const NO_DEVICE: &str = "is no major,minor number";
    let comma = memchr::memchr(b',', text).ok_or(NO_DEVICE)?;
    let (major, minor) = (parse_u64(&text[..comma]), parse_u64(&text[comma + 1..]));
    match (major, minor) {
        (Ok(major @ ..0x1000), Ok(minor @ ..0x10_0000)) => Ok((major << 20 | minor) as u32),
        _ => Err(NO_DEVICE),
    }
}

/// The kernel's name of the device with that number.
pub(super) fn device_name(stream: u32) -> VolumeName {
    let (major, minor) = (stream >> 20, stream & 0xf_ffff);
    VolumeName::new(format!("{major},{minor}"))
}

/// Pushes the data that an event asks for: a write with its preflush, any other request behind a FLUSH of its own.
///
/// # Errors
/// Why its time cannot be.
pub(crate) fn push(
    kind: EventKind,
    extent: Option<Extent>,
    time: u64,
    stream: u32,
    sink: &mut RequestSink<'_>,
) -> Result<(), &'static str> {
    let is_write = kind.op == Some(Op::Write) && extent.is_some();
    let flush_apart = kind.flush && !is_write;
    if flush_apart {
        sink.push_placed(time, Op::Flush, None, stream)?;
    }
    let (Some(op), Some(extent)) = (kind.op, extent) else {
        return Ok(());
    };
    let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
    request.stream = stream;
    request.flags = RequestFlags::PREFLUSH
        .only_if(kind.flush && is_write)
        .and(RequestFlags::FUA.only_if(kind.fua));
    // The time was good for the flush.
    match flush_apart {
        true => sink.push_second(time, request),
        false => sink.push(time, request),
    }
}

/// Why a line of two events is refused.
pub(super) const JOINED: &str =
    "holds a second event: the end of a line is missing, as where files were joined";

/// Why a last line without the process that the others end with is refused.
const CUT_OFF: &str = "is cut off: the last line lacks its end and the process in brackets";

/// Does a line of `blkparse` begin inside `text`: device, processor, sequence and time?
pub(super) fn holds_second_line(text: &[u8]) -> bool {
    memchr::memchr_iter(b',', text).any(|comma| {
        let major = text[..comma].last().is_some_and(u8::is_ascii_digit);
        let minor = text.get(comma + 1).is_some_and(u8::is_ascii_digit);
        let mut words = Separator::Blank.split(&text[comma + 1..]);
        let mut next = || words.next().unwrap_or(b"");
        let numbers =
            major && minor && [next(), next(), next()].into_iter().all(looks_like_integer);
        let time = next();
        numbers && time.contains(&b'.') && looks_like_decimal(time)
    })
}
