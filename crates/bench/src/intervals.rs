//! How many intervals of sampled curves contain the truth, and how wide they are.

use anyhow::Context;
use destage_scheme::{Expr, Role, registry};
use destage_sim::curve::{
    Curve, CurveError, CurvePoint, SampleSize, SampledPoint, Sampling, footprint,
};
use destage_sim::{RunSpec, SweepProgress, Unmetered};
use destage_trace::{LoadOptions, Source, Trace, load};
use destage_types::ByteSize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const RATES: [f64; 4] = [0.1, 0.05, 0.02, 0.01];
/// Cache sizes, in percent of the pages that the trace touches.
const PERCENT: [u64; 6] = [1, 3, 10, 25, 50, 80];

/// Intervals that were compared with the exact ratio.
#[derive(Clone, Default)]
struct Intervals {
    covered: usize,
    /// Half of each width.
    widths: Vec<f64>,
}

impl Intervals {
    fn add(&mut self, other: &Intervals) {
        self.covered += other.covered;
        self.widths.extend(&other.widths);
    }

    fn compare(&mut self, sampled: &SampledPoint, exact: &CurvePoint) {
        let counts = &exact.counts;
        for (estimate, truth) in [
            (sampled.page_hit_ratio, counts.page_hit_ratio()),
            (sampled.read_page_hit_ratio, counts.read_page_hit_ratio()),
            (sampled.write_page_hit_ratio, counts.write_page_hit_ratio()),
        ] {
            // A run over all pages has no interval.
            if let (Some(e), Some(truth), false) = (estimate, truth, sampled.by_run) {
                // Beyond what real numbers round to.
                let inside = e.low - 1e-9 <= truth && truth <= e.high + 1e-9;
                self.covered += usize::from(inside);
                self.widths.push((e.high - e.low) / 2.0);
            }
        }
    }

    /// Share of the intervals that contain the truth.
    fn coverage(&self) -> f64 {
        self.covered as f64 / self.widths.len().max(1) as f64
    }

    fn text(&self) -> String {
        let mut widths = self.widths.clone();
        widths.sort_by(f64::total_cmp);
        match widths.get(widths.len() / 2) {
            None => "-".to_owned(),
            Some(median) => format!("{:.1} % ±{:.1}", 100.0 * self.coverage(), 100.0 * median),
        }
    }
}

/// A scheme, and the number of a rate.
type Column<'a> = (&'a str, usize);

/// A Markdown table of the curves of the traces in `folder`, of at most `limit` requests each, from samples of `seeds` seeds, against the exact ones:
/// coverage and median half width in points, of each scheme at each rate. All schemes of single pages if none is named.
pub fn intervals(
    folder: &Path,
    schemes: &[String],
    seeds: u64,
    limit: Option<u64>,
) -> anyhow::Result<String> {
    let all = registry::SCHEMES
        .iter()
        .filter(|s| matches!(s.role, Role::PagePolicy | Role::Offline) && s.build.is_some());
    let schemes: Vec<&str> = match schemes.is_empty() {
        true => all.map(|s| s.name).collect(),
        false => schemes.iter().map(String::as_str).collect(),
    };
    let entries = std::fs::read_dir(folder).context("no folder of traces")?;
    let mut paths: Vec<_> = entries
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    let options = LoadOptions {
        limit,
        ..LoadOptions::default()
    };
    let mut columns: BTreeMap<Column<'_>, Intervals> = BTreeMap::new();
    let mut cells = Vec::new();
    for path in paths.iter().filter(|path| path.is_file()) {
        // A folder of traces has other files, too.
        let Ok(trace) = load(Source::from_arg(path), &options) else {
            continue;
        };
        for &scheme in &schemes {
            let found = of_trace(&trace, scheme, seeds)?;
            let mut cell = Intervals::default();
            for (rate, found) in found.iter().enumerate() {
                columns.entry((scheme, rate)).or_default().add(found);
                cell.add(found);
            }
            eprintln!("{}, {scheme}: {}", trace.meta.name, cell.text());
            cells.push((format!("{}, `{scheme}`", trace.meta.name), cell));
        }
    }
    Ok(table(&schemes, &columns, &cells))
}

fn table(
    schemes: &[&str],
    columns: &BTreeMap<Column<'_>, Intervals>,
    cells: &[(String, Intervals)],
) -> String {
    let mut text = "| scheme |".to_owned();
    RATES.iter().for_each(|rate| _ = write!(text, " {rate} |"));
    text += &format!("\n|--|{}\n", "--:|".repeat(RATES.len()));
    let mut sums = RATES.map(|_| Intervals::default());
    for &scheme in schemes {
        _ = write!(text, "| `{scheme}` |");
        for (rate, sum) in sums.iter_mut().enumerate() {
            let found = columns.get(&(scheme, rate)).cloned().unwrap_or_default();
            _ = write!(text, " {} |", found.text());
            sum.add(&found);
        }
        text.push('\n');
    }
    text += "| all |";
    sums.iter()
        .for_each(|sum| _ = write!(text, " {} |", sum.text()));
    text += "\n\nintervals at each rate:";
    sums.iter()
        .for_each(|sum| _ = write!(text, " {}", sum.widths.len()));
    let measured = cells.iter().filter(|(_, cell)| !cell.widths.is_empty());
    let lowest = measured.min_by(|a, b| a.1.coverage().total_cmp(&b.1.coverage()));
    if let Some((name, cell)) = lowest {
        _ = write!(
            text,
            "\nlowest coverage of a scheme on a trace: {name}, {}",
            cell.text()
        );
    }
    text
}

/// The intervals at each rate.
fn of_trace(trace: &Trace, scheme: &str, seeds: u64) -> anyhow::Result<Vec<Intervals>> {
    let base = RunSpec::cache_only(Expr::parse(scheme)?, ByteSize(0));
    let pages = footprint(trace.into(), base.page, &Unmetered)?;
    let size = |percent: u64| ByteSize((pages * percent / 100).max(1) * base.page.bytes());
    let mut sizes: Vec<ByteSize> = PERCENT.into_iter().map(size).collect();
    let spec = |cache| RunSpec {
        cache,
        ..base.clone()
    };
    sizes.retain(|&cache| spec(cache).check().is_ok());
    let curve = Curve {
        trace: trace.into(),
        base: &base,
        sizes: &sizes,
        jobs: 1,
        progress: &SweepProgress::default(),
        meter: &Unmetered,
    };
    let exact = curve.exact()?;
    let mut found = Vec::with_capacity(RATES.len());
    for rate in RATES {
        let mut intervals = Intervals::default();
        for seed in 1..=seeds {
            let size = SampleSize::Rate(rate);
            let sampled = match curve.sampled(&Sampling { size, seed }) {
                Err(CurveError::EmptySample { .. } | CurveError::NotSampled(_)) => continue,
                sampled => sampled?,
            };
            for (sampled, exact) in sampled.points.iter().zip(&exact) {
                intervals.compare(sampled, exact);
            }
        }
        found.push(intervals);
    }
    Ok(found)
}
