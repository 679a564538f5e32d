//! Tables of what a record holds beside the figures of the main table: one per subject.

use crate::asked::{ASKED, size_classes};
use crate::detail_column::{DetailColumn, IN_PAGES, column, pages};
use crate::distinctions::{DataUnit, Distinctions};
use crate::readings::Readings;
use crate::style::shown_name;
use crate::table::{cache, count, lines, ms, number, or_dash, percent, plain, whole_ms};
use destage_record::ResultRecord;
use destage_record::{Latency, ListPages};

/// A table of one subject.
pub struct DetailTable {
    /// Its title, with the unit if all columns have the same.
    pub title: String,
    /// Heads of the columns behind those of the run.
    pub header: Vec<String>,
    /// Number of the record and the cells of a row.
    pub rows: Vec<(usize, Vec<String>)>,
    /// Columns at the left that are text.
    pub text_columns: usize,
}

/// A subject: its title, the records that have something to say, and its columns.
pub(crate) type Subject = (
    &'static str,
    fn(&ResultRecord) -> bool,
    &'static [DetailColumn],
);

const HITS: Subject = (
    "hits of requests and sectors in %",
    |_| true,
    &[
        column("reads, all pages", |r| percent(r.ratios.read_req_hit_ratio)),
        column("writes, all pages", |r| {
            percent(r.ratios.write_req_hit_ratio)
        }),
        column("reads, any page", |r| {
            percent(r.ratios.read_req_hit_ratio_any)
        }),
        column("writes, any page", |r| {
            percent(r.ratios.write_req_hit_ratio_any)
        }),
        column("sectors", |r| percent(r.ratios.sector_hit_ratio)),
        column("read sectors", |r| percent(r.ratios.read_sector_hit_ratio)),
        column("written sectors", |r| {
            percent(r.ratios.write_sector_hit_ratio)
        }),
    ],
);

const SUBJECTS: &[Subject] = &[
    (
        "evictions",
        |_| true,
        &[
            column("evictions", |r| count(r.counts.evictions)),
            column("dirty %", |r| percent(r.ratios.dirty_evict_prob)),
            column("dirty to a chip in GC %", |r| {
                percent(r.ratios.dirty_gc_evict_prob)
            }),
            column("wait ms", |r| ms(r.evict_wait_ns?.mean)),
            column("turnaround ms", |r| ms(r.evict_turnaround_ns?.mean)),
            pages("pages", |r| Some(r.counts.evicted_pages)),
            pages("dirty pages", |r| Some(r.counts.flushed_pages)),
            pages("bypassed pages", |r| Some(r.counts.bypassed_pages)),
            pages("discarded pages", |r| Some(r.counts.discarded_pages)),
            column("remaps", |r| count(r.counts.remaps)),
        ],
    ),
    (
        "pages per eviction",
        |r| !r.evict_pages_histogram.is_empty(),
        &[
            column("mean", |r| number(r.evict_pages_mean, 2)),
            column("p50", |r| pages_of(r, 0.5)),
            column("p95", |r| pages_of(r, 0.95)),
            column("p99", |r| pages_of(r, 0.99)),
            column("max", |r| count(r.evict_pages_histogram.last()?.0)),
            column("dirty mean", |r| number(r.evict_flush_mean, 2)),
        ],
    ),
    (
        "flash reads in pages",
        |_| true,
        &[
            pages("for the host", |r| Some(r.counts.flash_reads_host)),
            pages("read misses", |r| Some(r.counts.flash_reads_miss)),
            pages("partial pages", |r| Some(r.counts.flash_reads_rmw)),
            pages("padding", |r| Some(r.counts.flash_reads_padding)),
            pages("GC", |r| r.counts.flash_reads_gc),
            pages("unmapped", |r| r.counts.unmapped_reads),
        ],
    ),
    (
        "flash programs in pages, erased blocks, write amplification (WA)",
        |_| true,
        &[
            pages("for the host", |r| Some(r.counts.flash_writes_host)),
            pages("evictions", |r| Some(r.counts.flash_writes_evict)),
            pages("bypass", |r| Some(r.counts.flash_writes_bypass)),
            pages("FLUSH", |r| Some(r.counts.flash_writes_flush)),
            pages("padding", |r| Some(r.counts.flash_writes_padding)),
            pages("background", |r| r.counts.background_writes),
            pages("GC", |r| r.counts.flash_writes_gc),
            pages("summary", |r| r.counts.flash_writes_meta),
            column("erases", |r| count(r.counts.erases?)),
            column("WA to host writes", |r| number(r.ratios.waf, 3)),
            column("WA to host programs", |r| number(r.ratios.waf_flash, 3)),
        ],
    ),
    (
        "accesses of the cache in flash in pages",
        |r| r.counts.cache_reads.or(r.counts.cache_programs).is_some(),
        &[
            pages("reads", |r| r.counts.cache_reads),
            pages("programs", |r| r.counts.cache_programs),
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
            pages("programmed", |r| r.counts.background_writes),
            pages("cancelled", |r| r.counts.background_cancels),
            pages("rewritten in flight", |r| r.counts.background_stale),
            pages("evicted in flight", |r| r.counts.inflight_evictions),
        ],
    ),
    (
        "blocks that garbage collection chose",
        |r| r.counts.gc_victims > Some(0),
        &[
            column("blocks", |r| count(r.counts.gc_victims?)),
            column("valid pages per block", |r| {
                number(r.victim_valid_pages_mean, 2)
            }),
            pages("pages moved", |r| r.counts.flash_writes_gc),
            pages("by copyback", |r| r.counts.copybacks),
        ],
    ),
    (
        "suspended by reads",
        |r| r.counts.erase_suspensions.is_some(),
        &[
            column("erases", |r| count(r.counts.erase_suspensions?)),
            column("programs", |r| count(r.counts.program_suspensions?)),
        ],
    ),
    (
        "erases per block since the device was new",
        |r| r.erase_counts.as_ref().is_some_and(|e| e.max > 0),
        &[
            column("fewest", |r| count(r.erase_counts.as_ref()?.min)),
            column("mean", |r| number(Some(r.erase_counts.as_ref()?.mean), 3)),
            column("std", |r| number(Some(r.erase_counts.as_ref()?.std), 3)),
            column("most", |r| count(r.erase_counts.as_ref()?.max)),
            column("blocks never erased %", |r| {
                let rows = &r.erase_counts.as_ref()?.histogram;
                let blocks: u64 = rows.iter().map(|row| row.1).sum();
                let fresh = rows.first().filter(|row| row.0 == 0).map_or(0, |row| row.1);
                percent(Some(fresh as f64 / blocks as f64))
            }),
        ],
    ),
    (
        "endurance at the rated program/erase cycles",
        |r| r.endurance.is_some(),
        &[
            pages("programmed pages", |r| {
                Some(r.endurance?.flash_bytes / r.page_bytes)
            }),
            column("variation of erases", |r| number(r.endurance?.erase_cv, 3)),
            column("TB written", |r| {
                number(r.endurance?.tbw_bytes.map(|bytes| bytes / 1e12), 3)
            }),
            column("years", |r| number(r.endurance?.years, 3)),
        ],
    ),
    (
        "energy of the flash in mJ",
        |r| r.energy_nj.is_some(),
        &[
            column("reads", |r| ms(Some(r.energy_nj.as_ref()?.read))),
            column("programs", |r| ms(Some(r.energy_nj.as_ref()?.program))),
            column("erases", |r| ms(Some(r.energy_nj.as_ref()?.erase))),
            column("transfers", |r| ms(Some(r.energy_nj.as_ref()?.transfer))),
            column("total", |r| ms(Some(r.energy_nj.as_ref()?.total))),
        ],
    ),
    (
        "share of the time that channels and dies were busy, in %",
        |r| r.utilisation.is_some(),
        &[
            column("channels, least", |r| {
                least(&r.utilisation.as_ref()?.channels)
            }),
            column("mean", |r| percent(r.utilisation.as_ref()?.channel_mean)),
            column("most", |r| percent(r.utilisation.as_ref()?.channel_max)),
            column("dies or chips, least", |r| {
                least(&r.utilisation.as_ref()?.dies)
            }),
            column("mean", |r| percent(r.utilisation.as_ref()?.die_mean)),
            column("most", |r| percent(r.utilisation.as_ref()?.die_max)),
            column("time s", |r| {
                let elapsed = r.utilisation.as_ref()?.elapsed_ns;
                number(Some(elapsed as f64 / 1e9), 3)
            }),
        ],
    ),
    (
        "metadata, means of samples every 10000 requests",
        |r| r.meta_bytes_mean.is_some(),
        &[
            column("mean bytes", |r| number(r.meta_bytes_mean, 0)),
            column("of the cache %", |r| {
                number(Some(100.0 * r.ratios.meta_ratio?), 3)
            }),
        ],
    ),
    (
        "pages in the lists of req-block, means of the same samples",
        |r| r.list_pages.as_ref().is_some_and(|lists| !lists.is_empty()),
        &[
            column("inserted (IRL)", |r| mean_of_list(r, |l| l.irl)),
            column("small, hit (SRL)", |r| mean_of_list(r, |l| l.srl)),
            column("divided (DRL)", |r| mean_of_list(r, |l| l.drl)),
        ],
    ),
];

/// Counters that only some scheme has; they are text.
const OWN: Subject = (
    "counters of the scheme's own",
    |r| !r.scheme_stats.is_empty(),
    &[column("counters", |r| {
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

fn least(shares: &[f64]) -> Option<String> {
    percent(shares.iter().copied().reduce(f64::min))
}

fn mean_of_list(record: &ResultRecord, of: fn(&ListPages) -> u64) -> Option<String> {
    let lists = record.list_pages.as_deref().filter(|l| !l.is_empty())?;
    let sum: u64 = lists.iter().map(of).sum();
    number(Some(sum as f64 / lists.len() as f64), 0)
}

fn table(
    &(title, has, columns): &Subject,
    records: &[&ResultRecord],
    unit: DataUnit,
) -> DetailTable {
    let rows = records.iter().enumerate().filter(|(_, r)| has(r));
    // A figure that no record has, because it has no device or another scheme, has no column.
    let no_cell = or_dash(None);
    let is_shown = |column: &&DetailColumn| {
        let mut shown = records.iter().filter(|r| has(r));
        shown.any(|r| column.cell(r, unit) != no_cell)
    };
    let columns: Vec<&DetailColumn> = columns.iter().filter(is_shown).collect();
    let row =
        |(i, r): (usize, &&ResultRecord)| (i, columns.iter().map(|c| c.cell(r, unit)).collect());
    let unit_of_all = match unit {
        DataUnit::Pages => IN_PAGES,
        DataUnit::Bytes => " in MiB",
    };
    DetailTable {
        title: title.replace(IN_PAGES, unit_of_all),
        header: columns.iter().map(|c| c.head(title, unit)).collect(),
        rows: rows.map(row).collect(),
        text_columns: 0,
    }
}

/// Response times, in a row each for all requests, reads and writes.
fn response(records: &[&ResultRecord]) -> DetailTable {
    let row = |name: &str, l: &Latency| {
        let mut cells = vec![Some(name.to_owned()), ms(l.mean), ms(l.std)];
        cells.extend([l.p50, l.p95, l.p99, l.p999, l.p9999, l.max].map(whole_ms));
        cells.into_iter().map(or_dash).collect()
    };
    let rows = records.iter().enumerate().filter_map(|(i, r)| {
        let l = r.latency_ns.as_ref()?;
        let kinds = [("all", &l.all), ("reads", &l.read), ("writes", &l.write)];
        Some(kinds.map(|(name, latency)| (i, row(name, latency))))
    });
    let heads = [
        "requests", "mean", "std", "p50", "p95", "p99", "p99.9", "p99.99", "max",
    ];
    DetailTable {
        title: "response time in ms".to_owned(),
        header: heads.map(str::to_owned).to_vec(),
        rows: rows.flatten().collect(),
        text_columns: 1,
    }
}

/// The tables of `records`, without those in which no record has anything to say; amounts of data are in `unit`.
pub fn tables(records: &[&ResultRecord], unit: DataUnit) -> Vec<DetailTable> {
    let own = DetailTable {
        text_columns: 1,
        ..table(&OWN, records, unit)
    };
    let mut all = vec![table(&HITS, records, unit), response(records)];
    all.extend(SUBJECTS.iter().map(|subject| table(subject, records, unit)));
    all.push(own);
    all.extend(asked(records, unit));
    all.retain(|table| !table.rows.is_empty());
    all
}

/// The tables of measures that an option asks for.
fn asked(records: &[&ResultRecord], unit: DataUnit) -> Vec<DetailTable> {
    let mut all: Vec<DetailTable> = ASKED.iter().map(|s| table(s, records, unit)).collect();
    all.push(size_classes(records));
    all.retain(|table| !table.rows.is_empty());
    all
}

/// Which tables are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShownDetails {
    /// All of them (`--details`).
    All,
    /// Those of measures that were asked for (`--hits-by-size`, ...).
    Asked,
}

/// The tables of `records` for people, a blank line before each.
pub fn text(records: &[ResultRecord], shown: ShownDetails) -> String {
    let readings = Readings::of(records);
    let all: Vec<&ResultRecord> = records.iter().collect();
    let distinctions = Distinctions::of_runs(&all);
    let several = records.iter().any(|r| r.trace.name != all[0].trace.name);
    let mut text = String::new();
    let unit = DataUnit::of(records);
    let parts = match shown {
        ShownDetails::All => tables(&all, unit),
        ShownDetails::Asked => asked(&all, unit),
    };
    for part in parts {
        let mut header = vec!["trace", "scheme"];
        header.drain(..usize::from(!several));
        header.extend(distinctions.heads());
        header.push("cache");
        let left = header.len() + part.text_columns;
        header.extend(part.header.iter().map(String::as_str));
        let mut table = plain(&header, left);
        let mut before = None;
        for (number, cells) in part.rows {
            let record = all[number];
            let mut row = vec![
                record.trace.name.clone(),
                format!("{}{}", shown_name(&record.scheme), readings.mark(record)),
            ];
            row.drain(..usize::from(!several));
            row.extend(distinctions.cells(number).map(str::to_owned));
            row.push(cache(record));
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
