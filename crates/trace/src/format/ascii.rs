//! What the five-column ASCII formats of simulators share: time, device, offset, size, operation.
//!
//! They look alike and differ in units only, so they are told apart together.

use destage_types::{HostRequest, Nanos, Op};

use super::{Sample, is_blank};
use crate::error::Fault;
use crate::extent;
use crate::fields::{Line, looks_like_integer};
use crate::line::{LineFormat, Sink};
use crate::words::{Words, looks_like_decimal};

const TIME: u16 = 0;
const OFFSET: u16 = 2;
const SIZE: u16 = 3;
const OP: u16 = 4;
const HASH: u16 = 5;

/// Which of the formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Milliseconds, sectors.
    DiskSim,
    /// Nanoseconds, sectors; a content hash may follow.
    SsdSim,
    /// Milliseconds, bytes.
    Replayer,
}

/// What the first lines are, if most of them have the columns.
///
/// Every offset and size a multiple of 512: bytes, the replayer's. Else a time with a fraction
/// is in ms (DiskSim), and one without in ns (SSDsim). A sixth column is SSDsim's content hash.
pub(super) fn kind(sample: &Sample<'_>) -> Option<Kind> {
    let (mut bytes, mut fraction, mut hash) = (true, false, false);
    if !sample.most(|line| columns(line).is_some()) {
        return None;
    }
    for (time, offset, size, sixth) in sample.lines.iter().filter_map(|line| columns(line)) {
        bytes &= is_multiple_of_512(offset) && is_multiple_of_512(size);
        fraction |= time.contains(&b'.');
        hash |= sixth.is_some();
    }
    match (bytes, fraction, hash) {
        (_, true, true) => None,
        (_, false, true) => Some(Kind::SsdSim),
        (true, _, false) => Some(Kind::Replayer),
        (false, true, false) => Some(Kind::DiskSim),
        (false, false, false) => Some(Kind::SsdSim),
    }
}

/// Time, offset, size and sixth column of a line that has the columns.
type Columns<'a> = (&'a [u8], &'a [u8], &'a [u8], Option<&'a [u8]>);

fn columns(line: &[u8]) -> Option<Columns<'_>> {
    let mut words = line.split(|&b| is_blank(b)).filter(|w| !w.is_empty());
    let mut next = || words.next().unwrap_or(b"");
    let (time, device, offset, size, op) = (next(), next(), next(), next(), next());
    let sixth = words.next();
    let fits = looks_like_decimal(time)
        && [device, offset, size].into_iter().all(looks_like_integer)
        && matches!(op, b"0" | b"1")
        && sixth.is_none_or(is_hash)
        && words.next().is_none();
    fits.then_some((time, offset, size, sixth))
}

fn is_hash(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_hexdigit)
}

/// Of a number that looks like an integer, whatever its length.
fn is_multiple_of_512(digits: &[u8]) -> bool {
    let digits = digits.iter().filter(|b| b.is_ascii_digit());
    digits.fold(0u32, |n, d| (10 * n + u32::from(d - b'0')) % 512) == 0
}

/// Reads all of them.
pub(super) struct Ascii {
    pub kind: Kind,
}

impl LineFormat for Ascii {
    const TICK_NS: u64 = 1;

    #[inline]
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut words = Words::new(line);
        let ticks = match self.kind {
            Kind::SsdSim => words.u64()?,
            Kind::DiskSim | Kind::Replayer => words.decimal(6)?,
        };
        let stream = words.u32()?;
        let (offset, size) = (words.u64()?, words.u64()?);
        let op = match words.text()? {
            b"0" => Op::Write,
            b"1" => Op::Read,
            _ => return Err(Fault::at(OP, "is no kind of request")),
        };
        if self.kind == Kind::SsdSim
            && let Some(hash) = words.next_text()
            && !is_hash(hash)
        {
            return Err(Fault::at(HASH, "is no hash in hexadecimal digits"));
        }
        words.end()?;
        let (extent, rounded) = match self.kind {
            Kind::Replayer => extent::from_bytes(offset, size),
            Kind::SsdSim | Kind::DiskSim => {
                extent::from_sectors(offset, size).map(|extent| (extent, false))
            }
        }
        .map_err(|fault| fault.at(OFFSET, SIZE))?;
        let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
        request.stream = stream;
        sink.push(ticks, request)
            .map_err(|why| Fault::at(TIME, why))?;
        sink.count_unaligned(rounded);
        Ok(())
    }
}
