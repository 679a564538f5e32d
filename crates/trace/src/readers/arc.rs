//! The traces of the ARC authors.

use super::table::{TableFormat, columns, fits, open};
use super::{FormatInfo, Separator};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "arc",
    aliases: &["lis"],
    about: "Traces of the ARC studies (.lis): each line one read of so many 4 KiB blocks.",
    source: "Megiddo and Modha, ARC, FAST'03 (P1 to P14, OLTP, S1 to S3, DS1)",
    separator: Separator::Blank,
    columns: columns! {
        "start": Block, "number of the first 4 KiB block, the request ending at or below 256 TiB";
        "blocks": Blocks, "1 to 536870911";
        "ignored": Number, "0, not used";
        "number": Counter, "number of the request, not used";
    },
    timed: false,
    volumes: false,
    example: b"110765 64 0 0\n110829 64 0 1\n25 1 0 2\n",
    example_requests: 3,
    detect: |sample| {
        let ignored = |line: &[u8]| Separator::Blank.split(line).nth(2) == Some(b"0");
        sample.most(|line| ignored(line) && fits(&INFO, false, line))
    },
    open: open::<Arc>,
};

struct Arc;

impl TableFormat for Arc {
    const INFO: &'static FormatInfo = &INFO;
}
