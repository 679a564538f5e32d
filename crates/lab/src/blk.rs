//! virtio-blk: requests from a ring in the guest's memory, and answers into it.

use crate::vhost::{self, VhostMessage};
use destage_live::protocol::transmission::{NbdCommand, NbdOutcome, NbdRequest};
use destage_types::SECTOR_BYTES;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use virtio_bindings::virtio_blk as spec;
use virtio_queue::{DescriptorChain, Queue, QueueT, Reader, Writer};
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

/// Entries that a ring may have.
const MAX_ENTRIES: u16 = 1024;

/// Pieces of memory of one request. Without this number a request is one piece, and where pages lie
/// in memory would decide which are merged.
const SEGMENTS: u32 = 126;

/// Sectors that are discarded or zeroed at once, at most: whole pages of any size, in less than the 4 GiB that
/// a request can have.
const MAX_DISCARD: u64 = (1 << 23) - 128;

/// Bytes of the configuration that the kernel may ask for.
const CONFIG_BYTES: usize = 256;

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("virtio-blk: {error}"))
}

/// Where the answer to a request goes.
pub type Held = DescriptorChain<Arc<GuestMemoryMmap>>;

/// A request of the kernel.
#[derive(Debug)]
pub enum BlkRequest {
    /// For the device, with the data of a write.
    Io(NbdRequest, Vec<u8>),
    /// The name of the disk is asked for, which only a program in the guest does, to tell the outside
    /// that something begins or ends.
    Sign,
    /// It cannot be served: a request of another kind, or beyond the disk.
    Refused,
}

/// The one ring of a disk.
pub struct BlkRing {
    memory: Arc<GuestMemoryMmap>,
    queue: Queue,
    bytes: u64,
}

impl BlkRing {
    /// Of a disk of `bytes`, before the kernel has said where the ring is.
    ///
    /// # Errors
    /// None that is known.
    pub fn new(bytes: u64) -> io::Result<BlkRing> {
        Ok(BlkRing {
            memory: Arc::new(GuestMemoryMmap::new()),
            queue: Queue::new(MAX_ENTRIES).map_err(invalid)?,
            bytes,
        })
    }

    /// Features of the disk.
    pub fn features() -> u64 {
        let bits = [
            spec::VIRTIO_BLK_F_SEG_MAX,
            spec::VIRTIO_BLK_F_FLUSH,
            spec::VIRTIO_BLK_F_DISCARD,
            spec::VIRTIO_BLK_F_WRITE_ZEROES,
        ];
        bits.iter()
            .fold(vhost::FEATURES, |all, &bit| all | 1 << bit)
    }

    /// `struct virtio_blk_config` of the disk.
    fn config(&self) -> [u8; CONFIG_BYTES] {
        let mut config = [0; CONFIG_BYTES];
        let sectors = self.bytes / SECTOR_BYTES;
        let at_once = sectors.min(MAX_DISCARD) as u32;
        config[..8].copy_from_slice(&sectors.to_le_bytes());
        // seg_max; of discards and of zeros: sectors at once and segments; discards' alignment.
        let words = [
            (12, SEGMENTS),
            (36, at_once),
            (40, 1),
            (44, 1),
            (48, at_once),
            (52, 1),
        ];
        for (at, word) in words {
            config[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        // Zeros may be holes.
        config[56] = 1;
        config
    }

    /// The answer to a request for the configuration.
    ///
    /// # Errors
    /// It asks for what is not there.
    pub fn read_config(&self, message: &VhostMessage) -> io::Result<Vec<u8>> {
        let (from, bytes) = (message.word(0)? as usize, message.word(4)? as usize);
        let config = self.config();
        let part = config.get(from..).and_then(|rest| rest.get(..bytes));
        let part = part.ok_or_else(|| invalid("there is no such configuration"))?;
        Ok([&message.payload[..12], part].concat())
    }

    /// The guest's memory: file and place of each region.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn set_memory(&mut self, message: &mut VhostMessage) -> io::Result<()> {
        let mut regions = Vec::new();
        for i in 0..message.fds.len() {
            let at = 8 + 32 * i;
            let bytes = usize::try_from(message.long(at + 8)?).map_err(invalid)?;
            regions.push((
                GuestAddress(message.long(at)?),
                bytes,
                message.long(at + 24)?,
            ));
        }
        let files = message.fds.drain(..).map(File::from);
        let ranges = regions.into_iter().zip(files);
        let ranges = ranges
            .map(|((at, bytes, offset), file)| (at, bytes, Some(FileOffset::new(file, offset))));
        let memory = GuestMemoryMmap::from_ranges_with_files(ranges).map_err(invalid)?;
        self.memory = Arc::new(memory);
        Ok(())
    }

    /// How many entries the ring has.
    ///
    /// # Errors
    /// More than are possible.
    pub fn set_entries(&mut self, message: &VhostMessage) -> io::Result<()> {
        let entries = u16::try_from(message.word(4)?).map_err(invalid)?;
        self.queue.set_size(entries);
        if self.queue.size() == entries {
            Ok(())
        } else {
            Err(invalid(format!("a ring of {entries} entries")))
        }
    }

    /// Where its parts lie.
    ///
    /// # Errors
    /// They cannot lie there.
    pub fn set_places(&mut self, message: &VhostMessage) -> io::Result<()> {
        let halves = |at| -> io::Result<_> {
            let place = message.long(at)?;
            Ok((Some(place as u32), Some((place >> 32) as u32)))
        };
        let (low, high) = halves(8)?;
        self.queue.set_desc_table_address(low, high);
        let (low, high) = halves(16)?;
        self.queue.set_used_ring_address(low, high);
        let (low, high) = halves(24)?;
        self.queue.set_avail_ring_address(low, high);
        self.queue.set_ready(true);
        if self.queue.is_valid(&*self.memory) {
            Ok(())
        } else {
            Err(invalid("the ring does not lie in the guest's memory"))
        }
    }

    /// The next request, and where its answer goes.
    pub fn next(&mut self) -> Option<(BlkRequest, Held)> {
        let held = self.queue.pop_descriptor_chain(Arc::clone(&self.memory))?;
        let request = self.request(&held).unwrap_or(BlkRequest::Refused);
        Some((request, held))
    }

    fn request(&self, held: &Held) -> io::Result<BlkRequest> {
        let mut from = Reader::new(&*self.memory, held.clone()).map_err(invalid)?;
        let kind: u32 = from.read_obj()?;
        let _priority: u32 = from.read_obj()?;
        let mut sector: u64 = from.read_obj()?;
        let mut data = Vec::new();
        let mut bytes = 0;
        let command = match kind {
            spec::VIRTIO_BLK_T_IN => {
                let into = Writer::new(&*self.memory, held.clone()).map_err(invalid)?;
                // The last byte is the answer's.
                bytes = into.available_bytes().saturating_sub(1) as u64;
                NbdCommand::Read
            }
            spec::VIRTIO_BLK_T_OUT => {
                from.read_to_end(&mut data)?;
                bytes = data.len() as u64;
                NbdCommand::Write
            }
            spec::VIRTIO_BLK_T_FLUSH => NbdCommand::Flush,
            spec::VIRTIO_BLK_T_GET_ID => return Ok(BlkRequest::Sign),
            spec::VIRTIO_BLK_T_DISCARD | spec::VIRTIO_BLK_T_WRITE_ZEROES => {
                sector = from.read_obj()?;
                bytes = u64::from(from.read_obj::<u32>()?) * SECTOR_BYTES;
                match kind {
                    spec::VIRTIO_BLK_T_DISCARD => NbdCommand::Trim,
                    _ => NbdCommand::WriteZeroes,
                }
            }
            _ => return Ok(BlkRequest::Refused),
        };
        if command == NbdCommand::Flush {
            sector = 0;
        }
        let offset = sector.checked_mul(SECTOR_BYTES);
        let end = offset.and_then(|offset| offset.checked_add(bytes));
        let whole = bytes.is_multiple_of(SECTOR_BYTES) && end.is_some_and(|end| end <= self.bytes);
        Ok(match (offset, u32::try_from(bytes)) {
            (Some(offset), Ok(bytes)) if whole => {
                BlkRequest::Io(NbdRequest::of(command, offset, bytes), data)
            }
            _ => BlkRequest::Refused,
        })
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The place of the answer is not in the guest's memory.
    pub fn answer(&mut self, held: &Held, outcome: &NbdOutcome) -> io::Result<()> {
        let (data, status): (&[u8], _) = match outcome {
            NbdOutcome::Done | NbdOutcome::Allocation(_) => (&[], spec::VIRTIO_BLK_S_OK),
            NbdOutcome::Data(_, data) => (data, spec::VIRTIO_BLK_S_OK),
            NbdOutcome::Failed(_) => (&[], spec::VIRTIO_BLK_S_IOERR),
        };
        let mut into = Writer::new(&*self.memory, held.clone()).map_err(invalid)?;
        let room = into.available_bytes().checked_sub(1);
        let room = room.ok_or_else(|| invalid("a request without place for its answer"))?;
        let mut last = into.split_at(room).map_err(invalid)?;
        let data = &data[..data.len().min(room)];
        into.write_all(data)?;
        // The rest of the buffer is zero.
        into.write_all(&vec![0; room - data.len()])?;
        last.write_all(&[status as u8])?;
        let written = room as u32 + 1;
        let memory = Arc::clone(&self.memory);
        let used = self.queue.add_used(&*memory, held.head_index(), written);
        used.map_err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_discarded_at_once_fits_a_request() {
        let ring = BlkRing::new(1 << 40).expect("a ring");
        let config = ring.config();
        for at in [36, 48] {
            let sectors = u32::from_le_bytes(*config[at..].first_chunk().expect("4 bytes"));
            assert!(u32::try_from(u64::from(sectors) * SECTOR_BYTES).is_ok());
            assert!(sectors.is_multiple_of(128), "whole pages of 64 KiB");
        }
    }
}
