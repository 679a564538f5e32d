//! Tencent cloud block storage traces.

use super::ascii::one_is_write;
use super::table::{SECTOR, SECTORS, TableFormat, columns, detect, open};
use super::{FormatInfo, Separator};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "tencent",
    aliases: &[],
    about: "Tencent cloud block storage CSV: whole seconds, addresses in sectors.",
    source: "Zhang et al., OSCA, USENIX ATC'20; SNIA IOTTA trace 27917",
    separator: Separator::Comma,
    columns: columns! {
        "timestamp": Ticks(1_000_000_000), "a whole number of s";
        "offset": Sector, SECTOR;
        "size": Sectors, SECTORS;
        "io_type": Kind(one_is_write), "0 (read) or 1 (write)";
        "volume_id": Stream, "number of the volume, 0 to 4294967295";
    },
    timed: true,
    volumes: true,
    example: b"1538323200,4247200,128,1,1058\n1538323201,13896880,128,0,1063\n",
    example_requests: 2,
    detect: detect::<Tencent>,
    open: open::<Tencent>,
};

struct Tencent;

impl TableFormat for Tencent {
    const INFO: &'static FormatInfo = &INFO;
}
