//! Laws of the same result: whatever is not part of what a run is.

use super::{Law, any};
use crate::case::{Case, option};
use crate::compare::same;
use crate::device;
use crate::lab::{Lab, Verdict};
use crate::requests;
use destage_conformance::reference::rng::SplitMix64;

pub const THREADS: Law = Law {
    name: "threads",
    promise: "a sweep gives the same records, in the same order, whatever the number of threads",
    adapt: any,
    check: threads,
};

fn threads(lab: &Lab, case: &Case) -> Verdict {
    let mut case = case.clone();
    case.without(&["--jobs"]);
    let other = format!("--scheme fifo --cache {} --jobs", case.cache(3));
    let jobs = |n: u64| case.with(&format!("{other} {n}"));
    let one = lab.records(&jobs(1).run("trace.csv"))?;
    let more = lab.records(&jobs(2 + case.seed % 7).run("trace.csv"))?;
    same(&one, &more, &[])
}

pub const WATCHED: Law = Law {
    name: "watched",
    promise: "logs, series and timelines change no figure",
    adapt: any,
    check: watched,
};

fn watched(lab: &Lab, case: &Case) -> Verdict {
    let alone = lab.records(&case.run("trace.csv"))?;
    let mut watch = String::new();
    if case.seed & 1 != 0 {
        watch += " --log-evictions evictions.jsonl";
    }
    if case.seed & 2 != 0 && case.device.is_some() {
        watch += " --log-requests requests.csv";
    }
    if case.seed & 16 != 0 && case.device.is_some() {
        watch += " --timeline run.pftrace";
    }
    if case.seed & 4 != 0 || watch.is_empty() {
        let every = ["1", "7", "100", "1us", "1ms", "1s"][(case.seed >> 3) as usize % 6];
        watch += &format!(" --series series.csv --series-every {every}");
    }
    let watched = lab.records(&case.with(watch.trim()).run("trace.csv"))?;
    same(&alone, &watched, &[])
}

pub const SPOOLED: Law = Law {
    name: "spooled",
    promise: "a trace in a temporary file gives the result of one in memory",
    adapt: |case, _| case.without(&["--trace-memory"]),
    check: spooled,
};

fn spooled(lab: &Lab, case: &Case) -> Verdict {
    let memory = lab.records(&case.run("trace.csv"))?;
    let file = lab.records(&case.with("--trace-memory 1KiB").run("trace.csv"))?;
    same(&memory, &file, &["config"])
}

pub const ROOM: Law = Law {
    name: "room",
    promise: "on a device that holds the trace, --wrap and --fit change nothing",
    adapt: room_for_all,
    check: room,
};

/// Gives the case a device with room for its trace.
fn room_for_all(case: &mut Case, rng: &mut SplitMix64) {
    case.without(&["--wrap", "--fit", "--host-fs"]);
    let mut sets = case.device.take();
    for _ in 0..20 {
        let given = sets.take().unwrap_or_else(|| device::draw(rng, case.page));
        let logical = device::legal(&given).map_or(0, |d| d.config().logical_pages());
        if requests::end(&case.requests) <= logical * case.page / 512 {
            case.device = Some(given);
            case.fit_to_device(rng);
            return;
        }
    }
    // Too long for all of them: the built-in device has room.
    case.device = Some(option(&format!("page_bytes={}", case.page)));
}

fn room(lab: &Lab, case: &Case) -> Verdict {
    if case.device.is_none() {
        return Ok(false);
    }
    let plain = lab.records(&case.run("trace.csv"))?;
    let how = ["--wrap", "--fit"][(case.seed % 2) as usize];
    let other = lab.records(&case.with(how).run("trace.csv"))?;
    same(&plain, &other, &["config"])
}
