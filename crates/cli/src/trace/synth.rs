//! `destage trace synth`: generated workloads.

use crate::args::{SynthArgs, ToFormat};
use crate::trace::convert::{Writing, write_one};
use destage_console::failure::Failure;
use destage_console::print::print;
use destage_trace::synth::{Arrival, PRESETS, Synth, SynthPart, preset};
use destage_types::Nanos;

/// Requests if nothing else is said.
const REQUESTS: u64 = 100_000;
/// Mean time between two requests if nothing else is said.
const GAP: Nanos = Nanos(1_000_000);

/// Does what `args` say.
///
/// # Errors
/// Bad usage, or an output that cannot be written.
pub fn run(args: &SynthArgs) -> Result<(), Failure> {
    if args.list {
        return print(&list());
    }
    let to = args.to.unwrap_or(ToFormat::Destage);
    to.check_name(&args.output)?;
    if let Some(like) = &args.like {
        return super::twin::synth(args, like);
    }
    let synth = workload(args).map_err(Failure::usage)?;
    synth.check().map_err(Failure::usage)?;
    let (limit, needs) = (args.memory.limit(), synth.memory());
    if needs > limit.bytes() {
        let what = "zipf(THETA), which has a table of the units of its space (a larger unit=SIZE),";
        return Err(limit.refused(what, needs));
    }
    // Every pass of the writer generates the requests anew: none is kept.
    let output = &args.output;
    write_one(&synth, &synth.meta(), Writing { output, to, limit })
}

fn workload(args: &SynthArgs) -> Result<Synth, String> {
    let seed = args.seed.unwrap_or(1);
    let mut synth = match &args.workload {
        Some(name) => preset(name)?.synth(seed),
        None => Synth {
            name: "synth".to_owned(),
            parts: vec![SynthPart::default()],
            requests: REQUESTS,
            arrival: Arrival::Constant,
            gap: GAP,
            seed,
        },
    };
    if !args.parts.is_empty() {
        synth.parts = args.parts.clone();
    }
    let options = [
        ("--arrival", args.arrival.is_some()),
        ("--gap", args.gap.is_some()),
    ];
    if let Some((option, _)) = options.iter().find(|option| synth.has_rates() && option.1) {
        return Err(format!(
            "{option}: parts with rate= have arrivals of their own; leave out {option}, or rate= of every part"
        ));
    }
    synth.requests = args.requests.unwrap_or(synth.requests);
    synth.arrival = args.arrival.unwrap_or(synth.arrival);
    synth.gap = args.gap.unwrap_or(synth.gap);
    if let Some(writes) = args.writes {
        synth.parts.iter_mut().for_each(|part| part.writes = writes);
    }
    Ok(synth)
}

/// The named workloads, each with the options that make it.
fn list() -> String {
    let mut text = String::new();
    for preset in PRESETS.iter() {
        text += &format!(
            "{}\n  {}\n  --requests {} --arrival '{}' --gap {}\n",
            preset.name, preset.about, preset.requests, preset.arrival, preset.gap
        );
        for part in &preset.parts {
            text += &format!("  --part '{part}'\n");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}
