//! Block I/O traces: readers, writers and generators.
//!
//! A trace is read in four layers, each of which knows only the one below:
//!
//! 1. [`Source`]: bytes as stored, from a file, standard input or memory, hashed on the way;
//! 2. [`Container`]: none, zstd, gzip or xz, told by the first bytes, never by the file name;
//! 3. [`readers`](mod@readers): one file per format, turning lines into requests of a batch that the caller owns;
//! 4. [`Reader`] and [`load()`]: limits, counts and what a result record says about its trace.
//!
//! Memory is bounded by the buffers of these layers, whatever the size of the file; [`load()`]
//! alone keeps the requests themselves.
//!
//! ```
//! use destage_trace::{LoadOptions, Source, load};
//! let csv = b"0,hm,0,Write,4096,8192,7\n".as_slice();
//! let trace = load(Source::bytes("hm_0.csv", csv), &LoadOptions::default())?;
//! assert_eq!(trace.meta.format, "msr");
//! assert_eq!(trace.requests.records()[0].start_sector, 8);
//! # Ok::<(), destage_trace::TraceError>(())
//! ```

mod bytes;
mod doubts;
mod error;
mod extent;
mod fault;
mod filter;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod load;
mod mapping;
mod options;
mod pairs;
mod reader;
pub mod readers;
mod sets;
mod sink;
mod spool;
pub mod synth;
mod tags;
mod text;
mod time_unit;
mod volume;
mod writers;

pub use bytes::container::Container;
pub use bytes::source::Source;
pub use error::{BadLine, TraceError, shown};
pub use extent::MAX_BYTES;
pub use fault::panic_as_error;
pub use load::{AddressFit, Trace, TraceMeta, load, split};
pub use mapping::Mapping;
pub use mapping::form::{FormColumn, FormPart, TableForm, table_form};
pub use mapping::frame::{Frame, load_frame};
pub use mapping::named::{NamedMapping, by_name as format_by_name, named_mappings};
pub use mapping::row::Cell;
pub use options::{BlkEvent, LoadOptions};
pub use pairs::Pairs;
pub use reader::{Reader, open};
pub use readers::{DESTAGE_BIN_LAYOUT, FORMATS, FormatInfo, Raise, Separator, TraceColumn};
pub use sets::RecentSets;
pub use sink::Restarts;
pub use spool::collect::RequestCollector;
pub use spool::packing::AddressPacking;
pub use spool::split::SplitTraces;
pub use spool::workload::{RequestSlice, Workload, WorkloadPass};
pub use spool::{Spool, Stored, load_bounded};
pub use synth::{DEMO, is_demo, trace_in};
pub use tags::TagSet;
pub use text::numbers::parse_decimal;
pub use time_unit::TimeUnit;
pub use volume::{Volume, VolumeName, Volumes};
pub use writers::{
    BinWriter, RequestPasses, WriteSummary, write_bin, write_csv, write_disksim, write_fio,
    write_msr, write_ssdsim,
};
// They need a C library or a temporary file, which a browser does not have.
#[cfg(not(target_family = "wasm"))]
pub use writers::{BlockSummary, CompressedWriter, write_oracle_general};
