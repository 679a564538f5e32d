//! The charts of one group of runs.

use crate::distinctions::DataUnit;
use crate::figures::Better;
use crate::html::chart::{Chart, ChartAxis, ChartKind, ChartPanel, ChartSeries, ChartUnit};
use crate::html::figures::{FIGURES, HITS, RESPONSE, ReportFigure};
use crate::html::group::{ReportedRun, RunGroup, ShownScheme};
use crate::html::heat;
use crate::html::page::ReportPage;
use crate::html::relative;
use crate::style::SeriesLook;
use destage_record::profile::SLOWER_PPM;
use destage_record::{ResultRecord, SeriesRow};

/// Puts the charts of `group` on the page: those that answer first, and the others in folds.
pub fn draw(page: &mut ReportPage, group: &RunGroup<'_>) {
    let first = [front(group), over_sizes(group, &HITS)];
    first.iter().flatten().for_each(|chart| page.chart(chart));
    let mut sizes = vec![relative::over_sizes(group)];
    let others = FIGURES.iter().filter(|figure| figure.name != HITS.name);
    sizes.extend(others.map(|figure| over_sizes(group, figure)));
    let tails = [
        tail(group, 0, "response time of reads"),
        tail(group, 1, "response time of writes"),
    ];
    let traffic = [
        eviction_sizes(group),
        by_cause(group, "programmed, by cause", PROGRAMS),
        by_cause(group, "read from flash, by cause", READS),
    ];
    let mut course: Vec<_> = OVER_TIME.iter().map(|c| over_time(group, c)).collect();
    course.push(lists(group));
    for (title, charts) in [
        ("All figures by cache size", sizes),
        ("Distribution of response times", tails.into()),
        ("Evictions and flash traffic", traffic.into()),
        ("Over time", course),
        ("Load and wear of the chips", heat::charts(group).into()),
    ] {
        let charts: Vec<Chart> = charts.into_iter().flatten().collect();
        page.folded_charts(title, &charts);
    }
}

/// Mean response time against what is written to flash: a point for each scheme, a panel for each cache size.
fn front(group: &RunGroup<'_>) -> Option<Chart> {
    let panel = |&size: &u64| {
        let point = |scheme: &&ShownScheme| {
            let record = &group.run(scheme, size)?.record;
            let bytes = record.counts.flash_programs() as f64 * record.page_bytes as f64;
            Some((bytes, (RESPONSE.of)(record)?))
        };
        let points = group.schemes.iter().filter_map(|s| Some((*s, point(s)?)));
        let points: Vec<(&ShownScheme, (f64, f64))> = points.collect();
        let series = points.iter().enumerate().map(|(i, (scheme, (_, y)))| {
            let at = |j| (j == i).then_some(*y);
            ChartSeries::new(
                &scheme.name,
                scheme.look,
                (0..points.len()).map(at).collect(),
            )
        });
        let x = points.iter().map(|(_, (x, _))| *x).collect();
        ChartPanel::new(&RunGroup::size_text(size), x, Vec::new(), series.collect())
    };
    Chart {
        chosen: group.sizes.len() / 2,
        better: Better::Smaller,
        ..Chart::new(
            ChartKind::Scatter,
            "response time against flash writes",
            "Left writes less to flash, below answers faster. No scheme beats those on the dashed line in both.",
            ChartAxis::new("bytes programmed for any cause", ChartUnit::Bytes),
            ChartAxis::new("mean response time", ChartUnit::Ns),
        )
    }
    .with_panels(group.sizes.iter().map(panel).collect())
    .filter(|_| group.schemes.len() > 1)
}

/// Points from which on a line says more than bars.
const LINE_POINTS: usize = 3;

/// A figure over the cache size: curves, or bars if there are few sizes.
fn over_sizes(group: &RunGroup<'_>, figure: &ReportFigure) -> Option<Chart> {
    let of = |scheme: &&ShownScheme| {
        let values = group
            .sizes
            .iter()
            .map(|&size| group.value(scheme, size, figure));
        ChartSeries::new(&scheme.name, scheme.look, values.collect())
    };
    let x = group.sizes.iter().map(|&s| s as f64).collect();
    let name = figure.name(group.unit);
    let kind = match group.sizes.len() < LINE_POINTS {
        true => ChartKind::Bars,
        false => ChartKind::Lines,
    };
    Chart {
        better: figure.better,
        ..Chart::new(
            kind,
            &name,
            figure.about,
            ChartAxis::new("cache size", ChartUnit::Bytes),
            ChartAxis::new(&name, figure.unit(group.unit)),
        )
    }
    .with_panel(
        x,
        group.size_labels(),
        group.schemes.iter().map(of).collect(),
    )
}

/// The line of a run in a chart.
struct RunLine {
    /// Numbers of the horizontal axis, the same for all runs of a size.
    x: Vec<f64>,
    /// A value for each of them.
    y: Vec<Option<f64>>,
}

/// Panels by cache size; `of` gives the line of a run.
fn by_size(group: &RunGroup<'_>, of: impl Fn(&ReportedRun) -> Option<RunLine>) -> Vec<ChartPanel> {
    let mut panels: Vec<ChartPanel> = Vec::new();
    for &size in &group.sizes {
        let label = RunGroup::size_text(size);
        for scheme in &group.schemes {
            let Some(RunLine { x, y }) = group.run(scheme, size).and_then(&of) else {
                continue;
            };
            let series = ChartSeries::new(&scheme.name, scheme.look, y);
            match panels.iter_mut().find(|p| p.label == label && p.x == x) {
                Some(panel) => panel.series.extend(series.has_value().then_some(series)),
                None => panels.push(ChartPanel::new(&label, x, Vec::new(), vec![series])),
            }
        }
    }
    panels
}

fn tail(group: &RunGroup<'_>, kind: usize, title: &str) -> Option<Chart> {
    let of = |run: &ReportedRun| {
        let tail = &run.charts.as_ref()?.profile.tails[kind];
        let times = tail.iter().map(|time| time.map(|ns| ns as f64));
        let slower = SLOWER_PPM.iter().map(|&ppm| f64::from(ppm) / 1e6);
        (!tail.is_empty()).then(|| RunLine {
            x: slower.collect(),
            y: times.collect(),
        })
    };
    Chart {
        chosen: group.sizes.len() / 2,
        better: Better::Smaller,
        ..Chart::new(
            ChartKind::Tail,
            title,
            "Which share of the requests is done in which time; both axes are logarithmic, so that the tail \
             shows. Further left is better.",
            ChartAxis::new("percentile", ChartUnit::Percent),
            ChartAxis::new("response time", ChartUnit::Ns),
        )
    }
    .with_panels(by_size(group, of))
}

/// A chart of what changes in the course of a run.
struct Course {
    title: &'static str,
    about: &'static str,
    unit: ChartUnit,
    /// The value of an interval.
    of: fn(&SeriesRow) -> Option<f64>,
}

const OVER_TIME: [Course; 4] = [
    Course {
        title: "page hit ratio over time",
        about: "In each of a hundred intervals of the measured part.",
        unit: ChartUnit::Percent,
        of: |row| row.page_hit_ratio,
    },
    Course {
        title: "mean response time over time",
        about: "Of the requests that were completed in the interval.",
        unit: ChartUnit::Ns,
        of: |row| row.latency_mean_ns,
    },
    Course {
        title: "imbalance of the chip queues over time",
        about: "Longest over mean time until a chip's queue is empty, mean over the dirty evictions of the interval: 1 \
         is balanced, the number of chips is one chip alone.",
        unit: ChartUnit::Ratio,
        of: |row| row.unbalance_mean,
    },
    Course {
        title: "dirty pages in the cache over time",
        about: "Share of the cached pages at the end of the interval.",
        unit: ChartUnit::Percent,
        of: |row| (row.cached_pages > 0).then(|| row.dirty_pages as f64 / row.cached_pages as f64),
    },
];

fn over_time(group: &RunGroup<'_>, course: &Course) -> Option<Chart> {
    let title = course.title;
    let rows = |run: &ReportedRun| {
        let rows = &run.charts.as_ref()?.rows;
        let x = rows.iter().map(|row| row.request as f64).collect();
        let y = rows.iter().map(course.of).collect();
        Some(RunLine { x, y })
    };
    Chart {
        chosen: group.sizes.len() / 2,
        ..Chart::new(
            ChartKind::Lines,
            title,
            course.about,
            ChartAxis::new("request", ChartUnit::Count),
            ChartAxis::new(title.trim_end_matches(" over time"), course.unit),
        )
    }
    .with_panels(by_size(group, rows))
}

/// Occupancy of the lists of Req-block, a panel for each run that has them.
fn lists(group: &RunGroup<'_>) -> Option<Chart> {
    type List = (&'static str, fn(&SeriesRow) -> Option<u64>);
    let names: [List; 3] = [("IRL", |r| r.irl), ("SRL", |r| r.srl), ("DRL", |r| r.drl)];
    let panel = |run: &&ReportedRun| {
        let rows = &run.charts.as_ref()?.rows;
        let series = names.iter().enumerate().map(|(i, (name, of))| {
            let pages = rows.iter().map(|row| of(row).map(|n| n as f64)).collect();
            ChartSeries::new(name, SeriesLook::Number(i), pages)
        });
        let x = rows.iter().map(|row| row.request as f64).collect();
        Some(ChartPanel::new(
            &group.run_name(run),
            x,
            Vec::new(),
            series.collect(),
        ))
    };
    let panels: Vec<ChartPanel> = group.runs.iter().filter_map(panel).collect();
    Chart {
        own_legend: true,
        ..Chart::new(
            ChartKind::Areas,
            "list occupancy over time",
            "Pages in the lists of Req-block at the end of each interval.",
            ChartAxis::new("request", ChartUnit::Count),
            ChartAxis::new("pages", ChartUnit::Count),
        )
    }
    .with_panels(panels)
}

/// Shares of evictions by the number of pages that leave, in classes that double.
fn eviction_sizes(group: &RunGroup<'_>) -> Option<Chart> {
    let class = |pages: u64| pages.max(1).next_power_of_two().trailing_zeros() as usize;
    let rows = group
        .runs
        .iter()
        .flat_map(|r| &r.record.evict_pages_histogram);
    let classes = rows.map(|row| class(row.0)).max()? + 1;
    let label = |c: usize| match c {
        0 => "1".to_owned(),
        1 => "2".to_owned(),
        c => format!("{}-{}", (1u64 << (c - 1)) + 1, 1u64 << c),
    };
    let labels: Vec<String> = (0..classes).map(label).collect();
    let panel = |&size: &u64| {
        let of = |scheme: &&ShownScheme| {
            let rows = group
                .run(scheme, size)
                .map(|r| &r.record.evict_pages_histogram[..]);
            let rows = rows.unwrap_or_default();
            let all: u64 = rows.iter().map(|row| row.1).sum();
            let mut shares = vec![0; classes];
            rows.iter()
                .for_each(|&(pages, n)| shares[class(pages)] += n);
            let share = |&n: &u64| (n > 0).then(|| n as f64 / all as f64);
            ChartSeries::new(
                &scheme.name,
                scheme.look,
                shares.iter().map(share).collect(),
            )
        };
        let series = group.schemes.iter().map(of).collect();
        ChartPanel::new(
            &RunGroup::size_text(size),
            Vec::new(),
            labels.clone(),
            series,
        )
    };
    Chart {
        chosen: group.sizes.len() / 2,
        ..Chart::new(
            ChartKind::Bars,
            "eviction sizes",
            "Share of the evictions that remove so many pages.",
            ChartAxis::new("pages that leave together", ChartUnit::Count),
            ChartAxis::new("share of evictions", ChartUnit::Percent),
        )
    }
    .with_panels(group.sizes.iter().map(panel).collect())
}

/// The name of a cause and its pages.
type Cause = (&'static str, fn(&ResultRecord) -> Option<u64>);

const PROGRAMS: &[Cause] = &[
    ("evictions", |r| Some(r.counts.flash_writes_evict)),
    ("bypass", |r| Some(r.counts.flash_writes_bypass)),
    ("FLUSH", |r| Some(r.counts.flash_writes_flush)),
    ("padding", |r| Some(r.counts.flash_writes_padding)),
    ("background", |r| r.counts.background_writes),
    ("garbage collection", |r| r.counts.flash_writes_gc),
    ("summary pages", |r| r.counts.flash_writes_meta),
];

const READS: &[Cause] = &[
    ("read misses", |r| Some(r.counts.flash_reads_miss)),
    ("partial pages", |r| Some(r.counts.flash_reads_rmw)),
    ("padding", |r| Some(r.counts.flash_reads_padding)),
    ("garbage collection", |r| r.counts.flash_reads_gc),
];

/// An axis of amounts of data.
pub fn data_axis(unit: DataUnit) -> ChartAxis {
    match unit {
        DataUnit::Pages => ChartAxis::new("pages", ChartUnit::Count),
        DataUnit::Bytes => ChartAxis::new("bytes", ChartUnit::Bytes),
    }
}

/// Flash traffic of each scheme, its causes on top of each other.
fn by_cause(group: &RunGroup<'_>, title: &str, causes: &[Cause]) -> Option<Chart> {
    let panel = |&size: &u64| {
        let runs = group
            .schemes
            .iter()
            .filter_map(|s| Some((s, group.run(s, size)?)));
        let runs: Vec<_> = runs.collect();
        let of = |(i, (name, of)): (usize, &Cause)| {
            let amount = |(_, run): &(_, &ReportedRun)| {
                let pages = of(&run.record).filter(|n| *n > 0)?;
                Some(group.unit.amount(&run.record, pages as f64))
            };
            let amounts = runs.iter().map(amount).collect();
            ChartSeries::new(name, SeriesLook::Number(i), amounts)
        };
        let labels = runs.iter().map(|(scheme, _)| scheme.name.clone()).collect();
        let series = causes.iter().enumerate().map(of).collect();
        ChartPanel::new(&RunGroup::size_text(size), Vec::new(), labels, series)
    };
    let data = data_axis(group.unit);
    Chart {
        own_legend: true,
        chosen: group.sizes.len() / 2,
        ..Chart::new(
            ChartKind::Stack,
            &format!("{} {title}", data.name),
            "",
            ChartAxis::new("scheme", ChartUnit::Ratio),
            data,
        )
    }
    .with_panels(group.sizes.iter().map(panel).collect())
}
