//! Every option and decision of CAC, and the table against a plain map over random runs.

use super::*;
use crate::Pages;
use crate::testing::{ALL, Mix, Span, Spy, TestCache, boxed};
use destage_types::Op;

mod model;

type Cache<S = Boxed> = TestCache<Cac<S>>;

/// The table as `12:10 13:11a`, by current address.
fn art<S: Scheme + 'static>(cache: &Cache<S>) -> String {
    let state = cache.state();
    let (_, table) = state.rsplit_once("ART{").unwrap();
    table.trim_end_matches('}').to_owned()
}

/// One block with its old address, as (result, events, table).
fn one<S: Scheme + 'static>(cache: &mut Cache<S>, cur: u64, pre: u64, atomic: bool) -> [String; 3] {
    [
        cache.replace(cur, &[Some(pre)], atomic),
        cache.said(),
        art(cache),
    ]
}

/// An update `(current, previous, atomic)` and what it gives.
type Step<'a> = (u64, u64, bool, [&'a str; 3]);

/// A cache of so many pages after `requests` and `steps`.
fn after(options: &str, capacity: u32, requests: &str, steps: &[Step]) -> Cache {
    let mut cache = Cache::new(&format!("cac(lru{options})"), capacity);
    cache.run(requests);
    for &(current, previous, atomic, wanted) in steps {
        assert_eq!(
            one(&mut cache, current, previous, atomic),
            wanted,
            "{previous}->{current}"
        );
    }
    cache
}

#[test]
fn an_update_takes_the_place_of_the_old_version() {
    let mut cache = after(
        "",
        3,
        "W10-11",
        &[
            (12, 10, false, ["H", "remap 10->12", "12:10"]),
            (14, 9, false, ["M", "-", "12:10 14:9"]), // CAC-7: neither is cached
            (15, 12, false, ["H", "remap 12->15", "14:9 15:12"]),
        ],
    );
    assert_eq!(cache.read(12), "M", "no translation of reads");
    assert_eq!(
        (cache.said().as_str(), art(&cache).as_str()),
        ("flush{11}", "14:9 15:12")
    );
    cache.read(70);
    let state = "[70 12 15*] ; ART{15:12}";
    assert_eq!(cache.state(), state, "an entry leaves with its block");
}

#[test]
fn an_atomic_chain_keeps_two_versions() {
    let chain = [
        (20, 10, true, ["M", "-", "20:10a"]),
        (30, 20, true, ["H", "remap 10->30", "30:20a"]),
        (40, 30, true, ["H", "remap 20->40", "40:30a"]),
        // CAC-4: not atomic, so the older version that was kept goes.
        (50, 40, false, ["H", "remap 40->50 discard 30", "50:40"]),
    ];
    assert_eq!(after("", 4, "W10", &chain[..3]).cached(), [30, 40]);
    assert_eq!(after("", 4, "W10", &chain).cached(), [50]);
    // Or it stays.
    let kept = (30, 20, false, ["H", "remap 20->30", "30:20"]);
    let cache = after(",drop-stale=false", 4, "W10", &[chain[0], kept]);
    assert_eq!(cache.cached(), [10, 30]);
}

#[test]
fn cac_1_four_bytes_per_cached_block() {
    for (capacity, blocks) in [(4, 3), (32768, 32768)] {
        let cache = after("", capacity, &format!("W0-{}", blocks - 1), &[]);
        assert_eq!(cache.metadata_bytes(), blocks * (12 + 4));
    }
}

#[test]
fn cac_2_ghosts_are_renamed_unless_told_not_to() {
    for (ghosts, said, state) in [
        // The ghost of 9 ends when 9 is inserted.
        (
            true,
            "remap 1->9 flush{2}",
            "A1in[3*] A1out[2] Am[9*] ; ART{9:1}",
        ),
        (false, "flush{2}", "A1in[9* 3*] A1out[2 1] Am[] ; ART{9:1}"),
    ] {
        let mut cache: Cache = Cache::new(&format!("cac(2q(kin=1,kout=2),ghosts={ghosts})"), 2);
        cache.run("W1-3"); // 1 is a ghost
        let [result, events, _] = one(&mut cache, 9, 1, false);
        assert_eq!(
            (result.as_str(), events.as_str(), cache.state().as_str()),
            ("M", said, state)
        );
    }
}

#[test]
fn cac_2_ghosts_of_the_target_go_first() {
    let mut cache: Cache = Cache::new("cac(2q(kin=1,kout=2))", 2);
    cache.run("W1-3"); // 1 is a ghost
    assert_eq!(one(&mut cache, 1, 3, false)[1], "remap 3->1");
    assert_eq!(cache.state(), "A1in[1* 2*] A1out[] Am[] ; ART{1:3}");
    let mut cache = Cache::<Pages<Spy>>::new("cac(lru)", 2);
    cache.run("W1-3");
    cache.scheme.inner.policy().take();
    one(&mut cache, 1, 3, false);
    assert_eq!(
        cache.scheme.inner.policy().take(),
        "forget 1, rename 3 1, hit 1 W"
    );
    // A write that names no old address leaves ghosts alone, so does one in place, and a cached
    // target has none.
    cache.run("W5 W2");
    one(&mut cache, 5, 5, false);
    one(&mut cache, 5, 2, false);
    assert!(!cache.scheme.inner.policy().take().contains("forget"));
}

#[test]
fn cac_3_an_address_in_use_again_clears_its_pairs() {
    let mut cache = after("", 6, "W60", &[(70, 60, true, ["M", "-", "70:60a"])]);
    // 60 is other data now: an update of 70 must not drop it.
    cache.write(60);
    assert_eq!(art(&cache), "");
    assert_eq!(
        one(&mut cache, 80, 70, false),
        ["H", "remap 70->80", "80:70"]
    );
    assert_eq!(cache.cached(), [60, 80]);
    // Two entries may name one old address; both go.
    one(&mut cache, 81, 5, false);
    assert_eq!(one(&mut cache, 82, 5, false)[2], "80:70 81:5 82:5");
    cache.trim(5);
    assert_eq!(art(&cache), "80:70", "TRIM of the old address");
    cache.trim(80);
    assert_eq!((art(&cache).as_str(), cache.scheme.art.len()), ("", 0));
}

#[test]
fn updates_of_cached_or_clean_pages() {
    let mut cache = after(
        "",
        3,
        "W10",
        &[(11, 10, false, ["H", "remap 10->11", "11:10"])],
    );
    cache.write(12);
    let in_place = "an update in place is an ordinary write";
    assert_eq!(one(&mut cache, 11, 11, false), ["H", "-", ""], "{in_place}");
    assert_eq!(
        one(&mut cache, 13, 11, false),
        ["H", "remap 11->13", "13:11"]
    );
    // A cached target replaces the old version.
    let replaced = (2, 1, false, ["H", "discard 1", "2:1"]);
    assert_eq!(after("", 4, "W1-2", &[replaced]).cached(), [2]);
    // CAC-5: a clean old version becomes dirty.
    let cleaned = (5, 4, false, ["H", "remap 4->5", "5:4"]);
    assert_eq!(after("", 3, "R4", &[cleaned]).state(), "[5*] ; ART{5:4}");
}

#[test]
fn cac_6_the_flash_copy_stays_unless_told_otherwise() {
    for (options, said) in [
        ("", "remap 4->5"),
        (",unmap-pre=true", "remap and unmap 4->5"),
    ] {
        let remapped = (5, 4, false, ["H", said, "5:4"]);
        after(
            options,
            3,
            "W4",
            &[remapped, (7, 6, false, ["M", "-", "5:4 7:6"])],
        );
    }
}

#[test]
fn cac_8_all_renames_come_before_the_request() {
    let mut cache = after("", 3, "W10-12", &[]);
    assert_eq!(cache.replace(20, &[Some(10), Some(11)], false), "HH");
    cache.read(12);
    assert_eq!(cache.replace(30, &[Some(12), None, Some(20)], false), "HMM");
    assert_eq!(
        cache.said(),
        "remap 12->30 remap 20->32 flush{32} flush{21}"
    );
    assert_eq!(
        art(&cache),
        "30:12 32:20",
        "entries of what is cached at the end"
    );
    assert_eq!(
        cache.replace(40, &[Some(30), Some(31), Some(32)], false),
        "HHH"
    );
    assert_eq!(art(&cache), "40:30 41:31 42:32");
}

#[test]
fn cac_8_layers_below_see_whole_requests() {
    // All of the update is cached after the renames: ProCache updates in place, untested.
    let mut cache: Cache = Cache::new("cac(procache(lru,p=1))", 4);
    cache.write(0..=1);
    assert_eq!(cache.replace(8, &[Some(0), Some(1)], false), "HH");
    assert_eq!(
        (cache.cached(), art(&cache).as_str()),
        (vec![8, 9], "8:0 9:1")
    );
    let stats = ["updates", "admitted", "art_entries"].map(|name| cache.stat(name));
    assert_eq!(stats, [1, 1, 2]);
    // A bypassed request leaves no entry, and its renamed pages are superseded.
    assert_eq!(cache.replace(20, &[Some(8), None, None], false), "MMM");
    let said = "remap 8->20 inval{20} bypass{20,21,22}";
    assert_eq!((cache.said().as_str(), art(&cache).as_str()), (said, "9:1"));
    // Req-block keeps the pages in the block they were in.
    let mut cache: Cache = Cache::new("cac(req-block)", 8);
    cache.write(0..=5);
    assert_eq!(cache.replace(70, &[Some(0), Some(1)], false), "HH");
    let lists = ["irl_pages", "srl_pages", "drl_pages"].map(|name| cache.stat(name));
    assert_eq!(lists, [0, 5, 1], "6 > delta divides, 5 does not");
}

#[test]
fn a_block_may_name_one_dropped_by_an_earlier_block_of_its_request() {
    let mut cache = after("", 8, "W1-2", &[]);
    let page = cache.frames.page();
    let shift = [3u64.extent(page), 2u64.extent(page)];
    cache.serve(Op::Write, &shift, &[Some(2), Some(1)], false);
    assert_eq!(cache.said(), "remap 2->3 remap 1->2");
    assert_eq!(art(&cache), "2:1 3:2");
    cache.run("R1 W9");
    // Block 9 drops 2, two versions back; block 10 then names 2, whose entry still counts.
    assert_eq!(cache.replace(9, &[Some(3), Some(2)], true), "HH");
    assert_eq!(cache.said(), "discard 2 remap 1->10");
    assert_eq!(
        (cache.cached(), art(&cache).as_str()),
        (vec![3, 9, 10], "9:3a 10:2a")
    );
    assert!(cache.scheme.dropped.is_empty() && cache.scheme.pending.is_empty());
}

#[test]
fn without_pairs_nothing_differs_from_the_inner_scheme() {
    let mix = Mix {
        special: false,
        device: false,
        ..ALL
    };
    let [cac, bare] = ["cac(2q(kin=2,kout=9))", "2q(kin=2,kout=9)"].map(|text| {
        let (mut cache, mut states) = (boxed(text, 8), vec![]);
        let log = cache.random(4, 3_000, mix, |cache| {
            states.push(cache.state().replace(" ; ART{}", ""));
        });
        (log, states)
    });
    assert!(cac == bare);
}
