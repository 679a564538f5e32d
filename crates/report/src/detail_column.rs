//! The columns of the tables of details, which show amounts of data in pages or bytes.

use crate::distinctions::DataUnit;
use crate::table::or_dash;
use destage_record::ResultRecord;

/// A column: its head, and the cell of a record, `-` if there is none.
pub struct DetailColumn {
    head: &'static str,
    cell: ColumnCell,
}

enum ColumnCell {
    Text(fn(&ResultRecord) -> Option<String>),
    /// An amount of data in pages.
    Pages(fn(&ResultRecord) -> Option<u64>),
}

/// A column of something else than amounts of data.
pub const fn column(head: &'static str, cell: fn(&ResultRecord) -> Option<String>) -> DetailColumn {
    let cell = ColumnCell::Text(cell);
    DetailColumn { head, cell }
}

/// A column of amounts of data in pages.
pub const fn pages(head: &'static str, cell: fn(&ResultRecord) -> Option<u64>) -> DetailColumn {
    let cell = ColumnCell::Pages(cell);
    DetailColumn { head, cell }
}

impl DetailColumn {
    /// Its head in a table called `title`, with amounts of data in `unit`.
    pub fn head(&self, title: &str, unit: DataUnit) -> String {
        match (&self.cell, unit) {
            // The title has the unit.
            _ if title.contains(IN_PAGES) => self.head.to_owned(),
            (ColumnCell::Pages(_), DataUnit::Bytes) if self.head.contains("pages") => {
                self.head.replace("pages", "MiB")
            }
            (ColumnCell::Pages(_), DataUnit::Bytes) => format!("{} MiB", self.head),
            _ => self.head.to_owned(),
        }
    }

    /// The cell of a record.
    pub fn cell(&self, record: &ResultRecord, unit: DataUnit) -> String {
        or_dash(match self.cell {
            ColumnCell::Text(cell) => cell(record),
            ColumnCell::Pages(cell) => cell(record).map(|n| unit.cell(record, n)),
        })
    }
}

/// The unit in the title of a table of amounts of data.
pub const IN_PAGES: &str = " in pages";
