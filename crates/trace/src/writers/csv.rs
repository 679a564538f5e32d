//! Writes the program's own CSV (format `destage`), which keeps everything a request holds.

use std::io::{self, Write};

use destage_types::request::NO_PREV;
use destage_types::{Extent, Op, RequestFlags, RequestRef, Tag};

use super::passes::RequestPasses;
use super::text::{invalid, number};
use crate::extent::blocks;
use crate::readers::{CSV_COLUMNS, CSV_END, CSV_START, flags_text, tag_name};

/// Bytes collected before they are written.
const FLUSH_AT: usize = 64 << 10;

/// Which optional columns a file has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CsvColumns {
    /// Origin in the file system.
    pub tag: bool,
    /// Joins the lines of a request of several extents.
    pub group: bool,
    /// FUA and preflush.
    pub flags: bool,
}

impl CsvColumns {
    /// The columns that all requests need.
    ///
    /// # Errors
    /// The requests cannot be read.
    pub fn needed_by(requests: &dyn RequestPasses) -> io::Result<CsvColumns> {
        let mut columns = CsvColumns::default();
        requests.pass(&mut |request| {
            columns.tag |= request.head.tag != Tag::None;
            columns.group |= !request.more.is_empty();
            columns.flags |= request.head.flags.any(RequestFlags::OF_WRITES);
            Ok(())
        })?;
        Ok(columns)
    }
}

/// Writes requests one after the other; memory does not grow with their number.
pub struct CsvWriter<W: Write> {
    out: W,
    columns: CsvColumns,
    buffer: Vec<u8>,
    requests: u64,
    groups: u64,
}

impl<W: Write> CsvWriter<W> {
    /// Starts a file with its header. It announces that the file ends with its number of requests, so
    /// that readers see if it was cut.
    pub fn new(out: W, columns: CsvColumns) -> CsvWriter<W> {
        let mut names: Vec<&str> = CSV_COLUMNS[..7].iter().map(|c| c.name).collect();
        names.extend(columns.tag.then_some("tag"));
        names.extend(columns.group.then_some("group"));
        names.extend(columns.flags.then_some("flags"));
        let buffer = format!("#{CSV_START}\n{}\n", names.join(",")).into_bytes();
        CsvWriter {
            out,
            columns,
            buffer,
            requests: 0,
            groups: 0,
        }
    }

    /// Writes a comment, on one line.
    fn note(&mut self, note: &str) {
        let line = note.replace(['\n', '\r'], " ");
        self.text(&format!("# {line}\n"));
    }

    /// Writes one request: one line per extent, one line for FLUSH.
    ///
    /// # Errors
    /// The request needs a column that the file lacks, `prev` does not match its extents, or
    /// writing fails.
    pub fn write(&mut self, request: RequestRef<'_>) -> io::Result<()> {
        let (head, columns) = (request.head, self.columns);
        let total: u64 = request.extents().map(blocks).sum();
        let forced = head.flags.any(RequestFlags::OF_WRITES);
        let listed = !request.prev.is_empty();
        let why = if !request.more.is_empty() && !columns.group {
            "a request of several extents needs the column `group`"
        } else if head.tag != Tag::None && !columns.tag {
            "a request with a tag needs the column `tag`"
        } else if forced && !columns.flags {
            "a write with FUA or preflush needs the column `flags`"
        } else if listed && request.prev.len() as u64 != total {
            "`prev` needs one entry per 4 KiB block of the request"
        } else {
            ""
        };
        if !why.is_empty() {
            return Err(invalid(why));
        }
        let mut prev = request.prev;
        if request.head.op == Op::Flush {
            self.line(request, None, &[]);
        }
        for extent in request.extents() {
            // No entry at all leaves every part empty.
            let own = usize::try_from(blocks(extent)).unwrap_or(usize::MAX);
            let n = prev.len().min(own);
            let (now, later) = prev.split_at(n);
            prev = later;
            self.line(request, Some(extent), now);
        }
        self.groups += u64::from(!request.more.is_empty());
        self.requests += 1;
        if self.buffer.len() >= FLUSH_AT {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn line(&mut self, request: RequestRef<'_>, extent: Option<Extent>, prev: &[u64]) {
        let head = request.head;
        self.number(head.arrival.0);
        self.text([",R,", ",W,", ",T,", ",F,"][head.op as usize]);
        let (start, sectors) = extent.map_or((0, 0), |e| (e.start_sector, e.sectors));
        self.number(start);
        self.buffer.push(b',');
        self.number(u64::from(sectors));
        self.buffer.push(b',');
        self.number(u64::from(head.stream));
        self.buffer.push(b',');
        if prev.iter().any(|&sector| sector != NO_PREV) {
            self.prev(prev);
        }
        self.text(if head.is_atomic() { ",1" } else { ",0" });
        if self.columns.tag {
            self.buffer.push(b',');
            self.text(tag_name(head.tag));
        }
        if self.columns.group {
            self.buffer.push(b',');
            if !request.more.is_empty() {
                self.number(self.groups);
            }
        }
        if self.columns.flags {
            self.buffer.push(b',');
            self.text(flags_text(head.flags));
        }
        self.buffer.push(b'\n');
    }

    fn prev(&mut self, prev: &[u64]) {
        for (i, &sector) in prev.iter().enumerate() {
            if i > 0 {
                self.buffer.push(b';');
            }
            match sector {
                NO_PREV => self.buffer.extend_from_slice(b"-1"),
                sector => self.number(sector),
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, n: u64) {
        number(n, &mut self.buffer);
    }

    /// Ends the file and gives the output back.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        writeln!(self.buffer, "#{CSV_END}{}", self.requests)?;
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes all requests with the columns they need.
///
/// # Errors
/// Those of [`CsvWriter::write`]; the requests cannot be read.
pub fn write_csv(requests: &dyn RequestPasses, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = CsvWriter::new(out, CsvColumns::needed_by(requests)?);
    if let Some(note) = requests.note() {
        writer.note(note);
    }
    requests.pass(&mut |request| writer.write(request))?;
    writer.finish()?;
    Ok(())
}
