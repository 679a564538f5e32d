//! Blocks to requests.

use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, RequestBatch};

use super::SECTORS;

/// Appends a request like `head` for blocks of the device, each with its old block. Blocks that
/// follow each other become one extent.
pub(super) fn push(out: &mut RequestBatch, mut head: HostRequest, rows: &[(u64, Option<u64>)]) {
    let mut extents: Vec<Extent> = Vec::new();
    for &(block, _) in rows {
        let start = block * SECTORS;
        match extents.last_mut().filter(|e| e.end() == start) {
            Some(last) => last.sectors += SECTORS as u32,
            None => extents.push(Extent {
                start_sector: start,
                sectors: SECTORS as u32,
            }),
        }
    }
    let named = rows.iter().any(|row| row.1.is_some());
    let prev: Vec<u64> = rows
        .iter()
        .filter(|_| named)
        .map(|row| row.1.map_or(NO_PREV, |b| b * SECTORS))
        .collect();
    let first = extents.first();
    (head.start_sector, head.sectors) = first.map_or((0, 0), |e| (e.start_sector, e.sectors));
    // The record may be one of another batch, whose side tables are not those of this one.
    let mut request = HostRequest::new(head.arrival, head.op, head.start_sector, head.sectors);
    (request.stream, request.atomic) = (head.stream, head.atomic);
    (request.tag, request.origin) = (head.tag, head.origin);
    out.push_with(request, extents.get(1..).unwrap_or(&[]), &prev);
}
