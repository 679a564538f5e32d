//! Devices that are fed by hand: runs of a trace request by request, and laws that hold of what is told.

use crate::timed::runs::logged;
use destage_sim::live::{DurablePart, LiveDevice, LiveEvent, SubmitError, Ticket};
use destage_sim::record::{ResultRecord, TraceInfo};
use destage_sim::spec::RunSpec;
use destage_trace::Trace;
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Lpn, Nanos, Op, RequestFlags};
use std::collections::{BTreeMap, BTreeSet};

/// A request of one extent without old addresses.
fn plain(request: &HostRequest) -> HostRequest {
    let (op, start) = (request.op, request.start_sector);
    let mut plain = HostRequest::new(request.arrival, op, start, request.sectors);
    (plain.stream, plain.flags) = (request.stream, request.flags);
    plain
}

/// The device of a run, whose host may flush it before writes.
///
/// # Panics
/// The run cannot be live.
pub fn device(spec: &RunSpec) -> LiveDevice {
    let device = LiveDevice::new(spec, "").unwrap_or_else(|error| panic!("{error}"));
    device.with_preflush()
}

/// Submits a request of a trace at its arrival; `None` if the device is full.
///
/// # Panics
/// It is refused for another reason.
pub fn submit(device: &mut LiveDevice, request: &HostRequest) -> Option<Ticket> {
    match device.submit(request.arrival, plain(request)) {
        Ok(ticket) => Some(ticket),
        Err(SubmitError::Full(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

/// Everything that happens to a device, which is advanced by `step` between requests: what happens to versions,
/// then what has a time.
///
/// # Panics
/// Events are in no order.
pub fn by_hand(
    spec: &RunSpec,
    trace: &Trace,
    mut step: impl FnMut(&mut LiveDevice, Nanos, &mut Vec<LiveEvent>),
) -> Option<(ResultRecord, Vec<LiveEvent>)> {
    let mut device = device(spec);
    let mut out = Vec::new();
    for request in trace.requests.records() {
        step(&mut device, request.arrival, &mut out);
        submit(&mut device, request)?;
    }
    let record = device.finish(&mut out);
    let times: Vec<Nanos> = out.iter().filter_map(LiveEvent::at).collect();
    assert!(times.is_sorted(), "time does not go back");
    check_versions(&out);
    // Events of versions are told at once, between others whose order depends on when somebody
    // asks.
    out.sort_by_key(|event| event.at().is_some());
    Some((record, out))
}

/// Only what was written is taken by a program, and only that is durable.
fn check_versions(events: &[LiveEvent]) {
    let (mut written, mut captured) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        match *event {
            LiveEvent::Written { lpn, ticket } => {
                written.insert((lpn, ticket));
            }
            LiveEvent::Captured { lpn, ticket } => {
                assert!(written.contains(&(lpn, ticket)), "{lpn}, {ticket:?}");
                captured.insert((lpn, ticket));
            }
            LiveEvent::Durable { lpn, ticket, .. } => {
                assert!(captured.contains(&(lpn, ticket)), "{lpn}, {ticket:?}");
            }
            LiveEvent::Completed { .. } | LiveEvent::Trimmed { .. } => {}
        }
    }
}

/// When each request is complete.
pub fn completions(events: &[LiveEvent]) -> BTreeMap<u64, u64> {
    let completed = events.iter().filter_map(|event| match event {
        LiveEvent::Completed { ticket, at } => Some((ticket.0, at.0)),
        _ => None,
    });
    completed.collect()
}

/// The record of a run as a device that is fed by hand has it, and the completion of each request.
///
/// # Panics
/// The log has no numbers.
pub fn replayed(spec: &RunSpec, trace: &Trace) -> Option<(ResultRecord, BTreeMap<u64, u64>)> {
    let (mut record, log) = logged(spec, trace).ok()?;
    record.trace = TraceInfo {
        name: "live".to_owned(),
        format: "live".to_owned(),
        time_unit: None,
        ..record.trace
    };
    // Nobody tells a device that is fed by hand when the last request comes.
    record.backlog = None;
    let row = |line: &str| {
        let mut fields = line.split(',').map(|field| field.parse().unwrap_or(0));
        (fields.next().unwrap_or(0), fields.nth(2).unwrap_or(0))
    };
    Some((record, log.lines().skip(1).map(row).collect()))
}

/// Holds that a device fed by hand does what a run does. False: both have run out of space.
///
/// # Panics
/// It does not.
pub fn check_against_run(spec: &RunSpec, trace: &Trace, what: &str) -> bool {
    let run = replayed(spec, trace);
    let fed = by_hand(spec, trace, |device, to, out| device.advance(to, out));
    let (Some((record, ends)), Some((fed, events))) = (&run, &fed) else {
        assert_eq!(run.is_none(), fed.is_none(), "{what}");
        return false;
    };
    assert_eq!(*ends, completions(events), "{what}");
    let texts = [record, fed].map(|r| serde_json::to_string(r).unwrap_or_else(|e| e.to_string()));
    assert_eq!(texts[0], texts[1], "{what}");
    true
}

/// Holds that it does not matter in how many steps time passes.
///
/// # Panics
/// It does.
pub fn check_steps(spec: &RunSpec, trace: &Trace, seed: u64, what: &str) {
    let at_once = by_hand(spec, trace, |_, _, _| {});
    let mut rng = SplitMix64::new(seed);
    let in_steps = by_hand(spec, trace, |device, to, out| {
        while device.now() < to {
            let left = to.0 - device.now().0;
            let most = 1 << rng.below(40);
            let step = 1 + rng.below(left.min(most));
            device.advance(device.now() + Nanos(step), out);
        }
    });
    assert!(at_once == in_steps, "{what}");
}

/// Holds that nothing happens before [`LiveDevice::next_event`], and something does at it.
///
/// # Panics
/// It is not so.
pub fn check_next_events(spec: &RunSpec, trace: &Trace, what: &str) {
    let at_once = by_hand(spec, trace, |_, _, _| {});
    let by_events = by_hand(spec, trace, |device, to, out| {
        while let Some(next) = device.next_event()
            && next <= to
        {
            let before = out.len();
            if next > device.now() {
                device.advance(Nanos(next.0 - 1), out);
                let early = out[before..].iter().find(|e| e.at().is_some());
                assert_eq!(early, None, "{what}: an event before {next:?}");
                assert_eq!(device.next_event(), Some(next), "{what}");
            }
            device.advance(next, out);
            let news = &out[before..];
            let at_once = |e: &LiveEvent| e.at().is_none_or(|at| at == next);
            assert!(news.iter().all(at_once), "{what}: {news:?}");
            let later = device.next_event().is_none_or(|after| after > next);
            assert!(later, "{what}: still something at {next:?}");
        }
    });
    assert!(at_once == by_events, "{what}");
}

/// Sectors that a request touches, modulo those of the device.
fn sectors(request: &HostRequest, space: u64) -> impl Iterator<Item = u64> {
    let first = request.start_sector;
    (first..first + u64::from(request.sectors)).map(move |sector| sector % space)
}

/// Data that must be on flash, page by page and sector by sector. Writes to a page are numbered as
/// they come to it.
struct Written<'a> {
    what: &'a str,
    space: u64,
    /// Sectors of a page.
    page: u64,
    requests: BTreeMap<u64, HostRequest>,
    /// Writes of each page as they came to it.
    writes: BTreeMap<u64, Vec<u64>>,
    /// Writes that must be durable before a FLUSH or FUA completes: how many of the writes of its
    /// page each sector must have seen.
    wanted: BTreeMap<u64, BTreeMap<u64, usize>>,
    /// The same before a write with a preflush comes to its first page.
    before: BTreeMap<u64, BTreeMap<u64, usize>>,
    /// The last of the writes of its page that each sector has on flash, or that a TRIM has overtaken.
    durable: BTreeMap<u64, usize>,
    completed: BTreeSet<u64>,
    promises: u64,
}

impl Written<'_> {
    fn submitted(&mut self, ticket: u64, request: &HostRequest) {
        self.requests.insert(ticket, *request);
        if request.op == Op::Flush {
            self.wanted.insert(ticket, self.all());
        }
        if request.flags.any(RequestFlags::PREFLUSH) {
            self.before.insert(ticket, self.all());
        }
    }

    /// All that was written so far.
    fn all(&self) -> BTreeMap<u64, usize> {
        let mut all = BTreeMap::new();
        for (&lpn, writes) in &self.writes {
            for (number, write) in (1..).zip(writes) {
                let own = self.own_sectors(lpn, *write);
                all.extend(own.into_iter().map(|sector| (sector, number)));
            }
        }
        all
    }

    /// Holds that these writes are durable.
    fn check(&mut self, wanted: Option<BTreeMap<u64, usize>>, ticket: Ticket) {
        for (sector, wanted) in wanted.into_iter().flatten() {
            let there = self.durable.get(&sector).copied().unwrap_or(0);
            assert!(
                there >= wanted,
                "{}: sector {sector} at {ticket:?}",
                self.what
            );
            self.promises += 1;
        }
    }

    fn happened(&mut self, event: LiveEvent) {
        let what = self.what;
        match event {
            LiveEvent::Written { lpn, ticket } => {
                let before = self.before.remove(&ticket.0);
                self.check(before, ticket);
                let writes = self.writes.entry(lpn.0).or_default();
                writes.push(ticket.0);
                let number = writes.len();
                if self.requests[&ticket.0].flags.any(RequestFlags::FUA) {
                    let own = self.own_sectors(lpn.0, ticket.0);
                    let wanted = self.wanted.entry(ticket.0).or_default();
                    wanted.extend(own.into_iter().map(|sector| (sector, number)));
                }
            }
            LiveEvent::Trimmed { ticket } => {
                for sector in sectors(&self.requests[&ticket.0], self.space) {
                    let all = self.writes.get(&(sector / self.page)).map_or(0, Vec::len);
                    self.durable.insert(sector, all);
                }
            }
            LiveEvent::Captured { lpn, ticket } => {
                let newest = self.writes[&lpn.0].last();
                assert_eq!(
                    newest,
                    Some(&ticket.0),
                    "{what}: what a program takes of {lpn}"
                );
            }
            LiveEvent::Durable {
                lpn, ticket, part, ..
            } => {
                let writes = &self.writes[&lpn.0];
                let number = writes.iter().rposition(|&write| write == ticket.0);
                let number = number.map_or(0, |at| at + 1);
                assert!(number > 0, "{what}: {lpn} was not written by {ticket:?}");
                let sectors = match part {
                    DurablePart::Page => (lpn.0 * self.page..(lpn.0 + 1) * self.page).collect(),
                    DurablePart::OwnSectors => self.own_sectors(lpn.0, ticket.0),
                };
                for sector in sectors {
                    let durable = self.durable.entry(sector).or_default();
                    *durable = number.max(*durable);
                }
            }
            LiveEvent::Completed { ticket, .. } => {
                self.check_written(ticket.0);
                assert!(self.completed.insert(ticket.0), "{what}: {ticket:?}");
                let wanted = self.wanted.remove(&ticket.0);
                self.check(wanted, ticket);
            }
        }
    }

    /// Has this write come to this page?
    fn has_come(&self, lpn: Lpn, ticket: Ticket) -> bool {
        let writes = self.writes.get(&lpn.0);
        writes.is_some_and(|writes| writes.contains(&ticket.0))
    }

    /// A write has come to all its pages when it completes.
    fn check_written(&self, ticket: u64) {
        let request = &self.requests[&ticket];
        if request.op == Op::Write {
            let pages = sectors(request, self.space).map(|sector| Lpn(sector / self.page));
            let missing = |lpn: &Lpn| !self.has_come(*lpn, Ticket(ticket));
            let missing: BTreeSet<Lpn> = pages.filter(missing).collect();
            assert!(missing.is_empty(), "{}: {ticket} at {missing:?}", self.what);
        }
    }

    fn own_sectors(&self, lpn: u64, ticket: u64) -> Vec<u64> {
        let page = lpn * self.page..(lpn + 1) * self.page;
        let all = sectors(&self.requests[&ticket], self.space);
        all.filter(|sector| page.contains(sector)).collect()
    }
}

/// Lets time pass up to `to`, from event to event: what became durable, what versions went through, what completed.
fn pass(device: &mut LiveDevice, to: Nanos, written: &mut Written<'_>) {
    let mut out = Vec::new();
    loop {
        let next = device.next_event().filter(|next| *next <= to);
        device.advance(next.unwrap_or(to), &mut out);
        // What was under way is durable before a write comes, and one that takes no time after it came.
        out.sort_by_key(|event| match event {
            LiveEvent::Durable { lpn, ticket, .. } if written.has_come(*lpn, *ticket) => 0,
            LiveEvent::Durable { .. } => 2,
            LiveEvent::Completed { .. } => 3,
            _ => 1,
        });
        out.drain(..).for_each(|event| written.happened(event));
        if next.is_none() {
            return;
        }
    }
}

/// Holds that a completed FLUSH has all on flash that had come to the cache when it was sent, and a FUA write its own data;
/// that a write with a preflush comes to no page before all that had come when it was sent is on flash; and that all
/// requests complete, unless the device is full. Gives how many sectors that held for.
///
/// # Panics
/// Something is not on flash.
pub fn check_promises(spec: &RunSpec, trace: &Trace, what: &str) -> u64 {
    let mut device = device(spec);
    let mut written = Written {
        what,
        space: device.capacity_sectors(),
        page: u64::from(spec.page.sectors()),
        requests: BTreeMap::new(),
        writes: BTreeMap::new(),
        wanted: BTreeMap::new(),
        before: BTreeMap::new(),
        durable: BTreeMap::new(),
        completed: BTreeSet::new(),
        promises: 0,
    };
    for request in trace.requests.records() {
        pass(&mut device, request.arrival, &mut written);
        // Before anything is told of it.
        written.submitted(device.requests(), request);
        if submit(&mut device, request).is_none() {
            break;
        }
        pass(&mut device, request.arrival, &mut written);
    }
    let requests = device.requests();
    // The end of a device tells versions before what has a time: no promise may be left for it.
    while (written.completed.len() as u64) < requests
        && let Some(next) = device.next_event()
    {
        pass(&mut device, next, &mut written);
    }
    let is_full = device.fault().is_some();
    let mut out = Vec::new();
    device.finish(&mut out);
    out.drain(..).for_each(|event| written.happened(event));
    assert!(
        is_full || written.completed.iter().copied().eq(0..requests),
        "{what}: {} of {requests} complete",
        written.completed.len()
    );
    written.promises
}
