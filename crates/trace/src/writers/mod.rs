//! Writers: the program's own formats, and those of other simulators and tools.
//!
//! The foreign formats hold less than a request may: what they cannot say is an error, never
//! left out. Times alone are rounded down to the unit of the format, and such requests counted.

mod bin;
mod csv;
mod fio;
mod msr;
mod passes;
mod ssdsim;
mod text;

pub use bin::{BinWriter, write_bin};
pub use csv::{CsvColumns, CsvWriter, write_csv};
pub use fio::write_fio;
pub use msr::write_msr;
pub use passes::RequestPasses;
pub use ssdsim::write_ssdsim;
pub use text::WriteSummary;
