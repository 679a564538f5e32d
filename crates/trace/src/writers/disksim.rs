//! Writes the ASCII of DiskSim (format `disksim`).

use std::io::{self, Write};

use destage_types::Op;

use super::passes::RequestPasses;
use super::text::{Ability, WriteSummary, number, numbers, write};
use crate::volume::Volume;

const ABILITY: Ability = Ability {
    format: "disksim",
    ops: &[Op::Read, Op::Write],
    tick_ns: 1,
};

const NS_PER_MS: u64 = 1_000_000;

/// Writes `ms device sector sectors flags` with flags 1 = read, 0 = write; the device is the stream.
/// Times have six digits behind the point, which is every ns. Addresses are those of the volume that
/// `volumes` gives the stream, else those of the request.
///
/// # Errors
/// The format has no TRIM, FLUSH, several extents, old addresses, atomic writes or tags; or
/// writing fails, or the requests cannot be read.
pub fn write_disksim(
    requests: &dyn RequestPasses,
    volumes: &[Volume],
    out: &mut dyn Write,
) -> io::Result<WriteSummary> {
    write(requests, volumes, &ABILITY, b"", out, |r, buffer| {
        number(r.ticks / NS_PER_MS, buffer);
        let point = buffer.len();
        // The 1 in front keeps the zeros, and gives its place to the point.
        number(NS_PER_MS + r.ticks % NS_PER_MS, buffer);
        buffer[point] = b'.';
        buffer.push(b' ');
        let flags = u64::from(r.op == Op::Read);
        let stream = u64::from(r.stream);
        numbers(&[stream, r.start_sector, r.sectors, flags], b' ', buffer);
        buffer.push(b'\n');
        Ok(())
    })
}
