//! Tables of what patterns of writes say.

use crate::measurements::PARTS;
use crate::patterns::{PatternFit, PhysicalSpace, RuleFit};
use destage_report::table;

const GIB: f64 = (1_u64 << 30) as f64;

/// How far rates are off under patterns that were left out, in one line without full stops.
#[must_use]
pub fn pattern_summary(fit: &PatternFit) -> String {
    let best = fit.best();
    let worst = best.left_out.iter().copied().fold(0.0, f64::max);
    let at = best.left_out.iter().position(|&error| error == worst);
    let name = at.map_or("", |at| fit.runs[at].name.as_str());
    format!(
        "rates under {} patterns, each left out in turn, off by {} on average, at most by {} ({name})",
        fit.runs.len(),
        percent(best.error()),
        percent(worst)
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A rule in words.
fn rule_name(fit: &RuleFit) -> String {
    fit.rule.settings().join(", ")
}

/// Where a rule comes from.
pub(super) fn rule_source(fit: &PatternFit) -> String {
    let next = fit.rules.get(1).map_or_else(String::new, |next| {
        format!("; next {} {}", rule_name(next), percent(next.error()))
    });
    let best = percent(fit.best().error());
    match fit.explains() {
        true => format!("patterns: off by {best}{next}"),
        false => format!("patterns: no rule explains them; this one is off by {best}{next}"),
    }
}

/// Where the spare space comes from.
pub(super) fn space_source(space: &PhysicalSpace) -> String {
    let gib = |bytes: u64| bytes as f64 / GIB;
    let (low, high) = space.range;
    let range = match space.runs {
        1 => "one run".to_owned(),
        runs => format!("{:.0} to {:.0} in {runs} runs", gib(low), gib(high)),
    };
    format!(
        "patterns: {:.0} GiB until the rate first drops, {range}",
        gib(space.bytes)
    )
}

/// Where prices of writes come from.
pub(super) fn price_source(fit: &PatternFit) -> String {
    let error = percent(fit.best().error());
    format!("patterns: the rates of those left out are off by {error}")
}

/// The patterns: rules, then a row for each run.
#[must_use]
pub fn patterns(fit: &PatternFit) -> String {
    let summary = pattern_summary(fit);
    let mut text = format!("Model of writes: {summary}.\n");
    match &fit.space {
        Some(space) => text += &format!("op = {:.3} ({})\n", space.op, space_source(space)),
        None => {
            text +=
                "op: no uniform run says when its rate first dropped, so it is that of the base\n"
        }
    }
    if !fit.explains() {
        text +=
            "No rule of collection explains the patterns within 6 %. The nearest one is taken.\n";
    }
    let mut rules = table::plain(
        &[
            "collection",
            "error when left out",
            "ns of a write",
            "of a moved unit",
        ],
        1,
    );
    for rule in &fit.rules {
        rules.add_row([
            rule_name(rule),
            percent(rule.error()),
            format!("{:.0}", rule.prices.host),
            format!("{:.0}", rule.prices.moved),
        ]);
    }
    text += &table::lines(&rules);
    let header = [
        "pattern",
        "span GiB",
        "drive writes/s",
        "model",
        "last tenth",
        "model",
        "error when left out",
    ];
    let mut runs = table::plain(&header, 1);
    let best = fit.best();
    for ((run, rates), error) in fit.runs.iter().zip(&best.rates).zip(&best.left_out) {
        let mean = |rates: &[f64; PARTS]| PARTS as f64 / rates.iter().map(|r| 1.0 / r).sum::<f64>();
        let whole = |rate: f64| format!("{rate:.0}");
        runs.add_row([
            run.name.clone(),
            whole(run.span as f64 / GIB),
            whole(mean(&run.rates)),
            whole(mean(rates)),
            whole(run.rates[PARTS - 1]),
            whole(rates[PARTS - 1]),
            percent(*error),
        ]);
    }
    text + "\n" + &table::lines(&runs)
}
