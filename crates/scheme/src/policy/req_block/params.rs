//! Parameters of Req-block and the readings of the paper they choose between.

use crate::info::{ParamInfo, ParamValue, Words};
use crate::{Env, Expr, Placement, params, words};

words! {
    /// Which page count decides whether a block is small (RB-1).
    pub enum SizeBasis {
        /// Pages the block has now.
        Current = "current",
        /// Pages the request that created the block put into it.
        Original = "original",
    }
}

words! {
    /// The event that adds one to the access count of a small block (RB-2).
    pub enum AccessUnit {
        /// Every page hit.
        Page = "page",
        /// Every request that hits the block, whatever the number of its pages.
        Request = "request",
    }
}

words! {
    /// The clock of Eq. 1 (RB-3).
    pub enum TimeBasis {
        /// Arrival of the request, in ns.
        RequestTime = "request-time",
        /// Page accesses so far.
        PageSeq = "page-seq",
        /// Requests so far.
        ReqSeq = "req-seq",
    }
}

words! {
    /// Access count of a block that was divided from another one (RB-4).
    pub enum SplitAccess {
        /// 1.
        One = "one",
        /// Pages that the creating request moved into it.
        PerPage = "per-page",
        /// That of the first block it was divided from.
        Inherit = "inherit",
    }
}

words! {
    /// Insertion time of a block that was divided from another one (RB-4).
    pub enum SplitInsertTime {
        /// The time of the division.
        Now = "now",
        /// That of the first block it was divided from.
        Inherit = "inherit",
    }
}

words! {
    /// Which block counts as the origin of a divided block (RB-5).
    pub enum OriginRule {
        /// The first ancestor that was not divided itself.
        Root = "root",
        /// The block the pages came from.
        Direct = "direct",
        /// None: origins are never merged.
        None = "none",
    }
}

words! {
    /// Blocks that leave IRL together with a victim (RB-5).
    pub enum Merge {
        /// The origin of the first page moved into the block.
        First = "first",
        /// The origins of all pages moved into the block.
        All = "all",
        /// With a victim from SRL or DRL: the blocks that hold a page next to one of the victim's.
        /// Origins, and with them [`OriginRule`], play no part.
        Neighbour = "neighbour",
    }
}

/// Each scheme says which word is the default, by the order in which it lists them.
impl ParamValue for Placement {
    fn read(e: &Expr, key: &str, _env: &Env) -> Placement {
        match e.word(key) {
            "stripe" => Placement::Stripe,
            "single-block" => Placement::SingleBlock,
            word => unreachable!("{word} is no placement"),
        }
    }
}

params! {
    /// Parameters of [`ReqBlock`](super::ReqBlock).
    #[derive(Copy)]
    pub struct ReqBlockParams {
        /// largest block that may enter the small request list
        delta: u64 = ParamInfo::count(1, 5).unit("pages").source("4.2.1"),
        /// pages of a block now, or at its creation, decide whether it is small
        size_basis: SizeBasis = ParamInfo::word(SizeBasis::WORDS).source("RB-1"),
        /// a small block counts every page hit, or at most one hit per request
        access_unit: AccessUnit = ParamInfo::word(AccessUnit::WORDS).source("RB-2"),
        /// clock of Eq. 1: arrival time, page accesses or requests
        time_basis: TimeBasis = ParamInfo::word(TimeBasis::WORDS).source("RB-3"),
        /// access count of a divided block: 1, pages moved, or that of its origin
        split_access: SplitAccess = ParamInfo::word(SplitAccess::WORDS).source("RB-4"),
        /// insertion time of a divided block
        split_insert_time: SplitInsertTime = ParamInfo::word(SplitInsertTime::WORDS).source("RB-4"),
        /// block a divided block is merged with: first ancestor, direct one, or no merge
        origin: OriginRule = ParamInfo::word(OriginRule::WORDS).source("RB-5"),
        /// origins kept: the first one divided, all, or blocks with neighbouring pages
        merge: Merge = ParamInfo::word(Merge::WORDS).source("RB-5"),
        /// a batch is spread over the chips, or goes to one plane
        placement: Placement = ParamInfo::word(&["stripe", "single-block"]).source("3.3"),
    }
}
