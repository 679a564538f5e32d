//! Block lists: the traces of cache studies that know addresses only.

use destage_types::Op;

use super::columns::columns;
use super::{FormatInfo, ReaderFacts, Separator};
use crate::error::FieldFault;
use crate::extent;
use crate::text::fields::RawLine;
use crate::text::line::{LineFormat, LineReader, RequestSink};
use crate::text::numbers::{looks_like_integer, parse_u64};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "block-list",
    about: "One number per line: one read of the 4 KiB block with that number; lines of `*` part \
            passes and are no requests.",
    source: "Jiang and Zhang, LIRS, SIGMETRICS'02, and studies after it",
    separator: Separator::None,
    columns: columns! {
        "block": ListedBlock, "number of a 4 KiB block, 0 to 68719476735";
    },
    columns_text: Some("op==R,offset=1:blocks,size==4096,separator=blank"),
    timed: false,
    volumes: false,
    example: b"# a loop\n12\n13\n14\n12\n",
    example_requests: 4,
    detect: |_, sample| {
        let number = |line: &[u8]| looks_like_integer(line.trim_ascii_start());
        let is_of_it = |line: &[u8]| number(line) || is_separator(line);
        sample.most(is_of_it) && sample.lines.iter().any(|line| number(line))
    },
    open: |info, input, options| Box::new(LineReader::new(info, BlockList, input, options)),
    ..FormatInfo::BASE
};

fn is_separator(line: &[u8]) -> bool {
    line.trim_ascii() == b"*"
}

struct BlockList;

impl ReaderFacts for BlockList {}

impl LineFormat for BlockList {
    const TICK_NS: u64 = 1;

    #[inline]
    fn line(&mut self, line: RawLine<'_>, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let mut fields = line.fields();
        let block = match fields.u64().and_then(|block| fields.end().map(|()| block)) {
            Ok(block) => block,
            // Columns of numbers are often padded on the left; all else gets its message here.
            Err(_) if is_separator(line.bytes()) => return Ok(()),
            Err(_) => {
                let text = line.bytes().trim_ascii_start();
                parse_u64(text).map_err(|why| FieldFault::at(0, why))?
            }
        };
        let extent = extent::block(block).map_err(|why| FieldFault::at(0, why))?;
        sink.push_untimed(Op::Read, extent);
        Ok(())
    }
}
