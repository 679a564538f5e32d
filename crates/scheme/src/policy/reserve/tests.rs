//! Worked by hand.

use crate::testing::{TestCache, boxed};
use crate::{Boxed, Occasion, Request, Scheme, SchemeNotice, View};
use destage_types::{Nanos, Op};

/// Hands pages over until the scheme names none.
fn hand_over(cache: &mut TestCache<Boxed>, units: u32) -> Vec<u64> {
    let mut pages = Vec::new();
    while let [page] = cache.write_back_on(Occasion::ProgramEnd, units, &[]).0[..] {
        cache.flush(|lpn| lpn == page);
        pages.push(page);
    }
    pages
}

fn wait(cache: &mut TestCache<Boxed>, id: u64) {
    let request = Request {
        id,
        op: Op::Write,
        now: Nanos(0),
        extents: &[],
        pages: 0,
        bytes: 0,
    };
    let v = View {
        frames: &cache.frames,
        layout: &cache.layout,
        device: &cache.chips,
        now: Nanos(0),
        seq: 0,
    };
    let notice = SchemeNotice::RequestWaits(&request);
    cache.scheme.on_notice(notice, &v);
}

/// Worked by hand: C = 8, U = 1, h = 4, so R is meant for 3.6 pages, and a batch begins at 5 dirty ones.
#[test]
fn pages_wait_for_the_mark_and_residents_for_the_filter() {
    let mut cache = boxed("reserve", 8);
    cache.run("W1-4");
    assert!(hand_over(&mut cache, 0).is_empty());
    cache.run("W5");
    assert_eq!(cache.state(), "R[4* 3* 2* 1*] F[5*] C[] G[]");
    assert!(hand_over(&mut cache, 1).is_empty(), "each die has a unit");
    assert_eq!(hand_over(&mut cache, 0), [1], "R has more than 3.6");
    cache.run("W2 R3");
    assert_eq!(
        cache.state(),
        "R[2* 4* 3*] F[5*] C[1] G[]",
        "reads move no dirty page"
    );
    cache.run("W6");
    assert_eq!(hand_over(&mut cache, 0), [3]);
    cache.run("R1 W7 W8 W9 W10");
    assert_eq!(cache.evicted, [3, 1]);
    assert_eq!(cache.state(), "R[7* 6* 2* 4*] F[10* 9* 8* 5*] C[] G[1 3]");
    assert_eq!(
        hand_over(&mut cache, 0),
        [4, 5, 8, 9],
        "R while it has too many, then F"
    );
    cache.run("W3");
    assert_eq!(cache.state(), "R[3* 7* 6* 2*] F[10*] C[9 8 5] G[4 1]");
}

/// A page that was written after the tail of R became a resident although R is full.
#[test]
fn a_page_that_is_written_again_soon_becomes_a_resident() {
    let mut cache = boxed("reserve", 8);
    cache.run("W1-5");
    cache.flush(|lpn| lpn == 5);
    cache.run("W5 W6");
    assert_eq!(cache.state(), "R[5* 4* 3* 2* 1*] F[6*] C[] G[]");
}

#[test]
fn the_reserve_rises_for_writes_that_wait_and_falls_when_it_is_not_used() {
    let mut cache = boxed("reserve(adapt=true)", 16);
    cache.run("W1-6");
    wait(&mut cache, 1);
    wait(&mut cache, 2);
    assert_eq!(
        hand_over(&mut cache, 0),
        [1, 2],
        "h = 12, once in two writes"
    );
    cache.run("W7-8");
    assert_eq!(cache.stat("reserve_frames"), 11, "2 of 12 were used");
    wait(&mut cache, 2);
    assert_eq!(
        cache.stat("reserve_frames"),
        11,
        "it has begun to wait before"
    );
    wait(&mut cache, 3);
    assert_eq!(hand_over(&mut cache, 0).len(), 4, "h = 14.4 is the most");
    cache.run("W9-15");
    assert_eq!(cache.stat("reserve_frames"), 14);
    cache.run("W16");
    assert_eq!(cache.stat("reserve_frames"), 13, "4.4 of 14.4 were used");
    cache.run("W17-24");
    assert_eq!(cache.stat("reserve_frames"), 13, "nobody asked");
    cache.run("W25");
    assert!(hand_over(&mut cache, 9).is_empty());
    cache.run("W26-32");
    assert_eq!(
        cache.stat("reserve_frames"),
        14,
        "all of 13.5 and more was used"
    );
}
