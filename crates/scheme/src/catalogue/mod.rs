//! Every scheme by name, with its declaration.
//!
//! The list is the registry: help, listings, documentation rows and conformance tests follow it.

mod admission;
mod classifier;
pub mod describe;
mod group;
mod mapping;
mod page_basic;
mod page_chip;
mod page_flash;
mod page_general;
mod victim;

use crate::info::SchemeInfo;

/// All schemes, in the order listings show them: wrappers outermost first, then leaves.
pub const SCHEMES: &[&SchemeInfo] = &[
    &mapping::CAC,
    &mapping::AWB,
    &mapping::EAGER,
    &admission::PROCACHE,
    &admission::REFCOUNT,
    &admission::MULTIHASH,
    &admission::MBF,
    &admission::TWOLEVEL,
    &classifier::PROBER,
    &victim::GCAR,
    &victim::ECR,
    &page_basic::FIFO,
    &page_basic::LRU,
    &page_basic::LFU,
    &page_basic::CLOCK,
    &page_basic::CFLRU,
    &page_basic::ARC,
    &page_basic::LIRS,
    &page_chip::ECR_EPS,
    &page_chip::CFLRU_EPS,
    &page_chip::LCR,
    &page_chip::CO_ACTIVE,
    &page_flash::LRU_WSR,
    &page_flash::CCF_LRU,
    &page_flash::AD_LRU,
    &page_flash::REF,
    &page_general::LRU_2,
    &page_general::TWO_Q,
    &page_general::MQ,
    &page_general::LRFU,
    &page_general::FRD,
    &page_general::SIEVE,
    &page_general::S3_FIFO,
    &page_general::W_TINYLFU,
    &group::REQ_BLOCK,
    &group::BPLRU,
    &group::VBBMS,
    &group::FAB,
    &group::PUD_LRU,
    &group::BPAC,
    &group::LB_CLOCK,
    &page_basic::BELADY,
    &page_basic::NONE,
];

/// Other spellings of compositions: alias, then the layers it stands for, outermost first.
pub const ALIASES: &[(&str, &[&str])] = &[
    ("prober-lru", &["prober", "lru"]),
    ("prober-lirs", &["prober", "lirs"]),
    ("cac+lru", &["cac", "lru"]),
    ("cac+arc", &["cac", "arc"]),
    ("gcar-lru", &["gcar", "lru"]),
    ("gcar-cflru", &["gcar", "cflru"]),
    ("refcnt", &["refcount", "lru"]),
];

/// The scheme called `name` (canonical spelling).
pub fn find(name: &str) -> Option<&'static SchemeInfo> {
    SCHEMES.iter().copied().find(|info| info.name == name)
}

/// The layers `name` stands for, outermost first, if it is an alias.
pub fn alias(name: &str) -> Option<&'static [&'static str]> {
    ALIASES.iter().find(|a| a.0 == name).map(|a| a.1)
}

/// The scheme name or alias nearest to `name`, for error messages.
pub fn nearest(name: &str) -> &'static str {
    let names = SCHEMES.iter().map(|info| info.name);
    let known = names.chain(ALIASES.iter().map(|a| a.0));
    nearest_of(name, known).expect("the catalogue is not empty")
}

/// The word of `known` with the fewest edits from `word`; the first among equals. Only the first
/// characters of a long word are compared, so that the work is bounded.
pub(crate) fn nearest_of<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(64).collect();
    known.min_by_key(|k| strsim::osa_distance(&word, k))
}

#[cfg(test)]
mod tests;
