//! The NBD protocol as functions over bytes: nothing here reads, writes or waits.
//!
//! Numbers and names are those of the [specification](https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md).

pub mod negotiation;
pub mod transmission;

use destage_types::SECTOR_BYTES;

/// Least and preferred alignment, and the longest READ and WRITE, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths are multiples of this.
    pub minimum: u32,
    /// The fastest size: the page of the device.
    pub preferred: u32,
    /// Longest READ and WRITE.
    pub maximum: u32,
}

/// The longest READ and WRITE that are served: what clients may expect of every server.
pub const MAX_REQUEST_BYTES: u32 = 32 << 20;

impl BlockSizes {
    /// Those of a device with pages of `page` bytes: it takes single sectors.
    pub fn of_page(page: u32) -> BlockSizes {
        BlockSizes {
            minimum: SECTOR_BYTES as u32,
            preferred: page,
            maximum: MAX_REQUEST_BYTES,
        }
    }
}

/// Error numbers of replies.
pub mod errno {
    /// The export is read-only.
    pub const EPERM: u32 = 1;
    /// The data store failed.
    pub const EIO: u32 = 5;
    /// The request cannot be meant: flags, alignment, beyond the end.
    pub const EINVAL: u32 = 22;
    /// A write goes beyond the end.
    pub const ENOSPC: u32 = 28;
    /// Longer than one reply without fragments can be.
    pub const EOVERFLOW: u32 = 75;
    /// The server ends.
    pub const ESHUTDOWN: u32 = 108;
}

/// Integers at the front of a buffer, in network order. `None` where the buffer is too short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireFields<'a>(pub &'a [u8]);

impl<'a> WireFields<'a> {
    pub fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.bytes(2)?.try_into().ok()?))
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.bytes(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.bytes(8)?.try_into().ok()?))
    }

    /// A length of four bytes and as many bytes of UTF-8.
    pub fn text(&mut self) -> Option<&'a str> {
        let n = self.u32()?;
        std::str::from_utf8(self.bytes(n as usize)?).ok()
    }
}
