//! Writes and TRIMs that have not come to the cache of the device: they have taken no effect on the data (LV-3).

use crate::store::Store;
use destage_sim::live::Ticket;
use destage_types::Lpn;
use std::collections::BTreeMap;
use std::io;

/// A write of which pages have not come to the cache.
struct ArrivingWrite {
    offset: u64,
    data: Vec<u8>,
    pages: u64,
}

/// Writes whose data are on their way.
#[derive(Default)]
pub(super) struct Arriving {
    writes: BTreeMap<Ticket, ArrivingWrite>,
    /// Offset and bytes of each.
    trims: BTreeMap<Ticket, (u64, u64)>,
    bytes: u64,
}

impl Arriving {
    /// Bytes of data that are kept for it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn add_write(&mut self, ticket: Ticket, offset: u64, data: Vec<u8>, store: &Store) {
        self.bytes += data.len() as u64;
        let pages = store.touched_pages(offset, data.len() as u64);
        let write = ArrivingWrite {
            offset,
            data,
            pages,
        };
        self.writes.insert(ticket, write);
    }

    pub fn add_trim(&mut self, ticket: Ticket, offset: u64, bytes: u64) {
        self.trims.insert(ticket, (offset, bytes));
    }

    /// A write has come to a page.
    ///
    /// # Errors
    /// The store cannot take it.
    pub fn written(&mut self, lpn: Lpn, ticket: Ticket, store: &mut Store) -> io::Result<()> {
        let Some(write) = self.writes.get_mut(&ticket) else {
            return Ok(());
        };
        let (page, end) = (store.start(lpn), store.start(Lpn(lpn.0 + 1)));
        let from = page.max(write.offset);
        let to = end.min(write.offset + write.data.len() as u64);
        let part = (from - write.offset) as usize..(to - write.offset) as usize;
        let written = store.write(ticket.0, from, &write.data[part]);
        write.pages -= 1;
        if write.pages == 0 {
            self.forget(ticket);
        }
        written
    }

    /// A TRIM has come to the cache.
    ///
    /// # Errors
    /// The store cannot do it.
    pub fn trimmed(&mut self, ticket: Ticket, store: &mut Store) -> io::Result<()> {
        match self.trims.remove(&ticket) {
            Some((offset, bytes)) => store.discard(offset, bytes),
            None => Ok(()),
        }
    }

    /// Sets space aside anew for what arrives, which a TRIM may have given back. Gives the writes that have none any
    /// more, and forgets them.
    pub fn reserve_again(&mut self, store: &mut Store) -> Vec<(Ticket, io::Error)> {
        let rows = self.writes.iter().filter_map(|(&ticket, write)| {
            let reserved = store.reserve(write.offset, write.data.len() as u64);
            Some((ticket, reserved.err()?))
        });
        let failed: Vec<(Ticket, io::Error)> = rows.collect();
        failed.iter().for_each(|(ticket, _)| self.forget(*ticket));
        failed
    }

    fn forget(&mut self, ticket: Ticket) {
        if let Some(write) = self.writes.remove(&ticket) {
            self.bytes -= write.data.len() as u64;
        }
    }

    /// The power is cut: nothing of it comes.
    pub fn clear(&mut self) {
        *self = Arriving::default();
    }
}
