//! What a scheme says about itself: names, parameters, ranges, sources.
//!
//! One [`SchemeInfo`] per scheme is the only place where its facts stand. The expression checker,
//! command-line help, machine-readable listings and documentation rows are all derived from it.

mod metadata;
mod param;

pub use metadata::{Metadata, MetadataBound, MetadataContext, charged_frames};
pub(crate) use metadata::{OF_INNER, inner};
pub use param::{DefaultValue, Kind, ParamInfo, Range, Size};

use crate::expr::Expr;
use crate::policy::PAGE_NODE_BYTES;

/// What a scheme does in a composition, and so where it may stand.
///
/// Wrappers nest in the order M > B > A > K > V, outermost first, around one leaf.
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
    PageLeaf,
    /// G: orders groups of pages that leave together.
    GroupLeaf,
    /// O: knows the future; cannot be wrapped or run online.
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
            Role::PageLeaf => 'L',
            Role::GroupLeaf => 'G',
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
            Role::PageLeaf => "page leaf",
            Role::GroupLeaf => "group leaf",
            Role::Offline => "offline",
            Role::None => "no cache",
        }
    }

    /// Whether a scheme of this role has another scheme inside.
    pub const fn is_wrapper(self) -> bool {
        (self as u8) < Role::PageLeaf as u8
    }
}

/// Where the rules of a scheme come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// Authors, title or venue; for policies older than any of these papers, a description.
    pub paper: &'static str,
    /// Year of publication, where one paper introduced the scheme.
    pub year: Option<u16>,
    /// Section, algorithm or equation that is implemented.
    pub section: &'static str,
    /// False for a reconstruction: the body of the paper was not available.
    pub certain: bool,
}

/// What has been shown about the implementation of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Every table of worked examples is reproduced.
    pub vectors: bool,
    /// Random runs agree with a slow model written apart from the implementation.
    pub model: bool,
    /// Exact counts on a real trace agree with independent tools or a recorded run.
    pub golden: bool,
}

impl Proof {
    /// Nothing shown yet.
    pub const NONE: Proof = Proof {
        vectors: false,
        model: false,
        golden: false,
    };

    /// Everything an available scheme has to show.
    pub const FULL: Proof = Proof {
        vectors: true,
        model: true,
        golden: true,
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
        match shown.is_empty() {
            true => "experimental".to_owned(),
            false => shown.join(", "),
        }
    }
}

/// What has been shown about the implementation of scheme `name`: its row of `proven.txt`, which
/// `cargo xtask docs` writes from what ran and a conformance test computes again.
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
    /// One frame more than the parameter `hir`.
    AboveHir,
    /// One frame per chip; less is only a warning.
    FramePerChip,
}

/// Rule between parameters of one layer; the error is the reason of X10.
pub type CrossCheck = fn(&Expr) -> Result<(), String>;

/// Everything a scheme declares about itself.
#[derive(Clone, Copy, Debug)]
pub struct SchemeInfo {
    /// Canonical name: lower case, `-` between words.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Paper and section.
    pub source: Source,
    /// Place in a composition.
    pub role: Role,
    /// A leaf that brings its own background layer, so that B cannot be added (X2).
    pub own_background: bool,
    /// Parameters, in the order help shows them.
    pub params: &'static [ParamInfo],
    /// Who goes first among equals.
    pub ties: &'static str,
    /// Reads that miss are not admitted by default.
    pub write_buffer: bool,
    /// Order in which victims would be chosen, if the scheme can list it (X15).
    pub candidates: Option<&'static str>,
    /// Prefers clean victims, so it needs clean pages to have an effect (X8).
    pub clean_aware: bool,
    /// Chooses victims by chip, so it needs static page allocation (X7).
    pub chip_aware: bool,
    /// Can move a page to another address (X6).
    pub renames: bool,
    /// Smallest cache (X9).
    pub min_capacity: MinCapacity,
    /// The most metadata it can come to have (`--charge-metadata`).
    pub metadata: Metadata,
    /// Rule between parameters of one layer, beyond the range of each.
    pub cross_check: Option<CrossCheck>,
    /// Tables of worked examples that cover the scheme.
    pub vectors: &'static [&'static str],
    /// Whether an implementation exists.
    pub available: bool,
    /// What has been shown about it.
    pub proof: Proof,
}

impl SchemeInfo {
    /// A scheme without parameters or peculiarities: the base of every declaration.
    pub const BASE: SchemeInfo = SchemeInfo {
        name: "",
        summary: "",
        source: Source {
            paper: "",
            year: None,
            section: "",
            certain: true,
        },
        role: Role::PageLeaf,
        own_background: false,
        params: &[],
        ties: "",
        write_buffer: false,
        candidates: None,
        clean_aware: false,
        chip_aware: false,
        renames: true,
        min_capacity: MinCapacity::Frames(1),
        metadata: |_, _| Some(MetadataBound::nodes(PAGE_NODE_BYTES)),
        cross_check: None,
        vectors: &[],
        available: false,
        proof: Proof::NONE,
    };

    /// The declaration of parameter `key`.
    pub fn param(&self, key: &str) -> Option<&'static ParamInfo> {
        self.params.iter().find(|p| p.key == key)
    }
}

impl PartialEq for SchemeInfo {
    /// Names are unique, so they decide.
    fn eq(&self, other: &SchemeInfo) -> bool {
        self.name == other.name
    }
}

impl Eq for SchemeInfo {}
