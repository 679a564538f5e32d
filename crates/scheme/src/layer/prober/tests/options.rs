//! One test or more for every parameter and decision of Prober.

use super::*;
use crate::Expr;
use destage_types::PageSize;

#[test]
fn pr1_a_node_of_age_rip_is_outdated_under_ge_only() {
    for (rip_cmp, large) in [(RipCmp::Ge, 0), (RipCmp::Gt, 1)] {
        let mut r = rig(
            16,
            ProberOptions {
                rip: 2,
                rip_cmp,
                ..options()
            },
        );
        r.write(sectors(0, 7));
        r.write(sectors(100, 103));
        r.write(sectors(8, 11));
        assert_eq!(stat(&r.scheme, "large_write_requests"), large);
        let most = if rip_cmp == RipCmp::Ge { 2 } else { 3 };
        for i in 0..50 {
            r.write(sectors(200 + 20 * i, 200 + 20 * i));
            assert!(r.scheme.queue.len() <= most);
        }
        assert_eq!(r.scheme.queue.len(), most);
    }
}

#[test]
fn pr2_reads_age_the_queue_if_asked() {
    for (asn_counts, large) in [(AsnCounts::Writes, 1), (AsnCounts::All, 0)] {
        let mut r = rig(
            16,
            ProberOptions {
                rip: 3,
                asn_counts,
                ..options()
            },
        );
        r.write(sectors(0, 7));
        r.read(sectors(100, 103));
        r.read(sectors(100, 103));
        r.write(sectors(8, 11));
        assert_eq!(stat(&r.scheme, "large_write_requests"), large);
    }
}

#[test]
fn pr4_tail_or_head_leaves_first() {
    for (ldr_evict, order) in [
        (LdrEvict::Tail, [2, 1, 0, 20, 25]),
        (LdrEvict::Head, [0, 1, 2, 20, 25]),
    ] {
        let mut r = rig(
            5,
            ProberOptions {
                ldr_evict,
                ..options()
            },
        );
        r.write(sectors(80, 83));
        r.write(sectors(100, 103));
        stream(&mut r, 0);
        assert_eq!(r.order(), order);
        r.write(sectors(200, 203));
        assert_eq!(r.take(), format!("flush{{{}}}", order[0]));
    }
}

#[test]
fn pr4_head_is_the_page_that_was_pushed_first() {
    let head = ProberOptions {
        ldr_evict: LdrEvict::Head,
        ..options()
    };
    let mut r = rig(16, head);
    r.write(sectors(0, 3));
    r.write(sectors(100, 107));
    r.write(sectors(108, 111));
    r.write(sectors(4, 11));
    assert_eq!(r.order(), [25, 26, 27, 0, 1, 2]);
}

#[test]
fn pr4_bypass_sends_large_writes_to_flash_and_drops_cached_copies() {
    let bypass = ProberOptions {
        ldr: LdrMode::Bypass,
        ..options()
    };
    let mut r = rig(16, bypass);
    r.write(sectors(8, 11));
    r.write(sectors(0, 3));
    assert_eq!(
        r.write(sectors(4, 7)),
        "M",
        "joins both neighbours to three pages"
    );
    assert_eq!(r.take(), "bypass{1}");
    assert_eq!(ldr(&r), [0, 2], "migration stays as it is");
    r.write(sectors(40, 43));
    r.write(sectors(36, 39));
    assert_eq!(
        r.write(sectors(40, 51)),
        "MMM",
        "the copy of page 10 is a miss too"
    );
    assert_eq!(r.frames.slot_of(Lpn(10)), None);
}

#[test]
fn pr6_demand_eviction_spares_half_filled_pages_if_asked() {
    for (ldr_skip_partial, events) in [
        (false, "flush{3} flush{2} flush{1}"),
        (true, "flush{2} flush{1} flush{0}"),
    ] {
        let mut r = rig(
            4,
            ProberOptions {
                ldr_skip_partial,
                ..options()
            },
        );
        stream(&mut r, 0);
        r.write(sectors(12, 12));
        for i in 0..3 {
            assert!(events.contains(&format!("{{{}}}", r.order()[0])));
            r.write(sectors(200 + 8 * i, 203 + 8 * i));
        }
        assert_eq!(r.take(), events);
        if ldr_skip_partial {
            assert_eq!(
                r.order(),
                [50, 52, 54, 3],
                "then the base, the spared page at last"
            );
        }
    }
}

#[test]
fn pr6_spared_pages_leave_when_nothing_else_is_left() {
    let skip = ProberOptions {
        ldr_skip_partial: true,
        ssp: 1,
        rip: 100,
        ..options()
    };
    let mut r = rig(2, skip);
    for i in 0..3 {
        r.write(sectors(16 * i, 16 * i + 1));
    }
    assert_eq!(
        r.take(),
        "flush{4}",
        "all of LDR is spared, the base is empty"
    );
}

#[test]
fn reads_leave_ldr_alone_or_promote() {
    for (ldr_read_hit, kept, calls) in [
        (LdrReadHit::Stay, vec![0, 1, 2], ""),
        (
            LdrReadHit::Promote,
            vec![0, 2],
            "expect 1 W, insert 1 W, touch 1 R",
        ),
    ] {
        let mut r = rig(
            16,
            ProberOptions {
                ldr_read_hit,
                ..options()
            },
        );
        stream(&mut r, 0);
        r.scheme.inner.take();
        assert_eq!(r.read(sectors(4, 7)), "H");
        assert_eq!((ldr(&r), r.scheme.inner.take()), (kept, calls.to_owned()));
    }
}

#[test]
fn pr12_updates_that_hit_through_a_rename_can_be_exempt() {
    for (cac_updates, held) in [
        (CacUpdates::Classify, vec![0, 1, 2, 3]),
        (CacUpdates::Exempt, vec![0, 1, 2]),
    ] {
        let mut r = rig(
            16,
            ProberOptions {
                cac_updates,
                ..options()
            },
        );
        r.write(sectors(400, 403));
        stream(&mut r, 0);
        assert_eq!(r.request(Op::Write, &[sectors(12, 15)], &[(100, 3)]), "H");
        assert_eq!(ldr(&r), held);
        // The queue was fed as always: the next page continues the large set.
        r.write(sectors(16, 19));
        assert!(ldr(&r).contains(&4));
    }
}

#[test]
fn pr12_exempt_pages_are_not_bypassed_and_ghosts_are_no_hits() {
    let both = ProberOptions {
        cac_updates: CacUpdates::Exempt,
        ldr: LdrMode::Bypass,
        ..options()
    };
    let mut r = rig(16, both);
    r.write(sectors(400, 403));
    stream(&mut r, 0);
    r.take();
    assert_eq!(r.request(Op::Write, &[sectors(12, 19)], &[(100, 3)]), "HM");
    assert_eq!(r.take(), "bypass{4}");
    assert_eq!(r.request(Op::Write, &[sectors(20, 23)], &[(777, 5)]), "M");
    assert_eq!(r.take(), "bypass{5}");
}

#[test]
fn options_are_read_from_expressions() {
    let read = |text: &str| {
        let e = Expr::parse(text).unwrap();
        ProberOptions::from_expr(&e, PageSize::KIB4)
    };
    assert_eq!(read("prober"), ProberOptions::default());
    let all = "prober(lru,ssp=64k,rip=7,rip-cmp=gt,asn-counts=all,ldr=bypass,ldr-evict=head,\
               ldr-read-hit=promote,ldr-skip-partial=true,cac-updates=exempt)";
    let want = ProberOptions {
        ssp: 128,
        rip: 7,
        rip_cmp: RipCmp::Gt,
        asn_counts: AsnCounts::All,
        ldr: LdrMode::Bypass,
        ldr_evict: LdrEvict::Head,
        ldr_read_hit: LdrReadHit::Promote,
        ldr_skip_partial: true,
        cac_updates: CacUpdates::Exempt,
    };
    assert_eq!(read(all), want);
    assert_eq!(read("prober(lru,ssp=3p)").ssp, 24);
}
