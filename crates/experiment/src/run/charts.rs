//! Data of charts besides the record of a run, collected during the run.

use destage_record::RunCharts;
use destage_record::{Every, SeriesRow};
use destage_sim::{Logs, RunSpec, Series};
use std::sync::{Arc, Mutex, PoisonError};

/// Intervals of the courses over time: as many points as a chart has room for.
const INTERVALS: u64 = 100;

/// Collects data for the charts of one run, in the thread of the run; another thread takes them.
#[derive(Clone)]
pub struct ChartCollector {
    every: Every,
    charts: Arc<Mutex<RunCharts>>,
}

impl ChartCollector {
    /// For a run of `spec` over a trace of so many requests.
    pub fn new(spec: &RunSpec, requests: u64) -> ChartCollector {
        // A faulty warm-up is reported when the run begins.
        let (warmup, passes) = spec.warmup.resolve(requests).unwrap_or((0, 1));
        let measured = (requests * passes).saturating_sub(warmup);
        ChartCollector {
            every: Every::Requests(measured.div_ceil(INTERVALS).max(1)),
            charts: Arc::default(),
        }
    }

    /// Lets a run that writes to `logs` fill it.
    pub fn follow(self, logs: &mut Logs) {
        let charts = Arc::clone(&self.charts);
        let take = move |row: Option<&SeriesRow>| {
            let mut charts = charts.lock().unwrap_or_else(PoisonError::into_inner);
            charts.rows.extend(row.cloned());
            Ok(())
        };
        logs.series.push(Series::new(self.every, Box::new(take)));
        logs.profile = Some(Box::new(move |profile| {
            let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
            charts.profile = profile;
        }));
    }

    /// Takes out the collected charts.
    pub fn take_charts(&self) -> RunCharts {
        let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *charts)
    }
}
