//! The figures in the columns of the table of `run`: which there are, how they read, and which is best.

use crate::answers::flash_pages;
use crate::columns::{cell, record_columns};
use crate::distinct;
use crate::distinctions::{DataUnit, MIB};
use crate::table::{number, or_dash};
use destage_record::ResultRecord;
use serde_json::Value;
use std::cmp::Ordering;

/// Which of two values is the better one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// The larger one.
    Larger,
    /// The smaller one.
    Smaller,
    /// Neither: it depends.
    Neither,
}

/// Which runs have a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Needs {
    Nothing,
    Device,
    ClosedLoop,
}

/// How a value is written.
#[derive(Clone, Copy, Debug)]
enum Written {
    /// A ratio in percent.
    Percent,
    /// A number with as many decimals.
    Decimals(usize),
    /// A time in ns, in ms.
    Ms,
    /// An amount of data in pages; in MiB where rows have pages of several sizes.
    Pages,
    /// Pages at a time; in KiB where rows have pages of several sizes.
    PagesEach,
}

/// Stands before rates of a closed loop that mostly runs empty.
pub(crate) const RUNS_EMPTY: &str = "~";

/// Did a closed loop hold its queue depth for less than half of the time?
pub(crate) fn runs_empty(record: &ResultRecord) -> bool {
    record.throughput.is_some_and(|rates| !rates.is_of_depth())
}

/// A figure of the table: what `--columns` calls it, its head, and its cell.
pub struct Figure {
    /// Name on the command line.
    pub id: &'static str,
    /// Head of its column.
    pub head: &'static str,
    /// The field of the record that it is of.
    pub field: &'static str,
    /// A note below the table.
    pub note: Option<&'static str>,
    /// Which of its values is best.
    pub better: Better,
    needs: Needs,
    written: Written,
    value: fn(&ResultRecord) -> Option<f64>,
    /// What is compared, if that is not the value.
    compared: Option<fn(&ResultRecord) -> Option<f64>>,
}

impl Figure {
    const fn new(
        id: &'static str,
        head: &'static str,
        field: &'static str,
        written: Written,
        better: Better,
        value: fn(&ResultRecord) -> Option<f64>,
    ) -> Figure {
        Figure {
            id,
            head,
            field,
            note: None,
            better,
            needs: Needs::Nothing,
            written,
            value,
            compared: None,
        }
    }

    const fn compared(self, compared: fn(&ResultRecord) -> Option<f64>) -> Figure {
        let compared = Some(compared);
        Figure { compared, ..self }
    }

    /// Is it a hit ratio, which compares among runs that read alike?
    pub fn is_of_hits(&self) -> bool {
        matches!(self.written, Written::Percent)
    }

    const fn of(self, needs: Needs) -> Figure {
        Figure { needs, ..self }
    }

    const fn note(self, note: &'static str) -> Figure {
        let note = Some(note);
        Figure { note, ..self }
    }

    /// The value in a record.
    pub fn value(&self, record: &ResultRecord) -> Option<f64> {
        (self.value)(record)
    }

    /// Its unit, relative to that of its field.
    pub fn unit(&self) -> &'static str {
        match (self.written, self.id) {
            (Written::Percent, _) => "in percent",
            (Written::Ms, _) => "in ms",
            (Written::Decimals(_), "mb-per-s") => "in 10^6 bytes",
            (Written::Pages, _) => "pages; MiB where page sizes differ",
            (Written::PagesEach, _) => "pages; KiB where page sizes differ",
            _ => "as it is",
        }
    }

    /// Which runs have it.
    pub fn when(&self) -> &'static str {
        match self.needs {
            Needs::Nothing => "always",
            Needs::Device => "with a device",
            Needs::ClosedLoop => "in a closed loop",
        }
    }

    /// Head of its column, with amounts of data in `unit`.
    pub fn head_in(&self, unit: DataUnit) -> String {
        match (self.written, unit) {
            (Written::Pages, DataUnit::Bytes) => format!("{} MiB", self.head),
            (Written::PagesEach, DataUnit::Bytes) => self.head.replace("pages", "KiB"),
            _ => self.head.to_owned(),
        }
    }

    /// The cell of a row, with amounts of data in `unit`.
    pub fn cell(&self, record: &ResultRecord, unit: DataUnit) -> String {
        let value = self.value(record);
        let bytes = value.map(|v| unit.amount(record, v));
        let text = or_dash(match self.written {
            Written::Pages if unit == DataUnit::Bytes => number(bytes.map(|b| b / MIB), 3),
            Written::PagesEach if unit == DataUnit::Bytes => number(bytes.map(|b| b / 1024.0), 2),
            Written::Pages => number(value, 0),
            Written::PagesEach => number(value, 2),
            Written::Percent => number(value.map(|v| 100.0 * v), 2),
            Written::Decimals(decimals) => number(value, decimals),
            Written::Ms => number(value.map(|v| v / 1e6), 3),
        });
        match self.needs {
            Needs::ClosedLoop if runs_empty(record) => format!("{RUNS_EMPTY}{text}"),
            _ => text,
        }
    }

    fn is_shown(&self, records: &[&ResultRecord]) -> bool {
        let has = |r: &&ResultRecord| match self.needs {
            Needs::Nothing => true,
            Needs::Device => r.latency_ns.is_some(),
            Needs::ClosedLoop => r.throughput.is_some(),
        };
        records.iter().any(has)
    }
}

use Better::{Larger, Neither, Smaller};
use Written::{Decimals, Ms, Pages, PagesEach, Percent};

/// All figures, the most telling ones first: a narrow terminal shows no others.
pub const FIGURES: &[Figure] = &[
    Figure::new(
        "page-hit",
        "page hit %",
        "ratios.page_hit_ratio",
        Percent,
        Larger,
        |r| r.ratios.page_hit_ratio,
    ),
    Figure::new(
        "iops",
        "IOPS",
        "throughput.requests_per_s",
        Decimals(0),
        Larger,
        |r| Some(r.throughput.as_ref()?.requests_per_s),
    )
    .of(Needs::ClosedLoop),
    Figure::new(
        "mb-per-s",
        "MB/s",
        "throughput.bytes_per_s",
        Decimals(1),
        Larger,
        |r| Some(r.throughput.as_ref()?.bytes_per_s / 1e6),
    )
    .of(Needs::ClosedLoop)
    .note("MB/s: 10^6 bytes of reads and writes per second"),
    Figure::new("mean", "mean ms", "latency_ns.all.mean", Ms, Smaller, |r| {
        r.latency_ns?.all.mean
    })
    .of(Needs::Device),
    Figure::new("p99", "p99 ms", "latency_ns.all.p99", Ms, Smaller, |r| {
        Some(r.latency_ns?.all.p99? as f64)
    })
    .of(Needs::Device),
    Figure::new(
        "flash-writes",
        "flash writes",
        "counts.flash_writes_host",
        Pages,
        Smaller,
        |r| Some(r.counts.flash_writes_host as f64),
    )
    .compared(|r| Some((r.counts.flash_writes_host + r.dirty_pages_left) as f64)),
    // WA-1.
    Figure::new(
        "waf",
        "write amplification",
        "ratios.waf",
        Decimals(3),
        Smaller,
        |r| r.ratios.waf,
    )
    .of(Needs::Device)
    .compared(|r| {
        let bytes = flash_pages(r) * r.page_bytes;
        r.ratios
            .waf
            .map(|_| bytes as f64 / r.counts.write_sectors as f64)
    })
    .note("write amplification: bytes programmed for any cause / bytes that the host wrote"),
    Figure::new(
        "read-hit",
        "read hit %",
        "ratios.read_page_hit_ratio",
        Percent,
        Larger,
        |r| r.ratios.read_page_hit_ratio,
    ),
    Figure::new(
        "write-hit",
        "write hit %",
        "ratios.write_page_hit_ratio",
        Percent,
        Larger,
        |r| r.ratios.write_page_hit_ratio,
    ),
    Figure::new(
        "dirty-left",
        "dirty left",
        "dirty_pages_left",
        Pages,
        Neither,
        |r| Some(r.dirty_pages_left as f64),
    )
    .note(
        "dirty left: pages that are still to be written at the end, in no flash write \
           (--flush-at-end)",
    ),
    Figure::new(
        "evictions",
        "evictions",
        "counts.evictions",
        Decimals(0),
        Neither,
        |r| Some(r.counts.evictions as f64),
    ),
    Figure::new(
        "pages-per-eviction",
        "pages/eviction",
        "evict_pages_mean",
        PagesEach,
        Neither,
        |r| r.evict_pages_mean,
    ),
];

/// Names the runs whose write amplification is that of the cache alone, because nothing was collected.
pub fn nothing_collected<'a>(
    records: impl IntoIterator<Item = &'a ResultRecord>,
) -> Option<String> {
    let all = records.into_iter().filter(|r| r.ratios.waf.is_some());
    let (of_cache, others): (Vec<_>, Vec<_>) = all.partition(|r| r.counts.erases == Some(0));
    let which = match others.is_empty() {
        true => String::new(),
        false => {
            let names = distinct(of_cache.iter().map(|r| r.scheme.as_str()));
            format!(" for {}", names.join(", "))
        }
    };
    (!of_cache.is_empty()).then(|| {
        format!(
            "write amplification: nothing was collected{which}, so this is the figure of the cache alone; \
             `precondition` (fill, overwrite) makes a full drive that collects"
        )
    })
}

/// The figures that `records` have.
pub fn figures<'a>(
    records: impl IntoIterator<Item = &'a ResultRecord>,
) -> impl Iterator<Item = &'static Figure> {
    let records: Vec<&ResultRecord> = records.into_iter().collect();
    FIGURES
        .iter()
        .filter(move |figure| figure.is_shown(&records))
}

/// A column that was asked for.
pub enum TableColumn {
    /// One of [`FIGURES`].
    Figure(&'static Figure),
    /// A field of the record.
    Field(String),
}

impl TableColumn {
    /// The column called `name`.
    ///
    /// # Errors
    /// No figure and no field is called like that.
    pub fn parse(name: &str) -> Result<TableColumn, String> {
        if let Some(figure) = FIGURES.iter().find(|figure| figure.id == name) {
            return Ok(TableColumn::Figure(figure));
        }
        if record_columns().iter().any(|column| column.name == name) {
            return Ok(TableColumn::Field(name.to_owned()));
        }
        let ids: Vec<&str> = FIGURES.iter().map(|figure| figure.id).collect();
        Err(format!(
            "`{name}` is no figure: allowed: {}, or a field of the record, such as counts.erases \
             (docs/OUTPUT.md)",
            ids.join(", ")
        ))
    }

    /// What `--columns` calls it.
    pub fn name(&self) -> &str {
        match self {
            TableColumn::Figure(figure) => figure.id,
            TableColumn::Field(name) => name,
        }
    }

    /// Its head, with amounts of data in `unit`.
    pub fn head(&self, unit: DataUnit) -> String {
        match self {
            TableColumn::Figure(figure) => figure.head_in(unit),
            TableColumn::Field(name) => name.clone(),
        }
    }

    /// A note below the table.
    pub fn note(&self) -> Option<&'static str> {
        match self {
            TableColumn::Figure(figure) => figure.note,
            TableColumn::Field(_) => None,
        }
    }

    /// The value of a row, if a best one can be told. Writes are those of pages that are left, too.
    pub fn rank(&self, record: &ResultRecord) -> Option<f64> {
        let TableColumn::Figure(figure) = self else {
            return None;
        };
        let value = figure.compared.unwrap_or(figure.value)(record);
        match figure.better {
            Larger => value,
            Smaller => Some(-value?),
            Neither => None,
        }
    }

    /// Do the values of two rows compare?
    pub fn compares(&self, a: &ResultRecord, b: &ResultRecord) -> bool {
        let reading = |r: &ResultRecord| (r.reading.read_alloc, r.reading.read_fill.clone());
        match self {
            TableColumn::Figure(figure) if figure.is_of_hits() => reading(a) == reading(b),
            _ => true,
        }
    }

    /// The order of two rows: the better one first, or else the one with the larger number, or texts by their letters.
    /// A row without a value comes last.
    pub fn compare(&self, a: &ResultRecord, b: &ResultRecord) -> Ordering {
        let number = |record: &ResultRecord| match self {
            TableColumn::Figure(figure) if figure.better == Smaller => Some(-figure.value(record)?),
            TableColumn::Figure(figure) => figure.value(record),
            TableColumn::Field(name) => field(record, name).as_f64(),
        };
        let text = |record: &ResultRecord| match self {
            TableColumn::Figure(_) => None,
            TableColumn::Field(name) => field(record, name).as_str().map(str::to_owned),
        };
        let last_if_none = |a: bool, b: bool| b.cmp(&a);
        match (number(a), number(b), text(a), text(b)) {
            (Some(a), Some(b), ..) => b.total_cmp(&a),
            (_, _, Some(a), Some(b)) => a.cmp(&b),
            (a, b, c, d) => last_if_none(a.is_some() || c.is_some(), b.is_some() || d.is_some()),
        }
    }

    /// The cell of a row, with amounts of data in `unit`.
    pub fn cell(&self, record: &ResultRecord, unit: DataUnit) -> String {
        match self {
            TableColumn::Figure(figure) => figure.cell(record, unit),
            TableColumn::Field(name) => match field(record, name) {
                Value::Null => or_dash(None),
                Value::String(text) => text,
                other => other.to_string(),
            },
        }
    }
}

/// A field of the record.
fn field(record: &ResultRecord, name: &str) -> Value {
    let record = serde_json::to_value(record).unwrap_or_default();
    cell(&record, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_figures_or_fields() {
        for figure in FIGURES {
            assert!(
                matches!(TableColumn::parse(figure.id), Ok(TableColumn::Figure(f)) if f.id == figure.id)
            );
            assert!(
                matches!(TableColumn::parse(figure.field), Ok(TableColumn::Field(_))),
                "{}",
                figure.field
            );
        }
        assert!(matches!(
            TableColumn::parse("counts.erases"),
            Ok(TableColumn::Field(_))
        ));
        let error = TableColumn::parse("erases").err().unwrap();
        assert!(
            error.contains("`erases`") && error.contains("page-hit"),
            "{error}"
        );
    }
}
