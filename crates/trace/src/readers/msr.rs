//! MSR Cambridge CSV, the format of the best-known server traces.

use destage_types::Op;

use super::table::{self, NO_KIND, columns, fits, read_or_write};
use super::{FormatInfo, Separator, is_header};
use crate::error::FieldFault;
use crate::extent;
use crate::text::fields::{Fields, RawLine};
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::volume::VolumeName;

const TIME: u16 = 0;
const HOST: u16 = 1;
const DISK: u16 = 2;
const OP: u16 = 3;
const OFFSET: u16 = 4;
const SIZE: u16 = 5;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "msr",
    aliases: &[],
    about: "MSR Cambridge CSV: offsets and sizes in bytes, rounded outward to whole sectors.",
    source: "Narayanan et al., Write Off-Loading, FAST'08; SNIA IOTTA trace 388",
    separator: Separator::Comma,
    columns: columns! {
        "timestamp": Ticks(100), "Windows filetime in units of 100 ns";
        "hostname": Own, "a name, at most 1024 different ones";
        "disk": Own, "number of the disk, 0 to 65535";
        "type": Kind(read_or_write), "Read or Write";
        "offset": Offset, table::OFFSET;
        "size": Bytes, table::BYTES;
        "response": Own, "a whole number (units of 100 ns), not used";
    },
    timed: true,
    volumes: true,
    example: b"128166372003061629,hm,0,Write,9056014336,2048,2833\n\
              128166372003071000,hm,0,Read,4096,8192,120\n",
    example_requests: 2,
    detect: |sample| {
        is_header(&INFO, sample.first()) || sample.most(|line| fits(&INFO, false, line))
    },
    open: |input, options| Box::new(LineReader::new(&INFO, Msr::default(), input, options)),
};

/// Longest host and disk that are compared at once.
const CACHED: usize = 16;
/// The volumes come from 13 servers; every name is compared when the host changes.
const MAX_HOSTS: usize = 1_024;

#[derive(Default)]
struct Msr {
    /// Text `host,disk,` of the line before, its length, and the stream it means.
    source: u128,
    source_mask: u128,
    source_len: usize,
    stream: u32,
    hosts: Vec<Box<[u8]>>,
}

impl Msr {
    /// Stream of the next two columns: number of the host in order of appearance x 65536 + disk,
    /// so that a volume of one server keeps its own number.
    #[inline(always)]
    fn stream(&mut self, fields: &mut Fields<'_>) -> Result<u32, FieldFault> {
        if let Some(text) = fields.rest().first_chunk::<CACHED>()
            && self.source_len > 0
            && u128::from_le_bytes(*text) & self.source_mask == self.source
        {
            fields.skip(self.source_len, 2);
            return Ok(self.stream);
        }
        let bytes = self.other_stream(*fields)?;
        fields.skip(bytes, 2);
        Ok(self.stream)
    }

    #[cold]
    #[inline(never)]
    fn other_stream(&mut self, mut fields: Fields<'_>) -> Result<usize, FieldFault> {
        let (rest, before) = (fields.rest(), fields);
        let host = fields.text()?.trim_ascii();
        let disk = fields.u64()?;
        if host.is_empty() {
            return Err(FieldFault::at(HOST, "is empty"));
        }
        let Ok(disk) = u16::try_from(disk) else {
            return Err(FieldFault::at(DISK, "is no number of a disk"));
        };
        let known = self.hosts.iter().position(|known| **known == *host);
        let index = known.unwrap_or(self.hosts.len());
        if index >= MAX_HOSTS {
            return Err(FieldFault::at(HOST, "is one name too many"));
        }
        if known.is_none() {
            self.hosts.push(host.into());
        }
        self.stream = (index as u32) << 16 | u32::from(disk);
        self.remember(rest, rest.len() - fields.rest().len());
        Ok(before.bytes_to(&fields))
    }

    fn remember(&mut self, text: &[u8], len: usize) {
        self.source_len = 0;
        let Some(text) = text.first_chunk::<CACHED>() else {
            return;
        };
        // A shorter line than the text and its separator ends here and is a bad line anyway.
        if len < CACHED && text[len - 1] == b',' {
            self.source_len = len;
            self.source_mask = (1 << (8 * len)) - 1;
            self.source = u128::from_le_bytes(*text) & self.source_mask;
        }
    }
}

const READ: u64 = u64::from_le_bytes(*b"Read,\0\0\0");
const WRITE: u64 = u64::from_le_bytes(*b"Write,\0\0");

/// Most lines read or write in the usual spelling. There is no branch on which of the two, which no
/// predictor could learn.
#[inline(always)]
fn op(fields: &mut Fields<'_>) -> Result<Op, FieldFault> {
    let word = fields.peek();
    let write = word & 0xffff_ffff_ffff == WRITE;
    if write | (word & 0xff_ffff_ffff == READ) {
        fields.skip(5 + usize::from(write), 1);
        return Ok(if write { Op::Write } else { Op::Read });
    }
    let (op, bytes) = other_op(*fields)?;
    fields.skip(bytes, 1);
    Ok(op)
}

#[cold]
#[inline(never)]
fn other_op(mut fields: Fields<'_>) -> Result<(Op, usize), FieldFault> {
    let before = fields;
    let op = read_or_write(fields.text()?).ok_or(FieldFault::at(OP, NO_KIND))?;
    Ok((op, before.bytes_to(&fields)))
}

impl LineFormat for Msr {
    const TICK_NS: u64 = 100;

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        let host = self.hosts.get((stream >> 16) as usize)?;
        let (host, disk) = (String::from_utf8_lossy(host), stream & 0xffff);
        Some(VolumeName::new(format!("{host}_{disk}")))
    }

    #[inline(always)]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let mut fields = line.fields();
        let ticks = fields.u64()?;
        let stream = self.stream(&mut fields)?;
        let op = op(&mut fields)?;
        let (offset, size) = (fields.u64()?, fields.u64()?);
        fields.unused_integer()?;
        fields.end()?;
        let (extent, rounded) =
            extent::from_bytes(offset, size).map_err(|fault| fault.at(OFFSET, SIZE))?;
        let pushed = sink.push_extent(ticks, op, extent, stream);
        pushed.map_err(|why| FieldFault::at(TIME, why))?;
        sink.count_unaligned(rounded);
        Ok(())
    }
}
