//! The request rules D1 to D12 on a cache small enough to follow by hand.

use super::*;
use crate::flash::CacheOnly;
use destage_scheme::policy::lru::Lru;
use destage_scheme::{Env, Expr, Pages, Policy};
use destage_types::{HostRequest, RequestBatch};

type LruCache = Cache<Pages<Lru>, CacheOnly>;

fn cache(capacity: u32, read_alloc: bool) -> LruCache {
    let options = CacheOptions {
        read_alloc,
        read_fill: ReadFill::Page,
        rmw: true,
        wrap: None,
        nvm: false,
    };
    let geometry = CacheGeometry {
        capacity,
        slots: capacity,
        page: PageSize::KIB4,
        layout: StaticLayout::flat(1, 1),
    };
    Cache::new(
        Pages::of(Lru::build(
            &Expr::parse("lru").unwrap(),
            &Env::cache_only(capacity),
        )),
        CacheOnly,
        geometry,
        options,
    )
}

/// Runs (op, first sector, sectors) and returns the counters.
fn run(cache: &mut LruCache, requests: &[(Op, u64, u32)]) -> Counts {
    let mut batch = RequestBatch::new();
    for &(op, start, sectors) in requests {
        batch.push(HostRequest::new(Nanos(0), op, start, sectors));
    }
    for (i, request) in batch.iter().enumerate() {
        cache.serve(request, i as u64, Nanos(i as u64));
    }
    cache.counts()
}

use Op::{Flush, Read, Trim, Write};

#[test]
fn a_partial_write_makes_a_partial_read_miss() {
    let mut cache = cache(2, false);
    let c = run(&mut cache, &[(Write, 0, 4), (Read, 0, 4), (Read, 2, 4)]);
    assert_eq!((c.read_page_hits, c.flash_reads_host), (1, 1));
    assert_eq!((c.read_sector_hits, c.read_sectors), (6, 8));
    let slot = cache.frames().slot_of(Lpn(0)).unwrap();
    assert_eq!(
        cache.frames().valid(slot).count(),
        4,
        "without read_alloc nothing changes"
    );
}

#[test]
fn a_partial_read_miss_fills_the_page_and_keeps_dirty_sectors() {
    let mut cache = cache(2, true);
    let c = run(&mut cache, &[(Write, 0, 4), (Read, 2, 4), (Read, 0, 8)]);
    assert_eq!((c.read_page_hits, c.flash_reads_host), (1, 1));
    let slot = cache.frames().slot_of(Lpn(0)).unwrap();
    assert!(cache.frames().is_full(slot));
    assert_eq!(cache.frames().dirty(slot).count(), 4);
}

#[test]
fn evicting_a_partial_page_reads_before_it_programs() {
    let c = run(
        &mut cache(1, false),
        &[(Write, 0, 4), (Write, 8, 8), (Write, 16, 8)],
    );
    assert_eq!(
        (c.evictions, c.flash_writes_host, c.flash_reads_host),
        (2, 2, 1)
    );
}

#[test]
fn a_request_larger_than_the_cache_evicts_its_own_pages() {
    let c = run(&mut cache(2, false), &[(Write, 0, 40)]);
    assert_eq!((c.write_pages, c.evictions, c.page_hits), (5, 3, 0));
}

#[test]
fn trim_takes_whole_pages_and_covered_sectors() {
    let mut cache = cache(4, false);
    let c = run(&mut cache, &[(Write, 0, 24), (Trim, 4, 12)]);
    assert_eq!(
        (c.trim_requests, c.flash_writes_host, c.page_accesses),
        (1, 0, 3)
    );
    let first = cache.frames().slot_of(Lpn(0)).unwrap();
    assert_eq!(cache.frames().valid(first).count(), 4);
    assert!(cache.frames().slot_of(Lpn(1)).is_none());
    assert!(cache.frames().slot_of(Lpn(2)).is_some());
}

#[test]
fn flush_programs_every_dirty_page_once_and_keeps_it() {
    let c = run(
        &mut cache(4, false),
        &[(Write, 0, 24), (Flush, 0, 0), (Flush, 0, 0)],
    );
    assert_eq!(
        (c.flush_requests, c.flash_writes_host, c.evictions),
        (2, 3, 0)
    );
}

#[test]
fn request_hits_by_all_three_rules() {
    let c = run(
        &mut cache(8, true),
        &[(Write, 0, 8), (Read, 0, 16), (Read, 0, 16)],
    );
    assert_eq!((c.read_request_hits, c.read_request_hits_any), (1, 2));
    assert_eq!(c.read_hit_fraction_sum, 1.5);
}

/// A group of extents has as many pages as all of them, be they more than 32 bits count.
#[test]
fn pages_of_a_request_are_those_of_its_extents() {
    let longest = |start| Extent::new(start, u32::MAX);
    let of_one = 1 << 29;
    for count in [1, 7, 8, 9, 100] {
        let extents: Vec<Extent> = (0..count).map(|i| longest(i << 33)).collect();
        let r = cache(1, true).request_of::<false>(&extents, Read, Nanos(0));
        assert_eq!(r.pages, count * of_one);
        assert_eq!(r.bytes, count * u64::from(u32::MAX) * 512);
        // Between two pages an extent touches one more.
        let across: Vec<Extent> = (0..count).map(|i| longest((i << 33) + 7)).collect();
        let r = cache(1, true).request_of::<false>(&across, Read, Nanos(0));
        assert_eq!(r.pages, count * (of_one + 1));
    }
}
