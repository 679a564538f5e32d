//! Where pages are: the frames of the cache, the index over them, ghosts, and tables by address.

pub mod frames;
pub(crate) mod ghosts;
pub(crate) mod lpn_hash;
pub mod page_index;
pub mod prefetch;

pub use frames::{FrameCounts, Frames, IndexEntry, Trimmed};
pub use ghosts::GhostList;
pub use ghosts::Ghosts;
pub use ghosts::IncomingGhost;
pub(crate) use lpn_hash::LpnHash;
pub use page_index::{PageIndex, Place};
pub use prefetch::{PREFETCH, Upcoming};
