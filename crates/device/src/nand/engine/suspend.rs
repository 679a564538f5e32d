//! Operations whose end is not known when they start: reads of the host may suspend them, or their
//! array time is told later. Each has events of its own at the start and the end of its array phase.

mod resumes;

use super::super::queue::Keeper;
use super::*;

/// Programs and erases that give way to reads of the host (Wu and He, FAST 2012).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspension {
    /// Programs and copybacks too, not erases alone.
    pub programs: bool,
    /// From the decision to suspend to the start of the read.
    pub pause: Nanos,
    /// Added to what is left of an operation each time it resumes.
    pub resume: Nanos,
}

impl Suspension {
    /// May an operation of this kind be suspended?
    pub const fn covers(&self, kind: OpKind) -> bool {
        match kind {
            OpKind::Read => false,
            OpKind::Erase => true,
            OpKind::Program | OpKind::Copyback => self.programs,
        }
    }
}

/// All that is kept of operations with an open end.
#[derive(Clone, Debug)]
pub(in crate::nand) struct OpenEnds {
    suspension: Option<Suspension>,
    late_times: bool,
    lanes: Vec<OpenEnd>,
    /// Lanes on which an operation may have to be suspended or resumed in this round.
    pub review: Vec<u32>,
    /// Suspensions by [`OpKind`].
    pub counts: [u64; 4],
}

/// The operation with an open end that a lane runs or has suspended.
#[derive(Clone, Copy, Debug)]
struct OpenEnd {
    start: u64,
    last_transfer: u64,
    awaits_time: bool,
    suspended: Option<SuspendedOp>,
}

/// State of a suspended operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::nand) struct SuspendedOp {
    /// Rest of its array time, what resuming adds included.
    pub left: u64,
    pub op: RunningOp,
}

impl OpenEnds {
    /// If ends may be open by the rules of `config`.
    pub fn wanted(config: &ArrayConfig, lanes: usize) -> Option<Box<OpenEnds>> {
        let wanted = config.suspension.is_some() || config.late_times;
        wanted.then(|| OpenEnds::new(config, lanes))
    }

    pub fn new(config: &ArrayConfig, lanes: usize) -> Box<OpenEnds> {
        let lane = OpenEnd {
            start: 0,
            last_transfer: 0,
            awaits_time: false,
            suspended: None,
        };
        Box::new(OpenEnds {
            suspension: config.suspension,
            late_times: config.late_times,
            lanes: vec![lane; lanes],
            review: Vec::new(),
            counts: [0; 4],
        })
    }

    fn is_late(&self, kind: OpKind, class: Class) -> bool {
        self.late_times && kind == OpKind::Program && class == Class::Background
    }

    fn may_suspend(&self, kind: OpKind) -> bool {
        self.suspension.is_some_and(|s| s.covers(kind))
    }

    /// Is the end of such an operation not known when it starts?
    pub fn is_open(&self, kind: OpKind, class: Class) -> bool {
        self.may_suspend(kind) || self.is_late(kind, class)
    }
}

impl Nand {
    /// Are there operations whose end is not known when they start?
    pub fn has_open_ends(&self) -> bool {
        self.open.is_some()
    }

    /// The operation that lane `l` has suspended.
    #[inline]
    pub(in crate::nand) fn suspended(&self, l: usize) -> Option<&SuspendedOp> {
        self.open.as_ref()?.lanes[l].suspended.as_ref()
    }

    /// Is the operation called `id` suspended?
    #[inline]
    pub(super) fn is_suspended(&self, id: OpId) -> bool {
        let suspended = self.suspended(id.lane as usize);
        suspended.is_some_and(|suspended| suspended.op.number == id.number())
    }

    /// The last phase of a read on lane `l` starts: what it has suspended waits for its end.
    #[inline(never)]
    pub(super) fn keep_in_view(&mut self, l: usize) {
        let Some(SuspendedOp { op, .. }) = self.suspended(l) else {
            return;
        };
        if op.kind == OpKind::Program && op.class == Class::Host {
            self.host_until[l] = NEVER;
        }
        self.arm_end(l);
    }

    /// [`Nand::settle`] where ends may be open.
    #[inline(never)]
    pub(super) fn settle_open(&mut self, now: u64) {
        while self.events.peek() == now {
            self.end_open_phases(now);
            self.review(now);
            self.grants(now);
        }
        if self.watch {
            self.report_idle(now);
        }
    }

    /// All changes of a round where ends may be open.
    pub(super) fn end_open_phases(&mut self, now: u64) {
        while let Some(resource) = self.events.pop_due(now) {
            if resource >= self.lanes.len() || !self.open_event(resource, now) {
                self.change(resource, now);
            }
        }
    }

    /// The event of lane `l` where ends may be open. False if an operation has ended or a read has its
    /// data, as without open ends.
    fn open_event(&mut self, l: usize, now: u64) -> bool {
        let lane = &self.lanes[l];
        let awaited = match lane.phase {
            Phase::Array | Phase::OpenArray | Phase::Moving | Phase::Suspending => true,
            Phase::Last => lane.armed,
            Phase::Free | Phase::WaitData | Phase::WaitTime => false,
        };
        if !awaited || lane.until != now {
            // Left over from before a suspension.
            return true;
        }
        match (lane.phase, lane.op.kind) {
            (Phase::Array, OpKind::Read) => false,
            (Phase::Array | Phase::Moving, _) => {
                if !self.asks_again(l, now) {
                    self.begin_array(l, now);
                }
                true
            }
            (Phase::Suspending, _) => {
                self.stop(l, now);
                self.look_at(l);
                true
            }
            (Phase::OpenArray, _) => {
                self.end_array(l, now);
                false
            }
            _ => {
                self.look_at(l);
                false
            }
        }
    }

    /// The operations that wait for the end of `parent`, which lane `l` runs or has suspended.
    pub(super) fn dependents_of(&mut self, parent: OpId) -> &mut u32 {
        let l = parent.lane as usize;
        if self.is_suspended(parent)
            && let Some(open) = &mut self.open
            && let Some(suspended) = &mut open.lanes[l].suspended
        {
            return &mut suspended.op.dependents;
        }
        &mut self.lanes[l].op.dependents
    }

    /// The operation on lane `l` starts, and its end is open.
    #[inline(never)]
    pub(super) fn start_open(&mut self, l: usize, bus_end: u64, array: u64) {
        let lane = &mut self.lanes[l];
        let now = lane.start;
        if lane.op.class == Class::Host && lane.op.kind == OpKind::Program {
            self.host_until[l] = NEVER;
        }
        let open = self.open.as_mut().expect("some operations have open ends");
        let awaits_time = open.is_late(lane.op.kind, lane.op.class);
        let row = &mut open.lanes[l];
        (row.start, row.last_transfer) = (now, bus_end);
        row.awaits_time = awaits_time;
        if self.asks_first(l, bus_end - now + array, now) {
            return;
        }
        let lane = &mut self.lanes[l];
        (lane.phase, lane.until, lane.last_bus) = (Phase::Array, bus_end, array);
        self.events.set(l, bus_end);
        self.tell_start(l, Nanos(bus_end));
    }

    /// The operation on lane `l` has its first grant, and its end is open.
    pub(super) fn tell_start(&mut self, l: usize, last_transfer: Nanos) {
        let lane = &self.lanes[l];
        let tells = self.drive.as_ref().is_none_or(|drive| drive.tells_progress);
        if tells && lane.op.token != NO_TOKEN {
            self.notices.push(Notice::Started {
                token: lane.op.token,
                start: Nanos(lane.start),
                last_transfer,
            });
        }
    }

    /// Tells the array time of the background program `id`, which has started at this instant: so far
    /// it counted with that of its command. Its array phase does not begin before.
    ///
    /// # Panics
    /// If it has not started, or has its time, or [`ArrayConfig::late_times`] is off.
    pub fn set_array_time(&mut self, id: OpId, time: Nanos) {
        let l = id.lane as usize;
        let lane = &mut self.lanes[l];
        let open = self.open.as_mut().expect("times are told later");
        let awaits = &mut open.lanes[l].awaits_time;
        assert!(
            *awaits && lane.op.number == id.number(),
            "a program that has started and has no time"
        );
        *awaits = false;
        lane.last_bus = time.0;
        if lane.phase == Phase::WaitTime {
            let now = self.clock;
            self.begin_array(l, now);
            self.settle_unheld(now);
        }
    }

    /// The bus phase of the operation on lane `l` has ended.
    fn begin_array(&mut self, l: usize, now: u64) {
        let open = self.open.as_mut().expect("its end is open");
        let lane = &mut self.lanes[l];
        if open.lanes[l].awaits_time {
            lane.phase = Phase::WaitTime;
            return;
        }
        lane.phase = Phase::OpenArray;
        lane.until = now + lane.last_bus;
        open.review.push(l as u32);
        self.events.set(l, lane.until);
        let tells = self
            .drive
            .as_ref()
            .is_some_and(|drive| drive.tells_progress);
        if tells && lane.op.kind == OpKind::Program {
            self.notices.push(Notice::Moved {
                token: lane.op.token,
            });
        }
    }

    /// The array phase of the operation on lane `l` has ended, and so has the operation.
    fn end_array(&mut self, l: usize, now: u64) {
        let OpenEnd {
            start,
            last_transfer,
            ..
        } = self.open.as_ref().expect("its end is open").lanes[l];
        // It ends here and now, and needs no event for that.
        self.count_to_end(l, last_transfer, now);
        self.note_change(self.lanes[l].channel as usize);
        let times = OpTimes {
            start: Nanos(start),
            last_transfer: Nanos(last_transfer),
            end: Nanos(now),
        };
        self.tell(self.lanes[l].op.token, times);
    }

    /// Marks lane `l` for review, as the operation that goes first in its queue may have changed.
    #[inline]
    pub(super) fn look_at(&mut self, l: usize) {
        if let Some(open) = &mut self.open {
            open.review.push(l as u32);
        }
    }

    /// Suspends and resumes what the queues of lanes ask for. Lanes do not depend on each other.
    #[inline]
    pub(super) fn review(&mut self, now: u64) {
        while let Some(l) = self.open.as_mut().and_then(|open| open.review.pop()) {
            self.review_lane(l as usize, now);
        }
    }

    fn review_lane(&mut self, l: usize, now: u64) {
        let Some(open) = &self.open else { return };
        let (row, lane) = (&open.lanes[l], &self.lanes[l]);
        let next = match &self.drive {
            None => lane.queue.candidate_beside_job(&self.pool),
            Some(drive) => drive.candidate(l, &lane.queue, &self.pool),
        };
        let keeper = || self.keeper(l);
        let read = lane.queue.next_host_read(&self.pool, next, keeper);
        let suspends = row.suspended.is_none()
            && lane.phase == Phase::OpenArray
            && lane.until > now
            && open.may_suspend(lane.op.kind);
        if suspends && read != NONE {
            self.suspend(l, now);
            if self.lanes[l].phase == Phase::Free {
                self.set_candidate(l, read);
            }
        } else if row.suspended.is_some() && lane.phase == Phase::Free {
            self.set_candidate(l, read);
            if read == NONE {
                self.resume_operation(l, now);
            }
        }
    }

    /// The operation that lane `l` runs or has suspended, and operations of its job that follow
    /// without a gap.
    fn keeper(&self, l: usize) -> Keeper {
        let lane = &self.lanes[l];
        let runs = || (!lane.is_free(self.clock)).then_some(lane.op.number);
        let follow = lane.queue.held(&self.pool).map(|first| {
            let mut last = first.number;
            let mut kept = true;
            let mut end = first.job_next;
            if first.run != NONE {
                end = self.job_queue.each_in_turn(first.run, |entry, count| {
                    kept &= entry.home == HELD;
                    last += if kept { count } else { 0 };
                });
            }
            let goes_on = kept && end != NONE && self.pool[end].home == HELD;
            (first.number, last + u64::from(goes_on))
        });
        Keeper {
            serves: self
                .suspended(l)
                .map(|suspended| suspended.op.number)
                .or_else(runs),
            follow,
        }
    }

    fn suspend(&mut self, l: usize, now: u64) {
        let Some(open) = &mut self.open else { return };
        let lane = &mut self.lanes[l];
        let row = &mut open.lanes[l];
        open.counts[lane.op.kind as usize] += 1;
        let (pause, resume) = open.suspension.map_or((0, 0), |s| (s.pause.0, s.resume.0));
        row.suspended = Some(SuspendedOp {
            left: lane.until - now + resume,
            op: lane.op,
        });
        lane.suspended = true;
        // Until the read starts it is nobody's.
        lane.op.dependents = NONE;
        if let Some(activities) = &mut self.activities {
            activities.suspend(l, now);
        }
        match pause {
            0 => self.stop(l, now),
            _ => {
                let lane = &mut self.lanes[l];
                (lane.phase, lane.until) = (Phase::Suspending, now + pause);
                self.events.set(l, now + pause);
            }
        }
    }

    /// Lane `l` is free for reads, as its operation is suspended.
    fn stop(&mut self, l: usize, now: u64) {
        let lane = &mut self.lanes[l];
        lane.busy += now - lane.start;
        (lane.phase, lane.until, lane.armed) = (Phase::Free, now, false);
    }

    fn resume_operation(&mut self, l: usize, now: u64) {
        let Some(open) = &mut self.open else { return };
        let Some(SuspendedOp { left, op }) = open.lanes[l].suspended.take() else {
            return;
        };
        let lane = &mut self.lanes[l];
        (lane.op, lane.suspended, lane.phase) = (op, false, Phase::OpenArray);
        (lane.start, lane.until, lane.last_bus) = (now, now + left, 0);
        self.events.set(l, now + left);
        if let Some(activities) = &mut self.activities {
            activities.resume(l, now);
        }
    }
}
