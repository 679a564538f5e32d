//! Block events as `perf script` writes them.

use super::block_event::{EventFront, EventLines, EventText, JOINED, device_number};
use super::columns::{SECONDS, columns};
use super::{FormatInfo, Separator};
use crate::error::FieldFault;
use crate::options::BlkEvent;
use crate::text::fields::RawLine;
use crate::text::numbers::{is_blank, parse_decimal};

/// Indices of the columns in the description.
const TIME: u16 = 3;
const DEVICE: usize = 5;
const SECTOR: usize = 8;

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
        let known = |line: &&&[u8]| block(line) || is_other(line);
        let known = sample.lines.iter().filter(known);
        sample.lines.iter().any(|line| block(line)) && 2 * known.count() > sample.lines.len()
    },
    open: |info, input, options| {
        EventLines::<PerfScript>::open(info, input, options, BlkEvent::Issue)
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

struct PerfScript;

impl EventText for PerfScript {
    const TIME: u16 = FieldFault::LINE;
    const COMMANDS: bool = true;

    fn front(line: RawLine<'_>, wanted: BlkEvent) -> Result<Option<EventFront<'_>>, FieldFault> {
        let text = line.bytes();
        let Some((name, fields)) = find_event(text) else {
            let why = "is no event of perf script";
            let other = is_other(text).then_some(None);
            return other.ok_or(FieldFault::line(why));
        };
        if memchr::memmem::find(&text[fields..], BLOCK).is_some() {
            return Err(FieldFault::line(JOINED));
        }
        let mut front = EventFront {
            event: BlkEvent::of_name(&text[name..fields - 1]),
            time: 0,
            device: 0,
            words: line.behind(fields).words(),
        };
        if front.event == Some(wanted) {
            let before = text[..name - b"block:".len()].trim_ascii_end();
            let time = before.rsplit(|byte| is_blank(*byte)).next().unwrap_or(b"");
            let number = time.strip_suffix(b":").unwrap_or(time);
            front.time = parse_decimal(number, 9).map_err(|why| {
                // Processes have any number of words.
                FieldFault::of(words_of(before) - 1, TIME, why)
            })?;
            let at = |why| PerfScript::placed(text, FieldFault::at(0, why));
            let device = front.words.text().unwrap_or(b"");
            front.device = device_number(device).map_err(at)?;
        }
        Ok(Some(front))
    }

    #[cold]
    fn placed(line: &[u8], fault: FieldFault) -> FieldFault {
        let (name, fields) = find_event(line).unwrap_or_default();
        let bare = [&b"block_bio_queue:"[..], b"block_getrq:"].contains(&&line[name..fields]);
        let mut words = Separator::Blank.split(&line[fields..]).skip(2);
        let command = match bare {
            true => 0,
            false => 1 + words.position(|word| word.ends_with(b")")).unwrap_or(0),
        };
        let known = match usize::from(fault.column) {
            behind @ ..2 => DEVICE + behind,
            behind => SECTOR + behind.saturating_sub(2 + command),
        };
        FieldFault::of(
            words_of(&line[..fields]) + fault.column,
            known as u16,
            fault.why,
        )
    }
}

/// The number of words of a text.
fn words_of(text: &[u8]) -> u16 {
    let words = Separator::Blank.split(text).count();
    u16::try_from(words).unwrap_or(u16::MAX / 2)
}
