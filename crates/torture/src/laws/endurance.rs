//! Endurance, worked out anew from what the record says of counters, erases, geometry and time.

use super::Law;
use crate::case::Case;
use crate::compare::{count, near, want};
use crate::lab::{Fault, Lab, Verdict};
use destage_conformance::reference::rng::SplitMix64;
use destage_types::ByteSize;
use serde_json::Value;

pub const ENDURANCE: Law = Law {
    name: "endurance",
    promise: "flash bytes, spread of erases, TBW and years follow from the other figures of the record",
    adapt: rate,
    check: recomputed,
};

/// Gives the flash rated cycles.
fn rate(case: &mut Case, rng: &mut SplitMix64) {
    if let Some(sets) = &mut case.device {
        sets.retain(|set| !set.starts_with("pe_cycles="));
        sets.push(format!("pe_cycles={}", rng.pick(&[1, 700, 3000, 100_000])));
    }
}

fn recomputed(lab: &Lab, case: &Case) -> Verdict {
    let Some(record) = lab.record(case, "trace.csv")? else {
        return Ok(false);
    };
    let endurance = &record["endurance"];
    if endurance.is_null() {
        return match case.device {
            None => Ok(false),
            Some(_) => Err(Fault::law("no endurance of a device with rated cycles")),
        };
    }
    spread(&record)?;
    let causes = [
        "flash_writes_host",
        "flash_writes_gc",
        "flash_writes_meta",
        "padded_places",
        "parity_places",
    ];
    let programs: u64 = causes.iter().map(|cause| count(&record, cause)).sum();
    let flash = programs * record["page_bytes"].as_u64().unwrap_or(0);
    let flash_bytes = endurance["flash_bytes"].as_u64();
    want("flash bytes", flash, flash_bytes.unwrap_or(u64::MAX))?;
    // All blocks together take this many bytes, and the host wrote its share of what was programmed.
    let rated = bytes_of_cycle(&record)? as f64 * setting(&record, "pe_cycles")? as f64;
    let host = (count(&record, "write_sectors") * 512) as f64;
    let cycles = rated / flash as f64;
    optional(
        "tbw_bytes",
        endurance,
        cycles * host,
        flash > 0 && host > 0.0,
    )?;
    let elapsed = record["utilisation"]["elapsed_ns"].as_u64().unwrap_or(0);
    let years = cycles * (elapsed as f64 / 1e9) / (365.25 * 86_400.0);
    let moves = flash > 0 && host > 0.0 && elapsed > 0;
    optional("years", endurance, years, moves)?;
    Ok(true)
}

/// The erases of all blocks: their mean, deviation and variation.
fn spread(record: &Value) -> Result<(), Fault> {
    let erases = &record["erase_counts"];
    let empty = Vec::new();
    let rows = erases["histogram"].as_array().unwrap_or(&empty);
    let number = |row: &Value, i: usize| row[i].as_u64().unwrap_or(0);
    let blocks: u64 = rows.iter().map(|row| number(row, 1)).sum();
    want("blocks", blocks, blocks_of(record)?)?;
    let sums = rows.iter().fold((0.0, 0.0), |(sum, squares), row| {
        let (n, of) = (number(row, 0) as f64, number(row, 1) as f64);
        (sum + n * of, squares + n * n * of)
    });
    let (mean, square) = (sums.0 / blocks as f64, sums.1 / blocks as f64);
    let std = (square - mean * mean).max(0.0).sqrt();
    near(
        "mean of erases",
        erases["mean"].as_f64().unwrap_or(-1.0),
        mean,
    )?;
    // Two ways to a small difference of large numbers agree less well.
    let found = erases["std"].as_f64().unwrap_or(-1.0);
    if (found - std).abs() > 1e-6 * (1.0 + mean) {
        return Err(Fault::law(format!(
            "deviation of erases: {found} and {std}"
        )));
    }
    optional("erase_cv", &record["endurance"], found / mean, mean > 0.0)
}

/// A field of the endurance: a number if `exists`, else null.
fn optional(name: &str, endurance: &Value, expected: f64, exists: bool) -> Result<(), Fault> {
    match (endurance[name].as_f64(), exists) {
        (Some(found), true) if (found - expected).abs() <= 1e-9 * expected.abs() => Ok(()),
        (None, false) => Ok(()),
        (found, _) => Err(Fault::law(format!("{name} is {found:?}, not {expected}"))),
    }
}

/// A whole number among the settings.
fn setting(record: &Value, key: &str) -> Result<u64, Fault> {
    parsed(record, key, |text| text.parse().ok())
}

fn parsed(record: &Value, key: &str, read: impl Fn(&str) -> Option<u64>) -> Result<u64, Fault> {
    let mut rows = record["config"].as_array().into_iter().flatten();
    let row = rows.find(|row| row["key"] == *key);
    let value = row.and_then(|row| read(row["value"].as_str()?));
    value.ok_or_else(|| Fault::law(format!("the record has no number of {key}")))
}

fn blocks_of(record: &Value) -> Result<u64, Fault> {
    let keys = [
        "channels",
        "chips_per_channel",
        "dies_per_chip",
        "planes_per_die",
        "blocks_per_plane",
    ];
    keys.iter()
        .try_fold(1, |product, key| Ok(product * setting(record, key)?))
}

/// Bytes of all pages.
fn bytes_of_cycle(record: &Value) -> Result<u64, Fault> {
    let page = parsed(record, "page", |text| Some(ByteSize::parse(text).ok()?.0))?;
    Ok(blocks_of(record)? * setting(record, "pages_per_block")? * page)
}
