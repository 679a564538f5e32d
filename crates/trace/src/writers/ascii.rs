//! Writes the ASCII of simulators: SSDsim and MQSim (format `ssdsim`), and DiskSim (`disksim`).

use std::io::{self, Write};

use destage_types::Op;

use super::passes::RequestPasses;
use super::text::{Ability, WriteSummary, number, numbers, write};
use crate::volume::Volume;

const NS_PER_MS: u64 = 1_000_000;

/// Writes `ns device sector sectors op` with op 1 = read, 0 = write; the device is the stream.
/// Addresses are those of the volume that `volumes` gives the stream, else those of the request.
///
/// # Errors
/// The format has no TRIM, FLUSH, several extents, old addresses, atomic writes or tags; or
/// writing fails, or the requests cannot be read.
pub fn write_ssdsim(
    requests: &dyn RequestPasses,
    volumes: &[Volume],
    out: &mut dyn Write,
) -> io::Result<WriteSummary> {
    lines("ssdsim", requests, volumes, out, number)
}

/// Writes `ms device sector sectors flags`, otherwise as [`write_ssdsim`]. Times have six digits behind the point, which
/// is every ns.
///
/// # Errors
/// Those of [`write_ssdsim`].
pub fn write_disksim(
    requests: &dyn RequestPasses,
    volumes: &[Volume],
    out: &mut dyn Write,
) -> io::Result<WriteSummary> {
    lines("disksim", requests, volumes, out, |ns, buffer| {
        number(ns / NS_PER_MS, buffer);
        let point = buffer.len();
        // The 1 in front keeps the zeros, and gives its place to the point.
        number(NS_PER_MS + ns % NS_PER_MS, buffer);
        buffer[point] = b'.';
    })
}

fn lines(
    format: &'static str,
    requests: &dyn RequestPasses,
    volumes: &[Volume],
    out: &mut dyn Write,
    time: fn(u64, &mut Vec<u8>),
) -> io::Result<WriteSummary> {
    let ability = Ability {
        format,
        ops: &[Op::Read, Op::Write],
        tick_ns: 1,
    };
    write(requests, volumes, &ability, b"", out, |r, buffer| {
        time(r.ticks, buffer);
        buffer.push(b' ');
        let (stream, op) = (u64::from(r.stream), u64::from(r.op == Op::Read));
        numbers(&[stream, r.start_sector, r.sectors, op], b' ', buffer);
        buffer.push(b'\n');
        Ok(())
    })
}
