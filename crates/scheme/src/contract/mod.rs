//! The contract between a cache and its scheme.
//!
//! The cache (crate `sim`) owns the page frames, their sector masks and all counters, and acts; a
//! scheme owns orders and histories, and decides. A composition such as `cac(prober(lirs))` is
//! layers around a policy. Each kind of scheme implements its own trait:
//!
//! - **page policy** (LRU, ARC) implements [`Policy`]: what happens to single pages, and which one
//!   leaves;
//! - **group policy** (Req-block, BPLRU) implements [`GroupPolicy`]: the same for pages that leave
//!   together;
//! - **layer** (CAC, Prober) implements [`Layer`]: the methods of its own stage; all others go to
//!   the scheme inside.
//!
//! Each of them is a [`Scheme`] by that, which is all stages in one. For a host request the cache
//! calls, in this order:
//!
//! 1. **mapping**: `rename_plan`, `SchemeNotice::Forgotten` and `rename` for every 4 KiB block that names an
//!    old address;
//! 2. **classification and admission**: `on_request`, for reads as well, and for writes that go past the
//!    cache; then `admit` for each written page and each read miss;
//! 3. **replacement**, page by page, ascending: `on_hit`; or `on_miss`, then, while `is_full`, `victim`
//!    and `on_remove` for each page that leaves, then `on_insert`;
//! 4. `SchemeNotice::RequestEnd`, after the last page. In a bounded buffer a write may wait for frames between two
//!    pages, from `RequestWaits` to `RequestResumed`, and others are served.
//!
//! It asks for pages to write back (**write-back**) when the scheme declares that it wants to be asked
//! ([`WriteBackRules`]): while a channel is idle, after a page came in or was written, when a program has
//! ended, at a time that the scheme names.

mod answers;
mod build;
mod env;
mod group;
mod page_lists;
mod policy;
mod scheme;
mod stats;
mod values;
mod view;

pub use build::{Build, boxed};
pub use env::Env;
pub use group::{GroupPolicy, Groups};
pub use page_lists::{PageList, PageLists};
pub use policy::{PAGE_NODE_BYTES, Pages, Policy};
pub use scheme::{Boxed, Layer, Scheme, SchemeExt};
pub use stats::SchemeStats;
pub use values::{
    Access, AccessId, Admission, After, BackgroundPage, Occasion, Placement, RemoveReason,
    RenamePlan, Request, SchemeNotice, Terms, Unit, Update, Victim, WriteBack, WriteBackQuery,
    WriteBackRules, WriteClass,
};
pub use view::{DeviceView, Equation1, FlashCosts, GcBlocks, InService, NoDevice, View};
