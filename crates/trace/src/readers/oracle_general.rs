//! libCacheSim's `oracleGeneral` binary: records of blocks, or of objects (TR-2).

use std::collections::HashMap;

use destage_types::{Extent, Op};

use super::columns::columns;
use super::{FormatInfo, ReaderFacts, Sample, Separator};
use crate::error::FieldFault;
use crate::extent;
use crate::readers::record::{RecordFormat, RecordReader, le};
use crate::sink::RequestSink;

const TIME: u16 = 0;
const ID: u16 = 1;
const BYTES: usize = 24;
/// Bytes of a block.
const BLOCK: u64 = 4_096;
/// No trace has more requests; a `next` beyond is text or another format.
const MAX_NEXT: i64 = 1 << 40;

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "oracle-general",
    about: "libCacheSim's oracleGeneral binary, records of 24 B: each one read of the 4 KiB block \
            with that number.",
    source: "Yang et al., libCacheSim, struct oracleGeneral",
    separator: Separator::Record,
    columns: columns! {
        "time": OwnTime(TimeUnit::Seconds), "s, 32 bits";
        "obj_id": Own, "number of a 4 KiB block, 0 to 68719476735, 64 bits; `oracle-objects` takes any";
        "obj_size": Own, "bytes, 32 bits, not used: a block is a block";
        "next_access_vtime": Own, "number (from 1) of the next request to the block, or -1, 64 bits, not used";
    },
    volumes: false,
    example: b"\x05\0\0\0\x07\0\0\0\0\0\0\0\0\x10\0\0\x03\0\0\0\0\0\0\0\
               \x06\0\0\0\x09\0\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
               \x06\0\0\0\x07\0\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    example_requests: 3,
    detect: |_, sample| detect(sample, false),
    open: |info, input, options| {
        Box::new(RecordReader::new(info, Oracle::default(), input, options))
    },
    ..FormatInfo::BASE
};

pub(super) const OBJECTS: FormatInfo = FormatInfo {
    name: "oracle-objects",
    about: "The same records of objects whose ids are hashes or too large for addresses: the \
            objects become 4 KiB blocks, numbered from 0 as they appear, each record one read.",
    source: "Yang et al., libCacheSim: its traces of Twitter, Meta and content delivery networks",
    columns: columns! {
        "time": OwnTime(TimeUnit::Seconds), "s, 32 bits";
        "obj_id": Own, "any number, 64 bits; at most 68719476736 different ones";
        "obj_size": Own, "bytes, 32 bits, not used: an object is a block";
        "next_access_vtime": Own, "number (from 1) of the next request to the object, or -1, 64 bits, not used";
    },
    example:
        b"\x05\0\0\0\x07\xa5\x11\x9e\x42\x0c\xf3\x88\0\x02\0\0\x03\0\0\0\0\0\0\0\
               \x06\0\0\0\x09\0\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
               \x06\0\0\0\x07\xa5\x11\x9e\x42\x0c\xf3\x88\0\x02\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    detect: |_, sample| detect(sample, true),
    open: |info, input, options| {
        let format = Oracle {
            ids: Some(HashMap::new()),
            ..Oracle::default()
        };
        Box::new(RecordReader::new(info, format, input, options))
    },
    ..INFO
};

/// The format has no magic: times that run forward and sensible numbers of next requests, in
/// every record looked at. `large`: with an id that is no number of a block.
fn detect(sample: &Sample<'_>, large: bool) -> bool {
    let (mut last, mut records, mut fits) = (0, 0, true);
    let sensible = sample.records(BYTES).all(|bytes| {
        let (time, size) = (le::<4>(bytes, 0), le::<4>(bytes, 12));
        let next = le::<8>(bytes, 16) as i64;
        fits &= extent::from_blocks(le::<8>(bytes, 4), 1).is_ok();
        let forward = time >= last;
        (last, records) = (time, records + 1);
        let next = next == -1 || next == i64::MAX || (records..MAX_NEXT).contains(&next);
        forward && size > 0 && next
    });
    sensible && records > 0 && fits != large
}

#[derive(Default)]
struct Oracle {
    /// The numbers of objects, where ids are no numbers of blocks.
    ids: Option<HashMap<u64, u64>>,
    /// Records whose size is not that of a block, and the bytes of all records.
    other_sizes: u64,
    bytes: u64,
}

impl Oracle {
    fn extent(&mut self, mut id: u64) -> Result<Extent, FieldFault> {
        if let Some(ids) = &mut self.ids {
            let next = ids.len() as u64;
            id = *ids.entry(id).or_insert(next);
        }
        let placed = extent::from_blocks(id, 1).map_err(|fault| fault.at(ID, ID));
        placed.map(|(extent, _)| extent)
    }
}

impl ReaderFacts for Oracle {
    fn notes(&self) -> Vec<String> {
        if self.other_sizes == 0 {
            return Vec::new();
        }
        vec![format!(
            "records with another size than 4096 B: {}; sizes are not used: each record is one read \
             of 4 KiB, though all of them together name {} B",
            self.other_sizes, self.bytes
        )]
    }
}

impl RecordFormat for Oracle {
    const TICK_NS: u64 = 1_000_000_000;

    fn size(&self) -> usize {
        BYTES
    }

    #[inline]
    fn record(&mut self, bytes: &[u8], sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let (time, block) = (le::<4>(bytes, 0), le::<8>(bytes, 4));
        let extent = self.extent(block)?;
        let pushed = sink.push_extent(time, Op::Read, extent, 0);
        pushed.map_err(|why| FieldFault::at(TIME, why))?;
        let size = le::<4>(bytes, 12);
        self.other_sizes += u64::from(size != BLOCK);
        self.bytes += size;
        Ok(())
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
