//! Names of cached pages for a class: numbers that stay the same while a page is cached.

use destage_scheme::View;
use destage_types::{Lpn, Slot};
use pyo3::prelude::*;
use std::collections::HashMap;

/// Names of the cached pages. A page is called by its address (LPN) when it comes in. Under `cac` it may get
/// another address while it is cached: a class that is told of that (`on_rename`) calls it by that from then
/// on; for others it keeps its name, and a page that comes in while its address is the name of another one
/// gets a number below zero.
pub struct Names {
    /// By slot: the name as an object, and as a number.
    pages: Vec<Option<(Py<PyAny>, i64)>>,
    /// Slots of pages whose name is not their address.
    others: HashMap<i64, Slot>,
    /// Names below zero that were given.
    given: i64,
    /// Is the class told of new addresses?
    pub follows: bool,
}

impl Names {
    /// Of a cache of so many slots.
    pub fn new(slots: u32, follows: bool) -> Names {
        Names {
            pages: (0..slots).map(|_| None).collect(),
            others: HashMap::new(),
            given: 0,
            follows,
        }
    }

    /// A page comes into `slot`.
    pub fn insert(&mut self, py: Python<'_>, slot: Slot, lpn: Lpn) -> PyResult<&Py<PyAny>> {
        let mut name = lpn.0 as i64;
        if self.others.contains_key(&name) {
            self.given += 1;
            name = -self.given;
            self.others.insert(name, slot);
        }
        self.name(py, slot, name)
    }

    fn name(&mut self, py: Python<'_>, slot: Slot, name: i64) -> PyResult<&Py<PyAny>> {
        let object = name.into_pyobject(py)?.into_any().unbind();
        Ok(&self.pages[slot.index()].insert((object, name)).0)
    }

    /// The name of the page in `slot`.
    #[inline]
    pub fn of(&self, slot: Slot) -> Option<&Py<PyAny>> {
        self.pages[slot.index()].as_ref().map(|(object, _)| object)
    }

    /// The page in `slot` has left.
    pub fn remove(&mut self, slot: Slot) {
        if let Some((_, name)) = self.pages[slot.index()].take()
            && !self.others.is_empty()
        {
            self.others.remove(&name);
        }
    }

    /// The page in `slot`, which was `from`, is `to` from now on. Gives the old and the new name if the class
    /// is to be told.
    pub fn rename(
        &mut self,
        py: Python<'_>,
        slot: Slot,
        to: Lpn,
    ) -> PyResult<Option<(Py<PyAny>, Py<PyAny>)>> {
        let Some((old, name)) = &self.pages[slot.index()] else {
            return Ok(None);
        };
        let (old, name) = (old.clone_ref(py), *name);
        if self.follows {
            let new = self.name(py, slot, to.0 as i64)?.clone_ref(py);
            return Ok(Some((old, new)));
        }
        match name == to.0 as i64 {
            true => self.others.remove(&name),
            false => self.others.insert(name, slot),
        };
        Ok(None)
    }

    /// The slot of the page called `name`, if it is cached.
    #[inline]
    pub fn slot(&self, name: i64, v: &View) -> Option<Slot> {
        if !self.others.is_empty()
            && let Some(&slot) = self.others.get(&name)
        {
            return Some(slot);
        }
        let slot = v.slot_of(Lpn(u64::try_from(name).ok()?))?;
        let known = self.pages.get(slot.index())?.as_ref()?;
        (known.1 == name).then_some(slot)
    }
}
