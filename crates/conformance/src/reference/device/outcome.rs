//! What came out, when all work has ended.

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
    pub fn programs(&self) -> Vec<SlowProgram> {
        let program = |e: &Entry| {
            let wanted = matches!(e.purpose, Purpose::Program(_) | Purpose::WriteBack);
            let times = e.times.filter(|_| wanted)?;
            Some(SlowProgram {
                lpn: e.lpn,
                request: e.request,
                times: [
                    e.enqueued,
                    times.start.0,
                    times.last_transfer.0,
                    times.end.0,
                ],
            })
        };
        let mut programs: Vec<SlowProgram> = self.entries.all.iter().filter_map(program).collect();
        programs.sort_unstable();
        programs
    }

    /// Sum and number of the waiting times of programs caused by evictions.
    pub fn evict_wait(&self) -> (u64, u64) {
        let caused = self.entries.all.iter();
        let caused = caused.filter(|e| e.purpose == Purpose::Program(SlowCause::Eviction));
        let waits = caused.filter_map(|e| e.times.map(|t| t.start.0 - e.enqueued));
        waits.fold((0, self.adopted), |(sum, n), wait| (sum + wait, n + 1))
    }
}
