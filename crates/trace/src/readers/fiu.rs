//! The traces of Florida International University as they were recorded.

use super::ascii::{NO_HASH, is_hash};
use super::block_event::device_name;
use super::table::{SECTOR, SECTORS, TableFormat, columns, detect, open, r_or_w};
use super::{FormatInfo, Separator};
use crate::volume::VolumeName;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "fiu",
    aliases: &[],
    about: "FIU traces with process, device and hash: times in ns, addresses in sectors.",
    source: "Koller and Rangaswami, I/O Deduplication, FAST'10; SNIA IOTTA traces 390 and 414",
    separator: Separator::Blank,
    columns: columns! {
        "time": Ticks(1), "a whole number of ns";
        "pid": Number, "number of the process, not used";
        "process": Unused(|_| true, ""), "name of the process without blanks, not used";
        "lba": Sector, SECTOR;
        "size": Sectors, SECTORS;
        "op": Kind(r_or_w), "R or W";
        "major": Major, "major number of the device, 0 to 4095";
        "minor": Minor, "minor number of the device, 0 to 1048575";
        "md5": Optional(is_hash, NO_HASH), "optional column: hash of the content in hexadecimal digits, not used";
    },
    timed: true,
    volumes: true,
    example: b"89966136 3128 kjournald 30983512 8 W 6 0 6b5d3c1f0e8a4d7795a2c4e6f8091b2d\n\
               89966400 4892 syslogd 508112 8 R 6 0 00112233445566778899aabbccddeeff\n",
    example_requests: 2,
    detect: detect::<Fiu>,
    open: open::<Fiu>,
};

struct Fiu;

impl TableFormat for Fiu {
    const INFO: &'static FormatInfo = &INFO;

    fn volume(stream: u32) -> Option<VolumeName> {
        Some(device_name(stream))
    }
}
