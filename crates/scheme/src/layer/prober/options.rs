//! Parameters of Prober (sections 3.1-3.3; decisions PR-1, PR-2, PR-4, PR-6, PR-12).

use crate::expr::Broken;
use crate::info::{ParamInfo, Size, Words};
use crate::{Code, Expr, RunContext, params, words};

words! {
    /// When a node of the queue is outdated (PR-1).
    pub enum RipCmp {
        /// Its age is at least `rip`.
        Ge = "ge",
        /// Its age exceeds `rip`.
        Gt = "gt",
    }
}

words! {
    /// Which requests advance the serial number (PR-2).
    pub enum AsnCounts {
        /// Writes.
        Writes = "writes",
        /// Reads too.
        All = "all",
    }
}

words! {
    /// Where pages of large sequential writes go (PR-4).
    pub enum LdrMode {
        /// To LDR.
        Queue = "queue",
        /// To flash; a cached copy is dropped.
        Bypass = "bypass",
    }
}

words! {
    /// Which page of LDR leaves first (PR-4).
    pub enum LdrEvict {
        /// The one that was pushed last.
        Tail = "tail",
        /// The one that was pushed first.
        Head = "head",
    }
}

words! {
    /// The effect of a read hit in LDR.
    pub enum LdrReadHit {
        /// Nothing.
        Stay = "stay",
        /// The page becomes regular data.
        Promote = "promote",
    }
}

words! {
    /// Pages of an update that hit through a rename of `cac` (PR-12).
    pub enum CacUpdates {
        /// Are classified like all others.
        Classify = "classify",
        /// Are regular data.
        Exempt = "exempt",
    }
}

params! {
    /// Parameters of [`Prober`](super::Prober).
    #[derive(Copy)]
    pub struct ProberOptions {
        /// a set of adjacent writes longer than this is large
        ssp: Size = ParamInfo::size(128 << 10).unit("bytes").source("3.1, 4.2"),
        /// age at which a set is forgotten
        rip: u64 = ParamInfo::count(1, 3000).unit("write requests").source("4.2.1"),
        /// a set is outdated at age rip, or only beyond it
        rip_cmp: RipCmp = ParamInfo::word(RipCmp::WORDS).source("PR-1"),
        /// requests that advance the arrival serial number
        asn_counts: AsnCounts = ParamInfo::word(AsnCounts::WORDS).source("PR-2"),
        /// large sequential data enter their own queue, or go to flash
        ldr: LdrMode = ParamInfo::word(LdrMode::WORDS).source("PR-4"),
        /// end of the queue that leaves first: newest or oldest
        ldr_evict: LdrEvict = ParamInfo::word(LdrEvict::WORDS).source("PR-4"),
        /// a read hit leaves the page in the queue, or makes it regular data
        ldr_read_hit: LdrReadHit = ParamInfo::word(LdrReadHit::WORDS).source("3.2"),
        /// demand eviction passes over partly filled pages of the queue
        ldr_skip_partial: bool = ParamInfo::flag(false).source("PR-6"),
        /// updates that hit through a rename are classified, or always regular data
        cac_updates: CacUpdates = ParamInfo::word(CacUpdates::WORDS).source("PR-12"),
    }
}

/// Sets longer than `ssp` are large, and one page alone never is.
pub(super) fn large_is_above_a_page(layer: &Expr, run: &RunContext) -> Result<(), Broken> {
    let (page, ssp) = (run.page.bytes(), layer.size_bytes("ssp", run.page));
    if ssp < page {
        Err((
            Code::Param,
            format!("out of range: ssp={ssp} bytes is less than one page of {page}"),
        ))
    } else {
        Ok(())
    }
}
