//! Logs of Sysinternals DiskMon.

use destage_types::{HostRequest, Nanos, Op};

use super::{Column, FormatInfo, Sample, Separator, is_blank};
use crate::error::Fault;
use crate::extent;
use crate::fields::{Line, looks_like_integer};
use crate::line::{LineFormat, LineReader, Sink};
use crate::words::{Words, looks_like_decimal};

const TIME: u16 = 1;
const DURATION: u16 = 2;
const OP: u16 = 4;
const SECTOR: u16 = 5;
const LENGTH: u16 = 6;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "diskmon",
    aliases: &[],
    about: "Saved logs of DiskMon (Windows): times in s, addresses in sectors.",
    source: "Sysinternals DiskMon; desktop captures of SSD studies",
    separator: Separator::Blank,
    columns: &[
        Column {
            name: "number",
            allowed: "number of the line, not used",
        },
        Column {
            name: "time",
            allowed: "s, digits behind the ns dropped",
        },
        Column {
            name: "duration",
            allowed: "s, not used",
        },
        Column {
            name: "disk",
            allowed: "number of the disk, 0 to 4294967295",
        },
        Column {
            name: "request",
            allowed: "Read or Write",
        },
        Column {
            name: "sector",
            allowed: "sector of 512 B, the request ending at or below 256 TiB",
        },
        Column {
            name: "length",
            allowed: "sectors, 1 to 4294967295",
        },
    ],
    timed: true,
    volumes: true,
    example: b"0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8\n\
               1\t0.017\t0.00012398\t0\tRead\t108745397\t16\n",
    example_requests: 2,
    detect,
    open: |input, options| Box::new(LineReader::new(&INFO, DiskMon, input, options)),
};

fn detect(sample: &Sample<'_>) -> bool {
    sample.most(|line| {
        let mut words = line.split(|&b| is_blank(b)).filter(|w| !w.is_empty());
        let mut next = || words.next().unwrap_or(b"");
        let (number, time, duration, disk, op, sector, length) =
            (next(), next(), next(), next(), next(), next(), next());
        let integers = [number, disk, sector, length];
        integers.into_iter().all(looks_like_integer)
            && [time, duration].into_iter().all(looks_like_decimal)
            && read_op(op).is_some()
            && words.next().is_none()
    })
}

fn read_op(text: &[u8]) -> Option<Op> {
    if text.eq_ignore_ascii_case(b"read") {
        return Some(Op::Read);
    }
    text.eq_ignore_ascii_case(b"write").then_some(Op::Write)
}

/// Durations below 0.1 ms may come with an exponent.
fn is_duration(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or("");
    text.parse::<f64>().is_ok_and(|s| s.is_finite() && s >= 0.0)
}

struct DiskMon;

impl LineFormat for DiskMon {
    const TICK_NS: u64 = 1;

    #[inline]
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut words = Words::new(line);
        words.u64()?;
        let time = words.decimal(9)?;
        if !is_duration(words.text()?) {
            return Err(Fault::at(DURATION, "is not a decimal number"));
        }
        let stream = words.u32()?;
        let op = read_op(words.text()?).ok_or(Fault::at(OP, "is no kind of request"))?;
        let (sector, length) = (words.u64()?, words.u64()?);
        words.end()?;
        let placed = extent::from_sectors(sector, length);
        let extent = placed.map_err(|fault| fault.at(SECTOR, LENGTH))?;
        let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
        request.stream = stream;
        sink.push(time, request).map_err(|why| Fault::at(TIME, why))
    }
}
