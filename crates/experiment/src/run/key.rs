//! Which runs are the same: the key of a run, in journals and in folders of sweeps.

use crate::hash::of_parts;
use crate::options::FootprintShare;
use crate::run::plan::Plan;
use destage_console::program;
use destage_sim::RunSpec;
use destage_trace::LoadOptions;

/// The identity of a run, whatever the trace: the effective values of all options that decide on
/// its record. Where a value comes from does not matter. A cache that is a share of the footprint
/// has its size from the trace, so the share stands for it.
pub fn identity(plan: &Plan, run: &RunSpec, share: Option<FootprintShare>) -> String {
    let load = LoadOptions {
        hash: true,
        tags: plan.tags,
        ..plan.load.clone()
    };
    let addresses = plan.addresses;
    let share = share.map_or(String::new(), |share| share.to_string());
    let read = format!("{load:?} {addresses:?}");
    of_parts([&*run.identity(), &read, &share])
}

/// The key of a run over the trace that records call `name`, a file with this SHA-256: runs with one key have
/// the same result on every machine and by every command.
pub fn run_key(name: &str, sha256: &str, identity: &str) -> String {
    of_parts([program(), name, sha256, identity])
}
