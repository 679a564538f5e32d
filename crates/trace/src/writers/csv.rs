//! Writes the program's own CSV (format `destage`), which keeps everything a request holds.

use std::io::{self, Write};

use destage_types::request::NO_PREV;
use destage_types::{Extent, Op, RequestFlags, RequestRef, Tag};

use super::passes::RequestPasses;
use super::text::{FLUSH_AT, invalid, number, numbers};
use crate::extent::blocks;
use crate::readers::{CSV_COLUMNS, CSV_END, CSV_START, flags_text, tag_name};

/// Writes all requests with the optional columns that they need: one line per extent, one line for FLUSH. The file
/// announces that it ends with its number of requests, so that readers see if it was cut. Memory does not grow with
/// the number of requests.
///
/// # Errors
/// `prev` does not match the extents of a request, writing fails, or the requests cannot be read.
pub fn write_csv(requests: &dyn RequestPasses, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = CsvColumns::default();
    requests.pass(&mut |request| {
        columns.tag |= request.head.tag != Tag::None;
        columns.group |= !request.more.is_empty();
        columns.flags |= request.head.flags.any(RequestFlags::OF_WRITES);
        Ok(())
    })?;
    let mut names: Vec<&str> = CSV_COLUMNS[..7].iter().map(|c| c.name).collect();
    names.extend(columns.tag.then_some("tag"));
    names.extend(columns.group.then_some("group"));
    names.extend(columns.flags.then_some("flags"));
    let mut buffer = format!("#{CSV_START}\n{}\n", names.join(",")).into_bytes();
    if let Some(note) = requests.note() {
        buffer.extend(format!("# {}\n", note.replace(['\n', '\r'], " ")).bytes());
    }
    let (mut written, mut groups) = (0, 0);
    requests.pass(&mut |request| {
        let total: u64 = request.extents().map(blocks).sum();
        if !request.prev.is_empty() && request.prev.len() as u64 != total {
            return Err(invalid(
                "`prev` needs one entry per 4 KiB block of the request",
            ));
        }
        let mut prev = request.prev;
        if request.head.op == Op::Flush {
            columns.line(request, Extent::new(0, 0), &[], groups, &mut buffer);
        }
        for extent in request.extents() {
            // No entry at all leaves every part empty.
            let own = usize::try_from(blocks(extent)).unwrap_or(usize::MAX);
            let (now, later) = prev.split_at(prev.len().min(own));
            prev = later;
            columns.line(request, extent, now, groups, &mut buffer);
        }
        groups += u64::from(!request.more.is_empty());
        written += 1;
        if buffer.len() >= FLUSH_AT {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(())
    })?;
    writeln!(buffer, "#{CSV_END}{written}")?;
    out.write_all(&buffer)?;
    out.flush()
}

/// Which optional columns a file has.
#[derive(Default)]
struct CsvColumns {
    /// Origin in the file system.
    tag: bool,
    /// Joins the lines of a request of several extents.
    group: bool,
    /// FUA and preflush.
    flags: bool,
}

impl CsvColumns {
    /// Appends the line of one extent of a request, which has the number `group` if it has several.
    fn line(
        &self,
        request: RequestRef<'_>,
        extent: Extent,
        prev: &[u64],
        group: u64,
        out: &mut Vec<u8>,
    ) {
        let head = request.head;
        number(head.arrival.0, out);
        out.extend_from_slice([b",R,", b",W,", b",T,", b",F,"][head.op as usize]);
        let (sectors, stream) = (u64::from(extent.sectors), u64::from(head.stream));
        numbers(&[extent.start_sector, sectors, stream], b',', out);
        out.push(b',');
        if prev.iter().any(|&sector| sector != NO_PREV) {
            for (i, &sector) in prev.iter().enumerate() {
                out.extend_from_slice(if i > 0 { b";" } else { b"" });
                match sector {
                    NO_PREV => out.extend_from_slice(b"-1"),
                    sector => number(sector, out),
                }
            }
        }
        out.extend_from_slice(if head.is_atomic() { b",1" } else { b",0" });
        if self.tag {
            out.push(b',');
            out.extend_from_slice(tag_name(head.tag).as_bytes());
        }
        if self.group {
            out.push(b',');
            if !request.more.is_empty() {
                number(group, out);
            }
        }
        if self.flags {
            out.push(b',');
            out.extend_from_slice(flags_text(head.flags).as_bytes());
        }
        out.push(b'\n');
    }
}
