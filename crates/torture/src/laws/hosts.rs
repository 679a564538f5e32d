//! Laws of the host's side of a device: command slots, command processing, link, pace, queue depth.

use super::{Law, any};
use crate::case::Case;
use crate::compare::{same, want};
use crate::lab::{Fault, Lab, Verdict};

pub const HOST_SIDE: Law = Law {
    name: "host-side",
    promise: "a host's side that costs no time changes no figure, no log and no interval",
    adapt: any,
    check: host_side,
};

/// Keys and options that ask for the host's side.
const KEYS: [&str; 7] = [
    "t_command",
    "command_cores",
    "command_slots",
    "command_order",
    "write_pace",
    "write_pace_burst",
    "host_link",
];

fn host_side(lab: &Lab, case: &Case) -> Verdict {
    let mut plain = case.clone();
    plain.without(&["--queue-depth"]);
    let Some(sets) = &mut plain.device else {
        return Ok(false);
    };
    let key = |set: &str| set.split(['=', '.']).next().map(str::to_owned);
    sets.retain(|set| key(set).is_none_or(|key| !KEYS.contains(&&*key)));
    let mut hosted = plain.clone();
    hosted.set("command_slots=1048576");
    let every = ["1", "7", "100", "10ns", "1us", "1ms"][(case.seed % 6) as usize];
    let logs = ["evictions.jsonl", "requests.csv", "series.csv"];
    let watch = format!(
        "--log-evictions {} --log-requests {} --series {} --series-every {every}",
        logs[0], logs[1], logs[2]
    );
    let run = |case: &Case| {
        let records = lab.records(&case.with(&watch).run("trace.csv"))?;
        let texts = match records {
            None => Vec::new(),
            Some(_) => logs
                .iter()
                .map(|log| lab.read(log))
                .collect::<Result<_, _>>()?,
        };
        Ok::<_, Fault>((records, texts))
    };
    let ((plain, texts), (hosted, others)) = (run(&plain)?, run(&hosted)?);
    let held = same(&plain, &hosted, &["config", "service_ns"])?;
    for (name, (text, other)) in logs.iter().zip(texts.iter().zip(&others)) {
        let lines = text.lines().zip(other.lines());
        for (line, other) in lines {
            want(name, line, other)?;
        }
        want(name, text.lines().count(), other.lines().count())?;
    }
    Ok(held)
}
