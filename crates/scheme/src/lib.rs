//! Cache-management schemes, their expression language and their registry.
//!
//! A scheme decides; the cache of crate `sim` acts. [`contract`] says how they talk to each other; what
//! a scheme may see is [`View`]. This crate cannot name the device: what a scheme knows of it stands
//! in [`DeviceView`].

pub mod contract;
pub mod cqct;
pub mod describe;
pub mod expr;
pub mod info;
pub mod key_order;
pub mod layer;
pub mod lists;
pub mod notes;
pub mod policy;
pub mod ranking;
pub mod registry;
pub mod rng;
pub mod stamps;
#[cfg(feature = "conformance")]
pub mod state;
pub mod store;
#[cfg(test)]
mod testing;

pub use contract::{
    Access, AccessId, Admission, After, BackgroundPage, Boxed, DeviceView, Env, Equation1,
    FlashCosts, GcBlocks, GroupPolicy, Groups, InService, Layer, NoDevice, Occasion,
    PAGE_NODE_BYTES, PageList, PageLists, Pages, Placement, Policy, RemoveReason, RenamePlan,
    Request, Scheme, SchemeExt, SchemeNotice, SchemeStats, Terms, Unit, Update, Victim, View,
    WriteBack, WriteBackQuery, WriteBackRules, WriteClass,
};
#[doc(hidden)]
pub use destage_types as types;
pub use expr::{
    Code, DRAINED_LRU, Expr, ReadAlloc, Refusal, RunContext, RunDevice, Warning, check_run,
};
pub use info::{DefaultValue, Kind, ParamInfo, Role, SchemeInfo, Size};
pub use lists::{List, ListArray, Lists};
pub use notes::{Column, Note, Notes};
pub use store::{FrameCounts, Frames, Ghosts, IndexEntry, PREFETCH, Place, Trimmed, Upcoming};
