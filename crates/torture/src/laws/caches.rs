//! A cache written once more, as small as it can be: LRU and FIFO of whole pages.

use super::Law;
use crate::case::Case;
use crate::compare::{count, want};
use crate::lab::{Lab, Verdict};
use crate::requests::{BLOCK, Request};
use destage_types::{Op, RequestFlags};

pub const OWN_CACHES: Law = Law {
    name: "own-caches",
    promise: "hits and evictions of lru and fifo are those of two caches of a few lines",
    adapt: |case, rng| {
        case.no_device();
        case.options.clear();
        case.scheme = ["lru", "fifo"][rng.below(2) as usize].to_owned();
        case.page = 4096;
        case.frames = 1 + rng.below(60);
        whole_pages(&mut case.requests);
    },
    check: own_caches,
};

/// Rounds every extent to whole pages; what no longer is apart in one request goes.
fn whole_pages(requests: &mut [Request]) {
    let block = u64::from(BLOCK);
    for request in requests {
        request.host.extents.truncate(1);
        request.host.prev.clear();
        for (start, sectors) in &mut request.host.extents {
            let end = (*start + u64::from(*sectors)).next_multiple_of(block);
            *start -= *start % block;
            *sectors = (end - *start) as u32;
        }
    }
}

/// Counters of a cache.
#[derive(Default)]
struct Own {
    hits: u64,
    evictions: u64,
    programs: u64,
}

/// Serves the requests with a list of pages, the next victim first, and whether each is dirty.
fn serve(case: &Case) -> Own {
    let recency = case.scheme == "lru";
    let mut own = Own::default();
    let mut pages: Vec<(u64, bool)> = Vec::new();
    for request in &case.requests {
        let op = request.host.op;
        let flags = request.host.flags;
        if op == Op::Flush || flags.any(RequestFlags::PREFLUSH) {
            own.programs += clean(&mut pages, |_| true);
        }
        let block = u64::from(BLOCK);
        let extents = request.host.extents.iter();
        let touched = extents.flat_map(|&(start, n)| start / block..(start + u64::from(n)) / block);
        let touched: Vec<u64> = touched.collect();
        for &number in &touched {
            let place = pages.iter().position(|page| page.0 == number);
            let write = op == Op::Write;
            match place {
                Some(place) if op == Op::Trim => drop(pages.remove(place)),
                None if op == Op::Trim => {}
                Some(place) => {
                    own.hits += 1;
                    pages[place].1 |= write;
                    if recency {
                        let page = pages.remove(place);
                        pages.push(page);
                    }
                }
                None => {
                    if pages.len() as u64 == case.frames {
                        own.evictions += 1;
                        own.programs += u64::from(pages.remove(0).1);
                    }
                    pages.push((number, write));
                }
            }
        }
        if flags.any(RequestFlags::FUA) {
            own.programs += clean(&mut pages, |number| touched.contains(&number));
        }
    }
    own
}

/// Programs the dirty pages that are `wanted`, and says how many those were.
fn clean(pages: &mut [(u64, bool)], wanted: impl Fn(u64) -> bool) -> u64 {
    let dirty = pages.iter_mut().filter(|page| page.1 && wanted(page.0));
    dirty.map(|page| page.1 = false).count() as u64
}

fn own_caches(lab: &Lab, case: &Case) -> Verdict {
    let Some(record) = lab.record(&case.with("--read-alloc on"), "trace.csv")? else {
        return Ok(false);
    };
    let own = serve(case);
    want("hits", own.hits, count(&record, "page_hits"))?;
    want("evictions", own.evictions, count(&record, "evictions"))?;
    want(
        "programs",
        own.programs,
        count(&record, "flash_writes_host"),
    )?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_conformance::reference::SlowRequest;

    fn served(scheme: &str, requests: &[(Op, u64)]) -> [u64; 3] {
        let request = |&(op, page)| Request {
            host: SlowRequest::pages(op, BLOCK, page, page),
            stream: 0,
            tag: "",
        };
        let own = serve(&Case {
            requests: requests.iter().map(request).collect(),
            scheme: scheme.to_owned(),
            frames: 2,
            page: 4096,
            device: None,
            options: Vec::new(),
            seed: 0,
        });
        [own.hits, own.evictions, own.programs]
    }

    #[test]
    fn two_pages_by_hand() {
        use Op::{Read, Trim, Write};
        let requests = [(Write, 1), (Read, 2), (Read, 1), (Write, 3), (Read, 1)];
        assert_eq!(served("lru", &requests), [2, 1, 0]);
        assert_eq!(served("fifo", &requests), [1, 2, 1]);
        assert_eq!(
            served("lru", &[(Write, 1), (Trim, 1), (Read, 1)]),
            [0, 0, 0]
        );
    }
}
