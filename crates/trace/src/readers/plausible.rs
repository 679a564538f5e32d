//! Choosing among the readings that the columns of a trace allow.
//!
//! Some formats differ in nothing but their units, many tables have columns of a format in another order, and many
//! files have columns of a format with times in another unit. The numbers in the opening of the file, under each
//! reading, tell most of them apart.

use std::collections::BTreeSet;

use destage_types::HostRequest;

use super::candidate::Candidate;
use super::columns::Holds;
use super::opening::{FEW, Oddity, Opening, most};
use super::verdict::LoadVerdict;
use super::{FormatInfo, TraceColumn, mapped};
use crate::doubts::Doubts;
use crate::mapping::guess::GuessedTable;
use crate::mapping::rule::ColumnUnit;
use crate::mapping::{ColumnRole, Mapping};
use crate::time_unit::TimeUnit;

/// How a trace is read, and what speaks for another reading.
pub(crate) struct Reading {
    pub format: &'static FormatInfo,
    /// The unit of the times, if it is not that of the format.
    pub time_unit: Option<TimeUnit>,
    pub doubts: Doubts,
    /// The mapping of a table, with all that it did not say.
    pub mapping: Option<Mapping>,
}

impl Reading {
    /// As `format` says.
    pub fn certain(format: &'static FormatInfo) -> Reading {
        Reading {
            format,
            time_unit: None,
            doubts: Doubts::default(),
            mapping: None,
        }
    }

    /// As a table with a mapping says.
    pub fn table(table: GuessedTable) -> Reading {
        Reading {
            doubts: table.doubts,
            mapping: Some(table.mapping),
            ..Reading::certain(&mapped::INFO)
        }
    }
}

/// The most plausible of several formats whose columns fit; `None` if there is no telling them apart.
///
/// A format that `trace convert` may have written wins, unless long requests make it absurd and
/// another format is plausible. Else the more plausible format wins, and of equals the one in
/// bytes.
pub(super) fn choose(candidates: &[Candidate]) -> Option<Reading> {
    let odd = |c: &Candidate| c.oddity().is_some_and(|odd| !odd.is_of_units());
    let verdict = |c: &&Candidate| (odd(c), c.load().map(|load| load.verdict()));
    if candidates.iter().any(|c| c.opening.is_none()) {
        return None;
    }
    let rank = |c: &&Candidate| (verdict(c), c.has_sectors());
    let best = candidates.iter().min_by_key(rank)?;
    let plausible = verdict(&best) == (false, Some(LoadVerdict::Plausible));
    let absurd = |c: &&Candidate| verdict(c).1 == Some(LoadVerdict::Absurd);
    let long = |c: &Candidate| c.load().is_some_and(|load| load.is_long());
    let wrong = |c: &&Candidate| plausible && long(c) && absurd(c);
    let fits = |c: &&Candidate| c.is_as_written() && !wrong(c) && odd(c) <= odd(best);
    let chosen = candidates.iter().find(fits).unwrap_or(best);
    let other = |c: &&Candidate| c.format.name != chosen.format.name;
    let others = candidates.iter().filter(other);
    let rival = others.min_by_key(verdict)?;
    let same = |role: ColumnRole| chosen.places[role as usize] == rival.places[role as usize];
    let units = (rival.unit, rival.has_sectors()) == (chosen.unit, chosen.has_sectors());
    if units && ColumnRole::ALL.into_iter().all(same) {
        return None;
    }
    let most = (odd(chosen), Some(LoadVerdict::Plausible));
    let doubtful = verdict(&rival) <= verdict(&chosen).max(most);
    let mut reading = Reading::certain(chosen.format);
    reading.doubts.format = doubtful.then(|| {
        format!(
            "the columns fit two formats; read as {}; as {}; --format {} and --time-unit choose the other, \
             --format {} confirms this one",
            chosen.text(),
            rival.text(),
            rival.format.name,
            chosen.format.name
        )
    });
    let bytes =
        || long(chosen) && matches!(chosen.oddity(), Some(Oddity::Bytes | Oddity::LongSectors));
    let why = doubt(chosen).filter(|_| odd(chosen) || !chosen.exact || bytes());
    reading.doubts.format = reading.doubts.format.or(why);
    Some(reading)
}

/// The only format whose columns fit, or the first of `tables` that is more plausible: one with other columns, or
/// without the volumes.
pub(super) fn only(candidate: &Candidate, tables: impl FnOnce() -> Vec<GuessedTable>) -> Reading {
    let mut reading = Reading::certain(candidate.format);
    let Some(mut doubt) = doubt(candidate) else {
        return reading;
    };
    let odd = candidate.oddity();
    let units = odd.is_some_and(Oddity::is_of_units);
    let other = |table: &GuessedTable| match units {
        // What is spelled as in no other format may have other units, too.
        true => !candidate.exact,
        false => !candidate.has_places(table),
    };
    let table = tables().into_iter().find(GuessedTable::is_even);
    let table = table.filter(other);
    // A few requests may be of as many volumes, and large ones are rare, but some are as large. Programs that make
    // traces count the time, too.
    let made = odd == Some(Oddity::RowNumbers) && candidate.has_names();
    let firm = candidate.is_long() && odd != Some(Oddity::Long) && !made;
    match table {
        Some(mut table) if firm => {
            Doubts::add(&mut table.doubts.format, [doubt]);
            return Reading::table(table);
        }
        Some(table) => doubt += &format!("; '{}' is as plausible", table.mapping),
        // Numbers of blocks are no multiples of 512 by chance.
        None if firm && odd == Some(Oddity::Bytes) && candidate.has_blocks() => {
            reading = Reading::certain(&mapped::INFO);
            reading.mapping = Some(in_bytes(&candidate.mapping));
        }
        None if firm && odd == Some(Oddity::Volumes) => {
            let without = |mapping: &mut Mapping| mapping.rules[ColumnRole::Volume as usize] = None;
            reading = Reading::certain(&mapped::INFO);
            reading.mapping = Some(changed(&candidate.mapping, without));
        }
        None => {}
    }
    reading.doubts.format = Some(doubt);
    reading
}

/// What speaks against the format.
fn doubt(candidate: &Candidate) -> Option<String> {
    let name = candidate.format.name;
    let columns = "--trace-columns says which columns hold what";
    if let Some(column) = candidate.stops {
        return Some(format!(
            "taken for `{name}`, whose column `{column}` counts the requests, and here it does not; {columns}"
        ));
    }
    let opening = candidate.opening.as_ref()?;
    let odd = candidate.oddity()?;
    Some(match odd {
        Oddity::Volumes => format!(
            "as `{name}`, {} requests are of {} volumes, so that column rather counts or holds times; {columns}, \
             --format {name} confirms the volumes",
            opening.requests, opening.volumes
        ),
        Oddity::RowNumbers => format!(
            "taken for `{name}`, whose times count the lines here, as row numbers do; {columns}"
        ),
        Oddity::Bytes if candidate.has_blocks() => format!(
            "every number is a multiple of 512, and `{name}` has numbers of 4 KiB blocks: they are taken for bytes; \
             --trace-columns '{}' says the same, offset=1:sectors takes them for sectors, --format {name} for blocks",
            in_bytes(&candidate.mapping)
        ),
        Oddity::Bytes => format!(
            "every address is a multiple of 512, and `{name}` has sectors; if they are bytes, --trace-columns '{}' \
             reads them",
            in_bytes(&candidate.mapping)
        ),
        Oddity::Backward => format!(
            "taken for `{name}`, whose times go back here in more than a third of the lines, as response times do; \
             {columns}"
        ),
        Oddity::LongSectors => format!(
            "every size is a multiple of 512, of {:.1} MiB in the mean if they are sectors as in `{name}`; if they are \
             bytes, --trace-columns '{}' reads them",
            opening.load(TimeUnit::Nanoseconds).mean_bytes / f64::from(1 << 20),
            changed(&candidate.mapping, |m| m
                .set_unit(ColumnRole::Size, ColumnUnit::Bytes))
        ),
        Oddity::WholeTimes => format!(
            "no time has a fraction, and `{name}` has {} with one; --time-unit says another unit, or confirms this one",
            candidate.unit
        ),
        Oddity::Unaligned => format!(
            "taken for `{name}`, whose addresses and sizes are in bytes, and less than half of the requests are whole \
             sectors: they are rather in sectors, or in other columns; {columns}"
        ),
        _ => return doubt_numbers(odd, opening, &candidate.mapping),
    })
}

fn changed(mapping: &Mapping, change: impl FnOnce(&mut Mapping)) -> Mapping {
    let mut mapping = mapping.clone();
    change(&mut mapping);
    mapping
}

/// The mapping with all addresses and sizes in bytes.
fn in_bytes(mapping: &Mapping) -> Mapping {
    changed(mapping, |mapping| {
        set_sizes(mapping, ColumnUnit::Sectors, ColumnUnit::Bytes);
        set_sizes(mapping, ColumnUnit::Blocks, ColumnUnit::Bytes);
    })
}

/// What speaks against sectors that only a name tells.
pub(crate) fn doubt_sectors(mapping: &Mapping) -> String {
    format!(
        "every address is a multiple of 512, and its column is named as one of sectors; if they are bytes, \
         --trace-columns '{}' reads them",
        in_bytes(mapping)
    )
}

/// Gives addresses and sizes that have the unit `from` the unit `to`.
fn set_sizes(mapping: &mut Mapping, from: ColumnUnit, to: ColumnUnit) {
    for role in [ColumnRole::Offset, ColumnRole::Size] {
        let unit = mapping.rule(role).and_then(|rule| rule.unit);
        if unit.unwrap_or(ColumnUnit::Bytes) == from {
            mapping.set_unit(role, to);
        }
    }
}

/// What speaks against numbers, whatever the format.
pub(crate) fn doubt_numbers(odd: Oddity, opening: &Opening, mapping: &Mapping) -> Option<String> {
    Some(match odd {
        Oddity::Long => format!(
            "requests have {:.0} MiB each, more than hosts ask for: the sizes are rather in another column or unit; \
             --trace-columns says which columns hold what",
            opening.load(TimeUnit::Nanoseconds).mean_bytes / f64::from(1 << 20)
        ),
        Oddity::Rounded => "times or addresses are spelled as in 1.28166E+17, with few digits and an exponent, so the \
             digits behind those are lost: write them as whole numbers"
            .to_owned(),
        Oddity::OneAddress => format!(
            "all {} requests of the first lines are at one address, so the addresses are rather in another column; \
             --trace-columns says which columns hold what",
            opening.requests
        ),
        Oddity::Short => format!(
            "{} of {} sizes are below 512 B, the smallest request of a device: they are rather sectors; \
             --trace-columns '{}' reads them",
            opening.small,
            opening.requests,
            changed(mapping, |m| set_sizes(m, ColumnUnit::Bytes, ColumnUnit::Sectors))
        ),
        Oddity::OneLess => format!(
            "nearly all sizes are one below a multiple of 4 KiB, as NVMe counts; --trace-columns '{}' adds the one",
            changed(mapping, |mapping| {
                let size = mapping.rules[ColumnRole::Size as usize].iter_mut();
                size.for_each(|rule| (rule.factor, rule.plus, rule.unit) = (512, 512, None));
            })
        ),
        _ => return None,
    })
}

/// What speaks against the sources and addresses of the first requests of a trace.
pub(crate) fn doubt_requests(format: &FormatInfo, requests: &[HostRequest]) -> Option<String> {
    let (name, all) = (format.name, requests.len());
    let streams: BTreeSet<u32> = requests.iter().map(|r| r.stream).collect();
    if format.volumes && all >= FEW && most(streams.len(), all) {
        return Some(format!(
            "{all} requests are of {} volumes: the column of the volume rather counts or holds times; \
             --trace-columns says which columns hold what, --volumes overlay leaves the volumes out",
            streams.len()
        ));
    }
    let size = match format.columns.len() {
        1 => "size==4096",
        _ => "size=2:blocks",
    };
    let other = |r: &HostRequest| r.start_sector != requests[0].start_sector;
    let several = requests.iter().any(other);
    let multiple = |r: &&HostRequest| r.start_sector.is_multiple_of(8 * 512);
    let multiples = requests.iter().filter(multiple).count();
    let is_block = |column: &TraceColumn| matches!(column.holds, Holds::Start(ColumnUnit::Blocks));
    let blocks = format.columns.iter().any(is_block);
    (blocks && several && all > 2 && most(multiples, all)).then(|| {
        format!(
            "{multiples} of {all} numbers are multiples of 512, and `{name}` has numbers of 4 KiB blocks; if they are \
             bytes, --trace-columns 'op==R,offset=1,{size}' reads them; with offset=1:sectors, they are sectors"
        )
    })
}
