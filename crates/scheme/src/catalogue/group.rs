//! Declarations of leaves that evict groups of pages: write buffers all of them.

use crate::info::{
    DefaultValue, MetadataBound, MinCapacity, ParamInfo, Proof, Role, SchemeInfo, Source,
};
use crate::policy::{bplru, req_block, vbbms};

pub(super) const BLOCK_PAGES: ParamInfo = ParamInfo::count("block-pages", 1, 0)
    .default(DefaultValue::Computed(
        "pages per block of the device, 64 without one",
    ))
    .about("pages", "pages of a logical block", "measured baselines");

const PROTECT_CURRENT: ParamInfo = ParamInfo::flag("protect-current", false).about(
    "",
    "the block being written is not chosen as victim",
    "BP-3",
);

const GROUP: SchemeInfo = SchemeInfo {
    role: Role::GroupLeaf,
    write_buffer: true,
    ..SchemeInfo::BASE
};

/// `req-block`: request granularity.
pub const REQ_BLOCK: SchemeInfo = SchemeInfo {
    name: "req-block",
    summary: "Keeps the pages of a write request together; small and re-hit requests stay, \
              cold large ones leave in one batch.",
    source: Source {
        paper: "Lin, Sha, Li, Cai, Gerofi, Shi, Liao, DRAM Cache Management with Request \
                Granularity for NAND-based SSDs, ICPP",
        year: Some(2022),
        section: "Algorithm 1, Eq. 1, Figs 4-6",
        certain: true,
    },
    params: &[
        ParamInfo::count("delta", 1, 5).about(
            "pages",
            "largest block that may enter the small request list",
            "4.2.1",
        ),
        ParamInfo::word("size-basis", &["current", "original"]).about(
            "",
            "pages of a block now, or at its creation, decide whether it is small",
            "RB-1",
        ),
        ParamInfo::word("access-unit", &["page", "request"]).about(
            "",
            "a small block counts every page hit, or at most one hit per request",
            "RB-2",
        ),
        ParamInfo::word("time-basis", &["request-time", "page-seq", "req-seq"]).about(
            "",
            "clock of Eq. 1: arrival time, page accesses or requests",
            "RB-3",
        ),
        ParamInfo::word("split-access", &["one", "per-page", "inherit"]).about(
            "",
            "access count of a divided block: 1, pages moved, or that of its origin",
            "RB-4",
        ),
        ParamInfo::word("split-insert-time", &["now", "inherit"]).about(
            "",
            "insertion time of a divided block",
            "RB-4",
        ),
        ParamInfo::word("origin", &["root", "direct", "none"]).about(
            "",
            "block a divided block is merged with: first ancestor, direct one, or no merge",
            "RB-5",
        ),
        ParamInfo::word("merge", &["first", "all", "neighbour"]).about(
            "",
            "origins kept: the first one divided, all, or blocks with neighbouring pages",
            "RB-5",
        ),
        ParamInfo::word("placement", &["stripe", "single-block"]).about(
            "",
            "a batch is spread over the chips, or goes to one plane",
            "3.3",
        ),
    ],
    ties: "equal frequency: IRL, then DRL, then SRL",
    metadata: |_, _| Some(MetadataBound::nodes(req_block::BLOCK_NODE_BYTES)),
    vectors: &["reqblock1", "reqblock2", "reqblock3", "reqblock4"],
    available: true,
    proof: Proof::FULL,
    ..GROUP
};

/// `bplru`: block padding LRU.
pub const BPLRU: SchemeInfo = SchemeInfo {
    name: "bplru",
    summary: "LRU of logical blocks; a block written in order goes first, optionally padded.",
    source: Source {
        paper: "Kim, Ahn, BPLRU: A Buffer Management Scheme for Improving Random Writes in \
                Flash Storage, FAST",
        year: Some(2008),
        section: "",
        certain: true,
    },
    params: &[
        BLOCK_PAGES,
        ParamInfo::flag("padding", false).about(
            "",
            "missing pages are read first and the whole block is programmed",
            "BP-1",
        ),
        ParamInfo::word("compensation", &["full", "half", "off"]).about(
            "",
            "a block goes first after a full, or half a, sequential fill, or never",
            "BP-2",
        ),
        PROTECT_CURRENT,
        ParamInfo::flag("read-touch", false).about("", "a read hit moves its block to MRU", "D1"),
        ParamInfo::word("placement", &["single-block", "stripe"]).about(
            "",
            "a block goes to one plane, or is spread over the chips",
            "BP-4",
        ),
    ],
    ties: "none: the list is a total order",
    min_capacity: MinCapacity::OneBlock,
    metadata: |_, _| Some(MetadataBound::nodes(bplru::BLOCK_NODE_BYTES)),
    vectors: &["bplru", "bplrupad"],
    available: true,
    proof: Proof::FULL,
    ..GROUP
};

/// `vbbms`: virtual blocks in two regions.
pub const VBBMS: SchemeInfo = SchemeInfo {
    name: "vbbms",
    summary: "Virtual blocks in a region for random (LRU) and one for sequential data (FIFO).",
    source: Source {
        paper: "Du, Yao, Zhou, Xu, VBBMS, IEEE TCE",
        year: Some(2019),
        section: "abstract; sizes as in Req-block 4.1",
        certain: false,
    },
    params: &[
        ParamInfo::count("seq-min-pages", 1, 4).about(
            "pages",
            "a write of at least so many pages is sequential",
            "VB-1",
        ),
        ParamInfo::word("classify", &["size", "contiguous", "either"]).about(
            "",
            "sequential by size, by following the previous write, or by either",
            "VB-1",
        ),
        ParamInfo::flag("migrate", false).about(
            "",
            "a page hit by a write of the other class changes the region",
            "measured baselines",
        ),
    ],
    ties: "none: both lists are total orders",
    min_capacity: MinCapacity::Frames(5),
    metadata: |_, _| Some(MetadataBound::nodes(vbbms::BLOCK_NODE_BYTES)),
    vectors: &["vbbms"],
    available: true,
    proof: Proof::FULL,
    ..GROUP
};

/// `fab`: fullest block.
pub const FAB: SchemeInfo = SchemeInfo {
    name: "fab",
    summary: "Evicts the logical block with most cached pages.",
    source: Source {
        paper: "Jo et al., FAB: Flash-Aware Buffer Management Policy, IEEE TCE",
        year: Some(2006),
        section: "",
        certain: true,
    },
    params: &[BLOCK_PAGES, PROTECT_CURRENT],
    ties: "nearest the LRU end",
    min_capacity: MinCapacity::OneBlock,
    vectors: &["fab"],
    ..GROUP
};

/// `pud-lru`: predicted update distance.
pub const PUD_LRU: SchemeInfo = SchemeInfo {
    name: "pud-lru",
    summary: "Evicts the fullest of the blocks that are predicted to be updated late.",
    source: Source {
        paper: "Hu, Jiang, Tian, Xu, PUD-LRU, MASCOTS",
        year: Some(2010),
        section: "abstract",
        certain: false,
    },
    params: &[BLOCK_PAGES],
    ties: "larger update distance, then nearest the LRU end",
    vectors: &["pudlru"],
    ..GROUP
};

/// `bpac`: pages and clusters.
pub const BPAC: SchemeInfo = SchemeInfo {
    name: "bpac",
    summary: "Pages written again stay in a page list; the rest leaves as clusters of a block.",
    source: Source {
        paper: "Wu, Eckart, He, BPAC, MSST 2010 and ACM TOS",
        year: Some(2012),
        section: "abstract",
        certain: false,
    },
    params: &[BLOCK_PAGES],
    ties: "nearest the LRU end",
    vectors: &["bpac"],
    ..GROUP
};

/// `lb-clock`: large block CLOCK.
pub const LB_CLOCK: SchemeInfo = SchemeInfo {
    name: "lb-clock",
    summary: "CLOCK over logical blocks; among those not written lately the fullest goes.",
    source: Source {
        paper: "Debnath et al., Large Block CLOCK, MASCOTS",
        year: Some(2009),
        section: "abstract",
        certain: false,
    },
    params: &[BLOCK_PAGES],
    ties: "first from the hand",
    vectors: &["lbclock"],
    ..GROUP
};
