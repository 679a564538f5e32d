mod options;

use super::*;
use crate::policy::{Fifo, Lru};
use crate::testing::{ALL, Mix, Rig, Spy, env, random_run, sectors, stat};
use std::collections::BTreeSet;

/// Pages of 4 sectors, ssp of 2 pages, rip 8.
fn options() -> ProberOptions {
    ProberOptions {
        ssp: 8,
        rip: 8,
        ..ProberOptions::default()
    }
}

fn rig(capacity: u32, options: ProberOptions) -> Rig<Prober<Spy>> {
    let env = env(capacity, 4, 1);
    let mut rig = Rig::new(
        Prober::new(Spy::new(capacity as usize), options, &env),
        &env,
    );
    rig.read_alloc = false;
    rig
}

fn ldr<S: Scheme>(rig: &Rig<Prober<S>>) -> Vec<u64> {
    let slots: Vec<Slot> = rig.scheme.ldr.newest_first().collect();
    slots.iter().rev().map(|&s| rig.frames.lpn(s).0).collect()
}

/// Three adjacent page writes: the third crosses ssp.
fn stream<S: Scheme>(rig: &mut Rig<Prober<S>>, page: u64) {
    for p in page..page + 3 {
        rig.write(sectors(4 * p, 4 * p + 3));
    }
}

#[test]
fn pages_of_a_stream_move_when_it_becomes_large() {
    let mut r = rig(16, options());
    r.write(sectors(100, 103));
    r.scheme.inner.take();
    stream(&mut r, 0);
    assert_eq!(ldr(&r), [0, 1, 2]);
    let calls = r.scheme.inner.take();
    let own = "gone 0, gone 1, forget 2";
    assert!(
        calls.ends_with(own),
        "ghostless removal, LW miss forgets its ghost: {calls}"
    );
    r.write(sectors(12, 15));
    assert_eq!(ldr(&r), [0, 1, 2, 3]);
    assert_eq!(r.scheme.inner.take(), "forget 3", "no page migrates twice");
    assert_eq!(stat(&r.scheme, "migrated_pages"), 2);
    assert_eq!(stat(&r.scheme, "large_write_requests"), 2);
    r.write(sectors(4, 7));
    assert_eq!(ldr(&r), [0, 2, 3]);
    assert_eq!(
        r.scheme.inner.take(),
        "expect 1 W, insert 1 W, touch 1 W",
        "PR-5: regular data are admitted, then touched"
    );
    let bytes = 5 * PAGE_NODE_BYTES + r.scheme.queue.len() as u64 * LWRS_NODE_BYTES;
    assert_eq!(r.scheme.metadata_bytes(), bytes);
}

#[test]
fn pages_of_the_request_itself_do_not_migrate() {
    let mut r = rig(16, options());
    r.write(sectors(0, 5));
    r.write(sectors(9, 14));
    r.scheme.inner.take();
    // Pages 1 and 2 are shared with the sets before and behind; all three sets join.
    r.write(sectors(6, 8));
    assert_eq!(
        ldr(&r),
        [0, 3, 1, 2],
        "migrated pages first, then the request's own"
    );
    assert_eq!(r.scheme.inner.take(), "gone 0, gone 3, gone 1, gone 2");
}

#[test]
fn pr3_one_rewritten_sector_forgets_the_set_and_ldr_stays() {
    let mut r = rig(16, options());
    stream(&mut r, 0);
    r.write(sectors(2, 2));
    assert_eq!(ldr(&r), [1, 2]);
    r.write(sectors(12, 15));
    assert_eq!(ldr(&r), [1, 2], "the set is not known any more");
    assert_eq!(stat(&r.scheme, "large_write_requests"), 1);
}

#[test]
fn trim_and_flush_do_not_age_the_queue() {
    let mut r = rig(16, options());
    stream(&mut r, 0);
    let asn = r.scheme.queue.asn();
    r.flush();
    assert_eq!(
        r.scheme.inner.take().matches("clean").count(),
        0,
        "LDR pages are not the base's"
    );
    r.trim(Lpn(1), r.frames.full_mask());
    assert_eq!((r.scheme.queue.asn(), ldr(&r)), (asn, vec![0, 2]));
    r.write(sectors(60, 63));
    r.scheme.inner.take();
    r.flush();
    assert_eq!(r.scheme.inner.take(), "clean 15");
}

#[test]
fn a_clean_page_that_is_written_comes_back_as_dirty() {
    let mut r = rig(16, options());
    stream(&mut r, 0);
    r.flush();
    r.scheme.inner.take();
    r.write(sectors(4, 5));
    assert_eq!(r.scheme.inner.take(), "expect 1 W, insert 1 W, touch 1 W");
}

#[test]
fn a_read_miss_is_regular_data_whatever_was_written_before() {
    let mut r = rig(16, options());
    r.read_alloc = true;
    stream(&mut r, 0);
    r.read(sectors(400, 403));
    assert_eq!((ldr(&r).len(), r.scheme.inner.size()), (3, 1));
}

#[test]
fn a_renamed_ldr_page_keeps_its_place() {
    let mut e = env(16, 4, 2);
    e.background = true;
    let mut r = Rig::new(Prober::new(Spy::new(16), options(), &e), &e);
    stream(&mut r, 0);
    assert!(r.rename(Lpn(1), Lpn(50)));
    assert_eq!(ldr(&r), [0, 50, 2]);
    assert_eq!(offered(&mut r, 0), [(0, false), (50, false), (2, false)]);
    assert_eq!(offered(&mut r, 1), []);
    assert!(!r.rename(Lpn(700), Lpn(51)), "no ghost in the base");
}

fn offered<S: Scheme>(r: &mut Rig<Prober<S>>, channel: u32) -> Vec<(u64, bool)> {
    let mut seen = vec![];
    r.with(|s, v| {
        s.flush_candidates(ChannelId(channel), v, &mut |c| {
            seen.push((v.frames.lpn(c.slot).0, c.outdated));
            false
        })
    });
    seen
}

#[test]
fn background_layers_get_pages_by_age_and_channel() {
    let mut e = env(32, 4, 2);
    e.background = true;
    let rip4 = ProberOptions {
        rip: 4,
        ..options()
    };
    let mut r = Rig::new(Prober::new(Lru::new(32), rip4, &e), &e);
    r.write(sectors(0, 3));
    r.write(sectors(100, 107));
    r.write(sectors(108, 111));
    r.write(sectors(4, 11));
    assert_eq!(offered(&mut r, 0), [(0, false), (26, false), (2, false)]);
    assert_eq!(offered(&mut r, 1), [(25, false), (27, false), (1, false)]);
    r.write(sectors(400, 403));
    assert_eq!(offered(&mut r, 0), [(0, true), (26, false), (2, false)]);
    r.write(sectors(410, 411));
    assert_eq!(offered(&mut r, 0), [(0, true), (26, true), (2, false)]);
}

#[test]
fn a_request_of_several_extents_is_large_if_one_of_its_sets_is() {
    let mut r = rig(32, options());
    r.request(Op::Write, &[sectors(200, 203), sectors(300, 303)], &[]);
    assert_eq!(r.scheme.queue.asn(), 1, "one serial number a request");
    assert!(ldr(&r).is_empty());
    r.request(Op::Write, &[sectors(104, 107), sectors(108, 115)], &[]);
    assert_eq!(
        ldr(&r),
        [26, 27, 28],
        "both extents end up in one large set"
    );
    r.request(Op::Write, &[sectors(204, 211), sectors(400, 403)], &[]);
    assert_eq!(ldr(&r), [26, 27, 28, 50, 51, 52, 100]);
    assert_eq!(stat(&r.scheme, "large_write_requests"), 2);
}

#[test]
fn a_set_nobody_exceeds_leaves_the_base_alone() {
    let never = ProberOptions {
        ssp: u64::MAX,
        ..options()
    };
    let e = env(9, 8, 2);
    let run = |s: crate::Boxed| random_run(s, &e, 7, 4000, ALL);
    let prober = crate::testing::boxed(Prober::new(Fifo::new(9), never, &e));
    assert_eq!(run(prober), run(crate::testing::boxed(Fifo::new(9))));
}

#[test]
fn invariants_hold_under_every_option() {
    for i in 0..96u64 {
        let bit = |n: u64| i >> n & 1 == 1;
        let options = ProberOptions {
            ssp: 16,
            rip: 1 + i % 7 * 5,
            rip_cmp: if bit(0) { RipCmp::Gt } else { RipCmp::Ge },
            asn_counts: if bit(1) {
                AsnCounts::All
            } else {
                AsnCounts::Writes
            },
            ldr: if i % 5 == 0 {
                LdrMode::Bypass
            } else {
                LdrMode::Queue
            },
            ldr_evict: if bit(2) {
                LdrEvict::Head
            } else {
                LdrEvict::Tail
            },
            ldr_read_hit: if bit(3) {
                LdrReadHit::Promote
            } else {
                LdrReadHit::Stay
            },
            ldr_skip_partial: bit(4),
            cac_updates: if bit(5) {
                CacUpdates::Exempt
            } else {
                CacUpdates::Classify
            },
        };
        let mut e = env(1 + (i % 9) as u32 * 3, 8, 3);
        e.background = i % 3 == 0;
        let scheme = Checked(Prober::new(Lru::new(e.capacity as usize), options, &e));
        random_run(
            scheme,
            &e,
            i,
            700,
            Mix {
                device: false,
                ..ALL
            },
        );
    }
}

/// Checks after every request that the orders by age are sorted and complete.
struct Checked(Prober<Lru>);

impl Scheme for Checked {
    forward!(0: ghosts rename_plan rename on_request admit_request admit_page full on_miss on_insert on_hit
        remove cleaned forget size victim candidates flush_candidates measures conformance);

    fn on_request_end(&mut self, r: &Request, v: &View) {
        let p = &self.0;
        let held: Vec<Slot> = p.ldr.oldest_first().collect();
        for channel in (0..v.layout.channels())
            .map(ChannelId)
            .filter(|_| p.background)
        {
            let key = |(s, asn): (Slot, u64)| (asn, v.frames.lpn(s));
            assert!(p.ldr.of_channel(channel, v).map(key).is_sorted());
            let here = |s: &&Slot| v.layout.channel(v.chip(**s)) == channel;
            let offered: BTreeSet<Slot> = p.ldr.of_channel(channel, v).map(|o| o.0).collect();
            assert_eq!(offered, held.iter().filter(here).copied().collect());
        }
        assert!(held.iter().all(|&s| p.ldr.contains(s)));
        self.0.request_done(r, v);
    }
}

#[cfg(feature = "conformance")]
#[test]
fn states_and_notes_as_the_worked_examples_print_them() {
    let mut r = rig(16, options());
    assert_eq!(r.state(), "LWRS  ; RDR [] ; LDR []");
    stream(&mut r, 0);
    assert_eq!(r.notes(), "LW mig[0, 1]");
    assert_eq!(r.state(), "LWRS (3,0,11,L) ; RDR [] ; LDR [0* 1* 2*]");
    r.write(sectors(100, 103));
    assert_eq!(r.notes(), "");
    assert_eq!(
        r.state(),
        "LWRS (3,0,11,L) (4,100,103) ; RDR [25*] ; LDR [0* 1* 2*]"
    );
    let mut e = env(16, 4, 1);
    e.background = true;
    let mut r = Rig::new(Prober::new(Lru::new(16), options(), &e), &e);
    stream(&mut r, 0);
    r.write(sectors(100, 103));
    assert_eq!(r.state(), "LDR [0* 1* 2*] ; RDR [25*]");
}

#[test]
fn the_base_adapts_to_large_data_only_if_it_gives_the_victim() {
    let mut r = rig(2, options());
    r.write(sectors(100, 103));
    r.write(sectors(200, 203));
    r.scheme.inner.take();
    r.write(sectors(0, 11));
    let first = "expect 0 W, evicted 25, forget 0";
    assert_eq!(
        r.scheme.inner.take(),
        format!("{first}, forget 1, forget 2")
    );
    assert_eq!(
        r.take(),
        "flush{25} flush{0} flush{1}",
        "then LDR gives the victims"
    );
}
