//! The trace format of the Storage Performance Council, known from the UMass repository.

use destage_types::{HostRequest, Nanos, Op};

use super::{Column, FormatInfo, Sample, Separator};
use crate::error::Fault;
use crate::extent::{self, MAX_BYTES};
use crate::fields::{Line, looks_like_integer};
use crate::line::{LineFormat, LineReader, Sink};
use crate::words::{looks_like_decimal, parse_decimal};

const LBA: u16 = 1;
const SIZE: u16 = 2;
const OP: u16 = 3;
const TIME: u16 = 4;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "spc",
    aliases: &[],
    about: "SPC as in the UMass repository: addresses in sectors, sizes in bytes, rounded up to \
            whole sectors.",
    source: "SPC Trace File Format Specification 1.0.1; UMass Trace Repository (Financial, \
             WebSearch)",
    separator: Separator::Comma,
    columns: &[
        Column {
            name: "asu",
            allowed: "application-specific unit, 0 to 4294967295",
        },
        Column {
            name: "lba",
            allowed: "sector of 512 B, the request ending at or below 256 TiB",
        },
        Column {
            name: "size",
            allowed: "bytes, 1 to 2199023255040, at most 4294967295 sectors",
        },
        Column {
            name: "opcode",
            allowed: "r, R, w or W",
        },
        Column {
            name: "timestamp",
            allowed: "s, digits behind the ns dropped; further columns are not used",
        },
    ],
    timed: true,
    volumes: true,
    example: b"0,303567,3584,w,0.000000\n1,55590,3072,W,0.026214\n1,55596,3072,r,0.078643\n",
    example_requests: 3,
    detect,
    open: |input, options| Box::new(LineReader::new(&INFO, Spc, input, options)),
};

fn detect(sample: &Sample<'_>) -> bool {
    sample.most(|line| {
        let mut fields = line.split(|&byte| byte == b',');
        let mut next = || fields.next().unwrap_or(b"");
        let (asu, lba, size, opcode, time) = (next(), next(), next(), next(), next());
        [asu, lba, size].into_iter().all(looks_like_integer)
            && read_op(opcode).is_some()
            && looks_like_decimal(time)
    })
}

fn read_op(text: &[u8]) -> Option<Op> {
    match text {
        b"r" | b"R" => Some(Op::Read),
        b"w" | b"W" => Some(Op::Write),
        _ => None,
    }
}

struct Spc;

impl LineFormat for Spc {
    const TICK_NS: u64 = 1;

    #[inline]
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut fields = line.fields(b',');
        let stream = fields.u32()?;
        let (lba, size) = (fields.u64()?, fields.u64()?);
        let op = read_op(fields.text()?).ok_or(Fault::at(OP, "is no kind of request"))?;
        let time = parse_decimal(fields.text()?, 9).map_err(|why| Fault::at(TIME, why))?;
        // The specification allows further columns.
        if lba > MAX_BYTES / 512 {
            return Err(Fault::at(LBA, extent::BEHIND));
        }
        let placed = extent::from_bytes(lba * 512, size);
        let (extent, rounded) = placed.map_err(|fault| fault.at(LBA, SIZE))?;
        let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
        request.stream = stream;
        sink.push(time, request)
            .map_err(|why| Fault::at(TIME, why))?;
        sink.count_unaligned(rounded);
        Ok(())
    }
}
