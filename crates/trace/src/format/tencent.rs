//! Tencent cloud block storage traces.

use destage_types::{HostRequest, Nanos, Op};

use super::{Column, FormatInfo, Sample, Separator};
use crate::error::Fault;
use crate::extent;
use crate::fields::{Line, looks_like_integer};
use crate::line::{LineFormat, LineReader, Sink};

const TIME: u16 = 0;
const OFFSET: u16 = 1;
const SIZE: u16 = 2;
const OP: u16 = 3;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "tencent",
    aliases: &[],
    about: "Tencent cloud block storage CSV: whole seconds, addresses in sectors.",
    source: "Zhang et al., OSCA, USENIX ATC'20; SNIA IOTTA trace 27917",
    separator: Separator::Comma,
    columns: &[
        Column {
            name: "timestamp",
            allowed: "a whole number of s",
        },
        Column {
            name: "offset",
            allowed: "sector of 512 B, the request ending at or below 256 TiB",
        },
        Column {
            name: "size",
            allowed: "sectors, 1 to 4294967295",
        },
        Column {
            name: "io_type",
            allowed: "0 (read) or 1 (write)",
        },
        Column {
            name: "volume_id",
            allowed: "number of the volume, 0 to 4294967295",
        },
    ],
    timed: true,
    volumes: true,
    example: b"1538323200,4247200,128,1,1058\n1538323201,13896880,128,0,1063\n",
    example_requests: 2,
    detect,
    open: |input, options| Box::new(LineReader::new(&INFO, Tencent, input, options)),
};

fn detect(sample: &Sample<'_>) -> bool {
    sample.most(|line| {
        let mut fields = line.split(|&byte| byte == b',');
        let mut next = || fields.next().unwrap_or(b"");
        let (time, offset, size, op, volume) = (next(), next(), next(), next(), next());
        let numbers = [time, offset, size, volume];
        numbers.into_iter().all(looks_like_integer)
            && matches!(op, b"0" | b"1")
            && fields.next().is_none()
    })
}

struct Tencent;

impl LineFormat for Tencent {
    const TICK_NS: u64 = 1_000_000_000;

    #[inline]
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut fields = line.fields(b',');
        let (time, offset, size) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let op = match fields.text()? {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(Fault::at(OP, "is no kind of request")),
        };
        let stream = fields.u32()?;
        fields.end()?;
        let placed = extent::from_sectors(offset, size);
        let extent = placed.map_err(|fault| fault.at(OFFSET, SIZE))?;
        let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
        request.stream = stream;
        sink.push(time, request).map_err(|why| Fault::at(TIME, why))
    }
}
