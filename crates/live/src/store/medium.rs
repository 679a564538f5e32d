//! Where durable pages are kept.

use std::io;

/// Bytes by address. Offsets and lengths lie within the capacity; what was never written is zero.
pub trait Medium: Send {
    /// Fills `out` from `offset` on.
    ///
    /// # Errors
    /// The bytes cannot be read.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes `data` from `offset` on.
    ///
    /// # Errors
    /// The bytes cannot be written.
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// The bytes read as zeros, and take no space where that can be had.
    ///
    /// # Errors
    /// The bytes cannot be changed.
    fn discard(&mut self, offset: u64, bytes: u64) -> io::Result<()>;

    /// Whether there are data at `offset`, and for how many bytes that holds, at most `bytes`.
    ///
    /// # Errors
    /// The medium cannot tell.
    fn allocation(&self, offset: u64, bytes: u64) -> io::Result<(bool, u64)>;

    /// Waits until everything written would outlast the host.
    ///
    /// # Errors
    /// It might not.
    fn sync(&mut self) -> io::Result<()>;

    /// Sets space aside for the bytes: writing them does not fail for want of space.
    ///
    /// # Errors
    /// There is no space ([`io::ErrorKind::StorageFull`]).
    fn reserve(&mut self, _offset: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    /// Gives back all space that was set aside and not written.
    fn release(&mut self) {}

    /// Is what is written what is read? Not for a pattern.
    fn keeps_data(&self) -> bool {
        true
    }
}

/// Keeps nothing: each aligned group of eight bytes reads as its own address, least byte first.
#[derive(Clone, Copy, Debug)]
pub struct AddressPattern;

impl Medium for AddressPattern {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        for (at, byte) in (offset..).zip(out) {
            *byte = (at & !7).to_le_bytes()[(at & 7) as usize];
        }
        Ok(())
    }

    fn write(&mut self, _offset: u64, _data: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn discard(&mut self, _offset: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn allocation(&self, _offset: u64, bytes: u64) -> io::Result<(bool, u64)> {
        Ok((true, bytes))
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn keeps_data(&self) -> bool {
        false
    }
}
