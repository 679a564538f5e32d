//! Loads that the device cannot follow: their response times are those of a queue that grows until the trace
//! ends, and say nothing of the device.

use destage_sim::ResultRecord;
use destage_sim::record::Backlog;
use destage_trace::{TimeUnit, TraceMeta};

/// The runs over one trace that were overloaded.
#[derive(Default)]
pub struct Overloads {
    runs: u64,
    overloaded: u64,
    /// The first of them.
    first: Option<Overload>,
}

struct Overload {
    run: String,
    backlog: Backlog,
}

impl Overloads {
    /// Looks at the record of a run.
    pub fn add(&mut self, record: &ResultRecord) {
        self.runs += 1;
        let Some(backlog) = record
            .backlog
            .filter(|b| b.is_overload(record.counts.requests))
        else {
            return;
        };
        self.overloaded += 1;
        self.first.get_or_insert_with(|| Overload {
            run: format!("{} with {}", record.device, record.scheme),
            backlog,
        });
    }

    /// The warning about overloaded devices, if there are some.
    pub fn warning(&self, meta: &TraceMeta) -> Option<String> {
        let Overload { run, backlog } = self.first.as_ref()?;
        let (offered, possible) = (backlog.offered_per_s?, backlog.possible_per_s()?);
        let runs = match self.overloaded {
            1 => String::new(),
            n => format!(", as in {n} of {} runs", self.runs),
        };
        let unit = match meta.time_unit {
            Some(TimeUnit::Nanoseconds) if meta.sha256.is_some() => {
                "; if its times are not in ns, --time-unit says which unit they have"
            }
            _ => "",
        };
        Some(format!(
            "{}: the trace offers {offered:.0} requests/s, but device {run} completes {possible:.0}/s{runs}: {} \
             requests wait when the last one arrives, so response times grow with the length of the trace; \
             --closed-loop QD issues requests as fast as the device takes them, --time-scale {:.0} (or more) \
             slows the arrivals down{unit}",
            meta.name,
            backlog.requests,
            (offered / possible).ceil()
        ))
    }
}
