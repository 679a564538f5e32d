//! Alibaba Cloud block storage traces.

use destage_types::{HostRequest, Nanos, Op};

use super::{Column, FormatInfo, Sample, Separator};
use crate::error::Fault;
use crate::extent;
use crate::fields::{Line, looks_like_integer};
use crate::line::{LineFormat, LineReader, Sink};

const OP: u16 = 1;
const OFFSET: u16 = 2;
const LENGTH: u16 = 3;
const TIME: u16 = 4;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "alibaba",
    aliases: &[],
    about: "Alibaba cloud block storage CSV: offsets and lengths in bytes, rounded outward to \
            whole sectors.",
    source: "Li et al., An In-Depth Analysis of Cloud Block Storage Workloads, IISWC'20",
    separator: Separator::Comma,
    columns: &[
        Column {
            name: "device_id",
            allowed: "number of the virtual disk, 0 to 4294967295",
        },
        Column {
            name: "opcode",
            allowed: "R or W",
        },
        Column {
            name: "offset",
            allowed: "bytes, the request ending at or below 256 TiB",
        },
        Column {
            name: "length",
            allowed: "bytes, 1 to 2199023255040, at most 4294967295 sectors",
        },
        Column {
            name: "timestamp",
            allowed: "a whole number of us",
        },
    ],
    timed: true,
    volumes: true,
    example:
        b"419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n",
    example_requests: 2,
    detect,
    open: |input, options| Box::new(LineReader::new(&INFO, Alibaba, input, options)),
};

fn detect(sample: &Sample<'_>) -> bool {
    sample.most(|line| {
        let mut fields = line.split(|&byte| byte == b',');
        let mut next = || fields.next().unwrap_or(b"");
        let (device, opcode, offset, length, time) = (next(), next(), next(), next(), next());
        let numbers = [device, offset, length, time];
        numbers.into_iter().all(looks_like_integer)
            && read_op(opcode).is_some()
            && fields.next().is_none()
    })
}

fn read_op(text: &[u8]) -> Option<Op> {
    match text {
        b"R" => Some(Op::Read),
        b"W" => Some(Op::Write),
        _ => None,
    }
}

struct Alibaba;

impl LineFormat for Alibaba {
    const TICK_NS: u64 = 1_000;

    #[inline]
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut fields = line.fields(b',');
        if line.bytes() == b"device_id,opcode,offset,length,timestamp" {
            return Ok(());
        }
        let stream = fields.u32()?;
        let op = read_op(fields.text()?).ok_or(Fault::at(OP, "is no kind of request"))?;
        let (offset, length, time) = (fields.u64()?, fields.u64()?, fields.u64()?);
        fields.end()?;
        let placed = extent::from_bytes(offset, length);
        let (extent, rounded) = placed.map_err(|fault| fault.at(OFFSET, LENGTH))?;
        let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
        request.stream = stream;
        sink.push(time, request)
            .map_err(|why| Fault::at(TIME, why))?;
        sink.count_unaligned(rounded);
        Ok(())
    }
}
