//! Writers: the program's own formats.

mod csv;

pub use csv::{CsvColumns, CsvWriter, write_csv};
