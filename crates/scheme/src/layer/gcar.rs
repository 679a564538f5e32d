//! gcar: pages whose chip is collecting garbage stay, if the base policy has another victim.
//!
//! Source: Wu, Lin, Mao, Jiang, "GCaR", ICS 2016, as far as its abstract tells (decision GC-1).
//! State: the base's. Candidate order: the base's, as if no chip were in GC.
//! Cost: the candidates that are skipped; nothing while no chip is in GC.

use super::layer_below;
use crate::registry::Build;
use crate::{Access, Env, Expr, Scheme, Unit, View, forward};
use destage_types::{Lpn, Slot};

/// Which pages of a chip in GC stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protect {
    /// Clean ones too.
    #[default]
    All,
    /// Dirty ones; a clean page leaves without a flash operation.
    Dirty,
}

/// Parameters of [`Gcar`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcarOptions {
    /// What is protected.
    pub protect: Protect,
    /// Candidates that are looked at, at least 1; all if not given.
    pub depth: Option<u32>,
}

impl GcarOptions {
    /// As the layer `e` of an expression says.
    pub fn from_expr(e: &Expr) -> GcarOptions {
        GcarOptions {
            protect: match e.word("protect") {
                "all" => Protect::All,
                _ => Protect::Dirty,
            },
            depth: e
                .uint_opt("depth")
                .map(|d| d.min(u64::from(u32::MAX)) as u32),
        }
    }
}

/// The victim filter around a base policy.
#[derive(Clone, Debug)]
pub struct Gcar<S> {
    inner: S,
    options: GcarOptions,
}

impl<S: Scheme> Gcar<S> {
    /// Around `inner`, which must list candidates.
    pub fn new(inner: S, options: GcarOptions) -> Gcar<S> {
        Gcar { inner, options }
    }

    #[inline]
    fn is_protected(&self, slot: Slot, v: &View) -> bool {
        (self.options.protect == Protect::All || v.frames.is_dirty(slot))
            && v.device.in_gc(v.chip(slot))
    }

    /// The first unprotected candidate within the depth.
    fn unprotected(&self, v: &View) -> Option<Slot> {
        let mut left = self.options.depth.unwrap_or(u32::MAX);
        let mut found = None;
        self.inner.candidates(v, &mut |slot| {
            if !self.is_protected(slot, v) {
                found = Some(slot);
            }
            left -= 1;
            found.is_some() || left == 0
        });
        found
    }

    /// The page that leaves in place of the inner scheme's victim, while any chip collects.
    #[inline]
    fn unprotected_now(&self, v: &View) -> Option<Slot> {
        match v.device.any_in_gc() {
            true => self.unprotected(v),
            false => None,
        }
    }
}

impl<S: Build> Build for Gcar<S> {
    fn build(expr: &Expr, env: &Env) -> Gcar<S> {
        Gcar::new(
            S::build(layer_below(expr), env),
            GcarOptions::from_expr(expr),
        )
    }
}

impl<S: Scheme> Scheme for Gcar<S> {
    forward!(inner: look_ahead ghosts rename_plan tracks_updates rename request request_done admit_request
        admit_page admit_read full expect insert touch foresee remove cleaned forget size
        candidates next_group flush_candidates background cancels measures conformance);

    #[inline]
    fn page_victim(&mut self, a: &Access, v: &View) -> Option<Slot> {
        self.unprotected_now(v)
            .or_else(|| self.inner.page_victim(a, v))
    }

    #[inline]
    fn victim(&mut self, a: &Access, v: &View, out: &mut Unit) {
        match self.unprotected_now(v) {
            Some(slot) => out.one(Some(slot)),
            None => self.inner.victim(a, v, out),
        }
    }
}

#[cfg(test)]
mod tests;
