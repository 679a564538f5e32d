//! How much metadata a scheme can come to have: what `--charge-metadata` takes from the cache.
//!
//! [`Scheme::metadata_bytes`](crate::Scheme::metadata_bytes) is what a scheme has at one instant. A controller that keeps it beside the data has to set memory aside for the worst
//! instant, so it is the bound that is charged, not the live sum: the number of frames then stays
//! the same during a run, as the parameters of the schemes (ARC's p, 2Q's `kin`, the window of
//! CFLRU) need, and metadata and pages together fit into the cache at every instant.

use crate::Expr;
use destage_types::PageSize;

/// Inputs of the metadata bound of a scheme, besides its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetadataContext {
    /// Page frames of the cache; for the policy of one chip those it is meant for.
    pub frames: u64,
    /// Size of a page.
    pub page: PageSize,
    /// Chip queues of the device; 1 without one.
    pub chips: u64,
    /// Logical pages the host writes to: the end of the address space in use.
    pub pages: u64,
    /// Most extents of one request.
    pub extents: u64,
    /// Does the scheme share the frames with others (the list of `prober`, the chips of `ecr`)?
    /// It then may hold few pages while the cache is full.
    pub shares: bool,
    /// Do several pages leave before the first of a request comes in (`procache`)?
    pub batches: bool,
}

/// The most metadata of a scheme in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MetadataBound {
    /// For each page in the cache.
    pub per_page: u64,
    /// Independent of the number of cached pages: ghosts, tables, list heads.
    pub fixed: u64,
}

/// The bound of one layer with all inside it; `None`: there is none.
pub type Metadata = fn(&Expr, &MetadataContext) -> Option<MetadataBound>;

impl MetadataBound {
    /// A node for each cached page.
    pub const fn nodes(bytes: u64) -> MetadataBound {
        MetadataBound {
            per_page: bytes,
            fixed: 0,
        }
    }

    /// More bytes for each page.
    #[must_use]
    pub const fn and_per_page(mut self, bytes: u64) -> MetadataBound {
        self.per_page = self.per_page.saturating_add(bytes);
        self
    }

    /// `count` entries of `bytes` more.
    #[must_use]
    pub const fn and_entries(mut self, count: u64, bytes: u64) -> MetadataBound {
        self.fixed = self.fixed.saturating_add(count.saturating_mul(bytes));
        self
    }

    /// Bytes of a cache that holds `pages` pages.
    pub const fn bytes(self, pages: u64) -> u64 {
        self.fixed
            .saturating_add(self.per_page.saturating_mul(pages))
    }
}

/// A layer without metadata of its own.
pub const OF_INNER: Metadata = |e, c| inner(e, c);

/// The bound of the scheme inside `e`.
pub fn inner(e: &Expr, c: &MetadataContext) -> Option<MetadataBound> {
    e.inner()?.metadata(c)
}

/// Most page frames that fit into `cache` bytes together with their metadata, and the bytes the
/// metadata then needs at most; `None`: the metadata has no bound. Both are 0 if nothing fits.
pub fn charged_frames(e: &Expr, cache: u64, context: &MetadataContext) -> Option<(u64, u64)> {
    let metadata = |frames| {
        let context = MetadataContext { frames, ..*context };
        Some(e.metadata(&context)?.bytes(frames))
    };
    let page = context.page.bytes();
    let fits = |frames: u64| {
        let pages = frames.saturating_mul(page);
        Some(pages.saturating_add(metadata(frames)?) <= cache)
    };
    // No bound falls with the number of frames.
    let (mut most, mut too_many) = (0, cache / page + 1);
    while too_many - most > 1 {
        let middle = most + (too_many - most) / 2;
        if fits(middle)? {
            most = middle;
        } else {
            too_many = middle;
        }
    }
    match most {
        0 => Some((0, 0)),
        _ => Some((most, metadata(most)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> MetadataContext {
        MetadataContext {
            frames: 0,
            page: PageSize::KIB4,
            chips: 4,
            pages: 1000,
            extents: 2,
            shares: false,
            batches: false,
        }
    }

    fn frames(expr: &str, cache: u64) -> Option<(u64, u64)> {
        charged_frames(&Expr::parse(expr).unwrap(), cache, &context())
    }

    /// 16 MiB: 4096 frames of 4 KiB without the charge.
    #[test]
    fn frames_that_fit_beside_their_metadata() {
        let cache = 16 << 20;
        let lru = cache / (4096 + 12);
        assert_eq!(frames("lru", cache), Some((lru, 12 * lru)));
        let arc = cache / (4096 + 12 + 8);
        assert_eq!(frames("arc", cache), Some((arc, 20 * arc)));
        let req_block = cache / (4096 + 32);
        assert_eq!(
            frames("req-block", cache),
            Some((req_block, 32 * req_block))
        );
        // Counters of Baek section 5.3: 1 B for each of 1000 pages.
        let counted = (cache - 1000) / (4096 + 12);
        assert_eq!(
            frames("refcount(lru)", cache),
            Some((counted, 12 * counted + 1000))
        );
        // 3000 nodes of 16 B (Prober section 3.1) for each of two extents.
        let queue = 2 * 3000 * 16;
        let prober = (cache - queue) / (4096 + 12);
        assert_eq!(
            frames("prober(lru)", cache),
            Some((prober, 12 * prober + queue))
        );
        // Four chips and the clean list.
        let ecr = (cache - 5 * 8) / (4096 + 13);
        assert_eq!(frames("ecr", cache), Some((ecr, 13 * ecr + 40)));
    }

    #[test]
    fn caches_that_are_too_small_and_metadata_without_bound() {
        assert_eq!(frames("lru", 4096), Some((0, 0)));
        assert_eq!(frames("lru", 4096 + 12), Some((1, 12)));
        assert_eq!(frames("prober(lru)", 64 << 10), Some((0, 0)));
        assert_eq!(frames("lirs(max-nonres=inf)", 1 << 20), None);
        assert_eq!(frames("cac(prober(lirs(max-nonres=inf)))", 1 << 20), None);
        assert_eq!(frames("prober(lru, rip=4294967295)", 1 << 20), Some((0, 0)));
    }
}
