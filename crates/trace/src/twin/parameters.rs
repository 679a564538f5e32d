//! Parameter files of twins.

use std::fmt::Write as _;

use super::tables::{TABLES, Table, Tables, row_name};

/// Probabilities and multipliers are kept in millionths.
const MILLION: f64 = 1e6;
/// What a count may be: sums of rows with multipliers stay below 2^63.
const MOST: u64 = 1 << 32;
const SECTORS_MOST: u64 = crate::MAX_BYTES / 512;
const MULTIPLIERS: [&str; 3] = ["m_lw", "m_w", "m_r"];
/// e^4, the largest multiplier that fitting may ask for, and a little room.
const MULTIPLIER_MOST: f64 = 60.0;

/// What a twin is drawn from: all of it measured in one trace.
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
    pub(super) tables: Tables,
}

/// Address space for so many pages: four times that, at least 512 MiB, and sixteen blocks of 64
/// pages for each request to an untouched block, of which it takes up to four out of use: with
/// less, requests to untouched pages would meet touched ones.
pub fn space(footprint: u64, far: u64) -> u64 {
    let sectors = (footprint * 32).max(1 << 20) + far * 16 * 512;
    sectors.next_multiple_of(512).min(SECTORS_MOST)
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
        for (table, name, dims, _) in TABLES {
            let _ = writeln!(text, "\n[{name}]");
            for (i, row) in self.tables.rows(table).iter().enumerate() {
                let counts = row.iter().enumerate().filter(|c| *c.1 > 0);
                let counts: Vec<String> = counts.map(|(c, n)| format!("{c} = {n}")).collect();
                if !counts.is_empty() {
                    let at = row_name(dims, i)
                        .iter()
                        .map(usize::to_string)
                        .collect::<Vec<_>>();
                    let _ = writeln!(text, "{} = {{ {} }}", at.join("-"), counts.join(", "));
                }
            }
        }
        text
    }

    /// Reads a parameter file.
    ///
    /// # Errors
    /// The place, the value, what is wrong and what is allowed.
    pub fn parse(text: &str) -> Result<TwinParameters, String> {
        let mut file: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let mode = file.remove("mode");
        if mode.as_ref().and_then(|m| m.as_str()) != Some("full") {
            let got = mode.map_or("nothing".to_owned(), |mode| format!("`{mode}`"));
            return Err(format!("mode: {got}; allowed: \"full\""));
        }
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
        let mut tables = Tables::new();
        for (table, name, dims, columns) in TABLES {
            if let Some(value) = file.remove(name) {
                read_table(&mut tables, table, (name, dims, columns), &value)?;
            }
        }
        if let Some(key) = file.keys().next() {
            let known = TABLES.map(|t| t.1).join(", ");
            return Err(format!(
                "{key}: no such key; allowed: mode, requests, span_s, space_sectors, seed, bias, \
                 m_lw, m_w, m_r, {known}"
            ));
        }
        check(&tables)?;
        Ok(TwinParameters {
            requests,
            span: libm::round(span * 1e9) as u64,
            space_sectors,
            seed,
            bias: libm::round(bias * MILLION) as u64,
            multipliers,
            tables,
        })
    }
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

fn integer(
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

fn real(
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

fn read_table(
    tables: &mut Tables,
    table: Table,
    (name, dims, columns): (&str, &[usize], usize),
    value: &toml::Value,
) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "mode = \"full\"\nrequests = 3\nspan_s = 2.5\nspace_sectors = 4096\n\
        [trans]\n4 = { 4 = 1 }\n[source]\n4 = { 0 = 2, 1 = 1 }\n[sdist]\n4-0 = { 0 = 1 }\n\
        [size]\n4-0 = { 8 = 1 }\n";

    #[test]
    fn a_file_comes_back() {
        let p = TwinParameters::parse(GOOD).unwrap();
        assert_eq!(
            (p.requests, p.span, p.seed, p.bias),
            (3, 2_500_000_000, 1, 700_000)
        );
        assert_eq!(p.tables.row(Table::Source, &[4]), [2, 1, 0]);
        assert_eq!(TwinParameters::parse(&p.to_toml()), Ok(p));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_what_is_allowed() {
        let wrong = [
            (
                "\"full\"",
                "\"half\"",
                "mode: `\"half\"`; allowed: \"full\"",
            ),
            (
                "requests = 3",
                "requests = 0",
                "requests: `0` is out of range or no integer; allowed: 1 to 4294967296",
            ),
            (
                "span_s = 2.5",
                "span_s = nan",
                "span_s: `nan` is out of range or no number; allowed: 0 to 1000000000",
            ),
            (
                "space_sectors = 4096\n",
                "",
                "space_sectors: missing; allowed: 512 to 549755813888",
            ),
            (
                "4-0 = { 0 = 1 }",
                "8-0 = { 0 = 1 }",
                "sdist.8-0: no such row; allowed: 0-0 to 7-1",
            ),
            (
                "4-0 = { 0 = 1 }",
                "4-0 = { 48 = 1 }",
                "sdist.4-0.48: no such column; allowed: 0 to 47",
            ),
            (
                "4-0 = { 0 = 1 }",
                "4-0 = { 0 = -1 }",
                "sdist.4-0.0: `-1`; allowed: 1 to 4294967296",
            ),
            (
                "4-0 = { 0 = 1 }",
                "4-0 = {}",
                "sdist.4-0: `{}`; allowed: { column = count, ... }, not empty",
            ),
            (
                "4-0 = { 0 = 1 }",
                "4-1 = { 0 = 1 }",
                "sdist.4-0: the row is absent; it is needed because source.4 leads there",
            ),
            (
                "4-0 = { 8 = 1 }",
                "4-0 = { 0 = 1 }",
                "size.4-0.0: no such column; allowed: 1 to 184",
            ),
            ("[trans]", "[trams]", "trams: no such key; allowed: mode, "),
        ];
        for (from, to, message) in wrong {
            let error = TwinParameters::parse(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
