//! From a checked expression to a scheme: one line per scheme, one per composition that gets a
//! static type of its own.
//!
//! A composition listed under `fast` is built as one static type, for example
//! `Prober<Lru>`; every other legal expression is built layer by layer through [`Boxed`] and gives
//! the same results, only slower. Matching is on the shape (names without parameters).

use crate::leaf::{
    Arc, Bplru, Cflru, CflruEps, Clock, EcrEps, Fifo, Lfu, Lirs, Lru, NoCache, ReqBlock, TwoQ,
    Vbbms,
};
use crate::wrap::{Awb, Cac, Eager, Ecr, Gcar, MultiHash, ProCache, Prober, RefCount};
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
        fast { $($fast:literal => $Fast:ty,)* }
    ) => {
        /// Names of the schemes that can be built from an expression.
        pub const NAMES: &[&str] = &[$($leaf,)* $($wrap,)*];

        /// Shapes of the compositions that have a static type.
        pub const FAST: &[&str] = &[$($fast,)*];

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
                $($fast => visitor.visit(<$Fast as Build>::build(expr, env)),)*
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
    fast {
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
        "ecr(lru)" => Ecr<Lru>,
        "gcar(lru)" => Gcar<Lru>,
        "gcar(cflru)" => Gcar<Cflru>,
        "prober(lru)" => Prober<Lru>,
        "prober(lirs)" => Prober<Lirs>,
        "prober(arc)" => Prober<Arc>,
        "procache(lru)" => ProCache<Lru>,
        "refcount(lru)" => RefCount<Lru>,
        "multihash(lru)" => MultiHash<Lru>,
        "eager(lru)" => Eager<Lru>,
        "awb(prober(lru))" => Awb<Prober<Lru>>,
        "cac(lru)" => Cac<Lru>,
        "cac(arc)" => Cac<Arc>,
        "cac(awb(prober(lirs)))" => Cac<Awb<Prober<Lirs>>>,
    }
}
