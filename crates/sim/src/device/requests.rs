//! Requests in flight: when a request is complete.

use super::completed::Completed;
use super::slab::Slab;
use destage_device::config::{DeviceConfig, Dram, EvictWait, EvictWaitRead};
use destage_record::Completion;
use destage_types::{Nanos, Op};

/// A request that is not complete.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// As far as it is known.
    so_far: Completion,
    /// When its service in DRAM begins: at its arrival, or when it has its last frame.
    from: Nanos,
    /// Ends that it waits for and does not know; one more until all of them are known.
    waiting: u32,
    /// Of the data that it writes (S-3).
    handle: u8,
}

/// Requests in flight.
pub(crate) struct Requests {
    rows: Slab<Request>,
    current: u32,
    /// Writes that wait for a frame and are not the current request.
    left_open: u32,
    t_dram: Nanos,
    dram: Dram,
    /// The step of a program that a request waits for which caused it.
    pub evict_wait: EvictWait,
    evict_wait_read: EvictWaitRead,
    pub completed: Completed,
    /// When the last of those that are complete was.
    last_end: Nanos,
}

impl Requests {
    pub fn new(config: &DeviceConfig) -> Requests {
        let t_dram = config.t_dram.times(1);
        Requests {
            rows: Slab::new(),
            current: u32::MAX,
            left_open: 0,
            t_dram,
            dram: config.dram,
            evict_wait: config.evict_wait,
            evict_wait_read: config.evict_wait_read,
            completed: Completed::new(t_dram),
            last_end: Nanos::ZERO,
        }
    }

    /// A request arrives, and is the current one. DRAM serves it in any case.
    pub fn begin(&mut self, index: u64, op: Op, now: Nanos) {
        self.current = self.rows.add(Request {
            so_far: (self.completed).arrives(index, op, now, now + self.t_dram),
            from: now,
            waiting: 1,
            handle: 0,
        });
    }

    /// The current request, if there is one.
    #[inline]
    pub fn current(&self) -> Option<u32> {
        (self.current != u32::MAX).then_some(self.current)
    }

    /// The current request, where there is one.
    #[inline]
    pub fn present(&self) -> u32 {
        debug_assert!(self.current != u32::MAX, "a request is being served");
        self.current
    }

    /// The current request writes with this handle.
    pub fn set_handle(&mut self, handle: u8) {
        self.rows[self.current].handle = handle;
    }

    /// The handle of the current request, if there is one.
    pub fn handle(&self) -> Option<u8> {
        self.current().map(|request| self.rows[request].handle)
    }

    /// Number of the current request, if there is one.
    pub fn current_index(&self) -> Option<u64> {
        self.current().map(|request| self.index(request))
    }

    /// Number of a request.
    pub fn index(&self, request: u32) -> u64 {
        self.rows[request].so_far.index
    }

    /// A request waits for so many more ends. Gives what is known of it.
    #[inline]
    pub fn wait(&mut self, request: u32, ends: u32) -> &Completion {
        let row = &mut self.rows[request];
        row.waiting += ends;
        &row.so_far
    }

    /// The current request waits for one more end. Gives its name.
    pub fn wait_for_flush(&mut self) -> u32 {
        let request = self.present();
        self.wait(request, 1);
        request
    }

    /// A request is not complete before `end`. Gives what is known of it.
    #[inline]
    pub fn extend(&mut self, request: u32, end: Nanos) -> &Completion {
        let so_far = &mut self.rows[request].so_far;
        so_far.complete = so_far.complete.max(end);
        so_far
    }

    /// The step of a program that this request waits for if it causes it.
    #[inline]
    pub fn waits_for(&self, request: u32) -> EvictWait {
        let reads = self.rows[request].so_far.op == Op::Read;
        match reads && self.evict_wait_read == EvictWaitRead::Issue {
            true => EvictWait::Issue,
            false => self.evict_wait,
        }
    }

    /// All that the current request waits for is known.
    pub fn end(&mut self, pages: u64, hits: u64) {
        let row = std::mem::replace(&mut self.current, u32::MAX);
        let service = match self.dram {
            Dram::PerRequest => self.t_dram,
            Dram::PerPage => Nanos(self.t_dram.0 * pages.max(1)),
        };
        let request = &mut self.rows[row];
        (request.so_far.pages, request.so_far.hits) = (pages, hits);
        let served = request.from + service;
        self.ended(row, served);
    }

    /// The current request goes on later, see [`Requests::resume`].
    pub fn leave_open(&mut self) -> u32 {
        self.left_open += 1;
        std::mem::replace(&mut self.current, u32::MAX)
    }

    /// A request that was left open is the current one again at `now`, when it may get its last frame.
    pub fn resume(&mut self, row: u32, now: Nanos) {
        self.current = row;
        self.left_open -= 1;
        self.rows[row].from = now;
    }

    /// Since when all requests are complete, if they are.
    pub fn at_rest_since(&self) -> Option<Nanos> {
        (!self.any()).then_some(self.last_end)
    }

    /// Is any request not complete?
    pub fn any(&self) -> bool {
        self.rows.rows().next().is_some()
    }

    /// Does a request wait for a frame that is not the current one?
    pub fn any_left_open(&self) -> bool {
        self.left_open > 0
    }

    /// One of those that a request waits for is known: it ends at `end`.
    #[inline]
    pub fn ended(&mut self, row: u32, end: Nanos) {
        let request = &mut self.rows[row];
        request.so_far.complete = request.so_far.complete.max(end);
        request.waiting -= 1;
        if request.waiting == 0 {
            let done = self.rows.remove(row).so_far;
            self.last_end = self.last_end.max(done.complete);
            self.completed.add(done);
        }
    }
}
