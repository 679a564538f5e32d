//! Code that the writers of foreign text formats share.

use std::collections::BTreeMap;
use std::io::{self, Write};

use destage_types::{Op, RequestFlags, RequestRef, Tag};

use super::passes::RequestPasses;
use crate::volume::Volume;

/// Bytes collected before they are written.
pub(super) const FLUSH_AT: usize = 64 << 10;

/// Counts of written requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteSummary {
    /// Requests written.
    pub requests: u64,
    /// Those whose time was rounded down to the unit of the format.
    pub rounded_times: u64,
    /// Those whose FUA or preflush was left out.
    pub flags_left_out: u64,
}

pub(super) fn invalid(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason.into())
}

/// Requests that a foreign format can express.
pub(super) struct Ability {
    /// Name of the format.
    pub format: &'static str,
    /// Kinds of requests.
    pub ops: &'static [Op],
    /// Nanoseconds of its unit of time.
    pub tick_ns: u64,
}

impl Ability {
    /// Can the format say it?
    pub fn check(&self, request: RequestRef<'_>, number: u64) -> io::Result<()> {
        let head = request.head;
        let what = match head.op {
            _ if !self.ops.contains(&head.op) => match head.op {
                Op::Trim => "a trim",
                Op::Flush => "a flush",
                Op::Read | Op::Write => "this kind",
            },
            _ if !request.more.is_empty() => "several extents",
            _ if !request.prev.is_empty() => "old addresses (`prev`)",
            _ if head.is_atomic() => "atomic writes",
            _ if head.tag != Tag::None => "tags",
            _ => return Ok(()),
        };
        Err(invalid(format!(
            "request {number}: `{}` cannot say {what}; `destage` and `destage-bin` can",
            self.format
        )))
    }
}

/// One request of a text format: times in its unit, addresses of the volume.
pub(super) struct Plain {
    pub ticks: u64,
    pub op: Op,
    pub start_sector: u64,
    pub sectors: u64,
    pub stream: u32,
}

/// Writes `header`, and then each request as `line` puts it.
pub(super) fn write(
    requests: &dyn RequestPasses,
    volumes: &[Volume],
    ability: &Ability,
    header: &[u8],
    out: &mut dyn Write,
    mut line: impl FnMut(&Plain, &mut Vec<u8>) -> Result<(), String>,
) -> io::Result<WriteSummary> {
    let starts: BTreeMap<u32, u64> = volumes.iter().map(|v| (v.stream, v.start_sector)).collect();
    let mut buffer = header.to_vec();
    let mut written = WriteSummary::default();
    requests.pass(&mut |request| {
        let i = written.requests;
        ability.check(request, i)?;
        let head = request.head;
        let start = starts.get(&head.stream).copied().unwrap_or(0);
        let start = if head.sectors == 0 { 0 } else { start };
        let outside = || invalid(format!("request {i}: it is in front of its volume"));
        let plain = Plain {
            ticks: head.arrival.0 / ability.tick_ns,
            op: head.op,
            start_sector: head.start_sector.checked_sub(start).ok_or_else(outside)?,
            sectors: u64::from(head.sectors),
            stream: head.stream,
        };
        line(&plain, &mut buffer).map_err(|why| invalid(format!("request {i}: {why}")))?;
        written.requests += 1;
        written.flags_left_out += u64::from(head.flags.any(RequestFlags::OF_WRITES));
        written.rounded_times += u64::from(!head.arrival.0.is_multiple_of(ability.tick_ns));
        if buffer.len() >= FLUSH_AT {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(())
    })?;
    out.write_all(&buffer)?;
    out.flush()?;
    Ok(written)
}

/// Appends a number in decimal digits.
pub(super) fn number(mut n: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends numbers with `between` behind each but the last.
pub(super) fn numbers(values: &[u64], between: u8, out: &mut Vec<u8>) {
    for (i, &value) in values.iter().enumerate() {
        if i > 0 {
            out.push(between);
        }
        number(value, out);
    }
}
