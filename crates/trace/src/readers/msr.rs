//! MSR Cambridge CSV, the format of the best-known server traces.

use super::table::{self, NO_KIND, columns, fits, other_kind, read_or_write};
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

/// The published volumes come from 13 servers.
const MAX_HOSTS: usize = 1_024;

#[derive(Default)]
struct Msr {
    hosts: Vec<Box<[u8]>>,
    /// Index of the host of the line before.
    last: usize,
}

impl Msr {
    /// Stream of the next two columns: number of the host in order of appearance x 65536 + disk,
    /// so that a volume of one server keeps its own number.
    #[inline(always)]
    fn stream(&mut self, fields: &mut Fields<'_>) -> Result<u32, FieldFault> {
        let host = fields.text()?.trim_ascii();
        let disk = fields.u64()?;
        if host.is_empty() {
            return Err(FieldFault::at(HOST, "is empty"));
        }
        let Ok(disk) = u16::try_from(disk) else {
            return Err(FieldFault::at(DISK, "is no number of a disk"));
        };
        if self.hosts.get(self.last).is_none_or(|last| **last != *host) {
            self.last = self.host(host)?;
        }
        Ok((self.last as u32) << 16 | u32::from(disk))
    }

    /// Index of a host, which may be new.
    fn host(&mut self, host: &[u8]) -> Result<usize, FieldFault> {
        if let Some(known) = self.hosts.iter().position(|known| **known == *host) {
            return Ok(known);
        }
        if self.hosts.len() >= MAX_HOSTS {
            return Err(FieldFault::at(HOST, "is one name too many"));
        }
        self.hosts.push(host.into());
        Ok(self.hosts.len() - 1)
    }
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
        let kind = fields.text()?;
        let op = read_or_write(kind).or_else(|| other_kind(kind));
        let op = op.ok_or(FieldFault::at(OP, NO_KIND))?;
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
