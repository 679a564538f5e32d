//! Checkpoints: the tables that F2FS writes in place, at two alternating places each.

use std::collections::BTreeSet;

/// Segments described by one block of the segment information table.
const PER_SIT: u32 = 55;
/// Nodes described by one block of the node address table.
const PER_NAT: u32 = 455;
/// Blocks of a checkpoint pack: header, summaries of the open segments, footer.
const PACK: u64 = 3;

/// Changes since the last checkpoint.
#[derive(Default)]
pub(super) struct Dirty {
    sit: BTreeSet<u32>,
    nat: BTreeSet<u32>,
    full: BTreeSet<u32>,
    version: u64,
}

/// Where the tables are, behind the main area.
#[derive(Clone, Copy)]
pub(super) struct CheckpointTables {
    base: u64,
    segment: u32,
    sit: u64,
    nat: u64,
}

impl CheckpointTables {
    pub fn new(blocks: u64, segment: u64, nodes: u64) -> CheckpointTables {
        CheckpointTables {
            base: blocks,
            segment: segment as u32,
            sit: (blocks / segment).div_ceil(u64::from(PER_SIT)),
            nat: nodes.div_ceil(u64::from(PER_NAT)).max(1),
        }
    }
}

impl Dirty {
    /// A block of the main area got or lost its data.
    pub fn note(&mut self, tables: &CheckpointTables, block: u32) {
        self.sit.insert(block / tables.segment / PER_SIT);
    }

    /// An index block moved.
    pub fn note_node(&mut self, node: u32) {
        self.nat.insert(node / PER_NAT);
    }

    /// A segment was written to its end: its summary is due.
    pub fn note_full(&mut self, tables: &CheckpointTables, block: u32) {
        if block % tables.segment == tables.segment - 1 {
            self.full.insert(block / tables.segment);
        }
    }

    /// The blocks of a checkpoint, ascending; afterwards nothing is dirty.
    pub fn take(&mut self, tables: &CheckpointTables) -> Vec<u64> {
        self.version += 1;
        let half = self.version % 2;
        let pack = tables.base + half * PACK;
        let sit = tables.base + 2 * PACK + half * tables.sit;
        let nat = tables.base + 2 * PACK + 2 * tables.sit + half * tables.nat;
        let ssa = tables.base + 2 * PACK + 2 * tables.sit + 2 * tables.nat;
        let at = |base: u64, set: &BTreeSet<u32>| -> Vec<u64> {
            set.iter().map(|&i| base + u64::from(i)).collect()
        };
        let mut all: Vec<u64> = (pack..pack + PACK).collect();
        all.extend(at(sit, &self.sit));
        all.extend(at(nat, &self.nat));
        all.extend(at(ssa, &self.full));
        for set in [&mut self.sit, &mut self.nat, &mut self.full] {
            set.clear();
        }
        all
    }
}
