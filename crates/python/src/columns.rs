//! Requests from columns of numbers.

use destage_trace::{TraceError, Workload};
use destage_types::{HostRequest, Nanos, Op, RequestBatch, RequestFlags, RequestRef};
use std::ops::Range;

/// Requests end at or below this sector, as in every trace that is read: 256 TiB.
const LAST_SECTOR: i64 = 1 << 39;

fn numbers(bytes: &[u8]) -> impl ExactSizeIterator<Item = i64> {
    let (numbers, _) = bytes.as_chunks::<8>();
    numbers.iter().map(|bytes| i64::from_ne_bytes(*bytes))
}

/// The requests of these columns: arrival in ns, first sector, sectors, source (or empty); letters of
/// operations; and bytes that are not 0 for FUA, and for a preflush (or empty). Arrivals begin at 0 with the first
/// request.
///
/// # Errors
/// The first row that is no request.
pub fn batch_of(
    [arrival, start, sectors, stream]: [&[u8]; 4],
    op: &[u8],
    flags: [(&[u8], RequestFlags); 2],
) -> Result<RequestBatch, String> {
    let rows = op.len();
    let lengths = [arrival.len() / 8, start.len() / 8, sectors.len() / 8];
    if lengths.iter().any(|&length| length != rows)
        || !matches!(stream.len() / 8, n if n == 0 || n == rows)
        || flags
            .iter()
            .any(|(column, _)| !column.is_empty() && column.len() != rows)
    {
        return Err("columns of different lengths".to_owned());
    }
    if rows == 0 {
        return Err("the trace is empty: there is no row".to_owned());
    }
    let mut streams = numbers(stream);
    let mut batch = RequestBatch::with_capacity(rows);
    let (mut first, mut before) = (None, i64::MIN);
    let columns = numbers(arrival)
        .zip(op)
        .zip(numbers(start))
        .zip(numbers(sectors));
    for (row, (((at, &op), start), sectors)) in columns.enumerate() {
        let refused = |column: &str, value: &dyn std::fmt::Display, allowed: &str| {
            Err(format!(
                "row {row}, column {column}: `{value}`; allowed: {allowed}"
            ))
        };
        if at < before {
            return refused(
                "arrival_ns",
                &at,
                "a time at or after that of the row before (sort the rows by time)",
            );
        }
        before = at;
        // Times may be anything that 64 bits hold; their differences are what counts.
        let arrival = i128::from(at) - i128::from(*first.get_or_insert(at));
        let op = match op {
            b'R' => Op::Read,
            b'W' => Op::Write,
            b'T' => Op::Trim,
            b'F' => Op::Flush,
            other => {
                return refused(
                    "op",
                    &char::from(other),
                    "R (read), W (write), T (trim) or F (flush)",
                );
            }
        };
        let allowed = match op {
            Op::Flush => 0..=0,
            _ => 1..=i64::from(u32::MAX),
        };
        if !allowed.contains(&sectors) {
            return refused("sectors", &sectors, "1 to 4294967295; 0 for F");
        }
        if start < 0 || start > LAST_SECTOR - sectors {
            return refused(
                "start_sector",
                &start,
                "sector of 512 B, the request ending at or below 256 TiB",
            );
        }
        let stream = streams.next().unwrap_or(0);
        let Ok(stream) = u32::try_from(stream) else {
            return refused("stream", &stream, "0 to 4294967295");
        };
        let start = if op == Op::Flush { 0 } else { start as u64 };
        let mut request = HostRequest::new(Nanos(arrival as u64), op, start, sectors as u32);
        request.stream = stream;
        for (column, flag) in flags {
            let is_set = column.get(row).is_some_and(|&set| set != 0);
            if is_set && op != Op::Write {
                let name = if flag == RequestFlags::FUA {
                    "fua"
                } else {
                    "preflush"
                };
                return refused(name, &1, "0 or false, unless the request is a write");
            }
            request.flags = request.flags.and(flag.only_if(is_set));
        }
        batch.push(request);
    }
    Ok(batch)
}

/// The columns of requests.
#[derive(Clone, Copy)]
pub enum Column {
    ArrivalNs,
    Op,
    StartSector,
    /// Of all extents.
    Sectors,
    Stream,
    /// Of a write: does it have this flag?
    Flag(RequestFlags),
}

impl Column {
    pub fn named(name: &str) -> Option<Column> {
        Some(match name {
            "arrival_ns" => Column::ArrivalNs,
            "op" => Column::Op,
            "start_sector" => Column::StartSector,
            "sectors" => Column::Sectors,
            "stream" => Column::Stream,
            "fua" => Column::Flag(RequestFlags::FUA),
            "preflush" => Column::Flag(RequestFlags::PREFLUSH),
            _ => return None,
        })
    }

    /// Bytes of a value.
    pub fn width(self) -> usize {
        match self {
            Column::Op | Column::Flag(_) => 1,
            _ => 8,
        }
    }

    /// Writes the values of the requests in `range` into `out`, which has room for them.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn write(
        self,
        workload: Workload<'_>,
        range: Range<u64>,
        out: &mut [u8],
    ) -> Result<(), TraceError> {
        let to = ColumnCells {
            workload,
            range,
            out,
        };
        match self {
            Column::ArrivalNs => to.fill(|r| (r.head.arrival.0 as i64).to_ne_bytes()),
            Column::Op => to.fill(|r| [letter(r.head.op)]),
            Column::StartSector => to.fill(|r| (r.head.start_sector as i64).to_ne_bytes()),
            Column::Sectors => to.fill(|r| {
                let more: u64 = r.more.iter().map(|extent| u64::from(extent.sectors)).sum();
                (u64::from(r.head.sectors) + more).to_ne_bytes()
            }),
            Column::Stream => to.fill(|r| i64::from(r.head.stream).to_ne_bytes()),
            Column::Flag(flag) => to.fill(|r| [u8::from(r.head.flags.any(flag))]),
        }
    }
}

fn letter(op: Op) -> u8 {
    match op {
        Op::Read => b'R',
        Op::Write => b'W',
        Op::Trim => b'T',
        Op::Flush => b'F',
    }
}

/// The cells of a column, one for each request of a range.
struct ColumnCells<'a> {
    workload: Workload<'a>,
    range: Range<u64>,
    out: &'a mut [u8],
}

impl ColumnCells<'_> {
    fn fill<const N: usize>(
        self,
        value: impl Fn(RequestRef<'_>) -> [u8; N],
    ) -> Result<(), TraceError> {
        let (cells, _) = self.out.as_chunks_mut::<N>();
        let mut cells = cells.iter_mut();
        let mut pass = self.workload.pass()?;
        let mut at = 0;
        while at < self.range.end
            && let Some(block) = pass.next(self.range.end - at)?
        {
            let end = at + block.records.len() as u64;
            let skipped = self.range.start.saturating_sub(at).min(end - at) as usize;
            at = end;
            let heads = block.records[skipped..].iter();
            for (head, cell) in heads.zip(&mut cells) {
                *cell = value(block.batch.with_sides(head));
            }
        }
        Ok(())
    }
}
