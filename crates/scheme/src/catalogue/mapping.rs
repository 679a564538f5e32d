//! Declarations of the mapping layer and of the background layers.

use crate::info::{DefaultValue, OF_INNER, ParamInfo, Proof, Role, SchemeInfo, Source, inner};
use crate::layer::cac::ART_ENTRY_BYTES;

/// `cac`: address remapping for log-structured file systems.
pub const CAC: SchemeInfo = SchemeInfo {
    name: "cac",
    summary: "Re-keys the cached old version of a file block to the address of its update, \
              so that the update of a log-structured file system hits.",
    source: Source {
        paper: "Tian, Data Correlation Aware Buffer Cache Management for Improved I/O \
                Performance on LFS-based NAND Flash Storage Devices (CAC)",
        year: Some(2024),
        section: "4.1-4.4",
        certain: true,
    },
    role: Role::Mapping,
    params: &[
        ParamInfo::flag("ghosts", true).about(
            "",
            "an update also renames what the inner scheme remembers of an evicted page",
            "CAC-2",
        ),
        ParamInfo::flag("drop-stale", true).about(
            "",
            "a non-atomic update of an atomic chain drops the older version that was kept",
            "CAC-4",
        ),
        ParamInfo::flag("unmap-pre", false).about(
            "",
            "a remap also invalidates the flash copy of the old address",
            "CAC-6",
        ),
    ],
    ties: "those of the inner scheme; renames of one request in its block order",
    metadata: |e, c| Some(inner(e, c)?.and_per_page(ART_ENTRY_BYTES)),
    vectors: &[
        "caclru",
        "cacatomic",
        "cacarc",
        "cacghost",
        "cacinplace",
        "cacmulti",
    ],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `awb`: active write-back.
pub const AWB: SchemeInfo = SchemeInfo {
    name: "awb",
    summary: "Writes large sequential data back while channels are idle, so that later \
              requests find free frames.",
    source: Source {
        paper: "Zhou et al., Prober, Frontiers of Computer Science 10(5)",
        year: Some(2016),
        section: "3.4",
        certain: true,
    },
    role: Role::Background,
    params: &[
        ParamInfo::word("scope", &["ldr", "ldr-then-base"])
            .default(DefaultValue::Inside {
                layer: "prober",
                then: "ldr",
                otherwise: "ldr-then-base",
            })
            .about(
                "",
                "pages written back: large sequential data only, or then those the inner \
                 scheme would evict",
                "3.4",
            ),
        ParamInfo::count("depth", 1, 2).about(
            "write-backs per channel",
            "queued and started write-backs of one channel",
            "PR-8",
        ),
        ParamInfo::word("partial", &["wait", "write"]).about(
            "",
            "a partly filled page waits until its stream is outdated, or is written at once",
            "PR-9",
        ),
        ParamInfo::word("after", &["remove", "keep-clean"]).about(
            "",
            "what happens to a page that has been written back",
            "3.4",
        ),
        ParamInfo::word("cancel-on", &["any", "write"]).about(
            "",
            "host accesses that cancel a queued write-back of their page",
            "PR-10",
        ),
    ],
    ties: "least recent write (arrival serial number), then smallest LPN; channels ascending",
    metadata: OF_INNER,
    vectors: &["awb", "awbinflight"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};

/// `eager`: eager write-back.
pub const EAGER: SchemeInfo = SchemeInfo {
    name: "eager",
    summary: "Cleans dirty pages near the LRU end while a channel is idle and the cache is full.",
    source: Source {
        paper: "Lee, Tyson, Farrens, Eager Writeback, MICRO",
        year: Some(2000),
        section: "as described by Prober 5.2",
        certain: true,
    },
    role: Role::Background,
    params: &[ParamInfo::frames("w", 1, 1, 8, 1).about(
        "pages",
        "candidates from the LRU end that are looked at",
        "MICRO 2000",
    )],
    ties: "nearest the LRU end; channels ascending",
    metadata: OF_INNER,
    vectors: &["eager"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};
