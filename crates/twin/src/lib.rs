//! Twins: traces generated so that LRU hit curves, updates and sequentiality are near those of a
//! given trace. A twin is a likeness, not the trace.
//!
//! The model has two disjoint recency stacks, of pages that were ever written and of pages only
//! read. A request goes on a stream, takes an extent back from a stack distance, or touches new
//! pages; the shares of all this are counted in a trace ([`TwinFit`]) and drawn from ([`Twin`]).

mod aggregate;
mod bins;
mod calibrate;
mod clock;
mod draw;
mod file;
mod fit;
mod generate;
mod likeness;
mod maker;
mod parameters;
mod pool;
mod reading;
mod stack;
mod state;
mod tables;
mod touched;

pub use aggregate::Aggregate;
pub use calibrate::{Accuracy, Fitted};
pub use file::TwinFile;
pub use fit::TwinFit;
pub use generate::Twin;
pub use likeness::{CURVE_MIB, Likeness, LikenessCount, curve_error};
pub use parameters::TwinParameters;
pub use pool::TwinPool;
