//! Addresses of a trace: checked, and rounded to whole sectors.

use destage_types::{Extent, SECTOR_BYTES};

use crate::error::FieldFault;

/// Every extent of a trace ends at or below this byte address, 256 TiB: far above any device
/// that can be simulated, far below where the arithmetic on addresses could overflow.
pub const MAX_BYTES: u64 = 1 << 48;

const MAX_SECTORS: u64 = MAX_BYTES / SECTOR_BYTES;

const ZERO: &str = "is zero: a request moves at least one sector";
const BEHIND: &str = "starts or ends behind 256 TiB, the largest address";
const LONG: &str = "is longer than 4294967295 sectors (2 TiB less 512 B), the largest request";
const MOST_BYTES: u64 = u32::MAX as u64 * SECTOR_BYTES;

/// Which of the two numbers is wrong, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExtentFault {
    Start(&'static str),
    Length(&'static str),
}

impl ExtentFault {
    /// The fault in the columns of a format.
    pub const fn at(self, start: u16, length: u16) -> FieldFault {
        match self {
            ExtentFault::Start(why) => FieldFault::at(start, why),
            ExtentFault::Length(why) => FieldFault::at(length, why),
        }
    }
}

/// An extent given in sectors.
#[inline]
pub(crate) fn from_sectors(start_sector: u64, sectors: u64) -> Result<Extent, ExtentFault> {
    if sectors == 0 {
        return Err(ExtentFault::Length(ZERO));
    }
    if sectors > u64::from(u32::MAX) {
        return Err(ExtentFault::Length(LONG));
    }
    if start_sector > MAX_SECTORS || sectors > MAX_SECTORS - start_sector {
        return Err(ExtentFault::Start(BEHIND));
    }
    let sectors = sectors as u32;
    Ok(Extent::new(start_sector, sectors))
}

/// An extent given in bytes, rounded outward to whole sectors, and whether that changed it.
#[inline]
pub(crate) fn from_bytes(offset: u64, bytes: u64) -> Result<(Extent, bool), ExtentFault> {
    if bytes == 0 {
        return Err(ExtentFault::Length(ZERO));
    }
    if offset > MAX_BYTES || bytes > MAX_BYTES - offset {
        return Err(match bytes > MOST_BYTES {
            true => ExtentFault::Length(LONG),
            false => ExtentFault::Start(BEHIND),
        });
    }
    let start_sector = offset / SECTOR_BYTES;
    let end = (offset + bytes).div_ceil(SECTOR_BYTES);
    let Ok(sectors) = u32::try_from(end - start_sector) else {
        return Err(ExtentFault::Length(LONG));
    };
    let extent = Extent::new(start_sector, sectors);
    Ok((extent, !(offset | bytes).is_multiple_of(SECTOR_BYTES)))
}

/// An extent of bytes that begins at a sector.
#[inline]
pub(crate) fn from_sector_and_bytes(
    start_sector: u64,
    bytes: u64,
) -> Result<(Extent, bool), ExtentFault> {
    if start_sector > MAX_SECTORS {
        return Err(ExtentFault::Start(BEHIND));
    }
    from_bytes(start_sector * SECTOR_BYTES, bytes)
}

/// An extent of 4 KiB blocks.
#[inline]
pub(crate) fn from_blocks(block: u64, blocks: u64) -> Result<(Extent, bool), ExtentFault> {
    if blocks > u64::from(u32::MAX) / 8 {
        return Err(ExtentFault::Length(LONG));
    }
    if block >= MAX_BYTES / 4096 {
        return Err(ExtentFault::Start(BEHIND));
    }
    from_sectors(block * 8, blocks * 8).map(|extent| (extent, false))
}

/// Limits of a request, so that a few lines cannot ask for any amount of memory: 4 KiB blocks of one
/// that names old addresses, 1 GiB, and extents.
pub(crate) const MAX_BLOCKS: u64 = 1 << 18;
pub(crate) const MAX_EXTENTS: usize = 1 << 16;
/// Why requests beyond these are refused.
pub(crate) const TOO_MANY_EXTENTS: &str = "has more than 65536 extents";
pub(crate) const TOO_MANY_BLOCKS: &str =
    "is longer than 1 GiB, too much for a list of old addresses";

/// 4 KiB blocks that the extent touches, the unit of old addresses (CAC section 4.1).
pub(crate) fn blocks(extent: Extent) -> u64 {
    (extent.end() - 1) / 8 - extent.start_sector / 8 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(offset: u64, bytes: u64) -> (u64, u32, bool) {
        let (e, rounded) = from_bytes(offset, bytes).unwrap();
        (e.start_sector, e.sectors, rounded)
    }

    #[test]
    fn bytes_are_rounded_outward() {
        assert_eq!(bytes(4096, 1024), (8, 2, false));
        assert_eq!(bytes(511, 1), (0, 1, true));
        assert_eq!(bytes(511, 2), (0, 2, true));
        assert_eq!(bytes(512, 513), (1, 2, true));
        assert_eq!(bytes(MAX_BYTES - 1, 1), (MAX_SECTORS - 1, 1, true));
        assert_eq!(bytes(0, MOST_BYTES), (0, u32::MAX, false));
        assert_eq!(bytes(511, MOST_BYTES - 512), (0, u32::MAX, true));
    }

    #[test]
    fn the_limits_are_exact() {
        assert_eq!(from_bytes(MAX_BYTES, 1), Err(ExtentFault::Start(BEHIND)));
        assert_eq!(from_bytes(u64::MAX, 512), Err(ExtentFault::Start(BEHIND)));
        assert_eq!(from_bytes(0, u64::MAX), Err(ExtentFault::Length(LONG)));
        for (offset, long) in [(0, MOST_BYTES + 1), (511, MOST_BYTES), (MAX_BYTES, 1 << 41)] {
            let refused = from_bytes(offset, long);
            assert_eq!(refused, Err(ExtentFault::Length(LONG)), "{offset}+{long}");
        }
        assert_eq!(from_bytes(0, 0), Err(ExtentFault::Length(ZERO)));
        assert_eq!(from_sectors(0, 0), Err(ExtentFault::Length(ZERO)));
        assert_eq!(from_sectors(0, 1 << 32), Err(ExtentFault::Length(LONG)));
        let behind = from_sectors(MAX_SECTORS, 1);
        assert_eq!(behind, Err(ExtentFault::Start(BEHIND)));
        assert!(from_sectors(MAX_SECTORS - 1, 1).is_ok());
        assert!(from_sectors(0, u64::from(u32::MAX)).is_ok());
    }

    #[test]
    fn blocks_are_those_touched() {
        let count = |start, n| blocks(from_sectors(start, n).unwrap());
        assert_eq!(count(0, 8), 1);
        assert_eq!(count(7, 2), 2);
        assert_eq!(count(8, 17), 3);
    }
}
