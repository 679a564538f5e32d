//! How a scheme is built from its layer of an expression.

use crate::contract::{Boxed, Env, GroupPolicy, Groups, Pages, Policy, Scheme};
use crate::expr::Expr;

/// A scheme that can be built from its layer of an expression.
pub trait Build: Scheme + Sized + Send + 'static {
    /// Builds the scheme that `expr` names, and all inside it, for a cache as `env` says.
    fn build(expr: &Expr, env: &Env) -> Self;
}

impl Build for Boxed {
    /// # Panics
    /// A scheme from outside of the registry declares no `build`.
    fn build(expr: &Expr, env: &Env) -> Boxed {
        match expr.scheme().build {
            Some(build) => Boxed(build(expr, env)),
            None => panic!("{} has no implementation", expr.scheme().name),
        }
    }
}

impl<P: Policy + Send + 'static> Build for Pages<P> {
    fn build(expr: &Expr, env: &Env) -> Pages<P> {
        Pages::of(P::build(expr, env))
    }
}

impl<P: GroupPolicy + Send + 'static> Build for Groups<P> {
    fn build(expr: &Expr, env: &Env) -> Groups<P> {
        Groups::of(P::build(expr, env))
    }
}

/// Builds a scheme behind a pointer: what declarations name as their `build`.
pub fn boxed<S: Build>(expr: &Expr, env: &Env) -> Box<dyn Scheme + Send> {
    Box::new(S::build(expr, env))
}
