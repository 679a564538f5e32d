//! Declarations of schemes: names, parameters, ranges, sources.
//!
//! One [`SchemeInfo`] per scheme is the only place where its facts stand. The expression checker,
//! command-line help, machine-readable listings and documentation rows are all derived from it.

mod metadata;
mod param;
mod params;

pub use metadata::{Metadata, MetadataBound, MetadataContext, OF_INNER, charged_frames, inner};
pub use param::{DefaultValue, Kind, ParamInfo, Range, Size};
pub use params::{ParamValue, Words};
#[doc(hidden)]
pub use params::{dashed, sentence};

use crate::expr::{Broken, Composition, Expr, RunContext};
use crate::{Env, PAGE_NODE_BYTES, Scheme, WriteBackRules};

/// The role of a scheme in a composition, which decides where it may stand.
///
/// Layers nest in the order M > B > A > K > V, outermost first, around one policy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// M: re-keys cached pages before a request is served.
    Mapping,
    /// B: writes pages back while the device is idle.
    Background,
    /// A: decides which writes enter the cache.
    Admission,
    /// K: keeps a class of pages apart and evicts it first.
    Classifier,
    /// V: restricts or redirects the victim choice.
    VictimFilter,
    /// L: orders single pages.
    PagePolicy,
    /// G: orders groups of pages that leave together.
    GroupPolicy,
    /// O: knows the future; cannot stand inside a layer or run online.
    Offline,
    /// N: no cache at all.
    None,
}

impl Role {
    /// The letter of the role in tables.
    pub const fn letter(self) -> char {
        match self {
            Role::Mapping => 'M',
            Role::Background => 'B',
            Role::Admission => 'A',
            Role::Classifier => 'K',
            Role::VictimFilter => 'V',
            Role::PagePolicy => 'L',
            Role::GroupPolicy => 'G',
            Role::Offline => 'O',
            Role::None => 'N',
        }
    }

    /// The role in words, as messages use it.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Mapping => "mapping",
            Role::Background => "background",
            Role::Admission => "admission",
            Role::Classifier => "classifier",
            Role::VictimFilter => "victim filter",
            Role::PagePolicy => "page policy",
            Role::GroupPolicy => "group policy",
            Role::Offline => "offline",
            Role::None => "no cache",
        }
    }

    /// Whether a scheme of this role has another scheme inside.
    pub const fn is_layer(self) -> bool {
        (self as u8) < Role::PagePolicy as u8
    }
}

/// Where the rules of a scheme come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaperSource {
    /// Authors, title or venue; for policies older than any of these papers, a description.
    pub paper: &'static str,
    /// Year of publication, where one paper introduced the scheme.
    pub year: Option<u16>,
    /// Section, algorithm or equation that is implemented.
    pub section: &'static str,
    /// False for a reconstruction: the body of the paper was not available.
    pub certain: bool,
}

impl PaperSource {
    /// A policy older than any of the papers.
    pub const CLASSIC: PaperSource = PaperSource {
        paper: "classic policy",
        year: None,
        section: "",
        certain: true,
    };
}

/// Proofs of the implementation of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Every table of worked examples is reproduced.
    pub vectors: bool,
    /// Random runs agree with a slow model written apart from the implementation.
    pub model: bool,
    /// Miss counts on public traces are those of independent tools.
    pub golden: bool,
}

impl Proof {
    /// Nothing shown yet.
    pub const NONE: Proof = Proof {
        vectors: false,
        model: false,
        golden: false,
    };

    /// The level as words: `vectors, model, golden`, or `experimental` if nothing is shown beyond
    /// what every scheme must do.
    pub fn text(self) -> String {
        let parts = [
            (self.vectors, "vectors"),
            (self.model, "model"),
            (self.golden, "golden"),
        ];
        let shown: Vec<&str> = parts.iter().filter(|p| p.0).map(|p| p.1).collect();
        if shown.is_empty() {
            "experimental".to_owned()
        } else {
            shown.join(", ")
        }
    }
}

/// The proofs of scheme `name`: its row of `proven.txt`, which `cargo xtask docs` writes from the
/// tests that ran and a conformance test computes again.
pub fn proof_of(name: &str) -> Proof {
    let mut rows = include_str!("proven.txt").lines();
    let row = rows.find_map(|row| row.strip_prefix(name)?.strip_prefix(": "));
    let shown = |word| row.is_some_and(|row| row.split(", ").any(|w| w == word));
    Proof {
        vectors: shown("vectors"),
        model: shown("model"),
        golden: shown("golden"),
    }
}

/// Smallest cache a scheme can work with (X9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinCapacity {
    /// This many page frames.
    Frames(u64),
    /// One block of `block-pages` pages.
    OneBlock,
    /// One frame more than this parameter.
    Above(&'static str),
    /// One frame per chip; less is only a warning.
    FramePerChip,
}

/// Rule between parameters of one layer; the error is the reason of X10.
pub type CrossCheck = fn(&Expr) -> Result<(), String>;

/// How a scheme is built from its layer of an expression, for a cache as the environment says.
pub type BuildFn = fn(&Expr, &Env) -> Box<dyn Scheme + Send>;

/// Everything a scheme declares about itself. Its rules are functions in its own file; nothing else
/// asks for a scheme by its name.
#[derive(Clone, Copy, Debug)]
pub struct SchemeInfo {
    /// Canonical name: lower case, `-` between words.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Paper and section.
    pub source: PaperSource,
    /// Place in a composition.
    pub role: Role,
    /// When it is asked for write-backs. A background layer that does not say is asked on idle channels. A
    /// policy that says so brings its own background layer, so that B cannot be added (X2).
    pub write_backs: Option<WriteBackRules>,
    /// Parameters, in the order help shows them; several lists where schemes share one.
    pub params: &'static [&'static [ParamInfo]],
    /// Policies that it chooses among, unless others stand in the expression; none if it takes none.
    pub members: &'static [&'static str],
    /// Order among equals.
    pub ties: &'static str,
    /// Reads that miss are not admitted by default.
    pub write_buffer: bool,
    /// Order in which victims would be chosen, if the scheme can list it (X15).
    pub order: Option<&'static str>,
    /// Is the victim known before the page comes that needs its room? Not if that page has a say in it:
    /// then the first in the order, or the block that was named, may stay.
    pub victim_is_known: fn(&Expr) -> bool,
    /// May a hit make a page the next victim? So it may under MRU, and where a hit page goes to another list,
    /// which then pays. If not, the suites see that it does not.
    pub hit_leaves_next: bool,
    /// Keeps the pages that were accessed last, and nothing else decides: what a small cache holds, a
    /// larger one holds too, so one pass over a trace tells all sizes.
    pub recency_stack: bool,
    /// Prefers clean victims, so it needs clean pages to have an effect (X8).
    pub clean_aware: bool,
    /// Chooses victims by chip, so it needs static page allocation (X7).
    pub chip_aware: bool,
    /// Keeps a list for each chip, so it can neither be split by chip nor list an order (X15).
    pub chip_lists: bool,
    /// Hashes addresses, so the same accesses at other addresses may have another outcome.
    pub hashes: bool,
    /// Can move a page to another address (X6).
    pub renames: bool,
    /// Smallest cache (X9).
    pub min_capacity: MinCapacity,
    /// Page frames that each scheme inside is meant for, of so many above so many chips.
    pub frames_inside: fn(&Expr, u64, u64) -> u64,
    /// The most metadata it can come to have (`--charge-metadata`).
    pub metadata: Metadata,
    /// Rule between parameters of one layer, beyond the range of each.
    pub cross_check: Option<CrossCheck>,
    /// Does the layer ask the scheme inside for the order of its victims (X15)?
    pub needs_order: fn(&Composition) -> bool,
    /// Other rules for its place in a composition (X12).
    pub refuse_composition: fn(&Composition) -> Result<(), Broken>,
    /// Rules that need the run's configuration (X10, X13).
    pub refuse_run: fn(&Expr, &RunContext) -> Result<(), Broken>,
    /// A description of the layer without a device, around the scheme `inner`, if its name does not
    /// say it.
    pub without_device: Option<fn(inner: &str) -> String>,
    /// Tables of worked examples that cover the scheme.
    pub vectors: &'static [&'static str],
    /// How it is built, if there is an implementation.
    pub build: Option<BuildFn>,
}

impl SchemeInfo {
    /// A scheme without parameters or peculiarities: the base of every declaration.
    pub const BASE: SchemeInfo = SchemeInfo {
        name: "",
        summary: "",
        source: PaperSource {
            paper: "",
            year: None,
            section: "",
            certain: true,
        },
        role: Role::PagePolicy,
        write_backs: None,
        params: &[],
        members: &[],
        ties: "",
        write_buffer: false,
        order: None,
        victim_is_known: |_| true,
        hit_leaves_next: false,
        recency_stack: false,
        clean_aware: false,
        chip_aware: false,
        chip_lists: false,
        hashes: false,
        renames: true,
        min_capacity: MinCapacity::Frames(1),
        frames_inside: |_, frames, _| frames,
        metadata: |_, _| Some(MetadataBound::nodes(PAGE_NODE_BYTES)),
        cross_check: None,
        needs_order: |_| false,
        refuse_composition: |_| Ok(()),
        refuse_run: |_, _| Ok(()),
        without_device: None,
        vectors: &[],
        build: None,
    };

    /// When it is asked for write-backs, if it ever is.
    pub fn write_back_rules(&self) -> Option<WriteBackRules> {
        let idle = (self.role == Role::Background).then_some(WriteBackRules::WHILE_IDLE);
        self.write_backs.or(idle)
    }

    /// All parameters.
    pub fn params(&self) -> impl Iterator<Item = &'static ParamInfo> + use<> {
        self.params.iter().flat_map(|list| list.iter())
    }

    /// The declaration of parameter `key`.
    pub fn param(&self, key: &str) -> Option<&'static ParamInfo> {
        self.params().find(|p| p.key == key)
    }
}

impl PartialEq for SchemeInfo {
    /// Names are unique, so they decide.
    fn eq(&self, other: &SchemeInfo) -> bool {
        self.name == other.name
    }
}

impl Eq for SchemeInfo {}
