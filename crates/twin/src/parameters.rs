//! Parameter files of twins.

use std::fmt::Write as _;

use super::reading::{integer, nothing_else, real, table};
use super::tables::{TABLES, Table, Tables, row_name};

/// Probabilities and multipliers are kept in millionths.
const MILLION: f64 = 1e6;
const FULL_KEYS: &str =
    "mode, requests, span_s, space_sectors, seed, bias, m_lw, m_w, m_r, fua, preflush";
pub(super) const SECTORS_MOST: u64 = destage_trace::MAX_BYTES / 512;
const FLAGS: [&str; 2] = ["fua", "preflush"];
const MULTIPLIERS: [&str; 3] = ["m_lw", "m_w", "m_r"];
/// e^4, the largest multiplier that fitting may ask for, and a little room.
const MULTIPLIER_MOST: f64 = 60.0;

/// The parameters of a twin: all of them measured in one trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TwinParameters {
    /// Requests to make, at least 1.
    pub requests: u64,
    /// Time from the first possible arrival to the last, in ns.
    pub span: u64,
    /// Addresses are below this sector.
    pub space_sectors: u64,
    /// Seed of all draws.
    pub seed: u64,
    pub(super) bias: u64,
    /// In millionths: odds of going on for writes, of touched pages for writes, for reads.
    pub(super) multipliers: [u64; 3],
    /// In millionths of the writes: those with FUA, and with a preflush.
    pub(super) flags: [u64; 2],
    pub(super) tables: Tables,
}

/// Address space for so many pages: four times that, at least 512 MiB, and eight blocks of 64 pages
/// for each request to an untouched block, of which it takes up to four out of use: with less,
/// requests to untouched pages would meet touched ones.
pub fn space(footprint: u64, far: u64) -> u64 {
    let sectors = footprint.saturating_mul(32).max(1 << 20);
    let sectors = sectors.saturating_add(far.saturating_mul(8 * 512));
    sectors.min(SECTORS_MOST).next_multiple_of(512)
}

impl TwinParameters {
    /// The tables with the multipliers.
    pub(super) fn weighted(&self) -> Tables {
        let mut tables = self.tables.clone();
        let [m_lw, m_w, m_r] = self.multipliers;
        for k in 0..super::bins::KINDS {
            let touched = if k < 4 { m_r } else { m_w };
            for table in [Table::Source, Table::Cstate] {
                weigh(tables.row_mut(table, &[k]), touched);
            }
            for went_on in (0..2).filter(|_| k >= 4) {
                weigh(tables.row_mut(Table::Pcont, &[k, went_on]), m_lw);
            }
        }
        tables
    }

    /// The parameter file.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "mode = \"full\"\nrequests = {}\nspan_s = {}.{:09}\nspace_sectors = {}\nseed = {}\nbias = {}\n",
            self.requests,
            self.span / 1_000_000_000,
            self.span % 1_000_000_000,
            self.space_sectors,
            self.seed,
            self.bias as f64 / MILLION,
        );
        for (name, m) in MULTIPLIERS.iter().zip(self.multipliers) {
            let _ = writeln!(text, "{name} = {}", m as f64 / MILLION);
        }
        for (name, share) in FLAGS.iter().zip(self.flags).filter(|row| row.1 > 0) {
            let _ = writeln!(text, "{name} = {}", share as f64 / MILLION);
        }
        for (table, ..) in TABLES {
            text += &table_text(&self.tables, table);
        }
        text
    }

    /// Reads the keys of a full parameter file but `mode`.
    ///
    /// # Errors
    /// The place, the value, what is wrong and what is allowed.
    pub(super) fn read(mut file: toml::Table) -> Result<TwinParameters, String> {
        let requests = integer(&mut file, "requests", None, 1..=1 << 32)?;
        let span = real(&mut file, "span_s", None, 0.0..=1e9)?;
        let space_sectors = integer(&mut file, "space_sectors", None, 512..=SECTORS_MOST)?;
        let seed = integer(&mut file, "seed", Some(1), 0..=i64::MAX as u64)?;
        let bias = real(&mut file, "bias", Some(0.7), 0.5..=0.97)?;
        let mut multipliers = [0; 3];
        for (name, m) in MULTIPLIERS.iter().zip(&mut multipliers) {
            let value = real(&mut file, name, Some(1.0), 0.01..=MULTIPLIER_MOST)?;
            *m = libm::round(value * MILLION) as u64;
        }
        let mut flags = [0; 2];
        for (name, share) in FLAGS.iter().zip(&mut flags) {
            let value = real(&mut file, name, Some(0.0), 0.0..=1.0)?;
            *share = libm::round(value * MILLION) as u64;
        }
        let mut tables = Tables::new();
        for (each, ..) in TABLES {
            table(&mut file, &mut tables, each)?;
        }
        let known = TABLES.map(|t| t.1).join(", ");
        let known = format!("{FULL_KEYS}, {known}");
        nothing_else(&file, &known)?;
        check(&tables)?;
        Ok(TwinParameters {
            requests,
            span: libm::round(span * 1e9) as u64,
            space_sectors,
            seed,
            bias: libm::round(bias * MILLION) as u64,
            multipliers,
            flags,
            tables,
        })
    }
}

/// The rows of a table that are not empty, under its key.
pub fn table_text(tables: &Tables, table: Table) -> String {
    let (_, name, dims, _) = TABLES[table as usize];
    let mut text = format!("\n[{name}]\n");
    for (i, row) in tables.rows(table).iter().enumerate() {
        let counts = row.iter().enumerate().filter(|c| *c.1 > 0);
        let counts: Vec<String> = counts.map(|(c, n)| format!("{c} = {n}")).collect();
        if !counts.is_empty() {
            let at = row_name(dims, i);
            let at: Vec<String> = at.iter().map(usize::to_string).collect();
            let _ = writeln!(text, "{} = {{ {} }}", at.join("-"), counts.join(", "));
        }
    }
    text
}

/// Multiplies the odds of all columns behind the first.
fn weigh(row: &mut [u64], multiplier: u64) {
    row[0] *= MILLION as u64;
    row[1..].iter_mut().for_each(|n| *n *= multiplier);
}

/// Refuses tables from which something would be drawn that is absent.
fn check(tables: &Tables) -> Result<(), String> {
    let absent = |table, at: &[usize]| tables.row(table, at).iter().all(|&n| n == 0);
    let kinds = tables.rows(Table::Trans);
    let drawn = |k: &usize| kinds.iter().any(|row| row[*k] > 0);
    let need = |name: &str, at: &[usize], because: String| {
        let at = at
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join("-");
        Err(format!(
            "{name}.{at}: the row is absent; it is needed because {because}"
        ))
    };
    if !(0..super::bins::KINDS).any(|k| drawn(&k)) {
        return Err("trans: absent or empty; allowed: at least one row of counts".to_owned());
    }
    for k in (0..super::bins::KINDS).filter(drawn) {
        let of_kind = format!("trans leads to kind {k}");
        if absent(Table::Source, &[k]) {
            return need("source", &[k], of_kind);
        }
        let goes_on = (0..2).any(|c| tables.row(Table::Pcont, &[k, c])[1] > 0);
        if goes_on && absent(Table::Cstate, &[k]) {
            return need(
                "cstate",
                &[k],
                format!("pcont lets streams of kind {k} go on"),
            );
        }
        let distances = [
            ("source", Table::Source, "sdist", Table::Sdist),
            ("cstate", Table::Cstate, "cdist", Table::Cdist),
        ];
        for (from, states, name, table) in distances {
            for st in 0..2 {
                if tables.row(states, &[k])[st + 1] > 0 && absent(table, &[k, st]) {
                    return need(name, &[k, st], format!("{from}.{k} leads there"));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TwinFile;

    fn parse(text: &str) -> Result<TwinParameters, String> {
        match TwinFile::parse(text)? {
            TwinFile::Full(parameters) => Ok(parameters),
            TwinFile::Aggregate(_) => unreachable!("the mode is full"),
        }
    }

    const GOOD: &str = "mode = \"full\"\nrequests = 3\nspan_s = 2.5\nspace_sectors = 4096\n\
        [trans]\n4 = { 4 = 1 }\n[source]\n4 = { 0 = 2, 1 = 1 }\n[sdist]\n4-0 = { 0 = 1 }\n\
        [size]\n4-0 = { 8 = 1 }\n";

    #[test]
    fn a_file_comes_back() {
        let p = parse(GOOD).unwrap();
        assert_eq!(
            (p.requests, p.span, p.seed, p.bias),
            (3, 2_500_000_000, 1, 700_000)
        );
        assert_eq!(p.tables.row(Table::Source, &[4]), [2, 1, 0]);
        assert_eq!(parse(&p.to_toml()), Ok(p));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_what_is_allowed() {
        let wrong = r#"
            "full"               | "half"           | mode: `"half"`; allowed: "full", "aggregate"
            requests = 3         | requests = 0     | requests: `0` is out of range or no integer; allowed: 1 to 4294967296
            span_s = 2.5         | span_s = nan     | span_s: `nan` is out of range or no number; allowed: 0 to 1000000000
            space_sectors = 4096 | -                | space_sectors: missing; allowed: 512 to 549755813888
            4-0 = { 0 = 1 }      | 8-0 = { 0 = 1 }  | sdist.8-0: no such row; allowed: 0-0 to 7-1
            4-0 = { 0 = 1 }      | 4-0 = { 48 = 1 } | sdist.4-0.48: no such column; allowed: 0 to 47
            4-0 = { 0 = 1 }      | 4-0 = { 0 = -1 } | sdist.4-0.0: `-1`; allowed: 1 to 4294967296
            4-0 = { 0 = 1 }      | 4-0 = {}         | sdist.4-0: `{}`; allowed: { column = count, ... }, not empty
            4-0 = { 0 = 1 }      | 4-1 = { 0 = 1 }  | sdist.4-0: the row is absent; it is needed because source.4 leads there
            4-0 = { 8 = 1 }      | 4-0 = { 0 = 1 }  | size.4-0.0: no such column; allowed: 1 to 184
            [trans]              | [trams]          | trams: no such key; allowed: mode,
        "#;
        for row in wrong.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let to = cells[1].trim_start_matches('-');
            let error = parse(&GOOD.replacen(cells[0], to, 1)).unwrap_err();
            assert!(error.starts_with(cells[2]), "{error}");
        }
    }
}
