//! Declarations of the victim filters, and the parameters every reader of chip queues shares.

use crate::info::{
    DefaultValue, MetadataBound, MetadataContext, MinCapacity, OF_INNER, ParamInfo, Proof, Role,
    SchemeInfo, Source, inner,
};
use crate::layer::InnerCapacity;
use crate::layer::ecr::HEAD_BYTES;

pub(super) const ECR_PAPER: &str = "Chen, Pan, Li, Xu, ECR: Eviction-cost-aware cache management \
                                    policy for page-level flash-based SSDs, CCPE";

pub(super) const XFER: ParamInfo = ParamInfo::word("xfer", &["included", "excluded"]).about(
    "",
    "read and program latencies of the cost include the page transfer",
    "Table 2",
);
pub(super) const RESIDUAL: ParamInfo = ParamInfo::word("residual", &["full", "remaining"]).about(
    "",
    "the operation in service counts fully, or with its remaining time",
    "ECR-2",
);
pub(super) const CQCT: ParamInfo = ParamInfo::word("cqct", &["equation", "oracle"]).about(
    "",
    "queue time by Eq. 1 to 4, or the exact drain time",
    "ECR-2",
);
pub(super) const L_SP: ParamInfo = ParamInfo::time("l-sp", 213_200).about(
    "",
    "write of a summary page, at most that of a page (L_w), counted on devices that write none as \
     well: 0ns leaves it out",
    "ECR-1",
);
pub(super) const PAGE_LATENCY: ParamInfo =
    ParamInfo::word("page-latency", &["constant", "per-page"]).about(
        "",
        "one program latency, or that of the physical page to be written",
        "ECR-5",
    );
pub(super) const NFP: ParamInfo = ParamInfo::word("nfp", &["unprogrammed", "mapping"]).about(
    "",
    "free pages of Eq. 2: all that are not programmed, or those left by the queued programs, which \
     N_w then counts again",
    "3.1, Table 1",
);
pub(super) const TIE: ParamInfo = ParamInfo::word("tie", &["oldest", "lowest-index"]).about(
    "",
    "among chips of equal cost: the one whose LRU page is oldest, or the lowest number",
    "ECR-4",
);
pub(super) const NODE_BYTES: ParamInfo = ParamInfo::count("node-bytes", 0, 13).about(
    "bytes",
    "metadata charged per page",
    "no figure in the paper",
);

/// `gcar`: spares the pages of chips that collect garbage.
pub const GCAR: SchemeInfo = SchemeInfo {
    name: "gcar",
    summary: "Takes the first victim candidate whose chip is not collecting garbage.",
    source: Source {
        paper: "Wu, Lin, Mao, Jiang, GCaR: Garbage Collection aware Cache Management, ICS",
        year: Some(2016),
        section: "as described by ECR 2.2 and 4.1",
        certain: false,
    },
    role: Role::VictimFilter,
    params: &[
        ParamInfo::word("protect", &["all", "dirty"]).about(
            "",
            "all pages of a collecting chip are spared, or only dirty ones",
            "GC-1",
        ),
        ParamInfo::count("depth", 1, 0)
            .or_word("inf")
            .default(DefaultValue::Word("inf"))
            .about("pages", "candidates that are looked at", "GC-1"),
    ],
    ties: "the candidate order of the inner scheme",
    chip_aware: true,
    candidates: Some("the inner scheme's, as if no chip were collecting"),
    metadata: OF_INNER,
    vectors: &["gcarlru", "gcarcflru"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `ecr`: the dirty victim comes from the chip whose queue drains first.
pub const ECR: SchemeInfo = SchemeInfo {
    name: "ecr",
    summary: "Clean pages leave first; then the victim of the chip whose queue drains first.",
    source: Source {
        paper: ECR_PAPER,
        year: None,
        section: "3.1-3.3",
        certain: true,
    },
    role: Role::VictimFilter,
    params: &[
        XFER,
        RESIDUAL,
        CQCT,
        L_SP,
        TIE,
        PAGE_LATENCY,
        NFP,
        ParamInfo::word("inner-capacity", &["total", "share"]).about(
            "",
            "nominal capacity of each chip's inner scheme: C, or C / chips",
            "3.1",
        ),
        NODE_BYTES,
    ],
    ties: "equal queue time: the chip whose first candidate was touched longest ago",
    clean_aware: true,
    chip_aware: true,
    min_capacity: MinCapacity::FramePerChip,
    // Clean pages have nodes of `node-bytes`; the policy of a chip adds its chip's number to each.
    metadata: |e, c| {
        let own = MetadataBound::nodes(e.uint("node-bytes"));
        let own = own.and_entries(c.chips.saturating_add(1), HEAD_BYTES);
        if e.inner().is_some_and(|inner| inner.scheme().name == "lru") {
            return Some(own);
        }
        let frames = InnerCapacity::from_expr(e).frames(c.frames, c.chips);
        let chip = inner(
            e,
            &MetadataContext {
                frames,
                shares: true,
                ..*c
            },
        )?;
        let per_page = own.per_page.max(chip.per_page.saturating_add(1));
        Some(MetadataBound { per_page, ..own }.and_entries(c.chips, chip.fixed))
    },
    vectors: &["ecr", "ecreq"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};
