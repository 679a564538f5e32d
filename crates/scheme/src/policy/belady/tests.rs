//! Ties, gaps in the heap.

use super::*;
use crate::testing::{TestCache, env};

/// A cache of the run that `future` describes, under `text`.
fn cache(text: &str, capacity: u32, future: Future) -> TestCache<crate::Boxed> {
    let env = Env {
        future: Some(Arc::new(future)),
        ..env(capacity, 8, 1)
    };
    let mut cache = TestCache::with(text, &env);
    cache.read_alloc = true;
    cache
}

#[test]
fn equal_next_uses_leave_by_lpn_and_a_rename_changes_that() {
    let future = Future::given([None, None, None, None, Some(9), None]);
    let mut cache = cache("belady", 3, future);
    cache.run("W5 W2 W8 W1");
    assert_eq!(cache.evicted, [2], "never is not behind never");
    assert!(cache.rename(1, 7));
    cache.run("W6 W3");
    assert_eq!(cache.evicted, [2, 5, 7]);
    assert!(!cache.rename(99, 98), "nothing is remembered");
}

#[test]
fn what_leaves_without_a_replacement_closes_the_gap() {
    let future = Future::given((1..=8).map(|n| Some(100 - n)));
    let mut cache = cache("belady(bypass=false)", 4, future);
    cache.run("W1 W2 W3 W4");
    cache.make_room();
    cache.make_room();
    assert_eq!((&cache.evicted, cache.frames.used()), (&vec![1, 2], 2));
    cache.run("T4 W5");
    cache.make_room();
    assert_eq!(cache.evicted, [1, 2, 3]);
}
