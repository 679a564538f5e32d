//! Event Tracing for Windows as text: Microsoft's production and enterprise traces. Events are
//! logged at completions, which are the arrivals (TR-1).

use std::collections::BTreeSet;

use destage_types::Op;

use super::columns::columns;
use super::{FormatInfo, ReaderFacts, Separator};
use crate::error::FieldFault;
use crate::extent;
use crate::text::fields::{MISSING, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::parse_u64;

const EVENT: u16 = 0;
const TIME: u16 = 1;
const OFFSET: u16 = 5;
const SIZE: u16 = 6;
const DISK: u16 = 8;
/// The column of the disk in a flush, which has no address.
const FLUSH_DISK: u16 = 6;
/// Events that a header may name.
const MAX_EVENTS: usize = 4_096;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "etw",
    aliases: &["msps"],
    about: "Text of Event Tracing for Windows: the events DiskRead, DiskWrite and DiskFlush (a \
            FLUSH), rounded outward to whole sectors; the other events that the header names are \
            skipped. Windows logs an event when the request is complete, and that is its arrival.",
    source: "Kavalanekar et al., Characterization of Storage Workload Traces from Production \
             Windows Servers, IISWC'08; SNIA IOTTA traces 149 and 158",
    separator: Separator::Comma,
    columns: columns! {
        "event": Own, "DiskRead, DiskWrite, DiskFlush or an event of the header";
        "time": Ticks(TimeUnit::Microseconds), "a whole number of us";
        "process": Own, "not used";
        "thread": Own, "not used";
        "irp": Own, "not used";
        "offset": Own, "bytes in hexadecimal digits behind 0x, the request ending at or below 256 TiB";
        "size": Own, "bytes in hexadecimal digits behind 0x, at least 1";
        "elapsed": Own, "not used";
        "disk": Own, "number of the disk, 0 to 4294967295; what follows is not used";
    },
    example: b"BeginHeader\n DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, \
               IOSize, ElapsedTime, DiskNum, IrpFlags\n DiskReadInit, TimeStamp\nEndHeader\n\
               OS Version: 6.0.6001, Trace Size: 1KB\n DiskReadInit, 990, System (   4), 96\n \
               DiskRead, 1000, System (   4), 96, 0xfffffa80, 0x0000100e00, 0x00002000, 4000, 4, 0x43\n \
               DiskWrite, 1250, System (   4), 96, 0xfffffa80, 0x0000100000, 0x00001000, 400, 4, 0x43\n",
    example_requests: 2,
    detect: |_, sample| {
        let disk = |line: &[u8]| {
            let event = Separator::Comma.split(line).next().and_then(op);
            event.is_some() && Separator::Comma.split(line).count() > 6
        };
        sample.first() == BEGIN || sample.most(disk)
    },
    open: |info, input, options| Box::new(LineReader::new(info, Etw::default(), input, options)),
    ..FormatInfo::BASE
};

const BEGIN: &[u8] = b"BeginHeader";
const END: &[u8] = b"EndHeader";
/// The line behind the header.
const SYSTEM: &[u8] = b"OS Version:";
const JOINED: &str = "is a second event: the end of a line is missing, as where files were joined";

/// Events that are requests, and of which kind.
const REQUESTS: [(&[u8], Op); 3] = [
    (b"DiskRead", Op::Read),
    (b"DiskWrite", Op::Write),
    (b"DiskFlush", Op::Flush),
];

/// The kind of request of the event.
fn op(event: &[u8]) -> Option<Op> {
    let found = REQUESTS.iter().find(|(name, _)| *name == event);
    found.map(|&(_, op)| op)
}

fn hexadecimal(text: &[u8]) -> Result<u64, &'static str> {
    let digits = text.strip_prefix(b"0x");
    let digits = digits.and_then(|d| std::str::from_utf8(d).ok());
    let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
    let number = digits.and_then(|d| u64::from_str_radix(d, 16).ok());
    number.ok_or("is no number of up to 64 bits in hexadecimal digits behind 0x")
}

#[derive(Default)]
struct Etw {
    in_header: bool,
    /// Events that the header names.
    known: BTreeSet<Box<[u8]>>,
}

impl Etw {
    /// A line of the header names an event and its columns.
    fn declare(&mut self, event: &[u8]) -> Result<(), FieldFault> {
        if self.known.len() == MAX_EVENTS {
            let why = "is one event too many in the header";
            return Err(FieldFault::at(EVENT, why));
        }
        self.known.insert(event.into());
        Ok(())
    }

    /// Is it an event that moves no data?
    fn is_other(&self, event: &[u8]) -> bool {
        let start = event.strip_suffix(b"Init").and_then(op).is_some();
        start || self.known.contains(event)
    }
}

impl ReaderFacts for Etw {}

impl LineFormat for Etw {
    const TICK_NS: u64 = 1_000;

    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let text = line.bytes();
        if text == BEGIN || text == END {
            self.in_header = text == BEGIN;
            return Ok(());
        }
        let fields: Vec<&[u8]> = Separator::Comma.split(text).collect();
        if self.in_header {
            return self.declare(fields[0]);
        }
        let Some(op) = op(fields[0]) else {
            // The events of two lines may have become one field.
            let second = second(&fields);
            let other = self.is_other(fields[0]) && second.is_none();
            if other || text.starts_with(SYSTEM) {
                return Ok(());
            }
            return Err(match second {
                Some(at) => FieldFault::at(at, JOINED),
                None => FieldFault::at(EVENT, "is no event that the header names"),
            });
        };
        if let Some(at) = second(&fields) {
            return Err(FieldFault::at(at, JOINED));
        }
        let field = |at: u16| {
            fields
                .get(usize::from(at))
                .ok_or(FieldFault::at(at, MISSING))
        };
        let whole = |at| parse_u64(field(at)?).map_err(|why| FieldFault::at(at, why));
        let bytes = |at| hexadecimal(field(at)?).map_err(|why| FieldFault::at(at, why));
        let time = whole(TIME)?;
        let disk_at = if op == Op::Flush { FLUSH_DISK } else { DISK };
        let disk = u32::try_from(whole(disk_at)?);
        let stream = disk.map_err(|_| FieldFault::at(disk_at, "does not fit 32 bits"))?;
        let placed = match op {
            Op::Flush => None,
            _ => {
                let placed = extent::from_bytes(bytes(OFFSET)?, bytes(SIZE)?);
                Some(placed.map_err(|fault| fault.at(OFFSET, SIZE))?)
            }
        };
        let pushed = sink.push_placed(time, op, placed, stream);
        pushed.map_err(|why| FieldFault::at(TIME, why))
    }
}

/// The field in which a second event begins. File names are in quotes.
fn second(fields: &[&[u8]]) -> Option<u16> {
    let ends = |field: &&[u8]| {
        let before = REQUESTS
            .iter()
            .find_map(|(name, _)| field.strip_suffix(*name));
        before.is_some_and(|before| matches!(before.last(), None | Some(b' ' | b'"')))
    };
    let at = fields[1..].iter().position(ends)?;
    u16::try_from(at + 1).ok()
}
