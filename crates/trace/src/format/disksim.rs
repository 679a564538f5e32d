//! DiskSim's ASCII traces.

use super::ascii::{Ascii, Kind, kind};
use super::{Column, FormatInfo, Separator};
use crate::line::LineReader;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "disksim",
    aliases: &[],
    about: "DiskSim ASCII: times in ms with a fraction, addresses in sectors.",
    source: "Bucy et al., The DiskSim Simulation Environment, manual of version 4.0; the Microsoft \
             production traces of SSD studies",
    separator: Separator::Blank,
    columns: &[
        Column {
            name: "time",
            allowed: "ms, digits behind the ns dropped",
        },
        Column {
            name: "device",
            allowed: "number of the device, 0 to 4294967295",
        },
        Column {
            name: "block",
            allowed: "sector of 512 B, the request ending at or below 256 TiB",
        },
        Column {
            name: "size",
            allowed: "sectors, 1 to 4294967295",
        },
        Column {
            name: "flags",
            allowed: "1 (read) or 0 (write)",
        },
    ],
    timed: true,
    volumes: true,
    example: b"0.000 5 174224064 16 1\n0.221 5 162947904 16 1\n1.5 5 7 3 0\n",
    example_requests: 3,
    detect: |sample| kind(sample) == Some(Kind::DiskSim),
    open: |input, options| {
        let kind = Kind::DiskSim;
        Box::new(LineReader::new(&INFO, Ascii { kind }, input, options))
    },
};
