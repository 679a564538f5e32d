//! Every scheme, one line each. Help, listings, documentation, parameter checks, building, fuzzing and
//! the conformance suites follow from this list.

use crate::contract::Build;
use crate::expr::Catalogue;
use crate::info::SchemeInfo;
use crate::layer::{
    awb, cac, drain, eager, ecr, gcar, idle_clean, mbf, multihash, prober, procache, refcount,
    twolevel,
};
use crate::policy::{
    ad_lru, arc, belady, best_of, bpac, bplru, ccf_lru, cflru, cflru_eps, clock, co_active, cscan,
    ecr_eps, fab, fifo, frd, lb_clock, lcr, lfu, lirs, lrfu, lru, lru_2, lru_wsr, mq, none,
    pud_lru, ref_first, req_block, reserve, s3_fifo, sieve, two_q, vbbms, w_tinylfu, wow,
};
use crate::{Boxed, Env, Expr, Groups, Pages, Refusal, Scheme};
use std::str::FromStr;
use std::sync::OnceLock;

/// All schemes, in the order listings show them: layers outermost first, then policies.
pub const SCHEMES: &[&SchemeInfo] = &[
    &cac::INFO,
    &awb::INFO,
    &eager::INFO,
    &drain::INFO,
    &idle_clean::INFO,
    &procache::INFO,
    &refcount::INFO,
    &multihash::INFO,
    &mbf::INFO,
    &twolevel::INFO,
    &prober::INFO,
    &gcar::INFO,
    &ecr::INFO,
    &fifo::INFO,
    &lru::INFO,
    &lfu::INFO,
    &clock::INFO,
    &cflru::INFO,
    &arc::INFO,
    &lirs::INFO,
    &ecr_eps::INFO,
    &cflru_eps::INFO,
    &lcr::INFO,
    &co_active::INFO,
    &lru_wsr::INFO,
    &ccf_lru::INFO,
    &ad_lru::INFO,
    &ref_first::INFO,
    &lru_2::INFO,
    &two_q::INFO,
    &mq::INFO,
    &lrfu::INFO,
    &frd::INFO,
    &sieve::INFO,
    &s3_fifo::INFO,
    &w_tinylfu::INFO,
    &wow::INFO,
    &cscan::INFO,
    &reserve::INFO,
    &best_of::INFO,
    &req_block::INFO,
    &bplru::INFO,
    &vbbms::INFO,
    &fab::INFO,
    &pud_lru::INFO,
    &bpac::INFO,
    &lb_clock::INFO,
    &belady::INFO,
    &none::INFO,
];

/// Other spellings of compositions: alias, then the layers it stands for, outermost first.
pub const ALIASES: &[(&str, &[&str])] = &[
    ("prober-lru", &["prober", "lru"]),
    ("prober-lirs", &["prober", "lirs"]),
    ("cac+lru", &["cac", "lru"]),
    ("cac+arc", &["cac", "arc"]),
    ("gcar-lru", &["gcar", "lru"]),
    ("gcar-cflru", &["gcar", "cflru"]),
    ("refcnt", &["refcount", "lru"]),
];

/// The schemes of this program, if [`add`] was called.
static ALL: OnceLock<Vec<&'static SchemeInfo>> = OnceLock::new();

/// All schemes of this program: those of [`SCHEMES`], then those that [`add`] was given.
pub fn all() -> &'static [&'static SchemeInfo] {
    ALL.get().map_or(SCHEMES, Vec::as_slice)
}

/// Makes schemes of the program's own known to expressions, listings and suites. A program calls this first of
/// all; the same schemes again change nothing.
///
/// # Errors
/// A name is taken or not lower case, a scheme declares no `build`, or others were added before.
pub fn add(own: &[&'static SchemeInfo]) -> Result<(), String> {
    for (i, info) in own.iter().enumerate() {
        let name = info.name;
        let known = SCHEMES.iter().chain(&own[..i]).any(|known| known == info);
        if known || ALIASES.iter().any(|alias| alias.0 == name) {
            return Err(format!(
                "scheme `{name}`: the name is taken; `destage schemes` lists all"
            ));
        }
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(is_word) {
            let allowed = "a name has lower case letters, digits and `-`";
            return Err(format!("scheme `{name}`: {allowed}"));
        }
        if info.build.is_none() {
            return Err(format!("scheme `{name}` declares no `build`"));
        }
    }
    let all = ALL.get_or_init(|| SCHEMES.iter().chain(own).copied().collect());
    match all[SCHEMES.len()..] == *own {
        true => Ok(()),
        false => Err("other schemes were added before".to_owned()),
    }
}

/// The schemes and aliases of this program.
pub fn catalogue() -> Catalogue<'static> {
    Catalogue {
        schemes: all(),
        aliases: ALIASES,
        own: &[],
    }
}

/// The scheme called `name` (canonical spelling).
pub fn find(name: &str) -> Option<&'static SchemeInfo> {
    catalogue().find(name)
}

/// The layers `name` stands for, outermost first, if it is an alias.
pub fn alias(name: &str) -> Option<&'static [&'static str]> {
    catalogue().alias(name)
}

/// The scheme name or alias nearest to `name`, for error messages.
pub fn nearest(name: &str) -> &'static str {
    catalogue().nearest(name)
}

impl Expr {
    /// Reads an expression and checks it as far as that is possible without a run.
    ///
    /// # Errors
    /// As [`Expr::parse_in`].
    pub fn parse(text: &str) -> Result<Expr, Refusal> {
        Expr::parse_in(&catalogue(), text)
    }

    /// The same, where these schemes are known beside those of the registry.
    ///
    /// # Errors
    /// As [`Expr::parse_in`].
    pub fn parse_with(text: &str, own: &[&'static SchemeInfo]) -> Result<Expr, Refusal> {
        let catalogue = Catalogue { own, ..catalogue() };
        Expr::parse_in(&catalogue, text)
    }
}

/// The word for all schemes with their defaults, where several may be named.
pub const ALL_SCHEMES: &str = "all";

impl Expr {
    /// Reads [`ALL_SCHEMES`], or one expression as [`Expr::parse_with`] does.
    ///
    /// # Errors
    /// As [`Expr::parse_in`].
    pub fn parse_list(text: &str, own: &[&'static SchemeInfo]) -> Result<Vec<Expr>, Refusal> {
        match text {
            ALL_SCHEMES => all()
                .iter()
                .chain(own)
                .map(|info| Expr::parse_with(info.name, own))
                .collect(),
            _ => Ok(vec![Expr::parse_with(text, own)?]),
        }
    }
}

impl FromStr for Expr {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Expr, Refusal> {
        Expr::parse(text)
    }
}

/// Receives a scheme with its static type: how the cache gets at it, which this crate does not know.
pub trait Visit {
    /// The result of the visit.
    type Out;

    /// Called once with the scheme that was built.
    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Self::Out;
}

macro_rules! static_types {
    (
        in tests $in_tests:literal => $InTests:ty,
        $(everywhere $shape:literal => $Type:ty,)*
        $(not in a browser $native:literal => $Native:ty,)*
    ) => {
        /// Shapes of the compositions that have a static type in this build.
        pub const STATIC: &[&str] = &[
            $in_tests,
            $(#[cfg(not(debug_assertions))] $shape,)*
            $(#[cfg(not(any(debug_assertions, target_family = "wasm")))] $native,)*
        ];

        // All of them can be built; whoever compiles without them learns that, too.
        const _: () = {
            const fn can_be_built<T: Build>() {}
            $(can_be_built::<$Type>();)*
            $(can_be_built::<$Native>();)*
        };

        /// Builds `expr` and hands it to `visitor`, with a static type if it has one.
        ///
        /// # Panics
        /// A scheme from outside of the registry declares no `build`.
        pub fn build_any<V: Visit>(expr: &Expr, env: &Env, visitor: V) -> V::Out {
            match expr.shape().as_str() {
                $in_tests => visitor.visit(<$InTests as Build>::build(expr, env)),
                $(
                    #[cfg(not(debug_assertions))]
                    $shape => visitor.visit(<$Type as Build>::build(expr, env)),
                )*
                $(
                    #[cfg(not(any(debug_assertions, target_family = "wasm")))]
                    $native => visitor.visit(<$Native as Build>::build(expr, env)),
                )*
                _ => visitor.visit(Boxed::build(expr, env)),
            }
        }
    };
}

// Compositions that are one static type where that pays: in optimised builds, and one of them in tests, which
// compare it with the same behind pointers. The playground leaves some out, as everybody who opens it loads about 28 kB
// for each. Every other composition is built layer by layer behind pointers and gives the same results, only slower.
static_types! {
    in tests "prober(lru)" => prober::Prober<Pages<lru::Lru>>,
    everywhere "fifo" => Pages<fifo::Fifo>,
    everywhere "lru" => Pages<lru::Lru>,
    everywhere "arc" => Pages<arc::Arc>,
    everywhere "lirs" => Pages<lirs::Lirs>,
    everywhere "2q" => Pages<two_q::TwoQ>,
    everywhere "req-block" => Groups<req_block::ReqBlock>,
    everywhere "ecr(lru)" => Pages<ecr::Ecr<Pages<lru::Lru>>>,
    not in a browser "lfu" => Pages<lfu::Lfu>,
    not in a browser "clock" => Pages<clock::Clock>,
    not in a browser "sieve" => Pages<sieve::Sieve>,
    not in a browser "s3-fifo" => Pages<s3_fifo::S3Fifo>,
    not in a browser "w-tinylfu" => Pages<w_tinylfu::WTinyLfu>,
    not in a browser "belady" => Pages<belady::Belady>,
    not in a browser "prober(lirs)" => prober::Prober<Pages<lirs::Lirs>>,
    not in a browser "prober(arc)" => prober::Prober<Pages<arc::Arc>>,
    not in a browser "cac(lru)" => cac::Cac<Pages<lru::Lru>>,
    not in a browser "cac(arc)" => cac::Cac<Pages<arc::Arc>>,
    not in a browser "cac(awb(prober(lirs)))" => cac::Cac<awb::Awb<prober::Prober<Pages<lirs::Lirs>>>>,
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
