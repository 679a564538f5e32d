//! The points as a table, as lines of CSV, and as JSON objects.

use crate::args::{STREAMS, VICTIM};
use crate::waf::grid::{GridPoint, WafGrid, zones_text};
use destage_device::config::GcPolicy;
use destage_experiment::options::word_of;
use destage_report::rows::csv_cell;
use destage_report::table::{lines, number, or_dash, plain};
use destage_sim::waf::{WafPattern, WafPoint, WafSpec, WritePattern};
use serde_json::{Map, Value, json};

/// The points with what came out, in the same order.
pub struct Points<'a> {
    /// The grid of simulations.
    pub grid: &'a WafGrid,
    /// Their results.
    pub found: Vec<WafPoint>,
    /// Is each tenth of the measured part shown?
    pub tenths: bool,
}

/// Heads of the figures.
const HEADS: [&str; 3] = ["write amplification", "analytic", "optimum"];

/// Heads of the tenths of the measured part.
const TENTHS: [&str; 10] = [
    "1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th",
];

/// The meaning of the columns.
const FIGURES: &str = "
write amplification: pages programmed / pages that the host wrote, those that hit the buffer included
analytic: one stream and large blocks, the oldest block is collected (Desnoyers, SYSTOR 2012)
optimum: pages of equal lifetime share blocks, and the spare area is divided best";
const NO_FORMULA: &str = "
-: writes depend on those before them, and there is no formula";
const STEADY_FIGURE: &str = "
steady: another warm-up of the same length would change the figure by 2 % at most, as the halves of the measured part show";

impl Points<'_> {
    fn each(&self) -> impl Iterator<Item = (&GridPoint, &WafPoint)> {
        self.grid.points.iter().zip(&self.found)
    }

    /// A warning if a point is not in its steady state.
    pub fn warning(&self) -> Option<String> {
        let moving: Vec<&WafPoint> = self.found.iter().filter(|p| !p.is_steady()).collect();
        let cold = moving.iter().filter(|point| !point.is_warm()).count();
        let most = moving.iter().map(|point| point.drift()).fold(0.0, f64::max);
        let causes = [
            (moving.len() > cold).then(|| {
                let most = 100.0 * most;
                format!("another warm-up of the same length may change write amplification by {most:.0} %")
            }),
            (cold > 0).then(|| format!("at {cold}, too few pages reached the flash")),
        ];
        let causes: Vec<String> = causes.into_iter().flatten().collect();
        (!moving.is_empty()).then(|| {
            format!(
                "warning: {} of {} points are not in a steady state: {}. Raise --warmup, and --overwrites",
                moving.len(),
                self.found.len(),
                causes.join("; ")
            )
        })
    }

    /// Heads and rows of the table.
    pub fn rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let buffered = self.grid.points.iter().any(|point| point.spec.buffer > 0);
        let options = self.grid.axes.iter().map(|axis| axis.option);
        let mut heads: Vec<&str> = options.chain(HEADS).collect();
        if buffered {
            heads.push("buffer hits");
        }
        let moves = self.found.iter().any(|point| !point.is_steady());
        if moves {
            heads.push("steady");
        }
        if self.tenths {
            heads.extend(TENTHS);
        }
        let row = |(point, found): (&GridPoint, &WafPoint)| {
            let mut row: Vec<String> = point.settings.iter().map(|s| s.text()).collect();
            row.push(format!("{:.3}", found.write_amplification()));
            row.push(or_dash(number(found.analytic, 3)));
            row.push(or_dash(number(found.optimum, 3)));
            if buffered {
                let hits = found.buffer_hits as f64 / found.write_pages as f64;
                row.push(format!("{:.2} %", 100.0 * hits));
            }
            if moves {
                let word = if found.is_steady() { "yes" } else { "no" };
                row.push(word.to_owned());
            }
            if self.tenths {
                row.extend(found.tenths.map(|tenth| format!("{tenth:.2}")));
            }
            row
        };
        (heads, self.each().map(row).collect())
    }

    /// The points for people, with how they were made.
    pub fn table(&self) -> String {
        let (heads, rows) = self.rows();
        let mut table = plain(&heads, 0);
        rows.into_iter().for_each(|row| table.add_row(row));
        format!("{}\n{}\n", lines(&table), self.reading())
    }

    /// The meaning of the figures: everything that no column says.
    pub fn reading(&self) -> String {
        let (spec, axes) = (&self.grid.points[0].spec, &self.grid.axes);
        let varies = |option: &str| axes.iter().any(|axis| axis.option == option);
        let mut settings = Vec::new();
        let mut say = |option: &str, text: String| {
            if !varies(option) {
                settings.push(text);
            }
        };
        let at = &spec.pattern.at;
        say(option_of(at), pattern_text(&spec.pattern));
        say(
            "sequential",
            format!("sequential share {}", spec.pattern.sequential),
        );
        say("fill", format!("fill {}", spec.fill));
        say("blocks", format!("{} blocks", spec.blocks));
        say(
            "pages-per-block",
            format!("{} pages a block", spec.pages_per_block),
        );
        say("victim", format!("victim {}", word_of(VICTIM, spec.policy)));
        if spec.policy == GcPolicy::DChoices || varies("victim") {
            say("choices", format!("{} choices", spec.choices));
        }
        say(
            "buffer",
            match spec.buffer {
                0 => "no buffer".to_owned(),
                pages => format!("LRU buffer of {pages} pages"),
            },
        );
        let mut text = format!(
            "reading: {}, warm-up {} x physical capacity, measured {} overwrites, seed {}",
            settings.join(", "),
            spec.warmup,
            spec.overwrites,
            spec.seed
        );
        let rules: Vec<_> = self.grid.points.iter().map(|p| p.spec.streams).collect();
        for (i, rule) in rules.iter().enumerate() {
            if !rules[..i].contains(rule) {
                text += &format!("\nrule {rule}: copies go to {}", meaning(*rule));
            }
        }
        text += FIGURES;
        if self.found.iter().any(|point| point.analytic.is_none()) {
            text += NO_FORMULA;
        }
        if self.found.iter().any(|point| !point.is_steady()) {
            text += STEADY_FIGURE;
        }
        if self.tenths {
            text += "\n1st to 10th: write amplification of each tenth of the measured part";
        }
        text
    }

    /// The fields of each point.
    fn fields(&self) -> Vec<Map<String, Value>> {
        let object = |(point, found): (&GridPoint, &WafPoint)| {
            let mut object = object(&point.spec, found);
            if let Some(pages) = point.spec.pattern.zipf_pages {
                object.insert("zipf_pages".to_owned(), json!(pages));
            }
            if self.tenths {
                object.insert("tenths".to_owned(), json!(found.tenths));
            }
            object
        };
        self.each().map(object).collect()
    }

    /// One object per point.
    pub fn objects(&self) -> Vec<Value> {
        self.fields().into_iter().map(Value::Object).collect()
    }

    /// One JSON object per line.
    pub fn jsonl(&self) -> String {
        self.objects()
            .iter()
            .map(|o| o.to_string() + "\n")
            .collect()
    }

    /// A header, and one line per point.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for object in self.fields() {
            if text.is_empty() {
                let names: Vec<&str> = object.keys().map(String::as_str).collect();
                text += &(names.join(",") + "\n");
            }
            let fields: Vec<String> = object.values().map(csv_cell).collect();
            text += &(fields.join(",") + "\n");
        }
        text
    }
}

/// The effect of the rule, as the help says it.
fn meaning(rule: destage_device::config::GcStreams) -> String {
    let row = STREAMS.iter().find(|row| row.0 == rule);
    let mut text = row.map_or("", |row| row.2).to_owned();
    if let Some(first) = text.get_mut(0..1) {
        first.make_ascii_lowercase();
    }
    text
}

fn option_of(at: &WafPattern) -> &'static str {
    match at {
        WafPattern::Uniform => "",
        WafPattern::Zipf(_) => "zipf",
        WafPattern::Zones(_) => "zones",
    }
}

fn pattern_text(pattern: &WritePattern) -> String {
    match &pattern.at {
        WafPattern::Uniform => "uniform writes".to_owned(),
        WafPattern::Zipf(theta) => match pattern.zipf_pages {
            Some(pages) => format!("Zipf writes of exponent {theta} to {pages} pages"),
            None => format!("Zipf writes of exponent {theta}"),
        },
        WafPattern::Zones(zones) => format!("zones {}", zones_text(zones)),
    }
}

fn object(spec: &WafSpec, found: &WafPoint) -> Map<String, Value> {
    let (pattern, zipf, zones) = match &spec.pattern.at {
        WafPattern::Uniform => ("uniform", None, None),
        WafPattern::Zipf(theta) => ("zipf", Some(*theta), None),
        WafPattern::Zones(zones) => ("zones", None, Some(zones_text(zones))),
    };
    let choices = (spec.policy == GcPolicy::DChoices).then_some(spec.choices);
    let fields = json!({
        "pattern": pattern,
        "zipf": zipf,
        "zones": zones,
        "sequential": spec.pattern.sequential,
        "fill": spec.fill,
        "blocks": spec.blocks,
        "pages_per_block": spec.pages_per_block,
        "logical_pages": found.logical_pages,
        "victim": word_of(VICTIM, spec.policy),
        "choices": choices,
        "streams": word_of(STREAMS, spec.streams),
        "buffer_pages": spec.buffer,
        "warmup": spec.warmup,
        "overwrites": spec.overwrites,
        "seed": spec.seed,
        "write_pages": found.write_pages,
        "buffer_hits": found.buffer_hits,
        "flash_writes_host": found.flash.host,
        "flash_writes_gc": found.flash.copied,
        "erases": found.flash.erases,
        "write_amplification": found.write_amplification(),
        "warmup_pages": found.warmup_pages,
        "first_half": found.halves[0],
        "second_half": found.halves[1],
        "steady": found.is_steady(),
        "analytic": found.analytic,
        "optimum": found.optimum,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
