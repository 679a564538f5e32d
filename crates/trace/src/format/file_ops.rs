//! Operations on one file, as the file-system lab replays them.

use destage_types::{HostRequest, Nanos, Op};

use super::{Column, FormatInfo, Sample, Separator};
use crate::error::Fault;
use crate::extent;
use crate::fields::{Line, looks_like_integer};
use crate::line::{LineFormat, LineReader, Sink};

const OP: u16 = 0;
const OFFSET: u16 = 1;
const BYTES: u16 = 2;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "file-ops",
    aliases: &[],
    about: "Operations on one file in bytes, without times: what `fs-lab` replays.",
    source: "this program's `fs-lab`",
    separator: Separator::Comma,
    columns: &[
        Column {
            name: "op",
            allowed: "R (read), W (write) or D (punch a hole)",
        },
        Column {
            name: "offset",
            allowed: "byte in the file, the operation ending at or below 256 TiB",
        },
        Column {
            name: "bytes",
            allowed: "1 to 2199023255040, at most 4294967295 sectors once rounded outward",
        },
    ],
    timed: false,
    volumes: false,
    example: b"W,90161152,1024\nR,4096,8192\nD,0,4096\n",
    example_requests: 3,
    detect,
    open: |input, options| Box::new(LineReader::new(&INFO, FileOps, input, options)),
};

fn detect(sample: &Sample<'_>) -> bool {
    sample.most(|line| {
        let mut fields = line.split(|&byte| byte == b',');
        let mut next = || fields.next().unwrap_or(b"");
        let (op, offset, bytes) = (next(), next(), next());
        matches!(op, b"R" | b"W" | b"D")
            && looks_like_integer(offset)
            && looks_like_integer(bytes)
            && fields.next().is_none()
    })
}

struct FileOps;

impl LineFormat for FileOps {
    const TICK_NS: u64 = 1;

    #[inline]
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut fields = line.fields(b',');
        let op = match fields.text()? {
            b"R" => Op::Read,
            b"W" => Op::Write,
            b"D" => Op::Trim,
            _ => return Err(Fault::at(OP, "is no kind of operation")),
        };
        let (offset, bytes) = (fields.u64()?, fields.u64()?);
        fields.end()?;
        let placed = extent::from_bytes(offset, bytes);
        let (extent, rounded) = placed.map_err(|fault| fault.at(OFFSET, BYTES))?;
        sink.count_unaligned(rounded);
        let (start, sectors) = (extent.start_sector, extent.sectors);
        sink.push_untimed(HostRequest::new(Nanos::ZERO, op, start, sectors));
        Ok(())
    }
}
