//! Parameters of Req-block and the readings of the paper they choose between.

use crate::{Expr, Placement};

/// Which page count decides whether a block is small (RB-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SizeBasis {
    /// Pages the block has now.
    #[default]
    Current,
    /// Pages the request that created the block put into it.
    Original,
}

/// What adds one to the access count of a small block (RB-2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AccessUnit {
    /// Every page hit.
    #[default]
    Page,
    /// Every request that hits the block, whatever the number of its pages.
    Request,
}

/// The clock of Eq. 1 (RB-3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeBasis {
    /// Arrival of the request, in ns.
    #[default]
    RequestTime,
    /// Page accesses so far.
    PageSeq,
    /// Requests so far.
    ReqSeq,
}

/// Access count of a block that was divided from another one (RB-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitAccess {
    /// 1.
    #[default]
    One,
    /// Pages that the creating request moved into it.
    PerPage,
    /// That of the first block it was divided from.
    Inherit,
}

/// Insertion time of a block that was divided from another one (RB-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitInsertTime {
    /// The time of the division.
    #[default]
    Now,
    /// That of the first block it was divided from.
    Inherit,
}

/// Which block counts as the origin of a divided block (RB-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OriginRule {
    /// The first ancestor that was not divided itself.
    #[default]
    Root,
    /// The block the pages came from.
    Direct,
    /// None: origins are never merged.
    None,
}

/// What leaves IRL together with a victim (RB-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Merge {
    /// The origin of the first page moved into the block.
    #[default]
    First,
    /// The origins of all pages moved into the block.
    All,
    /// With a victim from SRL or DRL: the blocks that hold a page next to one of the victim's.
    /// Origins, and with them [`OriginRule`], play no part.
    Neighbour,
}

/// Parameters of [`ReqBlock`](super::ReqBlock).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReqBlockParams {
    /// Largest block that may enter SRL, in pages, at least 1 (Req-block section 4.2.1).
    pub delta: u64,
    /// RB-1.
    pub size_basis: SizeBasis,
    /// RB-2.
    pub access_unit: AccessUnit,
    /// RB-3.
    pub time_basis: TimeBasis,
    /// RB-4.
    pub split_access: SplitAccess,
    /// RB-4.
    pub split_insert_time: SplitInsertTime,
    /// RB-5.
    pub origin: OriginRule,
    /// RB-5.
    pub merge: Merge,
    /// Where the pages of a batch go on flash (Req-block section 3.3).
    pub placement: Placement,
}

impl Default for ReqBlockParams {
    fn default() -> ReqBlockParams {
        ReqBlockParams {
            delta: 5,
            size_basis: SizeBasis::default(),
            access_unit: AccessUnit::default(),
            time_basis: TimeBasis::default(),
            split_access: SplitAccess::default(),
            split_insert_time: SplitInsertTime::default(),
            origin: OriginRule::default(),
            merge: Merge::default(),
            placement: Placement::default(),
        }
    }
}

impl ReqBlockParams {
    /// As the layer `expr` says.
    pub fn from_expr(expr: &Expr) -> ReqBlockParams {
        ReqBlockParams {
            delta: expr.uint("delta"),
            size_basis: match expr.word("size-basis") {
                "original" => SizeBasis::Original,
                _ => SizeBasis::Current,
            },
            access_unit: match expr.word("access-unit") {
                "request" => AccessUnit::Request,
                _ => AccessUnit::Page,
            },
            time_basis: match expr.word("time-basis") {
                "page-seq" => TimeBasis::PageSeq,
                "req-seq" => TimeBasis::ReqSeq,
                _ => TimeBasis::RequestTime,
            },
            split_access: match expr.word("split-access") {
                "per-page" => SplitAccess::PerPage,
                "inherit" => SplitAccess::Inherit,
                _ => SplitAccess::One,
            },
            split_insert_time: match expr.word("split-insert-time") {
                "inherit" => SplitInsertTime::Inherit,
                _ => SplitInsertTime::Now,
            },
            origin: match expr.word("origin") {
                "direct" => OriginRule::Direct,
                "none" => OriginRule::None,
                _ => OriginRule::Root,
            },
            merge: match expr.word("merge") {
                "all" => Merge::All,
                "neighbour" => Merge::Neighbour,
                _ => Merge::First,
            },
            placement: match expr.word("placement") {
                "single-block" => Placement::SingleBlock,
                _ => Placement::Stripe,
            },
        }
    }
}
