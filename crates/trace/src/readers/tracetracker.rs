//! The traces that TraceTracker made of older ones.

use super::table::{SECONDS, SECTOR, SECTORS, TableFormat, columns, detect, open, r_or_w};
use super::{FormatInfo, Separator};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "tracetracker",
    aliases: &["camelab"],
    about: "TraceTracker's revised traces: times in s, addresses in sectors.",
    source: "Kwon et al., TraceTracker, IISWC'17 (revised MSR, FIU and Microsoft production traces)",
    separator: Separator::Blank,
    columns: columns! {
        "time": Decimal(9), SECONDS;
        "op": Kind(r_or_w), "R or W";
        "lba": Sector, SECTOR;
        "sectors": Sectors, SECTORS;
    },
    timed: true,
    volumes: false,
    example: b"0.000000 R 7340032 64\n0.000420 W 81920 8\n",
    example_requests: 2,
    detect: detect::<TraceTracker>,
    open: open::<TraceTracker>,
};

struct TraceTracker;

impl TableFormat for TraceTracker {
    const INFO: &'static FormatInfo = &INFO;
}
