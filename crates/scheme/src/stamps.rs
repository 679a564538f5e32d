//! When pages came to the head of their list, for background layers that put dirty pages in order.

use crate::Env;
use destage_types::Slot;

/// A number for each page that grows from the tail of a list to its head. Kept only inside a background
/// layer, which is the only one to ask.
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    stamps: Vec<u64>,
    newest: u64,
}

impl Stamps {
    /// For slots below `slots`.
    pub fn new(slots: usize, env: &Env) -> Stamps {
        let kept = if env.background { slots } else { 0 };
        Stamps {
            stamps: vec![0; kept],
            newest: 0,
        }
    }

    /// The page in `slot` comes to the head.
    #[inline(always)]
    pub fn stamp(&mut self, slot: Slot) {
        if let Some(stamp) = self.stamps.get_mut(slot.index()) {
            self.newest += 1;
            *stamp = self.newest;
        }
    }

    /// When the page in `slot` came to the head, if that is known.
    #[inline]
    pub fn of(&self, slot: Slot) -> Option<u64> {
        self.stamps.get(slot.index()).copied()
    }
}
