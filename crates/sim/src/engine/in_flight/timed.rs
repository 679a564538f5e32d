//! Work that follows when the array tells the start or the end of an operation.

use super::*;

/// A background write-back that starts.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct StartedWriteBack {
    pub token: u32,
    pub lpn: Lpn,
    /// The plane it was queued for, if that is not the one of its address.
    pub plane: Option<PlaneId>,
}

impl InFlight {
    /// Must anything be done for programs beside keeping their times?
    #[inline]
    fn watches_programs(&self, core: &DeviceCore) -> bool {
        self.pending_writes.is_some()
            | self.kept.is_some()
            | core.versions.on
            | !core.waits.is_empty()
    }

    #[inline(never)]
    fn watched_program(
        &mut self,
        core: &mut DeviceCore,
        op: &InFlightOp,
        token: u32,
        times: OpTimes,
    ) {
        self.keep(op, false, times);
        core.versions.timed(token, op.lpn, times.end);
        if let Some(pending) = &mut self.pending_writes {
            pending.started(op.lpn, token);
        }
        core.waits
            .tell(&mut core.requests, op.number, token, times.end);
    }

    /// A background write-back starts.
    fn write_back_started(
        &mut self,
        core: &mut DeviceCore,
        token: u32,
        start: Nanos,
    ) -> StartedWriteBack {
        let op = &self.ops[token];
        let (lpn, plane) = (op.lpn, op.plane);
        self.started.push((lpn, start));
        core.versions.queued(token, lpn, None);
        if let Some(pending) = &mut self.pending_writes {
            if self.reads_pass_started {
                pending.set(lpn, token)
            } else {
                pending.clear(lpn)
            }
        }
        StartedWriteBack {
            token,
            lpn,
            plane: (plane != NO_TOKEN).then_some(PlaneId(plane)),
        }
    }

    /// An operation, and so all its pages, starts, and its end is not known. Gives what starts to be
    /// written back if it is a background write-back.
    pub fn started(
        &mut self,
        core: &mut DeviceCore,
        token: u32,
        start: Nanos,
        last_transfer: Nanos,
    ) -> Option<StartedWriteBack> {
        if self.ops[token].role == OpRole::Background {
            let op = &mut self.ops[token];
            op.started = Some(Nanos::NEVER);
            // A later FLUSH waits for this program from now on.
            op.number = core.waits.begin();
            return Some(self.write_back_started(core, token, start));
        }
        let mut page = token;
        while page != NO_TOKEN {
            let op = &mut self.ops[page];
            let (next, request) = (op.next, op.request);
            if op.counted == Counted::Transfer {
                op.counted = Counted::AtOnce;
                core.requests.ended(request, last_transfer);
            }
            page = next;
        }
        None
    }

    /// The end of a write-back that counts as started is known.
    fn write_back_timed(&mut self, core: &mut DeviceCore, token: u32, op: &InFlightOp, end: Nanos) {
        core.waits.end(1);
        self.ops[token].started = Some(end);
        core.waits.note_end(op.lpn, end);
        core.versions.timed(token, op.lpn, end);
        if let Some(pending) = &mut self.pending_writes {
            pending.started(op.lpn, token);
        }
        core.waits.tell(&mut core.requests, op.number, token, end);
    }

    /// A program of the current request of which was known when it will run as it was queued, at
    /// `now`: what [`InFlight::add_op`] and [`InFlight::timed`] do together, with nothing kept in
    /// between. A FLUSH before it does not wait for it, and the request does not end before it is
    /// known in full.
    #[inline]
    pub fn program_at_once(
        &mut self,
        core: &mut DeviceCore,
        role: OpRole,
        lpn: Lpn,
        times: OpTimes,
    ) {
        let (now, counted) = (core.now, counted(core, role));
        if let Some(pending) = &mut self.pending_writes {
            pending.clear(lpn);
        }
        core.waits.note_end(lpn, times.end);
        let request = core.requests.present();
        let request = core.requests.extend(request, counted.end(times));
        let counts = role == OpRole::Caused && request.timed;
        core.evict_times[0].add_if(counts, times.start - now);
        core.evict_times[1].add_if(counts, times.end - now);
        core.versions
            .queued_until(lpn, role.own(request.index), times.end);
        if let Some(kept) = &mut self.kept {
            kept.push(OperationTimes {
                request: Some(request.index),
                lpn,
                program: true,
                in_region: false,
                enqueued: now,
                times,
            });
        }
    }

    /// The times of an operation, and so of all its pages, are known. Gives what starts to be written
    /// back if it is a background write-back.
    #[inline]
    pub fn timed(
        &mut self,
        core: &mut DeviceCore,
        token: u32,
        times: OpTimes,
    ) -> Option<StartedWriteBack> {
        let mut page = token;
        while page != NO_TOKEN {
            let op = self.ops[page];
            if op.role.is_background() && op.role != OpRole::Summary {
                return self.background_timed(core, page, &op, times);
            }
            self.page_timed(core, page, &op, times);
            page = op.next;
        }
        None
    }

    #[inline(never)]
    fn background_timed(
        &mut self,
        core: &mut DeviceCore,
        token: u32,
        op: &InFlightOp,
        times: OpTimes,
    ) -> Option<StartedWriteBack> {
        match op.role {
            OpRole::Background => {
                self.keep(op, false, times);
                if op.started.is_some() {
                    self.write_back_timed(core, token, op, times.end);
                    return None;
                }
                self.ops[token].started = Some(times.end);
                core.waits.note_end(op.lpn, times.end);
                let started = self.write_back_started(core, token, times.start);
                core.versions.timed(token, op.lpn, times.end);
                return Some(started);
            }
            OpRole::BackgroundCacheRead => self.keep(op, true, times),
            OpRole::HandOver => {
                self.keep(op, false, times);
                self.write_back_timed(core, token, op, times.end);
            }
            OpRole::HandOverRead => _ = self.ops.remove(token),
            OpRole::HandOverCacheRead => {
                self.keep(op, true, times);
                self.ops.remove(token);
            }
            _ => {}
        }
        None
    }

    /// The times of one page of an operation of a request are known.
    #[inline]
    fn page_timed(&mut self, core: &mut DeviceCore, token: u32, op: &InFlightOp, times: OpTimes) {
        // Else its token is free when its end has been told.
        if op.tells_end {
            self.ops[token].started = Some(times.end);
        } else {
            self.ops.remove(token);
        }
        // Whether the next one is a read or a program is random: what most of them have in common
        // is done without asking.
        let program = op.is_program();
        core.waits.end_if(op.is_flushed(), op.lpn, times.end);
        if program && self.watches_programs(core) {
            self.watched_program(core, op, token, times);
        } else if !program && op.role != OpRole::Read {
            self.other_timed(core, op, token, times);
        }
        let counts = op.role == OpRole::Caused && op.measured;
        core.evict_times[0].add_if(counts, times.start - op.enqueued);
        core.evict_times[1].add_if(counts, times.end - op.enqueued);
        if op.counted != Counted::AtOnce {
            core.requests.ended(op.request, op.counted.end(times));
        }
    }

    /// Accesses of a cache in flash, and reads before programs.
    #[inline(never)]
    fn other_timed(&mut self, core: &mut DeviceCore, op: &InFlightOp, token: u32, times: OpTimes) {
        match op.role {
            OpRole::CacheRead | OpRole::CacheBefore => self.keep(op, true, times),
            OpRole::CacheWrite | OpRole::CacheFill => {
                self.keep(op, true, times);
                if let Some(pending) = &mut self.pending_cache_writes {
                    pending.started(op.lpn, token);
                }
                if op.is_flushed() {
                    core.waits
                        .tell(&mut core.requests, op.number, token, times.end);
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, op: &InFlightOp, in_region: bool, times: OpTimes) {
        let program = !in_region || matches!(op.role, OpRole::CacheWrite | OpRole::CacheFill);
        if let Some(kept) = &mut self.kept {
            kept.push(OperationTimes {
                request: op.request_index(),
                lpn: op.lpn,
                program,
                in_region,
                enqueued: op.enqueued,
                times,
            });
        }
    }

    /// An operation whose end is told has ended. Tokens of write-backs are free when the cache has
    /// seen them, others at once.
    pub fn ended(&mut self, token: u32) {
        let role = self.ops[token].role;
        match role {
            OpRole::Erase => return self.erased.push(token),
            OpRole::Background | OpRole::HandOver => self.ended.push(token),
            _ => _ = self.ops.remove(token),
        }
        self.program_ended |= !matches!(role, OpRole::BackgroundRead | OpRole::BackgroundCacheRead);
    }
}
