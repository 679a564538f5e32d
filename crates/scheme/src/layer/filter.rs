//! Admission page by page: an identifier of hot data decides which written pages enter the cache.
//!
//! The identifiers are files of their own (`refcount`, `multihash`, `mbf`, `twolevel`). Reads go to the
//! scheme inside; a cached page that is written cold is superseded by the copy on flash. Over a policy that
//! evicts groups it leaves its group (X3).
//!
//! HD-1: identifiers remember which addresses were written, so TRIM, FLUSH and renames change nothing that
//! they know, as they change no counter of Algorithm 3 of ProCache.
//! Cost: that of the identifier, once per written page.

use super::layer_below;
use crate::contract::Build;
use crate::notes::{Column, Notes};
use crate::{
    Access, Admission, Env, Expr, Layer, Request, Scheme, SchemeNotice, SchemeStats, View,
};
use destage_types::{Nanos, Op};

/// Tells hot pages from cold ones by their writes. `notes` take the words of worked examples.
pub trait Identifier: Sized + Send + 'static {
    /// Does history fade: can [`Identifier::advance`] or [`Identifier::settle`] be true?
    const FADES: bool = true;

    /// As the layer `expr` says, for a run as `env` says.
    fn build(expr: &Expr, env: &Env) -> Self;

    /// Time moves to `now`; does history fade because of that?
    fn advance(&mut self, _now: Nanos, _notes: &mut Notes) -> bool {
        false
    }

    /// Page `a` is written: counts the write and says whether the page is hot. `cached` says
    /// whether it is in the cache.
    fn is_hot(&mut self, a: &Access, cached: bool, notes: &mut Notes) -> bool;

    /// The page is done; does history fade now?
    fn settle(&mut self, _notes: &mut Notes) -> bool {
        false
    }

    /// Bytes of metadata.
    fn metadata_bytes(&self) -> u64;

    /// Counters and gauges of its own.
    fn stats(&self, _out: &mut SchemeStats) {}

    /// The state behind that of the cache, as worked examples print it.
    #[cfg(feature = "conformance")]
    fn state(&self, out: &mut String);
}

/// Notes the decision of an identifier that counts writes.
pub(super) fn say_counted(hot: bool, cached: bool, notes: &mut Notes) {
    if !hot {
        notes.add(Column::Result, || "count->NAND".to_owned());
    } else if !cached {
        notes.add(Column::Result, || "hot->cache".to_owned());
    }
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
    #[inline]
    fn settle(&mut self) {
        self.counts[2] += u64::from(self.identifier.settle(&mut self.notes));
    }
}

impl<I: Identifier, S: Build> Build for Filter<I, S> {
    fn build(expr: &Expr, env: &Env) -> Filter<I, S> {
        Filter {
            inner: S::build(layer_below(expr), env),
            identifier: I::build(expr, env),
            counts: [0; 3],
            notes: Notes::default(),
        }
    }
}

impl<I: Identifier, S: Scheme> Layer for Filter<I, S> {
    crate::inside!(inner: S);

    /// Every page is a decision of its own, whatever the scheme inside says.
    #[inline]
    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        self.inner.on_request(r, v);
        Admission::PerPage
    }

    /// Work that the last page left due is done only at the end, after that page.
    #[inline]
    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        if let SchemeNotice::RequestEnd(_) = notice {
            self.settle();
        }
        self.inner.on_notice(notice, v);
    }

    #[inline]
    fn admit(&mut self, a: &Access, v: &View) -> bool {
        if a.op == Op::Read {
            return self.inner.admit(a, v);
        }
        self.settle();
        self.counts[2] += u64::from(self.identifier.advance(a.now, &mut self.notes));
        let cached = v.slot_of(a.lpn).is_some();
        let hot = self.identifier.is_hot(a, cached, &mut self.notes);
        self.counts[usize::from(!hot)] += 1;
        hot && self.inner.admit(a, v)
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        self.identifier.metadata_bytes() + self.inner.metadata_bytes(pages)
    }

    fn stats(&self, out: &mut SchemeStats) {
        let names = ["admitted_pages", "refused_pages", "decays"];
        let shown = if I::FADES { 3 } else { 2 };
        for (name, count) in names.into_iter().zip(self.counts).take(shown) {
            out.counter(name, count);
        }
        self.identifier.stats(out);
        self.inner.stats(out);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        self.inner.state(v, out);
        out.push(' ');
        self.identifier.state(out);
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<crate::Note>) {
        self.notes.take(out);
        self.inner.take_notes(out);
    }
}
