//! Block lists: the traces of cache studies that know addresses only.

use destage_types::{HostRequest, Nanos, Op};

use super::{Column, FormatInfo, Sample, Separator};
use crate::error::Fault;
use crate::extent::MAX_BYTES;
use crate::fields::{Line, looks_like_integer, parse_u64};
use crate::line::{LineFormat, LineReader, Sink};

/// Block size in sectors: 4 KiB whatever the page size of the run.
const SECTORS: u32 = 8;
/// First block number beyond the largest address.
const BLOCKS: u64 = MAX_BYTES / 4096;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "block-list",
    aliases: &[],
    about: "One number per line: one read of the 4 KiB block with that number.",
    source: "the traces of LIRS and ARC studies",
    separator: Separator::None,
    columns: &[Column {
        name: "block",
        allowed: "number of a 4 KiB block, 0 to 68719476735",
    }],
    timed: false,
    volumes: false,
    example: b"# a loop\n12\n13\n14\n12\n",
    example_requests: 4,
    detect,
    open: |input, options| Box::new(LineReader::new(&INFO, BlockList, input, options)),
};

fn detect(sample: &Sample<'_>) -> bool {
    sample.most(|line| looks_like_integer(line.trim_ascii_start()))
}

struct BlockList;

impl LineFormat for BlockList {
    const TICK_NS: u64 = 1;

    #[inline]
    fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut fields = line.fields(b',');
        let block = match fields.u64().and_then(|block| fields.end().map(|()| block)) {
            Ok(block) => block,
            // Columns of numbers are often padded on the left; all else gets its message here.
            Err(_) => {
                let text = line.bytes().trim_ascii_start();
                parse_u64(text).map_err(|why| Fault::at(0, why))?
            }
        };
        if block >= BLOCKS {
            return Err(Fault::at(0, "is behind 256 TiB, the largest address"));
        }
        let start = block * u64::from(SECTORS);
        sink.push_untimed(HostRequest::new(Nanos::ZERO, Op::Read, start, SECTORS));
        Ok(())
    }
}
