//! Declarations of page leaves that watch chips.

use super::victim::{CQCT, ECR_PAPER, L_SP, NFP, NODE_BYTES, PAGE_LATENCY, RESIDUAL, TIE, XFER};
use crate::info::{MetadataBound, ParamInfo, Proof, Range, SchemeInfo, Source};
use crate::layer::ecr::HEAD_BYTES;

/// `ecr-eps`: one list per chip, clean and dirty together.
pub const ECR_EPS: SchemeInfo = SchemeInfo {
    name: "ecr-eps",
    summary: "ECR without the clean list: the LRU page of the chip whose queue drains first.",
    source: Source {
        paper: ECR_PAPER,
        year: None,
        section: "4.2 (epsilon variant)",
        certain: true,
    },
    params: &[
        XFER,
        RESIDUAL,
        CQCT,
        L_SP,
        TIE,
        PAGE_LATENCY,
        NFP,
        NODE_BYTES,
    ],
    ties: "equal queue time: the chip whose LRU page was touched longest ago",
    chip_aware: true,
    metadata: |e, c| {
        let nodes = MetadataBound::nodes(e.uint("node-bytes"));
        Some(nodes.and_entries(c.chips, HEAD_BYTES))
    },
    vectors: &["ecreps"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `cflru-eps`: clean pages first, then the LRU dirty page.
pub const CFLRU_EPS: SchemeInfo = SchemeInfo {
    name: "cflru-eps",
    summary: "The LRU clean page; without clean pages the LRU dirty page of all chips.",
    source: Source {
        paper: ECR_PAPER,
        year: None,
        section: "4.2 (epsilon variant)",
        certain: true,
    },
    ties: "none: recency is a total order",
    vectors: &["ecreps"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `lcr`: load-aware victim in an LRU window.
pub const LCR: SchemeInfo = SchemeInfo {
    name: "lcr",
    summary: "Among the last pages of an LRU list, the first on a chip of at most mean load.",
    source: Source {
        paper: "Liu et al., LCR, NAS",
        year: Some(2018),
        section: "abstract",
        certain: false,
    },
    params: &[
        ParamInfo::frames("w", 1, 1, 4, 1).about("pages", "window from the LRU end", "uncertain"),
        XFER,
        RESIDUAL,
        CQCT,
        L_SP,
        PAGE_LATENCY,
        NFP,
    ],
    ties: "nearest the LRU end",
    chip_aware: true,
    vectors: &["lcr"],
    ..SchemeInfo::BASE
};

/// `co-active`: cold and hot lists with write-back on idle chips.
pub const CO_ACTIVE: SchemeInfo = SchemeInfo {
    name: "co-active",
    summary: "Cold and hot lists, clean victims first, cold dirty pages cleaned on idle chips.",
    source: Source {
        paper: "Sun, Dai, Huang, Qin, Co-Active, IEEE TPDS",
        year: Some(2021),
        section: "abstract",
        certain: false,
    },
    own_background: true,
    params: &[
        ParamInfo::real("hot-ratio", Range::UNIT, 0.5).about(
            "fraction of C",
            "capacity of the hot list",
            "uncertain",
        ),
        ParamInfo::count("wb-max", 1, 1).or_word("adaptive").about(
            "pages per chip",
            "write-backs between two host requests; adaptive follows burstiness in 1 to 8",
            "uncertain",
        ),
    ],
    ties: "least recently used first; chips ascending",
    clean_aware: true,
    vectors: &["coactive"],
    ..SchemeInfo::BASE
};
