//! The requests of an import while pairs may still be filled in.

use std::ops::Range;

use destage_types::request::NO_PREV;
use destage_types::{HostRequest, Nanos, Op, RequestBatch, RequestFlags, Tag};

use super::ImportError;
use super::runs::Consecutive;
use destage_trace::MAX_BYTES;

/// Room of a device is a multiple of this many sectors, 1 MiB.
const ROOM: u64 = (1 << 20) / 512;

/// Where the pair of one written block stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PairPlace {
    row: usize,
    at: usize,
}

impl Consecutive for PairPlace {
    fn behind(self, n: u64) -> PairPlace {
        let at = self.at + n as usize;
        PairPlace { at, ..self }
    }
}

struct Row {
    request: HostRequest,
    prev: Range<usize>,
}

/// A request to the disk, without its time.
#[derive(Clone, Copy)]
pub(super) struct DiskCommand {
    pub op: Op,
    pub tag: Tag,
    pub flags: RequestFlags,
    pub stream: u32,
    pub start: u64,
    pub sectors: u64,
}

/// Collects requests in the order of their events.
#[derive(Default)]
pub(super) struct Out {
    rows: Vec<Row>,
    prev: Vec<u64>,
    first: Option<u64>,
    last: Nanos,
    pub out_of_order: u64,
}

impl Out {
    /// Appends a request. `prev`: start sector of the old copy of each block, or nothing.
    pub fn push(
        &mut self,
        time_ns: u64,
        command: DiskCommand,
        prev: &[u64],
    ) -> Result<(), ImportError> {
        let DiskCommand {
            op,
            tag,
            flags,
            stream,
            start,
            sectors,
        } = command;
        if op != Op::Flush {
            let fits = (1..=u64::from(u32::MAX)).contains(&sectors)
                && start
                    .checked_add(sectors)
                    .is_some_and(|end| end <= MAX_BYTES / 512);
            if !fits {
                return Err(ImportError::Place("one is empty or ends behind 256 TiB"));
            }
        }
        let first = *self.first.get_or_insert(time_ns);
        let now = Nanos(time_ns.saturating_sub(first));
        self.out_of_order += u64::from(now < self.last || time_ns < first);
        self.last = self.last.max(now);
        let mut request = HostRequest::new(self.last, op, start, sectors as u32);
        (request.tag, request.flags, request.stream) = (tag, flags, stream);
        let from = self.prev.len();
        self.prev.extend_from_slice(prev);
        let prev = from..self.prev.len();
        self.rows.push(Row { request, prev });
        Ok(())
    }

    /// The pair of block `index` of the request pushed last.
    pub fn entry(&self, index: usize) -> Option<PairPlace> {
        let row = self.rows.len().checked_sub(1)?;
        let at = self.rows[row].prev.start + index;
        (at < self.rows[row].prev.end).then_some(PairPlace { row, at })
    }

    /// Fills in the pair of an atomic write.
    pub fn patch(&mut self, entry: PairPlace, old: u64) {
        self.prev[entry.at] = old;
        let flags = &mut self.rows[entry.row].request.flags;
        *flags = flags.and(RequestFlags::ATOMIC);
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes that the requests take here and once they are finished.
    pub fn memory(&self) -> u64 {
        let row = size_of::<Row>() + 3 * size_of::<HostRequest>();
        (self.rows.len() * row + self.prev.len() * 2 * size_of::<u64>()) as u64
    }

    /// The requests, stream by stream in ranges of their own.
    pub fn finish(mut self, streams: usize) -> Result<RequestBatch, ImportError> {
        let mut ends = vec![0; streams];
        for Row { request, prev } in &self.rows {
            let end = &mut ends[request.stream as usize];
            let old = self.prev[prev.clone()].iter().filter(|&&p| p != NO_PREV);
            let old = old.max().map_or(0, |p| p + 8);
            let own = request.start_sector + u64::from(request.sectors);
            *end = own.max(old).max(*end);
        }
        let mut start = 0;
        for end in &mut ends {
            let size = end.next_multiple_of(ROOM);
            *end = start;
            start += size;
        }
        if start > MAX_BYTES / 512 {
            return Err(ImportError::Place(
                "together the devices are longer than 256 TiB",
            ));
        }
        let mut batch = RequestBatch::with_capacity(self.rows.len());
        for Row { request, prev } in &mut self.rows {
            let start = ends[request.stream as usize];
            if request.op != Op::Flush {
                request.start_sector += start;
            }
            let old = &mut self.prev[prev.clone()];
            let known = old.iter_mut().filter(|p| **p != NO_PREV);
            known.for_each(|p| *p += start);
            batch.push_with(*request, &[], old);
        }
        Ok(batch)
    }
}
