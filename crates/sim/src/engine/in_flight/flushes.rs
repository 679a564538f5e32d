//! What FLUSH, and writes with FUA, wait for: programs in flight, of all pages or of their own.

use super::{DeviceCore, InFlight, InFlightOp};
use destage_types::{Lpn, Nanos};
use std::collections::BTreeMap;

/// A FLUSH that waits for programs that were in flight when it arrived, or a FUA for those of its pages.
#[derive(Clone, Debug)]
pub(super) struct ProgramWait {
    request: u32,
    /// Pages of a FUA, ascending.
    of: Option<Vec<Lpn>>,
    /// Programs that entered before this one count.
    serial: u64,
    programs: u32,
}

impl ProgramWait {
    fn waits_for(&self, op: &InFlightOp) -> bool {
        let of = self.of.as_ref();
        op.serial < self.serial && of.is_none_or(|of| of.binary_search(&op.lpn).is_ok())
    }
}

impl InFlight {
    /// A FLUSH completes with all programs of host data in flight.
    pub fn wait_for_programs(&mut self, core: &mut DeviceCore, request: u32) {
        let (serial, programs) = (self.serial, self.untimed);
        core.requests.extend(request, self.latest_end);
        core.requests.wait(request, programs);
        if programs > 0 {
            self.flushes.push(ProgramWait {
                request,
                of: None,
                serial,
                programs,
            });
        }
    }

    /// A request completes with all programs of `pages`, ascending, that are in flight.
    pub fn wait_for_pages(&mut self, core: &mut DeviceCore, request: u32, pages: &[Lpn]) {
        let known = self.ends.as_ref().map(|ends| ends.latest(pages));
        let known = known.expect("writes with FUA are expected");
        let mut flush = ProgramWait {
            request,
            of: Some(pages.to_vec()),
            serial: self.serial,
            programs: 0,
        };
        let under_way = self.ops.rows().filter(|(_, op)| op.is_under_way());
        flush.programs = under_way.filter(|(_, op)| flush.waits_for(op)).count() as u32;
        core.requests.extend(flush.request, known);
        core.requests.wait(flush.request, flush.programs);
        if flush.programs > 0 {
            self.flushes.push(flush);
        }
    }

    /// A program of host data that FLUSH requests may wait for is timed.
    pub(super) fn tell_flushes(&mut self, core: &mut DeviceCore, op: &InFlightOp, end: Nanos) {
        let mut i = 0;
        while i < self.flushes.len() {
            let flush = &mut self.flushes[i];
            if !flush.waits_for(op) {
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
            core.requests.ended(row, end);
        }
    }
}

/// Pages that are kept before those are looked for whose programs are over.
const LEAST: usize = 1024;

/// Latest known ends of the programs of each page. Those that are over are forgotten now and then.
#[derive(Debug, Default)]
pub(in crate::engine) struct PageEnds {
    ends: BTreeMap<Lpn, Nanos>,
    now: Nanos,
    forget_at: usize,
}

impl PageEnds {
    /// Time has come to `now`.
    pub fn advance(&mut self, now: Nanos) {
        self.now = now;
    }

    /// A program of `lpn` ends at `end`.
    pub fn note(&mut self, lpn: Lpn, end: Nanos) {
        let latest = self.ends.entry(lpn).or_default();
        *latest = end.max(*latest);
        if self.ends.len() > self.forget_at {
            let now = self.now;
            self.ends.retain(|_, end| *end > now);
            self.forget_at = LEAST.max(2 * self.ends.len());
        }
    }

    /// When the last of the programs of `pages` ends.
    pub fn latest(&self, pages: &[Lpn]) -> Nanos {
        let ends = pages.iter().filter_map(|lpn| self.ends.get(lpn));
        ends.copied().max().unwrap_or_default()
    }
}
