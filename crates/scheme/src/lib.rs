//! Cache-management schemes, their expression language and their registry.
//!
//! A scheme decides; the cache core of crate `sim` acts. The contract is [`Scheme`], what a scheme
//! may see is [`View`]. This crate cannot name the device: what a scheme knows of it stands in
//! [`DeviceView`].

pub mod ahead;
pub mod build;
pub mod catalogue;
pub mod cqct;
pub mod expr;
mod forward;
pub mod frames;
pub mod ghost;
pub mod ghost_queues;
pub mod info;
pub mod list;
pub mod policy;

pub mod layer;
#[cfg(test)]
mod mini;
pub mod notes;
pub mod registry;
pub mod rng;
pub mod scheme;
pub mod shelves;
mod sparse;
#[cfg(feature = "conformance")]
pub mod state;
mod table;
#[cfg(test)]
mod testing;
pub mod view;

pub use ahead::{Ahead, LOOK_AHEAD};
pub use build::Env;
#[doc(hidden)]
pub use destage_types as types;
pub use expr::{Code, Expr, ReadAlloc, Refusal, RunContext, RunDevice, Warning, check_run};
pub use frames::{Entry, Frames, Trimmed};
pub use ghost::GhostTable;
pub use ghost_queues::{Ghost, GhostQueues};
pub use info::{DefaultValue, Kind, ParamInfo, Role, SchemeInfo, Size};
pub use list::ListArena;
pub use notes::{Column, Notes};
pub use scheme::{
    Access, Admission, After, Boxed, Candidate, Placement, RenamePlan, Request, Scheme, Scope,
    Unit, Update, Why,
};
pub use sparse::Place;
pub use view::{ChipLoad, ChipQueue, DeviceView, FlashCosts, NoDevice, View};
