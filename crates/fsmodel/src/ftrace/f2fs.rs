//! One F2FS volume: where every block of every file is, and which pages are on their way.

use std::collections::{BTreeMap, BTreeSet};

use destage_types::Tag;

use super::event::{EventHeader, PageEvent};
use super::out::PairPlace;
use super::report::OldAddresses;
use super::runs::{Consecutive, Piece, Runs};
use super::seed::{FileExtent, SeededFile};
use super::{ImportError, Place};

/// "No block" in events of F2FS: a hole, and one that is reserved but not written.
const HOLE: u64 = 0;
const RESERVED: u64 = 0xffff_ffff;
/// Sectors of a block.
pub(super) const SECTORS: u64 = 8;

pub(super) fn is_block(address: u64) -> bool {
    address != HOLE && address != RESERVED
}

/// A page on its way to the block layer.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Sent {
    pub old: Option<u64>,
    pub tag: Tag,
}

impl Consecutive for Sent {
    fn behind(self, n: u64) -> Sent {
        let old = self.old.map(|old| old + n);
        Sent { old, ..self }
    }
}

/// The only group of runs that are of the blocks of one volume.
const VOLUME: u64 = 0;

/// The owner of a block of a file system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// Inode and block of the file.
    File(u64, u64),
    Node(u64),
}

/// Where a contradiction is an error; nowhere if contradictions are counted only.
type Strict<'a> = Option<Place<'a>>;

#[derive(Default)]
pub(super) struct F2fsVolume {
    sent: Runs<Sent>,
    /// Where each block of a file was written last, by inode.
    files: Runs<u64>,
    nodes: BTreeMap<u64, u64>,
    /// Blocks written without an old one: new, or by atomic writes that are not committed.
    uncommitted: BTreeMap<Owner, u64>,
    /// Written blocks of files without a pair, for commits.
    unpaired: Runs<PairPlace>,
    /// Tasks that clean.
    pub cleaning: BTreeSet<u32>,
    /// Does the O_DIRECT operation of a task write?
    pub direct: BTreeMap<u32, bool>,
    pub checks: [OldAddresses; 3],
}

impl F2fsVolume {
    /// A volume with the extents of some inodes.
    pub fn with_files(seeds: &[SeededFile]) -> F2fsVolume {
        let mut volume = F2fsVolume::default();
        for file in seeds {
            for &FileExtent { first, at, blocks } in &file.extents {
                let piece = Piece {
                    first,
                    len: blocks,
                    value: at,
                };
                volume.files.insert(file.ino, piece);
            }
        }
        volume
    }

    /// A page is written.
    pub fn page(
        &mut self,
        header: &EventHeader<'_>,
        page: PageEvent,
        strict: Strict<'_>,
    ) -> Result<(), ImportError> {
        let cleans =
            self.cleaning.contains(&header.pid) || header.comm.trim_start().starts_with("f2fs_gc");
        let tag = match page.tag {
            Tag::Data | Tag::Node if cleans => Tag::Gc,
            tag => tag,
        };
        let owner = match page.tag {
            Tag::Data => Some(Owner::File(page.ino, page.index)),
            Tag::Node => Some(Owner::Node(page.index)),
            _ => None,
        };
        let mut old = is_block(page.old).then_some(page.old);
        if let Some(owner) = owner {
            let atomic = page.tag == Tag::Data && page.old == RESERVED;
            if atomic {
                // The first write of a block looks the same; both are known from here on.
                self.uncommitted.insert(owner, page.new);
                old = None;
            } else if self.uncommitted.get(&owner) == Some(&page.old) {
                self.checks[0].agreed += 1;
                self.uncommitted.insert(owner, page.new);
            } else {
                let which = usize::from(page.tag == Tag::Node);
                self.moved(which, owner, page.old, page.new, strict)?;
            }
        }
        self.sent.insert_one(VOLUME, page.new, Sent { old, tag });
        Ok(())
    }

    /// Takes what is on its way to blocks `first..end`, in runs with gaps between where nothing is.
    pub fn take_sent(&mut self, first: u64, end: u64) -> Vec<Piece<Option<Sent>>> {
        let mut all = Vec::new();
        let mut at = first;
        let gap = |first, end: u64| Piece {
            first,
            len: end - first,
            value: None,
        };
        for run in self.sent.take(VOLUME, first, end - first) {
            if run.first > at {
                all.push(gap(at, run.first));
            }
            at = run.first + run.len;
            all.push(Piece {
                first: run.first,
                len: run.len,
                value: Some(run.value),
            });
        }
        if at < end {
            all.push(gap(at, end));
        }
        all
    }

    /// Blocks that were sent and have not been written.
    pub fn unissued(&self) -> u64 {
        self.sent.len()
    }

    /// Blocks from `first` on were written without pairs, which stand at `place` and behind.
    pub fn wrote_unpaired(&mut self, first: u64, len: u64, place: PairPlace) {
        let value = place;
        self.unpaired.insert(VOLUME, Piece { first, len, value });
    }

    /// Bytes that the volume takes.
    pub fn memory(&self) -> u64 {
        let runs = self.sent.entries() + self.files.entries() + self.unpaired.entries();
        let single = self.nodes.len() + self.uncommitted.len();
        (runs * 96 + single * 64) as u64
    }

    /// A run of blocks of inode `ino` is mapped for O_DIRECT to the address in it: does the task write, and how many old addresses are
    /// not known then?
    pub fn map(&mut self, pid: u32, ino: u64, new: Piece<u64>) -> (bool, u64) {
        let writes = self.direct.get(&pid) != Some(&false);
        let (offset, start, len) = (new.first, new.value, new.len);
        let known = self.files.insert(ino, new);
        if !writes {
            // Known blocks are newer than the mapping.
            for old in known {
                self.files.insert(ino, old);
            }
            return (false, 0);
        }
        let tag = Tag::Data;
        let sent = |first, len, old| Piece {
            first,
            len,
            value: Sent { old, tag },
        };
        self.sent.insert(VOLUME, sent(start, len, None));
        let mut unknown = len;
        for old in known {
            unknown -= old.len;
            let to = start + (old.first - offset);
            self.sent.insert(VOLUME, sent(to, old.len, Some(old.value)));
        }
        (true, unknown)
    }

    /// An atomic write of a block is committed. The pair to fill in, if it was written before.
    pub fn commit(
        &mut self,
        owner: Owner,
        old: u64,
        new: u64,
        strict: Strict<'_>,
    ) -> Result<Option<PairPlace>, ImportError> {
        self.uncommitted.remove(&owner);
        self.moved(2, owner, old, new, strict)?;
        if !is_block(old) {
            return Ok(None);
        }
        let written = self.unpaired.take_one(VOLUME, new);
        if written.is_none()
            && let Some(Sent { tag, .. }) = self.sent.get(VOLUME, new)
        {
            let old = Some(old);
            self.sent.insert_one(VOLUME, new, Sent { old, tag });
        }
        Ok(written)
    }

    /// A bio must start where one of the pages goes.
    pub fn bio(&self, sector: u64, place: Place<'_>) -> Result<(), ImportError> {
        if self.sent.get(VOLUME, sector / SECTORS).is_some() {
            return Ok(());
        }
        for wide in [1, 2, 3, 4].map(|shift| SECTORS << shift) {
            if sector.is_multiple_of(wide) && self.sent.get(VOLUME, sector / wide).is_some() {
                return Err(ImportError::BlockSize {
                    file: place.file.to_owned(),
                    line: place.line,
                    bytes: wide * 512,
                });
            }
        }
        Ok(())
    }

    /// A block goes from `said`, as an event names it, to `new`: compares that with what was known.
    fn moved(
        &mut self,
        which: usize,
        owner: Owner,
        said: u64,
        new: u64,
        strict: Strict<'_>,
    ) -> Result<(), ImportError> {
        let checks = &mut self.checks[which];
        let known = match owner {
            Owner::File(ino, index) => self.files.insert_one(ino, index, new),
            Owner::Node(node) => self.nodes.insert(node, new),
        };
        let known = match known {
            None => {
                checks.unknown += 1;
                return Ok(());
            }
            Some(known) if known == said => {
                checks.agreed += 1;
                return Ok(());
            }
            Some(known) => known,
        };
        checks.contradicted += 1;
        let Some(place) = strict else { return Ok(()) };
        let what = match owner {
            Owner::File(ino, index) => format!("block {index} of inode {ino}"),
            Owner::Node(nid) => format!("node {nid}"),
        };
        Err(ImportError::Contradiction {
            file: place.file.to_owned(),
            line: place.line,
            what,
            said,
            known,
        })
    }
}
