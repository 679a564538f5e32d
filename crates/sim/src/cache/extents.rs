//! Which pages and sectors the extents of a request cover.

use destage_types::{Extent, Lpn, PageSize, SectorMask};

/// Page accesses of a request: those of each extent are fewer than 2^32, their sum need not be.
pub(crate) fn pages_of(extents: &[Extent], page: PageSize) -> u64 {
    extents
        .iter()
        .map(|e| u64::from(page_span(e, page).1))
        .sum()
}

/// First page of an extent and the number of pages it touches.
#[inline]
pub(crate) fn page_span(extent: &Extent, page: PageSize) -> (Lpn, u32) {
    let first = page.page_of(extent.start_sector);
    let last = page.page_of(extent.end() - 1);
    (first, (last.0 - first.0 + 1) as u32)
}

/// Takes addresses modulo an address space of `space` sectors; an extent that crosses its end
/// becomes two. Says whether anything was changed.
pub(crate) fn wrap_extents(extents: &mut Vec<Extent>, space: u64) -> bool {
    if extents.iter().all(|e| e.end() <= space) {
        return false;
    }
    for mut rest in std::mem::take(extents) {
        while rest.sectors > 0 {
            rest.start_sector %= space;
            let left = space - rest.start_sector;
            let sectors = u64::from(rest.sectors).min(left) as u32;
            extents.push(Extent { sectors, ..rest });
            rest.start_sector += u64::from(sectors);
            rest.sectors -= sectors;
        }
    }
    true
}

/// Sectors of page `lpn` that an extent covers.
#[inline]
pub(crate) fn page_sectors(extent: &Extent, lpn: Lpn, page: PageSize) -> SectorMask {
    let start = page.first_sector(lpn);
    let from = extent.start_sector.max(start);
    let to = extent.end().min(start + u64::from(page.sectors()));
    SectorMask::span((from - start) as u32, (to - from) as u32)
}
