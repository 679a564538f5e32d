//! Counts of events that an import found, matched and could not match.

use std::collections::BTreeMap;
use std::fmt;

use super::event::Dev;

/// Written blocks of one kind by what is known of their old copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WrittenBlocks {
    /// The old copy is elsewhere.
    pub moved: u64,
    /// Written where the old copy is.
    pub in_place: u64,
    /// No old copy, or none that is known.
    pub first: u64,
}

impl WrittenBlocks {
    fn total(self) -> u64 {
        self.moved + self.in_place + self.first
    }
}

/// The addresses that events name as old against those that earlier events, or the seed, gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OldAddresses {
    /// The two agree.
    pub agreed: u64,
    /// They do not.
    pub contradicted: u64,
    /// Nothing was known before.
    pub unknown: u64,
}

/// Counts of an import. Blocks have 4 KiB.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImportReport {
    /// Lines of all files.
    pub lines: u64,
    /// Lines that hold an event.
    pub events: u64,
    /// Events that are not known, by name: left out.
    pub unknown_events: BTreeMap<String, u64>,
    /// Block requests of devices that were not asked for.
    pub other_devices: BTreeMap<Dev, u64>,
    /// Block requests outside the partition.
    pub outside: u64,
    /// Lines that could not be read and were skipped.
    pub skipped_lines: u64,
    /// Events that the kernel says it lost.
    pub lost: u64,
    /// Is it F2FS, whose events tell old addresses?
    pub f2fs: bool,
    /// Requests by kind: reads, writes, discards, flushes.
    pub requests: [u64; 4],
    /// Device requests with blocks of several kinds, which became several requests.
    pub split: u64,
    /// Device requests that begin or end inside a block.
    pub cut: u64,
    /// Writes that had to be on flash at their end (FUA).
    pub fua: u64,
    /// Writes before which the device had to be flushed.
    pub preflush: u64,
    /// Written blocks of files.
    pub data: WrittenBlocks,
    /// Written inodes and index blocks.
    pub node: WrittenBlocks,
    /// Written checkpoints and tables, or the journal.
    pub meta: WrittenBlocks,
    /// Blocks that cleaning moved.
    pub gc: WrittenBlocks,
    /// Written blocks that no event of F2FS explains.
    pub unmatched: u64,
    /// Pages of F2FS that no block request wrote.
    pub unissued: u64,
    /// Old addresses of files, of nodes and of atomic writes.
    pub checks: [OldAddresses; 3],
    /// Blocks mapped for O_DIRECT writes whose old address was not known.
    pub direct_unknown: u64,
    /// Blocks of atomic writes whose pair came with the commit.
    pub atomic: u64,
    /// Cleaning by the file system's own thread, and in the task that ran out of space.
    pub gc_runs: (u64, u64),
    /// Checkpoint events.
    pub checkpoints: u64,
    /// Discards that F2FS queued or issued itself.
    pub fs_discards: u64,
    /// Requests whose event came before that of the request before.
    pub out_of_order: u64,
    /// Blocks that the seed named.
    pub seeded: u64,
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [reads, writes, discards, flushes] = self.requests;
        writeln!(f, "events       {} in {} lines", self.events, self.lines)?;
        writeln!(
            f,
            "requests     {reads} reads, {writes} writes, {discards} discards, {flushes} flushes"
        )?;
        for (name, b) in [
            ("data", self.data),
            ("node", self.node),
            ("meta", self.meta),
            ("cleaning", self.gc),
        ] {
            if b.total() > 0 {
                let (m, p, n) = (b.moved, b.in_place, b.first);
                let all = b.total();
                writeln!(
                    f,
                    "{name:<12} {all} blocks: {m} moved, {p} in place, {n} without pair"
                )?;
            }
        }
        for (name, c) in ["data", "node", "atomic"].iter().zip(self.checks) {
            if c != OldAddresses::default() {
                let (ok, no, new) = (c.agreed, c.contradicted, c.unknown);
                writeln!(
                    f,
                    "check {name:<6} {ok} agree, {no} contradict, {new} first seen"
                )?;
            }
        }
        let rows = [
            ("blocks of the seed", self.seeded),
            ("atomic blocks paired at their commit", self.atomic),
            (
                "O_DIRECT blocks whose old address is unknown (--fiemap)",
                self.direct_unknown,
            ),
            ("cleaning runs in the background", self.gc_runs.0),
            ("cleaning runs in the foreground", self.gc_runs.1),
            ("checkpoint events", self.checkpoints),
            ("discards of the file system itself", self.fs_discards),
            ("device requests split by kind", self.split),
            ("device requests cut inside a block", self.cut),
            ("FUA writes", self.fua),
            ("writes with a preflush", self.preflush),
            ("written blocks that no page event explains", self.unmatched),
            ("page events that no request wrote", self.unissued),
            ("requests outside the partition", self.outside),
            (
                "requests given the time of the one before",
                self.out_of_order,
            ),
            ("lost events", self.lost),
            ("lines skipped", self.skipped_lines),
        ];
        for (name, n) in rows.iter().filter(|row| row.1 > 0) {
            writeln!(f, "{n:>12} {name}")?;
        }
        for (dev, n) in &self.other_devices {
            writeln!(f, "{n:>12} requests of device {dev} left out")?;
        }
        for (name, n) in &self.unknown_events {
            writeln!(f, "{n:>12} unknown events {name} left out")?;
        }
        Ok(())
    }
}
