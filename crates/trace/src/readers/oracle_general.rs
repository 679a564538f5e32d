//! libCacheSim's `oracleGeneral` binary.

use destage_types::Op;

use super::table::columns;
use super::{FormatInfo, Sample, Separator};
use crate::error::FieldFault;
use crate::extent;
use crate::readers::record::{RecordFormat, RecordReader, le};
use crate::sink::RequestSink;

const TIME: u16 = 0;
const ID: u16 = 1;
const BYTES: usize = 24;
/// No trace has more requests; a `next` beyond is text or another format.
const MAX_NEXT: i64 = 1 << 40;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "oracle-general",
    aliases: &[],
    about: "libCacheSim's oracleGeneral binary, records of 24 B: each one read of the 4 KiB block \
            with that number.",
    source: "Yang et al., libCacheSim, struct oracleGeneral",
    separator: Separator::Record,
    columns: columns! {
        "time": OwnTime(TimeUnit::Seconds), "s, 32 bits";
        "obj_id": Own, "number of a 4 KiB block, 0 to 68719476735, 64 bits";
        "obj_size": Own, "bytes, 32 bits, not used: a block is a block";
        "next_access_vtime": Own, "number (from 1) of the next request to the block, or -1, 64 bits, not used";
    },
    timed: true,
    volumes: false,
    example: b"\x05\0\0\0\x07\0\0\0\0\0\0\0\0\x10\0\0\x03\0\0\0\0\0\0\0\
               \x06\0\0\0\x09\0\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
               \x06\0\0\0\x07\0\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    example_requests: 3,
    detect,
    open: |input, options| Box::new(RecordReader::new(&INFO, Oracle, input, options)),
};

/// The format has no magic: times that run forward and sensible numbers of next requests, in
/// every record looked at.
fn detect(sample: &Sample<'_>) -> bool {
    let (mut last, mut records) = (0, 0);
    let sensible = sample.records(BYTES).all(|bytes| {
        let (time, size) = (le::<4>(bytes, 0), le::<4>(bytes, 12));
        let next = le::<8>(bytes, 16) as i64;
        let forward = time >= last;
        (last, records) = (time, records + 1);
        let next = next == -1 || next == i64::MAX || (records..MAX_NEXT).contains(&next);
        forward && size > 0 && next
    });
    sensible && records > 0
}

struct Oracle;

impl RecordFormat for Oracle {
    const TICK_NS: u64 = 1_000_000_000;

    fn size(&self) -> usize {
        BYTES
    }

    #[inline]
    fn record(&mut self, bytes: &[u8], sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let (time, block) = (le::<4>(bytes, 0), le::<8>(bytes, 4));
        let extent = extent::block(block).map_err(|why| FieldFault::at(ID, why))?;
        let pushed = sink.push_extent(time, Op::Read, extent, 0);
        pushed.map_err(|why| FieldFault::at(TIME, why))
    }

    fn field(&self, bytes: &[u8], column: usize) -> String {
        match column {
            0 => le::<4>(bytes, 0).to_string(),
            1 => le::<8>(bytes, 4).to_string(),
            2 => le::<4>(bytes, 12).to_string(),
            _ => (le::<8>(bytes, 16) as i64).to_string(),
        }
    }
}
