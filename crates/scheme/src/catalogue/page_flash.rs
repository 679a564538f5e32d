//! Declarations of flash-aware page leaves of the extended set.

use super::group::BLOCK_PAGES;
use crate::info::{ParamInfo, Range, SchemeInfo, Source};

/// `lru-wsr`: write sequence reordering.
pub const LRU_WSR: SchemeInfo = SchemeInfo {
    name: "lru-wsr",
    summary: "LRU that gives a dirty page that was hit a second chance.",
    source: Source {
        paper: "Jung et al., LRU-WSR, IEEE TCE",
        year: Some(2008),
        section: "as described by ECR 5",
        certain: true,
    },
    ties: "none: recency is a total order",
    clean_aware: true,
    vectors: &["lruwsr"],
    ..SchemeInfo::BASE
};

/// `ccf-lru`: cold clean first.
pub const CCF_LRU: SchemeInfo = SchemeInfo {
    name: "ccf-lru",
    summary: "Cold clean pages go first, then cold dirty ones.",
    source: Source {
        paper: "Li et al., CCF-LRU, IEEE TCE",
        year: Some(2009),
        section: "",
        certain: true,
    },
    params: &[ParamInfo::flag("keep-scanning", false).about(
        "",
        "a hot clean page met in the scan is made cold and the scan goes on",
        "CF-1",
    )],
    ties: "none: both lists are total orders",
    clean_aware: true,
    vectors: &["ccflru"],
    ..SchemeInfo::BASE
};

/// `ad-lru`: adaptive double LRU.
pub const AD_LRU: SchemeInfo = SchemeInfo {
    name: "ad-lru",
    summary: "Cold and hot LRU lists; clean pages first, dirty ones get a second chance.",
    source: Source {
        paper: "Jin, Ou, Haerder, Li, AD-LRU, Data & Knowledge Engineering",
        year: Some(2012),
        section: "",
        certain: true,
    },
    params: &[ParamInfo::real("min-lc", Range::UNIT, 0.1).about(
        "fraction of C",
        "victims come from the cold list while it is longer than this",
        "swept in the paper; default uncertain",
    )],
    ties: "none: both lists are total orders",
    clean_aware: true,
    vectors: &["adlru"],
    ..SchemeInfo::BASE
};

/// `ref`: recently evicted first.
pub const REF: SchemeInfo = SchemeInfo {
    name: "ref",
    summary: "Evicts pages of the blocks that gave victims lately, to help hybrid mapping.",
    source: Source {
        paper: "Seo, Shin, Recently-Evicted-First, IEEE TCE",
        year: Some(2008),
        section: "abstract",
        certain: false,
    },
    params: &[
        ParamInfo::frames("w", 1, 1, 2, 1).about("pages", "window from the LRU end", "uncertain"),
        ParamInfo::count("nvb", 1, 7).about(
            "blocks",
            "victim blocks remembered; the number of log blocks",
            "uncertain",
        ),
        BLOCK_PAGES,
    ],
    ties: "block with most pages; equal: the one that holds the page nearest the LRU end",
    write_buffer: true,
    vectors: &["ref"],
    ..SchemeInfo::BASE
};
