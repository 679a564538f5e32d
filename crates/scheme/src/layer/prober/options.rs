//! Parameters of Prober (sections 3.1-3.3; decisions PR-1, PR-2, PR-4, PR-6, PR-12).

use crate::Expr;
use destage_types::{PageSize, SECTOR_BYTES};

/// When a node of the queue is outdated (PR-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RipCmp {
    /// Its age is at least `rip`.
    #[default]
    Ge,
    /// Its age exceeds `rip`.
    Gt,
}

/// Which requests advance the serial number (PR-2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AsnCounts {
    /// Writes.
    #[default]
    Writes,
    /// Reads too.
    All,
}

/// Where pages of large sequential writes go (PR-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LdrMode {
    /// To LDR.
    #[default]
    Queue,
    /// To flash; a cached copy is dropped.
    Bypass,
}

/// Which page of LDR leaves first (PR-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LdrEvict {
    /// The one that was pushed last.
    #[default]
    Tail,
    /// The one that was pushed first.
    Head,
}

/// What a read hit in LDR does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LdrReadHit {
    /// Nothing.
    #[default]
    Stay,
    /// The page becomes regular data.
    Promote,
}

/// Pages of an update that hit through a rename of `cac` (PR-12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CacUpdates {
    /// Are classified like all others.
    #[default]
    Classify,
    /// Are regular data.
    Exempt,
}

/// Parameters of [`Prober`](super::Prober).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProberOptions {
    /// A set is large if it is longer than this, in sectors; at least one page.
    pub ssp: u64,
    /// Age in requests at which a set is forgotten; at least 1.
    pub rip: u64,
    /// Exact meaning of `rip`.
    pub rip_cmp: RipCmp,
    /// What counts towards the age.
    pub asn_counts: AsnCounts,
    /// Keep or bypass LWdata.
    pub ldr: LdrMode,
    /// End of LDR that leaves first.
    pub ldr_evict: LdrEvict,
    /// Effect of reads on LDR.
    pub ldr_read_hit: LdrReadHit,
    /// Demand eviction passes over half-filled pages of LDR (PR-6).
    pub ldr_skip_partial: bool,
    /// Treatment of renamed pages.
    pub cac_updates: CacUpdates,
}

impl Default for ProberOptions {
    /// 128 KiB, 3000 writes (section 4.2.1).
    fn default() -> ProberOptions {
        ProberOptions {
            ssp: 256,
            rip: 3000,
            rip_cmp: RipCmp::Ge,
            asn_counts: AsnCounts::Writes,
            ldr: LdrMode::Queue,
            ldr_evict: LdrEvict::Tail,
            ldr_read_hit: LdrReadHit::Stay,
            ldr_skip_partial: false,
            cac_updates: CacUpdates::Classify,
        }
    }
}

impl ProberOptions {
    /// As the layer `e` of an expression says, on pages of `page`.
    pub fn from_expr(e: &Expr, page: PageSize) -> ProberOptions {
        fn pick<T>(word: bool, given: T, default: T) -> T {
            if word { given } else { default }
        }
        let is = |key, word| e.word(key) == word;
        ProberOptions {
            ssp: e.size_bytes("ssp", page) / SECTOR_BYTES,
            rip: e.uint("rip"),
            rip_cmp: pick(is("rip-cmp", "gt"), RipCmp::Gt, RipCmp::Ge),
            asn_counts: pick(is("asn-counts", "all"), AsnCounts::All, AsnCounts::Writes),
            ldr: pick(is("ldr", "bypass"), LdrMode::Bypass, LdrMode::Queue),
            ldr_evict: pick(is("ldr-evict", "head"), LdrEvict::Head, LdrEvict::Tail),
            ldr_read_hit: pick(
                is("ldr-read-hit", "promote"),
                LdrReadHit::Promote,
                LdrReadHit::Stay,
            ),
            ldr_skip_partial: e.flag("ldr-skip-partial"),
            cac_updates: pick(
                is("cac-updates", "exempt"),
                CacUpdates::Exempt,
                CacUpdates::Classify,
            ),
        }
    }
}
