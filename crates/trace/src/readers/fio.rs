//! The I/O logs of fio, versions 2 and 3.

use std::collections::BTreeSet;

use destage_types::{Extent, Op};

use super::columns::columns;
use super::names::Names;
use super::{FormatInfo, ReaderFacts, Separator};
use crate::error::FieldFault;
use crate::extent;
use crate::text::fields::{BlankFields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::volume::VolumeName;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "fio",
    aliases: &["iolog"],
    about: "fio I/O log, version 2 or 3: offsets and lengths in bytes, rounded outward to whole \
            sectors; each file is a volume; sync and datasync are a FLUSH. Version 2 has no times \
            but its wait lines: a request arrives 1 us after the one before, or when the wait in \
            front of it is over.",
    source: "fio manual, \"Trace file format\"; version 3 counts us as fio writes them",
    separator: Separator::Blank,
    columns: columns! {
        "timestamp": OwnTime(TimeUnit::Microseconds), "version 3 only: a whole number of us";
        "filename": Own, "a name without blanks, at most 4096 bytes and 1048576 different ones";
        "action": Own, "read, write, trim, sync or datasync; add, open, close and sync_file_range are no requests; \
              version 2 only: wait";
        "offset": Own, "bytes, the request ending at or below 256 TiB; for wait: ms since the start of the job";
        "length": Own, "bytes, 1 to 2199023255040, at most 4294967295 sectors";
    },
    example: b"fio version 3 iolog\n0 /dev/sdb add\n1 /dev/sdb open\n\
               15 /dev/sdb write 0 16384\n20 /dev/sdb trim 65536 4096\n\
               21 /dev/sdb sync 0 0\n30 /dev/sdb close\n",
    example_requests: 3,
    detect: |_, sample| version(sample.first()).is_some(),
    open: |info, input, options| Box::new(LineReader::new(info, Fio::default(), input, options)),
    ..FormatInfo::BASE
};

fn version(line: &[u8]) -> Option<u8> {
    match line {
        b"fio version 2 iolog" => Some(2),
        b"fio version 3 iolog" => Some(3),
        _ => None,
    }
}

#[derive(Default)]
struct Fio {
    /// 0 until the first line is read.
    version: u8,
    files: Names,
    /// Files that are open. fio closes all at the end; other writers may not.
    open: BTreeSet<u32>,
    /// Are all lines read?
    ended: bool,
    /// Version 2: when the last wait is over, and the earliest time of the next request, in us.
    waited: u64,
    next: u64,
    has_waits: bool,
    /// Lines of sync_file_range.
    ranges: u64,
}

impl Fio {
    fn wait(&mut self, words: &mut BlankFields<'_>, action: u16) -> Result<(), FieldFault> {
        if self.version == 3 {
            return Err(FieldFault::at(action, "is not allowed in version 3"));
        }
        let column = words.column();
        let time = words.u64()?;
        if words.next_text().is_some() {
            words.end()?;
        }
        let us = time.checked_mul(1_000);
        let us = us.ok_or(FieldFault::at(column, "is too large"))?;
        // A wait that is over waits for nothing (TR-5).
        self.waited = self.waited.max(us);
        self.has_waits = true;
        Ok(())
    }

    #[inline(always)]
    fn push(
        &mut self,
        stated: Option<u64>,
        op: Op,
        placed: Option<(Extent, bool)>,
        stream: u32,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), FieldFault> {
        let time = stated.unwrap_or(self.waited.max(self.next));
        let column = if stated.is_some() {
            0
        } else {
            FieldFault::LINE
        };
        let pushed = sink.push_placed(time, op, placed, stream);
        pushed.map_err(|why| FieldFault::at(column, why))?;
        self.next = time.saturating_add(1);
        Ok(())
    }

    /// Reads a line.
    #[inline(always)]
    fn read(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        // Logs may have been joined.
        if self.version == 0 || line.bytes().starts_with(b"fio ") {
            let known = version(line.bytes());
            let unknown = FieldFault::line("is not `fio version 2 iolog` or version 3");
            self.version = known.ok_or(unknown)?;
            return Ok(());
        }
        let mut words = line.words();
        let stated = match self.version {
            3 => Some(words.u64()?),
            _ => None,
        };
        let file = words.column();
        let name = words.text()?;
        let stream =
            |files: &mut Names| files.stream(name).map_err(|why| FieldFault::at(file, why));
        let action = words.column();
        let kind = words.text()?;
        let op = match kind {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            // It writes cached pages of a file back, and no device sees it.
            b"sync_file_range" => {
                self.ranges += 1;
                return Ok(());
            }
            b"wait" => return self.wait(&mut words, action),
            b"add" | b"open" | b"close" => {
                words.end()?;
                let stream = stream(&mut self.files)?;
                match kind {
                    b"open" => self.open.insert(stream),
                    b"close" => self.open.remove(&stream),
                    _ => false,
                };
                return Ok(());
            }
            _ => return Err(FieldFault::at(action, "is no action")),
        };
        if op == Op::Flush {
            if words.end().is_err() {
                words.u64()?;
                words.u64()?;
                words.end()?;
            }
            let stream = stream(&mut self.files)?;
            return self.push(stated, op, None, stream, sink);
        }
        let (offset, length) = (words.u64()?, words.u64()?);
        words.end()?;
        let placed = extent::from_bytes(offset, length);
        let placed = placed.map_err(|fault| fault.at(action + 1, action + 2))?;
        let stream = stream(&mut self.files)?;
        self.push(stated, op, Some(placed), stream, sink)
    }
}

impl LineFormat for Fio {
    const TICK_NS: u64 = 1_000;

    #[inline(always)]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let read = self.read(line, sink);
        // Version 2 lacks the first column.
        let missing = u16::from(self.version == 2);
        let known = |fault: &FieldFault| fault.column.saturating_add(missing);
        read.map_err(|fault| FieldFault::of(fault.column, known(&fault), fault.why))
    }

    fn finish(&mut self, _sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        self.ended = true;
        Ok(())
    }
}

impl ReaderFacts for Fio {
    fn notes(&self) -> Vec<String> {
        let cut = self.ended && !self.open.is_empty();
        const CUT: &str = "files that the log opens are not closed at its end: it may be cut off";
        let cut = cut.then(|| CUT.to_owned());
        let ranges = self.ranges;
        const RANGES: &str =
            "lines of sync_file_range, which is no request of a device and not read as one";
        let ranges = (ranges > 0).then(|| format!("{RANGES}: {ranges}"));
        cut.into_iter().chain(ranges).collect()
    }

    fn timed(&self) -> bool {
        self.version != 2 || self.has_waits
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        self.files.volume(stream)
    }
}
