//! `--report`: one HTML file with tables and charts that needs nothing else to be shown.

mod chart;

use crate::failure::Failure;
use crate::output::figures::{Figure, figures};
use crate::output::file;
use crate::output::{Readings, details, table};
use crate::run::Settings;
use crate::series_style::colour;
use chart::{ChartLine, over_cache_size};
use destage_sim::ResultRecord;
use std::path::{Path, PathBuf};

/// A report that will be written.
pub struct HtmlReport {
    path: PathBuf,
    title: String,
    records: Vec<ResultRecord>,
}

impl HtmlReport {
    /// Makes sure that `path` can be written.
    ///
    /// # Errors
    /// It cannot.
    pub fn open(path: &Path, title: &str) -> Result<HtmlReport, Failure> {
        file::check(path).map_err(|error| {
            let place = path.display();
            Failure::usage(format!("--report {place}: cannot create it: {error}"))
        })?;
        Ok(HtmlReport {
            path: path.to_owned(),
            title: title.to_owned(),
            records: Vec::new(),
        })
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &ResultRecord) {
        self.records.push(record.clone());
    }

    /// Writes the report.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> Result<(), Failure> {
        let text = html(&self.title, &self.records);
        let place = self.path.display();
        file::write_file(&self.path, &text)
            .map_err(|error| Failure::Run(format!("cannot write {place}: {error}")))
    }
}

pub const STYLE: &str = "
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 1180px; margin: 24px auto;
  padding: 0 16px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 32px 0 8px; }
h3 { font-size: 15px; margin: 24px 0 4px; }
.about { color: #555; margin: 0 0 16px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 12px 0; }
th { text-align: right; font-weight: 600; border-bottom: 2px solid #999; padding: 4px 10px;
  vertical-align: bottom; }
td { text-align: right; border-bottom: 1px solid #ddd; padding: 3px 10px; white-space: nowrap; }
th.l, td.l { text-align: left; }
tr.new td { border-top: 2px solid #bbb; }
.best { font-weight: 700; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 12px; }
.charts svg { width: 100%; height: auto; }
.legend { margin: 8px 0; } .legend span { display: inline-block; margin-right: 18px; }
.legend i { display: inline-block; width: 14px; height: 14px; border-radius: 3px;
  margin-right: 6px; vertical-align: -2px; }
pre { white-space: pre-wrap; color: #444; font-size: 13px; background: #f6f6f6; padding: 10px; }
@media print { .charts { grid-template-columns: 1fr 1fr; } }
";

/// The page.
fn html(title: &str, records: &[ResultRecord]) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escaped(title)
    );
    if let Some(first) = records.first() {
        page += &format!(
            "<p class=\"about\">destage {}, {} runs</p>\n",
            escaped(&first.version),
            records.len()
        );
    }
    let readings = Readings::of(records);
    let mut traces: Vec<&str> = Vec::new();
    for record in records {
        if !traces.contains(&record.trace.name.as_str()) {
            traces.push(&record.trace.name);
        }
    }
    for trace in traces {
        let of = |r: &&ResultRecord| r.trace.name == trace;
        page += &section(&records.iter().filter(of).collect::<Vec<_>>(), &readings);
    }
    let mut notes = readings.lines();
    notes.extend(records.first().and_then(|r| Settings::line(&r.config)));
    notes.push(NOTES.to_owned());
    page += &format!(
        "<h2>Notes</h2>\n<pre>{}</pre>\n",
        escaped(&notes.join("\n"))
    );
    page + "</body>\n</html>\n"
}

const NOTES: &str = "\
page, read and write hit: hit pages / accessed pages; the best of each cache size is bold
pages/eviction: pages removed by one eviction; flash writes: programs for the host
mean, p99: response time of all requests; write amplification: all programs / pages written by the \
host";

/// Charts and table of one trace.
fn section(records: &[&ResultRecord], readings: &Readings<'_>) -> String {
    let Some(first) = records.first() else {
        return String::new();
    };
    let mut text = format!("<h2>{}</h2>\n", escaped(&first.trace.name));
    text += &format!(
        "<p class=\"about\">{} requests, page {} B, device {}</p>\n",
        first.trace.requests,
        first.page_bytes,
        escaped(&first.device)
    );
    let mut schemes: Vec<&str> = Vec::new();
    for record in records {
        if !schemes.contains(&record.scheme.as_str()) {
            schemes.push(&record.scheme);
        }
    }
    text += "<div class=\"legend\">";
    for (i, scheme) in schemes.iter().enumerate() {
        let c = colour(i);
        text += &format!(
            "<span><i style=\"background: rgb({}, {}, {})\"></i>{}</span>",
            c.0,
            c.1,
            c.2,
            escaped(scheme)
        );
    }
    text += "</div>\n<div class=\"charts\">\n";
    text += &charts(records, &schemes);
    text += "</div>\n";
    text += &rows(records, readings);
    for part in details::tables(records) {
        text += &detail(&part, records, readings);
    }
    text
}

/// A table of one subject below the main one.
fn detail(
    part: &details::DetailTable,
    records: &[&ResultRecord],
    readings: &Readings<'_>,
) -> String {
    let class = |left: bool| if left { " class=\"l\"" } else { "" };
    let mut text = format!(
        "<h3>{}</h3>\n<table>\n<tr><th class=\"l\">scheme</th><th class=\"l\">cache</th>",
        escaped(part.title)
    );
    for (i, head) in part.header.iter().enumerate() {
        text += &format!("<th{}>{}</th>", class(i < part.text_columns), escaped(head));
    }
    text += "</tr>\n";
    let mut before = None;
    for (number, cells) in &part.rows {
        let record = records[*number];
        let (mut scheme, mut cache) = (record.scheme.clone(), table::cache(record));
        scheme += &readings.mark(record);
        if before == Some(number) {
            scheme.clear();
            cache.clear();
        }
        before = Some(number);
        text += &format!(
            "<tr><td class=\"l\">{}</td><td class=\"l\">{cache}</td>",
            escaped(&scheme)
        );
        for (i, cell) in cells.iter().enumerate() {
            text += &format!("<td{}>{}</td>", class(i < part.text_columns), escaped(cell));
        }
        text += "</tr>\n";
    }
    text + "</table>\n"
}

type Measure = fn(&ResultRecord) -> Option<f64>;

fn charts(records: &[&ResultRecord], schemes: &[&str]) -> String {
    let percent: &dyn Fn(f64) -> String = &|v| format!("{} %", short((1e3 * v).round() / 10.0));
    let ms: &dyn Fn(f64) -> String = &|v| short(v / 1e6);
    let count: &dyn Fn(f64) -> String = &|v| match v {
        v if v >= 1e6 => format!("{} M", short(v / 1e6)),
        v if v >= 1e4 => format!("{} k", short(v / 1e3)),
        v => format!("{v:.0}"),
    };
    let ratio: &dyn Fn(f64) -> String = &|v| short(v);
    let erases = records
        .iter()
        .any(|r| r.counts.erases.is_some_and(|n| n > 0));
    let wanted: [(&str, Measure, chart::Tick<'_>); 8] = [
        ("page hit ratio", |r| r.ratios.page_hit_ratio, percent),
        ("mean response time in ms", |r| r.latency_ns?.all.mean, ms),
        (
            "99th percentile of the response time in ms",
            |r| r.latency_ns?.all.p99.map(|p| p as f64),
            ms,
        ),
        (
            "flash writes for the host",
            |r| Some(r.counts.flash_writes_host as f64),
            count,
        ),
        ("pages per eviction", |r| r.evict_pages_mean, ratio),
        ("write amplification", |r| r.ratios.waf, ratio),
        (
            "mean wait of evictions in ms",
            |r| r.evict_wait_ns?.mean,
            ms,
        ),
        ("block erases", |r| r.counts.erases.map(|n| n as f64), count),
    ];
    let wanted = &wanted[..if erases { 8 } else { 7 }];
    let mut text = String::new();
    for &(title, measure, tick) in wanted {
        let lines: Vec<ChartLine> = schemes
            .iter()
            .enumerate()
            .map(|(number, scheme)| line(number, scheme, records, measure))
            .filter(|line| !line.points.is_empty())
            .collect();
        if let Some(svg) = over_cache_size(title, &lines, tick) {
            text += &format!("<div>{svg}</div>\n");
        }
    }
    text
}

/// A number with at most three decimals, and no zeros at its end.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A scheme without a cache has the same value at every size.
fn line(number: usize, scheme: &str, records: &[&ResultRecord], measure: Measure) -> ChartLine {
    let of = |r: &&&ResultRecord| r.scheme == scheme;
    let mut points: Vec<(u64, f64)> = Vec::new();
    for record in records.iter().filter(of) {
        let Some(value) = measure(record) else {
            continue;
        };
        match record.cache_pages {
            0 => {
                let sizes = records.iter().map(|r| r.cache_bytes).filter(|&s| s > 0);
                points.extend(sizes.map(|size| (size, value)));
            }
            _ => points.push((record.cache_bytes, value)),
        }
    }
    points.sort_unstable_by_key(|p| p.0);
    points.dedup_by_key(|p| p.0);
    ChartLine { number, points }
}

fn rows(records: &[&ResultRecord], readings: &Readings<'_>) -> String {
    let figures: Vec<&Figure> = figures(records.iter().copied()).collect();
    let mut text =
        String::from("<table>\n<tr><th class=\"l\">cache</th><th class=\"l\">scheme</th>");
    for figure in &figures {
        text += &format!("<th>{}</th>", figure.head);
    }
    text += "</tr>\n";
    let mut sorted = records.to_vec();
    // Stable: schemes keep their order within a size.
    sorted.sort_by_key(|r| r.cache_bytes);
    let mut size = None;
    for r in &sorted {
        let hit = r.ratios.page_hit_ratio;
        let peers = sorted.iter().filter(|p| p.cache_bytes == r.cache_bytes);
        let best = peers
            .filter_map(|p| p.ratios.page_hit_ratio)
            .fold(0.0, f64::max);
        let is_best = hit.is_some_and(|hit| hit > 0.0 && hit >= best);
        let class = if size.is_some() && size != Some(r.cache_bytes) {
            " class=\"new\""
        } else {
            ""
        };
        size = Some(r.cache_bytes);
        text += &format!(
            "<tr{class}><td class=\"l\">{}</td><td class=\"l\">{}{}</td>",
            table::cache(r),
            escaped(&r.scheme),
            readings.mark(r)
        );
        for (i, figure) in figures.iter().enumerate() {
            let class = if i == 0 && is_best {
                " class=\"best\""
            } else {
                ""
            };
            text += &format!("<td{class}>{}</td>", figure.cell(r));
        }
        text += "</tr>\n";
    }
    text + "</table>\n"
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_page() {
        assert_eq!(escaped("<b>&\"x\""), "&lt;b&gt;&amp;&quot;x&quot;");
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(
            [0.0, 20.0, 2.5, 0.125].map(short),
            ["0", "20", "2.5", "0.125"]
        );
    }

    #[test]
    fn one_size_gives_bars_and_several_give_curves() {
        let line = |points: &[(u64, f64)]| {
            let points = points.to_vec();
            ChartLine { number: 0, points }
        };
        let tick: chart::Tick<'_> = &|v| format!("{v:.1}");
        let curve = over_cache_size("t", &[line(&[(1 << 20, 0.5), (1 << 22, 0.7)])], tick);
        let curve = curve.unwrap();
        assert!(
            curve.starts_with("<svg") && curve.contains("<polyline"),
            "{curve}"
        );
        assert!(curve.contains("1MiB") && curve.contains("4MiB"), "{curve}");
        let bars = over_cache_size("t", &[line(&[(1 << 20, 0.5)])], tick).unwrap();
        assert!(!bars.contains("<polyline points"), "{bars}");
        assert!(over_cache_size("t", &[line(&[])], tick).is_none());
        assert!(over_cache_size("t", &[line(&[(1, 0.0), (2, 0.0)])], tick).is_some());
    }
}
