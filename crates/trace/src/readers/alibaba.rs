//! Alibaba Cloud block storage traces.

use super::table::{BYTES, OFFSET, TableFormat, columns, detect, open, r_or_w};
use super::{FormatInfo, Separator};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "alibaba",
    aliases: &[],
    about: "Alibaba cloud block storage CSV: offsets and lengths in bytes, rounded outward to \
            whole sectors.",
    source: "Li et al., An In-Depth Analysis of Cloud Block Storage Workloads, IISWC'20",
    separator: Separator::Comma,
    columns: columns! {
        "device_id": Stream, "number of the virtual disk, 0 to 4294967295";
        "opcode": Kind(r_or_w), "R or W";
        "offset": Offset, OFFSET;
        "length": Bytes, BYTES;
        "timestamp": Ticks(1_000), "a whole number of us";
    },
    timed: true,
    volumes: true,
    example:
        b"419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n",
    example_requests: 2,
    detect: detect::<Alibaba>,
    open: open::<Alibaba>,
};

struct Alibaba;

impl TableFormat for Alibaba {
    const INFO: &'static FormatInfo = &INFO;
}
