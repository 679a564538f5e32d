//! Lines of records and journals that are read again: each carries a checksum, so a byte that changed on the disk is found.

use destage_sim::ResultRecord;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;

/// Begins the checksum, which is the last member of the `run` object.
const MEMBER: &str = "\"sha256\":\"";
/// Ends it, the `run` object, and the record.
const END: &str = "\"}}";
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 64;
/// Members of `run` in lines that older versions wrote, which have no checksum.
const UNSEALED: [&str; 5] = ["wall_s", "cpu_s", "threads", "host", "key"];

/// The checksum of a line is not that of its text.
const CHANGED: &str = "the line was changed after it was written: its checksum differs";

/// A line that was read.
pub struct SealedLine {
    /// Its record.
    pub record: ResultRecord,
    /// Whether the line has a checksum; lines of older versions have none.
    pub is_sealed: bool,
}

/// The part of a line that shows which version wrote it.
#[derive(Deserialize)]
struct Members {
    run: BTreeMap<String, IgnoredAny>,
}

/// `record` as a line of JSON with its checksum: the SHA-256 of the same line without the checksum.
///
/// # Errors
/// The record has no JSON form.
pub fn seal(record: &ResultRecord) -> io::Result<Vec<u8>> {
    let text = serde_json::to_string(record)?;
    let open = text.strip_suffix("}}");
    let open = open.ok_or_else(|| io::Error::other("a record ends with its `run` object"))?;
    let comma = if open.ends_with('{') { "" } else { "," };
    let sum = checksum(&text);
    Ok(format!("{open}{comma}{MEMBER}{sum}{END}\n").into_bytes())
}

/// Reads a line that [`seal`] wrote, with or without its line end, or one of an older version.
///
/// # Errors
/// The line is no record, or was changed since it was written.
pub fn unseal(line: &[u8]) -> Result<SealedLine, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("no result record: {error}"))?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let record = |text: &str| {
        ResultRecord::from_json(text).map_err(|error| format!("no result record: {error}"))
    };
    if let Some((body, sum)) = split(text) {
        if checksum(&body) != sum {
            return Err(CHANGED.into());
        }
        let (record, is_sealed) = (record(&body)?, true);
        return Ok(SealedLine { record, is_sealed });
    }
    let (record, is_sealed) = (record(text)?, false);
    let members: Members = serde_json::from_str(text).map_err(|error| error.to_string())?;
    // A byte of the checksum's name may be the one that changed.
    match members.run.keys().find(|key| !UNSEALED.contains(&&***key)) {
        Some(_) => Err("the line was changed after it was written: it has no checksum".into()),
        None => Ok(SealedLine { record, is_sealed }),
    }
}

/// `text`, which has no line end, as a line that begins with its checksum.
pub fn seal_text(text: &str) -> String {
    format!("{} {text}\n", checksum(text))
}

/// The text of a line that [`seal_text`] wrote.
///
/// # Errors
/// The line was changed since it was written.
pub fn unseal_text(line: &[u8]) -> Result<&str, String> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let parts = std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.split_once(' '));
    match parts {
        Some((sum, text)) if checksum(text) == sum => Ok(text),
        _ => Err(CHANGED.into()),
    }
}

/// A sealed line as it was before, and its checksum.
fn split(line: &str) -> Option<(String, &str)> {
    let open = line.strip_suffix(END)?;
    let (open, sum) = open.split_at_checked(open.len().checked_sub(DIGITS)?)?;
    let open = open.strip_suffix(MEMBER)?;
    Some((
        format!("{}}}}}", open.strip_suffix(',').unwrap_or(open)),
        sum,
    ))
}

fn checksum(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::Expr;
    use destage_sim::{Hooks, RunSpec, execute};
    use destage_trace::Trace;
    use destage_types::{ByteSize, HostRequest, Nanos, Op, RequestBatch};

    /// The line of a run, and its record.
    fn line() -> (Vec<u8>, ResultRecord) {
        let mut batch = RequestBatch::new();
        for (time, page) in [(0, 1), (5, 2), (9, 1)] {
            batch.push(HostRequest::new(Nanos(time), Op::Write, page * 8, 8));
        }
        let trace = Trace::generated("test", batch);
        let run = RunSpec::cache_only(Expr::parse("lru").unwrap(), ByteSize(1 << 20));
        let mut record = execute(&run, &trace, Hooks::default()).unwrap();
        record.run.key = "0f".repeat(32);
        (seal(&record).unwrap(), record)
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let (line, record) = line();
        let read = unseal(&line).unwrap();
        assert!(read.is_sealed && read.record == record);
        let old = serde_json::to_vec(&record).unwrap();
        let read = unseal(&old).unwrap();
        assert!(!read.is_sealed && read.record == record);
    }

    #[test]
    fn every_changed_byte_is_found() {
        let (line, _) = line();
        for at in 0..line.len() - 1 {
            for other in [line[at] ^ 1, line[at] ^ 0x20, b'}', b'"', b'0', 0xff] {
                let mut changed = line.clone();
                changed[at] = other;
                let is_found = other == line[at] || unseal(&changed).is_err();
                assert!(is_found, "byte {at} as {other}");
            }
        }
    }
}
