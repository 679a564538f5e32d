//! Schemes that leave the bounded buffer of a drive undrained, and what to run instead.

use crate::distinct;
use crate::distinctions::setting;
use crate::html::group::RunGroup;
use destage_record::ResultRecord;
use destage_scheme::Expr;

/// The scheme of a run that does not drain the bounded buffer of its device.
fn undrained(record: &ResultRecord) -> Option<Expr> {
    let buffer = setting(record, "buffer")?;
    let expr = Expr::parse(&record.scheme).ok()?;
    (buffer.trim_matches('"') == "bounded" && !expr.drains()).then_some(expr)
}

/// A sentence on the runs that do not drain, with their drained versions.
pub fn sentence(group: &RunGroup<'_>) -> Option<String> {
    let exprs: Vec<Expr> = group
        .runs
        .iter()
        .filter_map(|run| undrained(&run.record))
        .collect();
    if exprs.is_empty() {
        return None;
    }
    let names = distinct(exprs.iter().map(Expr::to_string)).join(", ");
    let drained = exprs.iter().filter_map(Expr::drained);
    let drained = distinct(drained.map(|expr| format!("--scheme '{expr}'")));
    let instead = match drained.is_empty() {
        true => String::new(),
        false => format!(" Their drained versions: {}.", drained.join(" ")),
    };
    Some(format!(
        "Not drained: {names}. Without drain a bounded buffer programs one unit at a time, when a write waits for room, \
         while all other dies are idle. No drive on sale works so.{instead}"
    ))
}
