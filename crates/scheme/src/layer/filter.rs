//! Admission page by page: an identifier of hot data decides which written pages enter the cache.
//!
//! The identifiers are files of their own (`refcount`, `multihash`). Reads go to the scheme inside;
//! a cached page that is written cold is superseded by the copy on flash. Over a policy that evicts groups
//! it leaves its group (X3).
//! Cost: that of the identifier, once per written page.

use super::layer_below;
use crate::notes::{Column, Notes};
use crate::registry::Build;
use crate::{Access, Admission, Env, Expr, Layer, Request, Scheme, SchemeStats, View};
use destage_types::Nanos;

/// Tells hot pages from cold ones by their writes.
pub trait Identifier: Sized + Send + 'static {
    /// As the layer `expr` says, for a run as `env` says.
    fn build(expr: &Expr, env: &Env) -> Self;

    /// Time moves to `now`; does history fade because of that?
    fn advance(&mut self, _now: Nanos) -> bool {
        false
    }

    /// Page `a` is written: counts the write and says whether the page is hot. `cached` says
    /// whether it is in the cache.
    fn is_hot(&mut self, a: &Access, cached: bool) -> bool;

    /// The page is done; does history fade now?
    fn settle(&mut self) -> bool;

    /// Bytes of metadata.
    fn metadata_bytes(&self) -> u64;

    /// The state behind that of the cache, as worked examples print it.
    #[cfg(feature = "conformance")]
    fn state(&self, out: &mut String);
}

/// The admission layer with identifier `I` around a scheme.
#[derive(Clone, Debug)]
pub struct Filter<I, S> {
    inner: S,
    pub(super) identifier: I,
    /// Pages admitted, pages sent to flash, times that history faded.
    counts: [u64; 3],
    notes: Notes,
}

impl<I: Identifier, S: Scheme> Filter<I, S> {
    /// Around `inner`.
    pub fn new(identifier: I, inner: S) -> Filter<I, S> {
        Filter {
            inner,
            identifier,
            counts: [0; 3],
            notes: Notes::default(),
        }
    }

    #[inline]
    fn settle(&mut self) {
        if self.identifier.settle() {
            self.note_decay();
        }
    }

    fn note_decay(&mut self) {
        self.counts[2] += 1;
        self.notes.add(Column::Event, || "decay".to_owned());
    }
}

impl<I: Identifier, S: Build> Build for Filter<I, S> {
    fn build(expr: &Expr, env: &Env) -> Filter<I, S> {
        Filter::new(I::build(expr, env), S::build(layer_below(expr), env))
    }
}

impl<I: Identifier, S: Scheme> Layer for Filter<I, S> {
    crate::inside!(inner: S);

    /// The scheme inside is not asked: every page is a decision of its own.
    #[inline]
    fn admit_request(&mut self, _r: &Request, _v: &View) -> Admission {
        Admission::PerPage
    }

    /// What the last page left due is done only now, behind what became of that page.
    fn on_request_end(&mut self, r: &Request, v: &View) {
        self.settle();
        self.inner.on_request_end(r, v);
    }

    #[inline]
    fn admit_write(&mut self, a: &Access, v: &View) -> bool {
        self.settle();
        if self.identifier.advance(a.now) {
            self.note_decay();
        }
        let cached = v.slot_of(a.lpn).is_some();
        let hot = self.identifier.is_hot(a, cached);
        self.counts[usize::from(!hot)] += 1;
        if !hot {
            self.notes.add(Column::Result, || "count->NAND".to_owned());
        } else if !cached {
            self.notes.add(Column::Result, || "hot->cache".to_owned());
        }
        hot && self.inner.admit_write(a, v)
    }

    fn metadata_bytes(&self) -> u64 {
        self.identifier.metadata_bytes() + self.inner.metadata_bytes()
    }

    fn stats(&self, out: &mut SchemeStats) {
        let names = ["admitted_pages", "refused_pages", "decays"];
        for (name, count) in names.into_iter().zip(self.counts) {
            out.counter(name, count);
        }
        self.inner.stats(out);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        self.inner.state(v, out);
        out.push(' ');
        self.identifier.state(out);
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<(Column, String)>) {
        self.notes.take(out);
        self.inner.take_notes(out);
    }
}
