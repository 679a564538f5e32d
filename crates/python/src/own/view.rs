//! Questions of a class about the cache and the device while one of its methods runs.
#![expect(
    unsafe_code,
    reason = "a view is borrowed for one call, which Python does not know of"
)]

use super::names::Names;
use crate::errors::exception;
use destage_scheme::{Access, View};
use destage_types::{ChipId, Lpn, Op, Slot};
use pyo3::prelude::*;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Borrowed state during a call of a method.
pub struct Scope<'a> {
    pub view: &'a View<'a>,
    pub names: &'a Names,
    /// The page access that is served, if there is one.
    pub access: Option<&'a Access>,
}

/// The cache and the device, as a scheme sees them while one of its methods runs. Pages are the numbers that
/// the methods are given.
#[pyclass(frozen, module = "destage", name = "View")]
pub struct CacheView {
    scope: AtomicPtr<Scope<'static>>,
}

/// Closes a view again.
pub struct Opened<'a> {
    view: &'a CacheView,
    before: *mut Scope<'static>,
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.view.scope.store(self.before, Ordering::Release);
    }
}

impl CacheView {
    /// One that nothing can be asked of yet.
    pub fn closed() -> CacheView {
        CacheView {
            scope: AtomicPtr::new(null_mut()),
        }
    }

    /// Opens it until what is given back is dropped, which has to be before `scope` ends.
    #[inline]
    pub fn open<'a>(&'a self, scope: &'a Scope<'a>) -> Opened<'a> {
        let scope = std::ptr::from_ref(scope).cast_mut().cast();
        let before = self.scope.swap(scope, Ordering::AcqRel);
        Opened { view: self, before }
    }

    fn with<T>(&self, py: Python<'_>, ask: impl FnOnce(&Scope<'_>) -> T) -> PyResult<T> {
        let scope = self.scope.load(Ordering::Acquire);
        if scope.is_null() {
            let text = "a view can be asked only while a method of its scheme runs";
            return Err(exception(py, "RunError", text.to_owned()));
        }
        // SAFETY: `open` put it there, and takes it away before the scope ends. The thread that did is in
        // a method of Python now, which needs the lock of the interpreter to return, and we hold that: so
        // neither ends the scope meanwhile nor does anybody else use what it lends.
        Ok(ask(unsafe { &*scope }))
    }

    /// The answer about the slot of a page.
    fn page<T>(
        &self,
        py: Python<'_>,
        page: i64,
        ask: impl FnOnce(&Scope<'_>, Slot) -> T,
    ) -> PyResult<T> {
        let answer = self.with(py, |s| s.names.slot(page, s.view).map(|slot| ask(s, slot)));
        answer?.ok_or_else(|| {
            let text = format!("page {page} is not cached");
            exception(py, "UsageError", text)
        })
    }

    fn chip_of<T>(
        &self,
        py: Python<'_>,
        chip: u32,
        ask: impl FnOnce(&Scope<'_>, ChipId) -> T,
    ) -> PyResult<T> {
        let answer = self.with(py, |s| {
            let chips = s.view.layout.chips();
            match u64::from(chip) < u64::from(chips) {
                true => Ok(ask(s, ChipId(chip))),
                false => Err(format!("chip {chip}: there are {chips}, from 0")),
            }
        });
        answer?.map_err(|text| exception(py, "UsageError", text))
    }
}

#[pymethods]
impl CacheView {
    /// Arrival of the request, or the time of the background event, in nanoseconds.
    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |s| s.view.now.0)
    }

    /// Page accesses so far, the one that is served included.
    #[getter]
    fn accesses(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |s| s.view.seq)
    }

    /// Number of the request that is served, from 0, warm-up passes included; None outside of one.
    #[getter]
    fn request(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |s| s.access.map(|a| a.request.saturating_sub(1)))
    }

    /// Is the access that is served a write? None outside of one.
    #[getter]
    fn is_write(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        self.with(py, |s| s.access.map(|a| a.op == Op::Write))
    }

    /// Pages that are cached.
    #[getter]
    fn used(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |s| s.view.frames.used() as u64)
    }

    /// Page frames of the cache.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |s| s.view.frames.capacity() as u64)
    }

    /// Is the page cached?
    fn is_cached(&self, py: Python<'_>, page: i64) -> PyResult<bool> {
        self.with(py, |s| s.names.slot(page, s.view).is_some())
    }

    /// Has the cached page data that flash does not have?
    fn is_dirty(&self, py: Python<'_>, page: i64) -> PyResult<bool> {
        self.page(py, page, |s, slot| s.view.frames.is_dirty(slot))
    }

    /// The address of the cached page, which differs from its number only under `cac`.
    fn lpn(&self, py: Python<'_>, page: i64) -> PyResult<u64> {
        self.page(py, page, |s, slot| s.view.frames.lpn(slot).0)
    }

    /// The chip that a page belongs to, cached or not; 0 without a device.
    fn chip(&self, py: Python<'_>, page: i64) -> PyResult<u32> {
        let address = |s: &Scope<'_>| match s.names.slot(page, s.view) {
            Some(slot) => Some(s.view.frames.lpn(slot)),
            None => u64::try_from(page).ok().map(Lpn),
        };
        let chip = self.with(py, |s| address(s).map(|lpn| s.view.layout.chip(lpn).0))?;
        chip.ok_or_else(|| exception(py, "UsageError", format!("page {page} is not cached")))
    }

    /// Chips of the device, each with a queue of its own; 1 without one.
    #[getter]
    fn chips(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |s| u64::from(s.view.layout.chips()))
    }

    /// Time until everything in the queue of the chip is done if nothing else arrives, in nanoseconds.
    fn drain_ns(&self, py: Python<'_>, chip: u32) -> PyResult<u64> {
        self.chip_of(py, chip, |s, chip| s.view.device.drain_time(chip).0)
    }

    /// Is nothing at all queued or in service on the chip?
    fn is_idle(&self, py: Python<'_>, chip: u32) -> PyResult<bool> {
        self.chip_of(py, chip, |s, chip| s.view.device.is_idle(chip))
    }

    /// Is the chip collecting garbage?
    fn in_gc(&self, py: Python<'_>, chip: u32) -> PyResult<bool> {
        self.chip_of(py, chip, |s, chip| s.view.device.in_gc(chip))
    }

    /// Reads and writes in the queue of the chip, the one in service included.
    fn queued(&self, py: Python<'_>, chip: u32) -> PyResult<(u64, u64)> {
        self.chip_of(py, chip, |s, chip| {
            let queue = s.view.device.equation_1(chip);
            (queue.reads, queue.writes)
        })
    }
}
