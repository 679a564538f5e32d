//! The five-column ASCII formats of simulators: time, device, offset, size, operation.
//!
//! They look alike and differ in units only. A trace whose numbers are all multiples of 512 may be in
//! sectors or in bytes: the load that it would be decides (`plausible`).

use destage_types::Op;

use super::opening::most;
use super::table::{BYTES, OFFSET, SECTOR, SECTORS, TableFormat, columns, fits, open};
use super::{FormatInfo, Sample, Separator, is_header};

const DEVICE: &str = "number of the device, 0 to 4294967295";
const MS: &str = "ms, digits behind the ns dropped";
const FLAG: &str = "1 (read) or 0 (write)";
pub(super) const NO_HASH: &str = "is no hash in hexadecimal digits";

pub(super) const DISKSIM: FormatInfo = FormatInfo {
    name: "disksim",
    aliases: &[],
    about: "DiskSim ASCII: times in ms with a fraction, addresses in sectors.",
    source: "Bucy et al., The DiskSim Simulation Environment, manual of version 4.0; the Microsoft \
             production traces of SSD studies",
    separator: Separator::Blank,
    columns: columns! {
        "time": Decimal(6), MS;
        "device": Stream, DEVICE;
        "block": Sector, SECTOR;
        "size": Sectors, SECTORS;
        "flags": Kind(one_is_read), FLAG;
    },
    timed: true,
    volumes: true,
    example: b"0.000 5 174224064 16 1\n0.221 5 162947904 16 1\n1.5 5 7 3 0\n",
    example_requests: 3,
    detect: |sample| shape(sample).is_some_and(|s| s.fraction && !s.hash),
    open: open::<DiskSim>,
};

pub(super) const SSDSIM: FormatInfo = FormatInfo {
    name: "ssdsim",
    aliases: &["mqsim"],
    about: "SSDsim and MQSim ASCII: whole times in ns, addresses in sectors.",
    source: "Hu et al., ICS'11 (SSDsim); Tavakkol et al., FAST'18 (MQSim); with a hash: FIU, \
             Koller and Rangaswami, FAST'10",
    separator: Separator::Blank,
    columns: columns! {
        "time": Ticks(1), "a whole number of ns";
        "device": Stream, DEVICE;
        "sector": Sector, SECTOR;
        "sectors": Sectors, "1 to 4294967295";
        "op": Kind(one_is_read), FLAG;
        "hash": Optional(is_hash, NO_HASH), "optional column: hash of the content in hexadecimal digits, not used";
    },
    timed: true,
    volumes: true,
    example: b"0 0 303567 7 0\n26214000 0 303574 7 0\n78643005 1 55596 6 1\n",
    example_requests: 3,
    detect: |sample| shape(sample).is_some_and(|s| !s.fraction),
    open: open::<SsdSim>,
};

pub(super) const REPLAYER: FormatInfo = FormatInfo {
    name: "replayer",
    aliases: &[],
    about: "ASCII of trace replayers: times in ms, offsets and sizes in bytes.",
    source: "cuts of MSR Cambridge volumes as replayers for SSDs take them",
    separator: Separator::Blank,
    columns: columns! {
        "time": Decimal(6), MS;
        "device": Stream, DEVICE;
        "offset": Offset, OFFSET;
        "size": Bytes, BYTES;
        "op": Kind(one_is_read), FLAG;
    },
    timed: true,
    volumes: true,
    example: b"0.000 0 200626176 4096 0\n223.412 0 3159347200 36864 1\n",
    example_requests: 2,
    detect: |sample| shape(sample).is_some_and(|s| s.multiples && !s.hash),
    open: open::<Replayer>,
};

/// The columns of all three, for telling whether a file is of any of them.
const ANY: FormatInfo = FormatInfo {
    columns: &[
        DISKSIM.columns[0],
        DISKSIM.columns[1],
        DISKSIM.columns[2],
        DISKSIM.columns[3],
        DISKSIM.columns[4],
        SSDSIM.columns[5],
    ],
    ..SSDSIM
};

struct DiskSim;
struct SsdSim;
struct Replayer;

impl TableFormat for DiskSim {
    const INFO: &'static FormatInfo = &DISKSIM;
}

impl TableFormat for SsdSim {
    const INFO: &'static FormatInfo = &SSDSIM;
}

impl TableFormat for Replayer {
    const INFO: &'static FormatInfo = &REPLAYER;
}

/// The shape of the first lines, if most of them have the columns.
struct Shape {
    /// A time with a fraction: no ns.
    fraction: bool,
    /// The sixth column, which only SSDsim's traces have.
    hash: bool,
    /// Nearly all offsets and sizes are multiples of 512: they may be bytes.
    multiples: bool,
}

fn shape(sample: &Sample<'_>) -> Option<Shape> {
    let header = is_header(&ANY, sample.first());
    if !header && !sample.most(|line| fits(&ANY, false, line)) {
        return None;
    }
    let mut shape = Shape {
        fraction: false,
        hash: false,
        multiples: true,
    };
    let (mut lines, mut multiples) = (0, 0);
    for line in sample.lines.iter().filter(|line| fits(&ANY, false, line)) {
        let fields: Vec<&[u8]> = Separator::Blank.split(line).collect();
        lines += 1;
        multiples += usize::from(fields[2..4].iter().all(|field| is_multiple_of_512(field)));
        shape.fraction |= fields[0].contains(&b'.');
        shape.hash |= fields.len() > 5;
    }
    // A file of nothing but a header may be any.
    shape.multiples = lines == 0 || most(multiples, lines);
    Some(shape)
}

pub(super) fn is_hash(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_hexdigit)
}

/// Of a number that looks like an integer, whatever its length.
fn is_multiple_of_512(digits: &[u8]) -> bool {
    let digits = digits.iter().filter(|b| b.is_ascii_digit());
    digits.fold(0u32, |n, d| (10 * n + u32::from(d - b'0')) % 512) == 0
}

fn one_is_read(text: &[u8]) -> Option<Op> {
    match text {
        b"0" => Some(Op::Write),
        b"1" => Some(Op::Read),
        _ => None,
    }
}

/// As Tencent has it.
pub(super) fn one_is_write(text: &[u8]) -> Option<Op> {
    match text {
        b"0" => Some(Op::Read),
        b"1" => Some(Op::Write),
        _ => None,
    }
}
