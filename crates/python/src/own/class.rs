//! A class of Python as a page policy.

use super::call::{call1, call2};
use super::declare::{OwnKind, values};
use super::names::Names;
use super::view::{CacheView, Scope};
use super::{Fault, FaultReason, kind_of};
use destage_scheme::{Access, Env, Expr, Pages, Policy, RemoveReason, Scheme, SchemeStats, View};
use destage_types::{Lpn, Slot};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};
use std::cell::Cell;

/// Methods that a class may have, in the order in which Python hands them over; `None` where it has none
/// of its own.
#[derive(FromPyObject)]
struct Hooks(
    Py<PyAny>,         // on_insert
    Py<PyAny>,         // on_hit
    Py<PyAny>,         // on_remove
    Py<PyAny>,         // victim
    Option<Py<PyAny>>, // next_victims
    Option<Py<PyAny>>, // on_miss
    Option<Py<PyAny>>, // on_clean
    Option<Py<PyAny>>, // on_rename
    Option<Py<PyAny>>, // on_partial_hit
    Option<Py<PyAny>>, // stats
);

/// An instance of a class, as a policy.
pub struct ClassPolicy {
    hooks: Hooks,
    names: Names,
    view: Py<CacheView>,
    reasons: [Py<PyAny>; 2],
    /// Number of the request that was served last, from 1.
    request: Cell<u64>,
    scheme: String,
}

/// The function that declarations of classes name as their `build`.
pub fn build(expr: &Expr, env: &Env) -> Box<dyn Scheme + Send> {
    Box::new(Pages::of(ClassPolicy::build(expr, env)))
}

impl ClassPolicy {
    fn begin(py: Python<'_>, expr: &Expr, env: &Env) -> PyResult<ClassPolicy> {
        let kind = kind_of(expr.scheme());
        let Some(OwnKind::Class(class)) = kind.as_deref() else {
            unreachable!("only classes are built here");
        };
        let view = Py::new(py, CacheView::closed())?;
        let cache = PyDict::new(py);
        cache.set_item("capacity", env.capacity)?;
        cache.set_item("page_bytes", env.page.bytes())?;
        cache.set_item("chips", env.layout.chips())?;
        cache.set_item("pages_per_block", env.pages_per_block)?;
        cache.set_item("read_alloc", env.read_alloc)?;
        cache.set_item("seed", env.seed)?;
        let values = values(py, expr)?;
        let begin = class.getattr(py, intern!(py, "_begin"))?;
        let hooks = begin.call1(py, (values, cache, view.clone_ref(py)))?;
        let hooks: Hooks = hooks.extract(py)?;
        let reasons = ["evicted", "discarded"].map(|text| text.into_pyobject(py));
        let [evicted, discarded] = reasons.map(|text| text.map(|text| text.into_any().unbind()));
        Ok(ClassPolicy {
            names: Names::new(env.slots, hooks.7.is_some()),
            hooks,
            view,
            reasons: [evicted?, discarded?],
            request: Cell::new(1),
            scheme: format!("{expr}, {} pages", env.capacity),
        })
    }

    fn fail(&self, hook: &'static str, why: FaultReason) -> ! {
        let request = self.request.get().saturating_sub(1);
        let scheme = self.scheme.clone();
        Fault {
            why,
            hook,
            request,
            scheme,
        }
        .end()
    }

    fn raised(&self, hook: &'static str, error: PyErr) -> ! {
        self.fail(hook, FaultReason::Raised(error))
    }

    /// Calls a method, with the view open.
    #[inline]
    fn lend<T>(
        &self,
        hook: &'static str,
        access: Option<&Access>,
        v: &View,
        call: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> T {
        if let Some(a) = access {
            self.request.set(a.request);
        }
        let scope = Scope {
            view: v,
            names: &self.names,
            access,
        };
        let done = Python::attach(|py| {
            let _opened = self.view.get().open(&scope);
            call(py)
        });
        match done {
            Ok(done) => done,
            Err(error) => self.raised(hook, error),
        }
    }

    /// The page that a method named.
    fn slot_of(&self, hook: &'static str, page: &Bound<'_, PyAny>, v: &View) -> Slot {
        let Ok(name) = page.extract::<i64>() else {
            let shown = page
                .repr()
                .map_or_else(|_| "?".to_owned(), |text| text.to_string());
            let text = format!(
                "{hook} gave {shown}, which is no page: a page is one of the numbers that on_insert was called with"
            );
            self.fail(hook, FaultReason::Said(text));
        };
        match self.names.slot(name, v) {
            Some(slot) => slot,
            None => self.fail(
                hook,
                FaultReason::Said(format!("{hook} named page {name}, which is not cached")),
            ),
        }
    }

    fn name_of(&self, slot: Slot) -> &Py<PyAny> {
        self.names
            .of(slot)
            .expect("the cache tells of pages that it has")
    }
}

impl Policy for ClassPolicy {
    fn build(expr: &Expr, env: &Env) -> ClassPolicy {
        Python::attach(|py| ClassPolicy::begin(py, expr, env)).unwrap_or_else(|error| {
            Fault {
                why: FaultReason::Raised(error),
                hook: "start",
                request: 0,
                scheme: expr.to_string(),
            }
            .end()
        })
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        let named = Python::attach(|py| {
            let object = self.names.insert(py, slot, a.lpn)?;
            Ok(object.clone_ref(py))
        });
        let name = named.unwrap_or_else(|error| self.raised("on_insert", error));
        self.lend("on_insert", Some(a), v, |py| {
            call1(py, &self.hooks.0, &name).map(drop)
        });
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        let name = self.name_of(slot);
        self.lend("on_hit", Some(a), v, |py| {
            call1(py, &self.hooks.1, name).map(drop)
        });
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let reason = match reason {
            RemoveReason::Evicted => &self.reasons[0],
            RemoveReason::Discarded => &self.reasons[1],
        };
        let name = self.name_of(slot);
        self.lend("on_remove", None, v, |py| {
            call2(py, &self.hooks.2, name, reason).map(drop)
        });
        Python::attach(|_| self.names.remove(slot));
    }

    fn victim(&mut self, a: &Access, v: &View) -> Option<Slot> {
        let view = self.view.as_any();
        let slot = self.lend("victim", Some(a), v, |py| {
            let page = call1(py, &self.hooks.3, view)?;
            Ok(self.slot_of("victim", &page, v))
        });
        Some(slot)
    }

    fn next_victims<'a>(&'a self, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let order = self.hooks.4.as_ref().map(|hook| {
            self.lend("next_victims", None, v, |py| {
                let pages = call1(py, hook, self.view.as_any())?;
                Ok(PyIterator::from_object(&pages)?.unbind())
            })
        });
        let next = move || {
            let order = order.as_ref()?;
            self.lend("next_victims", None, v, |py| {
                let page = order.bind(py).clone().next().transpose()?;
                Ok(page.map(|page| self.slot_of("next_victims", &page, v)))
            })
        };
        std::iter::from_fn(next)
    }

    fn on_miss(&mut self, a: &Access, v: &View) {
        if let Some(hook) = &self.hooks.5 {
            self.lend("on_miss", Some(a), v, |py| {
                let page = (a.lpn.0 as i64).into_pyobject(py)?.into_any().unbind();
                call1(py, hook, &page).map(drop)
            });
        }
    }

    fn on_clean(&mut self, slots: &[Slot], v: &View) {
        if let Some(hook) = &self.hooks.6 {
            self.lend("on_clean", None, v, |py| {
                let pages = PyList::new(py, slots.iter().map(|&slot| self.name_of(slot)))?;
                call1(py, hook, &pages.into_any().unbind()).map(drop)
            });
        }
    }

    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) {
        let Some(slot) = slot else { return };
        let renamed = Python::attach(|py| self.names.rename(py, slot, to));
        let renamed = renamed.unwrap_or_else(|error| self.raised("on_rename", error));
        if let (Some((old, new)), Some(hook)) = (renamed, &self.hooks.7) {
            self.lend("on_rename", None, v, |py| {
                call2(py, hook, &old, &new).map(drop)
            });
        }
    }

    fn on_partial_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        if let Some(hook) = &self.hooks.8 {
            let name = self.name_of(slot);
            self.lend("on_partial_hit", Some(a), v, |py| {
                call1(py, hook, name).map(drop)
            });
        }
    }

    fn stats(&self, out: &mut SchemeStats) {
        let Some(hook) = &self.hooks.9 else { return };
        let figures = Python::attach(|py| {
            let figures = hook.call0(py)?;
            let figures = figures.bind(py).cast::<PyDict>()?.iter();
            let figure = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Ok((
                    super::declare::kept(&key.extract::<String>()?),
                    value.extract::<u64>()?,
                ))
            };
            figures.map(figure).collect::<PyResult<Vec<_>>>()
        });
        let figures = figures.unwrap_or_else(|error: PyErr| self.raised("stats", error));
        for (name, value) in figures {
            out.gauge(name, value);
        }
    }
}
