//! What a paper says against what was measured: the table below the results of a run file.

use crate::output::columns::cell;
use crate::output::table::{lines, plain};
use destage_sim::ResultRecord;
use destage_types::ByteSize;
use serde::Deserialize;
use serde_json::Value;

/// A figure of a paper and where to find its like in the results.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Figure or section of the paper.
    figure: String,
    /// What the figure is about.
    what: String,
    /// What the paper says: percent, or percent of change if there is `against`.
    paper: f64,
    /// Cache size of the runs, unless they say it.
    cache: Option<String>,
    /// Field of the result record, unless the runs say it.
    field: Option<String>,
    /// The run that the figure is about.
    of: ClaimedRun,
    /// The run that it is compared with.
    against: Option<ClaimedRun>,
    /// Whose value the change is a share of.
    #[serde(default)]
    share_of: ShareOf,
}

/// A run, and what to take of its record.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct ClaimedRun {
    /// Name of the trace in the table.
    trace: String,
    /// Scheme in its canonical form.
    scheme: String,
    cache: Option<String>,
    field: Option<String>,
}

/// The denominator of a change.
#[derive(Deserialize, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum ShareOf {
    #[default]
    Against,
    Of,
}

impl Claim {
    /// What was measured; `None` if a run of it is not there or there is nothing to divide by.
    fn measured(&self, records: &[ResultRecord]) -> Option<f64> {
        let of = self.value(&self.of, records)?;
        let Some(against) = &self.against else {
            let ratio = self.field_of(&self.of)?.starts_with("ratios.");
            return Some(if ratio { 100.0 * of } else { of });
        };
        let against = self.value(against, records)?;
        let base = match self.share_of {
            ShareOf::Against => against,
            ShareOf::Of => of,
        };
        (base != 0.0).then(|| 100.0 * (of - against) / base)
    }

    fn field_of<'a>(&'a self, which: &'a ClaimedRun) -> Option<&'a str> {
        which.field.as_deref().or(self.field.as_deref())
    }

    fn value(&self, which: &ClaimedRun, records: &[ResultRecord]) -> Option<f64> {
        let cache = which.cache.as_ref().or(self.cache.as_ref());
        let cache = cache.map(|text| ByteSize::parse(text));
        let is = |r: &&ResultRecord| {
            let sized = match &cache {
                _ if r.cache_pages == 0 => true,
                Some(Ok(size)) => r.cache_bytes == size.0,
                Some(Err(_)) => false,
                None => true,
            };
            sized && r.trace.name == which.trace && r.scheme == which.scheme
        };
        let record = records.iter().find(is)?;
        let json = serde_json::to_value(record).ok()?;
        match cell(&json, self.field_of(which)?) {
            Value::Number(n) => n.as_f64(),
            _ => None,
        }
    }
}

/// The claims with what was measured.
pub fn text(claims: &[Claim], records: &[ResultRecord]) -> String {
    let mut table = plain(&["figure", "claim", "paper", "here", "difference"], 2);
    for claim in claims {
        let measured = claim.measured(records);
        let show = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.1}"));
        table.add_row(vec![
            claim.figure.clone(),
            claim.what.clone(),
            format!("{:.1}", claim.paper),
            show(measured),
            show(measured.map(|x| x - claim.paper)),
        ]);
    }
    lines(&table)
}
