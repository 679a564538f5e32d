//! Operations on one file, as the file-system lab replays them.

use destage_types::Op;

use super::table::{TableFormat, columns, detect, open};
use super::{FormatInfo, Separator};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "file-ops",
    aliases: &[],
    about: "Operations on one file in bytes, without times: what `fs-lab` replays.",
    source: "this program's `fs-lab`",
    separator: Separator::Comma,
    columns: columns! {
        "op": Kind(read_op), "R (read), W (write) or D (punch a hole)";
        "offset": Offset, "byte in the file, the operation ending at or below 256 TiB";
        "bytes": Bytes, "1 to 2199023255040, at most 4294967295 sectors once rounded outward";
    },
    timed: false,
    volumes: false,
    example: b"W,90161152,1024\nR,4096,8192\nD,0,4096\n",
    example_requests: 3,
    detect: detect::<FileOps>,
    open: open::<FileOps>,
};

/// Of files and of captures: a discard is a trim.
pub(super) fn read_op(text: &[u8]) -> Option<Op> {
    match text {
        b"R" => Some(Op::Read),
        b"W" => Some(Op::Write),
        b"D" => Some(Op::Trim),
        _ => None,
    }
}

struct FileOps;

impl TableFormat for FileOps {
    const INFO: &'static FormatInfo = &INFO;
}
