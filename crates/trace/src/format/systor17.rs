//! The virtual-desktop traces of SYSTOR'17.

use destage_types::{HostRequest, Nanos, Op};

use super::{Column, FormatInfo, Sample, Separator};
use crate::error::Fault;
use crate::extent;
use crate::fields::{Line, looks_like_integer};
use crate::line::{LineFormat, LineReader, Sink};
use crate::words::{looks_like_decimal, parse_decimal};

const TIME: u16 = 0;
const RESPONSE: u16 = 1;
const OP: u16 = 2;
const OFFSET: u16 = 4;
const SIZE: u16 = 5;
/// First line of every file; again in the middle of files that were joined.
const HEADER: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "systor17",
    aliases: &[],
    about: "SYSTOR'17 CSV with a header: offsets and sizes in bytes, rounded outward to whole \
            sectors.",
    source: "Lee et al., Understanding Storage Traffic Characteristics on Enterprise Virtual \
             Desktop Infrastructure, SYSTOR'17; SNIA IOTTA trace 4928",
    separator: Separator::Comma,
    columns: &[
        Column {
            name: "Timestamp",
            allowed: "s, digits behind the ns dropped",
        },
        Column {
            name: "Response",
            allowed: "s or empty, not used",
        },
        Column {
            name: "IOType",
            allowed: "R or W",
        },
        Column {
            name: "LUN",
            allowed: "number of the logical unit, 0 to 4294967295",
        },
        Column {
            name: "Offset",
            allowed: "bytes, the request ending at or below 256 TiB",
        },
        Column {
            name: "Size",
            allowed: "bytes, 1 to 2199023255040, at most 4294967295 sectors",
        },
    ],
    timed: true,
    volumes: true,
    example: b"Timestamp,Response,IOType,LUN,Offset,Size\n\
               1456095145.133076000,0.000806000,R,0,899056122368,131072\n\
               1456095145.126285000,0.008044000,W,4,4256049987072,122880\n",
    example_requests: 2,
    detect,
    open: |input, options| Box::new(LineReader::new(&INFO, Systor, input, options)),
};

fn detect(sample: &Sample<'_>) -> bool {
    let rows = sample.most(|line| {
        let mut fields = line.split(|&byte| byte == b',');
        let mut next = || fields.next().unwrap_or(b"");
        let (time, response, op, lun, offset, size) =
            (next(), next(), next(), next(), next(), next());
        looks_like_decimal(time)
            && (response.is_empty() || looks_like_decimal(response))
            && matches!(op, b"R" | b"W")
            && [lun, offset, size].into_iter().all(looks_like_integer)
            && fields.next().is_none()
    });
    rows || sample.first() == HEADER
}

struct Systor;

impl LineFormat for Systor {
    const TICK_NS: u64 = 1;

    #[inline]
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if line.bytes() == HEADER {
            return Ok(());
        }
        let mut fields = line.fields(b',');
        let time = parse_decimal(fields.text()?, 9).map_err(|why| Fault::at(TIME, why))?;
        let response = fields.text()?;
        if !response.is_empty() && !looks_like_decimal(response) {
            return Err(Fault::at(RESPONSE, "is not a decimal number"));
        }
        let op = match fields.text()? {
            b"R" => Op::Read,
            b"W" => Op::Write,
            _ => return Err(Fault::at(OP, "is no kind of request")),
        };
        let stream = fields.u32()?;
        let (offset, size) = (fields.u64()?, fields.u64()?);
        fields.end()?;
        let placed = extent::from_bytes(offset, size);
        let (extent, rounded) = placed.map_err(|fault| fault.at(OFFSET, SIZE))?;
        let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
        request.stream = stream;
        sink.push(time, request)
            .map_err(|why| Fault::at(TIME, why))?;
        sink.count_unaligned(rounded);
        Ok(())
    }
}
