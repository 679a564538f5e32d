//! Reading parameter files: every fault names the place, the value and what is allowed.

use super::tables::{TABLES, Table, Tables};

/// The largest count: sums of rows with multipliers stay below 2^63.
const MOST: u64 = 1 << 32;

/// A whole number, or the default where there is one.
pub fn integer(
    file: &mut toml::Table,
    key: &str,
    default: Option<u64>,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<u64, String> {
    let range = format!("allowed: {} to {}", allowed.start(), allowed.end());
    match (file.remove(key), default) {
        (None, Some(default)) => Ok(default),
        (None, None) => Err(format!("{key}: missing; {range}")),
        (Some(value), _) => {
            let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
            let number = number.filter(|n| allowed.contains(n));
            number.ok_or_else(|| format!("{key}: `{value}` is out of range or no integer; {range}"))
        }
    }
}

/// A number, or the default where there is one.
pub fn real(
    file: &mut toml::Table,
    key: &str,
    default: Option<f64>,
    allowed: std::ops::RangeInclusive<f64>,
) -> Result<f64, String> {
    let range = format!("allowed: {} to {}", allowed.start(), allowed.end());
    match (file.remove(key), default) {
        (None, Some(default)) => Ok(default),
        (None, None) => Err(format!("{key}: missing; {range}")),
        (Some(value), _) => {
            let number = value.as_float().or(value.as_integer().map(|n| n as f64));
            let number = number.filter(|n| allowed.contains(n));
            number.ok_or_else(|| format!("{key}: `{value}` is out of range or no number; {range}"))
        }
    }
}

/// Reads the table under its key, if it is there.
pub fn table(file: &mut toml::Table, tables: &mut Tables, table: Table) -> Result<(), String> {
    let (_, name, ..) = TABLES[table as usize];
    match file.remove(name) {
        Some(value) => read_table(tables, table, &value),
        None => Ok(()),
    }
}

/// Checks that no key is left.
pub fn nothing_else(file: &toml::Table, allowed: &str) -> Result<(), String> {
    match file.keys().next() {
        Some(key) => Err(format!("{key}: no such key; allowed: {allowed}")),
        None => Ok(()),
    }
}

fn read_table(tables: &mut Tables, table: Table, value: &toml::Value) -> Result<(), String> {
    let (_, name, dims, columns) = TABLES[table as usize];
    let rows = value
        .as_table()
        .ok_or_else(|| format!("{name}: `{value}`; allowed: a table"))?;
    for (key, row) in rows {
        let at: Option<Vec<usize>> = key.split('-').map(|n| n.parse().ok()).collect();
        let at = at.filter(|at| at.len() == dims.len() && at.iter().zip(dims).all(|(i, n)| i < n));
        let at = at.ok_or_else(|| {
            let most = dims
                .iter()
                .map(|n| (n - 1).to_string())
                .collect::<Vec<_>>()
                .join("-");
            let least = vec!["0"; dims.len()].join("-");
            format!("{name}.{key}: no such row; allowed: {least} to {most}")
        })?;
        let cells = row.as_table().filter(|cells| !cells.is_empty());
        let cells = cells.ok_or_else(|| {
            format!("{name}.{key}: `{row}`; allowed: {{ column = count, ... }}, not empty")
        })?;
        for (column, count) in cells {
            let place = column.parse().ok().filter(|&c: &usize| c < columns);
            let place = place.filter(|&c| table != Table::Size || c > 0);
            let place = place.ok_or_else(|| {
                let first = usize::from(table == Table::Size);
                let last = columns - 1;
                format!("{name}.{key}.{column}: no such column; allowed: {first} to {last}")
            })?;
            let n = count.as_integer().and_then(|n| u64::try_from(n).ok());
            let n = n
                .filter(|n| (1..=MOST).contains(n))
                .ok_or_else(|| format!("{name}.{key}.{column}: `{count}`; allowed: 1 to {MOST}"))?;
            tables.row_mut(table, &at)[place] = n;
        }
    }
    Ok(())
}
