//! VMware vscsiStats binary traces, known from CloudPhysics.

use destage_types::Op;

use super::columns::columns;
use super::{FormatInfo, ReaderFacts, Sample, Separator};
use crate::error::FieldFault;
use crate::extent;
use crate::readers::record::{RecordFormat, RecordReader, le};
use crate::sink::RequestSink;

const TIME: u16 = 0;
const COMMAND: u16 = 1;
const VERSION: u16 = 2;
const LENGTH: u16 = 3;
const LBN: u16 = 4;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "vscsi",
    about: "vscsi binary, records of 32 B (version 1) or 40 B (version 2) in little-endian order: \
            sectors and bytes, rounded up to whole sectors.",
    source: "Waldspurger et al., SHARDS, FAST'15 (CloudPhysics traces)",
    separator: Separator::Record,
    columns: columns! {
        "ts": OwnTime(TimeUnit::Microseconds), "us, 64 bits";
        "cmd": Own, "SCSI operation code of READ, WRITE, WRITE AND VERIFY or SYNCHRONIZE CACHE \
              (a flush), 16 bits";
        "ver": Own, "version of the record in the upper byte, 16 bits";
        "len": Own, "bytes, 1 to 4294967295, 32 bits";
        "lbn": Own, "sector of 512 B, the request ending at or below 256 TiB, 64 bits";
    },
    volumes: false,
    example: b"\xf4\0\0\x80\0\x02\0\0\x01\0\0\0\x2a\0\0\x01\
               \x09\x1a\x8f\x02\0\0\0\0\x22\xcf\x82\xbe\x1f\x05\0\0\
               \x61\0\0\x80\0\x10\0\0\x01\0\0\0\x28\0\0\x01\
               \x0a\x1a\x8f\x02\0\0\0\0\xf1\x82\x86\xbe\x1f\x05\0\0",
    example_requests: 2,
    detect: |_, sample| version_of(sample).is_some(),
    open: |info, input, options| {
        let layout = &V1;
        Box::new(RecordReader::new(info, Vscsi { layout }, input, options))
    },
    ..FormatInfo::BASE
};

/// Where the fields of a version are.
#[derive(PartialEq, Eq)]
struct Layout {
    version: u64,
    size: usize,
    command: usize,
    length: usize,
    lbn: usize,
}

const V1: Layout = Layout {
    version: 1,
    size: 32,
    command: 12,
    length: 4,
    lbn: 16,
};
const V2: Layout = Layout {
    version: 2,
    size: 40,
    command: 0,
    length: 8,
    lbn: 16,
};

impl Layout {
    /// The version stands behind the command, the time behind the address.
    fn version(&self, bytes: &[u8]) -> u64 {
        le::<2>(bytes, self.command + 2) >> 8
    }

    fn fits(&self, bytes: &[u8]) -> bool {
        self.version(bytes) == self.version && read_op(le::<2>(bytes, self.command)).is_some()
    }
}

/// The version that more than half of the first records have.
fn version_of(sample: &Sample<'_>) -> Option<&'static Layout> {
    [&V1, &V2].into_iter().find(|layout| {
        let records = || sample.records(layout.size);
        let good = records().filter(|bytes| layout.fits(bytes));
        2 * good.count() > records().count()
    })
}

fn read_op(command: u64) -> Option<Op> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

struct Vscsi {
    layout: &'static Layout,
}

impl ReaderFacts for Vscsi {}

impl RecordFormat for Vscsi {
    const TICK_NS: u64 = 1_000;

    fn start(&mut self, head: &[u8]) -> Result<(), &'static str> {
        let sample = Sample::new(head, true);
        let version = version_of(&sample);
        self.layout = version.ok_or("its records are of neither version 1 nor version 2")?;
        Ok(())
    }

    fn size(&self) -> usize {
        self.layout.size
    }

    #[inline]
    fn record(&mut self, bytes: &[u8], sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let at = self.layout;
        if at.version(bytes) != at.version {
            let why = "is not the version of the first records";
            return Err(FieldFault::at(VERSION, why));
        }
        let op = read_op(le::<2>(bytes, at.command));
        let op = op.ok_or(FieldFault::at(COMMAND, "is no command that moves data"))?;
        let (length, lbn) = (le::<4>(bytes, at.length), le::<8>(bytes, at.lbn));
        let time = le::<8>(bytes, at.lbn + 8);
        let placed = match op {
            Op::Flush => None,
            _ => {
                let placed = extent::from_sector_and_bytes(lbn, length);
                Some(placed.map_err(|fault| fault.at(LBN, LENGTH))?)
            }
        };
        let pushed = sink.push_placed(time, op, placed, 0);
        pushed.map_err(|why| FieldFault::at(TIME, why))
    }

    fn field(&self, bytes: &[u8], column: usize) -> String {
        let at = self.layout;
        match column {
            0 => le::<8>(bytes, at.lbn + 8).to_string(),
            1 => format!("{:#04x}", le::<2>(bytes, at.command)),
            2 => at.version(bytes).to_string(),
            3 => le::<4>(bytes, at.length).to_string(),
            _ => le::<8>(bytes, at.lbn).to_string(),
        }
    }
}
