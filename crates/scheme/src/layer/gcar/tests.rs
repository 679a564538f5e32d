use super::*;
use crate::testing::{TestCache, env};

/// Four pages, of which only page 2 is clean; the even ones are on chip 0.
fn full(options: &str) -> TestCache<Boxed> {
    let text = format!("gcar(lru{options})");
    let mut cache = TestCache::<Boxed>::with(&text, &env(4, 8, 2));
    cache.run("W0 W1 R2 W3");
    cache
}

#[test]
fn gc1_pages_of_a_collecting_chip_stay_while_there_are_others() {
    let mut cache = full("");
    cache.chips.states[0].in_gc = true;
    cache.take();
    cache.run("W4 W6 W8");
    let events = "flush{1} flush{3} flush{0}";
    assert_eq!(cache.take(), events, "the last one has no alternative");
    cache.chips.states[1].in_gc = true;
    cache.write(10);
    assert_eq!(
        cache.said(),
        "drop{2}",
        "all chips collect: the base decides"
    );
}

#[test]
fn gc1_what_is_protected_and_how_far_the_search_goes() {
    for (options, requests, victim) in [
        ("", "R1 W4", "flush{3}"),
        (",protect=dirty", "R1 W4", "drop{2}"), // clean pages need no protection
        (",depth=1", "W4", "flush{0}"),
        (",depth=2", "W4", "flush{1}"),
        (",depth=4", "W4", "flush{1}"),
    ] {
        let mut cache = full(options);
        cache.chips.states[0].in_gc = true;
        cache.run(requests);
        assert_eq!(cache.said(), victim, "{options}");
    }
}
