//! Writes MSR Cambridge CSV (format `msr`).

use std::collections::BTreeMap;
use std::io::{self, Write};

use destage_types::Op;

use super::passes::RequestPasses;
use super::text::{Ability, WriteSummary, number, numbers, write};
use crate::volume::Volume;

const ABILITY: Ability = Ability {
    format: "msr",
    ops: &[Op::Read, Op::Write],
    tick_ns: 100,
};

/// Host and disk of a stream: those of a volume named `host_disk`, else the halves of its number.
fn source(stream: u32, volume: Option<&Volume>) -> String {
    let clean = |host: &str| !host.is_empty() && !host.contains([',', '#', '\n', '\r']);
    let named = volume.and_then(|volume| {
        let (host, disk) = volume.name.rsplit_once('_')?;
        let disk: u16 = disk.parse().ok()?;
        clean(host).then(|| format!("{host},{disk}"))
    });
    named.unwrap_or_else(|| format!("host{},{}", stream >> 16, stream & 0xffff))
}

/// Writes requests with times from 0 in units of 100 ns, rounded down, and response 0. A stream
/// has the host and disk of its name `host_disk`; without such a name they are `host` with the
/// upper 16 bits of its number, and the lower ones, which is what the reader makes of them.
/// Addresses are those of the volume that `volumes` gives the stream, else those of the request.
///
/// # Errors
/// The format has no TRIM, FLUSH, several extents, old addresses, atomic writes or tags; or
/// writing fails, or the requests cannot be read.
pub fn write_msr(
    requests: &dyn RequestPasses,
    volumes: &[Volume],
    out: &mut dyn Write,
) -> io::Result<WriteSummary> {
    let known: BTreeMap<u32, &Volume> = volumes.iter().map(|v| (v.stream, v)).collect();
    let mut last = (None, String::new());
    write(requests, volumes, &ABILITY, b"", out, |r, buffer| {
        if last.0 != Some(r.stream) {
            let volume = known.get(&r.stream).copied();
            last = (Some(r.stream), source(r.stream, volume));
        }
        number(r.ticks, buffer);
        buffer.push(b',');
        buffer.extend_from_slice(last.1.as_bytes());
        buffer.extend_from_slice(match r.op {
            Op::Read => b",Read,",
            _ => b",Write,",
        });
        numbers(&[r.start_sector * 512, r.sectors * 512, 0], b',', buffer);
        buffer.push(b'\n');
        Ok(())
    })
}
