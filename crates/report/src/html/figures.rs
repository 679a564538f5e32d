//! The figures of a run that reports draw and speak of.

use crate::distinctions::DataUnit;
use crate::figures::Better;
use crate::html::chart::ChartUnit;
use destage_record::ResultRecord;

/// A figure of a run.
pub struct ReportFigure {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    pub unit: ChartUnit,
    pub better: Better,
    pub of: fn(&ResultRecord) -> Option<f64>,
    /// Is it an amount of data in pages?
    pub pages: bool,
    /// Is it drawn relative to a scheme, too?
    pub relative: bool,
}

const BASE: ReportFigure = ReportFigure {
    name: "",
    about: "",
    unit: ChartUnit::Ratio,
    better: Better::Smaller,
    of: |_| None,
    pages: false,
    relative: false,
};

impl ReportFigure {
    /// The value in a record, with amounts of data in `unit`.
    pub fn value(&self, record: &ResultRecord, unit: DataUnit) -> Option<f64> {
        let value = (self.of)(record)?;
        Some(if self.pages {
            unit.amount(record, value)
        } else {
            value
        })
    }

    /// Its name, with amounts of data in `unit`.
    pub fn name(&self, unit: DataUnit) -> String {
        match unit {
            DataUnit::Pages => self.name.to_owned(),
            DataUnit::Bytes => self.name.replace("pages ", "bytes "),
        }
    }

    /// How values are shown, with amounts of data in `unit`.
    pub fn unit(&self, unit: DataUnit) -> ChartUnit {
        match (self.pages, unit) {
            (true, DataUnit::Bytes) => ChartUnit::Bytes,
            _ => self.unit,
        }
    }
}

/// Hit pages / accessed pages.
pub const HITS: ReportFigure = ReportFigure {
    name: "page hit ratio",
    about: "Hit pages / accessed pages. More is better.",
    unit: ChartUnit::Percent,
    better: Better::Larger,
    of: |r| r.ratios.page_hit_ratio,
    relative: true,
    ..BASE
};

/// Mean response time.
pub const RESPONSE: ReportFigure = ReportFigure {
    name: "mean response time",
    about: "Of all requests, from arrival to completion. Less is better.",
    unit: ChartUnit::Ns,
    of: |r| r.latency_ns?.all.mean,
    relative: true,
    ..BASE
};

/// Programs for the host.
pub const WRITES: ReportFigure = ReportFigure {
    name: "flash writes",
    about: "Programs for the host. Less is better.",
    unit: ChartUnit::Count,
    pages: true,
    of: |r| Some(r.counts.flash_writes_host as f64),
    relative: true,
    ..BASE
};

/// Hit pages / accessed pages, of reads.
pub const READ_HITS: ReportFigure = ReportFigure {
    name: "read hit ratio",
    about: "Hit pages / accessed pages, of reads.",
    relative: false,
    of: |r| r.ratios.read_page_hit_ratio,
    ..HITS
};

/// Hit pages / accessed pages, of writes.
pub const WRITE_HITS: ReportFigure = ReportFigure {
    name: "write hit ratio",
    about: "Hit pages / accessed pages, of writes.",
    relative: false,
    of: |r| r.ratios.write_page_hit_ratio,
    ..HITS
};

/// The 99th percentile of the response time.
pub const P99: ReportFigure = ReportFigure {
    name: "99th percentile of the response time",
    about: "One request in a hundred takes longer. Less is better.",
    of: |r| r.latency_ns?.all.p99.map(|p| p as f64),
    ..RESPONSE
};

/// Bytes programmed for any cause over bytes that the host wrote.
pub const AMPLIFICATION: ReportFigure = ReportFigure {
    name: "write amplification",
    about: "Bytes programmed / bytes written by the host: below 1 where the cache absorbs writes. Less is better.",
    of: |r| r.ratios.waf,
    ..BASE
};

/// Each is drawn over the cache size.
pub const FIGURES: &[ReportFigure] = &[
    HITS,
    READ_HITS,
    WRITE_HITS,
    RESPONSE,
    P99,
    WRITES,
    ReportFigure {
        name: "pages per eviction",
        about: "Pages that leave the cache together.",
        better: Better::Neither,
        pages: true,
        of: |r| r.evict_pages_mean,
        ..BASE
    },
    AMPLIFICATION,
    ReportFigure {
        name: "mean wait of evictions",
        about: "From the queue to the start of the program of a dirty eviction. Less is better.",
        unit: ChartUnit::Ns,
        of: |r| r.evict_wait_ns?.mean,
        ..BASE
    },
    ReportFigure {
        name: "block erases",
        about: "Less is better.",
        unit: ChartUnit::Count,
        of: |r| r.counts.erases.filter(|&n| n > 0).map(|n| n as f64),
        relative: true,
        ..BASE
    },
];
