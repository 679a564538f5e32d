//! The lists that a scheme tells are its state: they name exactly the cached pages, in the order of the state text.

use destage_conformance::drive::{Config, build};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::reference::to_batch;
use destage_conformance::suites::{Case, random, selected};
use destage_scheme::registry::Visit;
use destage_scheme::{Expr, PageLists, Scheme};
use destage_sim::{Cache, CacheOnly};
use destage_types::{Nanos, RequestBatch, Slot};
use std::collections::BTreeSet;

/// Schemes whose state text has another order than their lists, and why.
const OTHER_ORDER: [(&str, &str); 5] = [
    ("lfu", "the text has pages by their last touch"),
    ("lru-2", "the text has all pages by address"),
    ("prober", "the text has LDR from its oldest page"),
    ("cflru-eps", "the text has dirty pages by chip"),
    (
        "ecr",
        "the text has `clean` before the pages of groups, which are in one list",
    ),
];

struct Listed<'a> {
    expr: &'a Expr,
    config: &'a Config,
    batch: &'a RequestBatch,
}

impl Visit for Listed<'_> {
    type Out = Option<String>;

    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Option<String> {
        let ordered = |expr: &Expr| {
            let name = expr.scheme().name;
            OTHER_ORDER.iter().all(|other| other.0 != name)
        };
        let ordered = self.expr.chain().all(ordered);
        let mut cache = self.config.cache(self.expr, scheme, CacheOnly);
        for (i, request) in self.batch.iter().enumerate() {
            cache.serve(request, i as u64, request.head.arrival);
            let fault = fault(&cache, ordered);
            if let Some(fault) = fault {
                return Some(format!("{}, request {i}: {fault}", self.expr));
            }
        }
        None
    }
}

/// The fault of the lists, if there is one.
fn fault<S: Scheme>(cache: &Cache<S, CacheOnly>, ordered: bool) -> Option<String> {
    let view = cache.view(Nanos::ZERO);
    let mut lists = PageLists::default();
    cache.scheme().lists(&view, &mut lists);
    let names: BTreeSet<&str> = lists.iter().map(|list| &*list.name).collect();
    if names.len() < lists.iter().count() {
        return Some(format!("names repeat in {lists:?}"));
    }
    let listed: Vec<Slot> = lists.iter().flat_map(|list| list.slots.clone()).collect();
    let sorted = |mut slots: Vec<Slot>| {
        slots.sort_unstable();
        slots
    };
    if sorted(listed.clone()) != sorted(cache.frames().used_slots().collect()) {
        return Some(format!("not the cached pages: {lists:?}"));
    }
    let mut state = String::new();
    cache.scheme().state(&view, &mut state);
    let words = state.split(|c: char| !c.is_ascii_digit());
    let mut words = words.filter_map(|word| word.parse::<u64>().ok());
    let elsewhere = |slot: &Slot| {
        let page = cache.frames().lpn(*slot).0;
        !words.any(|word| word == page)
    };
    let pages: Vec<u64> = listed
        .iter()
        .map(|&slot| cache.frames().lpn(slot).0)
        .collect();
    let is_elsewhere = ordered && listed.iter().any(elsewhere);
    is_elsewhere.then(|| format!("{names:?} {pages:?} in another order than {state}"))
}

#[test]
fn lists_name_the_cached_pages_in_the_order_of_the_state() {
    let mut rng = SplitMix64::new(29);
    let mut faults: Vec<String> = Vec::new();
    for (i, shape) in selected().iter().enumerate() {
        for seed in 0..2 {
            let expr = random(shape, &mut rng);
            let case = Case::random(&expr, seed + 100 * i as u64, 200);
            let requests = case.prepared();
            let listed = Listed {
                expr: &case.expr,
                config: &case.config,
                batch: &to_batch(&requests),
            };
            let env = case.config.env(&case.expr);
            faults.extend(build(&case.expr, &env, &requests, false, listed));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
