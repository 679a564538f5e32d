//! The dirty pages that a scheme would give up first, kept until the scheme changes.
//!
//! A background layer that looks for pages by the order of eviction is asked for every idle channel
//! and with everything that happens on the device, far more often than the order changes, and most
//! of what it would look at is clean.

use crate::{Access, Layer, RemoveReason, Request, Scheme, View};
use destage_types::{Lpn, Slot};

/// Pages that are kept; further ones are looked for each time.
const MOST: usize = 64;

/// A scheme and the first dirty pages of its order of eviction.
#[derive(Clone, Debug)]
pub struct DirtyVictims<S> {
    scheme: S,
    /// Pages that are looked at, at least 1.
    window: usize,
    /// Those that were dirty when they were last looked at.
    dirty: Vec<Slot>,
    /// Are these all there are?
    all: bool,
    /// Partial trims up to then, unless the scheme has changed since.
    looked_at: Option<u64>,
}

impl<S: Scheme> DirtyVictims<S> {
    /// Over the first `window` candidates of `scheme`.
    pub fn new(scheme: S, window: usize) -> DirtyVictims<S> {
        DirtyVictims {
            scheme,
            window,
            dirty: Vec::new(),
            all: false,
            looked_at: None,
        }
    }

    /// Looks at the pages again if they may have changed; to be called before
    /// [`DirtyVictims::first`].
    pub fn refresh(&mut self, v: &View) {
        let now = Some(v.frames.partial_trims());
        if std::mem::replace(&mut self.looked_at, now) == now {
            return;
        }
        let (dirty, mut left) = (&mut self.dirty, self.window);
        dirty.clear();
        self.scheme.next_victims(v, &mut |slot| {
            if v.frames.is_dirty(slot) {
                dirty.push(slot);
            }
            left -= 1;
            left > 0 && dirty.len() < MOST
        });
        self.all = dirty.len() < MOST;
    }

    /// The first of the pages that is dirty and accepted.
    pub fn first(&self, v: &View, accept: impl Fn(Slot) -> bool) -> Option<Slot> {
        debug_assert_eq!(self.looked_at, Some(v.frames.partial_trims()));
        let wanted = |slot: Slot| v.frames.is_dirty(slot) && accept(slot);
        let kept = self.dirty.iter().copied().find(|&slot| wanted(slot));
        let found = match kept.is_none() && !self.all {
            true => self.search(v, wanted),
            false => kept,
        };
        debug_assert_eq!(found, self.search(v, wanted), "nothing has changed");
        found
    }

    fn search(&self, v: &View, wanted: impl Fn(Slot) -> bool) -> Option<Slot> {
        let (mut left, mut found) = (self.window, None);
        self.scheme.next_victims(v, &mut |slot| {
            found = wanted(slot).then_some(slot);
            left -= 1;
            found.is_none() && left > 0
        });
        found
    }
}

/// Methods that are handed on and may change the order of eviction.
macro_rules! changing {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[inline(always)]
            fn $name(&mut self, $($arg: $type),*) $(-> $result)? {
                self.looked_at = None;
                self.scheme.$name($($arg),*)
            }
        )*
    };
}

impl<S: Scheme> Layer for DirtyVictims<S> {
    crate::inside!(scheme: S);

    changing! {
        rename(from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool;
        on_request(r: &Request, v: &View);
        on_request_end(r: &Request, v: &View);
        on_insert(slot: Slot, a: &Access, v: &View);
        on_hit(slot: Slot, a: &Access, v: &View);
        on_partial_hit(slot: Slot, a: &Access, v: &View);
        on_remove(slot: Slot, reason: RemoveReason, v: &View);
        on_clean(slots: &[Slot], v: &View);
        forget(lpn: Lpn, v: &View);
    }
}
