//! Logs of Sysinternals DiskMon.

use super::table::{SECONDS, SECTOR, SECTORS, TableFormat, columns, detect, open, read_or_write};
use super::{FormatInfo, Separator};
use crate::text::numbers::NO_DECIMAL;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "diskmon",
    aliases: &[],
    about: "Saved logs of DiskMon (Windows): times in s, addresses in sectors.",
    source: "Sysinternals DiskMon; desktop captures of SSD studies",
    separator: Separator::Blank,
    columns: columns! {
        "number": Number, "number of the line, not used";
        "time": Decimal(9), SECONDS;
        "duration": Unused(is_duration, NO_DECIMAL), "s, not used";
        "disk": Stream, "number of the disk, 0 to 4294967295";
        "request": Kind(read_or_write), "Read or Write";
        "sector": Sector, SECTOR;
        "length": Sectors, SECTORS;
    },
    timed: true,
    volumes: true,
    example: b"0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8\n\
               1\t0.017\t0.00012398\t0\tRead\t108745397\t16\n",
    example_requests: 2,
    detect: detect::<DiskMon>,
    open: open::<DiskMon>,
};

/// Durations below 0.1 ms may come with an exponent.
fn is_duration(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or("");
    text.parse::<f64>().is_ok_and(|s| s.is_finite() && s >= 0.0)
}

struct DiskMon;

impl TableFormat for DiskMon {
    const INFO: &'static FormatInfo = &INFO;
}
