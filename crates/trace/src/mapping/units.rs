//! The units that a mapping does not say, by the numbers in its columns.

use super::date;
use super::lines::most;
use super::row::{Cells, MappedRows};
use super::rule::{ColumnUnit, MappedColumn, Rule, Until};
use super::{ColumnRole, Mapping};
use crate::doubts::Doubts;
use crate::readers::opening::{Opening, RowNumbers};
use crate::readers::{clock, plausible};
use crate::text::spelling::{Number, short_size};
use crate::time_unit::TimeUnit;

/// Finds the units that a mapping does not say, and says what the rows hold then and what speaks for other units.
/// `documented`: times without one are in ns. `spare`: there are columns of which no use is known.
pub(crate) fn settle_units(
    mapping: &mut Mapping,
    rows: &[Cells<'_>],
    documented: bool,
    spare: bool,
) -> (Option<Opening>, Doubts) {
    let mut doubts = Doubts::default();
    for role in [ColumnRole::Offset, ColumnRole::Size] {
        Doubts::add(&mut doubts.format, settle_hex(mapping, rows, role));
    }
    let time = mapping.rule(ColumnRole::Time);
    doubts.time = (spare && time.is_none()).then(|| {
        "no column is known as time, so request i arrives at i us; time=NAME in --trace-columns says which one is".to_owned()
    });
    let open = time.is_some_and(|rule| rule.unit.is_none());
    let mut native = TimeUnit::Nanoseconds;
    if open {
        let texts = rows.iter().filter_map(|cells| cells[0].as_text());
        let numbers = numbers(mapping, rows);
        let reals = numbers.iter().filter(|row| row.fraction > 0).count();
        if most(reals, numbers.len().max(1)) {
            native = TimeUnit::Seconds;
        }
        let unit = match date::order(texts) {
            Some((order, other)) => {
                let unit = ColumnUnit::Date(order);
                Doubts::add(&mut doubts.time, other.map(|other| {
                    let other = ColumnUnit::Date(other);
                    format!("the dates are read as {unit}, and may be {other}: time=COLUMN:{other} says so")
                }));
                unit
            }
            None => {
                let ticks = time
                    .into_iter()
                    .flat_map(|rule| &rule.columns)
                    .find(is_ticks);
                Doubts::add(&mut doubts.time, ticks.map(|column| {
                    format!("{column} counts ticks, whose length nothing tells; time=COLUMN:UNIT says it")
                }));
                ColumnUnit::Time(native)
            }
        };
        mapping.set_unit(ColumnRole::Time, unit);
    }
    Doubts::add(&mut doubts.format, settle_sizes(mapping, rows));
    let bytes = [ColumnRole::Offset, ColumnRole::Size]
        .map(|role| u128::from(mapping.rule(role).map_or(1, Rule::bytes)));
    let opening = Opening::of_rows(numbers(mapping, rows).into_iter(), bytes);
    if let Some(opening) = &opening {
        let odd = opening.oddity();
        let doubt = odd.and_then(|odd| plausible::doubt_numbers(odd, opening, mapping));
        Doubts::add(&mut doubts.format, doubt);
        if open
            && mapping.time_unit().is_some()
            && let Some((unit, doubt)) = clock::settle_free_unit(native, opening, documented)
        {
            mapping.set_unit(ColumnRole::Time, ColumnUnit::Time(unit));
            Doubts::add(&mut doubts.time, [doubt]);
        }
    }
    (opening, doubts)
}

/// Is a time called by the steps of a counter, whose length no name tells?
fn is_ticks(column: &&MappedColumn) -> bool {
    let MappedColumn::Name(name) = column else {
        return false;
    };
    let name = name.to_lowercase();
    ["tsc", "tick", "ticks", "cycle", "cycles"].contains(&name.trim())
}

fn numbers(mapping: &Mapping, rows: &[Cells<'_>]) -> Vec<RowNumbers> {
    let reader = MappedRows::new(mapping);
    let numbers = rows.iter().filter_map(|cells| reader.numbers(*cells));
    numbers.collect()
}

/// Numbers whose digits go up to f are hexadecimal ones, and so are sizes beside such addresses that are whole pages only
/// then: `1000` and `2000`.
fn settle_hex(mapping: &mut Mapping, rows: &[Cells<'_>], role: ColumnRole) -> Option<String> {
    let texts = rows
        .iter()
        .filter_map(|cells| cells[role as usize].as_text());
    let texts: Vec<&[u8]> = texts.collect();
    let is_number = |text: &&[u8]| Number::parse(text, b'.').is_ok() || short_size(text).is_some();
    let digits = |text: &&[u8]| text.iter().all(u8::is_ascii_hexdigit);
    let unit = |role| mapping.rule(role).and_then(|rule| rule.unit);
    let beside =
        unit(ColumnRole::Offset) == Some(ColumnUnit::Hex) && unit(role) != Some(ColumnUnit::Bytes);
    let rule = mapping.rules[role as usize].as_mut()?;
    let pages = |radix| {
        let number =
            |text: &&[u8]| u64::from_str_radix(std::str::from_utf8(text).ok()?, radix).ok();
        let unit = rule.factor * rule.bytes();
        let bytes = texts
            .iter()
            .filter_map(number)
            .map(|n| n.saturating_mul(unit));
        most(
            bytes.filter(|bytes| bytes % 4_096 == 0).count(),
            texts.len(),
        )
    };
    let decimal = texts.iter().all(is_number) && !(beside && pages(16) && !pages(10));
    if rule.unit == Some(ColumnUnit::Hex) || decimal || !texts.iter().all(digits) {
        return None;
    }
    (rule.factor, rule.unit) = (rule.factor * rule.bytes(), Some(ColumnUnit::Hex));
    let key = role.key();
    Some(format!(
        "the numbers of {key}= have hexadecimal digits, and are read so; {key}={rule} says the same"
    ))
}

/// Sizes beside addresses in sectors may be in either unit, blocks may have 512 B or 4 KiB, and an end may be that of
/// the last sector or behind it.
fn settle_sizes(mapping: &mut Mapping, rows: &[Cells<'_>]) -> Option<String> {
    let unit = |mapping: &Mapping, role| mapping.rule(role).and_then(|rule| rule.unit);
    let [offset, size] = [ColumnRole::Offset, ColumnRole::Size].map(|role| unit(mapping, role));
    let share = |mapping: &Mapping, fits: fn(u128) -> bool| {
        let rows = numbers(mapping, rows);
        let fitting = rows.iter().filter(|row| fits(row.length)).count();
        most(fitting, rows.len())
    };
    let plain = mapping.rule(ColumnRole::Size).is_some_and(Rule::is_plain);
    if offset == Some(ColumnUnit::Sectors) && size.is_none() && plain {
        let bytes = share(mapping, |length| length % 512 == 0 && length > 0);
        let unit = [ColumnUnit::Sectors, ColumnUnit::Bytes][usize::from(bytes)];
        mapping.set_unit(ColumnRole::Size, unit);
    }
    let mut doubt = None;
    if [offset, size].contains(&Some(ColumnUnit::SomeBlocks)) {
        let pages =
            size == Some(ColumnUnit::SomeBlocks) && !share(mapping, |length| length % 8 == 0);
        let sector = offset == Some(ColumnUnit::Sectors);
        let (unit, other) = match pages && !sector {
            true => (ColumnUnit::Blocks, ColumnUnit::Sectors),
            false => (ColumnUnit::Sectors, ColumnUnit::Blocks),
        };
        let of = |unit| {
            let mut mapping = mapping.clone();
            let rules = &mut mapping.rules[ColumnRole::Offset as usize..=ColumnRole::Size as usize];
            let open = |rule: &&mut Rule| match rule.unit {
                Some(ColumnUnit::SomeBlocks) => true,
                // A drive with blocks of 4 KiB counts its addresses in them as well.
                Some(ColumnUnit::Sectors) => sector && unit == ColumnUnit::Blocks,
                _ => false,
            };
            let open = rules.iter_mut().flatten().filter(open);
            open.for_each(|rule| rule.unit = Some(unit));
            mapping
        };
        doubt = (pages || !sector).then(|| {
            format!(
                "blocks are taken for {unit} of {} B, and may be {other}: --trace-columns '{}' reads them so",
                unit.bytes(),
                of(other)
            )
        });
        *mapping = of(unit);
    }
    let open = mapping.rule(ColumnRole::Size).map(|rule| rule.until);
    if open == Some(Until::Open) {
        let last = |length| matches!(length % 512, 7 | 511) || length % 8 == 7;
        let last = share(mapping, last);
        let size = mapping.rules[ColumnRole::Size as usize].iter_mut();
        size.for_each(|rule| rule.until = if last { Until::Last } else { Until::End });
    }
    doubt
}
