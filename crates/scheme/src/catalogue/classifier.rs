//! Declaration of the classifier.

use crate::info::{
    MetadataBound, MetadataContext, ParamInfo, Proof, Role, SchemeInfo, Source, inner,
};
use crate::layer::lwrs::LWRS_NODE_BYTES;
use crate::policy::PAGE_NODE_BYTES;

/// `prober`: large sequential write streams leave first.
pub const PROBER: SchemeInfo = SchemeInfo {
    name: "prober",
    summary: "Recognises large sequential streams made of small writes, keeps them apart and \
              evicts them first.",
    source: Source {
        paper: "Zhou, Feng, Hua, Liu, Huang, Chen, Zhang, Prober: exploiting sequential \
                characteristics in buffer for improving SSDs write performance, Frontiers of \
                Computer Science 10(5)",
        year: Some(2016),
        section: "3.1-3.3",
        certain: true,
    },
    role: Role::Classifier,
    params: &[
        ParamInfo::size("ssp", 128 << 10).about(
            "bytes",
            "a set of adjacent writes longer than this is large",
            "3.1, 4.2",
        ),
        ParamInfo::count("rip", 1, 3000).about(
            "write requests",
            "age at which a set is forgotten",
            "4.2.1",
        ),
        ParamInfo::word("rip-cmp", &["ge", "gt"]).about(
            "",
            "a set is outdated at age rip, or only beyond it",
            "PR-1",
        ),
        ParamInfo::word("asn-counts", &["writes", "all"]).about(
            "",
            "requests that advance the arrival serial number",
            "PR-2",
        ),
        ParamInfo::word("ldr", &["queue", "bypass"]).about(
            "",
            "large sequential data enter their own queue, or go to flash",
            "PR-4",
        ),
        ParamInfo::word("ldr-evict", &["tail", "head"]).about(
            "",
            "end of the queue that leaves first: newest or oldest",
            "PR-4",
        ),
        ParamInfo::word("ldr-read-hit", &["stay", "promote"]).about(
            "",
            "a read hit leaves the page in the queue, or makes it regular data",
            "3.2",
        ),
        ParamInfo::flag("ldr-skip-partial", false).about(
            "",
            "demand eviction passes over partly filled pages of the queue",
            "PR-6",
        ),
        ParamInfo::word("cac-updates", &["classify", "exempt"]).about(
            "",
            "updates that hit through a rename are classified, or always regular data",
            "PR-12",
        ),
    ],
    ties: "none in the queue; then those of the inner scheme",
    write_buffer: true,
    // A node for each extent of the last `rip` write requests; a page of LDR has a node of 12 B.
    metadata: |e, c| {
        let base = inner(e, &MetadataContext { shares: true, ..*c })?;
        let per_page = base.per_page.max(PAGE_NODE_BYTES);
        let window = e
            .uint("rip")
            .saturating_add(u64::from(e.word("rip-cmp") == "gt"));
        let nodes = window.saturating_mul(c.extents);
        Some(MetadataBound { per_page, ..base }.and_entries(nodes, LWRS_NODE_BYTES))
    },
    vectors: &["lwrs", "proberlru", "proberlirs", "proberarc"],
    available: true,
    proof: Proof::FULL,
    ..SchemeInfo::BASE
};
