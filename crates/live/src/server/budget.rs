//! Memory of requests and replies on their way.
//!
//! A connection may always have [`OWN_BYTES`] on their way: a piece of a request, which nobody can take from it.
//! Beyond that connections share a pool, first come, first served. So a connection that is slow to send or to
//! take its bytes costs others the pool at most, never their own piece.

use super::pieces::PIECE_BYTES;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of a piece besides its data, at most: the runs of a BLOCK_STATUS.
pub(crate) const REQUEST_BYTES: u64 = 10 << 10;
/// Bytes that each connection may have on their way whatever others do.
const OWN_BYTES: u64 = PIECE_BYTES + 4 * REQUEST_BYTES;
/// Bytes on their way for one connection, at most.
const CONNECTION_BYTES: u64 = 65 << 20;
/// Bytes of a connection besides requests and replies: buffers, stacks of two threads, TLS.
const CONNECTION_OVERHEAD: u64 = 384 << 10;
/// Bytes of a connection until it has chosen an export.
const BEGINNING_BYTES: u64 = 128 << 10;
/// How often a connection that waits for memory looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(50);

/// How many clients a server has at once, and how much memory for what they have on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerLimits {
    /// Connections at once that have chosen an export.
    pub connections: usize,
    /// Connections at once that have not.
    pub beginnings: usize,
    /// Bytes of the pool that connections share.
    pub pool: u64,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits::within(u64::MAX)
    }
}

impl ServerLimits {
    /// Those of a server that may take `memory` bytes as a whole.
    pub fn within(memory: u64) -> ServerLimits {
        let connections = (memory >> 23).clamp(8, 256) as usize;
        ServerLimits {
            connections,
            beginnings: (4 * connections).min(256),
            pool: (memory / 8).min(512 << 20),
        }
    }

    /// Bytes that all connections take together, at most.
    pub fn bytes(self) -> u64 {
        let served = self.connections as u64 * (OWN_BYTES + CONNECTION_OVERHEAD);
        served + self.beginnings as u64 * BEGINNING_BYTES + self.pool
    }
}

/// The pool that connections share: its free bytes.
#[derive(Debug)]
pub(crate) struct BytePool(AtomicU64);

impl BytePool {
    pub fn new(bytes: u64) -> Arc<BytePool> {
        Arc::new(BytePool(AtomicU64::new(bytes)))
    }

    fn take(&self, bytes: u64) -> bool {
        let less = |free: u64| free.checked_sub(bytes);
        let taken = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        taken.is_ok()
    }
}

/// Bytes that one connection has on their way.
#[derive(Debug, Default)]
struct Taken {
    own: u64,
    pooled: u64,
}

/// The memory that one connection may take.
#[derive(Debug)]
pub(crate) struct Allowance {
    pool: Arc<BytePool>,
    taken: Mutex<Taken>,
    freed: Condvar,
}

/// Bytes that are taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    allowance: Arc<Allowance>,
    bytes: u64,
    pooled: bool,
}

impl Allowance {
    pub fn new(pool: &Arc<BytePool>) -> Arc<Allowance> {
        Arc::new(Allowance {
            pool: Arc::clone(pool),
            taken: Mutex::default(),
            freed: Condvar::new(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `bytes`, at most those of a piece, are free. `None`: the connection is not needed any more, as
    /// `is_over` says.
    pub fn take(self: &Arc<Self>, bytes: u64, is_over: impl Fn() -> bool) -> Option<Permit> {
        let mut pooled = false;
        self.wait(is_over, |taken| {
            let allowed = taken.own + taken.pooled + bytes <= CONNECTION_BYTES;
            pooled = allowed && self.pool.take(bytes);
            let own = !pooled && taken.own + bytes <= OWN_BYTES;
            if pooled {
                taken.pooled += bytes;
            } else if own {
                taken.own += bytes;
            }
            pooled || own
        })?;
        Some(Permit {
            allowance: Arc::clone(self),
            bytes,
            pooled,
        })
    }

    /// Waits until nothing of the connection is on its way; `None` as for [`Allowance::take`].
    pub fn wait_idle(&self, is_over: impl Fn() -> bool) -> Option<()> {
        self.wait(is_over, |taken| taken.own + taken.pooled == 0)
    }

    /// Waits until `ready`. Where it waits, the connection has bytes on their way, whose end wakes it.
    fn wait(
        &self,
        is_over: impl Fn() -> bool,
        mut ready: impl FnMut(&mut Taken) -> bool,
    ) -> Option<()> {
        let mut taken = self.taken();
        while !ready(&mut taken) {
            if is_over() {
                return None;
            }
            let waited = self.freed.wait_timeout(taken, LOOK);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.allowance.taken();
        if self.pooled {
            taken.pooled -= self.bytes;
            self.allowance
                .pool
                .0
                .fetch_add(self.bytes, Ordering::SeqCst);
        } else {
            taken.own -= self.bytes
        }
        drop(taken);
        self.allowance.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_has_its_own_piece_when_others_have_taken_the_pool() {
        let pool = BytePool::new(4 << 20);
        let [greedy, modest] = [(); 2].map(|()| Allowance::new(&pool));
        let over = || true;
        let take = |who: &Arc<Allowance>| who.take(PIECE_BYTES, over);
        let held: Vec<Option<Permit>> = (0..6).map(|_| take(&greedy)).collect();
        let got = held.iter().flatten().count();
        assert_eq!(got, 5, "four of the pool and its own");
        let own = take(&modest).expect("its own piece");
        assert!(take(&modest).is_none(), "the pool is empty");
        assert!(modest.wait_idle(over).is_none());
        drop(own);
        assert!(modest.wait_idle(over).is_some());
        drop(held);
        let pooled: Vec<Permit> = (0..5).filter_map(|_| take(&modest)).collect();
        assert_eq!(pooled.len(), 5, "what was given back can be had");
    }

    #[test]
    fn limits_keep_to_the_memory_of_the_server() {
        for mib in [64, 256, 512, 4096, 1 << 20] {
            let limits = ServerLimits::within(mib << 20);
            assert!(limits.bytes() <= (mib << 20) * 3 / 8, "{mib}: {limits:?}");
            assert!((8..=256).contains(&limits.connections));
        }
    }
}
