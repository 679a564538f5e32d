//! The pages of a trace: small numbers for them in order of first touch, and how many there are.

use destage_scheme::store::PageIndex;
use destage_types::{Extent, Lpn, PageSize, RequestRef, SectorMask};

/// LPN -> number.
pub(super) struct PageNumbers {
    /// Number of the page plus one; 0: not touched.
    numbers: PageIndex<u32>,
    pages: u32,
}

impl Default for PageNumbers {
    fn default() -> PageNumbers {
        let numbers = PageIndex::new(0);
        PageNumbers { numbers, pages: 0 }
    }
}

impl PageNumbers {
    /// Number of a page that was touched.
    pub fn known(&self, lpn: Lpn) -> Option<u32> {
        self.numbers.get(lpn.0).checked_sub(1)
    }

    /// Number of a page that was touched, else `u32::MAX`. Nothing branches on what comes from memory, so that the
    /// processor waits for many at a time.
    #[inline]
    pub fn or_max(&self, lpn: Lpn) -> u32 {
        self.numbers.get(lpn.0).wrapping_sub(1)
    }

    /// Number of a page, a new one if it has none.
    pub fn number(&mut self, lpn: Lpn) -> u32 {
        let number = self.numbers.at(lpn.0);
        if *number == 0 {
            self.pages += 1;
            *number = self.pages;
        }
        *number - 1
    }
}

/// Counts different pages, with a bit for each.
pub(super) struct PageCount {
    seen: PageIndex<u8>,
    /// Pages so far.
    pub pages: u64,
}

impl Default for PageCount {
    fn default() -> PageCount {
        let seen = PageIndex::new(0);
        PageCount { seen, pages: 0 }
    }
}

impl PageCount {
    pub fn touch(&mut self, lpn: Lpn) {
        let (seen, bit) = (self.seen.at(lpn.0 / 8), 1 << (lpn.0 % 8));
        self.pages += u64::from(*seen & bit == 0);
        *seen |= bit;
    }
}

/// Calls `f` with the pages of a request and the sectors of each that it asks for, in the order
/// of the cache core: extent by extent, ascending.
#[inline]
pub(super) fn each_page(
    request: RequestRef<'_>,
    page: PageSize,
    mut f: impl FnMut(Lpn, SectorMask),
) {
    let mut each = |extent: Extent| {
        let (mut at, end) = (extent.start_sector, extent.end());
        while at < end {
            let lpn = page.page_of(at);
            let behind = page.first_sector(Lpn(lpn.0 + 1)).min(end);
            f(lpn, SectorMask::span(page.offset(at), (behind - at) as u32));
            at = behind;
        }
    };
    match request.only_extent() {
        Some(only) => each(only),
        None => request.extents().for_each(each),
    }
}

/// The page of a request that lies in a single one.
#[inline]
pub(super) fn only_page(request: RequestRef<'_>, page: PageSize) -> Option<Lpn> {
    let only = request.only_extent()?;
    let lpn = page.page_of(only.start_sector);
    (page.page_of(only.end() - 1) == lpn).then_some(lpn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_once() {
        let mut pages = PageNumbers::default();
        let far = Lpn(1 << 30);
        assert_eq!(pages.known(far), None);
        assert_eq!(
            (pages.number(far), pages.number(Lpn(0)), pages.number(far)),
            (0, 1, 0)
        );
        assert_eq!(
            (pages.known(far), pages.known(Lpn(1)), pages.known(Lpn(0))),
            (Some(0), None, Some(1))
        );
        assert_eq!((pages.or_max(far), pages.or_max(Lpn(1))), (0, u32::MAX));
    }
    #[test]
    fn pages_are_counted_once() {
        let mut count = PageCount::default();
        for lpn in [7, 8, 7, 1 << 30, 0, 8] {
            count.touch(Lpn(lpn));
        }
        assert_eq!(count.pages, 4);
    }
}
