//! Every option and decision of CAC, and the table against a plain map over random runs.

use super::*;
use crate::layer::{ProCache, ProCacheParams};
use crate::list::ListArena;
use crate::mini::{Mini, pages};
use crate::policy::{Lru, ReqBlock, ReqBlockParams};
use crate::rng::SplitMix64;
use crate::{Access, GhostQueues};
use destage_types::Op;
use std::collections::BTreeMap;

mod model;

/// LRU that remembers evicted pages, to see what happens to ghosts.
struct Remembering {
    list: ListArena,
    ghosts: GhostQueues<1>,
    forgotten: Vec<u64>,
}

impl Remembering {
    fn new(capacity: usize) -> Remembering {
        Remembering {
            list: ListArena::new(capacity, 1),
            ghosts: GhostQueues::new(capacity),
            forgotten: Vec::new(),
        }
    }
}

impl Scheme for Remembering {
    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        slot.is_some() || self.ghosts.rename(from, to)
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.ghosts.forget(a.lpn);
        self.list.push_head(0, slot.0);
    }

    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.list.move_to_head(0, slot.0);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.list.unlink(0, slot.0);
        if reason == RemoveReason::Evicted {
            self.ghosts.push_head(0, v.frames.lpn(slot));
        }
    }

    fn forget(&mut self, lpn: Lpn, _v: &View) {
        self.forgotten.push(lpn.0);
        self.ghosts.forget(lpn);
    }

    fn size(&self) -> usize {
        self.list.len(0)
    }

    fn page_victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        self.list.tail(0).map(Slot)
    }

    fn candidates(&self, _v: &View, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        self.list.from_tail(0).map(Slot).find(|&s| f(s))
    }

    fn metadata_bytes(&self) -> u64 {
        0
    }

    #[cfg(feature = "conformance")]
    fn state(&self, _v: &View, _out: &mut String) {}
}

fn cache(capacity: u32, params: CacParams) -> Mini<Cac<Lru>> {
    let n = capacity as usize;
    Mini::new(capacity, true, Cac::new(params, n, Lru::new(n)))
}

fn plain(capacity: u32) -> Mini<Cac<Lru>> {
    cache(capacity, CacParams::default())
}

fn remembering(capacity: u32, params: CacParams) -> Mini<Cac<Remembering>> {
    let n = capacity as usize;
    Mini::new(capacity, true, Cac::new(params, n, Remembering::new(n)))
}

/// The table as `12:10 13:11a`, by current address.
fn art<S: Scheme>(m: &Mini<Cac<S>>) -> String {
    let pairs = m.cached().into_iter().filter_map(|lpn| {
        let pair = m.scheme.art.get(m.frames.slot_of(Lpn(lpn))?)?;
        Some(format!(
            "{lpn}:{}{}",
            pair.pre,
            if pair.atomic { "a" } else { "" }
        ))
    });
    pairs.collect::<Vec<_>>().join(" ")
}

/// One block with its old address, as (result, events, table).
fn one<S: Scheme>(m: &mut Mini<Cac<S>>, cur: u64, pre: u64, atomic: bool) -> [String; 3] {
    [m.update(cur, &[Some(pre)], atomic), m.said(), art(m)]
}

#[test]
fn an_update_takes_the_place_of_the_old_version() {
    let mut m = plain(3);
    m.write(10, 11, 1);
    assert_eq!(one(&mut m, 12, 10, false), ["H", "remap 10->12", "12:10"]);
    assert_eq!(
        one(&mut m, 14, 9, false),
        ["M", "-", "12:10 14:9"],
        "CAC-7: neither is cached"
    );
    assert_eq!(
        one(&mut m, 15, 12, false),
        ["H", "remap 12->15", "14:9 15:12"]
    );
    assert_eq!(m.read(12, 12, 9), "M", "no translation of reads");
    assert_eq!(
        (m.said(), art(&m)),
        ("flush{11}".to_owned(), "14:9 15:12".to_owned())
    );
    m.read(70, 70, 9);
    assert_eq!(art(&m), "15:12", "an entry leaves with its block");
    #[cfg(feature = "conformance")]
    assert_eq!(m.state(), "[70 12 15*] ; ART{15:12}");
}

#[test]
fn an_atomic_chain_keeps_two_versions() {
    let mut m = plain(4);
    m.write(10, 10, 1);
    assert_eq!(one(&mut m, 20, 10, true), ["M", "-", "20:10a"]);
    assert_eq!(one(&mut m, 30, 20, true), ["H", "remap 10->30", "30:20a"]);
    assert_eq!(one(&mut m, 40, 30, true), ["H", "remap 20->40", "40:30a"]);
    assert_eq!(m.cached(), [30, 40]);
    // CAC-4: not atomic, so the older version that was kept goes.
    assert_eq!(
        one(&mut m, 50, 40, false),
        ["H", "remap 40->50 discard 30", "50:40"]
    );
    assert_eq!(m.cached(), [50]);
}

#[test]
fn cac_4_the_stale_version_may_stay() {
    let mut m = cache(
        4,
        CacParams {
            drop_stale: false,
            ..CacParams::default()
        },
    );
    m.write(10, 10, 1);
    one(&mut m, 20, 10, true);
    assert_eq!(one(&mut m, 30, 20, false), ["H", "remap 20->30", "30:20"]);
    assert_eq!(m.cached(), [10, 30]);
}

#[test]
fn cac_1_four_bytes_per_cached_block() {
    let mut m = plain(4);
    m.write(0, 2, 1);
    assert_eq!(m.scheme.metadata_bytes(), 3 * (12 + 4));
    let capacity = 32768;
    let mut m = plain(capacity);
    m.write(0, u64::from(capacity) - 1, 1);
    assert_eq!(m.scheme.metadata_bytes() - 12 * 32768, 128 << 10);
}

#[test]
fn cac_2_ghosts_are_renamed_unless_told_not_to() {
    let run = |ghosts| {
        let mut m = remembering(
            2,
            CacParams {
                ghosts,
                ..CacParams::default()
            },
        );
        m.write(1, 3, 1); // 1 is a ghost
        let [result, said, _] = one(&mut m, 9, 1, false);
        assert_eq!(result, "M");
        let left: Vec<u64> = m.scheme.inner.ghosts.from_head(0).map(|l| l.0).collect();
        (said, left)
    };
    // The ghost of 9 ends when 9 is inserted.
    assert_eq!(run(true), ("remap 1->9 flush{2}".to_owned(), vec![2]));
    assert_eq!(run(false), ("flush{2}".to_owned(), vec![2, 1]));
}

#[test]
fn cac_2_ghosts_of_the_target_go_first() {
    let mut m = remembering(2, CacParams::default());
    m.write(1, 3, 1); // 1 is a ghost
    one(&mut m, 1, 3, false);
    assert_eq!(m.said(), "remap 3->1");
    assert!(m.scheme.inner.ghosts.is_empty(0));
    assert_eq!(m.scheme.inner.forgotten, [1]);
    // A write that names no old address leaves ghosts alone, and so does one in place.
    m.write(5, 5, 4);
    m.write(2, 2, 5);
    one(&mut m, 5, 5, false);
    assert_eq!(m.scheme.inner.forgotten, [1]);
    // A cached target has no ghost to forget.
    one(&mut m, 5, 2, false);
    assert_eq!(m.scheme.inner.forgotten, [1]);
}

#[test]
fn cac_3_an_address_in_use_again_clears_its_pairs() {
    let mut m = plain(6);
    m.write(60, 60, 1);
    one(&mut m, 70, 60, true);
    assert_eq!(art(&m), "70:60a");
    // 60 is other data now: an update of 70 must not drop it.
    m.write(60, 60, 2);
    assert_eq!(art(&m), "");
    assert_eq!(one(&mut m, 80, 70, false), ["H", "remap 70->80", "80:70"]);
    assert_eq!(m.cached(), [60, 80]);
    // Two entries may name one old address; both go.
    one(&mut m, 81, 5, false);
    one(&mut m, 82, 5, false);
    assert_eq!(art(&m), "80:70 81:5 82:5");
    m.trim(5, 5);
    assert_eq!(art(&m), "80:70", "TRIM of the old address");
    m.trim(80, 80);
    assert_eq!((art(&m), m.scheme.art.len()), (String::new(), 0));
}

#[test]
fn an_update_in_place_is_an_ordinary_write() {
    let mut m = plain(3);
    m.write(10, 10, 1);
    one(&mut m, 11, 10, false);
    m.write(12, 12, 3);
    assert_eq!(one(&mut m, 11, 11, false), ["H", "-", ""]);
    assert_eq!(one(&mut m, 13, 11, false), ["H", "remap 11->13", "13:11"]);
}

#[test]
fn a_cached_target_replaces_the_old_version() {
    let mut m = plain(4);
    m.write(1, 2, 1);
    assert_eq!(one(&mut m, 2, 1, false), ["H", "discard 1", "2:1"]);
    assert_eq!(m.cached(), [2]);
}

#[test]
fn cac_5_a_clean_old_version_becomes_dirty() {
    let mut m = plain(3);
    m.read(4, 4, 1);
    assert_eq!(one(&mut m, 5, 4, false), ["H", "remap 4->5", "5:4"]);
    assert!(m.frames.is_dirty(m.frames.slot_of(Lpn(5)).unwrap()));
}

#[test]
fn cac_6_the_flash_copy_stays_unless_told_otherwise() {
    for (unmap_pre, expected) in [(false, vec![]), (true, vec![4])] {
        let mut m = cache(
            3,
            CacParams {
                unmap_pre,
                ..CacParams::default()
            },
        );
        m.write(4, 4, 1);
        one(&mut m, 5, 4, false);
        one(&mut m, 7, 6, false);
        assert_eq!(m.unmapped, expected, "only on a remap");
    }
}

#[test]
fn cac_8_all_renames_come_before_the_request() {
    let mut m = plain(3);
    m.write(10, 12, 1);
    assert_eq!(m.update(20, &[Some(10), Some(11)], false), "HH");
    m.read(12, 12, 3);
    assert_eq!(m.update(30, &[Some(12), None, Some(20)], false), "HMM");
    assert_eq!(m.said(), "remap 12->30 remap 20->32 flush{32} flush{21}");
    assert_eq!(
        art(&m),
        "30:12 32:20",
        "entries of what is cached at the end"
    );
    assert_eq!(m.update(40, &[Some(30), Some(31), Some(32)], false), "HHH");
    assert_eq!(art(&m), "40:30 41:31 42:32");
}

#[test]
fn cac_8_layers_below_see_whole_requests() {
    // All of the update is cached after the renames: ProCache updates in place, untested.
    let params = ProCacheParams {
        p: 1.0,
        ..ProCacheParams::default()
    };
    let below = ProCache::new(&params, Lru::new(4));
    let mut m = Mini::new(4, false, Cac::new(CacParams::default(), 4, below));
    m.write(0, 1, 1);
    assert_eq!(m.update(8, &[Some(0), Some(1)], false), "HH");
    assert_eq!((m.cached(), art(&m)), (vec![8, 9], "8:0 9:1".to_owned()));
    // A bypassed request leaves no entry, and its renamed pages are superseded.
    let mut stats = BTreeMap::new();
    m.scheme.stats(&mut |name, n| {
        stats.insert(name, n);
    });
    assert_eq!(
        (stats["updates"], stats["admitted"], stats["art_entries"]),
        (1, 1, 2)
    );
    assert_eq!(m.update(20, &[Some(8), None, None], false), "MMM");
    assert_eq!(
        (m.said(), art(&m)),
        ("remap 8->20 inval{20}".to_owned(), "9:1".to_owned())
    );
    // Req-block keeps the pages in the block they were in.
    let params = ReqBlockParams::default();
    let mut m = Mini::new(
        8,
        false,
        Cac::new(CacParams::default(), 8, ReqBlock::new(params, 8)),
    );
    m.write(0, 5, 1);
    assert_eq!(m.update(70, &[Some(0), Some(1)], false), "HH");
    assert_eq!(
        m.scheme.list_pages(),
        Some([0, 5, 1]),
        "6 > delta divides, 5 does not"
    );
}

#[test]
fn a_block_may_name_one_dropped_by_an_earlier_block_of_its_request() {
    let mut m = plain(8);
    m.write(1, 2, 1);
    let shift = [pages(3, 3), pages(2, 2)];
    m.serve(Op::Write, &shift, 2, &[Some(2), Some(1)], false);
    assert_eq!(
        (m.said(), art(&m)),
        ("remap 2->3 remap 1->2".to_owned(), "2:1 3:2".to_owned())
    );
    m.read(1, 1, 3);
    m.write(9, 9, 4);
    // Block 9 drops 2, two versions back; block 10 then names 2, whose entry still counts.
    assert_eq!(m.update(9, &[Some(3), Some(2)], true), "HH");
    assert_eq!(m.said(), "discard 2 remap 1->10");
    assert_eq!(
        (m.cached(), art(&m)),
        (vec![3, 9, 10], "9:3a 10:2a".to_owned())
    );
    assert!(m.scheme.dropped.is_empty() && m.scheme.pending.is_empty());
}

#[test]
fn without_pairs_nothing_differs_from_the_inner_scheme() {
    let mut m = remembering(8, CacParams::default());
    let mut bare = Mini::new(8, true, Remembering::new(8));
    let mut rng = SplitMix64::new(4);
    for now in 0..3_000 {
        let first = rng.next_u64() % 20;
        let last = first + rng.next_u64() % 4;
        let (a, b) = match rng.next_u64() % 3 {
            0 => (m.read(first, last, now), bare.read(first, last, now)),
            _ => (m.write(first, last, now), bare.write(first, last, now)),
        };
        assert_eq!((a, m.said()), (b, bare.said()));
        assert!(
            m.scheme
                .inner
                .ghosts
                .from_head(0)
                .eq(bare.scheme.ghosts.from_head(0))
        );
    }
}
