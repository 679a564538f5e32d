//! Writers: the program's own formats, and those of other simulators and tools.
//!
//! The foreign formats hold less than a request may: what they cannot say is an error, never
//! left out. Times are rounded down to the unit of the format, FUA and preflush are left out, and such requests
//! are counted; what `oracle-general` makes of requests is counted, too.

mod ascii;
mod bin;
#[cfg(not(target_family = "wasm"))]
mod compress;
mod csv;
mod fio;
mod msr;
#[cfg(not(target_family = "wasm"))]
mod oracle_general;
mod passes;
mod text;

pub use ascii::{write_disksim, write_ssdsim};
pub use bin::{BinWriter, write_bin};
#[cfg(not(target_family = "wasm"))]
pub use compress::CompressedWriter;
pub use csv::write_csv;
pub use fio::write_fio;
pub use msr::write_msr;
#[cfg(not(target_family = "wasm"))]
pub use oracle_general::{BlockSummary, write_oracle_general};
pub use passes::RequestPasses;
pub use text::WriteSummary;
