//! The figures as Prometheus reads them.

use super::monitor::ExportSample;
use destage_sim::live::LiveFigures;
use destage_sim::record::COUNTERS;
use hdrhistogram::Histogram;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;

/// The media type of [`encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets of response times, in seconds.
const BUCKETS: [f64; 16] = [
    1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1, 1.0, 10.0,
];

/// A figure with its name and meaning.
type Row<T = LiveFigures> = (&'static str, &'static str, fn(&T) -> u64);

/// Gauges of the present state.
const GAUGES: [Row; 3] = [
    ("cache_pages", "Frames of the cache", |f| f.cache_pages),
    ("cached_pages", "Pages in the cache", |f| f.cached_pages),
    ("dirty_pages", "Dirty pages in the cache", |f| f.dirty_pages),
];

/// The text that Prometheus reads.
pub fn encode(samples: &[ExportSample]) -> String {
    let mut registry = Registry::with_prefix("destage");
    registry.register_collector(Box::new(Figures {
        samples: samples.to_vec(),
    }));
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut out, &registry);
    out
}

#[derive(Debug)]
struct Figures {
    samples: Vec<ExportSample>,
}

/// A series of an export, or of one of its shadows.
type Labels = Vec<(&'static str, String)>;

impl Figures {
    /// Every device with its labels: the export has an empty `shadow`.
    fn devices(&self) -> impl Iterator<Item = (Labels, &LiveFigures)> {
        self.samples.iter().flat_map(|sample| {
            let own = (labels(sample, "", &sample.model.scheme), &sample.figures);
            let shadows = sample.shadows.iter().enumerate().filter_map(|(i, shadow)| {
                let scheme = &shadow.model.as_ref()?.scheme;
                let labels = labels(sample, &(i + 1).to_string(), scheme);
                Some((labels, shadow.figures.as_ref()?))
            });
            std::iter::once(own).chain(shadows)
        })
    }

    fn exports(&self) -> impl Iterator<Item = (Labels, &ExportSample)> {
        self.samples
            .iter()
            .map(|s| (vec![("export", s.name.clone())], s))
    }

    fn counters(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for one in COUNTERS {
            let all = self
                .devices()
                .filter_map(|(labels, figures)| Some((labels, (one.of)(&figures.counts)?)));
            let all: Vec<_> = all.collect();
            if !all.is_empty() {
                let help = one.meaning.trim_end_matches('.');
                counter(out, one.name, help, all.into_iter())?;
            }
        }
        let responses = self.devices().map(|(labels, f)| (labels, f.responses));
        counter(out, "responses", "Completed requests", responses)?;
        let of_export: [Row<ExportSample>; 3] = [
            ("power_cuts", "Power cuts", |s| s.power_cuts),
            (
                "replies",
                "Replies that left with a time of their own",
                |s| s.replies,
            ),
            (
                "replies_behind",
                "Replies that left more than 1 ms late",
                |s| s.replies_behind,
            ),
        ];
        for (name, help, of) in of_export {
            counter(
                out,
                name,
                help,
                self.exports().map(|(labels, s)| (labels, of(s))),
            )?;
        }
        let lost = self.exports().flat_map(|(labels, sample)| {
            sample.shadows.iter().enumerate().map(move |(i, shadow)| {
                let number = ("shadow", (i + 1).to_string());
                let labels = labels.iter().cloned().chain([number]).collect();
                (labels, shadow.lost_requests)
            })
        });
        counter(
            out,
            "shadow_lost_requests",
            "Requests that a shadow was not given",
            lost,
        )
    }

    fn gauges(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, of) in GAUGES {
            let all = self
                .devices()
                .map(|(labels, figures)| (labels, of(figures)));
            gauge(out, name, help, all)?;
        }
        let lists = self.devices().flat_map(|(labels, figures)| {
            let with = move |&(list, held): &(&str, u64)| {
                let list = ("list", list.to_owned());
                (labels.iter().cloned().chain([list]).collect(), held)
            };
            figures.lists.iter().map(with)
        });
        gauge(out, "list", "Entries of a list of the scheme", lists)?;
        let queues = self.devices().flat_map(|(labels, figures)| {
            let with = move |(chip, queue): (usize, &u32)| {
                let chip = ("chip", chip.to_string());
                (
                    labels.iter().cloned().chain([chip]).collect(),
                    u64::from(*queue),
                )
            };
            figures.queues.iter().enumerate().map(with)
        });
        gauge(
            out,
            "chip_queue",
            "Operations of the host that wait or are served",
            queues,
        )
    }

    fn responses(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (name, help) = ("response_seconds", "Response times in simulated time");
        let mut family = out.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, sample) in self.exports() {
            let kinds = [
                ("read", &sample.responses.reads),
                ("write", &sample.responses.writes),
            ];
            for (op, times) in kinds {
                let labels: Labels = labels
                    .iter()
                    .cloned()
                    .chain([("op", op.to_owned())])
                    .collect();
                let sum = times.mean() * times.len() as f64 / 1e9;
                family.encode_family(&labels)?.encode_histogram::<Labels>(
                    sum,
                    times.len(),
                    &buckets(times),
                    None,
                )?;
            }
        }
        Ok(())
    }
}

fn labels(sample: &ExportSample, shadow: &str, scheme: &str) -> Labels {
    vec![
        ("export", sample.name.clone()),
        ("shadow", shadow.to_owned()),
        ("scheme", scheme.to_owned()),
    ]
}

/// (upper bound in seconds, times in the bucket), the last one without a bound.
fn buckets(times: &Histogram<u64>) -> Vec<(f64, u64)> {
    let mut before = 0;
    let bounds = BUCKETS.iter().map(|&bound| (bound, (bound * 1e9) as u64));
    let all = bounds.chain([(f64::MAX, u64::MAX)]);
    all.map(|(bound, ns)| {
        let up_to = match ns {
            u64::MAX => times.len(),
            ns => times.count_between(0, ns),
        };
        let inside = up_to - before;
        before = up_to;
        (bound, inside)
    })
    .collect()
}

fn counter(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    all: impl Iterator<Item = (Labels, u64)>,
) -> fmt::Result {
    let mut family = out.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in all {
        ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn gauge(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    all: impl Iterator<Item = (Labels, u64)>,
) -> fmt::Result {
    let mut family = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in all {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.counters(&mut encoder)?;
        self.gauges(&mut encoder)?;
        self.responses(&mut encoder)
    }
}
