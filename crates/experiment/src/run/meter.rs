//! Measures the cost of runs: time, memory, and the machine.

use crate::memory::{MemoryLimit, MemoryWatch};
use crate::progress::Follower;
use crate::stopwatch::Stopwatch;
use destage_sim::record::RunInfo;
use destage_sim::{MemoryExcess, Meter};
use std::sync::{Arc, OnceLock};

/// Wall clock and CPU time of the calling thread, and the memory of the program.
pub struct Clocks {
    memory: MemoryWatch,
    follower: Option<Arc<Follower>>,
}

impl Clocks {
    /// Clocks of a command that may take so much memory.
    pub fn new(limit: MemoryLimit) -> Clocks {
        Clocks::followed(limit, None)
    }

    /// The same of runs that `follower`, if there is one, may end.
    pub fn followed(limit: MemoryLimit, follower: Option<Arc<Follower>>) -> Clocks {
        Clocks {
            memory: MemoryWatch::new(limit),
            follower,
        }
    }
}

impl Meter for Clocks {
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo {
        let wall = Stopwatch::start();
        let cpu_s = seconds_of_processor(run);
        RunInfo {
            wall_s: cpu_s.map(|_| wall.elapsed().as_secs_f64()),
            cpu_s,
            threads: None,
            host: Some(host().to_owned()),
            key: String::new(),
        }
    }

    fn excess(&self) -> Option<MemoryExcess> {
        let (bytes, limit) = (self.memory.exceeded()?, self.memory.limit.bytes());
        Some(MemoryExcess { bytes, limit })
    }

    fn is_cancelled(&self) -> bool {
        self.follower.as_ref().is_some_and(|f| f.is_cancelled())
    }
}

/// Processor time of the calling thread while `run` goes on.
#[cfg(not(target_family = "wasm"))]
fn seconds_of_processor(run: &mut dyn FnMut()) -> Option<f64> {
    let start = cpu_time::ThreadTime::now();
    run();
    Some(start.elapsed().as_secs_f64())
}

/// A browser does not tell.
#[cfg(target_family = "wasm")]
fn seconds_of_processor(run: &mut dyn FnMut()) -> Option<f64> {
    run();
    None
}

/// Name of the machine; empty if it does not say.
pub fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
        let said = files.iter().find_map(|f| std::fs::read_to_string(f).ok());
        let said = said.or_else(|| std::env::var("COMPUTERNAME").ok());
        said.map_or_else(String::new, |name| name.trim().to_owned())
    })
}
