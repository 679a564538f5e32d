//! Requests of several extents: consecutive lines with the same `group`.

use std::collections::{BTreeMap, BTreeSet};

use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, Nanos, Op, RequestFlags, Tag};

use crate::error::FieldFault;
use crate::extent::{
    ExtentFault, MAX_BLOCKS, MAX_EXTENTS, TOO_MANY_BLOCKS, TOO_MANY_EXTENTS, blocks,
};
use crate::sink::RequestSink;
use crate::text::numbers::parse_u64;

/// Columns that all lines of a group share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::readers) struct GroupRow {
    pub ticks: u64,
    pub op: Op,
    pub stream: u32,
    pub flags: RequestFlags,
    pub tag: Tag,
}

impl GroupRow {
    /// The request, whose first extent is given; a flush has none.
    #[inline(always)]
    pub fn request(self, first: Option<&Extent>) -> HostRequest {
        let (start, sectors) = first.map_or((0, 0), |e| (e.start_sector, e.sectors));
        let mut request = HostRequest::new(Nanos::ZERO, self.op, start, sectors);
        request.stream = self.stream;
        request.flags = self.flags;
        request.tag = self.tag;
        request
    }
}

/// A request that further lines may extend: its extents, and the old addresses of their blocks.
#[derive(Default)]
pub(in crate::readers) struct OpenRequest {
    /// `None`: none is waiting, and the rest means nothing.
    pub row: Option<GroupRow>,
    pub extents: Vec<Extent>,
    /// Empty, or one entry for each of `blocks`.
    pub prev: Vec<u64>,
    blocks: u64,
}

impl OpenRequest {
    /// Begins a request without extents.
    pub fn start(&mut self, row: GroupRow) {
        self.row = Some(row);
        self.extents.clear();
        self.prev.clear();
        self.blocks = 0;
    }

    /// Is there room for one more extent, with old addresses if `listed`?
    pub fn check(&self, extent: Extent, listed: bool) -> Result<(), ExtentFault> {
        let listed = listed || !self.prev.is_empty();
        if self.extents.len() == MAX_EXTENTS {
            return Err(ExtentFault::Start(TOO_MANY_EXTENTS));
        }
        match listed && self.blocks + blocks(extent) > MAX_BLOCKS {
            true => Err(ExtentFault::Length(TOO_MANY_BLOCKS)),
            false => Ok(()),
        }
    }

    /// Adds old addresses of an extent, which may be none, and the extent, to the one before it if `joined`.
    pub fn add(&mut self, extent: Extent, prev: impl ExactSizeIterator<Item = u64>, joined: bool) {
        match self.extents.last_mut().filter(|_| joined) {
            Some(last) => last.sectors += extent.sectors,
            None => self.extents.push(extent),
        }
        let before = self.blocks;
        self.blocks += blocks(extent);
        if prev.len() > 0 || !self.prev.is_empty() {
            self.prev.resize(before as usize, NO_PREV);
            self.prev.extend(prev);
            self.prev.resize(self.blocks as usize, NO_PREV);
        }
    }

    /// Pushes the request, if one is waiting that has extents or needs none. The first column is its time.
    #[inline(never)]
    pub fn push(&mut self, sink: &mut RequestSink<'_>) -> Result<(), FieldFault> {
        let (first, more) = (self.extents.first(), self.extents.get(1..).unwrap_or(&[]));
        let whole = |row: &GroupRow| first.is_some() || row.op == Op::Flush;
        let Some(row) = self.row.take().filter(whole) else {
            return Ok(());
        };
        let pushed = sink.push_with(row.ticks, row.request(first), more, &self.prev);
        pushed.map_err(|why| FieldFault::at(0, why))
    }
}

/// Groups that are over. Numbers that count up, as the writer's do, are one range; memory grows
/// only with names and with gaps between numbers.
#[derive(Default)]
pub(super) struct Seen {
    /// First and last number of each range.
    ranges: BTreeMap<u64, u64>,
    names: BTreeSet<Box<[u8]>>,
}

/// The group as a number; `007` is a name.
fn number(group: &[u8]) -> Option<u64> {
    let canonical = group == b"0" || group.first() != Some(&b'0');
    canonical.then(|| parse_u64(group).ok()).flatten()
}

impl Seen {
    pub fn contains(&self, group: &[u8]) -> bool {
        match number(group) {
            Some(n) => {
                let below = self.ranges.range(..=n).next_back();
                below.is_some_and(|(_, &last)| n <= last)
            }
            None => self.names.contains(group),
        }
    }

    pub fn insert(&mut self, group: &[u8]) {
        if group.is_empty() {
            return;
        }
        let Some(n) = number(group) else {
            self.names.insert(group.into());
            return;
        };
        match self.ranges.range_mut(..=n).next_back() {
            Some((_, last)) if n.checked_sub(1) == Some(*last) => *last = n,
            _ => {
                self.ranges.insert(n, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_remembered_by_ranges_and_names() {
        let mut seen = Seen::default();
        for group in ["0", "1", "2", "9", "8", "a", "007", "18446744073709551615"] {
            assert!(!seen.contains(group.as_bytes()), "{group}");
            seen.insert(group.as_bytes());
            assert!(seen.contains(group.as_bytes()), "{group}");
        }
        for group in ["3", "7", "10", "b", "", "00", "18446744073709551616"] {
            assert!(!seen.contains(group.as_bytes()), "{group}");
        }
        assert_eq!(seen.ranges.len(), 4);
    }
}
