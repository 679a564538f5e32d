//! The off-line bound, run like any other scheme.

use destage_scheme::registry::SCHEMES;
use destage_scheme::rng::SplitMix64;
use destage_scheme::{Expr, ReadAlloc, Role};
use destage_sim::run::{Hooks, execute};
use destage_sim::spec::{RunSpec, Warmup};
use destage_trace::Trace;
use destage_types::{ByteSize, HostRequest, Nanos, Op, RequestBatch, RequestFlags};

fn trace(requests: impl Iterator<Item = (Op, u64, u32)>) -> Trace {
    let mut batch = RequestBatch::new();
    for (i, (op, start, sectors)) in requests.enumerate() {
        batch.push(HostRequest::new(Nanos(i as u64), op, start, sectors));
    }
    Trace::generated("test", batch)
}

/// Requests of 1 to 4 whole pages, reads and writes, half of them to an eighth of 512 pages.
fn mixed(count: u64) -> Trace {
    let mut x = 99u64;
    trace((0..count).map(move |_| {
        x = x
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let span = if x >> 63 == 0 { 512 } else { 64 };
        let op = if (x >> 60) & 1 == 0 {
            Op::Read
        } else {
            Op::Write
        };
        (op, (x >> 33) % span * 8, 8 + (x >> 20 & 3) as u32 * 8)
    }))
}

fn spec(scheme: &str) -> RunSpec {
    let mut spec = RunSpec::cache_only(Expr::parse(scheme).unwrap(), ByteSize(48 * 4096));
    spec.read_alloc = ReadAlloc::On;
    spec.warmup = Warmup::Passes(1);
    spec
}

fn hits(spec: &RunSpec, trace: &Trace) -> u64 {
    let record = execute(spec, trace, Hooks::default()).unwrap();
    record.counts.page_hits
}

#[test]
fn no_scheme_beats_it() {
    let trace = mixed(4000);
    let best = hits(&spec("belady"), &trace);
    for other in [
        "belady(bypass=false)",
        "belady(next-of=overwrite)",
        "lru",
        "fifo",
        "lfu",
        "cflru",
        "arc",
        "lirs",
        "lirs(variant=two-queue)",
    ] {
        assert!(hits(&spec(other), &trace) <= best, "{other}");
    }
}

#[test]
fn pointers_change_nothing() {
    let trace = mixed(2000);
    for scheme in ["belady", "lfu", "cflru(x=2)", "arc", "lirs(hir=5)"] {
        let fixed = spec(scheme);
        let mut boxed = fixed.clone();
        boxed.boxed = true;
        assert_eq!(hits(&fixed, &trace), hits(&boxed, &trace), "{scheme}");
    }
}

/// Runs a cache of one page. The page that is cached when the write of page 2 comes decides whether
/// page 2 enters.
fn final_hits(middle: (Op, u64, u32), end: &[(Op, u64, u32)]) -> u64 {
    let start = [(Op::Write, 8, 4), middle, (Op::Write, 16, 8)];
    let trace = trace(start.iter().chain(end).copied());
    let mut spec = spec("belady");
    spec.cache = ByteSize(4096);
    spec.read_alloc = ReadAlloc::Off;
    spec.warmup = Warmup::None;
    hits(&spec, &trace)
}

#[test]
fn a_partial_miss_counts_as_the_next_use() {
    let (read_1, read_2) = ((Op::Read, 8, 4), (Op::Read, 16, 8));
    // Page 1 misses half of the read in the middle and stays. After that read its next use is
    // behind that of page 2, which it makes room for; without that it would have to stay.
    let whole = (Op::Read, 8, 8);
    assert_eq!(final_hits(whole, &[read_2, read_2, read_1]), 2);
    assert_eq!(final_hits(whole, &[read_1, read_1, read_2]), 2);
}

#[test]
fn a_trimmed_page_has_no_next_use() {
    // Page 2 is used first, but only after a TRIM: it is not worth a place.
    let (read_1, read_2) = ((Op::Read, 8, 4), (Op::Read, 16, 8));
    let trim = (Op::Trim, 16, 8);
    let flush = (Op::Flush, 0, 0);
    assert_eq!(final_hits(flush, &[trim, read_2, read_1]), 1);
    assert_eq!(final_hits(flush, &[flush, read_2, read_1]), 1);
    assert_eq!(final_hits(flush, &[flush, read_2, read_2, read_1]), 2);
    assert_eq!(final_hits(flush, &[trim, read_2, read_2, read_1]), 1);
}

/// Seldom, in one of `n` cases.
fn rarely(random: &mut SplitMix64, n: u64) -> bool {
    (random.next_u64() >> 11).is_multiple_of(n)
}

/// Random writes of whole pages below `pages`, with reads, TRIM, FLUSH, FUA, and preflush.
fn writes(seed: u64, pages: u64, count: u64) -> Trace {
    let mut random = SplitMix64::new(seed);
    let forced = 2 + random.next_u64() % 60;
    let requests = (0..count).map(|i| {
        let page = (random.next_u64() >> 11) % pages * (random.next_u64() >> 11) % pages;
        let length = 1 + (random.next_u64() >> 11) % 3;
        let op = match (random.next_u64() >> 11) % 20 {
            0..4 => Op::Read,
            4..6 => Op::Trim,
            6 if rarely(&mut random, forced) => Op::Flush,
            _ => Op::Write,
        };
        let (start, sectors) = match op {
            Op::Flush => (0, 0),
            _ => (page * 8, length as u32 * 8),
        };
        let mut request = HostRequest::new(Nanos(i), op, start, sectors);
        if op == Op::Write {
            request.flags = RequestFlags::FUA
                .only_if(rarely(&mut random, 3 * forced))
                .and(RequestFlags::PREFLUSH.only_if(rarely(&mut random, 9 * forced)));
        }
        request
    });
    let mut batch = RequestBatch::new();
    requests.for_each(|request| batch.push(request));
    Trace::generated("test", batch)
}

/// Events of one page each; a FLUSH is one of no page.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    Write(u64),
    Trim(u64),
    /// The page is to be on flash.
    Persist(u64),
    Flush,
}

fn events(trace: &Trace) -> Vec<Event> {
    let mut events = Vec::new();
    for request in trace.requests.iter() {
        let head = request.head;
        let pages = head.start_sector / 8..(head.start_sector + u64::from(head.sectors)) / 8;
        match head.op {
            Op::Read => {}
            Op::Flush => events.push(Event::Flush),
            Op::Trim => events.extend(pages.map(Event::Trim)),
            Op::Write => {
                if head.flags.any(RequestFlags::PREFLUSH) {
                    events.push(Event::Flush);
                }
                events.extend(pages.clone().map(Event::Write));
                if head.flags.any(RequestFlags::FUA) {
                    events.extend(pages.map(Event::Persist));
                }
            }
        }
    }
    events
}

/// The fewest programs of all that a buffer of `frames` pages can do, by trying every choice: `held[set]` is the fewest
/// until now with exactly the pages of `set` dirty.
fn fewest_of_all_choices(events: &[Event], pages: u32, frames: u32, bypass: bool) -> u64 {
    let sets = 1usize << pages;
    let mut held = vec![u64::MAX; sets];
    held[0] = 0;
    for event in events {
        let mut after = vec![u64::MAX; sets];
        let mut reach = |set: usize, cost: u64| after[set] = after[set].min(cost);
        for set in (0..sets).filter(|&set| held[set] < u64::MAX) {
            let cost = held[set];
            match *event {
                Event::Write(page) if set >> page & 1 == 1 => reach(set, cost),
                Event::Write(page) => {
                    let room = set.count_ones() < frames;
                    if bypass {
                        reach(set, cost + 1);
                    }
                    if room {
                        reach(set | 1 << page, cost);
                    }
                    for leaves in (0..pages).filter(|p| set >> p & 1 == 1) {
                        reach(set & !(1 << leaves) | 1 << page, cost + 1);
                    }
                }
                Event::Trim(page) => reach(set & !(1 << page), cost),
                Event::Persist(page) => {
                    reach(set & !(1 << page), cost + (set >> page & 1) as u64);
                }
                Event::Flush => reach(0, cost + u64::from(set.count_ones())),
            }
        }
        held = after;
    }
    let ends = held
        .iter()
        .enumerate()
        .filter(|(_, cost)| **cost < u64::MAX);
    let all = ends.map(|(set, cost)| cost + u64::from(set.count_ones()));
    all.min().expect("some choice is possible")
}

/// The same for any number of pages, in O(n^2): each time from a write to the next write or TRIM of its page is worth
/// a program, and the most of them that `frames` can hold are taken by their ends.
fn fewest_by_intervals(events: &[Event], frames: usize, bypass: bool) -> u64 {
    let writes = events.iter().filter(|e| matches!(e, Event::Write(_)));
    let writes = writes.count() as u64;
    let mut worth: Vec<(usize, usize)> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let Event::Write(page) = *event else { continue };
        let ends = |e: &Event| {
            matches!(*e, Event::Flush)
                || [Event::Write(page), Event::Trim(page), Event::Persist(page)].contains(e)
        };
        if let Some(length) = events[i + 1..].iter().position(ends) {
            let end = i + 1 + length;
            if matches!(events[end], Event::Write(_) | Event::Trim(_)) {
                worth.push((end, i));
            }
        }
    }
    worth.sort_unstable();
    // Pages held across event i. Without bypass the page that event i writes takes a frame too.
    let mut across = vec![0; events.len()];
    let mut saved = 0;
    for (end, start) in worth {
        let fits = |i: usize| {
            let own = i == start || !bypass && matches!(events[i], Event::Write(_));
            across[i] + usize::from(own) <= frames - usize::from(i > start)
        };
        if (start..end).all(fits) {
            saved += 1;
            (start + 1..end).for_each(|i| across[i] += 1);
            across[start] += usize::from(bypass);
        }
    }
    writes - saved
}

/// Programs, with those of the pages that are dirty at the end.
fn programs(text: &str, frames: u64, read_alloc: ReadAlloc, trace: &Trace) -> u64 {
    let mut spec = RunSpec::cache_only(Expr::parse(text).unwrap(), ByteSize(frames * 4096));
    (spec.read_alloc, spec.warmup) = (read_alloc, Warmup::None);
    let record = execute(&spec, trace, Hooks::default()).unwrap();
    record.counts.flash_writes_host + record.dirty_pages_left
}

const FEWEST: [&str; 2] = [
    "belady(next-of=overwrite,bypass=false)",
    "belady(next-of=overwrite)",
];

#[test]
fn the_fewest_programs_are_those_of_all_choices() {
    for seed in 0..60 {
        let mut random = SplitMix64::new(seed);
        let trace = writes(seed, 6, 20 + random.next_u64() % 60);
        let events = events(&trace);
        for frames in 1..=4 {
            for (bypass, text) in [false, true].into_iter().zip(FEWEST) {
                let fewest = fewest_of_all_choices(&events, 8, frames, bypass);
                let of_intervals = fewest_by_intervals(&events, frames as usize, bypass);
                assert_eq!(
                    of_intervals, fewest,
                    "seed {seed}, {frames} frames, {bypass}"
                );
                let run = programs(text, u64::from(frames), ReadAlloc::Off, &trace);
                assert_eq!(run, fewest, "seed {seed}, {frames} frames: {text}");
            }
        }
    }
}

#[test]
fn the_fewest_programs_are_those_of_intervals() {
    for seed in 100..130 {
        let trace = writes(seed, 20 + seed, 1500);
        let events = events(&trace);
        for frames in [1, 3, 10, 40, 200] {
            for (bypass, text) in [false, true].into_iter().zip(FEWEST) {
                let fewest = fewest_by_intervals(&events, frames as usize, bypass);
                let run = programs(text, frames, ReadAlloc::Off, &trace);
                assert_eq!(run, fewest, "seed {seed}, {frames} frames: {text}");
            }
            // Clean pages leave first, so reads that may pass the cache by change nothing.
            let with_reads = programs(FEWEST[1], frames, ReadAlloc::On, &trace);
            assert_eq!(
                with_reads,
                fewest_by_intervals(&events, frames as usize, true)
            );
        }
    }
}

/// Every scheme that does not rename pages, and has frames enough.
#[test]
fn no_scheme_programs_fewer_pages() {
    let mut compared = 0;
    for seed in 200..206 {
        let trace = writes(seed, 30 + seed, 1200);
        for frames in [16, 24, 70] {
            let fewest = programs(FEWEST[1], frames, ReadAlloc::Off, &trace);
            for info in SCHEMES.iter().filter(|info| info.role != Role::Mapping) {
                let text = match info.role.is_layer() {
                    true => format!("{}(lru)", info.name),
                    false if info.name == "best-of" => "best-of(lru,lfu)".to_owned(),
                    false => info.name.to_owned(),
                };
                let mut spec =
                    RunSpec::cache_only(Expr::parse(&text).unwrap(), ByteSize(frames * 4096));
                spec.warmup = Warmup::None;
                if spec.check().is_err() {
                    continue;
                }
                compared += 1;
                let found = programs(&text, frames, ReadAlloc::Scheme, &trace);
                assert!(
                    found >= fewest,
                    "seed {seed}, {frames} frames: {text} {found}"
                );
            }
        }
    }
    assert!(compared > 600, "only {compared} runs");
}
