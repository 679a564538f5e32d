//! Declarations as help text, documentation rows and machine-readable records.

use std::fmt::Write;

use serde::Serialize;

use crate::info::{DefaultValue, Kind, MinCapacity, ParamInfo, SchemeInfo, proof_of};
use crate::registry::{self, ALIASES};

/// A scheme as `schemes --json` shows it.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct SchemeRecord {
    /// Canonical name.
    pub name: &'static str,
    /// Aliases that contain the scheme as their outermost layer.
    pub aliases: Vec<&'static str>,
    /// One sentence.
    pub summary: &'static str,
    /// Role in words.
    pub role: &'static str,
    /// Letter of the role.
    pub role_letter: char,
    /// Whether another scheme stands inside.
    pub layer: bool,
    /// Paper, year and section.
    pub source: String,
    /// True if the paper's body was not available.
    pub reconstruction: bool,
    /// Rule among equals.
    pub ties: &'static str,
    /// Default of read allocation is off.
    pub write_buffer: bool,
    /// Order of victim candidates, if it can be listed.
    pub candidates: Option<&'static str>,
    /// Prefers clean victims.
    pub clean_aware: bool,
    /// Needs static page allocation.
    pub chip_aware: bool,
    /// Smallest cache, in words.
    pub min_capacity: String,
    /// Level of proof: worked examples, slow model, real trace.
    pub proof: ProofRecord,
    /// Parameters.
    pub params: Vec<ParamRecord>,
}

/// Level of proof, field by field.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
pub struct ProofRecord {
    /// Worked examples are reproduced.
    pub vectors: bool,
    /// Agrees with a slow model on random runs.
    pub model: bool,
    /// Exact counts on a real trace.
    pub golden: bool,
}

/// A parameter as `schemes --json` shows it.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct ParamRecord {
    /// Name.
    pub key: &'static str,
    /// Type: integer, real, size, time, bool, word or list.
    pub kind: &'static str,
    /// Unit of the number; empty for words.
    pub unit: &'static str,
    /// Default as an expression writes it, or the rule in words.
    pub default: String,
    /// True if the default depends on the capacity, the device or other layers.
    pub default_computed: bool,
    /// Allowed values in words.
    pub range: String,
    /// Allowed words.
    pub choices: Vec<&'static str>,
    /// Meaning.
    pub note: &'static str,
    /// Section or decision.
    pub source: &'static str,
}

/// The records of all schemes of the registry.
pub fn records() -> Vec<SchemeRecord> {
    registry::all().iter().map(|info| record(info)).collect()
}

/// The record of one scheme.
pub fn record(info: &SchemeInfo) -> SchemeRecord {
    let proof = proof_of(info.name);
    SchemeRecord {
        name: info.name,
        aliases: aliases(info),
        summary: info.summary,
        role: info.role.name(),
        role_letter: info.role.letter(),
        layer: info.role.is_layer(),
        source: source(info),
        reconstruction: !info.source.certain,
        ties: info.ties,
        write_buffer: info.write_buffer,
        candidates: info.order,
        clean_aware: info.clean_aware,
        chip_aware: info.chip_aware,
        min_capacity: min_capacity(info),
        proof: ProofRecord {
            vectors: proof.vectors,
            model: proof.model,
            golden: proof.golden,
        },
        params: info.params().map(param_record).collect(),
    }
}

fn param_record(p: &ParamInfo) -> ParamRecord {
    let choices: &[&str] = match p.kind {
        Kind::Word(choices) => choices,
        Kind::Bool => &["true", "false"],
        _ => &[],
    };
    ParamRecord {
        key: p.key,
        kind: kind(p),
        unit: p.unit,
        default: p.default.text(),
        default_computed: matches!(
            p.default,
            DefaultValue::Frames { .. } | DefaultValue::Computed(_) | DefaultValue::Inside { .. }
        ),
        range: p.range(),
        choices: choices.iter().copied().chain(p.or_word).collect(),
        note: p.note,
        source: p.source,
    }
}

fn kind(p: &ParamInfo) -> &'static str {
    match p.kind {
        Kind::Integer { .. } => "integer",
        Kind::IntegerOrTime { .. } => "integer or time",
        Kind::Real(_) => "real",
        Kind::Size => "size",
        Kind::Time => "time",
        Kind::Bool => "bool",
        Kind::Word(_) => "word",
        Kind::Reals(_) => "list",
    }
}

fn aliases(info: &SchemeInfo) -> Vec<&'static str> {
    let outermost = ALIASES.iter().filter(|a| a.1.first() == Some(&info.name));
    outermost.map(|a| a.0).collect()
}

/// Paper, year and section in one line.
pub fn source(info: &SchemeInfo) -> String {
    let mut text = info.source.paper.to_owned();
    if let Some(year) = info.source.year {
        write!(text, ", {year}").expect("a string takes any text");
    }
    if !info.source.section.is_empty() {
        write!(text, "; {}", info.source.section).expect("a string takes any text");
    }
    if !info.source.certain {
        text.push_str("; reconstruction");
    }
    text
}

fn min_capacity(info: &SchemeInfo) -> String {
    match info.min_capacity {
        MinCapacity::Frames(n) => format!("{n} pages"),
        MinCapacity::OneBlock => "one block (block-pages)".to_owned(),
        MinCapacity::Above(key) => format!("{key} + 1 pages"),
        MinCapacity::FramePerChip => "one page per chip (a warning below)".to_owned(),
    }
}

/// Head of the table [`markdown_row`] fills.
pub const MARKDOWN_HEAD: &str = "| scheme | role | what it does | parameters (default) | source \
                                 | shown |\n|--|--|--|--|--|--|\n";

/// One line of the documentation table, with its line feed.
pub fn markdown_row(info: &SchemeInfo) -> String {
    let params: Vec<String> = info
        .params()
        .map(|p| format!("`{}` ({})", p.key, p.default.text()))
        .collect();
    let params = if params.is_empty() {
        "-".to_owned()
    } else {
        params.join(", ")
    };
    let cells = [
        format!("`{}`", info.name),
        info.role.letter().to_string(),
        info.summary.to_owned(),
        params,
        source(info),
        proof_of(info.name).text(),
    ];
    format!("| {} |\n", cells.map(|c| c.replace('|', "\\|")).join(" | "))
}

/// The help text of one scheme: parameters, defaults, ranges, source, tie rule.
pub fn explain(info: &SchemeInfo) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            writeln!(text, "{name:<14}{value}").expect("a string takes any text");
        }
    };
    line("scheme", info.name);
    line("", info.summary);
    let inside = if info.role.is_layer() {
        ", over another scheme (default lru)"
    } else {
        ""
    };
    let role = format!("{} {}{inside}", info.role.letter(), info.role.name());
    line("role", &role);
    line("aliases", &aliases(info).join(", "));
    line("source", &source(info));
    line("ties", info.ties);
    let admitted = if info.write_buffer {
        "off by default (write buffer)"
    } else {
        "on by default"
    };
    line("read-alloc", admitted);
    line("candidates", info.order.unwrap_or(""));
    line("smallest C", &min_capacity(info));
    line("shown", &proof_of(info.name).text());
    if info.params().next().is_some() {
        text.push_str("parameters\n");
    }
    for p in info.params() {
        explain_param(&mut text, p);
    }
    text
}

fn explain_param(text: &mut String, p: &ParamInfo) {
    let unit = match p.unit {
        "" => String::new(),
        unit => format!(", in {unit}"),
    };
    let rows = [
        format!("  {} (default {})", p.key, p.default.text()),
        format!("      {}", p.note),
        format!("      {}{unit}; source: {}", p.range(), p.source),
    ];
    for row in rows {
        text.push_str(&row);
        text.push('\n');
    }
}
