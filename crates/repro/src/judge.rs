//! From runs to verdicts. A point is one load with one cache size; a claim holds or fails at each point.

use crate::loads::Evidence;
use crate::measure::{measure, shown};
use crate::paper::{BaseOfChange, Expected, Measured, MeasuredRun, Paper, PaperClaim};
use destage_report::distinct;
use serde::Serialize;
use serde_json::Value;

/// One run of an experiment.
pub struct LoadOutcome {
    /// Number of the experiment in its paper.
    pub experiment: usize,
    /// Number of the reading; 0 is the experiment as it stands.
    pub reading: usize,
    /// Name of the load.
    pub load: String,
    /// The strength of a result on it.
    pub evidence: Evidence,
    /// File system in front of the device; empty without one.
    pub host_fs: String,
    /// Cache size of the paper.
    pub cache: String,
    /// Our cache over that of the paper.
    pub factor: f64,
    /// The record.
    pub record: Value,
}

/// A claim at one load and one cache size.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct ClaimPoint {
    /// The load.
    pub load: String,
    /// Cache size of the paper.
    pub cache: String,
    /// Our cache over that of the paper.
    pub factor: f64,
    /// Percent of change, or the value.
    pub here: f64,
    /// Does the claim hold?
    pub holds: bool,
    /// Is it neither more nor less?
    pub tie: bool,
}

/// The results of one reading.
#[derive(Serialize, Debug)]
pub struct ReadingResult {
    /// Its name; empty for the experiment as it stands.
    pub name: String,
    /// Points at which the claim holds.
    pub holds: usize,
    /// Mean over the points.
    pub mean: f64,
    /// Median over the points.
    pub median: f64,
    /// Least and most.
    pub range: (f64, f64),
    /// Two-sided sign test over the points that are no ties: how probable so one-sided a result is by chance.
    /// Only of claims that say more or less.
    pub sign_test: Option<f64>,
    /// The points.
    pub points: Vec<ClaimPoint>,
}

/// Where a claim stands.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Held by a test: it follows from the rules alone.
    Exact,
    /// Measured on what the paper measured: true at every point.
    Holds,
    /// True at more than half of the points.
    HoldsInPart,
    /// True at half of the points at most.
    DoesNotHold,
    /// Measured on other traces: only the direction counts.
    Direction,
    /// Nothing here decides.
    Open,
}

/// A claim and where it stands.
#[derive(Serialize)]
pub struct LedgerRow {
    /// Figure, table or section.
    pub id: String,
    /// The statement of the paper.
    pub what: String,
    /// Its figure as printed.
    pub paper: String,
    /// The same as a number.
    pub value: Option<f64>,
    /// Is `here` a change in percent, or a value?
    pub change: bool,
    /// The strength of the load on which it was measured.
    pub evidence: Option<Evidence>,
    /// Where it stands.
    pub verdict: Verdict,
    /// The first is the experiment as it stands.
    pub readings: Vec<ReadingResult>,
    /// The reading that comes nearest to the published number.
    pub nearest: Option<String>,
    /// Readings under which the claim would be judged otherwise.
    pub hangs_on: Vec<String>,
    /// The test that holds it.
    pub held_by: Option<String>,
    /// The missing requirement.
    pub needs: Option<String>,
    /// The explanation.
    pub because: Option<String>,
}

/// `claim` before anything is known of it.
fn open(claim: &PaperClaim) -> LedgerRow {
    LedgerRow {
        id: claim.id.clone(),
        what: claim.what.clone(),
        paper: claim.paper.clone(),
        value: claim.value,
        change: false,
        evidence: None,
        verdict: match claim.held_by {
            Some(_) => Verdict::Exact,
            None => Verdict::Open,
        },
        readings: Vec::new(),
        nearest: None,
        hangs_on: Vec::new(),
        held_by: claim.held_by.clone(),
        needs: claim.needs.clone(),
        because: claim.because.clone(),
    }
}

/// Judges `claim` by the runs of its paper that are not on twins.
pub fn judge(paper: &Paper, claim: &PaperClaim, outcomes: &[LoadOutcome]) -> LedgerRow {
    let mut row = open(claim);
    if let Some(measured) = &claim.measured {
        let real = |outcome: &LoadOutcome| outcome.evidence != Evidence::Twin;
        measure_claim(&mut row, paper, measured, outcomes, real);
        decide(&mut row, paper, claim);
    }
    row
}

/// The row of `claim` from the runs on twins, if there are any. It is no verdict, and it does not
/// stand beside the number of the paper: a twin may lack the property of the trace that the claim depends on.
pub fn on_twins(paper: &Paper, claim: &PaperClaim, outcomes: &[LoadOutcome]) -> Option<LedgerRow> {
    let mut row = LedgerRow {
        paper: "-".to_owned(),
        value: None,
        needs: Some("real traces: a twin decides nothing".to_owned()),
        because: None,
        ..open(claim)
    };
    let twins = |outcome: &LoadOutcome| outcome.evidence == Evidence::Twin;
    let measured = claim.measured.as_ref()?;
    measure_claim(&mut row, paper, measured, outcomes, twins);
    (!row.readings.is_empty()).then_some(row)
}

/// Puts into `row` what those of the `wanted` runs give that have the strongest evidence.
fn measure_claim(
    row: &mut LedgerRow,
    paper: &Paper,
    measured: &Measured,
    outcomes: &[LoadOutcome],
    wanted: impl Fn(&LoadOutcome) -> bool,
) {
    row.change = measured.against.is_some();
    let number = paper.experiment(&measured.experiment);
    let experiment = &paper.experiment[number.expect("checked when it was read")];
    let asked = |o: &&LoadOutcome| measured.load.as_ref().is_none_or(|l| *l == o.load) && wanted(o);
    let of_experiment = |o: &&LoadOutcome| Some(o.experiment) == number && asked(o);
    let found: Vec<&LoadOutcome> = outcomes.iter().filter(of_experiment).collect();
    let elsewhere = |run: &MeasuredRun| {
        let number = paper.experiment(run.experiment.as_ref()?);
        let of_other = |o: &&LoadOutcome| Some(o.experiment) == number && o.reading == 0;
        Some(outcomes.iter().filter(of_other).filter(asked).collect())
    };
    // The strongest evidence there is decides alone: kinds are never mixed.
    row.evidence = found.iter().map(|o| o.evidence).min();
    for number in 0..=experiment.reading.len() {
        let reading = number.checked_sub(1).map(|i| &experiment.reading[i]);
        let swapped = |run: &MeasuredRun| {
            let other = reading.and_then(|reading| reading.swap.get(&run.scheme));
            MeasuredRun {
                scheme: other.unwrap_or(&run.scheme).clone(),
                ..run.clone()
            }
        };
        let runs: Vec<&LoadOutcome> = found
            .iter()
            .copied()
            .filter(|o| o.reading == number && Some(o.evidence) == row.evidence)
            .collect();
        let points = points(measured, &swapped, &runs, &elsewhere);
        if !points.is_empty() {
            let name = reading.map_or_else(String::new, |reading| reading.name.clone());
            row.readings.push(summed(name, measured.expect, points));
        }
    }
}

fn decide(row: &mut LedgerRow, paper: &Paper, claim: &PaperClaim) {
    let Some(first) = row.readings.first().filter(|first| first.name.is_empty()) else {
        row.evidence = None;
        let measured = claim.measured.as_ref();
        let experiment = measured.and_then(|m| paper.experiment(&m.experiment));
        let needs = match experiment.is_some_and(|number| paper.experiment[number].live) {
            true => "runs on a real file system (--live)",
            false => "a folder of traces (--traces)",
        };
        row.needs = Some(needs.to_owned());
        return;
    };
    let most = |r: &ReadingResult| 2 * r.holds > r.points.len();
    row.verdict = match row.evidence {
        Some(Evidence::Original | Evidence::Printed) => match first.holds {
            n if n == first.points.len() => Verdict::Holds,
            _ if most(first) => Verdict::HoldsInPart,
            _ => Verdict::DoesNotHold,
        },
        Some(Evidence::Live | Evidence::Cut) => Verdict::Direction,
        Some(Evidence::Twin) | None => Verdict::Open,
    };
    let others = row.readings[1..].iter();
    row.hangs_on = others
        .filter(|other| most(other) != most(first))
        .map(|other| other.name.clone())
        .collect();
    if let Some(value) = claim.value.filter(|_| row.readings.len() > 1) {
        let far = |r: &ReadingResult| (r.median - value).abs();
        let nearest = row.readings.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        row.nearest = nearest.map(|r| r.name.clone());
    }
}

/// The points of a claim among the runs of one reading, and those `elsewhere`, of other experiments.
fn points<'a>(
    measured: &Measured,
    swapped: &dyn Fn(&MeasuredRun) -> MeasuredRun,
    runs: &[&'a LoadOutcome],
    elsewhere: &dyn Fn(&MeasuredRun) -> Option<Vec<&'a LoadOutcome>>,
) -> Vec<ClaimPoint> {
    let asked = runs.iter().filter(|run| {
        measured.cache.as_ref().is_none_or(|c| *c == run.cache) && !is_cacheless(run)
    });
    let places = distinct(asked.map(|run| (run.load.as_str(), run.cache.as_str(), run.factor)));
    let field = |run: &MeasuredRun, (load, cache, _): (&str, &str, f64)| {
        let others = elsewhere(run);
        let run = swapped(run);
        let is = |o: &&&LoadOutcome| {
            o.load == load
                && (o.cache == cache || is_cacheless(o))
                && o.host_fs == run.host_fs
                && o.record["scheme"] == Value::String(run.scheme.clone())
        };
        let runs = others.as_deref().unwrap_or(runs);
        let record = &runs.iter().find(is)?.record;
        measure(record, &measured.field)
    };
    let point = |place: (&str, &str, f64)| {
        let of = field(&measured.of, place)?;
        let (here, holds, tie) = match &measured.against {
            Some(against) => {
                let mut change = change(of, field(against, place)?, measured.share_of)?;
                if let Some(other) = &measured.more_than {
                    let (of, against) = (field(&other.of, place)?, field(&other.against, place)?);
                    change -= self::change(of, against, measured.share_of)?;
                }
                (change, holds(measured.expect, change)?, change == 0.0)
            }
            None => {
                let scheme = |scheme: &String| MeasuredRun {
                    scheme: scheme.clone(),
                    ..measured.of.clone()
                };
                let others = measured.among.iter();
                let others: Option<Vec<f64>> =
                    others.map(|other| field(&scheme(other), place)).collect();
                let others = others?;
                let best = match measured.expect {
                    Expected::Largest => others.iter().all(|other| of >= *other),
                    Expected::Smallest => others.iter().all(|other| of <= *other),
                    expected => holds(expected, shown(&measured.field, of))?,
                };
                (shown(&measured.field, of), best, false)
            }
        };
        Some(ClaimPoint {
            load: place.0.to_owned(),
            cache: place.1.to_owned(),
            factor: place.2,
            here,
            holds,
            tie,
        })
    };
    places.into_iter().filter_map(point).collect()
}

/// From `against` to `of`, in percent of one of them; `None` if that is 0.
fn change(of: f64, against: f64, share_of: BaseOfChange) -> Option<f64> {
    let base = match share_of {
        BaseOfChange::Against => against,
        BaseOfChange::Of => of,
    };
    (base != 0.0).then(|| 100.0 * (of - against) / base)
}

/// Runs without a cache belong to every cache size.
fn is_cacheless(outcome: &LoadOutcome) -> bool {
    outcome.record["cache_pages"] == 0
}

fn holds(expected: Expected, here: f64) -> Option<bool> {
    match expected {
        Expected::Higher => Some(here > 0.0),
        Expected::Lower => Some(here < 0.0),
        Expected::Within(percent) => Some(here.abs() <= percent),
        Expected::Between(least, most) => Some((least..=most).contains(&here)),
        Expected::Largest | Expected::Smallest => None,
    }
}

fn summed(name: String, expected: Expected, points: Vec<ClaimPoint>) -> ReadingResult {
    let mut values: Vec<f64> = points.iter().map(|p| p.here).collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let decided: Vec<&ClaimPoint> = points.iter().filter(|p| !p.tie).collect();
    let directed = matches!(expected, Expected::Higher | Expected::Lower);
    let agree = decided.iter().filter(|p| p.holds).count();
    ReadingResult {
        name,
        holds: points.iter().filter(|p| p.holds).count(),
        mean: values.iter().sum::<f64>() / n as f64,
        median: (values[(n - 1) / 2] + values[n / 2]) / 2.0,
        range: (values[0], values[n - 1]),
        sign_test: directed.then(|| sign_test(agree, decided.len())),
        points,
    }
}

/// Probability that of `n` fair coins at least as many fall on one side as did here (`k`), both sides counted.
fn sign_test(k: usize, n: usize) -> f64 {
    let side = k.max(n - k);
    // Terms of the binomial distribution from C(n,0) / 2^n on.
    let mut term = libm::exp2(-(n as f64));
    let mut tail = 0.0;
    for i in 0..=n {
        if i >= side {
            tail += term;
        }
        term *= (n - i) as f64 / (i + 1) as f64;
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests;
