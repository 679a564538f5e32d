//! Declarations of the admission layers: which writes enter the cache.

use crate::expr::Expr;
use crate::info::{
    DefaultValue, Kind, MetadataContext, OF_INNER, ParamInfo, Proof, Range, Role, SchemeInfo,
    Source, inner,
};

const ADMISSION: SchemeInfo = SchemeInfo {
    metadata: OF_INNER,
    role: Role::Admission,
    write_buffer: true,
    ties: "those of the inner scheme",
    ..SchemeInfo::BASE
};

const PC: &str = "Baek, Cho, Choi, Don't make cache too complex: A simple probability-based \
                  cache management scheme for SSDs, PLoS ONE 12(3)";

/// `procache`: probabilistic admission.
pub const PROCACHE: SchemeInfo = SchemeInfo {
    name: "procache",
    summary: "Admits a small write request with a fixed probability; large ones go to flash.",
    source: Source {
        paper: PC,
        year: Some(2017),
        section: "3, 4, Algorithm 1",
        certain: true,
    },
    params: &[
        ParamInfo::real("p", Range::UNIT_NOT_ZERO, 0.1).about(
            "probability",
            "chance that an eligible request is admitted",
            "5.2",
        ),
        ParamInfo::size("c", 8 << 10).about(
            "bytes",
            "cut-off size of a request above which it is cold",
            "5.2",
        ),
        ParamInfo::word("cmp", &["gt", "ge"]).about(
            "",
            "a request is cold if its size is greater than c, or at least c",
            "PC-1",
        ),
        ParamInfo::reals("pv", Range::UNIT).about(
            "probabilities",
            "chance per size class (powers of two of size-unit); replaces p and c",
            "4.2, PC-3",
        ),
        ParamInfo::size("size-unit", 1 << 10).about("bytes", "unit of the size classes", "5.1"),
        ParamInfo::word("hit-rule", &["all", "any", "page"]).about(
            "",
            "a request updates the cache if all or any of its pages are cached, or page by page",
            "PC-2",
        ),
        ParamInfo::flag("read-touch", true).about("", "a read hit refreshes recency", "Alg. 1"),
        ParamInfo::integer("seed", 0, u64::MAX, 1).about(
            "",
            "seed of the generator, one draw per tested request",
            "Alg. 1",
        ),
        ParamInfo::word("p-schedule", &["constant", "occupancy"]).about(
            "",
            "occupancy: everything eligible is admitted until the cache has been full once",
            "4.2, PC-5",
        ),
    ],
    metadata: |e, c| {
        inner(
            e,
            &MetadataContext {
                batches: true,
                ..*c
            },
        )
    },
    vectors: &["procache", "procachegt", "procachev"],
    available: true,
    proof: Proof::FULL,
    ..ADMISSION
};

/// `refcount`: per-block write counters.
pub const REFCOUNT: SchemeInfo = SchemeInfo {
    name: "refcount",
    summary: "Admits a page once it has been written often enough; counters decay.",
    source: Source {
        paper: PC,
        year: Some(2017),
        section: "Algorithm 3 (REFCNT)",
        certain: true,
    },
    params: &[
        ParamInfo::integer("threshold", 0, 255, 4).about(
            "writes",
            "counter value from which a page is admitted",
            "5.3; default uncertain",
        ),
        ParamInfo::count("decay-period", 1, 5120)
            .kind(Kind::IntegerOrTime { min: 1 })
            .about(
                "writes",
                "all counters are halved this often",
                "5.3; default uncertain",
            ),
        ParamInfo::word("unit", &["page", "sector"]).about(
            "",
            "a counter per page, or per 512 B",
            "5.3",
        ),
        ParamInfo::flag("hit-first", false).about(
            "",
            "a cached page is updated whatever its counter says",
            "PC-6",
        ),
    ],
    metadata: |e, c| {
        let per_page = match e.word("unit") {
            "sector" => u64::from(c.page.sectors()),
            _ => 1,
        };
        Some(inner(e, c)?.and_entries(c.pages, per_page))
    },
    vectors: &["refcount"],
    available: true,
    proof: Proof::FULL,
    ..ADMISSION
};

/// `multihash`: hashed counters.
pub const MULTIHASH: SchemeInfo = SchemeInfo {
    name: "multihash",
    summary: "Admits a page whose k hashed write counters are all high; counters decay.",
    source: Source {
        paper: "Hsieh, Chang, Kuo, SAC 2005 and ACM TOS",
        year: Some(2006),
        section: "K hash functions, M-entry table",
        certain: false,
    },
    params: &[
        ParamInfo::count("m", 1, 4096).about("counters", "size of the table", "SAC 2005"),
        ParamInfo::integer("k", 1, 64, 2).about("hashes", "counters of one page", "SAC 2005"),
        ParamInfo::integer("d", 1, 16, 4).about("bits", "width of a counter", "SAC 2005"),
        ParamInfo::integer("h", 0, 16, 2).about(
            "bits",
            "most significant bits that make a page hot: threshold 2^(d-h)",
            "SAC 2005",
        ),
        ParamInfo::integer("threshold", 0, 65535, 0)
            .default(DefaultValue::Computed("2^(d-h)"))
            .about(
                "writes",
                "counter value from which a page is hot",
                "SAC 2005",
            ),
        ParamInfo::real("r", Range::UNIT_NOT_ONE, 0.2).about(
            "fraction",
            "share of hot writes that sets the decay period",
            "TOS 2006; from memory",
        ),
        ParamInfo::count("decay-period", 1, 0)
            .default(DefaultValue::Computed("floor(m/(1-r))"))
            .about(
                "writes",
                "all counters are halved this often",
                "TOS 2006; from memory",
            ),
    ],
    cross_check: Some(hot_is_reachable),
    metadata: |e, c| {
        let bits = e.uint("m").saturating_mul(e.uint("d"));
        Some(inner(e, c)?.and_entries(bits.div_ceil(8), 1))
    },
    vectors: &["multihash"],
    available: true,
    proof: Proof::FULL,
    ..ADMISSION
};

/// A counter of `d` bits stops at 2^d - 1, so a higher threshold would admit nothing.
fn hot_is_reachable(layer: &Expr) -> Result<(), String> {
    let (d, h) = (layer.uint("d"), layer.uint("h"));
    let most = (1u64 << d) - 1;
    match layer.uint_opt("threshold") {
        Some(t) if t > most => Err(format!(
            "out of range: threshold={t} is never reached by counters of d={d} bits; allowed 0 to \
             {most}"
        )),
        None if h > d => Err(format!("out of range: h={h}; allowed 0 to d={d}")),
        None if h == 0 => Err(
            "out of range: h=0 asks for more than a counter holds; allowed 1 \
                               or more"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// `mbf`: multiple Bloom filters.
pub const MBF: SchemeInfo = SchemeInfo {
    name: "mbf",
    summary: "Admits a page whose weighted presence in several Bloom filters is high.",
    source: Source {
        paper: "Park, Du, Hot Data Identification for Flash-based Storage Systems Using \
                Multiple Bloom Filters, MSST",
        year: Some(2011),
        section: "",
        certain: false,
    },
    params: &[
        ParamInfo::integer("v", 1, 64, 4).about("filters", "number of Bloom filters", "MSST 2011"),
        ParamInfo::count("m", 1, 2048).about("bits", "size of one filter", "MSST 2011"),
        ParamInfo::integer("k", 1, 64, 2).about("hashes", "bits of one page", "MSST 2011"),
        ParamInfo::count("decay-period", 1, 0)
            .default(DefaultValue::Computed("m/v"))
            .about("writes", "one filter is cleared this often", "MSST 2011"),
        ParamInfo::real("threshold", Range::POSITIVE, 4.0).about(
            "weight",
            "sum of filter weights from which a page is hot",
            "from memory",
        ),
    ],
    vectors: &["mbf"],
    ..ADMISSION
};

/// `twolevel`: hot list and candidate list.
pub const TWOLEVEL: SchemeInfo = SchemeInfo {
    name: "twolevel",
    summary: "Admits a page found in a hot or a candidate list of recently written pages.",
    source: Source {
        paper: "Chang, Kuo, An Adaptive Striping Architecture for Flash Memory Storage Systems \
                of Embedded Systems, RTAS",
        year: Some(2002),
        section: "two-level LRU discipline",
        certain: true,
    },
    params: &[
        ParamInfo::count("n-hot", 1, 512).about("pages", "length of the hot list", "RTAS 2002"),
        ParamInfo::count("n-cand", 1, 1024).about(
            "pages",
            "length of the candidate list",
            "RTAS 2002",
        ),
    ],
    vectors: &["twolevel"],
    ..ADMISSION
};
