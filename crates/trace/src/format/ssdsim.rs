//! The ASCII traces of SSDsim and MQSim.

use super::ascii::{Ascii, Kind, kind};
use super::{Column, FormatInfo, Separator};
use crate::line::LineReader;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "ssdsim",
    aliases: &["mqsim"],
    about: "SSDsim and MQSim ASCII: whole times in ns, addresses in sectors.",
    source: "Hu et al., ICS'11 (SSDsim); Tavakkol et al., FAST'18 (MQSim); with a hash: FIU, \
             Koller and Rangaswami, FAST'10",
    separator: Separator::Blank,
    columns: &[
        Column {
            name: "time",
            allowed: "a whole number of ns",
        },
        Column {
            name: "device",
            allowed: "number of the device, 0 to 4294967295",
        },
        Column {
            name: "sector",
            allowed: "sector of 512 B, the request ending at or below 256 TiB",
        },
        Column {
            name: "sectors",
            allowed: "1 to 4294967295",
        },
        Column {
            name: "op",
            allowed: "1 (read) or 0 (write)",
        },
        Column {
            name: "hash",
            allowed: "optional column: hash of the content in hexadecimal digits, not used",
        },
    ],
    timed: true,
    volumes: true,
    example: b"0 0 303567 7 0\n26214000 0 303574 7 0\n78643005 1 55596 6 1\n",
    example_requests: 3,
    detect: |sample| kind(sample) == Some(Kind::SsdSim),
    open: |input, options| {
        let kind = Kind::SsdSim;
        Box::new(LineReader::new(&INFO, Ascii { kind }, input, options))
    },
};
