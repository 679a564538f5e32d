use super::*;
use crate::testing::{ChipState, TestCache, boxed, env};
use destage_types::{Nanos, StaticLayout};

/// Pages that are cleaned next on channel 0.
fn next(cache: &mut TestCache<Boxed>) -> Vec<u64> {
    cache.write_back(0, 0, &[]).0
}

fn chips(text: &str, channels: u32, chips: u32) -> TestCache<Boxed> {
    let env = Env {
        layout: StaticLayout::flat(channels, chips),
        ..env(8, 8, 1)
    };
    TestCache::with(text, &env)
}

#[test]
fn ic_1_up_to_the_watermark_pages_may_be_dirty() {
    let mut cache = boxed("idle-clean(lru,watermark=0.25,young=1)", 8);
    cache.run("W1-2 R8-9");
    assert_eq!(cache.write_back(0, 0, &[]).1, WriteBack::Nowhere);
    cache.run("W3 R8");
    let keep = WriteBack::Unit(Terms::KEEP_CLEAN);
    assert_eq!(cache.write_back(0, 0, &[]), (vec![1], keep));
    cache.idle(0);
    assert!(next(&mut cache).is_empty(), "2 and 3 may stay dirty");
    cache.run("F2 W4");
    assert!(
        next(&mut cache).is_empty(),
        "what FLUSH cleaned is not dirty either"
    );
}

#[test]
fn ic_2_the_pages_accessed_last_are_not_cleaned() {
    let mut cache = boxed("idle-clean(lru,watermark=0,young=3)", 8);
    cache.run("W1-2 R5 R5 R5");
    assert!(next(&mut cache).is_empty(), "only 2 and 5 are newer than 1");
    cache.run("R6");
    assert_eq!(next(&mut cache), [1]);
    cache.run("R1");
    assert_eq!(next(&mut cache), [2], "a hit makes it young again");
    cache.idle(0);
    assert!(next(&mut cache).is_empty());
    cache.run("R2 R5 R6 T6");
    assert!(
        next(&mut cache).is_empty(),
        "a page that is gone is not newer"
    );
    cache.run("R7");
    assert_eq!(next(&mut cache), [1]);
}

#[test]
fn ic_2_a_read_that_is_not_let_in_is_no_access() {
    let mut cache = boxed("idle-clean(lru,watermark=0,young=1)", 8);
    cache.read_alloc = false;
    cache.run("W1 R5");
    assert!(next(&mut cache).is_empty());
    cache.run("W2");
    assert_eq!(next(&mut cache), [1]);
}

#[test]
fn ic_3_a_page_that_was_written_again_waits_longer() {
    let mut cache = boxed(
        "idle-clean(lru,watermark=0,young=2,second-chance=true,adapt=false)",
        8,
    );
    cache.run("W1 W1 W2 R5-6");
    assert_eq!(next(&mut cache), [2], "although 1 is older");
    cache.run("R7-9");
    assert_eq!(next(&mut cache), [2]);
    cache.run("R10");
    assert_eq!(next(&mut cache), [1], "it is the oldest of eight");
    cache.run("T1 W1 R5-6");
    cache.idle(0);
    assert_eq!(next(&mut cache), [1], "that was another page 1");
    let text = "idle-clean(lru,watermark=0,young=2)";
    let mut cache = boxed(text, 8);
    cache.run("W1 W1 W2 R5-6");
    assert_eq!(next(&mut cache), [1]);
}

#[test]
fn ic_4_rewrites_and_dirty_evictions_move_the_veto() {
    let text = "idle-clean(lru,watermark=0,young=16,balance=2,period=4)";
    let young = |cache: &TestCache<Boxed>| cache.stat("young_pages");
    let mut cache = boxed(text, 64);
    cache.run("W1 R1000-1015");
    assert_eq!((next(&mut cache), young(&cache)), (vec![1], 16));
    cache.idle(0);
    cache.run("W1");
    assert_eq!(
        cache.stat("rewrites_after_clean"),
        1,
        "it was cleaned in vain"
    );
    cache.run("R1");
    assert_eq!(young(&cache), 16, "that is looked at after the 20th access");
    cache.run("R1");
    assert_eq!(young(&cache), 18, "by a 32nd of the cache");
    cache.run("W1 R1 R1 R1");
    assert_eq!(
        young(&cache),
        18,
        "the page was not clean, and one rewrite fades at once"
    );

    let mut cache = boxed(text, 64);
    cache.run("W1-64");
    assert_eq!(young(&cache), 16);
    cache.run("W65-68");
    assert_eq!(young(&cache), 14, "four dirty pages left");
    cache.run("W69-168");
    assert_eq!(young(&cache), 0);
}

#[test]
fn ic_4_one_dirty_eviction_is_worth_some_rewrites() {
    let mut veto = Veto::new(70, 80);
    assert_eq!((veto.most, veto.step), (75, 2));
    let mut adapt = |rewrites, dirty_evictions| {
        (veto.rewrites, veto.dirty_evictions) = (rewrites, dirty_evictions);
        veto.adapt(2);
        (veto.young, veto.rewrites, veto.dirty_evictions)
    };
    assert_eq!(adapt(6, 3), (70, 5, 2));
    assert_eq!(adapt(7, 3), (72, 6, 2));
    assert_eq!(adapt(33, 16), (74, 30, 15));
    assert_eq!(adapt(33, 16), (75, 30, 15));
    assert_eq!(adapt(31, 16), (73, 29, 15));
}

#[test]
fn ic_4_pages_that_flush_cleaned_are_not_cleaned_ahead() {
    let mut cache = boxed("idle-clean(lru,watermark=0,young=1)", 8);
    cache.run("W1-2 F W1");
    assert_eq!(cache.stat("rewrites_after_clean"), 0);
    cache.run("R5");
    cache.idle(0);
    cache.run("R1 R2 R5 W1");
    let text = "reads in between do not matter";
    assert_eq!(cache.stat("rewrites_after_clean"), 1, "{text}");
    cache.run("W1");
    assert_eq!(cache.stat("rewrites_after_clean"), 1, "once each time");
}

#[test]
fn ic_5_each_idle_chip_gets_one_page() {
    // Chips 0 and 2 are on channel 0, 1 and 3 on channel 1.
    let mut cache = chips("idle-clean(lru,watermark=0,young=1)", 2, 4);
    cache.run("W2 W0 W4 W1 R7");
    assert_eq!(
        cache.write_back(0, 0, &[]).0,
        [2],
        "the page of chip 2 is the oldest"
    );
    assert_eq!(cache.write_back(1, 0, &[]).0, [1]);
    cache.chips.states[2] = ChipState {
        drain: Nanos(1),
        ..ChipState::IDLE
    };
    assert_eq!(cache.write_back(0, 1, &[2]).0, [0]);
    let passed = cache.write_back(0, 1, &[2, 0]).0;
    assert_eq!(passed, [4], "a busy page is passed over");
    cache.chips.states[0].in_gc = true;
    assert!(cache.write_back(0, 2, &[2, 0]).0.is_empty());
}

#[test]
fn ic_6_a_group_is_cleaned_whole_when_all_of_it_is_old() {
    let text = "idle-clean(bplru(block-pages=4,placement=stripe),watermark=0,young=2,adapt=false)";
    let mut cache = boxed(text, 8);
    cache.run("W1 W2 W5");
    assert!(next(&mut cache).is_empty(), "only page 5 is newer than 2");
    cache.run("W9");
    let mut pages = next(&mut cache);
    pages.sort_unstable();
    assert_eq!(pages, [1, 2]);
    assert!(
        cache.write_back(0, 1, &[]).0.is_empty(),
        "one group at a time"
    );
    assert!(
        cache.write_back(0, 0, &[2]).0.is_empty(),
        "a busy page holds it up"
    );
}

#[test]
fn a_renamed_page_is_looked_for_on_its_new_chip() {
    let mut cache = chips("idle-clean(lru,watermark=0,young=1)", 2, 2);
    cache.run("W2 W3 R7");
    assert!(cache.rename(2, 5));
    cache.run("R7");
    assert!(cache.write_back(0, 0, &[]).0.is_empty());
    assert_eq!(
        cache.write_back(1, 0, &[]).0,
        [3],
        "the rename was an access"
    );
    assert_eq!(cache.write_back(1, 0, &[3]).0, [5]);
}

#[test]
fn metadata_is_counted() {
    let text = "idle-clean(lru)";
    let mut cache = chips(text, 2, 4);
    cache.run("W1-5");
    let lru = 5 * crate::PAGE_NODE_BYTES;
    assert_eq!(cache.metadata_bytes(), lru + 5 * 24 + 8 * 8);
}
