//! Checks of the rules that hold for every scheme, one function each. Programs with schemes of their own call
//! [`hold_to_contract`].
//!
//! Each run goes through the checking driver, which holds core and scheme to the contract of
//! [`destage_scheme::Scheme`]: see `drive::Checked`.

use super::unmodelled::{
    renamed_pages_are_the_same, slots_used_before_are_as_new, the_next_victim_may_leave_unasked,
    trimmed_pages_are_new,
};
use super::{Case, is_full, least_capacity, message_of, random, schemes, selected};
use crate::reference::rng::SplitMix64;
use crate::reference::{Profile, SlowRequest, swarm};
use destage_scheme::Expr;
use destage_scheme::info::Role;
use destage_scheme::registry::STATIC;
use destage_types::Op;
use std::fmt::Debug;

/// A composition of the suite.
pub struct Shape {
    /// The composition with default parameters.
    pub expr: Expr,
    /// How many parameter settings a check tries, at most.
    settings: u64,
}

/// A check of one composition.
pub type Check = fn(&Shape);

macro_rules! checks {
    ($($check:ident,)*) => {
        /// Every check, by its name.
        pub const CHECKS: &[(&str, Check)] = &[$((stringify!($check), $check),)*];
    };
}

checks! {
    random_streams_keep_the_contract,
    every_size_of_cache_works,
    short_traces_work,
    a_trim_of_everything_empties_the_cache,
    a_flush_leaves_no_dirty_page,
    runs_are_equal_however_a_scheme_is_built,
    metadata_fits_beside_the_pages,
    the_next_victim_may_leave_unasked,
    slots_used_before_are_as_new,
    trimmed_pages_are_new,
    renamed_pages_are_the_same,
}

/// Every scheme alone with some settings, and every two and what has a static type with one; in `cargo xtask full` with
/// three times as many, and other deep compositions too. Pairs are enough for all faults of docs/CONTRIBUTING.md that laws find.
pub fn shapes() -> Vec<Shape> {
    let (alone, composed) = (schemes(), if is_full() { 3 } else { 1 });
    let settings = if is_full() || alone.len() < 10 { 24 } else { 8 };
    let mut exprs = selected();
    let is_static = |expr: &Expr| STATIC.contains(&expr.shape().as_str());
    exprs.retain(|expr| is_full() || expr.chain().count() < 3 || is_static(expr));
    let all = exprs.into_iter().map(|expr| Shape {
        settings: if alone.contains(&expr) {
            settings
        } else {
            composed
        },
        expr,
    });
    all.collect()
}

/// Runs `check` on these shapes.
///
/// # Panics
/// The check fails for some; says which, and how the first fails.
pub fn on_shapes<'a>(shapes: impl IntoIterator<Item = &'a Shape>, check: Check) {
    let failed = shapes.into_iter().filter_map(|shape| {
        let message = message_of(|| {
            check(shape);
            Ok(())
        })?;
        Some((shape.expr.to_string(), message))
    });
    let failed: Vec<(String, String)> = failed.take(8).collect();
    if let Some((_, message)) = failed.first() {
        let shapes: Vec<&str> = failed.iter().map(|(shape, _)| shape.as_str()).collect();
        panic!("{}: {message}", shapes.join(", "));
    }
}

/// Runs all checks on the scheme of this name, alone and in every pair.
///
/// # Panics
/// A check fails, or no scheme has the name.
pub fn hold_to_contract(name: &str) {
    let mut shapes = shapes();
    shapes.retain(|shape| shape.expr.contains(name) && shape.expr.chain().count() < 3);
    assert!(!shapes.is_empty(), "no scheme is called `{name}`");
    for (what, check) in CHECKS {
        println!("{what}");
        on_shapes(&shapes, *check);
    }
}

impl Shape {
    /// The composition with default parameters, and with up to `more` random settings.
    pub(super) fn variants(&self, more: u64) -> Vec<Expr> {
        let mut rng = SplitMix64::new(self.expr.to_string().len() as u64);
        let random = (0..more.min(self.settings)).map(|_| random(&self.expr, &mut rng));
        std::iter::once(self.expr.clone()).chain(random).collect()
    }
}

fn same<T: PartialEq + Debug>(a: &[T], b: &[T]) -> Result<(), String> {
    let pair = a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b);
    match pair {
        Some((i, (a, b))) => Err(format!("request {i}:\n  {a:?}\n  {b:?}")),
        None if a.len() != b.len() => Err("runs of different length".to_owned()),
        None => Ok(()),
    }
}

fn random_streams_keep_the_contract(shape: &Shape) {
    for (i, expr) in shape.variants(16).iter().enumerate() {
        for seed in 0..2 {
            let case = Case::random(expr, 31 * i as u64 + seed, 400);
            case.must(|case| {
                case.run();
                Ok(())
            });
        }
    }
}

/// The smallest caches the scheme accepts, an odd one, and one that never fills.
fn every_size_of_cache_works(shape: &Shape) {
    for (i, expr) in shape.variants(4).iter().enumerate() {
        let mut case = Case::random(expr, i as u64, 0);
        let least = least_capacity(expr, &case.config);
        let spp = case.config.page.sectors();
        case.requests = swarm(
            77 + i as u64,
            Profile::new(250, spp).pages(200).with_forced(),
        );
        for capacity in [least, least + 1, least.max(7) | 1, least.max(300)] {
            case.config.capacity = capacity;
            case.must(|case| {
                let (drive, rows) = case.run();
                let (used, _, frames) = drive.occupancy();
                let whole = expr.scheme().role != Role::None;
                assert!(used <= frames && (!whole || frames == capacity as usize));
                let evicted: usize = rows.iter().map(|r| r.evictions.len()).sum();
                // VBBMS fills its regions apart; nothing else evicts before the cache is full.
                let own = expr.contains("vbbms");
                assert!(capacity < 200 || own || evicted == 0, "{evicted} evictions");
                Ok(())
            });
        }
    }
}

fn short_traces_work(shape: &Shape) {
    let case = Case::random(&shape.expr, 3, 0);
    let (drive, rows) = case.run();
    assert_eq!(
        (drive.occupancy().0, rows.len()),
        (0, 0),
        "nothing happened"
    );
    let spp = case.config.page.sectors();
    for op in [Op::Read, Op::Write, Op::Trim, Op::Flush] {
        let sectors = if op == Op::Flush { 0 } else { spp };
        let request = SlowRequest::new(op, u64::from(spp) * 5, sectors);
        let (drive, rows) = case.with(std::slice::from_ref(&request)).run();
        assert!(
            drive.occupancy().0 <= 1 && rows[0].evictions.is_empty(),
            "{op:?}"
        );
        let twice = case.with(&[request.clone(), request]);
        twice.must(|case| {
            let (drive, _) = case.run();
            assert!(drive.occupancy().0 <= 1, "one page");
            Ok(())
        });
    }
}

fn a_trim_of_everything_empties_the_cache(shape: &Shape) {
    for (i, expr) in shape.variants(4).iter().enumerate() {
        let mut case = Case::random(expr, 500 + i as u64, 200);
        let spp = u64::from(case.config.page.sectors());
        let end = case.requests.iter().flat_map(|r| &r.extents);
        let end = end.map(|e| e.0 + u64::from(e.1)).max().unwrap_or(0);
        let pages = end.div_ceil(spp).max(1);
        let all = SlowRequest::pages(Op::Trim, spp as u32, 0, pages - 1);
        let at = case.requests.len();
        case.requests.push(all);
        case.requests.push(SlowRequest::new(Op::Flush, 0, 0));
        case.requests
            .extend(swarm(i as u64, Profile::new(60, spp as u32).with_forced()));
        let (drive, rows) = case.with(&case.requests[..at + 1]).run();
        assert_eq!(drive.occupancy().0, 0, "{expr}: pages behind a TRIM of all");
        assert!(rows[at].programs.is_empty(), "{expr}: TRIM writes nothing");
        let (_, rows) = case.run();
        assert!(rows[at + 1].programs.is_empty(), "{expr}: nothing to flush");
    }
}

fn a_flush_leaves_no_dirty_page(shape: &Shape) {
    for (i, expr) in shape.variants(4).iter().enumerate() {
        let mut case = Case::random(expr, 900 + i as u64, 200);
        let (before, _) = case.run();
        let flush = SlowRequest::new(Op::Flush, 0, 0);
        case.requests.extend([flush.clone(), flush]);
        let (drive, rows) = case.run();
        let (used, dirty, _) = before.occupancy();
        let [.., first, second] = &rows[..] else {
            panic!("two rows at least")
        };
        assert_eq!(
            first.programs.len(),
            dirty,
            "{expr}: one program per dirty page"
        );
        assert!(first.programs.is_sorted(), "{expr}: in ascending order");
        assert!(second.programs.is_empty(), "{expr}: nothing is left");
        let (now, dirty, _) = drive.occupancy();
        assert_eq!((now, dirty), (used, 0), "{expr}: pages stay, clean");
    }
}

/// Equal seeds give equal runs, whether built as one static type or layer by layer.
fn runs_are_equal_however_a_scheme_is_built(shape: &Shape) {
    for (i, expr) in shape.variants(8).iter().enumerate() {
        let case = Case::random(expr, 1700 + i as u64, 300);
        case.must(|case| {
            let mut boxed = case.clone();
            boxed.config.boxed = true;
            let (one, a) = case.run();
            let (two, b) = boxed.run();
            assert_eq!(one.state(), two.state());
            assert_eq!(one.measures(), two.measures());
            assert_eq!(one.counts(), two.counts());
            same(&a, &b)
        });
    }
}

/// Law: with `charge_metadata` pages and metadata together fit into the cache at every instant,
/// and not one page more would. The driver looks after every call of the scheme.
fn metadata_fits_beside_the_pages(shape: &Shape) {
    let (mut runs, mut endless, mut fullest) = (0, 0, 0.0f64);
    let whole = shape.expr.scheme().role != Role::None;
    let variants = shape.variants(24);
    for (i, expr) in variants.iter().enumerate() {
        let case = Case::random(expr, 2100 + i as u64, 400);
        let page = case.config.page.bytes();
        let bytes = match whole {
            true => page * u64::from(case.config.capacity) + 97 * i as u64,
            false => 0,
        };
        // The queue of `prober` alone can be larger than a small cache.
        let found = (0..12).find_map(|k| Some((bytes << k, case.charged(bytes << k)?)));
        let Some((bytes, (case, metadata))) = found.filter(|_| whole) else {
            let context = case.config.metadata(expr, &case.requests);
            let unbounded = expr.metadata(&context).is_none();
            assert!(!whole || unbounded, "{expr}: no cache is large enough");
            endless += usize::from(unbounded);
            continue;
        };
        let context = case.config.metadata(expr, &case.requests);
        let one_more = destage_scheme::info::MetadataContext {
            frames: context.frames + 1,
            ..context
        };
        let needs = expr.metadata(&one_more).map(|b| b.bytes(one_more.frames));
        assert!(needs.is_some_and(|n| n + page * one_more.frames > bytes));
        case.must(|case| {
            let (drive, _) = case.run();
            let pages = page * u64::from(case.config.capacity);
            assert!(pages + metadata <= bytes && drive.most_metadata() <= metadata);
            Ok(())
        });
        let (drive, _) = case.run();
        if i == 0 && drive.most_ghosts() > 0 {
            let bound = expr.metadata(&case.config.metadata(expr, &case.requests));
            let fixed = bound.map_or(0, |bound| bound.bytes(0));
            assert!(
                fixed > 0,
                "ghosts are metadata: `metadata` has no entries for them"
            );
        }
        if metadata > 0 {
            fullest = fullest.max(drive.most_metadata() as f64 / metadata as f64);
        }
        runs += 1;
    }
    if !whole || variants.len() < 20 || endless == variants.len() {
        return; // nothing to set aside, or too few runs to say how much of it is used
    }
    println!(
        "{}: {fullest:.3} of what was set aside was used",
        shape.expr
    );
    assert!(runs * 2 > variants.len(), "{runs} runs");
    assert!(fullest > 0.5, "{fullest:.3}");
}
