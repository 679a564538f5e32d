//! From a checked expression to a scheme: one line per scheme, one per composition that gets a
//! static type of its own.
//!
//! A composition listed under `static` is built as one static type, for example `Prober<Lru>`, where
//! that pays: in optimised builds, or with the feature `static-types`. Every other legal expression is
//! built layer by layer through [`Boxed`] and gives the same results, only slower. Matching is on the
//! shape (names without parameters).

use crate::layer::{Awb, Cac, Eager, Ecr, Gcar, MultiHash, ProCache, Prober, RefCount};
use crate::policy::{
    Arc, Bplru, Cflru, CflruEps, Clock, EcrEps, Fifo, Lfu, Lirs, Lru, NoCache, ReqBlock, TwoQ,
    Vbbms,
};
use crate::{Boxed, Env, Expr, Scheme};

/// A scheme that can be built from its layer of an expression.
pub trait Build: Scheme + Sized + Send + 'static {
    /// Builds the scheme that `expr` names, and all inside it, for a cache as `env` says.
    fn build(expr: &Expr, env: &Env) -> Self;
}

/// Receives a scheme with its static type: how the cache core gets at it, which this crate does
/// not know.
pub trait Visit {
    /// What the visit gives.
    type Out;

    /// Called once with the scheme that was built.
    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Self::Out;
}

macro_rules! registry {
    (
        leaf { $($leaf:literal => $Leaf:ty,)* }
        wrap { $($wrap:literal => $Wrap:ident,)* }
        static { $($fixed:literal => $Fixed:ty,)* }
    ) => {
        /// Names of the schemes that can be built from an expression.
        pub const NAMES: &[&str] = &[$($leaf,)* $($wrap,)*];

        /// Shapes of the compositions that have a static type in this build.
        #[cfg(any(feature = "static-types", not(debug_assertions)))]
        pub const STATIC: &[&str] = &[$($fixed,)*];

        /// Shapes of the compositions that have a static type in this build.
        #[cfg(not(any(feature = "static-types", not(debug_assertions))))]
        pub const STATIC: &[&str] = &[];

        impl Build for Boxed {
            fn build(expr: &Expr, env: &Env) -> Boxed {
                match expr.scheme().name {
                    $($leaf => Boxed(Box::new(<$Leaf as Build>::build(expr, env))),)*
                    $($wrap => Boxed(Box::new($Wrap::<Boxed>::build(expr, env))),)*
                    name => unreachable!("{name} is not available and was not refused"),
                }
            }
        }

        /// Builds `expr` and hands it to `visitor`, with a static type if it has one.
        ///
        /// # Panics
        /// If a layer has no implementation; see [`Expr::unavailable`].
        pub fn build_any<V: Visit>(expr: &Expr, env: &Env, visitor: V) -> V::Out {
            match expr.shape().as_str() {
                $(
                    #[cfg(any(feature = "static-types", not(debug_assertions)))]
                    $fixed => visitor.visit(<$Fixed as Build>::build(expr, env)),
                )*
                _ => visitor.visit(Boxed::build(expr, env)),
            }
        }
    };
}

registry! {
    leaf {
        "none" => NoCache,
        "fifo" => Fifo,
        "lru" => Lru,
        "lfu" => Lfu,
        "clock" => Clock,
        "cflru" => Cflru,
        "arc" => Arc,
        "lirs" => Lirs,
        "2q" => TwoQ,
        "ecr-eps" => EcrEps,
        "cflru-eps" => CflruEps,
        "req-block" => ReqBlock,
        "bplru" => Bplru,
        "vbbms" => Vbbms,
    }
    wrap {
        "cac" => Cac,
        "awb" => Awb,
        "eager" => Eager,
        "procache" => ProCache,
        "refcount" => RefCount,
        "multihash" => MultiHash,
        "prober" => Prober,
        "gcar" => Gcar,
        "ecr" => Ecr,
    }
    static {
        "fifo" => Fifo,
        "clock" => Clock,
        "lru" => Lru,
        "arc" => Arc,
        "lirs" => Lirs,
        "2q" => TwoQ,
        "req-block" => ReqBlock,
        "ecr(lru)" => Ecr<Lru>,
        "prober(lru)" => Prober<Lru>,
        "cac(awb(prober(lirs)))" => Cac<Awb<Prober<Lirs>>>,
    }
}
