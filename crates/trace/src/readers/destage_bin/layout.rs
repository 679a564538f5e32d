//! Where everything is in a `destage-bin` file, version 1. All numbers are little-endian.
//!
//! ```text
#![doc = include_str!("layout.txt")]
//! ```
//!
//! The volume table is in front of the first chunk or behind the last one.

use destage_types::request::NO_PREV;
use destage_types::{
    Extent, HostRequest, Nanos, Op, RequestBatch, RequestFlags, RequestOrigin, RequestRef, Tag,
};

use crate::extent::{MAX_BYTES, blocks};
use crate::readers::record::le;
use crate::volume::Volume;

/// The layout for readers of the documentation.
pub const LAYOUT: &str = include_str!("layout.txt");

pub(crate) const MAGIC: &[u8; 8] = b"\x89DSTG\r\n\x1a";
pub(crate) const VERSION: u64 = 1;
pub(crate) const HEADER: usize = 64;
pub(crate) const CHUNK_HEADER: usize = 32;
pub(crate) const RECORD: usize = 32;
/// Requests of a full chunk.
pub(crate) const CHUNK_REQUESTS: usize = 8_192;
/// A chunk ends early when its tables have this many bytes.
pub(crate) const CHUNK_TABLES: usize = 1 << 20;
/// The longest chunk that is written or read.
pub(crate) const MAX_CHUNK: u64 = 16 << 20;
/// Bytes of a volume without its name, and the longest name.
pub(crate) const VOLUME: usize = 16;
pub(crate) const MAX_NAME: usize = 4_096;

/// The flag of a record with lists, which [`RequestFlags`] leaves free.
const SIDE: u8 = 2;
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];
const TAGS: [Tag; 5] = [Tag::None, Tag::Data, Tag::Node, Tag::Meta, Tag::Gc];
const ORIGINS: [RequestOrigin; 3] = [
    RequestOrigin::Host,
    RequestOrigin::FileSystem,
    RequestOrigin::Cleaning,
];

/// The variable part of a header.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Header {
    pub requests: u64,
    pub volumes: u64,
    pub timed: bool,
    pub volumes_at: u64,
    pub chunks_at: u64,
    pub bytes: u64,
    pub hash: u64,
}

impl Header {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put_u32(&mut out, [VERSION as u32, 512]);
        put(&mut out, [self.requests]);
        put_u32(&mut out, [self.volumes as u32, u32::from(self.timed)]);
        let places = [self.volumes_at, self.chunks_at, self.bytes, self.hash];
        put(&mut out, places);
        out
    }

    /// # Errors
    /// The fault and the allowed values.
    pub fn decode(bytes: &[u8]) -> Result<Header, String> {
        if !bytes.starts_with(MAGIC) {
            return Err("it does not start with the magic bytes".to_owned());
        }
        if bytes.len() < 12 {
            return Err("the header is cut off".to_owned());
        }
        let version = le::<4>(bytes, 8);
        if version != VERSION {
            return Err(format!("version {version} is not known; known: {VERSION}"));
        }
        if bytes.len() < HEADER {
            return Err("the header is cut off".to_owned());
        }
        let (sector, flags) = (le::<4>(bytes, 12), le::<4>(bytes, 28));
        if sector != 512 {
            return Err(format!("sectors have {sector} B; allowed: 512"));
        }
        if flags > 1 {
            return Err(format!("the flags {flags:#x} are not known; known: 0x1"));
        }
        let header = Header {
            requests: le::<8>(bytes, 16),
            volumes: le::<4>(bytes, 24),
            timed: flags == 1,
            volumes_at: le::<8>(bytes, 32),
            chunks_at: le::<8>(bytes, 40),
            bytes: le::<8>(bytes, 48),
            hash: le::<8>(bytes, 56),
        };
        let first = HEADER as u64;
        let order = header.volumes_at.min(header.chunks_at) == first
            && header.volumes_at.max(header.chunks_at) <= header.bytes;
        let header = Some(header).filter(|_| order);
        header.ok_or_else(|| "the offsets of its tables are impossible".to_owned())
    }
}

/// The counts at the start of a chunk.
#[derive(Clone, Copy, Default)]
pub(crate) struct Chunk {
    pub records: usize,
    pub sides: usize,
    pub extents: usize,
    pub prev: usize,
}

impl Chunk {
    /// Offsets in the chunk: side table, extents, old addresses, end.
    pub fn places(&self) -> [usize; 4] {
        let sides = CHUNK_HEADER + self.records * RECORD;
        let extents = sides + self.sides * 8;
        let prev = extents + self.extents * 16;
        [sides, extents, prev, prev + self.prev * 8]
    }

    /// # Errors
    /// The counts are impossible.
    pub fn decode(bytes: &[u8]) -> Result<Chunk, &'static str> {
        let count = |at| le::<4>(bytes, at) as usize;
        let chunk = Chunk {
            records: count(0),
            sides: count(4),
            extents: count(8),
            prev: count(12),
        };
        let [tables, _, _, end] = chunk.places();
        let right = (1..=CHUNK_REQUESTS).contains(&chunk.records)
            && chunk.sides <= chunk.records
            && end as u64 <= MAX_CHUNK
            && le::<8>(bytes, 16) == tables as u64
            && le::<8>(bytes, 24) == end as u64;
        right
            .then_some(chunk)
            .ok_or("the start of a chunk is damaged")
    }
}

/// Collects the requests of one chunk.
#[derive(Default)]
pub(crate) struct ChunkBuffer {
    counts: Chunk,
    records: Vec<u8>,
    sides: Vec<u8>,
    extents: Vec<u8>,
    prev: Vec<u8>,
}

impl ChunkBuffer {
    pub fn len(&self) -> usize {
        self.counts.records
    }

    /// Is the chunk to be written before the next request is added?
    pub fn is_full(&self) -> bool {
        let tables = self.sides.len() + self.extents.len() + self.prev.len();
        self.counts.records == CHUNK_REQUESTS || tables >= CHUNK_TABLES
    }

    /// # Errors
    /// A request whose lists are too long for a chunk, or are not of its extents.
    pub fn push(&mut self, request: RequestRef<'_>) -> Result<(), &'static str> {
        let head = request.head;
        let listed = request.more.len() * 16 + request.prev.len() * 8;
        let room = MAX_CHUNK as usize - CHUNK_TABLES - CHUNK_REQUESTS * (RECORD + 8) - 64;
        if listed > room {
            return Err("a request has more extents and old addresses than fit a chunk");
        }
        let total: u64 = request.extents().map(blocks).sum();
        if !request.prev.is_empty() && request.prev.len() as u64 != total {
            return Err("`prev` needs one entry per 4 KiB block of the request");
        }
        let side = listed > 0;
        let flags = head.flags.bits() | (SIDE * u8::from(side));
        put(&mut self.records, [head.arrival.0, head.start_sector]);
        put_u32(&mut self.records, [head.sectors, head.stream]);
        let (op, tag, origin) = (head.op as u8, head.tag as u8, head.origin as u8);
        let small = [op, flags, tag, origin, 0, 0, 0, 0];
        self.records.extend_from_slice(&small);
        self.counts.records += 1;
        if !side {
            return Ok(());
        }
        let (more, prev) = (request.more.len(), request.prev.len());
        put_u32(&mut self.sides, [more as u32, prev as u32]);
        for extent in request.more {
            let row = [extent.start_sector, u64::from(extent.sectors)];
            put(&mut self.extents, row);
        }
        put(&mut self.prev, request.prev.iter().copied());
        self.counts.sides += 1;
        self.counts.extents += more;
        self.counts.prev += prev;
        Ok(())
    }

    /// Appends the chunk to `out` and empties it.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        let counts = std::mem::take(&mut self.counts);
        let lengths = [counts.records, counts.sides, counts.extents, counts.prev];
        put_u32(out, lengths.map(|count| count as u32));
        let [tables, _, _, end] = counts.places();
        put(out, [tables as u64, end as u64]);
        let tables = [&mut self.sides, &mut self.extents, &mut self.prev];
        out.append(&mut self.records);
        tables.into_iter().for_each(|table| out.append(table));
    }
}

fn put(out: &mut Vec<u8>, values: impl IntoIterator<Item = u64>) {
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn put_u32(out: &mut Vec<u8>, values: impl IntoIterator<Item = u32>) {
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Appends the volume table.
///
/// # Errors
/// A name is too long.
pub(crate) fn encode_volumes(volumes: &[Volume], out: &mut Vec<u8>) -> Result<(), &'static str> {
    for volume in volumes {
        let name = volume.name.as_bytes();
        if name.len() > MAX_NAME {
            return Err("the name of a volume has more than 4096 bytes");
        }
        put_u32(out, [volume.stream, name.len() as u32]);
        put(out, [volume.start_sector]);
        out.extend_from_slice(name);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    Ok(())
}

/// A record without its lists, and whether it has some.
///
/// # Errors
/// The fault.
#[inline]
pub(crate) fn decode_record(bytes: &[u8; RECORD]) -> Result<(HostRequest, bool), &'static str> {
    let [op, flags, tag, origin] = [bytes[24], bytes[25], bytes[26], bytes[27]];
    let op = *OPS.get(usize::from(op)).ok_or("its kind is not known")?;
    let tag = *TAGS.get(usize::from(tag)).ok_or("its tag is not known")?;
    let origin = ORIGINS.get(usize::from(origin));
    let origin = *origin.ok_or("its origin is not known")?;
    let known = RequestFlags::from_bits(flags & !SIDE).filter(|_| le::<4>(bytes, 28) == 0);
    let known = known.ok_or("its flags are not known")?;
    if op != Op::Write && known.any(RequestFlags::OF_WRITES) {
        return Err("it is no write, but has FUA or a preflush");
    }
    let (start, sectors) = (le::<8>(bytes, 8), le::<4>(bytes, 16) as u32);
    match op {
        Op::Flush if start != 0 || sectors != 0 => return Err("it is a flush with an address"),
        Op::Read | Op::Write | Op::Trim if !is_extent(start, sectors) => {
            return Err("its address is impossible");
        }
        _ => {}
    }
    let mut request = HostRequest::new(Nanos(le::<8>(bytes, 0)), op, start, sectors);
    request.stream = le::<4>(bytes, 20) as u32;
    (request.flags, request.tag, request.origin) = (known, tag, origin);
    Ok((request, flags & SIDE != 0))
}

#[inline]
fn is_extent(start: u64, sectors: u32) -> bool {
    const MAX_SECTORS: u64 = MAX_BYTES / 512;
    sectors > 0 && start <= MAX_SECTORS && u64::from(sectors) <= MAX_SECTORS - start
}

/// Walks over the tables of a chunk.
#[derive(Default)]
pub(crate) struct ChunkTables {
    /// Offsets of the next row of each table, and where the tables end.
    side: usize,
    extent: usize,
    prev: usize,
    ends: [usize; 3],
    more: Vec<Extent>,
    old: Vec<u64>,
}

impl ChunkTables {
    pub fn start(&mut self, chunk: &Chunk) {
        let [side, extent, prev, end] = chunk.places();
        (self.side, self.extent, self.prev) = (side, extent, prev);
        self.ends = [extent, prev, end];
    }

    /// Is every row used?
    pub fn is_done(&self) -> bool {
        [self.side, self.extent, self.prev] == self.ends
    }

    /// Appends a request with the next rows.
    ///
    /// # Errors
    /// The rows are not those of the request.
    pub fn push(
        &mut self,
        chunk: &[u8],
        request: HostRequest,
        out: &mut RequestBatch,
    ) -> Result<(), &'static str> {
        const SHORT: &str = "its tables are too short";
        if self.side + 8 > self.ends[0] {
            return Err(SHORT);
        }
        let extents = le::<4>(chunk, self.side) as usize;
        let prev = le::<4>(chunk, self.side + 4) as usize;
        self.side += 8;
        if extents > (self.ends[1] - self.extent) / 16 || prev > (self.ends[2] - self.prev) / 8 {
            return Err(SHORT);
        }
        let flush = request.op == Op::Flush && extents > 0;
        if flush || prev > 0 && request.op != Op::Write {
            return Err("it has lists that its kind has not");
        }
        self.more.clear();
        self.old.clear();
        let rows = &chunk[self.extent..self.extent + extents * 16];
        for row in rows.chunks_exact(16) {
            let (start_sector, sectors) = (le::<8>(row, 0), le::<8>(row, 8));
            let sectors = u32::try_from(sectors).unwrap_or(0);
            if !is_extent(start_sector, sectors) {
                return Err("one of its extents is impossible");
            }
            self.more.push(Extent::new(start_sector, sectors));
        }
        let rows = &chunk[self.prev..self.prev + prev * 8];
        for row in rows.chunks_exact(8) {
            let sector = le::<8>(row, 0);
            if sector != NO_PREV && sector > MAX_BYTES / 512 - 8 {
                return Err("an old address is behind 256 TiB");
            }
            self.old.push(sector);
        }
        self.extent += extents * 16;
        self.prev += prev * 8;
        out.push_with(request, &self.more, &self.old);
        let request = out.get(out.len() - 1);
        let total: u64 = request.extents().map(blocks).sum();
        if prev > 0 && prev as u64 != total {
            out.truncate(out.len() - 1);
            return Err("it has not one old address per 4 KiB block");
        }
        Ok(())
    }
}
