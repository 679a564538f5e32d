//! Twins of traces of which only a few figures are known, as papers print them.

use super::bins::{KINDS, distance_bin, size_of};
use super::calibrate::Targets;
use super::parameters::{SECTORS_MOST, TwinParameters, space};
use super::pool::TwinPool;
use super::reading::{integer, nothing_else, real};
use super::tables::{Table, Tables};

/// Share of requests that are of the kind of the one before, beyond chance.
const SAME_KIND: f64 = 0.49;
/// Requests and steps with which the share of large writes is looked for.
const LARGE: (u64, u32) = (30_000, 7);
/// Of the requests that go on, those that begin inside the page in which the one before ended: pooled
/// sizes are not whole pages, so streams end at any of its sectors.
const SHARED: f64 = 7.0 / 8.0;
const MILLION: f64 = 1e6;
const KEYS: &str = "mode, requests, span_s, space_sectors, seed, bias, write_ratio, \
                    mean_write_kib, mean_read_kib, update_share, lw_share, anchor, frequent_r, \
                    frequent_wr";

/// Figures of a trace. Shares are of 1, sizes in KiB.
#[derive(Clone, PartialEq, Debug)]
pub struct Aggregate {
    pub(super) requests: u64,
    /// In ns.
    pub(super) span: u64,
    space_sectors: Option<u64>,
    pub(super) seed: u64,
    bias: f64,
    write_ratio: f64,
    mean_write: f64,
    mean_read: f64,
    update_share: f64,
    large_share: Option<f64>,
    /// Write hit ratio of an LRU write buffer of so many MiB.
    anchor: Option<(f64, f64)>,
}

impl Aggregate {
    pub(super) fn read(mut file: toml::Table) -> Result<Aggregate, String> {
        let file = &mut file;
        let share = 0.0..=1.0;
        let kib = 0.5..=1_048_576.0;
        let known = |file: &toml::Table, key: &str| file.contains_key(key).then_some(0.0);
        let large = known(file, "lw_share");
        let reported = ["frequent_r", "frequent_wr"];
        let requests = integer(file, "requests", None, 1..=1 << 32)?;
        let space_sectors = if file.contains_key("space_sectors") {
            Some(integer(
                file,
                "space_sectors",
                None,
                1 << 20..=SECTORS_MOST,
            )?)
        } else {
            None
        };
        let aggregate = Aggregate {
            requests,
            span: libm::round(real(file, "span_s", None, 0.0..=1e9)? * 1e9) as u64,
            space_sectors,
            seed: integer(file, "seed", Some(1), 0..=i64::MAX as u64)?,
            bias: real(file, "bias", Some(0.7), 0.5..=0.97)?,
            write_ratio: real(file, "write_ratio", None, share.clone())?,
            mean_write: real(file, "mean_write_kib", None, kib.clone())?,
            mean_read: real(file, "mean_read_kib", Some(17.0), kib)?,
            update_share: real(file, "update_share", Some(0.49), share.clone())?,
            large_share: match large {
                Some(_) => Some(real(file, "lw_share", None, share.clone())?),
                None => None,
            },
            anchor: anchor(file)?,
        };
        // They are no parameters: what a twin makes of them is to be compared.
        for key in reported {
            real(file, key, Some(0.0), share.clone())?;
        }
        nothing_else(file, KEYS)?;
        Ok(aggregate)
    }

    /// The parameters of a twin.
    ///
    /// # Errors
    /// A mean size that no mix of the pooled sizes has.
    pub(super) fn parameters(&self) -> Result<TwinParameters, String> {
        let pool = TwinPool::standard();
        let kinds = self.kinds(&pool)?;
        let writes = self.requests as f64 * self.write_ratio;
        let written = writes * self.mean_write / 4.0 * (1.0 - self.update_share);
        let written = written.max(256.0);
        let mut tables = pool.tables(self.stretch(&pool, &kinds, libm::log2(written)));
        for k in (0..KINDS).filter(|&k| kinds[k] > 0.0) {
            for (next, share) in kinds.iter().enumerate() {
                let same = if next == k { SAME_KIND } else { 0.0 };
                let share = same + (1.0 - SAME_KIND) * share;
                tables.row_mut(Table::Trans, &[k])[next] = libm::round(share * MILLION) as u64;
            }
        }
        let mut parameters = TwinParameters {
            requests: self.requests,
            span: self.span,
            space_sectors: self
                .space_sectors
                .unwrap_or_else(|| self.space(&pool, &kinds, written)),
            seed: self.seed,
            bias: libm::round(self.bias * MILLION) as u64,
            multipliers: [1_000_000; 3],
            flags: [0; 2],
            tables,
        };
        let states = parameters.tables.clone();
        for _ in 0..2 {
            self.update(&kinds, &states, &mut parameters);
            if let Some(target) = self.large_share {
                large(target, &mut parameters);
            }
        }
        Ok(parameters)
    }

    /// Shares of the kinds: those of the pool, tilted until the mean sizes fit.
    fn kinds(&self, pool: &TwinPool) -> Result<[f64; KINDS], String> {
        let mut kinds = pool.kinds();
        let means: [f64; KINDS] = std::array::from_fn(|k| mean_kib(pool, k));
        let wanted = [
            ("mean_read_kib", self.mean_read, 1.0 - self.write_ratio),
            ("mean_write_kib", self.mean_write, self.write_ratio),
        ];
        for (op, (key, mean, ratio)) in wanted.into_iter().enumerate() {
            let (shares, means) = (&mut kinds[4 * op..4 * op + 4], &means[4 * op..4 * op + 4]);
            let tilted = |theta: f64, c: usize| shares[c] * libm::exp(theta * c as f64);
            let of = |theta: f64| {
                let all: f64 = (0..4).map(|c| tilted(theta, c)).sum();
                (0..4).map(|c| tilted(theta, c) * means[c]).sum::<f64>() / all
            };
            let theta = bisect(-20.0, 20.0, 60, |theta| of(theta) < mean);
            if ratio > 0.0 && (of(theta) - mean).abs() > 0.1 * mean {
                return Err(format!(
                    "{key}: `{mean}`; allowed: {:.1} to {:.1}, as the sizes are of which it is mixed",
                    means[0], means[3]
                ));
            }
            let all: f64 = (0..4).map(|c| tilted(theta, c)).sum();
            let new: Vec<f64> = (0..4).map(|c| ratio * tilted(theta, c) / all).collect();
            shares.copy_from_slice(&new);
        }
        Ok(kinds)
    }

    /// Logarithm of the pages that distances are stretched to: that of the written ones, or what
    /// the anchor asks for.
    fn stretch(&self, pool: &TwinPool, kinds: &[f64; KINDS], pages: f64) -> f64 {
        // Stretched no further than from traces 0.6 to 1.6 times as large in the logarithm.
        let plain = pages.clamp(0.6 * 18.0, 1.6 * 18.0);
        let Some((mib, hit)) = self.anchor else {
            return plain;
        };
        let bin = distance_bin((mib * 256.0) as u64);
        let reached = |g: f64| {
            let tables = pool.tables(plain * g);
            self.update_share * share_below(&tables, pool, kinds, bin)
        };
        plain * bisect(0.2, 1.4, 30, |g| reached(g) >= hit)
    }

    fn space(&self, pool: &TwinPool, kinds: &[f64; KINDS], written: f64) -> u64 {
        let reads = self.requests as f64 * (1.0 - self.write_ratio) * self.mean_read / 4.0;
        let new = |k: usize| {
            let starts =
                pool.shares(Table::Pcont, &[k, 0])[0] * pool.shares(Table::Source, &[k])[0];
            kinds[k] * starts * pool.shares(Table::Near, &[k / 4])[0]
        };
        let far: f64 = (0..KINDS).map(new).sum();
        space(
            (written + reads) as u64,
            (far * self.requests as f64) as u64,
        )
    }

    /// Weighs written pages in the states of writes so that the pages of writes are updates as often
    /// as is wanted. The odds of pages only read against untouched ones stay.
    fn update(&self, kinds: &[f64; KINDS], pool: &Tables, parameters: &mut TwinParameters) {
        bisect(-16.0, 16.0, 50, |weight| {
            weigh_written(pool, &mut parameters.tables, libm::exp(weight));
            update_share(kinds, &parameters.weighted()) < self.update_share
        });
        if self.update_share == 0.0 {
            weigh_written(pool, &mut parameters.tables, 0.0);
        }
    }
}

fn weigh_written(pool: &Tables, tables: &mut Tables, m: f64) {
    for k in KINDS / 2..KINDS {
        for table in [Table::Source, Table::Cstate] {
            let counts = pool.row(table, &[k]);
            let all = counts[0] as f64 + counts[1] as f64 * m + counts[2] as f64;
            let share = |n: f64| libm::round(n / all.max(1.0) * MILLION) as u64;
            let row = [
                share(counts[0] as f64),
                share(counts[1] as f64 * m),
                share(counts[2] as f64),
            ];
            tables.row_mut(table, &[k]).copy_from_slice(&row);
        }
    }
}

/// `anchor = [MiB, hit]`.
fn anchor(file: &mut toml::Table) -> Result<Option<(f64, f64)>, String> {
    let Some(value) = file.remove("anchor") else {
        return Ok(None);
    };
    let number = |v: &toml::Value| v.as_float().or(v.as_integer().map(|n| n as f64));
    let pair = value.as_array().filter(|pair| pair.len() == 2);
    let pair = pair.and_then(|pair| Some((number(&pair[0])?, number(&pair[1])?)));
    let pair =
        pair.filter(|(mib, hit)| (1.0..=65_536.0).contains(mib) && (0.0..=1.0).contains(hit));
    pair.map(Some).ok_or_else(|| {
        format!("anchor: `{value}`; allowed: [MiB from 1 to 65536, hit ratio from 0 to 1]")
    })
}

/// Share of a row that is not in its first column, or 0 of an absent one.
fn beyond_first(row: &[u64]) -> f64 {
    let all = row.iter().sum::<u64>();
    if all == 0 {
        0.0
    } else {
        (all - row[0]) as f64 / all as f64
    }
}

fn column_share(row: &[u64], column: usize) -> f64 {
    let all = row.iter().sum::<u64>();
    if all == 0 {
        0.0
    } else {
        row[column] as f64 / all as f64
    }
}

/// Mean sectors of a row of sizes, or 0 of an absent one.
fn mean_size(row: &[u64]) -> f64 {
    let all = row.iter().sum::<u64>().max(1) as f64;
    let sum: f64 = row
        .iter()
        .enumerate()
        .map(|(b, &n)| n as f64 * f64::from(size_of(b)))
        .sum();
    sum / all
}

/// Shares of the requests of a kind that go on: after one that did not, and after one that did.
fn going_on(tables: &Tables, k: usize) -> f64 {
    let [first, later] = [0, 1].map(|b| beyond_first(tables.row(Table::Pcont, &[k, b])));
    // The share that is the same before and after.
    first / (1.0 - later + first).max(1e-9)
}

fn mean_kib(pool: &TwinPool, k: usize) -> f64 {
    let tables = pool.tables(1.0);
    let on = going_on(&tables, k);
    let new = [Table::Source, Table::Cstate].map(|t| column_share(tables.row(t, &[k]), 0));
    let weights = [
        (1.0 - on) * new[0],
        (1.0 - on) * (1.0 - new[0]),
        on * new[1],
        on * (1.0 - new[1]),
    ];
    let mean = |row: usize| weights[row] * mean_size(tables.row(Table::Size, &[k, row]));
    (0..4).map(mean).sum::<f64>() / 2.0
}

/// Share of the pages of writes that were written before.
fn update_share(kinds: &[f64; KINDS], weighted: &Tables) -> f64 {
    let (mut updates, mut pages) = (0.0, 0.0);
    for k in (KINDS / 2..KINDS).filter(|&k| kinds[k] > 0.0) {
        let on = going_on(weighted, k);
        for (table, share, row, shared) in [
            (Table::Source, 1.0 - on, 0, 0.0),
            (Table::Cstate, on, 2, SHARED),
        ] {
            let states = weighted.row(table, &[k]);
            let size =
                |row: usize| (mean_size(weighted.row(Table::Size, &[k, row])) / 8.0).max(0.125);
            let [new, written, read] = [0, 1, 2].map(|column| column_share(states, column));
            let requests = kinds[k] * share;
            updates += requests * (written * size(row + 1) + shared);
            pages += requests * (new * size(row) + (written + read) * size(row + 1) + shared);
        }
    }
    if pages > 0.0 { updates / pages } else { 0.0 }
}

/// Of the old pages of writes in the stack of written ones, the share below a distance bin.
fn share_below(tables: &Tables, pool: &TwinPool, kinds: &[f64; KINDS], bin: usize) -> f64 {
    let (mut below, mut all) = (0.0, 0.0);
    for (k, requests) in kinds.iter().enumerate().skip(KINDS / 2) {
        let on = going_on(tables, k);
        for (states, distances, share, row) in [
            (Table::Source, Table::Sdist, 1.0 - on, 1),
            (Table::Cstate, Table::Cdist, on, 3),
        ] {
            let size = mean_size(tables.row(Table::Size, &[k, row])).max(8.0);
            let weight = requests * share * size * pool.shares(states, &[k])[1];
            let counts = tables.row(distances, &[k, 0]);
            let (near, sum) = (
                counts[..bin].iter().sum::<u64>(),
                counts.iter().sum::<u64>(),
            );
            below += weight * near as f64 / sum.max(1) as f64;
            all += if sum > 0 { weight } else { 0.0 };
        }
    }
    if all > 0.0 { below / all } else { 0.0 }
}

/// Looks for the multiplier with which large writes have the share that is wanted.
fn large(target: f64, parameters: &mut TwinParameters) {
    // More than e^4 is needed where nearly all is large and the pool has many short streams.
    bisect(-0.7, 6.0, LARGE.1, |multiplier| {
        parameters.multipliers[0] = libm::round(libm::exp(multiplier) * MILLION) as u64;
        let reached = Targets::of(parameters, false, LARGE.0).shares[0];
        reached.unwrap_or(target) < target
    });
}

/// Halves a range so many times around the smallest number that is not too low.
fn bisect(mut low: f64, mut high: f64, steps: u32, mut too_low: impl FnMut(f64) -> bool) -> f64 {
    for _ in 0..steps {
        let middle = f64::midpoint(low, high);
        if too_low(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
