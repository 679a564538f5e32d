//! The data of a device: durable pages in a medium, and the versions that only its cache has.
//!
//! The atomic unit is the page of the device: whatever happens, a page is one of its versions, never
//! a mixture of two.

mod file;
mod medium;
mod memory;

pub use file::FileMedium;
pub use medium::{AddressPattern, Medium};
pub use memory::{MemoryBudget, MemoryMedium};

use crate::device::DurablePart;
use destage_types::Lpn;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

/// Bytes of buffers of pages that are kept for later.
const MAX_SPARE_BYTES: usize = 4 << 20;

/// Bytes of a copy of the data that are in memory at once.
const COPIED_AT_ONCE: u64 = 1 << 20;

/// Does the cache of the device keep its content without power?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// It does not: what was written is durable once it is on flash.
    Dram,
    /// It does: what was written is durable at once.
    Nvm,
}

/// Content of a page that is not durable yet.
struct Version {
    /// Ticket of the last write in it.
    through: u64,
    /// A program carries it away: later writes make another version.
    captured: bool,
    /// The part of the page that the last write wrote.
    own: Range<usize>,
    content: Box<[u8]>,
}

/// Versions of a page, oldest first: nearly always one.
type Versions = SmallVec<[Version; 1]>;

/// The losses of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerLoss {
    /// Pages whose last version was volatile.
    pub pages: u64,
    /// Requests that had no reply yet.
    pub requests: u64,
}

/// Durable and volatile content of a device.
pub struct Store {
    medium: Box<dyn Medium>,
    kind: CacheKind,
    page_bytes: usize,
    volatile: BTreeMap<Lpn, Versions>,
    /// Versions of all pages.
    versions: usize,
    /// Bytes of versions that there are to be at most.
    volatile_limit: u64,
    /// Buffers of pages that became durable, for versions to come: asking for memory and giving it back
    /// for each page would cost as much as its copies.
    spare: Vec<Box<[u8]>>,
}

impl Store {
    /// A store over `medium`, of pages of `page_bytes`.
    pub fn new(medium: Box<dyn Medium>, kind: CacheKind, page_bytes: u32) -> Store {
        Store {
            medium,
            kind,
            page_bytes: page_bytes as usize,
            volatile: BTreeMap::new(),
            versions: 0,
            volatile_limit: u64::MAX,
            spare: Vec::new(),
        }
    }

    /// The same with at most `bytes` of volatile content, as far as [`Store::has_room`] is asked.
    pub fn with_volatile_limit(mut self, bytes: u64) -> Store {
        self.volatile_limit = bytes;
        self
    }

    /// Changes what [`Store::with_volatile_limit`] said.
    pub fn set_volatile_limit(&mut self, bytes: u64) {
        self.volatile_limit = bytes;
    }

    /// Do `bytes` of new content keep to the limit, wherever they begin in a page?
    pub fn has_room(&self, bytes: u64) -> bool {
        self.volatile_bytes() + bytes + 2 * self.page_bytes as u64 <= self.volatile_limit
    }

    /// Do `bytes` that the device holds itself keep to the limit?
    pub(crate) fn has_room_beside(&self, bytes: u64) -> bool {
        bytes <= self.volatile_limit
    }

    /// Does the cache lose its content without power?
    pub fn kind(&self) -> CacheKind {
        self.kind
    }

    fn lpn(&self, offset: u64) -> Lpn {
        Lpn(offset / self.page_bytes as u64)
    }

    pub(crate) fn start(&self, lpn: Lpn) -> u64 {
        lpn.0 * self.page_bytes as u64
    }

    /// Fills `out` with the newest content from `offset` on.
    ///
    /// # Errors
    /// The medium fails.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.medium.read(offset, out)?;
        if self.volatile.is_empty() || out.is_empty() {
            return Ok(());
        }
        let end = offset + out.len() as u64;
        for (&lpn, versions) in self.volatile.range(self.lpn(offset)..=self.lpn(end - 1)) {
            let Some(newest) = versions.last() else {
                continue;
            };
            let page = self.start(lpn);
            let (from, to) = (page.max(offset), (page + self.page_bytes as u64).min(end));
            out[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&newest.content[(from - page) as usize..(to - page) as usize]);
        }
        Ok(())
    }

    /// Sets space aside for what a write to these bytes leaves in the medium, so that it cannot fail for want of
    /// space later.
    ///
    /// # Errors
    /// There is no space ([`io::ErrorKind::StorageFull`]).
    pub fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        match bytes {
            0 => Ok(()),
            _ => {
                let size = self.page_bytes as u64;
                let first = offset / size * size;
                let end = (offset + bytes).next_multiple_of(size);
                self.medium.reserve(first, end - first)
            }
        }
    }

    /// Writes `data` from `offset` on: the write with this `ticket`, above those of earlier writes.
    ///
    /// # Errors
    /// The medium fails.
    pub fn write(&mut self, ticket: u64, offset: u64, data: &[u8]) -> io::Result<()> {
        if !self.medium.keeps_data() {
            return Ok(());
        }
        if self.kind == CacheKind::Nvm {
            return self.medium.write(offset, data);
        }
        let (mut at, mut data) = (offset, data);
        while !data.is_empty() {
            let lpn = self.lpn(at);
            let inside = (at - self.start(lpn)) as usize;
            let n = data.len().min(self.page_bytes - inside);
            let (piece, rest) = data.split_at(n);
            self.write_page(ticket, lpn, inside, piece)?;
            (at, data) = (at + n as u64, rest);
        }
        Ok(())
    }

    fn write_page(&mut self, ticket: u64, lpn: Lpn, at: usize, piece: &[u8]) -> io::Result<()> {
        let page = self.start(lpn);
        let versions = self.volatile.entry(lpn).or_default();
        if let Some(newest) = versions.last_mut().filter(|v| !v.captured) {
            newest.content[at..at + piece.len()].copy_from_slice(piece);
            (newest.through, newest.own) = (ticket, at..at + piece.len());
            return Ok(());
        }
        let spare = self.spare.pop();
        let mut content = spare.unwrap_or_else(|| vec![0; self.page_bytes].into_boxed_slice());
        if piece.len() < self.page_bytes {
            match versions.last() {
                Some(newest) => content.copy_from_slice(&newest.content),
                None => {
                    if let Err(error) = self.medium.read(page, &mut content) {
                        // No version is lost: there was none.
                        self.volatile.remove(&lpn);
                        return Err(error);
                    }
                }
            }
        }
        content[at..at + piece.len()].copy_from_slice(piece);
        self.versions += 1;
        versions.push(Version {
            through: ticket,
            captured: false,
            own: at..at + piece.len(),
            content,
        });
        Ok(())
    }

    /// A program carries the page to flash as the write with the ticket `through` left it.
    pub fn captured(&mut self, lpn: Lpn, through: u64) {
        let newest = self.volatile.get_mut(&lpn).and_then(|v| v.last_mut());
        if let Some(newest) = newest.filter(|v| v.through == through) {
            newest.captured = true;
        }
    }

    /// The page as the write with the ticket `through` left it, or what that write wrote of it, is on flash.
    ///
    /// # Errors
    /// The medium fails.
    pub fn durable(&mut self, lpn: Lpn, through: u64, part: DurablePart) -> io::Result<()> {
        let page = self.start(lpn);
        let Some(versions) = self.volatile.get_mut(&lpn) else {
            return Ok(());
        };
        // It may be there already, or trimmed.
        let Some(at) = versions.iter().position(|v| v.through == through) else {
            return Ok(());
        };
        let version = &versions[at];
        let all = match part {
            DurablePart::Page => {
                self.medium.write(page, &version.content)?;
                true
            }
            DurablePart::OwnSectors => {
                let own = version.own.clone();
                self.medium
                    .write(page + own.start as u64, &version.content[own])?;
                let mut flash = vec![0; self.page_bytes];
                self.medium.read(page, &mut flash)?;
                *flash == *version.content
            }
        };
        if all {
            let gone = versions.drain(..=at).map(|version| version.content);
            self.versions -= gone.len();
            let most = MAX_SPARE_BYTES / self.page_bytes;
            self.spare
                .extend(gone.take(most.saturating_sub(self.spare.len())));
        }
        if versions.is_empty() {
            self.volatile.remove(&lpn);
        }
        Ok(())
    }

    /// The whole pages among these bytes have no content any more and read as zeros, at once and for
    /// good.
    ///
    /// # Errors
    /// The medium fails.
    pub fn discard(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        let (first, end) = self.whole_pages(offset, bytes);
        if first >= end {
            return Ok(());
        }
        let mut kept = self.volatile.split_off(&first);
        let mut behind = kept.split_off(&end);
        self.volatile.append(&mut behind);
        self.versions -= kept.values().map(SmallVec::len).sum::<usize>();
        let start = self.start(first);
        self.medium.discard(start, self.start(end) - start)
    }

    /// Pages that these bytes touch, of which there is one at least.
    pub(crate) fn touched_pages(&self, offset: u64, bytes: u64) -> u64 {
        let last = offset + bytes.saturating_sub(1);
        self.lpn(last).0 - self.lpn(offset).0 + 1
    }

    /// The whole pages among these bytes, from the first to the one behind the last.
    pub fn whole_pages(&self, offset: u64, bytes: u64) -> (Lpn, Lpn) {
        let size = self.page_bytes as u64;
        (Lpn(offset.div_ceil(size)), Lpn((offset + bytes) / size))
    }

    /// Whether there are data at `offset`, and how far that holds, at most `bytes`.
    ///
    /// # Errors
    /// The medium fails.
    pub fn allocation(&self, offset: u64, bytes: u64) -> io::Result<(bool, u64)> {
        let end = offset + bytes;
        let next = self.volatile.range(self.lpn(offset)..).next();
        let next = next.map(|(&lpn, _)| self.start(lpn));
        if let Some(start) = next.filter(|&start| start <= offset) {
            let page_end = start + self.page_bytes as u64;
            return Ok((true, page_end.min(end) - offset));
        }
        let clean = next.map_or(end, |start| start.min(end));
        self.medium.allocation(offset, clean - offset)
    }

    /// Bytes of volatile content.
    pub fn volatile_bytes(&self) -> u64 {
        (self.versions * self.page_bytes) as u64
    }

    /// The power is cut: what is left are the durable pages. Number of pages that lost a version.
    pub fn power_cut(&mut self) -> u64 {
        let lost = self.volatile.len() as u64;
        self.volatile.clear();
        self.versions = 0;
        self.medium.release();
        lost
    }

    /// Does it give back what was written?
    pub fn keeps_data(&self) -> bool {
        self.medium.keeps_data()
    }

    /// Copies the durable data of a device of `bytes` to `out`, of which nothing is written where there are
    /// none.
    ///
    /// # Errors
    /// The medium or `out` fails.
    pub fn copy_durable(&self, bytes: u64, out: &mut (impl Write + Seek)) -> io::Result<()> {
        let mut buffer = vec![0; COPIED_AT_ONCE.min(bytes) as usize];
        let mut at = 0;
        while at < bytes {
            let (data, run) = self.medium.allocation(at, bytes - at)?;
            let end = at + run;
            out.seek(SeekFrom::Start(if data { at } else { end }))?;
            for start in (at..end).step_by(COPIED_AT_ONCE as usize).filter(|_| data) {
                let piece = &mut buffer[..(end - start).min(COPIED_AT_ONCE) as usize];
                self.medium.read(start, piece)?;
                out.write_all(piece)?;
            }
            at = end;
        }
        Ok(())
    }

    /// Makes the medium outlast the process and the host.
    ///
    /// # Errors
    /// The medium fails.
    pub fn sync(&mut self) -> io::Result<()> {
        self.medium.sync()
    }
}

#[cfg(test)]
mod tests;
