//! Tables of measures that a run takes only if an option asks for them.

use crate::detail_column::{column, pages};
use crate::details::{DetailTable, Subject};
use crate::table::{count, number, or_dash, percent, whole_ms};
use destage_record::{ResultRecord, SizeClass};

/// The subjects of `--unbalance`, `--flush-at-end` and `--hits-by-size`.
pub(crate) const ASKED: &[Subject] = &[
    (
        "unbalance rate of the chip queues at dirty evictions",
        |r| r.unbalance.is_some(),
        &[
            column("samples", |r| count(r.unbalance.as_ref()?.samples)),
            column("all idle", |r| count(r.unbalance.as_ref()?.undefined)),
            column("rate > 10, %", |r| {
                percent(r.unbalance.as_ref()?.share_above_10)
            }),
            column("p50", |r| rate_of(r, 0.5)),
            column("p95", |r| rate_of(r, 0.95)),
            column("max", |r| {
                number(Some(r.unbalance.as_ref()?.cdf.last()?.0), 1)
            }),
        ],
    ),
    (
        "after the last request, until all dirty pages were written back",
        |r| r.final_flush.is_some(),
        &[
            pages("programmed", |r| Some(r.final_flush?.flash_writes_host)),
            pages("read first", |r| Some(r.final_flush?.flash_reads_rmw)),
            pages("by GC", |r| r.final_flush?.flash_writes_gc),
            column("erases", |r| count(r.final_flush?.erases?)),
            column("time ms", |r| whole_ms(r.final_flush?.duration_ns)),
        ],
    ),
    (
        "by the size of the write request that brought a page in",
        |r| r.hits_by_size.is_some(),
        &[
            column("mean request, KiB", |r| {
                number(Some(r.hits_by_size.as_ref()?.mean_bytes / 1024.0), 1)
            }),
            column("inserts by smaller, %", |r| {
                percent(r.hits_by_size.as_ref()?.small_insert_share)
            }),
            column("hits on theirs, %", |r| {
                percent(r.hits_by_size.as_ref()?.small_hit_share)
            }),
            column("pages of larger hit again, %", |r| {
                percent(r.hits_by_size.as_ref()?.large_reaccessed_share)
            }),
        ],
    ),
];

/// The smallest unbalance rate that `share` of the samples do not exceed.
fn rate_of(record: &ResultRecord, share: f64) -> Option<String> {
    let cdf = &record.unbalance.as_ref()?.cdf;
    number(Some(cdf.iter().find(|row| row.1 >= share)?.0), 1)
}

/// A row for each size of the write requests that brought pages in.
pub(crate) fn size_classes(records: &[&ResultRecord]) -> DetailTable {
    let row = |class: &SizeClass| {
        let share = (class.inserts > 0).then(|| class.reaccessed as f64 / class.inserts as f64);
        let cells = [
            number(Some(class.bytes as f64 / 1024.0), 1),
            count(class.inserts),
            count(class.hits),
            percent(share),
        ];
        cells.into_iter().map(or_dash).collect()
    };
    let rows = records.iter().enumerate().filter_map(|(i, r)| {
        let classes = r.hits_by_size.as_ref()?.classes.iter();
        Some(classes.map(move |class| (i, row(class))))
    });
    let heads = [
        "requests up to KiB",
        "pages brought in",
        "hits on them",
        "hit before they left %",
    ];
    DetailTable {
        title: "classes of those sizes".to_owned(),
        header: heads.map(str::to_owned).to_vec(),
        rows: rows.flatten().collect(),
        text_columns: 0,
    }
}
