//! Every option and decision of Req-block, and invariants over random runs.

use super::blocks::{DRL, IRL, SRL};
use super::*;
use crate::Placement;
use crate::mini::{Mini, pages};
use destage_types::Nanos;

mod merge;
mod random;

fn cache(capacity: u32, params: ReqBlockParams) -> Mini<ReqBlock> {
    Mini::new(capacity, false, ReqBlock::new(params, capacity as usize))
}

fn small(delta: u64) -> ReqBlockParams {
    ReqBlockParams {
        delta,
        ..ReqBlockParams::default()
    }
}

/// Lists as `IRL b1(2,1;a1;t1) ; SRL - ; DRL -`, without the feature too.
fn lists(m: &Mini<ReqBlock>) -> String {
    let list = |l: usize| {
        let blocks = m.scheme.blocks.newest_first(l).map(|b| {
            let block = m.scheme.blocks.get(b);
            let pages: Vec<String> = m
                .scheme
                .blocks
                .pages(b)
                .map(|s| m.frames.lpn(s).to_string())
                .collect();
            let split = if block.split { ";s" } else { "" };
            let pages = pages.join(",");
            format!(
                " b{}({pages};a{};t{}{split})",
                block.born, block.acc, block.inserted
            )
        });
        let text: String = blocks.collect();
        if text.is_empty() {
            " -".to_owned()
        } else {
            text
        }
    };
    format!("IRL{} ; SRL{} ; DRL{}", list(IRL), list(SRL), list(DRL))
}

fn validate(m: &Mini<ReqBlock>) {
    m.scheme.blocks.validate(m.frames.used()).unwrap();
    #[cfg(feature = "conformance")]
    assert_eq!(m.state(), lists(m));
}

#[test]
fn upgrade_division_and_frequencies() {
    let mut m = cache(8, small(2));
    m.write(0, 5, 1);
    m.write(10, 11, 2);
    assert_eq!(m.write(10, 10, 4), "H");
    assert_eq!(m.write(2, 3, 6), "HH");
    assert_eq!(
        lists(&m),
        "IRL b1(5,4,1,0;a1;t1) ; SRL b2(11,10;a2;t2) ; DRL b3(3,2;a1;t6;s)"
    );
    assert_eq!(m.scheme.list_pages(), Some([4, 2, 2]));
    assert_eq!(m.scheme.metadata_bytes(), 3 * 32);
    m.write(20, 20, 8);
    assert_eq!(m.said(), "flush{0,1,4,5}", "1/28 < 1/4 and 2/12");
    m.write(2, 2, 10);
    m.write(30, 31, 14);
    m.read(11, 11, 15);
    m.write(40, 40, 20);
    m.write(41, 41, 24);
    // RB-8: b3 is split and in SRL, but its origin has left IRL.
    assert_eq!(m.said(), "flush{2,3}");
    validate(&m);
}

#[test]
fn a_split_victim_takes_its_origin_along() {
    let mut m = cache(8, small(2));
    m.write(100, 100, 1);
    m.write(0, 5, 2);
    m.write(0, 2, 3);
    m.write(9, 9, 19);
    m.write(20, 20, 20);
    assert_eq!(m.said(), "flush{0,1,2,3,4,5}");
    assert_eq!(m.scheme.stats.merged, 1);
    assert_eq!(m.read(1, 1, 21), "M", "a read miss changes nothing");
    assert_eq!(
        lists(&m),
        "IRL b5(20;a1;t20) b4(9;a1;t19) b1(100;a1;t1) ; SRL - ; DRL -"
    );
    validate(&m);
}

#[test]
fn rb_0_and_6_the_block_being_filled() {
    let mut m = cache(4, small(2));
    assert_eq!(m.write(0, 5, 1), "MMMMMM");
    assert_eq!(m.said(), "flush{0,1,2,3}", "age 0, but the only candidate");
    assert_eq!(lists(&m), "IRL b2(5,4;a1;t1) ; SRL - ; DRL -");
    m.write(4, 5, 2);
    assert_eq!(lists(&m), "IRL - ; SRL b2(5,4;a3;t1) ; DRL -");
    // The full block of another request goes first, however often it is used.
    m.write(10, 13, 3);
    assert_eq!(m.said(), "flush{4,5}");
    validate(&m);
}

#[test]
fn rb_1_which_size_counts() {
    let run = |size_basis| {
        let mut m = cache(
            8,
            ReqBlockParams {
                size_basis,
                ..small(2)
            },
        );
        m.write(0, 3, 1);
        (0..3).for_each(|p| {
            m.write(p, p, p + 2);
        });
        validate(&m);
        lists(&m)
    };
    let current = "IRL - ; SRL b1(3,2;a2;t1) ; DRL b3(1;a1;t3;s) b2(0;a1;t2;s)";
    assert_eq!(run(SizeBasis::Current), current);
    let original = "IRL b1(3;a1;t1) ; SRL - ; DRL b4(2;a1;t4;s) b3(1;a1;t3;s) b2(0;a1;t2;s)";
    assert_eq!(run(SizeBasis::Original), original);
}

#[test]
fn rb_1_original_can_empty_a_block() {
    let size_basis = SizeBasis::Original;
    for merge in [Merge::First, Merge::All] {
        let mut m = cache(
            4,
            ReqBlockParams {
                size_basis,
                merge,
                ..small(1)
            },
        );
        m.write(0, 1, 1);
        m.write(0, 0, 2);
        m.write(1, 1, 3);
        assert_eq!(lists(&m), "IRL - ; SRL - ; DRL b3(1;a1;t3;s) b2(0;a1;t2;s)");
        // All four frames in blocks of one page, and one more division of the last kind.
        m.write(2, 3, 4);
        m.write(2, 3, 5);
        validate(&m);
        assert_eq!(m.frames.used(), 4);
    }
}

#[test]
fn rb_2_page_hits_or_requests() {
    let run = |access_unit| {
        let mut m = cache(
            8,
            ReqBlockParams {
                access_unit,
                ..small(5)
            },
        );
        m.write(0, 2, 1);
        m.write(0, 2, 2);
        m.read(1, 2, 3);
        lists(&m)
    };
    assert_eq!(run(AccessUnit::Page), "IRL - ; SRL b1(2,1,0;a6;t1) ; DRL -");
    assert_eq!(
        run(AccessUnit::Request),
        "IRL - ; SRL b1(2,1,0;a3;t1) ; DRL -"
    );
}

#[test]
fn rb_3_clocks() {
    let run = |time_basis| {
        let mut m = cache(
            4,
            ReqBlockParams {
                time_basis,
                ..small(1)
            },
        );
        m.write(0, 1, 100); // request 1, pages 1 and 2
        m.read(50, 59, 200); // request 2, ten pages
        m.write(2, 2, 300); // request 3, page 13
        lists(&m)
    };
    let request_time = "IRL b2(2;a1;t300) b1(1,0;a1;t100) ; SRL - ; DRL -";
    assert_eq!(run(TimeBasis::RequestTime), request_time);
    let page_seq = "IRL b2(2;a1;t13) b1(1,0;a1;t1) ; SRL - ; DRL -";
    assert_eq!(run(TimeBasis::PageSeq), page_seq);
    assert_eq!(
        run(TimeBasis::ReqSeq),
        "IRL b2(2;a1;t3) b1(1,0;a1;t1) ; SRL - ; DRL -"
    );
}

#[test]
fn rb_4_counts_and_times_of_divided_blocks() {
    let run = |split_access, split_insert_time| {
        let params = ReqBlockParams {
            split_access,
            split_insert_time,
            ..small(2)
        };
        let mut m = cache(16, params);
        m.write(0, 9, 1);
        m.write(0, 3, 5); // divided from the first: b2
        m.write(0, 2, 7); // divided from b2: b3
        validate(&m);
        lists(&m).split_off(lists(&m).find("DRL").unwrap())
    };
    use {SplitAccess as A, SplitInsertTime as T};
    // The third page of the last request finds two left in b2, which goes to SRL.
    assert_eq!(run(A::One, T::Now), "DRL b3(1,0;a1;t7;s)");
    assert_eq!(run(A::PerPage, T::Now), "DRL b3(1,0;a2;t7;s)");
    assert_eq!(run(A::Inherit, T::Now), "DRL b3(1,0;a1;t7;s)");
    assert_eq!(run(A::One, T::Inherit), "DRL b3(1,0;a1;t1;s)");
}

#[test]
fn rb_4_inherit_copies_the_count_of_the_block_divided() {
    let run = |split_access| {
        let params = ReqBlockParams {
            split_access,
            size_basis: SizeBasis::Original,
            ..small(2)
        };
        let mut m = cache(16, params);
        m.write(0, 7, 1);
        let b = m.scheme.blocks.head(IRL).unwrap();
        m.scheme.blocks.get_mut(b).acc = 4;
        m.write(0, 2, 2);
        lists(&m)
    };
    let rest = "IRL b1(7,6,5,4,3;a4;t1) ; SRL - ; DRL";
    assert_eq!(
        run(SplitAccess::Inherit),
        format!("{rest} b2(2,1,0;a4;t2;s)")
    );
    assert_eq!(
        run(SplitAccess::PerPage),
        format!("{rest} b2(2,1,0;a3;t2;s)")
    );
    assert_eq!(run(SplitAccess::One), format!("{rest} b2(2,1,0;a1;t2;s)"));
}

#[test]
fn placement_and_number_of_the_unit() {
    let placement = Placement::SingleBlock;
    let mut m = cache(
        2,
        ReqBlockParams {
            placement,
            ..small(1)
        },
    );
    m.write(0, 1, 1);
    m.write(2, 2, 2);
    assert_eq!((m.unit.placement, m.unit.id), (Placement::SingleBlock, 1));
    let mut m = cache(2, small(1));
    m.write(0, 1, 1);
    m.write(2, 2, 2);
    assert_eq!(m.unit.placement, Placement::Stripe);
}

#[test]
fn ties_prefer_irl_then_drl_then_srl() {
    let mut m = cache(
        6,
        ReqBlockParams {
            access_unit: AccessUnit::Request,
            ..small(1)
        },
    );
    m.write(0, 0, 1);
    m.write(0, 0, 1); // SRL b1: 2 / (1 * 2) at time 3
    m.write(1, 4, 1);
    m.write(1, 1, 2); // DRL: 1 / (1 * 1); IRL: 1 / (3 * 2)
    m.trim(2, 3); // IRL: 1 / (1 * 2)
    m.trim(1, 1);
    m.write(7, 9, 2); // IRL tail is still page 4, 1/2 against 2/2
    m.write(8, 8, 2); // DRL 1 / 1, SRL 2 / 2
    assert_eq!(m.frames.used(), 5);
    m.trim(4, 4);
    m.trim(7, 7);
    m.trim(9, 9); // only DRL and SRL are left, equal at time 3
    let mut unit = Unit::default();
    m.scheme.clock = 3; // as if a read had come
    m.scheme.next_group(&m.view(), &mut unit);
    assert_eq!(
        unit.slots
            .iter()
            .map(|&s| m.frames.lpn(s).0)
            .collect::<Vec<_>>(),
        [8]
    );
    m.write(20, 20, 2); // IRL 1 / 1 at time 3: all three equal
    unit.clear();
    m.scheme.clock = 3; // as if a read had come
    m.scheme.next_group(&m.view(), &mut unit);
    assert_eq!(
        unit.slots
            .iter()
            .map(|&s| m.frames.lpn(s).0)
            .collect::<Vec<_>>(),
        [20]
    );
}

#[test]
fn the_next_group_is_the_next_victim() {
    for time_basis in [
        TimeBasis::RequestTime,
        TimeBasis::PageSeq,
        TimeBasis::ReqSeq,
    ] {
        let mut m = cache(
            8,
            ReqBlockParams {
                time_basis,
                ..small(2)
            },
        );
        m.write(0, 5, 1);
        m.write(0, 1, 3);
        m.write(10, 11, 4);
        let before = lists(&m);
        let mut unit = Unit::default();
        m.scheme.next_group(&m.view(), &mut unit);
        assert_eq!(lists(&m), before);
        let mut offered: Vec<u64> = unit.slots.iter().map(|&s| m.frames.lpn(s).0).collect();
        offered.sort_unstable();
        m.write(20, 20, 5);
        let words: Vec<String> = offered.iter().map(u64::to_string).collect();
        assert_eq!(m.said(), format!("flush{{{}}}", words.join(",")));
    }
}

#[test]
fn trim_flush_and_rename_leave_counts_alone() {
    let mut m = cache(8, small(2));
    m.write(0, 3, 1);
    m.write(5, 5, 2);
    m.trim(1, 2);
    m.trim(5, 5);
    m.flush();
    assert_eq!(lists(&m), "IRL b1(3,0;a1;t1) ; SRL - ; DRL -");
    let slot = m.frames.slot_of(Lpn(0)).unwrap();
    m.frames.rekey(slot, Lpn(70));
    let (layout, now) = (m.layout, Nanos(3));
    let v = View {
        frames: &m.frames,
        layout: &layout,
        device: &crate::NoDevice,
        now,
    };
    assert!(m.scheme.rename(Lpn(0), Lpn(70), Some(slot), &v));
    assert!(!m.scheme.rename(Lpn(8), Lpn(9), None, &v));
    assert_eq!(lists(&m), "IRL b1(3,70;a1;t1) ; SRL - ; DRL -");
    assert!(m.scheme.candidates(&m.view(), &mut |_| true).is_none());
    validate(&m);
}

#[test]
fn several_extents_make_one_block() {
    let mut m = cache(8, small(5));
    m.serve(Op::Write, &[pages(7, 8), pages(1, 1)], 4, &[], false);
    assert_eq!(lists(&m), "IRL b1(1,8,7;a1;t4) ; SRL - ; DRL -");
}
