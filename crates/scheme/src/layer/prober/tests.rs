mod options;

use super::*;
use crate::Pages;
use crate::testing::{ALL, STILL, Spy, TestCache, env, sectors};
use destage_types::ChannelId;
use std::collections::BTreeSet;

type Cache<S = Pages<Spy>> = TestCache<Prober<S>>;

/// Pages of 4 sectors, streams of more than 2 pages are large, rip 8; the base tells how it is called.
fn cache(capacity: u32, options: &str) -> Cache {
    let rip = if options.contains("rip=") {
        ""
    } else {
        ",rip=8"
    };
    let ssp = if options.contains("ssp=") {
        ""
    } else {
        ",ssp=2p"
    };
    Cache::with(
        &format!("prober(lru{ssp}{rip}{options})"),
        &env(capacity, 4, 1),
    )
}

/// The same with more chips and a background layer outside.
fn in_background(capacity: u32, chips: u32, options: &str) -> Cache {
    let env = env(capacity, 4, chips).with_background();
    Cache::with(&format!("prober(lru,ssp=2p{options})"), &env)
}

/// Calls of the base since this was asked last.
fn calls(cache: &Cache) -> String {
    cache.scheme.inner.policy().take()
}

/// Pages of LDR, oldest first.
fn ldr<S: Scheme + 'static>(cache: &Cache<S>) -> Vec<u64> {
    cache.lpns(cache.scheme.ldr.oldest_first())
}

/// Three adjacent page writes, of which the third crosses ssp.
const STREAM: &str = "W0 W1 W2";

#[test]
fn pages_of_a_stream_move_when_it_becomes_large() {
    let mut cache = cache(16, "");
    cache.run("W25");
    calls(&cache);
    cache.run(STREAM);
    assert_eq!(ldr(&cache), [0, 1, 2]);
    let own = "gone 0, gone 1, forget 2";
    let called = calls(&cache);
    assert!(
        called.ends_with(own),
        "no ghosts, and LWdata forget theirs: {called}"
    );
    cache.run("W3");
    assert_eq!(ldr(&cache), [0, 1, 2, 3]);
    assert_eq!(calls(&cache), "forget 3", "no page migrates twice");
    assert_eq!(cache.stat("migrated_pages"), 2);
    assert_eq!(cache.stat("large_write_requests"), 2);
    cache.run("W1");
    assert_eq!(ldr(&cache), [0, 2, 3]);
    let admitted = "miss 1 W, insert 1 W, hit 1 W";
    assert_eq!(
        calls(&cache),
        admitted,
        "PR-5: regular data are admitted, then hit"
    );
    let bytes = 5 * PAGE_NODE_BYTES + cache.scheme.queue.len() as u64 * LWRS_NODE_BYTES;
    assert_eq!(cache.metadata_bytes(), bytes);
}

#[test]
fn pages_of_the_request_itself_do_not_migrate() {
    let mut cache = cache(16, "");
    cache.write(sectors(0..=5));
    cache.write(sectors(9..=14));
    calls(&cache);
    // Pages 1 and 2 are shared with the sets before and behind; all three sets join.
    cache.write(sectors(6..=8));
    let own_last = "migrated pages first, then the request's own";
    assert_eq!(ldr(&cache), [0, 3, 1, 2], "{own_last}");
    assert_eq!(calls(&cache), "gone 0, gone 3, gone 1, gone 2");
}

#[test]
fn pr3_one_rewritten_sector_forgets_the_set_and_ldr_stays() {
    let mut cache = cache(16, "");
    cache.run(STREAM);
    cache.write(sectors(2..=2));
    assert_eq!(ldr(&cache), [1, 2]);
    cache.run("W3");
    assert_eq!(ldr(&cache), [1, 2], "the set is not known any more");
    assert_eq!(cache.stat("large_write_requests"), 1);
}

#[test]
fn trim_and_flush_do_not_age_the_queue() {
    let mut cache = cache(16, "");
    cache.run(STREAM);
    let asn = cache.scheme.queue.asn();
    cache.run("F");
    assert!(
        !calls(&cache).contains("clean"),
        "LDR pages are not the base's"
    );
    cache.run("T1");
    assert_eq!((cache.scheme.queue.asn(), ldr(&cache)), (asn, vec![0, 2]));
    cache.run("W15");
    calls(&cache);
    cache.run("F");
    assert_eq!(calls(&cache), "clean 15");
}

#[test]
fn a_clean_page_that_is_written_comes_back_as_dirty() {
    let mut cache = cache(16, "");
    cache.run(STREAM);
    cache.run("F");
    calls(&cache);
    cache.write(sectors(4..=5));
    assert_eq!(calls(&cache), "miss 1 W, insert 1 W, hit 1 W");
}

#[test]
fn a_read_miss_is_regular_data_whatever_was_written_before() {
    let mut cache = cache(16, "");
    cache.read_alloc = true;
    cache.run(STREAM);
    cache.run("R100");
    assert_eq!(
        (ldr(&cache).len(), cache.frames.used() - ldr(&cache).len()),
        (3, 1)
    );
}

#[test]
fn a_renamed_ldr_page_keeps_its_place() {
    let mut cache = in_background(16, 2, ",rip=8");
    cache.run(STREAM);
    assert!(cache.rename(1, 50));
    assert_eq!(ldr(&cache), [0, 50, 2]);
    assert_eq!(offered(&cache, 0), [(0, false), (50, false), (2, false)]);
    assert_eq!(offered(&cache, 1), []);
    assert!(!cache.rename(700, 51), "no ghost in the base");
}

/// Pages that a background layer gets for a channel, and whether their streams are outdated.
fn offered<S: Scheme + 'static>(cache: &Cache<S>, channel: u32) -> Vec<(u64, bool)> {
    let mut pages = Vec::new();
    let (channel, view) = (ChannelId(channel), cache.view());
    Scheme::background_pages(&cache.scheme, channel, &view, &mut |page| {
        pages.push((cache.frames.lpn(page.slot).0, page.outdated));
        true
    });
    pages
}

#[test]
fn background_layers_get_pages_by_age_and_channel() {
    let mut cache = in_background(32, 2, ",rip=4");
    cache.run("W0 W25-26 W27 W1-2");
    assert_eq!(offered(&cache, 0), [(0, false), (26, false), (2, false)]);
    assert_eq!(offered(&cache, 1), [(25, false), (27, false), (1, false)]);
    cache.run("W100");
    assert_eq!(offered(&cache, 0), [(0, true), (26, false), (2, false)]);
    cache.write(sectors(410..=411));
    assert_eq!(offered(&cache, 0), [(0, true), (26, true), (2, false)]);
}

#[test]
fn a_request_of_several_extents_is_large_if_one_of_its_sets_is() {
    let mut cache = cache(32, "");
    let write = |cache: &mut Cache, a, b| cache.request(Op::Write, &[sectors(a), sectors(b)]);
    write(&mut cache, 200..=203, 300..=303);
    assert_eq!(cache.scheme.queue.asn(), 1, "one serial number a request");
    assert!(ldr(&cache).is_empty());
    write(&mut cache, 104..=107, 108..=115);
    assert_eq!(
        ldr(&cache),
        [26, 27, 28],
        "both extents end up in one large set"
    );
    write(&mut cache, 204..=211, 400..=403);
    assert_eq!(ldr(&cache), [26, 27, 28, 50, 51, 52, 100]);
    assert_eq!(cache.stat("large_write_requests"), 2);
}

#[test]
fn a_set_nobody_exceeds_leaves_the_base_alone() {
    let env = env(9, 8, 2);
    let run = |text: &str| {
        let mut cache = TestCache::<Boxed>::with(text, &env);
        cache.read_alloc = true;
        cache.random(7, 4000, ALL, |_| {})
    };
    assert_eq!(run("prober(fifo,ssp=1000g)"), run("fifo"));
}

#[test]
fn invariants_hold_under_every_option() {
    for i in 0..96u64 {
        let bit = |n: u64, words: [&'static str; 2]| words[(i >> n & 1) as usize];
        let text = format!(
            "prober(lru,ssp=2p,rip={},rip-cmp={},asn-counts={},ldr={},ldr-evict={},\
             ldr-read-hit={},ldr-skip-partial={},cac-updates={})",
            1 + i % 7 * 5,
            bit(0, ["ge", "gt"]),
            bit(1, ["writes", "all"]),
            if i % 5 == 0 { "bypass" } else { "queue" },
            bit(2, ["tail", "head"]),
            bit(3, ["stay", "promote"]),
            bit(4, ["false", "true"]),
            bit(5, ["classify", "exempt"]),
        );
        let mut env = env(1 + (i % 9) as u32 * 3, 8, 3);
        env.background = i % 3 == 0;
        let mut cache = Cache::<Boxed>::with(&text, &env);
        cache.read_alloc = true;
        cache.random(i, 700, STILL, check_orders_by_age);
    }
}

/// The orders by age are sorted and complete.
fn check_orders_by_age(cache: &Cache<Boxed>) {
    let held: Vec<Slot> = cache.scheme.ldr.oldest_first().collect();
    assert!(held.iter().all(|&s| cache.scheme.ldr.contains(s)));
    let v = cache.view();
    for channel in (0..v.layout.channels()).map(ChannelId) {
        let pages = cache
            .scheme
            .ldr
            .of_channel(&cache.scheme.queue, channel, &v);
        let slots: Vec<Slot> = pages.map(|page| page.slot).collect();
        let key = |&s: &Slot| (cache.scheme.ldr.age(s), v.frames.lpn(s));
        assert!(slots.iter().map(key).is_sorted());
        let here = held
            .iter()
            .copied()
            .filter(|&s| cache.scheme.background && v.layout.channel(v.chip(s)) == channel);
        let offered: BTreeSet<Slot> = slots.iter().copied().collect();
        assert_eq!(offered, here.collect());
    }
}

#[test]
fn states_and_notes_as_the_worked_examples_print_them() {
    let mut cache = boxed_lru(&env(16, 4, 1));
    assert_eq!(cache.state(), "LWRS  ; RDR [] ; LDR []");
    cache.run(STREAM);
    assert_eq!(cache.notes(), "LW mig[0, 1]");
    assert_eq!(cache.state(), "LWRS (3,0,11,L) ; RDR [] ; LDR [0* 1* 2*]");
    cache.run("W25");
    assert_eq!(cache.notes(), "");
    let state = "LWRS (3,0,11,L) (4,100,103) ; RDR [25*] ; LDR [0* 1* 2*]";
    assert_eq!(cache.state(), state);
    let mut cache = boxed_lru(&env(16, 4, 1).with_background());
    cache.run(STREAM);
    cache.run("W25");
    assert_eq!(cache.state(), "LDR [0* 1* 2*] ; RDR [25*]");
}

fn boxed_lru(env: &Env) -> Cache<Boxed> {
    Cache::with("prober(lru,ssp=2p,rip=8)", env)
}

#[test]
fn the_base_adapts_to_large_data_only_if_it_gives_the_victim() {
    let mut cache = cache(2, "");
    cache.run("W25 W50");
    calls(&cache);
    cache.write(0..=2);
    assert_eq!(
        calls(&cache),
        "miss 0 W, evicted 25, forget 0, forget 1, forget 2"
    );
    let said = "flush{25} flush{0} flush{1}";
    assert_eq!(cache.said(), said, "then LDR gives the victims");
}

#[test]
fn pr_11_a_queue_of_3000_nodes_takes_46_9_kib() {
    let mut cache = cache(4, ",rip=3000");
    // Every other page: no write continues one before.
    for i in 0..4000 {
        cache.run(&format!("W{}", 2 * i));
    }
    assert_eq!(cache.scheme.queue.len(), 3000);
    let queue = cache.metadata_bytes() - 4 * PAGE_NODE_BYTES;
    assert_eq!(queue, 48_000);
    assert_eq!((queue as f64 / 1024.0 * 10.0).round() / 10.0, 46.9);
}
