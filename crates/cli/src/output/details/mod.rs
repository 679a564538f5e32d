//! Tables of what a record holds beside the figures of the main table: one per subject.

mod device;

use super::Readings;
use super::table::{cache, lines, percent, plain};
use destage_sim::ResultRecord;
use destage_sim::record::{Latency, ListPages};

/// A table of one subject.
pub struct Part {
    /// What it is about, with the unit if all columns have the same.
    pub title: &'static str,
    /// Heads of the columns behind scheme and cache.
    pub header: Vec<&'static str>,
    /// Number of the record and the cells of a row.
    pub rows: Vec<(usize, Vec<String>)>,
    /// Columns at the left that are text.
    pub text_columns: usize,
}

/// The tables of `records`, without those in which no record has anything to say.
pub fn parts(records: &[&ResultRecord]) -> Vec<Part> {
    let all = [
        hits(records),
        response(records),
        evictions(records),
        batches(records),
        reads(records),
        programs(records),
        device::region(records),
        device::background(records),
        device::collection(records),
        device::wear(records),
        device::energy(records),
        device::load(records),
        device::queues(records),
        final_flush(records),
        metadata(records),
        own(records),
    ];
    all.into_iter()
        .filter(|part| !part.rows.is_empty())
        .collect()
}

/// The tables of `records` for people, a blank line before each.
pub fn text(records: &[ResultRecord]) -> String {
    let readings = Readings::of(records);
    let all: Vec<&ResultRecord> = records.iter().collect();
    let several = records.iter().any(|r| r.trace.name != all[0].trace.name);
    let mut text = String::new();
    for part in parts(&all) {
        let mut header = vec!["trace", "scheme", "cache"];
        header.drain(..usize::from(!several));
        let left = header.len() + part.text_columns;
        header.extend(&part.header);
        let mut table = plain(&header, left);
        let mut before = None;
        for (number, cells) in part.rows {
            let record = all[number];
            let mut row = vec![
                record.trace.name.clone(),
                format!("{}{}", record.scheme, readings.mark(record)),
                cache(record),
            ];
            row.drain(..usize::from(!several));
            if before == Some(number) {
                row.iter_mut().for_each(String::clear);
            }
            before = Some(number);
            row.extend(cells);
            table.add_row(row);
        }
        text += &format!("\n{}\n{}", part.title, lines(&table));
    }
    text
}

fn dash() -> String {
    "-".to_owned()
}

fn ms(ns: Option<f64>) -> String {
    ns.map_or_else(dash, |n| format!("{:.3}", n / 1e6))
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(dash, |v| format!("{v:.decimals$}"))
}

fn count(value: Option<u64>) -> String {
    value.map_or_else(dash, |v| v.to_string())
}

/// A row for each record for which `cells` gives some.
fn table(
    title: &'static str,
    header: &[&'static str],
    records: &[&ResultRecord],
    cells: impl Fn(&ResultRecord) -> Option<Vec<String>>,
) -> Part {
    let rows = records.iter().enumerate();
    Part {
        title,
        header: header.to_vec(),
        rows: rows.filter_map(|(i, r)| Some((i, cells(r)?))).collect(),
        text_columns: 0,
    }
}

/// What a flush after the last request wrote.
fn final_flush(records: &[&ResultRecord]) -> Part {
    let header = ["programmed", "read first", "by GC", "erases", "time ms"];
    table(
        "after the last request, until all dirty pages were written back",
        &header,
        records,
        |r| {
            let f = r.final_flush?;
            Some(vec![
                f.flash_writes_host.to_string(),
                f.flash_reads_rmw.to_string(),
                count(f.flash_writes_gc),
                count(f.erases),
                ms(f.duration_ns.map(|ns| ns as f64)),
            ])
        },
    )
}

fn hits(records: &[&ResultRecord]) -> Part {
    let header = [
        "reads, all pages",
        "writes, all pages",
        "reads, any page",
        "writes, any page",
        "sectors",
        "read sectors",
        "written sectors",
    ];
    table("hits of requests and sectors in %", &header, records, |r| {
        let ratios = [
            r.ratios.read_req_hit_ratio,
            r.ratios.write_req_hit_ratio,
            r.ratios.read_req_hit_ratio_any,
            r.ratios.write_req_hit_ratio_any,
            r.ratios.sector_hit_ratio,
            r.ratios.read_sector_hit_ratio,
            r.ratios.write_sector_hit_ratio,
        ];
        Some(ratios.map(percent).to_vec())
    })
}

fn response(records: &[&ResultRecord]) -> Part {
    let row = |name: &str, l: &Latency| {
        let whole = |ns: Option<u64>| ms(ns.map(|n| n as f64));
        let mut cells = vec![name.to_owned(), ms(l.mean), ms(l.std)];
        cells.extend([l.p50, l.p95, l.p99, l.p999, l.max].map(whole));
        cells
    };
    let rows = records.iter().enumerate().filter_map(|(i, r)| {
        let l = r.latency_ns.as_ref()?;
        let kinds = [("all", &l.all), ("reads", &l.read), ("writes", &l.write)];
        Some(kinds.map(|(name, latency)| (i, row(name, latency))))
    });
    Part {
        title: "response time in ms",
        header: vec![
            "requests", "mean", "std", "p50", "p95", "p99", "p99.9", "max",
        ],
        rows: rows.flatten().collect(),
        text_columns: 1,
    }
}

fn evictions(records: &[&ResultRecord]) -> Part {
    let header = [
        "evictions",
        "dirty %",
        "dirty to a chip in GC %",
        "wait ms",
        "turnaround ms",
        "pages",
        "dirty pages",
        "bypassed pages",
        "discarded pages",
        "remaps",
    ];
    table("evictions", &header, records, |r| {
        Some(vec![
            r.counts.evictions.to_string(),
            percent(r.ratios.dirty_evict_prob),
            percent(r.ratios.dirty_gc_evict_prob),
            ms(r.evict_wait_ns.and_then(|t| t.mean)),
            ms(r.evict_turnaround_ns.and_then(|t| t.mean)),
            r.counts.evicted_pages.to_string(),
            r.counts.flushed_pages.to_string(),
            r.counts.bypassed_pages.to_string(),
            r.counts.discarded_pages.to_string(),
            r.counts.remaps.to_string(),
        ])
    })
}

/// Evictions by their pages: the smallest number that `share` of them do not exceed.
fn quantile(histogram: &[(u64, u64)], share: f64) -> Option<u64> {
    let all: u64 = histogram.iter().map(|row| row.1).sum();
    let rank = (share * all as f64).ceil() as u64;
    let mut below = 0;
    let row = histogram.iter().find(|row| {
        below += row.1;
        below >= rank.max(1)
    });
    row.map(|row| row.0)
}

fn batches(records: &[&ResultRecord]) -> Part {
    let header = ["mean", "p50", "p95", "p99", "max", "dirty mean"];
    table("pages per eviction", &header, records, |r| {
        let histogram = &r.evict_pages_histogram;
        let largest = histogram.last()?.0;
        let at = |share| count(quantile(histogram, share));
        Some(vec![
            number(r.evict_pages_mean, 2),
            at(0.5),
            at(0.95),
            at(0.99),
            largest.to_string(),
            number(r.evict_flush_mean, 2),
        ])
    })
}

fn reads(records: &[&ResultRecord]) -> Part {
    let header = [
        "for the host",
        "read misses",
        "partial pages",
        "padding",
        "GC",
        "unmapped",
    ];
    table("flash reads in pages", &header, records, |r| {
        let c = &r.counts;
        Some(vec![
            c.flash_reads_host.to_string(),
            c.flash_reads_miss.to_string(),
            c.flash_reads_rmw.to_string(),
            c.flash_reads_padding.to_string(),
            count(c.flash_reads_gc),
            count(c.unmapped_reads),
        ])
    })
}

fn programs(records: &[&ResultRecord]) -> Part {
    let header = [
        "for the host",
        "evictions",
        "bypass",
        "FLUSH",
        "padding",
        "background",
        "GC",
        "summary",
        "erases",
        "WA to host writes",
        "WA to host programs",
    ];
    table(
        "flash programs in pages, erased blocks, write amplification (WA)",
        &header,
        records,
        |r| {
            let c = &r.counts;
            Some(vec![
                c.flash_writes_host.to_string(),
                c.flash_writes_evict.to_string(),
                c.flash_writes_bypass.to_string(),
                c.flash_writes_flush.to_string(),
                c.flash_writes_padding.to_string(),
                count(c.background_writes),
                count(c.flash_writes_gc),
                count(c.flash_writes_meta),
                count(c.erases),
                number(r.ratios.waf, 3),
                number(r.ratios.waf_flash, 3),
            ])
        },
    )
}

fn metadata(records: &[&ResultRecord]) -> Part {
    let header = [
        "mean bytes",
        "of the cache %",
        "IRL pages",
        "SRL pages",
        "DRL pages",
    ];
    table(
        "metadata, means of samples every 10000 requests",
        &header,
        records,
        |r| {
            let bytes = r.meta_bytes_mean?;
            let lists = r.list_pages.as_deref().filter(|lists| !lists.is_empty());
            let mean = |of: fn(&ListPages) -> u64| {
                let lists = lists?;
                Some(lists.iter().map(of).sum::<u64>() as f64 / lists.len() as f64)
            };
            Some(vec![
                format!("{bytes:.0}"),
                r.ratios
                    .meta_ratio
                    .map_or_else(dash, |m| format!("{:.3}", 100.0 * m)),
                number(mean(|l| l.irl), 0),
                number(mean(|l| l.srl), 0),
                number(mean(|l| l.drl), 0),
            ])
        },
    )
}

fn own(records: &[&ResultRecord]) -> Part {
    let mut part = table(
        "counters of the scheme's own",
        &["counters"],
        records,
        |r| {
            let stats: Vec<String> = r
                .scheme_stats
                .iter()
                .map(|(n, v)| format!("{n} {v}"))
                .collect();
            (!stats.is_empty()).then(|| vec![stats.join(", ")])
        },
    );
    part.text_columns = 1;
    part
}
