//! The units that a mapping does not say, by the numbers in its columns.

use super::date;
use super::lines::most;
use super::row::{Cell, Cells, MappedRows};
use super::rule::{ColumnUnit, Rule};
use super::{ColumnRole, Mapping};
use crate::readers::opening::{Opening, RowNumbers};
use crate::readers::{clock, plausible};
use crate::time_unit::TimeUnit;

/// Finds the units that a mapping does not say, and says what the rows hold then and what speaks for other units.
/// `documented`: times without one are in ns.
pub(crate) fn settle_units(
    mapping: &mut Mapping,
    rows: &[Cells<'_>],
    documented: bool,
) -> (Option<Opening>, Option<String>) {
    let open = mapping
        .rule(ColumnRole::Time)
        .is_some_and(|rule| rule.unit.is_none());
    let mut native = TimeUnit::Nanoseconds;
    let mut doubts: Vec<String> = Vec::new();
    if open {
        let texts = rows.iter().filter_map(|cells| match cells[0] {
            Cell::Text(text) => Some(text),
            _ => None,
        });
        let numbers = numbers(mapping, rows);
        let reals = numbers.iter().filter(|row| row.fraction > 0).count();
        if most(reals, numbers.len().max(1)) {
            native = TimeUnit::Seconds;
        }
        let unit = match date::order(texts) {
            Some((order, other)) => {
                let unit = ColumnUnit::Date(order);
                doubts.extend(other.map(|other| {
                    let other = ColumnUnit::Date(other);
                    format!("the dates are read as {unit}, and may be {other}: time=COLUMN:{other} says so")
                }));
                unit
            }
            None => ColumnUnit::Time(native),
        };
        mapping.set_unit(ColumnRole::Time, unit);
    }
    settle_size(mapping, rows);
    let bytes = [ColumnRole::Offset, ColumnRole::Size]
        .map(|role| u128::from(mapping.rule(role).map_or(1, Rule::bytes)));
    let Some(opening) = Opening::of_rows(numbers(mapping, rows).into_iter(), bytes) else {
        return (None, doubts.pop());
    };
    doubts.extend(plausible::doubt_lengths(&opening, mapping));
    if open
        && mapping.time_unit().is_some()
        && let Some((unit, doubt)) = clock::settle_free_unit(native, &opening, documented)
    {
        mapping.set_unit(ColumnRole::Time, ColumnUnit::Time(unit));
        doubts.push(doubt);
    }
    let doubt = (!doubts.is_empty()).then(|| doubts.join("; "));
    (Some(opening), doubt)
}

fn numbers(mapping: &Mapping, rows: &[Cells<'_>]) -> Vec<RowNumbers> {
    let reader = MappedRows::new(mapping);
    rows.iter()
        .filter_map(|cells| reader.numbers(*cells))
        .collect()
}

/// Sizes beside addresses in sectors may be in either unit.
fn settle_size(mapping: &mut Mapping, rows: &[Cells<'_>]) {
    let sectors = |rule: &Rule| rule.unit == Some(ColumnUnit::Sectors);
    let open = |rule: &Rule| rule.unit.is_none() && rule.is_plain();
    if !mapping.rule(ColumnRole::Offset).is_some_and(sectors)
        || !mapping.rule(ColumnRole::Size).is_some_and(open)
    {
        return;
    }
    let rows = numbers(mapping, rows);
    let bytes = rows
        .iter()
        .filter(|row| row.length % 512 == 0 && row.length > 0);
    let bytes = most(bytes.count(), rows.len());
    let unit = if bytes {
        ColumnUnit::Bytes
    } else {
        ColumnUnit::Sectors
    };
    mapping.set_unit(ColumnRole::Size, unit);
}
