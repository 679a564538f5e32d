//! Writes fio I/O logs of version 3 (format `fio`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use destage_types::Op;

use super::passes::RequestPasses;
use super::text::{Ability, WriteSummary, invalid, number, numbers, write};
use crate::volume::Volume;

const ABILITY: Ability = Ability {
    format: "fio",
    ops: &[Op::Read, Op::Write, Op::Trim, Op::Flush],
    tick_ns: 1_000,
};

/// fio reads lengths as 32 bits and names of at most 256 bytes.
const MAX_BYTES: u64 = u32::MAX as u64;
const MAX_NAME: usize = 256;

/// Writes requests with times in us, rounded down. Each stream is a file: with the name that
/// `volumes` gives it, blanks and colons replaced by `_`, or `stream` and its number. A FLUSH is
/// `sync`. Addresses are those of the volume, else those of the request.
///
/// # Errors
/// fio has no several extents, old addresses, atomic writes or tags, and no request of 4 GiB or
/// more; two streams have the same name, or a name is empty or longer than 256 bytes; or writing
/// fails, or the requests cannot be read.
pub fn write_fio(
    requests: &dyn RequestPasses,
    volumes: &[Volume],
    out: &mut dyn Write,
) -> io::Result<WriteSummary> {
    let names = names(requests, volumes)?;
    let mut header = b"fio version 3 iolog\n".to_vec();
    for action in ["add", "open"] {
        for (_, name) in &names {
            header.extend_from_slice(format!("0 {name} {action}\n").as_bytes());
        }
    }
    let by_stream: BTreeMap<u32, &String> = names.iter().map(|(s, name)| (*s, name)).collect();
    let mut end = 0;
    let written = write(requests, volumes, &ABILITY, &header, out, |r, buffer| {
        if r.sectors * 512 > MAX_BYTES {
            return Err("`fio` reads lengths below 4 GiB only".to_owned());
        }
        end = r.ticks;
        number(r.ticks, buffer);
        buffer.push(b' ');
        buffer.extend_from_slice(by_stream[&r.stream].as_bytes());
        buffer.extend_from_slice(match r.op {
            Op::Read => b" read ",
            Op::Write => b" write ",
            Op::Trim => b" trim ",
            Op::Flush => b" sync ",
        });
        numbers(&[r.start_sector * 512, r.sectors * 512], b' ', buffer);
        buffer.push(b'\n');
        Ok(())
    })?;
    for (_, name) in &names {
        writeln!(out, "{end} {name} close")?;
    }
    out.flush()?;
    Ok(written)
}

/// The file name of each stream, in order of first appearance.
fn names(requests: &dyn RequestPasses, volumes: &[Volume]) -> io::Result<Vec<(u32, String)>> {
    let known: BTreeMap<u32, &str> = volumes.iter().map(|v| (v.stream, &*v.name)).collect();
    let (mut seen, mut used) = (BTreeSet::new(), BTreeSet::new());
    let mut names = Vec::new();
    requests.pass(&mut |request| {
        let stream = request.head.stream;
        if !seen.insert(stream) {
            return Ok(());
        }
        let name = match known.get(&stream) {
            Some(name) => name.replace(|c: char| c.is_whitespace() || c == ':', "_"),
            None => format!("stream{stream}"),
        };
        if name.is_empty() || name.len() > MAX_NAME || !used.insert(name.clone()) {
            let reason = "is empty, longer than 256 bytes, or used twice";
            return Err(invalid(format!("the file name `{name}` {reason}")));
        }
        names.push((stream, name));
        Ok(())
    })?;
    Ok(names)
}
