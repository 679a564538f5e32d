//! Traces of the FUJITSU K5 cloud.

use super::table::{BYTES, OFFSET, TableFormat, columns, detect, open, r_or_w};
use super::{FormatInfo, Separator};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "k5cloud",
    aliases: &[],
    about: "K5cloud CSV: offsets and lengths in bytes, rounded outward to whole sectors.",
    source: "SNIA IOTTA trace 26930 (FUJITSU K5 cloud), its README",
    separator: Separator::Comma,
    columns: columns! {
        "id": Stream, "number of the volume, 0 to 4294967295";
        "timestamp": Clock, "s, digits behind the ns dropped; a whole number of 12 digits and more \
              counts ms since 1970";
        "type": Kind(r_or_w), "R or W";
        "offset": Offset, OFFSET;
        "length": Bytes, BYTES;
    },
    timed: true,
    volumes: true,
    example: b"1157,0.000412,R,9056014336,8192\n1157,0.75,W,4096,4096\n",
    example_requests: 2,
    detect: detect::<K5Cloud>,
    open: open::<K5Cloud>,
};

struct K5Cloud;

impl TableFormat for K5Cloud {
    const INFO: &'static FormatInfo = &INFO;
}
