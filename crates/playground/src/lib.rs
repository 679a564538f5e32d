//! The engine for a page in the browser: reads traces, plans runs, and executes them, one question at a time.
//!
//! JavaScript asks with a JSON object and gets a JSON object (`Question` in `question.rs`). The bytes of a trace
//! come from a function of the caller, piece by piece, so a file is never in memory as a whole. Each Web Worker
//! has an engine of its own.

#[cfg(target_family = "wasm")]
mod abi;
mod catalogue;
mod engine;
mod facts;
mod question;

pub use engine::{PageEngine, PageHost};
