//! A page for each scheme, from its declaration and the head of its source, and the list of schemes.

use super::decisions::Decisions;
use super::tables::cells;
use super::{Pages, curves, head, states};
use crate::ROLES;
use destage_scheme::describe::{self, ParamRecord, SchemeRecord};
use destage_scheme::info::SchemeInfo;
use destage_scheme::registry::SCHEMES;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// Papers whose claims are compared with results, and the schemes in them.
const CLAIMS: [(&str, &[&str]); 5] = [
    ("cac", &["cac"]),
    ("ecr", &["ecr", "ecr-eps", "cflru-eps"]),
    ("prober", &["prober", "awb"]),
    ("procache", &["procache", "refcount"]),
    ("req-block", &["req-block", "bplru", "vbbms"]),
];

/// The list of schemes, and their pages.
///
/// # Errors
/// A source cannot be read, or a scheme has none.
pub fn pages(root: &Path, decisions: &Decisions, measured: &str) -> io::Result<Pages> {
    let mut sources = Vec::new();
    read_sources(&root.join("crates/scheme/src"), &mut sources)?;
    let mut pages = Pages::from([("SCHEMES.md".to_owned(), list())]);
    for info in SCHEMES {
        let declared = format!("name: \"{}\",", info.name);
        let source = sources.iter().find(|source| source.contains(&declared));
        let source =
            source.ok_or_else(|| io::Error::other(format!("no source declares {}", info.name)))?;
        let page = Page {
            info,
            record: describe::record(info),
            decisions,
            source,
        };
        pages.insert(format!("schemes/{}.md", info.name), page.text(measured));
    }
    Ok(pages)
}

fn read_sources(folder: &Path, sources: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_sources(&path, sources)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            sources.push(fs::read_to_string(path)?);
        }
    }
    Ok(())
}

fn list() -> String {
    let mut text = "# Cache schemes\n\nA scheme decides which pages the cache keeps. Layers stand around one policy: \
                    `--scheme 'cac(awb(prober(lirs)))'`. Their order is that of this page, outermost first. \
                    [Compositions](COMPOSITIONS.md) has the rules, and [Measured](MEASURED.md) compares all schemes.\n"
        .to_owned();
    for (role, what) in ROLES {
        let name = role.name();
        let _ = writeln!(
            text,
            "\n## {}{}\n\n{}{}.\n",
            name[..1].to_uppercase(),
            &name[1..],
            what[..1].to_uppercase(),
            &what[1..]
        );
        for info in SCHEMES.iter().filter(|info| info.role == role) {
            let _ = writeln!(
                text,
                "- [`{0}`](schemes/{0}.md): {1}",
                info.name, info.summary
            );
        }
    }
    text
}

struct Page<'a> {
    info: &'static SchemeInfo,
    record: SchemeRecord,
    decisions: &'a Decisions,
    source: &'a str,
}

impl Page<'_> {
    fn text(&self, measured: &str) -> String {
        let (rule, silent) = head::of(self.source);
        let mut text = format!("# `{}`\n\n{}\n\n", self.record.name, self.record.summary);
        text += &self.facts();
        let _ = write!(text, "\n## Rule\n\n{}\n\n", self.linked(&rule));
        text += &states::section(self.info);
        text += &self.curve();
        if !self.record.params.is_empty() {
            text += "## Parameters\n\n";
            for param in &self.record.params {
                text += &self.linked(&parameter(param));
            }
        }
        text += &self.compared(measured);
        text += &self.silent(&silent);
        text
    }

    fn linked(&self, text: &str) -> String {
        self.decisions.linked(text, "../decisions/")
    }

    fn facts(&self) -> String {
        let record = &self.record;
        let inside = if record.layer {
            ", around another scheme"
        } else {
            ""
        };
        let admitted = if record.write_buffer {
            "off (write buffer)"
        } else {
            "on"
        };
        let shown = [
            (record.proof.vectors, "reproduces every worked example"),
            (
                record.proof.model,
                "agrees with a slow model, written apart, in random runs",
            ),
            (
                record.proof.golden,
                "has the miss counts of independent tools on public traces",
            ),
        ];
        let shown: Vec<&str> = shown
            .iter()
            .filter(|shown| shown.0)
            .map(|shown| shown.1)
            .collect();
        let shown = if shown.is_empty() {
            "experimental: keeps the laws of every scheme".to_owned()
        } else {
            shown.join("; ")
        };
        let aliases: Vec<String> = record
            .aliases
            .iter()
            .map(|alias| format!("`{alias}`"))
            .collect();
        let facts = [
            (
                "Write",
                format!("`--scheme '{}'`", curves::expression(self.info)),
            ),
            (
                "Role",
                format!(
                    "[{}{inside}](../SCHEMES.md#{})",
                    record.role,
                    record.role.replace(' ', "-")
                ),
            ),
            ("Source", record.source.clone()),
            ("Evidence", shown),
            ("Smallest cache", record.min_capacity.clone()),
            ("Among equals", record.ties.to_owned()),
            ("Read allocation", format!("{admitted} by default")),
            ("Other names", aliases.join(", ")),
        ];
        let facts = facts.iter().filter(|fact| !fact.1.is_empty());
        facts
            .map(|(name, fact)| format!("- **{name}**: {fact}\n"))
            .collect()
    }

    fn curve(&self) -> String {
        if !curves::is_drawn(self.info) {
            return "The scheme acts only with a device. Without one its hit ratio is that of the scheme inside.\n\n"
                .to_owned();
        }
        format!(
            "## Hit ratio\n\n![Page hit ratio of {0}, LRU, and the offline bound over the cache size]({0}.svg)\n\n\
             Small skewed requests beside a sequential stream:\n\n```sh\ndestage {1}\ndestage {2}\n```\n\n",
            self.info.name,
            curves::WORKLOAD,
            curves::command(self.info)
        )
    }

    /// The scheme beside LRU on five traces.
    fn compared(&self, measured: &str) -> String {
        let mut text = "\n## Compared\n\nThe first 20,000 requests of public traces, with a cache of a tenth of their pages. \
                        Layers stand over `lru`. [All schemes](../MEASURED.md).\n\n\
                        | trace | page hits, % | LRU | mean, ms | LRU |\n|--|--|--|--|--|\n"
            .to_owned();
        for section in measured.split("\n## ").skip(1) {
            let trace = section.lines().next().unwrap_or_default();
            let row = |name: &str| {
                let row = section
                    .lines()
                    .find(|line| line.starts_with(&format!("| `{name}` |")));
                row.map(cells).filter(|cells| cells.len() > 2)
            };
            if let (Some(own), Some(lru)) = (row(self.info.name), row("lru")) {
                let _ = writeln!(
                    text,
                    "| {trace} | {} | {} | {} | {} |",
                    own[1], lru[1], own[2], lru[2]
                );
            }
        }
        for (paper, schemes) in CLAIMS {
            if schemes.contains(&self.info.name) {
                let _ = write!(
                    text,
                    "\n[Claims of the paper](../papers/{paper}.md) beside results of destage.\n"
                );
            }
        }
        text
    }

    fn silent(&self, list: &str) -> String {
        let mut named = self.decisions.named(self.source);
        let of_params: String = self
            .record
            .params
            .iter()
            .map(|p| p.source)
            .collect::<Vec<_>>()
            .join(" ");
        named.extend(self.decisions.named(&of_params));
        if list.is_empty() && named.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "\n## Where the paper is silent\n\n{}\n\n",
            self.linked(list)
        );
        for code in named {
            let _ = writeln!(
                text,
                "- [{code}](../decisions/{code}.md): {}",
                self.decisions.question(code)
            );
        }
        text
    }
}

fn parameter(param: &ParamRecord) -> String {
    let unit = match param.unit {
        "" => String::new(),
        unit => format!(", in {unit}"),
    };
    format!(
        "### `{}`\n\n{}\n\n**Default**: {}. **Values**: {}{unit}. **Source**: {}.\n\n",
        param.key, param.note, param.default, param.range, param.source
    )
}
