//! Looks at the exports once in a while, and remembers.

use crate::device::ModelName;
use crate::server::{ExportHandle, ExportMoment, ResponseTimes};
use crate::shadow::{Asked, Shadow};
use destage_sim::live::LiveFigures;
use destage_sim::record::{COUNTERS, CountFields, Counter};
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Intervals that are remembered.
const INTERVALS: usize = 300;
/// A shadow that does not answer in that time has no figures in the interval.
const SHADOW_PATIENCE: Duration = Duration::from_millis(200);

/// An export that is looked at.
pub struct MonitoredExport {
    /// The export.
    pub handle: ExportHandle,
    /// Its shadows.
    pub shadows: Vec<Shadow>,
}

/// A sample of a shadow.
#[derive(Clone, Debug, Serialize)]
pub struct ShadowSample {
    pub model: Option<ModelName>,
    /// Requests that it was not given.
    pub lost_requests: u64,
    pub figures: Option<LiveFigures>,
}

/// A sample of an export.
#[derive(Clone, Debug, Serialize)]
pub struct ExportSample {
    pub name: String,
    pub model: ModelName,
    pub simulated_ns: u64,
    pub power_cuts: u64,
    /// Replies that left.
    pub replies: u64,
    /// Those of them that left more than 1 ms late.
    pub replies_behind: u64,
    pub figures: LiveFigures,
    #[serde(skip)]
    pub responses: ResponseTimes,
    pub shadows: Vec<ShadowSample>,
}

/// Changes from one sample to the next, and the state at the second one.
#[derive(Clone, Debug, Serialize)]
struct Interval {
    /// End, in seconds since the first look.
    t: f64,
    /// Counters that grew, by how much.
    #[serde(flatten)]
    counts: BTreeMap<&'static str, u64>,
    page_hit: Option<f64>,
    read_hit: Option<f64>,
    write_hit: Option<f64>,
    mean_us: Option<f64>,
    read_p50_us: Option<f64>,
    read_p99_us: Option<f64>,
    write_p50_us: Option<f64>,
    write_p99_us: Option<f64>,
    cached_pages: u64,
    dirty_pages: u64,
    lists: Vec<(&'static str, u64)>,
    queue_mean: f64,
    queue_max: u32,
    /// Of each shadow: page hit ratio and mean response time.
    shadows: Vec<(Option<f64>, Option<f64>)>,
}

struct History {
    latest: ExportSample,
    intervals: VecDeque<Interval>,
}

/// Looks at exports as long as somebody has this.
pub struct Monitor {
    every: Duration,
    histories: Mutex<Vec<History>>,
}

impl Monitor {
    /// Looks at `exports` now and then `every` so often.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(exports: Vec<MonitoredExport>, every: Duration) -> io::Result<Arc<Monitor>> {
        let first = exports.iter().filter_map(look);
        let histories = first.map(|latest| History {
            latest,
            intervals: VecDeque::new(),
        });
        let monitor = Arc::new(Monitor {
            every,
            histories: Mutex::new(histories.collect()),
        });
        let weak = Arc::downgrade(&monitor);
        let thread = std::thread::Builder::new().name("monitor".to_owned());
        thread.spawn(move || watch(&exports, every, &weak))?;
        Ok(monitor)
    }

    fn histories(&self) -> MutexGuard<'_, Vec<History>> {
        self.histories
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest sample of each export.
    pub fn latest(&self) -> Vec<ExportSample> {
        self.histories().iter().map(|h| h.latest.clone()).collect()
    }

    /// Everything that is remembered, as JSON.
    pub fn json(&self) -> String {
        let histories = self.histories();
        let exports = histories
            .iter()
            .map(|history| json!({ "latest": history.latest, "intervals": history.intervals }));
        let exports: Vec<_> = exports.collect();
        json!({ "every_s": self.every.as_secs_f64(), "exports": exports }).to_string()
    }
}

fn watch(exports: &[MonitoredExport], every: Duration, monitor: &Weak<Monitor>) {
    let begun = Instant::now();
    loop {
        std::thread::sleep(every);
        let samples: Option<Vec<ExportSample>> = exports.iter().map(look).collect();
        // An export has ended, and so does the server.
        let Some(samples) = samples else { return };
        let Some(monitor) = monitor.upgrade() else {
            return;
        };
        let t = begun.elapsed().as_millis() as f64 / 1e3;
        for (history, sample) in monitor.histories().iter_mut().zip(samples) {
            let interval = between(&history.latest, &sample, t);
            history.intervals.push_back(interval);
            if history.intervals.len() > INTERVALS {
                history.intervals.pop_front();
            }
            history.latest = sample;
        }
    }
}

/// An export now; `None` if it has ended.
fn look(export: &MonitoredExport) -> Option<ExportSample> {
    let name = export.handle.name().to_owned();
    let shadows = export.shadows.clone();
    let seen = move |moment: &mut ExportMoment<'_>| {
        // Their figures are those after the same request.
        let asked = shadows.iter().map(|shadow| shadow.look(moment.now));
        let asked: Vec<_> = asked.collect();
        let sample = ExportSample {
            name,
            model: moment.device.device().model(),
            simulated_ns: moment.now.0,
            power_cuts: moment.power_cuts.len() as u64,
            replies: moment.lateness.replies(),
            replies_behind: moment.lateness.behind(),
            figures: moment.device.device().figures(),
            responses: moment.responses.clone(),
            shadows: Vec::new(),
        };
        (sample, asked)
    };
    let (sample, asked) = export.handle.at_rest(seen)?;
    let shadow = |(shadow, asked): (&Shadow, Asked<_>)| {
        let (model, figures) = asked.wait_for(SHADOW_PATIENCE).unzip();
        ShadowSample {
            model,
            lost_requests: shadow.lost(),
            figures,
        }
    };
    Some(ExportSample {
        shadows: export.shadows.iter().zip(asked).map(shadow).collect(),
        ..sample
    })
}

/// Earlier figures, or none if the statistics began again since.
fn earlier(before: &LiveFigures, now: &LiveFigures) -> LiveFigures {
    if before.begun_after == now.begun_after && before.counts.requests <= now.counts.requests {
        before.clone()
    } else {
        LiveFigures::default()
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn page_hit(now: &LiveFigures, before: &LiveFigures) -> Option<f64> {
    let (now, before) = (&now.counts, &before.counts);
    ratio(
        now.page_hits.saturating_sub(before.page_hits),
        now.page_accesses - before.page_accesses,
    )
}

fn growth(now: &CountFields, before: &CountFields) -> BTreeMap<&'static str, u64> {
    let more = |one: &Counter| {
        let more = (one.of)(now)?.saturating_sub((one.of)(before).unwrap_or(0));
        (more > 0).then_some((one.name, more))
    };
    COUNTERS.iter().filter_map(more).collect()
}

fn mean_us(now: &LiveFigures, before: &LiveFigures) -> Option<f64> {
    let sum = now.response_ns.saturating_sub(before.response_ns);
    ratio(sum, now.responses.saturating_sub(before.responses)).map(|ns| ns / 1e3)
}

fn percentile_us(times: &Histogram<u64>, share: f64) -> Option<f64> {
    (!times.is_empty()).then(|| times.value_at_quantile(share) as f64 / 1e3)
}

fn between(before: &ExportSample, sample: &ExportSample, t: f64) -> Interval {
    let (now, was) = (&sample.figures, &earlier(&before.figures, &sample.figures));
    let counts = growth(&now.counts, &was.counts);
    let share = |part, whole| ratio(*counts.get(part).unwrap_or(&0), *counts.get(whole)?);
    let times = sample.responses.since(&before.responses);
    let queued: u32 = now.queues.iter().sum();
    let shadow = |(after, before): (&ShadowSample, &ShadowSample)| match &after.figures {
        None => (None, None),
        Some(now) => {
            let was = before.figures.clone().unwrap_or_default();
            let was = earlier(&was, now);
            (page_hit(now, &was), mean_us(now, &was))
        }
    };
    Interval {
        t,
        page_hit: page_hit(now, was),
        read_hit: share("read_page_hits", "read_pages"),
        write_hit: share("write_page_hits", "write_pages"),
        mean_us: mean_us(now, was),
        counts,
        read_p50_us: percentile_us(&times.reads, 0.5),
        read_p99_us: percentile_us(&times.reads, 0.99),
        write_p50_us: percentile_us(&times.writes, 0.5),
        write_p99_us: percentile_us(&times.writes, 0.99),
        cached_pages: now.cached_pages,
        dirty_pages: now.dirty_pages,
        lists: now.lists.clone(),
        queue_mean: f64::from(queued) / now.queues.len().max(1) as f64,
        queue_max: now.queues.iter().copied().max().unwrap_or(0),
        shadows: sample
            .shadows
            .iter()
            .zip(&before.shadows)
            .map(shadow)
            .collect(),
    }
}
