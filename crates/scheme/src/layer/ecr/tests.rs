use super::*;
use crate::InService;
use crate::policy::lru::Lru;
use crate::testing::{ALL, Spy, TestCache, env, expr, random_run};
use destage_types::Nanos;

type Cache<S = Boxed> = TestCache<Pages<Ecr<S>>>;

/// `ecr` with the exact drain times.
fn oracle(capacity: u32, chips: u32, requests: &str) -> Cache {
    let mut cache = Cache::with("ecr(lru,cqct=oracle)", &env(capacity, 8, chips));
    cache.run(requests);
    cache.take();
    cache
}

/// Pages in the list of a chip, or, behind them, in that of clean pages.
fn list<S: Build>(cache: &Cache<S>, list: usize) -> Vec<u64> {
    cache.lpns(cache.scheme.policy().pages.newest_first(list))
}

#[test]
fn clean_pages_leave_first_then_the_chip_that_drains_first() {
    let mut cache = oracle(4, 2, "W0 W2 W1 R3");
    assert_eq!(cache.state(), "clean[3] c0[2* 0*] c1[1*] CQCT=[0, 0]");
    // The read of page 3 ends at 55; a program takes 200.
    for (at, page, drains, event) in [
        (40, 4, [0, 15], "drop{3}"),
        (50, 6, [0, 5], "flush{0}"),
        (60, 8, [190, 0], "flush{1}"),
        (70, 5, [180, 190], "flush{2}"),
    ] {
        for (state, drain) in cache.chips.states.iter_mut().zip(drains) {
            state.drain = Nanos(drain);
        }
        cache.at(at).write(page);
        assert_eq!(cache.said(), event);
    }
}

#[test]
fn ecr3_a_chip_without_dirty_pages_is_not_chosen() {
    let mut cache = oracle(2, 2, "W0 W2");
    cache.chips.states[0].drain = Nanos(500);
    cache.write(4);
    assert_eq!(cache.said(), "flush{0}");
}

#[test]
fn ecr4_ties_go_to_the_oldest_page_or_the_lowest_chip() {
    for (tie, event) in [("oldest", "flush{1}"), ("lowest-index", "flush{0}")] {
        let text = format!("ecr(lru,cqct=oracle,tie={tie})");
        let mut cache = Cache::<Boxed>::with(&text, &env(3, 8, 2));
        cache.run("W1 W0 W3 W5");
        assert_eq!(
            (cache.said().as_str(), cache.stat("zero_cqct_decisions")),
            (event, 1)
        );
        cache.chips.states[1].drain = Nanos(1);
        cache.write(2);
        assert_eq!(cache.stat("zero_cqct_decisions"), 1);
    }
}

#[test]
fn ecr2_and_ecr5_options_reach_the_decision() {
    // Chip 0 has a program almost done, chip 1 a fresh read.
    for (option, event, why) in [
        ("", "flush{1}", "200 against 25"),
        (",residual=remaining", "flush{0}", "3 against 24"),
        (",page-latency=per-page", "flush{0}", "10 against 25"),
    ] {
        let mut cache = Cache::<Boxed>::with(&format!("ecr(lru{option})"), &env(2, 8, 2));
        cache.chips.costs.program = Nanos(200);
        cache.chips.costs.read = Nanos(25);
        cache.chips.costs.pages_per_block = 64;
        cache.chips.next_program = Some(Nanos(10));
        for (chip, op, residual) in [(0, Op::Write, Nanos(3)), (1, Op::Read, Nanos(24))] {
            let state = &mut cache.chips.states[chip];
            state.queue.reads = u64::from(op == Op::Read);
            state.queue.writes = u64::from(op == Op::Write);
            state.queue.free_pages = 1000;
            state.queue.frontier_free_pages = 60;
            state.in_service = Some(InService { op, residual });
        }
        cache.run("W0-1 W2");
        assert_eq!(cache.said(), event, "{why}");
    }
}

#[test]
fn pages_move_within_and_between_lists() {
    let mut cache = oracle(8, 2, "W0 W2 R4 R6 R0 R4");
    assert_eq!(cache.state(), "clean[4 6] c0[0* 2*] c1[] CQCT=[0, 0]");
    cache.write(6);
    assert_eq!(cache.state(), "clean[4] c0[6* 0* 2*] c1[] CQCT=[0, 0]");
    cache.trim(0);
    assert_eq!(list(&cache, 0), [6, 2]);
    // Flushed pages join the clean ones by last touch.
    let flushed = oracle(8, 2, "W0 R1 W3 R5 W2 R1 F");
    assert_eq!(flushed.state(), "clean[1 2 5 3 0] c0[] c1[] CQCT=[0, 0]");
}

#[test]
fn a_renamed_page_follows_its_address() {
    let mut cache = oracle(8, 2, "W0 W1 W2 W3 R9");
    cache.rename(0, 10);
    assert_eq!(list(&cache, 0), [2, 10], "same chip: same place");
    cache.rename(10, 11);
    assert_eq!(
        (list(&cache, 0), list(&cache, 1)),
        (vec![2], vec![11, 3, 1])
    );
    cache.rename(9, 20);
    assert_eq!(list(&cache, 2), [20], "clean pages belong to no chip");
    assert!(!cache.rename(300, 301));
}

/// With a policy of its own for each chip that tells how it is called.
fn spies(capacity: u32) -> Cache<Pages<Spy>> {
    Cache::with("ecr(fifo,cqct=oracle)", &env(capacity, 8, 2))
}

#[test]
fn the_policy_of_a_chip_sees_its_dirty_pages_only() {
    let mut cache = spies(3);
    cache.run("R0 W0 R0 W1 F W3");
    fn calls(cache: &Cache<Pages<Spy>>, chip: usize) -> String {
        cache.scheme.policy().inner[chip].policy().take()
    }
    assert_eq!(calls(&cache, 0), "miss 0 W, insert 0 W, hit 0 R, gone 0");
    assert_eq!(
        calls(&cache, 1),
        "miss 1 W, insert 1 W, gone 1, miss 3 W, insert 3 W"
    );
    assert_eq!((list(&cache, 2), list(&cache, 1)), (vec![1, 0], vec![3]));
    cache.rename(3, 4);
    assert_eq!(calls(&cache, 1), "gone 4");
    assert_eq!(calls(&cache, 0), "forget 4, miss 4 W, insert 4 W");
    cache.rename(70, 72);
    assert_eq!(calls(&cache, 0), "forget 72, rename ghost 70 72");
    assert!(!cache.rename(70, 73), "a ghost stays with its chip");
    assert_eq!(calls(&cache, 0) + &calls(&cache, 1), "forget 73");
    cache.take();
    cache.run("W5 W6 W7");
    assert_eq!(cache.take(), "drop{0} drop{1} flush{4}");
    assert!(calls(&cache, 0).ends_with("evicted 4"));
}

/// `ecr` with one LRU for each chip instead of its own lists.
fn one_lru_a_chip(text: &str, env: &Env) -> TestCache<Pages<Ecr<Pages<Lru>>>> {
    let layer = expr(text);
    let policies = (0..env.layout.chips()).map(|_| Build::build(layer_below(&layer), env));
    let choice = ChipChoice::of(&layer, env);
    let ecr = Ecr::new(choice, policies.collect(), env);
    let mut cache = TestCache::of(Pages::of(ecr), env);
    cache.filtered = true;
    cache
}

#[test]
fn invariants_hold_with_random_queues() {
    for i in 0..24u32 {
        let env = env(1 + i % 11, 8, 1 + i % 4);
        let (seed, tie) = (u64::from(i), ["oldest", "lowest-index"][i as usize % 2]);
        let run = |text: &str| random_run(text, &env, seed, 1200, ALL);
        let text = format!("ecr(lru,tie={tie})");
        let per_chip = one_lru_a_chip(&text, &env).random(seed, 1200, ALL, |_| {});
        assert_eq!(per_chip, run(&text));
        run(&format!("ecr(fifo,tie={tie})"));
        run(&format!("ecr-eps(tie={tie})"));
        run("cflru-eps");
    }
}

#[test]
fn metadata() {
    let mut cache = oracle(8, 2, "W0-2 R3");
    assert_eq!(cache.metadata_bytes(), 4 * 13 + 3 * 8);
    cache.run("T0");
    assert_eq!(cache.metadata_bytes(), 3 * 13 + 3 * 8);
    let mut cache = spies(8);
    cache.run("W0-2 R3");
    assert_eq!(cache.metadata_bytes(), 13 + 3 * 8 + 3 * (12 + 1));
}

#[test]
fn policies_of_chips_are_meant_for_the_cache_or_their_share_of_it() {
    for (share, capacity, of_chip) in [("total", 10, 10), ("share", 10, 2), ("share", 2, 1)] {
        let text = format!("ecr(fifo,inner-capacity={share})");
        let built = Ecr::<Pages<Spy>>::build(&expr(&text), &env(capacity, 8, 4));
        let capacities: Vec<u32> = built.inner.iter().map(|c| c.policy().capacity).collect();
        assert_eq!(capacities, [of_chip; 4]);
    }
}

#[test]
fn ecr11_lirs_for_the_whole_cache_is_lru() {
    let env = env(24, 8, 4);
    let run = |text| random_run(text, &env, 11, 3000, ALL);
    let lru = run("ecr(lru)");
    assert_eq!(run("ecr(lirs,inner-capacity=total)"), lru);
    assert_ne!(run("ecr(lirs,inner-capacity=share)"), lru);
}

#[test]
fn states_as_the_worked_examples_print_them() {
    let mut cache = oracle(4, 2, "W0-1 R3");
    cache.chips.states[1].drain = Nanos(25);
    assert_eq!(cache.state(), "clean[3] c0[0*] c1[1*] CQCT=[0, 25]");
    let mut cache = spies(4);
    cache.run("W0-1");
    assert_eq!(cache.state(), "clean[] c0[0*] c1[1*] CQCT=[0, 0]");
    for (text, state) in [
        (
            "ecr-eps(cqct=oracle)",
            "clean[] c0[2 0*] c1[1*] CQCT=[0, 0]",
        ),
        ("cflru-eps", "clean[2] c0[0*] c1[1*] CQCT=[0, 0]"),
    ] {
        let mut cache = TestCache::<Boxed>::with(text, &env(4, 8, 2));
        cache.run("W0-1 R2");
        assert_eq!(cache.state(), state);
    }
}

/// The units of `next_units` for a page that comes in, each as its pages in ascending order.
fn units(cache: &TestCache<Boxed>) -> Vec<Vec<u64>> {
    let (mut unit, mut shown) = (Unit::default(), Vec::new());
    let a = Access::new(
        AccessId {
            request: 99,
            seq: 99,
        },
        Nanos(0),
        Op::Write,
        Lpn(99),
        cache.frames.full_mask(),
    );
    cache
        .scheme
        .next_units(Some(&a), &cache.view(), &mut unit, &mut |unit| {
            let mut pages = cache.lpns(unit.slots.iter().copied());
            pages.sort_unstable();
            shown.push(pages);
            false
        });
    shown
}

#[test]
fn ecr9_the_order_is_that_of_idle_chips_and_filters_see_the_queues() {
    for text in ["ecr(lru,cqct=oracle)", "ecr(fifo,cqct=oracle)"] {
        let mut cache = TestCache::<Boxed>::with(text, &env(5, 8, 2));
        cache.run("W1 W0 R4 W2 W3");
        cache.chips.states[1].drain = Nanos(7);
        assert_eq!(cache.order(), [4, 1, 0, 2, 3], "{text}");
        let by_queue = [[4], [0], [2], [1], [3]].map(Vec::from);
        assert_eq!(units(&cache), by_queue, "{text}");
    }
    let mut cache = TestCache::<Boxed>::with("ecr-eps(cqct=oracle)", &env(4, 8, 2));
    cache.run("W1 W0 R2 W3");
    cache.chips.states[1].drain = Nanos(7);
    assert_eq!(cache.order(), [1, 0, 2, 3]);
    assert_eq!(units(&cache), [[0], [2], [1], [3]].map(Vec::from));
    let cache = TestCache::<Boxed>::with("ecr(2q)", &env(4, 8, 2));
    assert!(cache.order().is_empty());
}

#[test]
fn ecr9_background_work_takes_the_next_victim_of_the_idle_channel() {
    let mut cache = TestCache::<Boxed>::with("awb(ecr(lru,cqct=oracle))", &env(5, 8, 2));
    cache.run("W1 W0 R4 W2 W3");
    cache.chips.states[0].drain = Nanos(7);
    assert_eq!(cache.write_back(1, 0, &[]).0, [1]);
    assert_eq!(cache.write_back(1, 1, &[1]).0, [3]);
    assert_eq!(cache.write_back(0, 0, &[]).0, [0]);
}

/// Blocks of two pages: 0 and 1, on both chips; 2 alone, on chip 0; 5 alone, on chip 1.
fn groups(text: &str) -> TestCache<Boxed> {
    let mut cache = TestCache::<Boxed>::with(text, &env(4, 8, 2));
    cache.run("W0-1 W2 W5");
    cache
}

const BPLRU: &str = "bplru(block-pages=2,placement=stripe,compensation=off)";

#[test]
fn ecr10_a_group_waits_for_its_slowest_page() {
    let text = format!("ecr({BPLRU},cqct=oracle)");
    for (drains, order) in [
        ([0, 0], [vec![0, 1], vec![2], vec![5]]),
        ([5, 0], [vec![5], vec![0, 1], vec![2]]),
        ([0, 5], [vec![2], vec![0, 1], vec![5]]),
        ([4, 5], [vec![2], vec![0, 1], vec![5]]),
    ] {
        let mut cache = groups(&text);
        for (state, drain) in cache.chips.states.iter_mut().zip(drains) {
            state.drain = Nanos(drain);
        }
        assert_eq!(units(&cache), order, "{drains:?}");
        cache.write(8);
        assert_eq!(cache.evicted, order[0], "{drains:?}");
    }
    let lowest = format!("ecr({BPLRU},cqct=oracle,tie=lowest-index)");
    let order = [vec![0, 1], vec![2], vec![5]];
    assert_eq!(units(&groups(&lowest)), order);
    let mut cache = groups(&text);
    cache.chips.states[0].drain = Nanos(5);
    cache.run("F0-2");
    let order = [vec![0, 1], vec![2], vec![5]];
    assert_eq!(units(&cache), order, "clean groups wait for nothing");
    let together = format!(
        "ecr({},cqct=oracle)",
        BPLRU.replace("stripe", "single-block")
    );
    let mut cache = groups(&together);
    cache.chips.states[0].drain = Nanos(5);
    let order = [vec![2], vec![0, 1], vec![5]];
    assert_eq!(
        units(&cache),
        order,
        "blocks 0, 1 and 2 go to planes 0, 1 and 0"
    );
}

#[test]
fn gc2_a_group_stays_while_one_of_its_chips_collects() {
    for (options, evicted) in [("", vec![5]), (",depth=2", vec![0, 1])] {
        let mut cache = groups(&format!("gcar({BPLRU}{options})"));
        cache.chips.states[0].in_gc = true;
        cache.write(8);
        assert_eq!(cache.evicted, evicted, "{options}");
    }
    let mut cache = groups(&format!("gcar({BPLRU},protect=dirty)"));
    cache.chips.states[0].in_gc = true;
    cache.run("F0 W8");
    assert_eq!(cache.evicted, [0, 1], "page 0 needs no program");
}

#[test]
fn two_filters_the_chip_of_least_wait_that_does_not_collect() {
    let mut cache = TestCache::<Boxed>::with("gcar(ecr(lru,cqct=oracle))", &env(3, 8, 3));
    cache.run("W0-2");
    for (state, drain) in cache.chips.states.iter_mut().zip([1, 3, 2]) {
        state.drain = Nanos(drain);
    }
    cache.chips.states[0].in_gc = true;
    cache.run("W3 W6");
    assert_eq!(cache.evicted, [2, 1]);
    cache.write(9);
    assert_eq!(cache.evicted, [2, 1, 0], "no other page is left");
}
