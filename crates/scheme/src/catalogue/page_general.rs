//! Declarations of general page policies of the extended set.

use crate::info::{MetadataBound, MinCapacity, ParamInfo, Proof, Range, SchemeInfo, Source};
use crate::policy::{PAGE_NODE_BYTES, two_q};

const fn paper(paper: &'static str, year: u16) -> Source {
    Source {
        paper,
        year: Some(year),
        section: "",
        certain: true,
    }
}

/// `lru-2`: second-last reference.
pub const LRU_2: SchemeInfo = SchemeInfo {
    name: "lru-2",
    summary: "Evicts the page whose second-last access is oldest.",
    source: paper(
        "O'Neil, O'Neil, Weikum, The LRU-K Page Replacement Algorithm, SIGMOD",
        1993,
    ),
    params: &[ParamInfo::frames("h", 0, 1, 1, 0).about(
        "pages",
        "evicted pages whose times are remembered",
        "retained information",
    )],
    ties: "oldest last access",
    vectors: &["lru2"],
    ..SchemeInfo::BASE
};

/// `2q`: full version.
pub const TWO_Q: SchemeInfo = SchemeInfo {
    name: "2q",
    summary: "A FIFO for new pages; those asked for again after leaving it enter an LRU list.",
    source: paper("Johnson, Shasha, 2Q, VLDB", 1994),
    params: &[
        ParamInfo::frames("kin", 1, 1, 4, 1).about("pages", "threshold of the FIFO", "full 2Q"),
        ParamInfo::frames("kout", 1, 1, 2, 1).about("pages", "ghosts of the FIFO", "full 2Q"),
    ],
    ties: "none: every list is a total order",
    metadata: |e, c| {
        let ghosts = e.frames("kout", c.frames)?;
        Some(MetadataBound::nodes(PAGE_NODE_BYTES).and_entries(ghosts, two_q::GHOST_BYTES))
    },
    vectors: &["twoq"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `mq`: multi-queue.
pub const MQ: SchemeInfo = SchemeInfo {
    name: "mq",
    summary: "Several LRU queues by access count; pages that expire sink by one queue.",
    source: paper(
        "Zhou, Philbin, Li, The Multi-Queue Replacement Algorithm, USENIX",
        2001,
    ),
    params: &[
        ParamInfo::integer("m", 1, 64, 8).about("queues", "number of LRU queues", "paper"),
        ParamInfo::frames("lifetime", 1, 8, 1, 1).about(
            "accesses",
            "time without access after which a page sinks; stands for the peak temporal distance",
            "stand-in",
        ),
        ParamInfo::frames("qout", 0, 4, 1, 0).about("pages", "ghosts with their counts", "paper"),
    ],
    ties: "least recently used of the lowest non-empty queue",
    vectors: &["mq"],
    ..SchemeInfo::BASE
};

/// `lrfu`: combined recency and frequency.
pub const LRFU: SchemeInfo = SchemeInfo {
    name: "lrfu",
    summary: "Evicts the page with the smallest sum of exponentially fading references.",
    source: paper("Lee et al., LRFU, SIGMETRICS 1999 and IEEE TOC", 2001),
    params: &[ParamInfo::real("lambda", Range::UNIT, 0.001).about(
        "per access",
        "decay: 0 counts references (LFU), 1 is LRU",
        "paper",
    )],
    ties: "oldest last access",
    vectors: &["lrfu"],
    ..SchemeInfo::BASE
};

/// `frd`: filter and reuse distance.
pub const FRD: SchemeInfo = SchemeInfo {
    name: "frd",
    summary: "A small filter for new pages beside a stack ordered by reuse distance.",
    source: paper(
        "Park, Park, FRD: A Filtering based Buffer Cache Algorithm, MSST",
        2017,
    ),
    params: &[ParamInfo::real("filter", Range::UNIT_INSIDE, 0.1).about(
        "fraction of C",
        "size of the filter, at least 1 page",
        "paper",
    )],
    ties: "none: both stacks are total orders",
    vectors: &["frd"],
    ..SchemeInfo::BASE
};

/// `sieve`: lazy promotion, quick demotion.
pub const SIEVE: SchemeInfo = SchemeInfo {
    name: "sieve",
    summary: "A FIFO list whose hand spares pages that were hit and stays where it stopped.",
    source: paper("Zhang et al., SIEVE is Simpler than LRU, NSDI", 2024),
    ties: "first from the hand",
    vectors: &["sieve"],
    ..SchemeInfo::BASE
};

/// `s3-fifo`: three FIFO queues.
pub const S3_FIFO: SchemeInfo = SchemeInfo {
    name: "s3-fifo",
    summary: "A small FIFO filters pages hit too seldom before the main FIFO; ghosts come back.",
    source: paper(
        "Yang et al., FIFO queues are all you need for cache eviction, SOSP",
        2023,
    ),
    params: &[
        ParamInfo::real("small", Range::UNIT_INSIDE, 0.1).about(
            "fraction of C",
            "size of the small queue, at least 1 page",
            "paper",
        ),
        ParamInfo::integer("move", 1, 3, 2).about(
            "hits",
            "hits in the small queue that let a page enter the main queue",
            "paper",
        ),
    ],
    ties: "none: every queue is a total order",
    min_capacity: MinCapacity::Frames(2),
    vectors: &["s3fifo"],
    ..SchemeInfo::BASE
};

/// `w-tinylfu`: window and frequency duel.
pub const W_TINYLFU: SchemeInfo = SchemeInfo {
    name: "w-tinylfu",
    summary: "A small LRU window; a page that leaves it must beat the main victim's frequency.",
    source: paper("Einziger, Friedman, Manes, TinyLFU, ACM TOS", 2017),
    params: &[
        ParamInfo::real("window", Range::UNIT_INSIDE, 0.01).about(
            "fraction of C",
            "size of the window, at least 1 page",
            "paper",
        ),
        ParamInfo::real("protected", Range::UNIT, 0.8).about(
            "fraction of main",
            "size of the protected segment",
            "paper",
        ),
    ],
    ties: "equal frequency: the candidate goes",
    min_capacity: MinCapacity::Frames(2),
    vectors: &["wtlfu"],
    ..SchemeInfo::BASE
};
