//! What the array tells: times of operations, and ends of background work.

use super::*;
use destage_device::nand::Sink;
use destage_types::PlaneId;

impl Book {
    /// Must anything be done for programs beside keeping their times?
    #[inline]
    fn watches_programs(&self) -> bool {
        self.newest.is_some() | self.programs.is_some() | !self.flushes.is_empty()
    }

    #[inline(never)]
    fn watched_program(&mut self, op: &OpRecord, token: u32, times: OpTimes) {
        self.log_program(op, times);
        if let Some(newest) = &mut self.newest {
            newest.started(op.lpn, token);
        }
        self.tell_flushes(op, times.end);
    }

    /// A program of host data that FLUSH requests may wait for is timed.
    fn tell_flushes(&mut self, op: &OpRecord, end: Nanos) {
        let mut i = 0;
        while i < self.flushes.len() {
            let flush = &mut self.flushes[i];
            if op.serial >= flush.serial {
                i += 1;
                continue;
            }
            flush.programs -= 1;
            let (row, left) = (flush.request, flush.programs);
            if left == 0 {
                self.flushes.remove(i);
            } else {
                i += 1;
            }
            self.count_end(row, end);
        }
    }

    fn background_started(&mut self, token: u32, times: &OpTimes) {
        self.ops[token].started = Some(times.end);
        self.started.push((self.ops[token].lpn, times.start));
        self.latest_end = self.latest_end.max(times.end);
        // The mapping changes when a background program starts.
        let OpRecord { lpn, plane, .. } = self.ops[token];
        let plane = (plane != NONE).then_some(PlaneId(plane));
        if let Some(newest) = &mut self.newest {
            newest.clear(lpn);
        }
        match self.map.host_write(lpn, plane, &mut self.gc_work) {
            Ok(placed) => self.summaries.extend(placed.summary),
            Err(full) => {
                self.full.get_or_insert(full);
            }
        }
    }

    /// A program of the current request of which was known when it will run as it was queued, at
    /// `now`: what [`Book::enter`] and [`Book::page_timed`] do together, with nothing kept in
    /// between. A FLUSH before it does not wait for it, and the request does not end before it is
    /// known in full.
    #[inline]
    pub fn program_at_once(&mut self, role: Role, lpn: Lpn, now: Nanos, times: OpTimes) {
        self.serial += 1;
        let counted = self.counted(role);
        if let Some(newest) = &mut self.newest {
            newest.clear(lpn);
        }
        self.latest_end = self.latest_end.max(times.end);
        let request = &mut self.requests[self.current];
        request.done = request.done.max(counted.end(times));
        let counts = role == Role::Caused && request.measured;
        self.evict_wait.add_if(counts, times.start - now);
        self.evict_turnaround.add_if(counts, times.end - now);
        if let Some(list) = &mut self.programs {
            list.push(ProgramTimes {
                request: request.index,
                lpn,
                background: false,
                enqueued: now,
                times,
            });
        }
    }

    /// The times of one page of an operation are known; gives the next page of it.
    #[inline]
    fn page_timed(&mut self, token: u32, times: OpTimes) -> u32 {
        let op = self.ops[token];
        match op.role {
            Role::Background => {
                self.log_program(&op, times);
                self.background_started(token, &times);
                return NONE;
            }
            Role::BackgroundRead | Role::Erase => return NONE,
            Role::BackgroundCacheRead => {
                self.log_access(&op, times);
                return NONE;
            }
            _ => {}
        }
        self.ops.remove(token);
        // Whether the next one is a read or a program is random: what most of them have in common
        // is done without asking.
        let program = op.is_program();
        let flushed = op.is_flushed();
        self.untimed -= u32::from(flushed);
        let end = if flushed { times.end } else { Nanos::ZERO };
        self.latest_end = self.latest_end.max(end);
        if program && self.watches_programs() {
            self.watched_program(&op, token, times);
        } else if !program && op.role != Role::Read {
            self.other_timed(&op, token, times);
        }
        let counts = op.role == Role::Caused && op.measured;
        self.evict_wait.add_if(counts, times.start - op.enqueued);
        self.evict_turnaround
            .add_if(counts, times.end - op.enqueued);
        if op.counted != Counted::AtOnce {
            self.count_end(op.request, op.counted.end(times));
        }
        op.next
    }

    /// Accesses of a cache in flash, and reads before programs.
    #[inline(never)]
    fn other_timed(&mut self, op: &OpRecord, token: u32, times: OpTimes) {
        match op.role {
            Role::CacheRead | Role::CacheBefore => self.log_access(op, times),
            Role::CacheWrite | Role::CacheFill => {
                self.log_access(op, times);
                if let Some(newest) = &mut self.newest_cached {
                    newest.started(op.lpn, token);
                }
                if op.is_flushed() {
                    self.tell_flushes(op, times.end);
                }
            }
            _ => {}
        }
    }

    fn log_access(&mut self, op: &OpRecord, times: OpTimes) {
        if let Some(list) = &mut self.cache_accesses {
            let background = op.role == Role::BackgroundCacheRead;
            list.push(CacheAccess {
                request: (!background).then_some(op.index),
                lpn: op.lpn,
                program: matches!(op.role, Role::CacheWrite | Role::CacheFill),
                enqueued: op.enqueued,
                times,
            });
        }
    }

    fn log_program(&mut self, op: &OpRecord, times: OpTimes) {
        if let Some(list) = &mut self.programs {
            let (request, lpn, enqueued) = (op.index, op.lpn, op.enqueued);
            let background = op.role == Role::Background;
            list.push(ProgramTimes {
                request,
                lpn,
                background,
                enqueued,
                times,
            });
        }
    }
}

impl Sink for Book {
    #[inline]
    fn timed(&mut self, token: u32, times: OpTimes) {
        let mut page = token;
        while page != NONE {
            page = self.page_timed(page, times);
        }
    }

    fn ended(&mut self, token: u32, _at: Nanos) {
        // Tokens of reads are free at once, those of programs when the walk has seen them.
        match self.ops[token].role {
            Role::BackgroundRead | Role::BackgroundCacheRead => {
                self.ops.remove(token);
            }
            Role::Erase => self.erased.push(token),
            _ => self.ended.push(token),
        }
    }
}
