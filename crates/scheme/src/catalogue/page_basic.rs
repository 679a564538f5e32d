//! Declarations of the measured page leaves, of the offline policy and of the cacheless device.

use crate::info::{MetadataBound, MinCapacity, ParamInfo, Proof, Role, SchemeInfo, Source};
use crate::policy::{PAGE_NODE_BYTES, lfu, lirs};

const CLASSIC: Source = Source {
    paper: "classic policy",
    year: None,
    section: "",
    certain: true,
};

/// `none`: no cache.
pub const NONE: SchemeInfo = SchemeInfo {
    name: "none",
    summary: "No cache: every page is read from or programmed to flash.",
    source: Source {
        paper: "Tian, CAC (baseline NB)",
        year: Some(2024),
        section: "3",
        certain: true,
    },
    role: Role::None,
    ties: "none",
    min_capacity: MinCapacity::Frames(0),
    metadata: |_, _| Some(MetadataBound::default()),
    vectors: &["none"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `fifo`: oldest first.
pub const FIFO: SchemeInfo = SchemeInfo {
    name: "fifo",
    summary: "Evicts in the order of insertion; hits do not move pages.",
    source: CLASSIC,
    ties: "none: insertion is a total order",
    candidates: Some("tail to head"),
    vectors: &["fifo"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `lru`: least recently used first.
pub const LRU: SchemeInfo = SchemeInfo {
    name: "lru",
    summary: "Evicts the page that has not been read or written for the longest time.",
    source: CLASSIC,
    ties: "none: recency is a total order",
    candidates: Some("tail to head"),
    vectors: &["lru"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `lfu`: least often used first.
pub const LFU: SchemeInfo = SchemeInfo {
    name: "lfu",
    summary: "Evicts the page with the fewest accesses since its insertion; no aging.",
    source: CLASSIC,
    ties: "least recently touched",
    candidates: Some("by count, then least recent touch"),
    metadata: |_, _| Some(MetadataBound::nodes(lfu::NODE_BYTES)),
    vectors: &["lfu"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `clock`: second chance.
pub const CLOCK: SchemeInfo = SchemeInfo {
    name: "clock",
    summary: "Second chance: a hand passes over pages that were hit and clears their bit.",
    source: CLASSIC,
    ties: "first from the hand",
    candidates: Some("ring from the hand: pages with bit 0, then pages with bit 1"),
    vectors: &["clock"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `cflru`: clean first within a window of LRU.
pub const CFLRU: SchemeInfo = SchemeInfo {
    name: "cflru",
    summary: "LRU, but a clean page of the C/x pages nearest the LRU end goes first.",
    source: Source {
        paper: "Park, Jung, Kang, Kim, Lee, CFLRU: a replacement algorithm for flash memory, CASES",
        year: Some(2006),
        section: "window as in ECR 4.1",
        certain: true,
    },
    params: &[ParamInfo::count("x", 1, 3).about(
        "",
        "the clean-first region is max(1, floor(C/x)) pages; the papers sweep 1 to 6",
        "ECR 4.1",
    )],
    ties: "nearest the LRU end",
    candidates: Some(
        "clean pages of the region from the LRU end, then all other pages from the LRU end",
    ),
    clean_aware: true,
    vectors: &["cflru"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `arc`: adaptive balance of recency and frequency.
pub const ARC: SchemeInfo = SchemeInfo {
    name: "arc",
    summary: "Two lists, seen once and seen again, whose sizes adapt to hits on evicted pages.",
    source: Source {
        paper: "Megiddo, Modha, ARC: A Self-Tuning, Low Overhead Replacement Cache, FAST",
        year: Some(2003),
        section: "Fig. 4",
        certain: true,
    },
    params: &[ParamInfo::count("ghost-bytes", 0, 8).about(
        "bytes",
        "metadata charged per remembered page",
        "measured baselines",
    )],
    ties: "none: REPLACE is a total rule",
    candidates: Some(
        "the list REPLACE would take from, tail to head, then the other list tail to head",
    ),
    // |T1| + |B1| <= C and pages and ghosts <= 2C at every insertion: C ghosts beside C pages, more
    // while pages are missing.
    metadata: |e, c| {
        let bytes = e.uint("ghost-bytes");
        let dear = bytes > PAGE_NODE_BYTES;
        let ghosts = match c.shares || c.batches && dear {
            true => c.frames.saturating_mul(2),
            false => c.frames.saturating_add(u64::from(dear)),
        };
        Some(MetadataBound::nodes(PAGE_NODE_BYTES).and_entries(ghosts, bytes))
    },
    vectors: &["arc"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `lirs`: low inter-reference recency.
pub const LIRS: SchemeInfo = SchemeInfo {
    name: "lirs",
    summary: "Keeps pages of small reuse distance; the few others pass through a short queue.",
    source: Source {
        paper: "Jiang, Zhang, LIRS: An Efficient Low Inter-reference Recency Set Replacement \
                Policy, SIGMETRICS",
        year: Some(2002),
        section: "two-queue variant: Prober 3.3",
        certain: true,
    },
    params: &[
        ParamInfo::frames("hir", 1, 1, 100, 2).about(
            "pages",
            "frames for pages of large reuse distance",
            "author's simulator",
        ),
        ParamInfo::word("variant", &["stack", "two-queue"]).about(
            "",
            "the paper's stack, or the simplified text of Prober",
            "Prober 3.3",
        ),
        ParamInfo::frames("max-nonres", 0, 2, 1, 0)
            .or_word("inf")
            .about("pages", "evicted pages that are remembered", "LI-1"),
        ParamInfo::flag("skip-repeat", false).about(
            "",
            "an immediate repeat of the same page is ignored",
            "LI-2",
        ),
    ],
    ties: "none: stack and queue are total orders",
    candidates: Some("Q oldest to newest, then LIR pages from the bottom of S"),
    min_capacity: MinCapacity::AboveHir,
    metadata: |e, c| {
        let ghosts = match e.word("variant") {
            "two-queue" => c.frames,
            _ => e.frames("max-nonres", c.frames)?,
        };
        let nodes = MetadataBound::nodes(lirs::NODE_BYTES);
        Some(nodes.and_entries(ghosts, lirs::NODE_BYTES))
    },
    vectors: &["lirs", "lirs2q"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `belady`: offline optimum with bypass.
pub const BELADY: SchemeInfo = SchemeInfo {
    name: "belady",
    summary: "Offline bound: keeps the pages whose next use is nearest, or bypasses the cache.",
    source: Source {
        paper: "Baek, Cho, Choi, Don't make cache too complex, PLoS ONE 12(3)",
        year: Some(2017),
        section: "3, Table 1",
        certain: true,
    },
    role: Role::Offline,
    params: &[
        ParamInfo::flag("bypass", true).about(
            "",
            "a write whose next use is later than every cached one goes to flash",
            "3",
        ),
        ParamInfo::word("next-of", &["any", "write"]).about(
            "",
            "requests that count as the next use",
            "3",
        ),
    ],
    ties: "equal next use: smallest LPN",
    write_buffer: true,
    vectors: &["belady1", "belady2"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};
