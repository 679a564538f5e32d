//! Tables of what a record holds beside the figures of the main table: one per subject.

use crate::readings::Readings;
use crate::style::shown_name;
use crate::table::{cache, count, lines, ms, number, or_dash, percent, plain, whole_ms};
use destage_record::ResultRecord;
use destage_record::{Latency, ListPages};

/// A table of one subject.
pub struct DetailTable {
    /// What it is about, with the unit if all columns have the same.
    pub title: &'static str,
    /// Heads of the columns behind scheme and cache.
    pub header: Vec<&'static str>,
    /// Number of the record and the cells of a row.
    pub rows: Vec<(usize, Vec<String>)>,
    /// Columns at the left that are text.
    pub text_columns: usize,
}

/// The head of a column and the cell of a record, `-` if there is none.
type Column = (&'static str, fn(&ResultRecord) -> Option<String>);

/// A subject: its title, the records that have something to say, and its columns.
type Subject = (&'static str, fn(&ResultRecord) -> bool, &'static [Column]);

const HITS: Subject = (
    "hits of requests and sectors in %",
    |_| true,
    &[
        ("reads, all pages", |r| percent(r.ratios.read_req_hit_ratio)),
        ("writes, all pages", |r| {
            percent(r.ratios.write_req_hit_ratio)
        }),
        ("reads, any page", |r| {
            percent(r.ratios.read_req_hit_ratio_any)
        }),
        ("writes, any page", |r| {
            percent(r.ratios.write_req_hit_ratio_any)
        }),
        ("sectors", |r| percent(r.ratios.sector_hit_ratio)),
        ("read sectors", |r| percent(r.ratios.read_sector_hit_ratio)),
        ("written sectors", |r| {
            percent(r.ratios.write_sector_hit_ratio)
        }),
    ],
);

const SUBJECTS: &[Subject] = &[
    (
        "evictions",
        |_| true,
        &[
            ("evictions", |r| count(r.counts.evictions)),
            ("dirty %", |r| percent(r.ratios.dirty_evict_prob)),
            ("dirty to a chip in GC %", |r| {
                percent(r.ratios.dirty_gc_evict_prob)
            }),
            ("wait ms", |r| ms(r.evict_wait_ns?.mean)),
            ("turnaround ms", |r| ms(r.evict_turnaround_ns?.mean)),
            ("pages", |r| count(r.counts.evicted_pages)),
            ("dirty pages", |r| count(r.counts.flushed_pages)),
            ("bypassed pages", |r| count(r.counts.bypassed_pages)),
            ("discarded pages", |r| count(r.counts.discarded_pages)),
            ("remaps", |r| count(r.counts.remaps)),
        ],
    ),
    (
        "pages per eviction",
        |r| !r.evict_pages_histogram.is_empty(),
        &[
            ("mean", |r| number(r.evict_pages_mean, 2)),
            ("p50", |r| pages_of(r, 0.5)),
            ("p95", |r| pages_of(r, 0.95)),
            ("p99", |r| pages_of(r, 0.99)),
            ("max", |r| count(r.evict_pages_histogram.last()?.0)),
            ("dirty mean", |r| number(r.evict_flush_mean, 2)),
        ],
    ),
    (
        "flash reads in pages",
        |_| true,
        &[
            ("for the host", |r| count(r.counts.flash_reads_host)),
            ("read misses", |r| count(r.counts.flash_reads_miss)),
            ("partial pages", |r| count(r.counts.flash_reads_rmw)),
            ("padding", |r| count(r.counts.flash_reads_padding)),
            ("GC", |r| count(r.counts.flash_reads_gc?)),
            ("unmapped", |r| count(r.counts.unmapped_reads?)),
        ],
    ),
    (
        "flash programs in pages, erased blocks, write amplification (WA)",
        |_| true,
        &[
            ("for the host", |r| count(r.counts.flash_writes_host)),
            ("evictions", |r| count(r.counts.flash_writes_evict)),
            ("bypass", |r| count(r.counts.flash_writes_bypass)),
            ("FLUSH", |r| count(r.counts.flash_writes_flush)),
            ("padding", |r| count(r.counts.flash_writes_padding)),
            ("background", |r| count(r.counts.background_writes?)),
            ("GC", |r| count(r.counts.flash_writes_gc?)),
            ("summary", |r| count(r.counts.flash_writes_meta?)),
            ("erases", |r| count(r.counts.erases?)),
            ("WA to host writes", |r| number(r.ratios.waf, 3)),
            ("WA to host programs", |r| number(r.ratios.waf_flash, 3)),
        ],
    ),
    (
        "accesses of the cache in flash in pages",
        |r| r.counts.cache_reads.or(r.counts.cache_programs).is_some(),
        &[
            ("reads", |r| count(r.counts.cache_reads?)),
            ("programs", |r| count(r.counts.cache_programs?)),
        ],
    ),
    (
        "background write-back in pages",
        |r| {
            let c = &r.counts;
            let counts = [
                c.background_writes,
                c.background_cancels,
                c.background_stale,
                c.inflight_evictions,
            ];
            counts.iter().flatten().any(|&n| n > 0)
        },
        &[
            ("programmed", |r| count(r.counts.background_writes?)),
            ("cancelled", |r| count(r.counts.background_cancels?)),
            ("rewritten in flight", |r| count(r.counts.background_stale?)),
            ("evicted in flight", |r| count(r.counts.inflight_evictions?)),
        ],
    ),
    (
        "blocks that garbage collection chose",
        |r| r.counts.gc_victims > Some(0),
        &[
            ("blocks", |r| count(r.counts.gc_victims?)),
            ("valid pages per block", |r| {
                number(r.victim_valid_pages_mean, 2)
            }),
            ("pages moved", |r| count(r.counts.flash_writes_gc?)),
            ("by copyback", |r| count(r.counts.copybacks?)),
        ],
    ),
    (
        "suspended by reads",
        |r| r.counts.erase_suspensions.is_some(),
        &[
            ("erases", |r| count(r.counts.erase_suspensions?)),
            ("programs", |r| count(r.counts.program_suspensions?)),
        ],
    ),
    (
        "erases per block since the device was new",
        |r| r.erase_counts.as_ref().is_some_and(|e| e.max > 0),
        &[
            ("fewest", |r| count(r.erase_counts.as_ref()?.min)),
            ("mean", |r| number(Some(r.erase_counts.as_ref()?.mean), 3)),
            ("std", |r| number(Some(r.erase_counts.as_ref()?.std), 3)),
            ("most", |r| count(r.erase_counts.as_ref()?.max)),
            ("blocks never erased %", |r| {
                let rows = &r.erase_counts.as_ref()?.histogram;
                let blocks: u64 = rows.iter().map(|row| row.1).sum();
                let fresh = rows.first().filter(|row| row.0 == 0).map_or(0, |row| row.1);
                percent(Some(fresh as f64 / blocks as f64))
            }),
        ],
    ),
    (
        "energy of the flash in mJ",
        |r| r.energy_nj.is_some(),
        &[
            ("reads", |r| ms(Some(r.energy_nj.as_ref()?.read))),
            ("programs", |r| ms(Some(r.energy_nj.as_ref()?.program))),
            ("erases", |r| ms(Some(r.energy_nj.as_ref()?.erase))),
            ("transfers", |r| ms(Some(r.energy_nj.as_ref()?.transfer))),
            ("total", |r| ms(Some(r.energy_nj.as_ref()?.total))),
        ],
    ),
    (
        "share of the time that channels and dies were busy, in %",
        |r| r.utilisation.is_some(),
        &[
            ("channels, least", |r| {
                least(&r.utilisation.as_ref()?.channels)
            }),
            ("mean", |r| percent(r.utilisation.as_ref()?.channel_mean)),
            ("most", |r| percent(r.utilisation.as_ref()?.channel_max)),
            ("dies or chips, least", |r| {
                least(&r.utilisation.as_ref()?.dies)
            }),
            ("mean", |r| percent(r.utilisation.as_ref()?.die_mean)),
            ("most", |r| percent(r.utilisation.as_ref()?.die_max)),
            ("time s", |r| {
                let elapsed = r.utilisation.as_ref()?.elapsed_ns;
                number(Some(elapsed as f64 / 1e9), 3)
            }),
        ],
    ),
    (
        "unbalance rate of the chip queues at dirty evictions",
        |r| r.unbalance.is_some(),
        &[
            ("samples", |r| count(r.unbalance.as_ref()?.samples)),
            ("all idle", |r| count(r.unbalance.as_ref()?.undefined)),
            ("rate > 10, %", |r| {
                percent(r.unbalance.as_ref()?.share_above_10)
            }),
            ("p50", |r| rate_of(r, 0.5)),
            ("p95", |r| rate_of(r, 0.95)),
            ("max", |r| {
                number(Some(r.unbalance.as_ref()?.cdf.last()?.0), 1)
            }),
        ],
    ),
    (
        "after the last request, until all dirty pages were written back",
        |r| r.final_flush.is_some(),
        &[
            ("programmed", |r| count(r.final_flush?.flash_writes_host)),
            ("read first", |r| count(r.final_flush?.flash_reads_rmw)),
            ("by GC", |r| count(r.final_flush?.flash_writes_gc?)),
            ("erases", |r| count(r.final_flush?.erases?)),
            ("time ms", |r| whole_ms(r.final_flush?.duration_ns)),
        ],
    ),
    (
        "by the size of the write request that brought a page in",
        |r| r.hits_by_size.is_some(),
        &[
            ("mean request, KiB", |r| {
                number(Some(r.hits_by_size.as_ref()?.mean_bytes / 1024.0), 1)
            }),
            ("inserts by smaller, %", |r| {
                percent(r.hits_by_size.as_ref()?.small_insert_share)
            }),
            ("hits on theirs, %", |r| {
                percent(r.hits_by_size.as_ref()?.small_hit_share)
            }),
            ("pages of larger hit again, %", |r| {
                percent(r.hits_by_size.as_ref()?.large_reaccessed_share)
            }),
        ],
    ),
    (
        "metadata, means of samples every 10000 requests",
        |r| r.meta_bytes_mean.is_some(),
        &[
            ("mean bytes", |r| number(r.meta_bytes_mean, 0)),
            ("of the cache %", |r| {
                number(Some(100.0 * r.ratios.meta_ratio?), 3)
            }),
            ("IRL pages", |r| mean_of_list(r, |l| l.irl)),
            ("SRL pages", |r| mean_of_list(r, |l| l.srl)),
            ("DRL pages", |r| mean_of_list(r, |l| l.drl)),
        ],
    ),
];

/// Counters that only some scheme has; they are text.
const OWN: Subject = (
    "counters of the scheme's own",
    |r| !r.scheme_stats.is_empty(),
    &[("counters", |r| {
        let stats = r.scheme_stats.iter().map(|(n, v)| format!("{n} {v}"));
        Some(stats.collect::<Vec<_>>().join(", "))
    })],
);

/// Evictions by their pages: the smallest number that `share` of them do not exceed.
fn pages_of(record: &ResultRecord, share: f64) -> Option<String> {
    let histogram = &record.evict_pages_histogram;
    let all: u64 = histogram.iter().map(|row| row.1).sum();
    let rank = (share * all as f64).ceil() as u64;
    let mut below = 0;
    let row = histogram.iter().find(|row| {
        below += row.1;
        below >= rank.max(1)
    });
    count(row?.0)
}

fn rate_of(record: &ResultRecord, share: f64) -> Option<String> {
    let cdf = &record.unbalance.as_ref()?.cdf;
    number(Some(cdf.iter().find(|row| row.1 >= share)?.0), 1)
}

fn least(shares: &[f64]) -> Option<String> {
    percent(shares.iter().copied().reduce(f64::min))
}

fn mean_of_list(record: &ResultRecord, of: fn(&ListPages) -> u64) -> Option<String> {
    let lists = record.list_pages.as_deref().filter(|l| !l.is_empty())?;
    let sum: u64 = lists.iter().map(of).sum();
    number(Some(sum as f64 / lists.len() as f64), 0)
}

fn table(&(title, has, columns): &Subject, records: &[&ResultRecord]) -> DetailTable {
    let rows = records.iter().enumerate().filter(|(_, r)| has(r));
    let row =
        |(i, r): (usize, &&ResultRecord)| (i, columns.iter().map(|c| or_dash((c.1)(r))).collect());
    DetailTable {
        title,
        header: columns.iter().map(|c| c.0).collect(),
        rows: rows.map(row).collect(),
        text_columns: 0,
    }
}

/// Response times, in a row each for all requests, reads and writes.
fn response(records: &[&ResultRecord]) -> DetailTable {
    let row = |name: &str, l: &Latency| {
        let mut cells = vec![Some(name.to_owned()), ms(l.mean), ms(l.std)];
        cells.extend([l.p50, l.p95, l.p99, l.p999, l.max].map(whole_ms));
        cells.into_iter().map(or_dash).collect()
    };
    let rows = records.iter().enumerate().filter_map(|(i, r)| {
        let l = r.latency_ns.as_ref()?;
        let kinds = [("all", &l.all), ("reads", &l.read), ("writes", &l.write)];
        Some(kinds.map(|(name, latency)| (i, row(name, latency))))
    });
    DetailTable {
        title: "response time in ms",
        header: vec![
            "requests", "mean", "std", "p50", "p95", "p99", "p99.9", "max",
        ],
        rows: rows.flatten().collect(),
        text_columns: 1,
    }
}

/// The tables of `records`, without those in which no record has anything to say.
pub fn tables(records: &[&ResultRecord]) -> Vec<DetailTable> {
    let own = DetailTable {
        text_columns: 1,
        ..table(&OWN, records)
    };
    let mut all = vec![table(&HITS, records), response(records)];
    all.extend(SUBJECTS.iter().map(|subject| table(subject, records)));
    all.push(own);
    all.retain(|table| !table.rows.is_empty());
    all
}

/// The tables of `records` for people, a blank line before each.
pub fn text(records: &[ResultRecord]) -> String {
    let readings = Readings::of(records);
    let all: Vec<&ResultRecord> = records.iter().collect();
    let several = records.iter().any(|r| r.trace.name != all[0].trace.name);
    let mut text = String::new();
    for part in tables(&all) {
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
                format!("{}{}", shown_name(&record.scheme), readings.mark(record)),
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
