//! All figures of a record are of one instant, that of the last arrival: what is counted is done to its end,
//! and nothing begins after it. So every page that the host made dirty is written, left, or discarded.

use crate::gc_runs::{MODES, small};
use destage_conformance::drive::Config;
use destage_conformance::reference::{Profile, SlowRequest};
use destage_conformance::suites::{self, is_full, on_all_processors, selected};
use destage_conformance::timed::runs::{device_of, requests, run, spec};
use destage_conformance::timed::{timed_swarm, trace_of};
use destage_scheme::Expr;
use destage_scheme::info::Role;
use destage_sim::live::{LiveDevice, LiveEvent, SubmitError, Ticket};
use destage_sim::record::ResultRecord;
use destage_sim::spec::RunSpec;
use destage_types::{ByteSize, HostRequest, Lpn, Nanos, Op};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One die whose programs take 200 us, erases 1 ms, and everything else no time.
const ONE_DIE: &str = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 t_read=0 \
                       t_program=200us t_erase=1ms t_cmd=0 t_byte=0 t_ready=0 t_dram=0 \
                       precondition.trace=false";

fn over(device: &str, cache: u64, expr: &str) -> RunSpec {
    RunSpec {
        cache: ByteSize(cache),
        ..spec(expr, Some(Arc::new(device_of(device))))
    }
}

/// Writes of 64, 64 and 4 pages within 200 ns: one program has started at the last arrival.
#[test]
fn what_cleaning_does_after_the_last_arrival_is_in_no_figure() {
    let writes = requests(&[
        (Op::Write, 0, 63, 0),
        (Op::Write, 64, 127, 100),
        (Op::Write, 128, 131, 200),
    ]);
    for expr in ["awb(prober(lru,ssp=128k))", "awb(lru)"] {
        let spec = RunSpec {
            flush_at_end: true,
            ..over(ONE_DIE, 4 << 20, expr)
        };
        let record = run(&spec, &trace_of(&writes));
        let counts = &record.counts;
        let written = (counts.flash_writes_host, counts.background_writes);
        assert_eq!(written, (1, Some(1)), "{expr}");
        assert_eq!(record.dirty_pages_left, 131, "{expr}");
        let busy = record.utilisation.expect("a device is busy");
        assert_eq!(
            (busy.elapsed_ns, busy.die_max),
            (200_000, Some(1.0)),
            "{expr}"
        );
        let flush = record.final_flush.expect("it was asked for");
        assert_eq!(flush.flash_writes_host, 131, "{expr}");
        assert_eq!(flush.duration_ns, Some(131 * 200_000), "{expr}");
    }
}

/// A page is written while its write-back is in flight, and so has to be written again.
#[test]
fn a_page_that_is_written_again_in_flight_is_left() {
    for (again, left) in [(None, 0), (Some(100), 1), (Some(200_000), 0)] {
        let mut stream = vec![(Op::Write, 5, 5, 0)];
        stream.extend(again.map(|at| (Op::Write, 5, 5, at)));
        let record = run(
            &over(ONE_DIE, 1 << 20, "awb(lru)"),
            &trace_of(&requests(&stream)),
        );
        assert_eq!(record.dirty_pages_left, left, "{again:?}");
        // At 200 us the first write-back has ended, and the second starts at once.
        let starts = if again == Some(200_000) { 2 } else { 1 };
        assert_eq!(record.counts.flash_writes_host, starts, "{again:?}");
    }
}

/// Two pages, each with one sector in the cache, are written back: the die reads the old version of the
/// first, and that of the second waits.
#[test]
fn a_read_before_a_write_back_counts_when_it_starts() {
    let device = format!("{ONE_DIE} t_read=50us precondition.fill=1 e_read=1nJ");
    let part = |page: u64, at| SlowRequest::new(Op::Write, page * 8, 1).at(at);
    for (last, reads) in [(200, 1), (60_000, 1), (400_000, 2)] {
        let stream = [part(0, 0), part(1, 100), part(2, last)];
        let record = run(
            &over(&device, 1 << 20, "awb(lru,partial=write)"),
            &trace_of(&stream),
        );
        let counts = &record.counts;
        let seen = (counts.flash_reads_host, counts.flash_reads_rmw);
        assert_eq!(seen, (reads, reads), "last arrival at {last}");
        let energy = record.energy_nj.expect("the device gives energies");
        assert_eq!(energy.read, reads as f64, "last arrival at {last}");
    }
}

/// A device at its threshold collects block after block while nothing arrives; the collections that begin
/// after the last arrival are in no figure.
#[test]
fn collections_in_the_background_stop_with_the_trace() {
    let device = format!(
        "{ONE_DIE} blocks_per_plane=16 pages_per_block=4 op=0.5 gc_mode=background \
         gc_stop=watermark gc_stop_blocks=4 gc_threshold=0.25 gc_threshold_base=total"
    );
    // 32 logical pages, then 16 of them again: 16 of 64 pages are free.
    let page = |i: u64| (Op::Write, i % 32, i % 32, i * 1_000_000);
    let stream: Vec<_> = (0..48).map(page).collect();
    let record = run(&over(&device, 0, "none"), &trace_of(&requests(&stream)));
    assert_eq!(record.counts.erases, Some(1));
    let busy = record.utilisation.expect("a device is busy");
    // The last write, and the erase behind it.
    assert_eq!(busy.elapsed_ns, 47 * 1_000_000 + 200_000 + 1_000_000);
}

/// Versions of pages that no program has taken, and what became of the others.
#[derive(Default)]
struct Ledger {
    owed: BTreeMap<Lpn, Ticket>,
    /// Versions that the last request has replaced.
    replaced: BTreeMap<Lpn, Ticket>,
    dirtied: u64,
    written: u64,
    discarded: u64,
}

impl Ledger {
    fn submitted(&mut self, request: &HostRequest, ticket: Ticket) {
        self.replaced.clear();
        let (first, end) = (request.start_sector / 8, end(request).div_ceil(8));
        for lpn in (first..end).map(Lpn) {
            match request.op {
                Op::Write => match self.owed.insert(lpn, ticket) {
                    Some(before) => drop(self.replaced.insert(lpn, before)),
                    None => self.dirtied += 1,
                },
                Op::Trim => self.discarded += u64::from(self.owed.remove(&lpn).is_some()),
                Op::Read | Op::Flush => {}
            }
        }
    }

    fn told(&mut self, events: &mut Vec<LiveEvent>) {
        for event in events.drain(..) {
            let LiveEvent::Captured { lpn, ticket } = event else {
                continue;
            };
            if self.owed.get(&lpn) == Some(&ticket) {
                self.owed.remove(&lpn);
                self.written += 1;
            } else if self.replaced.get(&lpn) == Some(&ticket) {
                // It left for another page of the request, which wrote it only then.
                self.replaced.remove(&lpn);
                (self.dirtied, self.written) = (self.dirtied + 1, self.written + 1);
            }
        }
    }

    fn agrees(&self, record: &ResultRecord, what: &str) {
        let left = self.owed.len() as u64;
        assert_eq!(record.dirty_pages_left, left, "{what}");
        let found = self.written + left + self.discarded;
        assert_eq!(self.dirtied, found, "{what}");
        let c = &record.counts;
        let programs = c.flash_writes_host - c.flash_writes_padding;
        assert_eq!(self.written, programs, "{what}");
    }
}

/// The sector behind the last one.
fn end(request: &HostRequest) -> u64 {
    request.start_sector + u64::from(request.sectors)
}

/// Reads of any sectors, TRIMs of whole pages and now and then a FLUSH; writes of any sectors or of whole
/// pages: what goes past the cache in part leaves the rest of its page there.
fn stream(seed: u64, whole: bool) -> Vec<HostRequest> {
    let profile = Profile::new(700, 8).pages(390);
    let all = timed_swarm(seed, profile, 9_000).into_iter().enumerate();
    let request = |(i, request): (usize, SlowRequest)| {
        let (start, count) = request.extents.first().copied().unwrap_or((0, 0));
        let at = Nanos(request.arrival);
        match request.op {
            Op::Flush => HostRequest::new(at, Op::Flush, 0, 0),
            _ if i % 97 == 96 => HostRequest::new(at, Op::Flush, 0, 0),
            Op::Read => HostRequest::new(at, Op::Read, start, count),
            Op::Write if !whole => HostRequest::new(at, Op::Write, start, count),
            op => HostRequest::new(at, op, start / 8 * 8, count.div_ceil(8) * 8),
        }
    };
    all.map(request).collect()
}

/// Every composition on a device of another kind; those that know what comes cannot be fed by hand.
fn cases() -> Vec<(usize, Expr)> {
    let all = selected();
    let all = all.iter().map(suites::small).enumerate();
    let is_legal = |expr: &Expr| {
        let spec = spec(&expr.to_string(), Some(small(1, "")));
        spec.check().is_ok() && Config::new(24, 8).check(expr).is_ok()
    };
    let fits = |expr: &Expr| expr.scheme().role != Role::Offline && is_legal(expr);
    all.filter(|(_, expr)| fits(expr)).collect()
}

#[test]
fn dirty_pages_are_written_or_left_or_discarded() {
    let (cases, runs) = (cases(), if is_full() { 2 } else { 1 });
    on_all_processors(&cases, |(number, expr)| {
        for run in 0..runs {
            let mode = MODES[(number + run * 5) % MODES.len()];
            let what = format!("{expr}, {mode}, {number}");
            let spec = spec(&expr.to_string(), Some(small(1, mode)));
            let mut device = LiveDevice::new(&spec, "").expect("a device that can be live");
            let (mut ledger, mut events) = (Ledger::default(), Vec::new());
            let space = device.capacity_sectors();
            for request in stream((number * 2 + run) as u64, expr.has_role(Role::Admission)) {
                if end(&request) > space {
                    continue;
                }
                let at = request.arrival.max(device.now());
                device.advance(at, &mut events);
                ledger.told(&mut events);
                let ticket = match device.submit(at, request) {
                    Ok(ticket) => ticket,
                    Err(SubmitError::Full(_)) => return,
                    Err(error) => panic!("{what}: {error}"),
                };
                ledger.submitted(&request, ticket);
                device.advance(at, &mut events);
                ledger.told(&mut events);
                if ticket.0 % 100 == 99 {
                    ledger.agrees(&device.record(), &what);
                }
            }
            ledger.agrees(&device.record(), &what);
            ledger.agrees(&device.finish(&mut events), &what);
        }
    });
    assert!(cases.len() > 20 || selected().len() < 20, "{}", cases.len());
}
