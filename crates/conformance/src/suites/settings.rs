//! Expressions to test: every legal composition, and settings drawn from the declarations.

use crate::drive::Config;
use crate::reference::rng::SplitMix64;
use destage_scheme::info::{Kind, Range, Role};
use destage_scheme::registry::{self, STATIC, find};
use destage_scheme::{DefaultValue, Expr, ParamInfo, SchemeInfo};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// An expression from its layers, outermost first: name and `key=value` items of each.
fn compose(layers: &[(&str, Vec<String>)]) -> String {
    let mut text = String::new();
    for (name, items) in layers.iter().rev() {
        let inner = (!text.is_empty()).then_some(text);
        let arguments: Vec<String> = inner.into_iter().chain(items.iter().cloned()).collect();
        text = match arguments.is_empty() {
            true => (*name).to_owned(),
            false => format!("{name}({})", arguments.join(",")),
        };
    }
    text
}

/// The scheme that `DESTAGE_SCHEME` names, if it is given.
///
/// # Panics
/// No scheme has the name.
fn wanted() -> Option<&'static str> {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let name = std::env::var("DESTAGE_SCHEME").ok()?;
        assert!(find(&name).is_some(), "DESTAGE_SCHEME: no scheme `{name}`");
        Some(name)
    });
    wanted.as_deref()
}

/// Is this composition under test? All are, or with `DESTAGE_SCHEME` those that contain the scheme
/// of that name.
///
/// # Panics
/// No scheme has the name.
pub fn is_selected(expr: &Expr) -> bool {
    wanted().is_none_or(|name| expr.contains(name))
}

/// A number that only the text of the expression decides, so that what is drawn for a composition stays
/// the same whatever other schemes there are.
pub fn seed_of(expr: &Expr) -> u64 {
    let text = expr.to_string();
    // FNV-1a.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Every legal composition under test: many thousands, which only quick checks run on.
pub fn every_selected() -> Vec<Expr> {
    let all = compositions().iter();
    all.filter(|expr| is_selected(expr)).cloned().collect()
}

/// Compositions under test that stand for all: every scheme and every two, and of the deeper ones so many that
/// every three schemes which may stand in each other do so in one of them, and those that have a static type.
pub fn selected() -> Vec<Expr> {
    static COVER: OnceLock<Vec<Expr>> = OnceLock::new();
    let cover = COVER.get_or_init(|| cover(compositions())).iter();
    cover.filter(|expr| is_selected(expr)).cloned().collect()
}

/// Those of `all` that [`selected`] describes, in their order.
fn cover(all: &[Expr]) -> Vec<Expr> {
    let names =
        |expr: &Expr| -> Vec<&'static str> { expr.chain().map(|e| e.scheme().name).collect() };
    let mut met = BTreeSet::new();
    // The deepest have most threes.
    let mut deepest: Vec<usize> = (0..all.len()).collect();
    deepest.sort_by_key(|&i| Reverse(names(&all[i]).len()));
    let mut kept = Vec::new();
    for i in deepest {
        let names = names(&all[i]);
        let mut is_new = names.len() < 3 || STATIC.contains(&all[i].shape().as_str());
        for (a, outer) in names.iter().enumerate() {
            for (b, middle) in names.iter().enumerate().skip(a + 1) {
                for inner in &names[b + 1..] {
                    is_new |= met.insert((*outer, *middle, *inner));
                }
            }
        }
        if is_new {
            kept.push(i);
        }
    }
    kept.sort_unstable();
    kept.into_iter().map(|i| all[i].clone()).collect()
}

/// The schemes under test by their names alone; a layer stands over its default, LRU.
pub fn schemes() -> Vec<Expr> {
    let all = registry::all().iter().map(|info| Expr::parse(info.name));
    let all = all.map(|e| e.expect("a name is an expression"));
    all.filter(|e| wanted().is_none_or(|name| e.scheme().name == name))
        .collect()
}

/// Does `work` for every item, on all processors; the results in the order of the items.
///
/// # Panics
/// `work` does.
pub fn on_all_processors<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let claimed = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let mine = claimed.map_while(|i| Some((i, work(items.get(i)?))));
        mine.collect::<Vec<_>>()
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let results = workers
            .into_iter()
            .map(|w| w.join().unwrap_or_else(|p| resume_unwind(p)));
        results.flatten().collect()
    });
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Every legal composition of built schemes, without parameters.
pub fn compositions() -> &'static [Expr] {
    static ALL: OnceLock<Vec<Expr>> = OnceLock::new();
    ALL.get_or_init(compose_all)
}

fn compose_all() -> Vec<Expr> {
    let is_layer = |info: &&&SchemeInfo| info.role.is_layer();
    let mut found: Vec<Expr> = (registry::all().iter().filter(|i| !is_layer(i)))
        .filter_map(|policy| Expr::parse(policy.name).ok())
        .collect();
    // From the inside out; a role that must be further in cannot come later.
    let layers: Vec<_> = registry::all().iter().filter(is_layer).collect();
    for role in [
        Role::VictimFilter,
        Role::VictimFilter, // one may stand outside another one
        Role::Classifier,
        Role::Admission,
        Role::Background,
        Role::Mapping,
    ] {
        let mut more = Vec::new();
        for layer in layers.iter().filter(|w| w.role == role) {
            let composed = found.iter().map(|e| format!("{}({e})", layer.name));
            more.extend(composed.filter_map(|text| Expr::parse(&text).ok()));
        }
        if role == Role::VictimFilter {
            more.retain(|e| !found.contains(e));
        }
        found.extend(more);
    }
    found
}

fn numbers(range: &Range) -> Vec<String> {
    let some = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 3.5, 6.0];
    let some = some.iter().filter(|&&x| range.contains(x));
    some.map(f64::to_string).collect()
}

/// A few legal values of a parameter, among them those at the ends of its range.
pub fn values(param: &ParamInfo) -> Vec<String> {
    let texts = |items: &[&str]| items.iter().map(|&s| s.to_owned()).collect::<Vec<_>>();
    let whole = |min: u64, max: u64| {
        let some = [min, min + 1, 2, 3, 4, 7];
        let some = some.into_iter().filter(|&n| (min..=max).contains(&n));
        some.map(|n| n.to_string()).collect::<Vec<_>>()
    };
    let mut values = match param.kind {
        Kind::Integer { min, max } => whole(min, max),
        Kind::IntegerOrTime { min } => {
            let mut some = whole(min.max(1), u64::MAX);
            some.push("300us".to_owned());
            some
        }
        Kind::Real(range) => numbers(&range),
        Kind::Size => texts(&["1p", "2p", "3p", "4k", "64k"]),
        Kind::Time => texts(&["0ns", "1us", "300us"]),
        Kind::Bool => texts(&["true", "false"]),
        Kind::Word(words) => texts(words),
        Kind::Reals(range) => {
            let some = numbers(&range);
            let list = |n: usize| format!("[{}]", some[some.len() - n..].join(","));
            vec![list(1), list(some.len().min(3))]
        }
    };
    values.extend(param.or_word.map(str::to_owned));
    values
}

/// The composition with the items `key=value` that `settings` gives for each of its layers; `None`
/// where they contradict each other.
pub fn with(shape: &Expr, mut settings: impl FnMut(&SchemeInfo) -> Vec<String>) -> Option<Expr> {
    let layers = shape.chain().map(Expr::scheme);
    let layers = layers.map(|info| (info.name, settings(info)));
    Expr::parse(&compose(&layers.collect::<Vec<_>>())).ok()
}

/// Compositions in which the options of a scheme can act: the scheme by its name, every pair with
/// it, and every three layers with it over LRU.
pub fn contexts(info: &SchemeInfo) -> Vec<Expr> {
    let acts = |expr: &&Expr| {
        let (layers, policy) = (expr.chain().count(), expr.policy().scheme().name);
        expr.contains(info.name) && (layers < 3 || layers == 3 && policy == "lru")
    };
    let mut found: Vec<Expr> = compositions().iter().filter(acts).cloned().collect();
    found.sort_by_key(|expr| expr.chain().count());
    found
}

/// Is the default of a count beyond what the short streams of the suites can reach?
fn is_out_of_reach(param: &ParamInfo) -> bool {
    matches!(param.default, DefaultValue::Uint(n) if n > 1000)
}

/// The composition with small values in place of defaults that short streams never reach.
pub fn small(shape: &Expr) -> Expr {
    let settings = |info: &SchemeInfo| {
        let far = info.params().filter(|p| is_out_of_reach(p));
        far.map(|p| format!("{}=7", p.key)).collect()
    };
    with(shape, settings).unwrap_or_else(|| shape.clone())
}

/// The composition with random parameters.
pub fn random(shape: &Expr, rng: &mut SplitMix64) -> Expr {
    for _ in 0..8 {
        let percent = rng.below(70);
        let expr = with(shape, |info| {
            let mut items = Vec::new();
            for param in info.params() {
                let values = values(param);
                if rng.chance(percent) || is_out_of_reach(param) {
                    let value = &values[rng.below(values.len() as u64) as usize];
                    items.push(format!("{}={value}", param.key));
                }
            }
            items
        });
        // Some settings contradict each other whatever the cache.
        if let Some(expr) = expr.filter(|e| Config::new(4096, 8).check(e).is_ok()) {
            return expr;
        }
    }
    shape.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_compositions_stand_for_all() {
        let (all, some) = (compositions(), cover(compositions()));
        println!("{} of {}", some.len(), all.len());
        let threes = |exprs: &[Expr]| -> BTreeSet<[&'static str; 3]> {
            let of = |expr: &Expr| {
                let names: Vec<_> = expr.chain().map(|e| e.scheme().name).collect();
                let pairs = |a: usize| (a + 1..names.len()).map(move |b| (a, b));
                let pairs: Vec<_> = (0..names.len()).flat_map(pairs).collect();
                let three = |&(a, b): &(usize, usize)| (b + 1..names.len()).map(move |c| [a, b, c]);
                let threes: Vec<_> = pairs.iter().flat_map(three).collect();
                threes
                    .into_iter()
                    .map(|t| t.map(|i| names[i]))
                    .collect::<Vec<_>>()
            };
            exprs.iter().flat_map(of).collect()
        };
        assert_eq!(threes(all), threes(&some));
        let shallow = |exprs: &[Expr]| exprs.iter().filter(|e| e.chain().count() < 3).count();
        assert_eq!(shallow(all), shallow(&some));
        assert!(some.len() * 5 < all.len());
    }
}
