//! One line of kernel event text: `block_*` and `f2fs_*` tracepoints as the kernel prints them.

use std::fmt;
use std::str::FromStr;

use destage_trace::parse_decimal;
use destage_types::Tag;

/// Major and minor number of a block device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Dev(pub u32, pub u32);

impl fmt::Display for Dev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.0, self.1)
    }
}

impl FromStr for Dev {
    type Err = String;

    fn from_str(text: &str) -> Result<Dev, String> {
        let pair = text.split_once(',');
        let number = |part: &str| part.parse::<u32>().ok();
        pair.and_then(|(major, minor)| Some(Dev(number(major)?, number(minor)?)))
            .ok_or_else(|| format!("`{text}` is no device; allowed: MAJOR,MINOR, such as 259,0"))
    }
}

/// The fields in front of every event.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventHeader<'a> {
    pub comm: &'a str,
    pub pid: u32,
    pub time_ns: u64,
    pub name: &'a str,
    pub rest: &'a str,
}

/// A request of the block layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlockEvent<'a> {
    pub dev: Dev,
    /// Kind and flags, such as `WS` or `FF`.
    pub rwbs: &'a str,
    pub sector: u64,
    pub sectors: u64,
}

impl BlockEvent<'_> {
    /// The letter of the operation: R, W, D, F or N. A leading F before another operation says
    /// that the request asks for a flush first.
    pub fn op(&self) -> u8 {
        match self.rwbs.as_bytes() {
            [b'F', op @ (b'R' | b'W' | b'D' | b'N'), ..] | [op, ..] => *op,
            [] => b'N',
        }
    }

    /// Must the cache of the device be flushed before?
    pub fn flush_first(&self) -> bool {
        self.rwbs.starts_with('F')
    }

    /// Must the data be on flash at the end?
    pub fn fua(&self) -> bool {
        let flags = self.rwbs.trim_start_matches('F');
        flags.starts_with('W') && flags.contains('F')
    }

    /// Has the request to do with metadata?
    pub fn meta(&self) -> bool {
        self.rwbs.contains('M')
    }
}

/// A page that F2FS hands to the block layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageEvent {
    pub dev: Dev,
    pub ino: u64,
    pub index: u64,
    pub old: u64,
    pub new: u64,
    pub write: bool,
    pub tag: Tag,
}

/// The parts of an event that the tracker needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KernelEvent<'a> {
    Queue(BlockEvent<'a>),
    Issue(BlockEvent<'a>),
    /// A partition became its disk: the request, the partition and the sector in it.
    Remap(BlockEvent<'a>, Dev, u64),
    Page(PageEvent),
    /// A mapping for O_DIRECT: inode, first file block, first device block, blocks.
    Map(Dev, u64, u64, u64, u64),
    /// O_DIRECT begins; does it write?
    Direct(Dev, bool),
    /// An atomic write is committed: inode, file block, old and new device block.
    Atomic(Dev, u64, u64, u64, u64),
    GcBegin(Dev),
    GcEnd(Dev),
    /// A bio of F2FS: file system, device it goes to, first sector.
    Bio(Dev, Dev, u64),
    Checkpoint(Dev),
    /// F2FS queues or issues a discard of its own.
    Discard(Dev),
    /// An event that is known and says nothing new.
    Known,
    /// Any other event.
    Unknown,
}

const NO_EVENT: &str = "is no event: `TASK-PID [CPU] TIME: EVENT: FIELDS` is expected";

/// Takes a line apart.
pub(super) fn header(line: &str) -> Result<EventHeader<'_>, &'static str> {
    let (open, close) = cpu(line).ok_or(NO_EVENT)?;
    let mut task = line[..open].trim();
    if let Some((before, _)) = task.strip_suffix(')').and_then(|t| t.rsplit_once('(')) {
        task = before.trim_end(); // The column of thread groups.
    }
    let (comm, pid) = task.rsplit_once('-').ok_or(NO_EVENT)?;
    let pid = pid.parse().map_err(|_| NO_EVENT)?;
    let mut rest = line[close + 1..].trim_start();
    let (mut time, after) = rest.split_once(' ').ok_or(NO_EVENT)?;
    rest = after;
    if !time.ends_with(':') {
        // Flags stand between.
        (time, rest) = after.trim_start().split_once(' ').ok_or(NO_EVENT)?;
    }
    let time = time.strip_suffix(':').ok_or(NO_EVENT)?;
    let time_ns = parse_decimal(time.as_bytes(), 9).map_err(|_| NO_EVENT)?;
    let (name, rest) = rest.trim_start().split_once(':').ok_or(NO_EVENT)?;
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if name.is_empty() || !name.bytes().all(word) {
        return Err(NO_EVENT);
    }
    let rest = rest.trim_start();
    if second(rest) {
        return Err("holds a second event");
    }
    Ok(EventHeader {
        comm,
        pid,
        time_ns,
        name,
        rest,
    })
}

/// Does another event begin in the fields of one?
fn second(rest: &str) -> bool {
    let Some((_, close)) = cpu(rest) else {
        return false;
    };
    // Flags may stand between processor and time.
    let mut words = rest[close + 1..].split_ascii_whitespace().take(2);
    words.any(|word| {
        let time = word.strip_suffix(':').filter(|t| t.contains('.'));
        time.is_some_and(|t| parse_decimal(t.as_bytes(), 9).is_ok())
    })
}

/// The brackets around the number of the processor.
fn cpu(line: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let open = from + line[from..].find('[')?;
        let digits = line[open + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let close = open + 1 + digits;
        if digits > 0 && line[close..].starts_with(']') {
            return Some((open, close));
        }
        from = open + 1;
    }
}

/// The value of `key`, which ends with ` = `.
fn text<'a>(rest: &'a str, key: &str) -> Result<&'a str, &'static str> {
    let at = rest.find(key).ok_or("lacks a field of its event")? + key.len();
    let value = &rest[at..];
    Ok(&value[..value.find([',', ' ']).unwrap_or(value.len())])
}

fn number(rest: &str, key: &str) -> Result<u64, &'static str> {
    let text = text(rest, key)?;
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.map_err(|_| "holds no number where its event has one")
}

/// The device in brackets behind `key`.
fn dev(rest: &str, key: &str) -> Result<Dev, &'static str> {
    let wrong = "names no device where its event has one";
    let at = rest.find(key).ok_or(wrong)? + key.len();
    let inner = rest[at..].split_once(')').ok_or(wrong)?.0;
    inner.parse().map_err(|_| wrong)
}

fn block(rest: &str) -> Result<BlockEvent<'_>, &'static str> {
    let wrong = "is no request of the block layer";
    let (left, right) = rest.split_once(" + ").ok_or(wrong)?;
    let mut words = left.split_ascii_whitespace();
    let dev = words.next().and_then(|w| w.parse().ok()).ok_or(wrong)?;
    let rwbs = words.next().ok_or(wrong)?;
    let sector = words
        .next_back()
        .and_then(|w| w.parse::<u64>().ok())
        .ok_or(wrong)?;
    let count = right.split_ascii_whitespace().next().unwrap_or("");
    let sectors: u64 = count.parse().map_err(|_| wrong)?;
    if sector.checked_add(sectors).is_none()
        || !rwbs.bytes().all(|b| b.is_ascii_uppercase())
        || !right.contains(['[', '<'])
    {
        return Err(wrong);
    }
    Ok(BlockEvent {
        dev,
        rwbs,
        sector,
        sectors,
    })
}

fn page(rest: &str) -> Result<KernelEvent<'_>, &'static str> {
    let kind = rest
        .rsplit_once("type = ")
        .ok_or("lacks a field of its event")?
        .1;
    let tag = match kind {
        _ if kind.contains("NODE") => Tag::Node,
        _ if kind.contains("META") => Tag::Meta,
        _ if kind.contains("DATA") => Tag::Data,
        _ => return Err("is a page of no known type"),
    };
    Ok(KernelEvent::Page(PageEvent {
        dev: dev(rest, "dev = (")?,
        ino: number(rest, "ino = ")?,
        // `page_index` up to 6.13, `folio_index` since.
        index: number(rest, "index = ")?,
        old: number(rest, "oldaddr = ")?,
        new: number(rest, "newaddr = ")?,
        write: text(rest, "rw = ")?.starts_with("WRITE"),
        tag,
    }))
}

/// Blocks of 4 KiB of the largest file or volume, far above what F2FS has.
pub(super) const MOST_BLOCKS: u64 = 1 << 48;

/// `F2FS_GET_BLOCK_DIO`.
const MAP_FOR_DIRECT: u64 = 3;

fn map(rest: &str) -> Result<KernelEvent<'_>, &'static str> {
    let (start, len) = (number(rest, "start blkaddr = ")?, number(rest, "len = ")?);
    let fs = dev(rest, "dev = (")?;
    if number(rest, "flag = ")? != MAP_FOR_DIRECT || len == 0 {
        return Ok(KernelEvent::Known);
    }
    let (ino, offset) = (number(rest, "ino = ")?, number(rest, "file offset = ")?);
    if [start, offset]
        .iter()
        .any(|&at| at.saturating_add(len) > MOST_BLOCKS)
    {
        return Err("maps blocks behind the largest address");
    }
    Ok(KernelEvent::Map(fs, ino, offset, start, len))
}

fn remap(rest: &str) -> Result<KernelEvent<'_>, &'static str> {
    let request = block(rest)?;
    let from = rest
        .split_once("<- (")
        .ok_or("lacks where it comes from")?
        .1;
    let (part, sector) = from.split_once(") ").ok_or("lacks where it comes from")?;
    match (part.parse(), sector.trim().parse()) {
        (Ok(part), Ok(sector)) => Ok(KernelEvent::Remap(request, part, sector)),
        _ => Err("lacks where it comes from"),
    }
}

fn bio(rest: &str) -> Result<KernelEvent<'_>, &'static str> {
    let target = dev(rest, "dev = (")?;
    let fs = dev(rest, ")/(")?;
    Ok(KernelEvent::Bio(fs, target, number(rest, "sector = ")?))
}

fn atomic(rest: &str) -> Result<KernelEvent<'_>, &'static str> {
    Ok(KernelEvent::Atomic(
        dev(rest, "dev = (")?,
        number(rest, "ino = ")?,
        number(rest, " index = ")?,
        number(rest, "old_addr = ")?,
        number(rest, "new_addr = ")?,
    ))
}

/// Reads the fields of an event.
pub(super) fn event<'a>(name: &str, rest: &'a str) -> Result<KernelEvent<'a>, &'static str> {
    let fs = || dev(rest, "dev = (");
    match name {
        "block_bio_queue" => block(rest).map(KernelEvent::Queue),
        "block_rq_issue" => block(rest).map(KernelEvent::Issue),
        "block_bio_remap" => remap(rest),
        "f2fs_submit_page_write" | "f2fs_submit_page_bio" => page(rest),
        "f2fs_submit_folio_write" | "f2fs_submit_folio_bio" => page(rest),
        "f2fs_map_blocks" => map(rest),
        "f2fs_direct_IO_enter" => Ok(KernelEvent::Direct(fs()?, number(rest, "rw = ")? != 0)),
        "f2fs_replace_atomic_write_block" => atomic(rest),
        "f2fs_gc_begin" => fs().map(KernelEvent::GcBegin),
        "f2fs_gc_end" => fs().map(KernelEvent::GcEnd),
        "f2fs_submit_write_bio" => bio(rest),
        "f2fs_write_checkpoint" => fs().map(KernelEvent::Checkpoint),
        "f2fs_queue_discard" | "f2fs_issue_discard" => fs().map(KernelEvent::Discard),
        "block_rq_complete"
        | "block_rq_insert"
        | "block_getrq"
        | "block_plug"
        | "block_unplug"
        | "block_bio_complete"
        | "block_bio_backmerge"
        | "block_bio_frontmerge"
        | "block_split"
        | "block_rq_merge"
        | "f2fs_direct_IO_exit"
        | "f2fs_get_victim"
        | "f2fs_issue_flush"
        | "f2fs_submit_read_bio" => Ok(KernelEvent::Known),
        _ => Ok(KernelEvent::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_kernels_and_tools() {
        let lines = [
            "        fsreplay-75      [000]      4.479668: block_bio_queue: 98,0 WS 8 + 8 [x]",
            " kworker/u2:0-75 (     12) [001] d..1.  4.479668: block_bio_queue: 98,0 WS 8 + 8 [x]",
            "a-b [c]-75  [000]  4.479668000: block_bio_queue:      98,0 WS 8 + 8 [x]",
        ];
        for line in lines {
            let h = header(line).unwrap();
            assert_eq!(
                (h.pid, h.time_ns, h.name),
                (75, 4_479_668_000, "block_bio_queue")
            );
            assert_eq!(h.rest, "98,0 WS 8 + 8 [x]");
        }
        assert_eq!(header(lines[2]).unwrap().comm, "a-b [c]");
        assert!(header("x-1 [000] 4.4: block_bio_queue: 8,0 R 8 + 8 [a [1] b]").is_ok());
        for bad in [
            "",
            "x",
            "x-1 [000] 4.4",
            "x-1 4.4: a: b",
            "x [000] 4.4: a: b",
            "x-1 [0] a: b",
            "x-1 [000] 4.4: a: b y-2 [001] 4.5: c: d",
            "x-1 [000] 4.4: a: b y-2 [001] d..1. 4.5: c: d",
        ] {
            assert!(header(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn flags_of_block_requests() {
        let of = |rwbs| BlockEvent {
            dev: Dev(98, 0),
            rwbs,
            sector: 0,
            sectors: 8,
        };
        assert_eq!(
            (of("WS").op(), of("FF").op(), of("FWS").op()),
            (b'W', b'F', b'W')
        );
        assert_eq!(
            (of("DS").op(), of("RM").op(), of("FN").op()),
            (b'D', b'R', b'N')
        );
        assert!(of("FWFSM").fua() && of("FWFSM").flush_first() && of("FWFSM").meta());
        assert!(!of("FF").fua() && !of("FWS").fua() && !of("WS").flush_first());
    }

    #[test]
    fn kernels_of_all_ages() {
        let old = "dev = (98,0), ino = 4, page_index = 0x813e, oldaddr = 0xa13e, \
                   newaddr = 0x2012, rw = WRITE(S), type = HOT_DATA";
        let new = old.replace("page_index", "folio_index");
        let a = event("f2fs_submit_page_write", old).unwrap();
        assert_eq!(Ok(a), event("f2fs_submit_folio_write", &new));
        let KernelEvent::Page(page) = a else { panic!() };
        assert_eq!((page.index, page.old, page.new), (0x813e, 0xa13e, 0x2012));
        assert!(page.write && page.tag == Tag::Data);
        let issue = |rest| event("block_rq_issue", rest).unwrap();
        let short = issue("98,0 WS 65536 () 65552 + 128 [comm]");
        assert_eq!(short, issue("98,0 WS 65536 () 65552 + 128 be,0,4 [comm]"));
        let cut = &old[..old.len() - 40];
        assert!(event("f2fs_submit_page_write", cut).is_err());
        assert!(
            event("block_rq_issue", "98,0 WS 65536 () 65552 + 1").is_err(),
            "cut off"
        );
    }
}
