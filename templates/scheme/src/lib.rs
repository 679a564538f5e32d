//! Schemes of one's own: one file each, and its line in [`SCHEMES`].

pub mod idle_first;
pub mod slru;

use destage_scheme::SchemeInfo;

/// The schemes that this program has beside those of destage.
pub const SCHEMES: &[&SchemeInfo] = &[&slru::INFO, &idle_first::INFO];
