//! Every option and decision of Req-block, and invariants over random runs.

use super::blocks::{DRL, IRL, SRL};
use super::*;
use crate::Placement;
use crate::testing::{Span, TestCache};
use destage_types::Op;

mod merge;
mod random;

type Cache = TestCache<Groups<ReqBlock>>;

/// Figures of the pages in the lists.
const LIST_PAGES: [&str; 3] = ["irl_pages", "srl_pages", "drl_pages"];

fn cache(capacity: u32, options: &str) -> Cache {
    Cache::new(&format!("req-block({options})"), capacity)
}

fn validate(cache: &Cache) {
    let blocks = &cache.scheme.policy().blocks;
    blocks.validate(cache.frames.used()).unwrap();
}

/// Serves `@time requests ...`, requests as in [`TestCache::run`].
fn serve(cache: &mut Cache, requests: &str) -> String {
    let mut result = String::new();
    for word in requests.split_whitespace() {
        match word.strip_prefix('@') {
            Some(time) => drop(cache.at(time.parse().unwrap())),
            None => result += &cache.run(word),
        }
        validate(cache);
    }
    result
}

/// The lists after these requests.
fn lists(capacity: u32, options: &str, requests: &str) -> String {
    let mut cache = cache(capacity, options);
    serve(&mut cache, requests);
    cache.state()
}

#[test]
fn upgrade_division_and_frequencies() {
    let mut cache = cache(8, "delta=2");
    assert_eq!(
        serve(&mut cache, "@1 W0-5 @2 W10-11 @4 W10 @6 W2-3"),
        "MMMMMMMMHHH"
    );
    let three = "IRL b1(5,4,1,0;a1;t1) ; SRL b2(11,10;a2;t2) ; DRL b3(3,2;a1;t6;s)";
    assert_eq!(cache.state(), three);
    assert_eq!(LIST_PAGES.map(|name| cache.stat(name)), [4, 2, 2]);
    assert_eq!(cache.metadata_bytes(), 3 * 32);
    serve(&mut cache, "@8 W20");
    assert_eq!(cache.said(), "flush{0,1,4,5}", "1/28 < 1/4 and 2/12");
    serve(&mut cache, "@10 W2 @14 W30-31 @15 R11 @20 W40 @24 W41");
    // RB-8: b3 is split and in SRL, but its origin has left IRL.
    assert_eq!(cache.said(), "flush{2,3}");
}

#[test]
fn a_split_victim_takes_its_origin_along() {
    let mut cache = cache(8, "delta=2");
    serve(&mut cache, "@1 W100 @2 W0-5 @3 W0-2 @19 W9 @20 W20");
    assert_eq!(cache.said(), "flush{0,1,2,3,4,5}");
    assert_eq!(cache.stat("merged_victims"), 1);
    assert_eq!(
        serve(&mut cache, "@21 R1"),
        "M",
        "a read miss changes nothing"
    );
    let left = "IRL b5(20;a1;t20) b4(9;a1;t19) b1(100;a1;t1) ; SRL - ; DRL -";
    assert_eq!(cache.state(), left);
}

#[test]
fn rb_0_and_6_the_block_being_filled() {
    let mut cache = cache(4, "delta=2");
    assert_eq!(serve(&mut cache, "@1 W0-5"), "MMMMMM");
    assert_eq!(
        cache.said(),
        "flush{0,1,2,3}",
        "age 0, but the only candidate"
    );
    assert_eq!(cache.state(), "IRL b2(5,4;a1;t1) ; SRL - ; DRL -");
    serve(&mut cache, "@2 W4-5");
    assert_eq!(cache.state(), "IRL - ; SRL b2(5,4;a3;t1) ; DRL -");
    // The full block of another request goes first, however often it is used.
    serve(&mut cache, "@3 W10-13");
    assert_eq!(cache.said(), "flush{4,5}");
}

#[test]
fn rb_1_to_rb_4_readings_of_the_paper() {
    let sizes = "@1 W0-3 @2 W0 @3 W1 @4 W2";
    let clocks = "@100 W0-1 @200 R50-59 @300 W2";
    // b2 is divided from the first block, b3 from b2. The third page of the last request finds two
    // left in b2, which goes to SRL.
    let splits = "@1 W0-9 @5 W0-3 @7 W0-2";
    let rest = "IRL b1(9,8,7,6,5,4;a1;t1) ; SRL b2(3,2;a2;t5;s) ; DRL";
    for (capacity, options, requests, state) in [
        (
            8,
            "delta=2",
            sizes,
            "IRL - ; SRL b1(3,2;a2;t1) ; DRL b3(1;a1;t3;s) b2(0;a1;t2;s)",
        ),
        (
            8,
            "delta=2,size-basis=original",
            sizes,
            "IRL b1(3;a1;t1) ; SRL - ; DRL b4(2;a1;t4;s) b3(1;a1;t3;s) b2(0;a1;t2;s)",
        ),
        (
            8,
            "access-unit=page",
            "@1 W0-2 W0-2 R1-2",
            "IRL - ; SRL b1(2,1,0;a6;t1) ; DRL -",
        ),
        (
            8,
            "access-unit=request",
            "@1 W0-2 W0-2 R1-2",
            "IRL - ; SRL b1(2,1,0;a3;t1) ; DRL -",
        ),
        (
            4,
            "delta=1",
            clocks,
            "IRL b2(2;a1;t300) b1(1,0;a1;t100) ; SRL - ; DRL -",
        ),
        // Pages 1 and 2, ten pages, page 13.
        (
            4,
            "delta=1,time-basis=page-seq",
            clocks,
            "IRL b2(2;a1;t13) b1(1,0;a1;t1) ; SRL - ; DRL -",
        ),
        (
            4,
            "delta=1,time-basis=req-seq",
            clocks,
            "IRL b2(2;a1;t3) b1(1,0;a1;t1) ; SRL - ; DRL -",
        ),
        (
            16,
            "delta=2,split-access=one",
            splits,
            &format!("{rest} b3(1,0;a1;t7;s)"),
        ),
        (
            16,
            "delta=2,split-access=inherit",
            splits,
            &format!("{rest} b3(1,0;a1;t7;s)"),
        ),
    ] {
        assert_eq!(lists(capacity, options, requests), state, "{options}");
    }
    for (options, third) in [
        ("split-access=per-page", " b3(1,0;a2;t7;s)"),
        ("split-insert-time=inherit", " b3(1,0;a1;t1;s)"),
    ] {
        let state = lists(16, &format!("delta=2,{options}"), splits);
        assert_eq!(state.split_once("DRL").unwrap().1, third, "{options}");
    }
}

#[test]
fn rb_1_original_can_empty_a_block() {
    for merge in ["first", "all"] {
        let mut cache = cache(4, &format!("delta=1,size-basis=original,merge={merge}"));
        serve(&mut cache, "@1 W0-1 @2 W0 @3 W1");
        assert_eq!(
            cache.state(),
            "IRL - ; SRL - ; DRL b3(1;a1;t3;s) b2(0;a1;t2;s)"
        );
        // All four frames in blocks of one page, and one more division of the last kind.
        serve(&mut cache, "@4 W2-3 @5 W2-3");
        assert_eq!(cache.frames.used(), 4);
    }
}

#[test]
fn rb_4_inherit_copies_the_count_of_the_block_divided() {
    for (split_access, count) in [("inherit", 4), ("per-page", 3), ("one", 1)] {
        let options = format!("delta=2,size-basis=original,split-access={split_access}");
        let mut cache = cache(16, &options);
        serve(&mut cache, "@1 W0-7");
        let blocks = &mut cache.scheme.policy_mut().blocks;
        let b = blocks.head(IRL).unwrap();
        blocks.get_mut(b).acc = 4;
        serve(&mut cache, "@2 W0-2");
        let state = format!("IRL b1(7,6,5,4,3;a4;t1) ; SRL - ; DRL b2(2,1,0;a{count};t2;s)");
        assert_eq!(cache.state(), state);
    }
}

#[test]
fn placement_and_number_of_the_unit() {
    for (options, placement) in [
        ("delta=1,placement=single-block", Placement::SingleBlock),
        ("delta=1", Placement::Stripe),
    ] {
        let mut cache = cache(2, options);
        serve(&mut cache, "@1 W0-1 @2 W2");
        assert_eq!((cache.unit.placement, cache.unit.id), (placement, 1));
    }
}

#[test]
fn ties_prefer_irl_then_drl_then_srl() {
    let mut cache = cache(6, "delta=1,access-unit=request");
    serve(&mut cache, "@1 W0 W0"); // SRL b1: 2 / (1 * 2) at time 3
    serve(&mut cache, "W1-4 @2 W1"); // DRL: 1 / (1 * 1); IRL: 1 / (3 * 2)
    serve(&mut cache, "T2-3 T1"); // IRL: 1 / (1 * 2)
    serve(&mut cache, "W7-9"); // IRL tail is still page 4, 1/2 against 2/2
    serve(&mut cache, "W8"); // DRL 1 / 1, SRL 2 / 2
    assert_eq!(cache.frames.used(), 5);
    // Only DRL and SRL are left, equal at time 3, when a read comes.
    serve(&mut cache, "T4 T7 T9 @3 R99");
    assert_eq!(cache.next_unit(), [8]);
    serve(&mut cache, "@2 W20 @3 R99"); // IRL 1 / 1 at time 3: all three equal
    assert_eq!(cache.next_unit(), [20]);
}

#[test]
fn the_next_unit_is_the_next_victim() {
    for time_basis in ["request-time", "page-seq", "req-seq"] {
        let mut cache = cache(8, &format!("delta=2,time-basis={time_basis}"));
        serve(&mut cache, "@1 W0-5 @3 W0-1 @4 W10-11");
        let before = cache.state();
        let offered: Vec<String> = cache.next_unit().iter().map(u64::to_string).collect();
        assert_eq!(cache.state(), before);
        serve(&mut cache, "@5 W20");
        assert_eq!(cache.said(), format!("flush{{{}}}", offered.join(",")));
    }
}

#[test]
fn trim_flush_and_rename_leave_counts_alone() {
    let mut cache = cache(8, "delta=2");
    serve(&mut cache, "@1 W0-3 @2 W5 T1-2 T5 F");
    assert_eq!(cache.state(), "IRL b1(3,0;a1;t1) ; SRL - ; DRL -");
    assert!(cache.rename(0, 70) && !cache.rename(8, 9));
    assert_eq!(cache.state(), "IRL b1(3,70;a1;t1) ; SRL - ; DRL -");
    assert!(cache.order().is_empty(), "pages do not leave one by one");
    validate(&cache);
}

#[test]
fn several_extents_make_one_block() {
    let mut cache = cache(8, "delta=5");
    let page = cache.frames.page();
    cache
        .at(4)
        .request(Op::Write, &[(7..=8).extent(page), 1u64.extent(page)]);
    assert_eq!(cache.state(), "IRL b1(1,8,7;a1;t4) ; SRL - ; DRL -");
}
