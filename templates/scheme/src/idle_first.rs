//! `idle-first`: the first of the next victims whose chip is idle.
//!
//! State: none. Cost: at most `depth` pages an eviction.

use destage_scheme::contract::{Build, boxed};
use destage_scheme::info::{OF_INNER, PaperSource, ParamInfo, Role, SchemeInfo};
use destage_scheme::layer::layer_below;
use destage_scheme::{Access, Boxed, Env, Expr, Layer, Scheme, Unit, Victim, View, params};

/// `idle-first`: a victim filter.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "idle-first",
    summary: "Takes the first of the next victims whose chip is idle.",
    source: PaperSource {
        paper: "not from a paper",
        ..PaperSource::CLASSIC
    },
    role: Role::VictimFilter,
    params: &[IdleFirstParams::PARAMS],
    ties: "the order of the scheme inside",
    order: Some("that of the scheme inside, as if all chips were idle"),
    needs_order: |_| true,
    chip_aware: true,
    metadata: OF_INNER,
    without_device: Some(|inner| format!("idle-first({inner}) acts as {inner}")),
    build: Some(boxed::<IdleFirst<Boxed>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`IdleFirst`].
    pub struct IdleFirstParams {
        /// next victims that are looked at
        depth: usize = ParamInfo::frames(1, 1, 16, 1).unit("pages").source("no paper"),
    }
}

/// `idle-first(S)`.
#[derive(Clone, Debug)]
pub struct IdleFirst<S> {
    inner: S,
    depth: usize,
}

impl<S: Build> Build for IdleFirst<S> {
    fn build(expr: &Expr, env: &Env) -> IdleFirst<S> {
        let inner = S::build(layer_below(expr), env);
        let IdleFirstParams { depth } = IdleFirstParams::of(expr, env);
        IdleFirst { inner, depth }
    }
}

impl<S: Scheme> Layer for IdleFirst<S> {
    destage_scheme::inside!(inner: S);

    fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) -> Victim {
        let (mut left, mut idle) = (self.depth, None);
        self.inner.next_victims(v, &mut |slot| {
            idle = v.device.is_idle(v.chip(slot)).then_some(slot);
            left -= 1;
            idle.is_none() && left > 0
        });
        match idle {
            Some(slot) => Victim::Page(slot),
            None => self.inner.victim(a, v, unit),
        }
    }
}
