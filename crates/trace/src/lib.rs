//! Block I/O traces: readers, writers and generators.
//!
//! A trace is read in four layers, each of which knows only the one below:
//!
//! 1. [`Source`]: bytes as stored, from a file, standard input or memory, hashed on the way;
//! 2. [`Container`]: none, zstd, gzip or xz, told by the first bytes, never by the file name;
//! 3. [`TraceReader`]: one file per format below [`format`](mod@format), turning lines into
//!    requests of a batch that the caller owns;
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

mod collect;
mod container;
mod error;
mod extent;
mod fields;
pub mod format;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod hash;
mod input;
mod line;
mod load;
mod members;
mod numbers;
mod packing;
mod pairs;
mod quick;
mod reader;
mod record;
mod sink;
mod source;
mod spool;
pub mod synth;
mod tags;
mod volume;
mod workload;
mod write;

pub use collect::RequestCollector;
pub use container::Container;
pub use error::{BadLine, TraceError, shown};
pub use extent::MAX_BYTES;
pub use format::{
    BlkEvent, DESTAGE_BIN_LAYOUT, FORMATS, FormatInfo, Separator, TraceColumn, TraceReader,
};
pub use load::{LoadOptions, Trace, TraceMeta, load, load_with};
pub use numbers::parse_decimal;
pub use packing::AddressPacking;
pub use pairs::Pairs;
pub use reader::{Reader, open};
pub use source::Source;
pub use spool::{Spool, Stored, load_bounded};
pub use tags::TagSet;
pub use volume::{Volume, VolumeName, Volumes, split};
pub use workload::{RequestSlice, Workload, WorkloadPass};
pub use write::{
    BinWriter, CsvColumns, CsvWriter, WriteSummary, write_bin, write_csv, write_fio, write_msr,
    write_ssdsim,
};
