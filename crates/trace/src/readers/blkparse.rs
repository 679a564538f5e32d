//! The default text of `blkparse`: one line per event of the kernel's block layer.

use super::block_event::{
    EventFront, EventLines, EventText, JOINED, device_number, holds_second_line,
};
use super::columns::{SECONDS, columns};
use super::{FormatInfo, Sample, Separator};
use crate::error::FieldFault;
use crate::options::BlkEvent;
use crate::text::fields::RawLine;
use crate::text::numbers::{looks_like_decimal, looks_like_integer};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "blkparse",
    about: "blkparse default text: the lines of one kind of event (Q unless chosen); F \
            before the kind is a preflush, F behind W is FUA, D is a TRIM; the summaries at the end, those of processes (-s) too, are skipped.",
    source: "blktrace of Linux, manual page of blkparse",
    separator: Separator::Blank,
    columns: columns! {
        "device": Own, "major,minor number, at most 4095,1048575";
        "cpu": Own, "not used";
        "sequence": Own, "not used";
        "time": OwnTime(TimeUnit::Seconds), SECONDS;
        "pid": Own, "not used";
        "event": Own, "a letter such as Q (queued), D (issued) or C (completed)";
        "rwbs": Own, "an optional F (preflush), then R (read), W (write), D (discard) or N (none), \
              then flags, F (FUA) among them";
        "sector": Own, "sector of 512 B, the request ending at or below 256 TiB; missing if no data \
              move";
        "+": Own, "a plus sign";
        "sectors": Own, "0 to 4294967295; what follows is not used";
    },
    example: b"  8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 1444645632\n  \
               8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]\n\
               259,0   11        2     0.024124474  1889  Q FWS [jbd2/dm-4-8]\n\
               259,0   11        9     0.025  1889  Q  DS 128 + 64 [fstrim]\n\
               CPU0 (sdb):\n Reads Queued:           1,      128KiB\n",
    example_requests: 3,
    detect: |_, sample| detect(sample),
    open: |info, input, options| {
        EventLines::<BlkParse>::open(info, input, options, BlkEvent::Queue)
    },
    ..FormatInfo::BASE
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
#[rustfmt::skip]
const SUMMARY: [&[u8]; 19] = [
    b"CPU", b"Total (", b"Throughput (", b"Events (", b"Skips:", b"Input file ", b"Reads Queued:", b"Read Dispatches:",
    b"Reads Requeued:", b"Reads Completed:", b"Read Merges:", b"Read depth:", b"IO unplugs:", b"PC Reads ", b"PC Read ",
    b"Max depth:", b"Allocation wait:", b"Dispatch wait:", b"Completion wait:",
];

fn is_summary(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    SUMMARY.iter().any(|start| text.starts_with(start)) || is_process(text)
}

/// Is it the title of a process in the summary, such as `java (18615)`?
fn is_process(text: &[u8]) -> bool {
    let Some(text) = text.strip_suffix(b")") else {
        return false;
    };
    let open = memchr::memrchr(b'(', text);
    let pid = open.is_some_and(|at| at > 0 && looks_like_integer(&text[at + 1..]));
    let first = Separator::Blank.split(text).next().unwrap_or(b"");
    pid && device_number(first).is_err() && !holds_second_line(text)
}

struct BlkParse;

impl EventText for BlkParse {
    const TIME: u16 = 3;
    const COMMANDS: bool = false;

    #[inline(always)]
    fn front(line: RawLine<'_>, _: BlkEvent) -> Result<Option<EventFront<'_>>, FieldFault> {
        if is_summary(line.bytes()) {
            return Ok(None);
        }
        let mut words = line.words();
        let device = device_number(words.text()?).map_err(|why| FieldFault::at(0, why))?;
        words.u64()?;
        words.u64()?;
        let time = words.decimal(9)?;
        words.u64()?;
        if holds_second_line(words.rest()) {
            return Err(FieldFault::line(JOINED));
        }
        let event = BlkEvent::of_letter(words.text()?);
        Ok(Some(EventFront {
            event,
            time,
            device,
            words,
        }))
    }
}
