//! The ASCII traces of block trace replayers.

use super::ascii::{Ascii, Kind, kind};
use super::{Column, FormatInfo, Separator};
use crate::line::LineReader;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "replayer",
    aliases: &[],
    about: "ASCII of trace replayers: times in ms, offsets and sizes in bytes.",
    source: "cuts of MSR Cambridge volumes as replayers for SSDs take them",
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
            name: "offset",
            allowed: "bytes, the request ending at or below 256 TiB",
        },
        Column {
            name: "size",
            allowed: "bytes, 1 to 2199023255040, at most 4294967295 sectors",
        },
        Column {
            name: "op",
            allowed: "1 (read) or 0 (write)",
        },
    ],
    timed: true,
    volumes: true,
    example: b"0.000 0 200626176 4096 0\n223.412 0 3159347200 36864 1\n",
    example_requests: 2,
    detect: |sample| kind(sample) == Some(Kind::Replayer),
    open: |input, options| {
        let kind = Kind::Replayer;
        Box::new(LineReader::new(&INFO, Ascii { kind }, input, options))
    },
};
