//! A run that nobody watches does the same as one that is watched: it may take short cuts.

use destage_conformance::drive::{Config, build};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::reference::to_batch;
use destage_conformance::suites::{Case, is_full, random, selected};
use destage_conformance::timed::Blind;
use destage_scheme::registry::Visit;
use destage_scheme::{Expr, Scheme};
use destage_sim::{CacheOnly, Counts};
use destage_types::RequestBatch;

struct Both<'a> {
    expr: &'a Expr,
    config: &'a Config,
    batch: &'a RequestBatch,
    watched: bool,
}

impl Visit for Both<'_> {
    type Out = (Counts, Vec<(u64, u64)>);

    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Self::Out {
        let mut cache = self.config.cache(self.expr, scheme, CacheOnly);
        if self.watched {
            cache.observe(Box::new(Blind));
        }
        for (i, request) in self.batch.iter().enumerate() {
            cache.serve(request, i as u64, request.head.arrival);
        }
        (cache.counts(), cache.evict_pages().rows())
    }
}

fn run(case: &Case, watched: bool) -> (Counts, Vec<(u64, u64)>) {
    let requests = case.prepared();
    let batch = to_batch(&requests);
    let env = case.config.env(&case.expr);
    let both = Both {
        expr: &case.expr,
        config: &case.config,
        batch: &batch,
        watched,
    };
    build(&case.expr, &env, &requests, false, both)
}

#[test]
fn watching_changes_nothing() {
    let mut rng = SplitMix64::new(17);
    let seeds = if is_full() { 6 } else { 2 };
    for (i, shape) in selected().iter().enumerate() {
        for seed in 0..seeds {
            let expr = random(shape, &mut rng);
            let case = Case::random(&expr, seed + 100 * i as u64, 500);
            assert_eq!(run(&case, false), run(&case, true), "{expr}, seed {seed}");
        }
    }
}
