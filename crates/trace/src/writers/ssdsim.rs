//! Writes the ASCII of SSDsim and MQSim (format `ssdsim`).

use std::io::{self, Write};

use destage_types::Op;

use super::passes::RequestPasses;
use super::text::{Ability, WriteSummary, numbers, write};
use crate::volume::Volume;

const ABILITY: Ability = Ability {
    format: "ssdsim",
    ops: &[Op::Read, Op::Write],
    tick_ns: 1,
};

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
    write(requests, volumes, &ABILITY, b"", out, |r, buffer| {
        let op = u64::from(r.op == Op::Read);
        let stream = u64::from(r.stream);
        let columns = [r.ticks, stream, r.start_sector, r.sectors, op];
        numbers(&columns, b' ', buffer);
        buffer.push(b'\n');
        Ok(())
    })
}
