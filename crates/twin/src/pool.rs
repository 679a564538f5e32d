//! Means over many traces: what a twin is drawn from of whose trace only aggregates are known.

use super::bins::{DISTANCE_BINS, KINDS};
use super::calibrate::Fitted;
use super::parameters::table_text;
use super::reading::{nothing_else, table};
use super::tables::{TABLES, Table, Tables};
use std::fmt::Write as _;

/// Binary logarithm of the written pages that distances are stretched to.
const REFERENCE: f64 = 18.0;
/// Counts at which a row weighs half of what one with very many does.
const HALF: f64 = 50.0;
const MILLION: f64 = 1e6;
/// The pool that comes with the program; its first lines say what it was made of.
const DEFAULT: &str = include_str!("pool.toml");

/// Shares, in millionths, summed over traces.
#[derive(Clone, Debug)]
pub struct TwinPool {
    tables: Tables,
    kinds: [u64; KINDS],
}

impl TwinPool {
    /// Nothing pooled.
    #[allow(clippy::new_without_default)] // a default says nothing here
    pub fn new() -> TwinPool {
        TwinPool {
            tables: Tables::new(),
            kinds: [0; KINDS],
        }
    }

    /// The one that comes with the program.
    pub(super) fn standard() -> TwinPool {
        TwinPool::parse(DEFAULT).expect("a test reads it")
    }

    /// Adds a trace: each row as shares, weaker if little was counted, and distances by the
    /// footprint that is written.
    pub fn add(&mut self, trace: &Fitted) {
        let from = libm::log2((trace.written as f64).max(2.0));
        for (table, _, _, columns) in TABLES {
            let is_distance = matches!(table, Table::Sdist | Table::Cdist);
            for (sum, row) in self
                .tables
                .rows_mut(table)
                .iter_mut()
                .zip(trace.parameters.tables.rows(table))
            {
                let n = row.iter().sum::<u64>() as f64;
                let mut row: Vec<f64> = row.iter().map(|&count| count as f64).collect();
                if is_distance {
                    row = stretched(&row, REFERENCE / from);
                }
                for column in (0..columns).filter(|_| n > 0.0) {
                    let share = row[column] / n * (n / (n + HALF));
                    sum[column] += libm::round(share * MILLION) as u64;
                }
            }
        }
        let counts = trace.parameters.tables.rows(Table::Trans);
        let all = trace.parameters.requests as f64;
        for (k, sum) in self.kinds.iter_mut().enumerate() {
            let n = counts.iter().map(|row| row[k]).sum::<u64>() as f64;
            *sum += libm::round(n / all * MILLION) as u64;
        }
    }

    /// The file.
    pub fn to_toml(&self) -> String {
        let kinds = self.kinds.map(|n| n.to_string()).join(", ");
        let mut text = String::new();
        let _ = writeln!(text, "kinds = [{kinds}]");
        for (table, ..) in TABLES.iter().filter(|t| t.0 != Table::Trans) {
            text += &table_text(&self.tables, *table);
        }
        text
    }

    fn parse(text: &str) -> Result<TwinPool, String> {
        let mut file: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let mut pool = TwinPool::new();
        let kinds = file.remove("kinds");
        let kinds = kinds.as_ref().and_then(|kinds| kinds.as_array());
        let kinds = kinds.filter(|kinds| kinds.len() == KINDS);
        let kinds = kinds.ok_or("kinds: allowed: eight shares")?;
        for (sum, share) in pool.kinds.iter_mut().zip(kinds) {
            let share = share.as_integer().and_then(|n| u64::try_from(n).ok());
            *sum = share.ok_or("kinds: allowed: eight shares")?;
        }
        for (each, ..) in TABLES.iter().filter(|t| t.0 != Table::Trans) {
            table(&mut file, &mut pool.tables, *each)?;
        }
        nothing_else(&file, "kinds and the tables but trans")?;
        Ok(pool)
    }

    /// Shares of a row, in sum 1; all 0 if nothing was counted.
    pub(super) fn shares(&self, table: Table, at: &[usize]) -> Vec<f64> {
        let row = self.tables.row(table, at);
        let all = (row.iter().sum::<u64>() as f64).max(1.0);
        row.iter().map(|&n| n as f64 / all).collect()
    }

    /// Shares of the kinds, in sum 1.
    pub(super) fn kinds(&self) -> [f64; KINDS] {
        let all = self.kinds.iter().sum::<u64>() as f64;
        self.kinds.map(|n| n as f64 / all)
    }

    /// The tables with distances stretched from the reference to `2^pages`.
    pub(super) fn tables(&self, pages: f64) -> Tables {
        let mut tables = self.tables.clone();
        for table in [Table::Sdist, Table::Cdist] {
            for row in tables.rows_mut(table) {
                let counts: Vec<f64> = row.iter().map(|&n| n as f64).collect();
                let counts = stretched(&counts, pages / REFERENCE);
                *row = counts.iter().map(|&n| libm::round(n) as u64).collect();
            }
        }
        tables
    }
}

/// Bin `[b, b + 1)` spread over `[b f, (b + 1) f)`; what is beyond the last bin goes there.
fn stretched(row: &[f64], f: f64) -> Vec<f64> {
    let mut out = vec![0.0; DISTANCE_BINS];
    for (b, &count) in row.iter().enumerate().filter(|c| *c.1 > 0.0) {
        let (mut from, to) = (b as f64 * f, (b + 1) as f64 * f);
        while from < to {
            let bin = from as usize;
            let end = ((bin + 1) as f64).min(to);
            out[bin.min(DISTANCE_BINS - 1)] += count * (end - from) / f;
            from = end;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_spread_and_nothing_is_lost() {
        let mut row = vec![0.0; DISTANCE_BINS];
        (row[0], row[3], row[47]) = (1.0, 4.0, 2.0);
        let wide = stretched(&row, 1.5);
        assert_eq!(wide[..2], [2.0 / 3.0, 1.0 / 3.0]);
        assert_eq!(wide[4..6], [4.0 / 3.0, 8.0 / 3.0]);
        assert_eq!(wide[47], 2.0);
        let narrow = stretched(&row, 0.5);
        assert_eq!((narrow[0], narrow[1], narrow[23]), (1.0, 4.0, 2.0));
        for f in [0.1, 0.77, 1.0, 1.3] {
            let sum: f64 = stretched(&row, f).iter().sum();
            assert!((sum - 7.0).abs() < 1e-9, "{f} {sum}");
        }
    }

    #[test]
    fn the_pool_of_the_program_comes_back() {
        let pool = TwinPool::parse(DEFAULT).unwrap();
        assert!(DEFAULT.ends_with(&pool.to_toml()), "write it anew");
    }
}
