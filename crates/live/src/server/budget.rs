//! How many bytes may be on their way at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Bytes that requests and replies take while they are served.
#[derive(Debug)]
pub struct ByteBudget {
    free: Mutex<u64>,
    freed: Condvar,
}

/// Bytes that are taken until this is dropped.
#[derive(Debug)]
pub struct Permit {
    budget: Arc<ByteBudget>,
    bytes: u64,
    /// Of another budget, for the same request.
    other: Option<Box<Permit>>,
}

impl Permit {
    /// Two that end together.
    pub fn both(mut self, other: Permit) -> Permit {
        self.other = Some(Box::new(other));
        self
    }
}

impl ByteBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: u64) -> Arc<ByteBudget> {
        let (free, freed) = (Mutex::new(bytes), Condvar::new());
        Arc::new(ByteBudget { free, freed })
    }

    /// Waits until `bytes`, of which the budget has as many in all, are free.
    pub fn take(self: &Arc<Self>, bytes: u64) -> Permit {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < bytes {
            free = self
                .freed
                .wait(free)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *free -= bytes;
        Permit {
            budget: Arc::clone(self),
            bytes,
            other: None,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let budget = &self.budget;
        *budget.free.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        budget.freed.notify_all();
    }
}
