//! The trace format of the Storage Performance Council, known from the UMass repository.

use destage_types::Op;

use super::table::{BYTES, SECTOR, TableFormat, columns, detect, open};
use super::{FormatInfo, Separator, opening};
use crate::error::FieldFault;
use crate::text::numbers::{looks_like_decimal, looks_like_integer};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "spc",
    aliases: &[],
    about: "SPC as in the UMass repository: addresses in sectors, sizes in bytes, rounded up to \
            whole sectors.",
    source: "SPC Trace File Format Specification 1.0.1; UMass Trace Repository (Financial, \
             WebSearch)",
    separator: Separator::Comma,
    columns: columns! {
        "asu": Stream, "application-specific unit, 0 to 4294967295";
        "lba": Sector, SECTOR;
        "size": Bytes, BYTES;
        "opcode": Kind(read_op), "r, R, w or W";
        "timestamp": Decimal(9), "s, digits behind the ns dropped; further columns are not used";
    },
    timed: true,
    volumes: true,
    example: b"0,303567,3584,w,0.000000\n1,55590,3072,W,0.026214\n1,55596,3072,r,0.078643\n",
    example_requests: 3,
    // Other tables of four numbers and a letter have their times elsewhere, and response times there.
    detect: |sample| detect::<Spc>(sample) && opening::goes_forward(&INFO, sample),
    open: open::<Spc>,
};

/// Why a line of two requests is refused.
const JOINED: &str =
    "holds a second request: the end of a line is missing, as where files were joined";

fn read_op(text: &[u8]) -> Option<Op> {
    match text {
        b"r" | b"R" => Some(Op::Read),
        b"w" | b"W" => Some(Op::Write),
        _ => None,
    }
}

struct Spc;

impl TableFormat for Spc {
    const INFO: &'static FormatInfo = &INFO;
    /// The specification allows further columns.
    const OPEN_END: bool = true;

    fn check_rest(rest: &[u8]) -> Result<(), FieldFault> {
        if rest.is_empty() {
            return Ok(());
        }
        let fields: Vec<&[u8]> = Separator::Comma.split(rest).collect();
        // The columns of a request behind its first, which may have become one with the last
        // column of the line in front.
        let request = |four: &[&[u8]]| {
            four[..2].iter().all(|field| looks_like_integer(field))
                && read_op(four[2]).is_some()
                && looks_like_decimal(four[3])
        };
        if fields.windows(4).any(request) {
            Err(FieldFault::at(FieldFault::LINE, JOINED))
        } else {
            Ok(())
        }
    }
}
