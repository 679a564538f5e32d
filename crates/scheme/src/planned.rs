//! Schemes that are declared and not implemented yet: expressions with them are read and checked,
//! and refused as not available.

use crate::cqct::Cqct;
use crate::info::{MinCapacity, PaperSource, ParamInfo, Range, SchemeInfo};
use crate::policy::logical_blocks;

const BLOCK_PAGES: ParamInfo =
    logical_blocks::BLOCK_PAGES.named("block-pages", "pages of a logical block");

const fn paper(paper: &'static str, year: u16) -> PaperSource {
    PaperSource {
        paper,
        year: Some(year),
        section: "",
        certain: true,
    }
}

/// `lcr`: load-aware victim in an LRU window.
pub(crate) const LCR: SchemeInfo = SchemeInfo {
    name: "lcr",
    summary: "Among the last pages of an LRU list, the first on a chip of at most mean load.",
    source: PaperSource {
        paper: "Liu et al., LCR, NAS",
        year: Some(2018),
        section: "abstract",
        certain: false,
    },
    params: &[
        &[ParamInfo::frames(1, 1, 4, 1)
            .named("w", "window from the LRU end")
            .unit("pages")
            .source("uncertain")],
        Cqct::PARAMS,
    ],
    ties: "nearest the LRU end",
    chip_aware: true,
    without_device: Some(|_| "lcr acts as lru".to_owned()),
    vectors: &["lcr"],
    ..SchemeInfo::BASE
};

/// `co-active`: cold and hot lists with write-back on idle chips.
pub(crate) const CO_ACTIVE: SchemeInfo = SchemeInfo {
    name: "co-active",
    summary: "Cold and hot lists, clean victims first, cold dirty pages cleaned on idle chips.",
    source: PaperSource {
        paper: "Sun, Dai, Huang, Qin, Co-Active, IEEE TPDS",
        year: Some(2021),
        section: "abstract",
        certain: false,
    },
    own_background: true,
    params: &[&[
        ParamInfo::real(Range::UNIT, 0.5)
            .named("hot-ratio", "capacity of the hot list")
            .unit("fraction of C")
            .source("uncertain"),
        ParamInfo::count(1, 1)
            .named(
                "wb-max",
                "write-backs between two host requests; adaptive follows burstiness in 1 to 8",
            )
            .or_word("adaptive")
            .unit("pages per chip")
            .source("uncertain"),
    ]],
    ties: "least recently used first; chips ascending",
    clean_aware: true,
    without_device: Some(|_| "co-active never writes back".to_owned()),
    vectors: &["coactive"],
    ..SchemeInfo::BASE
};

/// `ref`: recently evicted first.
pub(crate) const REF: SchemeInfo = SchemeInfo {
    name: "ref",
    summary: "Evicts pages of the blocks that gave victims lately, to help hybrid mapping.",
    source: PaperSource {
        paper: "Seo, Shin, Recently-Evicted-First, IEEE TCE",
        year: Some(2008),
        section: "abstract",
        certain: false,
    },
    params: &[&[
        ParamInfo::frames(1, 1, 2, 1)
            .named("w", "window from the LRU end")
            .unit("pages")
            .source("uncertain"),
        ParamInfo::count(1, 7)
            .named("nvb", "victim blocks remembered; the number of log blocks")
            .unit("blocks")
            .source("uncertain"),
        BLOCK_PAGES,
    ]],
    ties: "block with most pages; equal: the one that holds the page nearest the LRU end",
    write_buffer: true,
    vectors: &["ref"],
    ..SchemeInfo::BASE
};

/// `frd`: filter and reuse distance.
pub(crate) const FRD: SchemeInfo = SchemeInfo {
    name: "frd",
    summary: "A small filter for new pages beside a stack ordered by reuse distance.",
    source: paper(
        "Park, Park, FRD: A Filtering based Buffer Cache Algorithm, MSST",
        2017,
    ),
    params: &[&[ParamInfo::real(Range::UNIT_INSIDE, 0.1)
        .named("filter", "size of the filter, at least 1 page")
        .unit("fraction of C")
        .source("paper")]],
    ties: "none: both stacks are total orders",
    vectors: &["frd"],
    ..SchemeInfo::BASE
};

/// `w-tinylfu`: window and frequency duel.
pub(crate) const W_TINYLFU: SchemeInfo = SchemeInfo {
    name: "w-tinylfu",
    summary: "A small LRU window; a page that leaves it must beat the main victim's frequency.",
    source: paper("Einziger, Friedman, Manes, TinyLFU, ACM TOS", 2017),
    params: &[&[
        ParamInfo::real(Range::UNIT_INSIDE, 0.01)
            .named("window", "size of the window, at least 1 page")
            .unit("fraction of C")
            .source("paper"),
        ParamInfo::real(Range::UNIT, 0.8)
            .named("protected", "size of the protected segment")
            .unit("fraction of main")
            .source("paper"),
    ]],
    ties: "equal frequency: the candidate goes",
    min_capacity: MinCapacity::Frames(2),
    vectors: &["wtlfu"],
    ..SchemeInfo::BASE
};
