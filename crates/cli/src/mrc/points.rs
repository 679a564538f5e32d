//! The points of curves as a table, as lines of CSV and as JSON objects.

use destage_experiment::options::values::warmup_text;
use destage_experiment::options::{READ_FILL, word_of};
use destage_report::formats::read_as;
use destage_report::rows::csv_cell;
use destage_report::style::{alloc_note, shown_name};
use destage_report::table::{lines, or_dash, percent, plain};
use destage_sim::RunSpec;
use destage_sim::curve::{
    CurveCounts, CurvePoint, Estimate, GROUPS, LEAST_ACCESSES, Method, SampledCurve, SampledPoint,
};
use destage_trace::TraceMeta;
use destage_types::ByteSize;
use serde_json::{Map, Value, json};

/// A curve with what it is of.
pub struct SchemeCurve {
    /// Scheme and settings.
    pub base: RunSpec,
    /// The points.
    pub points: CurvePoints,
}

/// The points of a curve.
pub enum CurvePoints {
    /// As runs give them.
    Exact(Vec<CurvePoint>),
    /// From a sample.
    Sampled(SampledCurve),
}

/// A point of a curve.
#[derive(Clone, Copy)]
pub struct CurveValue {
    /// The cache size.
    pub cache: ByteSize,
    /// The value, for example a hit ratio.
    pub estimate: Estimate,
}

impl SchemeCurve {
    /// The page hit ratio of each point.
    pub fn page_hits(&self) -> Vec<CurveValue> {
        self.hits(CurveCounts::page_hit_ratio, |p| p.page_hit_ratio)
    }

    /// The same of reads.
    pub fn read_hits(&self) -> Vec<CurveValue> {
        self.hits(CurveCounts::read_page_hit_ratio, |p| p.read_page_hit_ratio)
    }

    /// The same of writes.
    pub fn write_hits(&self) -> Vec<CurveValue> {
        self.hits(CurveCounts::write_page_hit_ratio, |p| {
            p.write_page_hit_ratio
        })
    }

    fn hits(
        &self,
        exact: fn(&CurveCounts) -> Option<f64>,
        sampled: fn(&SampledPoint) -> Option<Estimate>,
    ) -> Vec<CurveValue> {
        match &self.points {
            CurvePoints::Exact(points) => {
                let point = |p: &CurvePoint| {
                    let estimate = Estimate::sure(exact(&p.counts)?);
                    Some(CurveValue {
                        cache: p.cache,
                        estimate,
                    })
                };
                points.iter().filter_map(point).collect()
            }
            CurvePoints::Sampled(curve) => {
                let point = |p: &SampledPoint| {
                    let estimate = sampled(p)?;
                    Some(CurveValue {
                        cache: p.cache,
                        estimate,
                    })
                };
                curve.points.iter().filter_map(point).collect()
            }
        }
    }

    fn objects(&self, trace: &TraceMeta) -> Vec<Map<String, Value>> {
        let spec = &self.base;
        let point = |cache: ByteSize, pages: u32, rest: Value| {
            let mut object = Map::new();
            object.insert("trace".to_owned(), json!(trace.name));
            object.insert("scheme".to_owned(), json!(spec.expr.to_string()));
            object.insert("cache_bytes".to_owned(), json!(cache.0));
            object.insert("cache_pages".to_owned(), json!(pages));
            object.insert("page_bytes".to_owned(), json!(spec.page.bytes()));
            if let Value::Object(rest) = rest {
                object.extend(rest);
            }
            let unit = trace.time_unit.map(|unit| unit.to_string());
            object.insert("format".to_owned(), json!(trace.format));
            object.insert("time_unit".to_owned(), json!(unit));
            object
        };
        match &self.points {
            CurvePoints::Exact(points) => points
                .iter()
                .map(|p| point(p.cache, p.pages, exact(p)))
                .collect(),
            CurvePoints::Sampled(curve) => curve
                .points
                .iter()
                .map(|p| point(p.cache, p.pages, sampled(curve, p)))
                .collect(),
        }
    }
}

fn exact(point: &CurvePoint) -> Value {
    let c = &point.counts;
    json!({
        "page_hit_ratio": c.page_hit_ratio(),
        "read_page_hit_ratio": c.read_page_hit_ratio(),
        "write_page_hit_ratio": c.write_page_hit_ratio(),
        "page_accesses": c.page_accesses(),
        "page_hits": c.page_hits(),
        "read_pages": c.read_pages,
        "read_page_hits": c.read_page_hits,
        "write_pages": c.write_pages,
        "write_page_hits": c.write_page_hits,
        "read_requests": c.read_requests,
        "read_request_hits": c.read_request_hits,
        "write_requests": c.write_requests,
        "write_request_hits": c.write_request_hits,
        "flash_writes_host": c.flash_writes_host,
        "method": method(point.method),
    })
}

fn method(method: Method) -> &'static str {
    match method {
        Method::OnePass => "one-pass",
        Method::Run => "run",
    }
}

fn sampled(curve: &SampledCurve, point: &SampledPoint) -> Value {
    let value = |estimate: Option<Estimate>| estimate.map(|e| e.value);
    let low = |estimate: Option<Estimate>| estimate.map(|e| e.low);
    let high = |estimate: Option<Estimate>| estimate.map(|e| e.high);
    let all = point.page_hit_ratio;
    let (reads, writes) = (point.read_page_hit_ratio, point.write_page_hit_ratio);
    json!({
        "page_hit_ratio": value(all),
        "page_hit_ratio_low": low(all),
        "page_hit_ratio_high": high(all),
        "read_page_hit_ratio": value(reads),
        "read_page_hit_ratio_low": low(reads),
        "read_page_hit_ratio_high": high(reads),
        "write_page_hit_ratio": value(writes),
        "write_page_hit_ratio_low": low(writes),
        "write_page_hit_ratio_high": high(writes),
        "sample_rate": curve.rate,
        "sampled_pages": curve.sampled_pages,
        "sampled_accesses": curve.sampled_accesses,
        "scaled_cache_pages": point.scaled_pages,
        "method": match point.by_run {
            true => method(Method::Run),
            false => "sampled",
        },
    })
}

/// Names of the curves in legends: hit ratios with and without read allocation are not alike.
pub fn names(curves: &[SchemeCurve]) -> Vec<String> {
    let alloc = |curve: &SchemeCurve| curve.base.resolved_read_alloc();
    let mixed = curves.iter().any(|curve| alloc(curve) != alloc(&curves[0]));
    let name = |curve: &SchemeCurve| {
        shown_name(&curve.base.expr.to_string()) + alloc_note(mixed, alloc(curve))
    };
    curves.iter().map(name).collect()
}

/// One JSON object per point.
pub fn jsonl(trace: &TraceMeta, curves: &[SchemeCurve]) -> String {
    let objects = curves.iter().flat_map(|curve| curve.objects(trace));
    objects
        .map(|o| Value::Object(o).to_string() + "\n")
        .collect()
}

/// A header, and one line per point.
pub fn csv(trace: &TraceMeta, curves: &[SchemeCurve]) -> String {
    let mut text = String::new();
    for object in curves.iter().flat_map(|curve| curve.objects(trace)) {
        if text.is_empty() {
            let names: Vec<&str> = object.keys().map(String::as_str).collect();
            text += &(names.join(",") + "\n");
        }
        let fields: Vec<String> = object.values().map(csv_cell).collect();
        text += &(fields.join(",") + "\n");
    }
    text
}

/// The points for people, with how they are to be read.
pub fn table(trace: &TraceMeta, curves: &[SchemeCurve]) -> String {
    let mut text = String::new();
    for curve in curves {
        text += &format!(
            "{}, {}\n\n",
            trace.name,
            shown_name(&curve.base.expr.to_string())
        );
        let (heads, rows) = curve.rows();
        let mut table = plain(&heads, 1);
        rows.into_iter().for_each(|row| table.add_row(row));
        text += &lines(&table);
        text += &format!("\n{}\n\n", reading(curve));
    }
    text.truncate(text.trim_end().len());
    let unit = trace.time_unit.map(|unit| unit.to_string());
    text + &format!("\nformat: {}\n", read_as(trace.format, unit.as_deref()))
}

const HEAD: [&str; 5] = ["cache", "pages", "page hit %", "read hit %", "write hit %"];

impl SchemeCurve {
    /// The heads and rows of its table.
    pub fn rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        match &self.points {
            CurvePoints::Exact(points) => (
                [&HEAD[..], &["flash writes", "found by"]].concat(),
                exact_rows(points),
            ),
            CurvePoints::Sampled(curve) => (HEAD.to_vec(), sampled_rows(curve)),
        }
    }
}

fn exact_rows(points: &[CurvePoint]) -> Vec<Vec<String>> {
    let row = |point: &CurvePoint| {
        let c: &CurveCounts = &point.counts;
        vec![
            point.cache.to_string(),
            point.pages.to_string(),
            or_dash(percent(c.page_hit_ratio())),
            or_dash(percent(c.read_page_hit_ratio())),
            or_dash(percent(c.write_page_hit_ratio())),
            c.flash_writes_host.to_string(),
            method(point.method).to_owned(),
        ]
    };
    points.iter().map(row).collect()
}

fn sampled_rows(curve: &SampledCurve) -> Vec<Vec<String>> {
    let cell = |point: &SampledPoint, estimate: Option<Estimate>| match estimate {
        None => "-".to_owned(),
        Some(e) if point.by_run => format!("{:.2}", 100.0 * e.value),
        Some(e) => format!(
            "{:.2} ({:.2} to {:.2})",
            100.0 * e.value,
            100.0 * e.low,
            100.0 * e.high
        ),
    };
    let row = |point: &SampledPoint| {
        vec![
            point.cache.to_string(),
            point.pages.to_string(),
            cell(point, point.page_hit_ratio),
            cell(point, point.read_page_hit_ratio),
            cell(point, point.write_page_hit_ratio),
        ]
    };
    curve.points.iter().map(row).collect()
}

/// The meaning of the figures.
pub fn reading(curve: &SchemeCurve) -> String {
    let spec = &curve.base;
    let mut text = format!(
        "reading: page {}, read allocation {}, read fill {}, no device, warm-up {}",
        ByteSize(spec.page.bytes()),
        if spec.resolved_read_alloc() {
            "on"
        } else {
            "off"
        },
        word_of(READ_FILL, spec.read_fill),
        warmup_text(spec.warmup),
    );
    match &curve.points {
        CurvePoints::Exact(points) => {
            let runs = points.iter().filter(|p| p.method == Method::Run).count();
            text += &format!(
                "\nexact: {} sizes in one pass, {runs} by a run each",
                points.len() - runs
            );
            if runs > 0 && spec.expr.scheme().recency_stack {
                text += match spec.resolved_read_alloc() {
                    true => {
                        " (there a read met a page without all of its sectors, or a TRIM took a \
                         part of a page: what LRU then does depends on the size)"
                    }
                    false => " (without read allocation LRU needs a run per size)",
                };
            }
        }
        CurvePoints::Sampled(s) => {
            text += &format!(
                "\nestimated from {} pages ({:.4} % of them by hash, seed {}) with {} accesses; in \
                 brackets the 95 % confidence interval, by a jackknife over {GROUPS} groups of pages",
                s.sampled_pages,
                100.0 * s.rate,
                spec.seed,
                s.sampled_accesses,
            );
            if s.points.iter().any(|point| point.by_run) {
                text +=
                    "\nwithout an interval: by runs over all pages, which correct the other sizes";
            }
            let lacks = |p: &SampledPoint| {
                let ratios = [
                    p.page_hit_ratio,
                    p.read_page_hit_ratio,
                    p.write_page_hit_ratio,
                ];
                ratios.contains(&None)
            };
            if s.points.iter().any(lacks) {
                text += &format!(
                    "\n-: the sample has less than one page of the cache, fewer than the scheme needs, or fewer than \
                     {LEAST_ACCESSES} such accesses; a larger one tells more"
                );
            }
        }
    }
    text
}
