//! The outcome, when all work has ended. (DEVICE_MODEL.md, "After the run")

use super::*;

impl SlowDevice {
    /// Completion of every request, by index. All work must have ended.
    pub fn completions(&self) -> BTreeMap<u64, u64> {
        let dram = time(self.config.t_dram).0;
        let end = |r: &Request| {
            let services = match self.config.dram {
                Dram::PerRequest => 1,
                Dram::PerPage => r.pages.max(1),
            };
            let times = |token: u32| {
                let times = self.entries.all[token as usize].times;
                times.expect("all work has ended")
            };
            let waits = r.waits.iter().map(|wait| match *wait {
                Wait::Transfer(token) => times(token).last_transfer.0,
                Wait::End(token) => times(token).end.0,
            });
            waits.fold(r.arrival + services * dram, u64::max)
        };
        self.requests.iter().map(|r| (r.index, end(r))).collect()
    }

    /// All programs of host data, sorted.
    pub fn programs(&self) -> Vec<SlowOperation> {
        self.ran(|purpose| match purpose {
            Purpose::Program(_) | Purpose::WriteBack | Purpose::HandOver => Some(true),
            _ => None,
        })
    }

    /// All accesses of a cache in flash, sorted.
    pub fn accesses_of_cache(&self) -> Vec<SlowOperation> {
        self.ran(|purpose| match purpose {
            Purpose::CacheRead | Purpose::CacheReadForHandOver => Some(false),
            Purpose::CacheWrite | Purpose::CacheFill => Some(true),
            _ => None,
        })
    }

    /// The operations of the purposes of which `program` says whether they are programs, sorted.
    fn ran(&self, program: impl Fn(Purpose) -> Option<bool>) -> Vec<SlowOperation> {
        let operation = |e: &Entry| {
            let (program, times) = (program(e.purpose)?, e.times?);
            Some(SlowOperation {
                lpn: e.lpn,
                request: e.request,
                program,
                times: [
                    e.enqueued,
                    times.start.0,
                    times.last_transfer.0,
                    times.end.0,
                ],
            })
        };
        let mut all: Vec<SlowOperation> = self.entries.all.iter().filter_map(operation).collect();
        all.sort_unstable();
        all
    }

    /// Sum and number of the waiting times of programs caused by evictions.
    pub fn evict_wait(&self) -> (u64, u64) {
        let caused = self.entries.all.iter();
        let caused = caused.filter(|e| e.purpose == Purpose::Program(SlowCause::Eviction));
        let waits = caused.filter_map(|e| e.times.map(|t| t.start.0 - e.enqueued));
        waits.fold((0, self.adopted), |(sum, n), wait| (sum + wait, n + 1))
    }
}
