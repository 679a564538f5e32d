//! Requests of several extents: consecutive lines with the same `group`.

use std::collections::{BTreeMap, BTreeSet};

use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, Nanos, Op, RequestFlags, Tag};

use crate::extent::{MAX_BLOCKS, MAX_EXTENTS, TOO_MANY_BLOCKS, TOO_MANY_EXTENTS, blocks};
use crate::text::numbers::parse_u64;

/// Columns that all lines of a group share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupRow {
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

/// A request that further lines may extend.
#[derive(Default)]
pub(super) struct Pending {
    /// None: no request is waiting, and the rest means nothing.
    pub row: Option<GroupRow>,
    /// Empty for a request of one line.
    pub group: Vec<u8>,
    pub extents: Vec<Extent>,
    /// Empty, or one entry for each of `blocks`.
    pub prev: Vec<u64>,
    blocks: u64,
}

impl Pending {
    pub fn is_open(&self, group: &[u8]) -> bool {
        self.row.is_some() && self.group == group
    }

    pub fn start(&mut self, row: GroupRow, extent: Option<Extent>, group: &[u8], prev: &[u64]) {
        self.row = Some(row);
        self.group.clear();
        self.group.extend_from_slice(group);
        self.extents.clear();
        self.extents.extend(extent);
        self.prev.clear();
        self.prev.extend_from_slice(prev);
        self.blocks = extent.map_or(0, blocks);
    }

    pub fn extend(
        &mut self,
        row: GroupRow,
        extent: Option<Extent>,
        prev: &[u64],
    ) -> Result<(), &'static str> {
        let Some(extent) = extent.filter(|_| self.row == Some(row)) else {
            return Err("joins lines that differ in time, op, stream, atomic, tag or flags");
        };
        if self.extents.len() == MAX_EXTENTS {
            return Err(TOO_MANY_EXTENTS);
        }
        let before = self.blocks;
        let now = before + blocks(extent);
        if !(prev.is_empty() && self.prev.is_empty()) {
            if now > MAX_BLOCKS {
                return Err(TOO_MANY_BLOCKS);
            }
            self.prev.resize(before as usize, NO_PREV);
            self.prev.extend_from_slice(prev);
            self.prev.resize(now as usize, NO_PREV);
        }
        self.blocks = now;
        self.extents.push(extent);
        Ok(())
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
    if canonical {
        parse_u64(group).ok()
    } else {
        None
    }
}

impl Seen {
    pub fn contains(&self, group: &[u8]) -> bool {
        match number(group) {
            Some(n) => self
                .ranges
                .range(..=n)
                .next_back()
                .is_some_and(|(_, &last)| n <= last),
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
