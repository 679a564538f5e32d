//! Schemes that are declared and not implemented yet: expressions with them are read and checked,
//! and refused as not available.

use crate::info::{DefaultValue, OF_INNER, PaperSource, ParamInfo, Range, Role, SchemeInfo};
use crate::policy::logical_blocks;

const ADMISSION: SchemeInfo = SchemeInfo {
    metadata: OF_INNER,
    role: Role::Admission,
    write_buffer: true,
    ties: "those of the inner scheme",
    ..SchemeInfo::BASE
};

const GROUP: SchemeInfo = SchemeInfo {
    role: Role::GroupPolicy,
    write_buffer: true,
    ..SchemeInfo::BASE
};

const BLOCK_PAGES: ParamInfo =
    logical_blocks::BLOCK_PAGES.named("block-pages", "pages of a logical block");

/// `mbf`: multiple Bloom filters.
pub(crate) const MBF: SchemeInfo = SchemeInfo {
    name: "mbf",
    summary: "Admits a page whose weighted presence in several Bloom filters is high.",
    source: PaperSource {
        paper: "Park, Du, Hot Data Identification for Flash-based Storage Systems Using \
                Multiple Bloom Filters, MSST",
        year: Some(2011),
        section: "",
        certain: false,
    },
    params: &[&[
        ParamInfo::integer(1, 64, 4)
            .named("v", "number of Bloom filters")
            .unit("filters")
            .source("MSST 2011"),
        ParamInfo::count(1, 2048)
            .named("m", "size of one filter")
            .unit("bits")
            .source("MSST 2011"),
        ParamInfo::integer(1, 64, 2)
            .named("k", "bits of one page")
            .unit("hashes")
            .source("MSST 2011"),
        ParamInfo::count(1, 0)
            .named("decay-period", "one filter is cleared this often")
            .default(DefaultValue::Computed("m/v"))
            .unit("writes")
            .source("MSST 2011"),
        ParamInfo::real(Range::POSITIVE, 4.0)
            .named(
                "threshold",
                "sum of filter weights from which a page is hot",
            )
            .unit("weight")
            .source("from memory"),
    ]],
    vectors: &["mbf"],
    ..ADMISSION
};

/// `twolevel`: hot list and candidate list.
pub(crate) const TWOLEVEL: SchemeInfo = SchemeInfo {
    name: "twolevel",
    summary: "Admits a page found in a hot or a candidate list of recently written pages.",
    source: PaperSource {
        paper: "Chang, Kuo, An Adaptive Striping Architecture for Flash Memory Storage Systems \
                of Embedded Systems, RTAS",
        year: Some(2002),
        section: "two-level LRU discipline",
        certain: true,
    },
    params: &[&[
        ParamInfo::count(1, 512)
            .named("n-hot", "length of the hot list")
            .unit("pages")
            .source("RTAS 2002"),
        ParamInfo::count(1, 1024)
            .named("n-cand", "length of the candidate list")
            .unit("pages")
            .source("RTAS 2002"),
    ]],
    vectors: &["twolevel"],
    ..ADMISSION
};

/// `pud-lru`: predicted update distance.
pub(crate) const PUD_LRU: SchemeInfo = SchemeInfo {
    name: "pud-lru",
    summary: "Evicts the fullest of the blocks that are predicted to be updated late.",
    source: PaperSource {
        paper: "Hu, Jiang, Tian, Xu, PUD-LRU, MASCOTS",
        year: Some(2010),
        section: "abstract",
        certain: false,
    },
    params: &[&[BLOCK_PAGES]],
    ties: "larger update distance, then nearest the LRU end",
    vectors: &["pudlru"],
    ..GROUP
};

/// `bpac`: pages and clusters.
pub(crate) const BPAC: SchemeInfo = SchemeInfo {
    name: "bpac",
    summary: "Pages written again stay in a page list; the rest leaves as clusters of a block.",
    source: PaperSource {
        paper: "Wu, Eckart, He, BPAC, MSST 2010 and ACM TOS",
        year: Some(2012),
        section: "abstract",
        certain: false,
    },
    params: &[&[BLOCK_PAGES]],
    ties: "nearest the LRU end",
    vectors: &["bpac"],
    ..GROUP
};

/// `lb-clock`: large block CLOCK.
pub(crate) const LB_CLOCK: SchemeInfo = SchemeInfo {
    name: "lb-clock",
    summary: "CLOCK over logical blocks; among those not written lately the fullest goes.",
    source: PaperSource {
        paper: "Debnath et al., Large Block CLOCK, MASCOTS",
        year: Some(2009),
        section: "abstract",
        certain: false,
    },
    params: &[&[BLOCK_PAGES]],
    ties: "first from the hand",
    vectors: &["lbclock"],
    ..GROUP
};
