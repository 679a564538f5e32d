//! Tables of what only a device has, beside response times.

use super::super::table::percent;
use super::{Part, count, number, table};
use destage_sim::ResultRecord;

/// Work of garbage collection.
pub fn collection(records: &[&ResultRecord]) -> Part {
    let header = [
        "blocks",
        "valid pages per block",
        "pages moved",
        "by copyback",
    ];
    table(
        "blocks that garbage collection chose",
        &header,
        records,
        |r| {
            let c = &r.counts;
            let blocks = c.gc_victims.filter(|&n| n > 0)?;
            Some(vec![
                blocks.to_string(),
                number(r.victim_valid_pages_mean, 2),
                count(c.flash_writes_gc),
                count(c.copybacks),
            ])
        },
    )
}

/// Erases of the blocks.
pub fn wear(records: &[&ResultRecord]) -> Part {
    let header = ["fewest", "mean", "std", "most", "blocks never erased %"];
    table(
        "erases per block since the device was new",
        &header,
        records,
        |r| {
            let e = r.erase_counts.as_ref()?;
            let blocks: u64 = e.histogram.iter().map(|row| row.1).sum();
            let fresh = e
                .histogram
                .first()
                .filter(|row| row.0 == 0)
                .map_or(0, |row| row.1);
            (e.max > 0).then(|| {
                vec![
                    e.min.to_string(),
                    format!("{:.3}", e.mean),
                    format!("{:.3}", e.std),
                    e.max.to_string(),
                    percent(Some(fresh as f64 / blocks as f64)),
                ]
            })
        },
    )
}

/// Energy, if the device says what operations take.
pub fn energy(records: &[&ResultRecord]) -> Part {
    let header = ["reads", "programs", "erases", "transfers", "total"];
    table("energy of the flash in mJ", &header, records, |r| {
        let e = r.energy_nj.as_ref()?;
        let parts = [e.read, e.program, e.erase, e.transfer, e.total];
        Some(parts.map(|nj| format!("{:.3}", nj / 1e6)).to_vec())
    })
}

/// How busy channels and dies were.
pub fn load(records: &[&ResultRecord]) -> Part {
    let header = [
        "channels, least",
        "mean",
        "most",
        "dies or chips, least",
        "mean",
        "most",
        "time s",
    ];
    table(
        "share of the time that channels and dies were busy, in %",
        &header,
        records,
        |r| {
            let u = r.utilisation.as_ref()?;
            let least = |shares: &[f64]| percent(shares.iter().copied().reduce(f64::min));
            Some(vec![
                least(&u.channels),
                percent(u.channel_mean),
                percent(u.channel_max),
                least(&u.dies),
                percent(u.die_mean),
                percent(u.die_max),
                format!("{:.3}", u.elapsed_ns as f64 / 1e9),
            ])
        },
    )
}

/// How unevenly the chip queues were filled.
pub fn queues(records: &[&ResultRecord]) -> Part {
    let header = ["samples", "all idle", "rate > 10, %", "p50", "p95", "max"];
    table(
        "unbalance rate of the chip queues at dirty evictions",
        &header,
        records,
        |r| {
            let u = r.unbalance.as_ref()?;
            let at = |share: f64| {
                let row = u.cdf.iter().find(|row| row.1 >= share);
                number(row.map(|row| row.0), 1)
            };
            Some(vec![
                u.samples.to_string(),
                u.undefined.to_string(),
                percent(u.share_above_10),
                at(0.5),
                at(0.95),
                number(u.cdf.last().map(|row| row.0), 1),
            ])
        },
    )
}

/// Write-backs of pages that stay.
pub fn background(records: &[&ResultRecord]) -> Part {
    let header = [
        "programmed",
        "cancelled",
        "rewritten in flight",
        "evicted in flight",
    ];
    table("background write-back in pages", &header, records, |r| {
        let c = &r.counts;
        let counts = [
            c.background_writes,
            c.background_cancels,
            c.background_stale,
            c.inflight_evictions,
        ];
        let any = counts.iter().flatten().any(|&n| n > 0);
        any.then(|| counts.map(count).to_vec())
    })
}

/// Accesses of a cache in flash.
pub fn region(records: &[&ResultRecord]) -> Part {
    let header = ["reads", "programs"];
    table(
        "accesses of the cache in flash in pages",
        &header,
        records,
        |r| {
            let c = &r.counts;
            let both = [c.cache_reads, c.cache_programs];
            both.iter().flatten().next()?;
            Some(both.map(count).to_vec())
        },
    )
}
