//! Requests in flight: when a request is complete, and what is measured of those that were.

use crate::engine::backlog::ArrivalWatch;
use crate::engine::latency::LatencyStats;
use crate::engine::slab::Slab;
use crate::flash::Cause;
use destage_device::config::{DeviceConfig, Dram, EvictWait, EvictWaitRead};
use destage_record::Completion;
use destage_types::{Nanos, Op};

/// A request that is not complete.
#[derive(Clone, Copy, Debug)]
struct Request {
    index: u64,
    op: Op,
    arrival: Nanos,
    /// When its service in DRAM begins: at its arrival, or when it has its last frame.
    from: Nanos,
    done: Nanos,
    /// Events it waits for; one more until all of them are known.
    waiting: u32,
    measured: bool,
    warm_up: bool,
    pages: u64,
    hits: u64,
}

/// Requests in flight.
pub(super) struct Requests {
    rows: Slab<Request>,
    current: u32,
    /// Writes that wait for a frame and are not the current request.
    left_open: u32,
    t_dram: Nanos,
    dram: Dram,
    measured: bool,
    warm_up: bool,
    /// Reads, writes, other requests.
    pub latency: [LatencyStats; 3],
    pub arrivals: ArrivalWatch,
    pub completions: Option<Vec<Completion>>,
}

impl Requests {
    pub fn new(config: &DeviceConfig) -> Requests {
        let t_dram = config.t_dram.times(1);
        let stats = || LatencyStats::new(t_dram);
        Requests {
            rows: Slab::new(),
            current: u32::MAX,
            left_open: 0,
            t_dram,
            dram: config.dram,
            measured: false,
            warm_up: true,
            latency: [stats(), stats(), stats()],
            arrivals: ArrivalWatch::new(Nanos::NEVER),
            completions: None,
        }
    }

    /// The measured part begins with the next request.
    pub fn start_measuring(&mut self) {
        (self.measured, self.warm_up) = (true, false);
        self.latency.iter_mut().for_each(LatencyStats::clear);
        self.arrivals.restart();
    }

    /// Sets whether times count from the next request on, and returns whether they did.
    pub fn measure(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.measured, on)
    }

    /// A request arrives, and is the current one.
    pub fn begin(&mut self, index: u64, op: Op, now: Nanos) {
        self.current = self.rows.add(Request {
            index,
            op,
            arrival: now,
            from: now,
            done: now + self.t_dram,
            waiting: 1,
            measured: self.measured,
            warm_up: self.warm_up,
            pages: 0,
            hits: 0,
        });
    }

    /// The current request, if there is one.
    pub fn current(&self) -> Option<u32> {
        (self.current != u32::MAX).then_some(self.current)
    }

    /// Number of a request.
    pub fn index(&self, request: u32) -> u64 {
        self.rows[request].index
    }

    /// A request waits for one more end.
    pub fn wait(&mut self, request: u32) {
        self.rows[request].waiting += 1;
    }

    /// Does a request wait for the unit that it filled? Always if its own data went past the cache.
    pub fn waits_for(
        &self,
        request: u32,
        cause: Cause,
        (write, read): (EvictWait, EvictWaitRead),
    ) -> bool {
        let of_read = self.rows[request].op == Op::Read && read == EvictWaitRead::Issue;
        cause == Cause::Own || (write != EvictWait::Issue && !of_read)
    }

    /// All that the current request waits for is known, unless it is left open.
    pub fn end(&mut self, pages: u64, hits: u64) {
        let row = std::mem::replace(&mut self.current, u32::MAX);
        let request = &mut self.rows[row];
        (request.pages, request.hits) = (pages, hits);
        let service = match self.dram {
            Dram::PerRequest => self.t_dram,
            Dram::PerPage => Nanos(self.t_dram.0 * pages.max(1)),
        };
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

    /// Is any request not complete?
    pub fn any(&self) -> bool {
        self.rows.rows().next().is_some()
    }

    /// Does a request wait for a frame that is not the current one?
    pub fn any_left_open(&self) -> bool {
        self.left_open > 0
    }

    /// One of those that a request waits for ends at `end`.
    pub fn ended(&mut self, row: u32, end: Nanos) {
        let request = &mut self.rows[row];
        request.done = request.done.max(end);
        request.waiting -= 1;
        if request.waiting == 0 {
            self.complete(row);
        }
    }

    fn complete(&mut self, row: u32) {
        let r = self.rows.remove(row);
        if let Some(list) = &mut self.completions {
            list.push(Completion {
                index: r.index,
                op: r.op,
                arrival: r.arrival,
                came: r.arrival,
                complete: r.done,
                pages: r.pages,
                hits: r.hits,
                measured: !r.warm_up,
                timed: r.measured,
            });
        }
        if !r.measured {
            return;
        }
        let class = match r.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim | Op::Flush => 2,
        };
        self.latency[class].add(r.done - r.arrival);
        self.arrivals.complete(r.arrival, r.done);
    }
}
