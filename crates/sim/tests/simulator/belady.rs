//! The off-line bound, run like any other scheme.

use destage_scheme::{Expr, ReadAlloc};
use destage_sim::run::{Hooks, execute};
use destage_sim::spec::{RunSpec, Warmup};
use destage_trace::Trace;
use destage_types::{ByteSize, HostRequest, Nanos, Op, RequestBatch};

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
        "belady(next-of=write)",
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
