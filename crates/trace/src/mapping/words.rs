//! What columns hold that have certain names.

use super::ColumnRole;
use super::rule::{ColumnUnit, Until};
use crate::time_unit::TimeUnit;

/// What a column of some name holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Meaning {
    pub role: ColumnRole,
    /// The larger, the surer.
    pub score: u8,
    pub unit: Option<ColumnUnit>,
    pub factor: u64,
    pub until: Until,
}

/// Units of sizes at the end of names, and factors.
#[rustfmt::skip]
const UNITS: [(&str, ColumnUnit, u64); 6] = [
    ("b bytes", ColumnUnit::Bytes, 1),
    ("sectors", ColumnUnit::Sectors, 1),
    ("kb kib", ColumnUnit::Bytes, 1_024),
    ("mb mib", ColumnUnit::Bytes, 1 << 20),
    ("gb gib", ColumnUnit::Bytes, 1 << 30),
    ("hex", ColumnUnit::Hex, 1),
];

/// Parts of the names of other times, and of numbers that no request has; and whole names.
const OTHERS: &str = "latency response duration elapsed service complete delta diff priority depth created end queue interval";
const OTHER_NAMES: &str = "iotime ctime mtime atime";

/// Names of each value without blanks and signs, how sure they are, and the unit that they say.
#[rustfmt::skip]
const NAMES: [(ColumnRole, u8, Option<ColumnUnit>, &str); 19] = [
    (ColumnRole::Time, 9, None, "starttime inittime arrival arrivaltime issuetime submittime reqtime"),
    (ColumnRole::Time, 8, None, "time timestamp ts t datetime date when optime eventtime"),
    (ColumnRole::Time, 6, None, "tick ticks clock tsc epoch unixtime walltime"),
    (ColumnRole::Op, 9, None, "op operation dir optype opname opcode iotype rw rwbs readwrite"),
    (ColumnRole::Op, 8, None, "type kind action direction requesttype reqtype accesstype mode ddir"),
    (ColumnRole::Op, 8, None, "iswrite write isread read opc"),
    (ColumnRole::Op, 7, None, "io request cmd flag flags command access"),
    (
        ColumnRole::Offset,
        9,
        None,
        "offset off byteoffset minoffset iooffset startoffset firstbyte fileoffset offsetbyte startbyte \
         address addr startaddress startaddr position pos",
    ),
    (
        ColumnRole::Volume,
        9,
        None,
        "volume volumeid vol volid device deviceid dev devid disk diskid disknumber disknum diskno lun lunid asu drive \
         nsid namespace",
    ),
    (ColumnRole::Fua, 9, None, "fua isfua forceunitaccess"),
    (ColumnRole::Preflush, 9, None, "preflush"),
    (ColumnRole::Offset, 4, None, "start"),
    (
        ColumnRole::Offset,
        8,
        SECTORS,
        "lba lbn slba sector startsector startlba firstsector firstlba lbastart lbasector blkno sectoroffset \
         sectornumber offsetsector logicalblockaddress",
    ),
    (ColumnRole::Offset, 7, SOME_BLOCKS, "block blk blkaddr blockaddr blockno blocknumber blocknum startblock firstblock"),
    (ColumnRole::Offset, 7, PAGES, "page pageno pagenumber pagenum lpn lpa startpage firstpage"),
    (
        ColumnRole::Size,
        9,
        None,
        "size sz iosize length len bytes nbytes numbytes requestsize reqsize transfersize xfersize requestiosize \
         bytecount iolength reqlen",
    ),
    (ColumnRole::Size, 7, SECTORS, "nrsectors nrsector nsectors nsector nsec sectors numsectors sectorcount nsect sizesectors"),
    (ColumnRole::Size, 7, SOME_BLOCKS, "nblocks numblocks blocks nblks nblk nlb blockcount"),
    (ColumnRole::Size, 7, PAGES, "npages numpages pages pagecount"),
];
const SECTORS: Option<ColumnUnit> = Some(ColumnUnit::Sectors);
const SOME_BLOCKS: Option<ColumnUnit> = Some(ColumnUnit::SomeBlocks);
const PAGES: Option<ColumnUnit> = Some(ColumnUnit::Blocks);

/// Names of the ends of requests.
#[rustfmt::skip]
const ENDS: [(Until, Option<ColumnUnit>, &str); 4] = [
    (Until::Last, SECTORS, "lastlba lastsector"),
    (Until::Last, None, "lastbyte lastoffset lastaddress lastaddr"),
    (Until::Open, SECTORS, "endlba endsector lbaend sectorend"),
    (Until::Open, None, "endoffset endbyte endaddress endaddr offsetend"),
];

fn has(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// The name without the unit at its end.
fn split_unit(name: &str) -> (&str, Option<(ColumnUnit, u64)>) {
    let named = |text: &str| {
        let row = UNITS.iter().find(|row| has(row.0, text));
        let time = || Some((ColumnUnit::Time(TimeUnit::of_word(text)?), 1));
        row.map(|row| (row.1, row.2)).or_else(time)
    };
    for (open, close) in [('(', ')'), ('[', ']')] {
        let inner = name.strip_suffix(close);
        if let Some((stem, unit)) = inner.and_then(|name| name.rsplit_once(open)) {
            return (stem.trim_end(), named(unit.trim()));
        }
    }
    let parts = name.rsplit_once(['_', ' ', '.', '-']);
    let unit = parts.and_then(|(_, text)| named(text));
    match parts.filter(|(stem, _)| unit.is_some() && !stem.is_empty()) {
        Some((stem, _)) => (stem, unit),
        None => (name, None),
    }
}

/// The kinds of reads and writes in a column of this name that tells one of them from the other.
pub(crate) fn words(name: &str) -> &'static [(&'static str, &'static str)] {
    type Words = [(&'static str, &'static str)];
    #[rustfmt::skip]
    const WRITES: &Words =
        &[("1", "W"), ("0", "R"), ("true", "W"), ("false", "R"), ("True", "W"), ("False", "R")];
    #[rustfmt::skip]
    const READS: &Words =
        &[("1", "R"), ("0", "W"), ("true", "R"), ("false", "W"), ("True", "R"), ("False", "W")];
    let name = name.to_lowercase();
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match letters.as_str() {
        "iswrite" | "write" => WRITES,
        "isread" | "read" => READS,
        // Those of NVMe.
        "opc" => &[("2", "R"), ("1", "W"), ("9", "T"), ("0", "F")],
        _ => &[],
    }
}

/// What a column of this name holds, if that can be told; of members of objects, by the last part of the name.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    let name = name.trim().to_lowercase();
    let member = || name.rsplit_once('.').and_then(|(_, last)| meaning_of(last));
    meaning_of(&name).or_else(member)
}

fn meaning_of(name: &str) -> Option<Meaning> {
    let (stem, unit) = split_unit(name);
    let word: String = stem.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut until = Until::Size;
    let (role, score, own) = if let Some(end) = ENDS.iter().find(|row| has(row.2, &word)) {
        until = end.0;
        (ColumnRole::Size, 6, end.1)
    } else if OTHERS.split(' ').any(|other| word.contains(other)) || has(OTHER_NAMES, &word) {
        return None;
    } else {
        role_of(&word, unit)?
    };
    let is_time = |unit: ColumnUnit| matches!(unit, ColumnUnit::Time(_));
    let fits = |unit: &(ColumnUnit, u64)| match role {
        ColumnRole::Time => is_time(unit.0),
        ColumnRole::Offset | ColumnRole::Size => !is_time(unit.0),
        _ => false,
    };
    let (unit, factor) = match (unit.filter(fits), own) {
        // Sectors in hexadecimal digits.
        (Some((ColumnUnit::Hex, _)), Some(own)) => (Some(ColumnUnit::Hex), own.bytes()),
        (Some((unit, factor)), _) => (Some(unit), factor),
        (None, own) => (own, 1),
    };
    Some(Meaning {
        role,
        score,
        unit,
        factor,
        until,
    })
}

/// What a name without its unit says: the value, how sure that is, and the unit.
fn role_of(
    word: &str,
    unit: Option<(ColumnUnit, u64)>,
) -> Option<(ColumnRole, u8, Option<ColumnUnit>)> {
    let is_time = |unit: ColumnUnit| matches!(unit, ColumnUnit::Time(_));
    // A number of sectors or bytes.
    let counted = has("nr num n io req request", word) && unit.is_some_and(|unit| !is_time(unit.0));
    let row = NAMES.iter().find(|row| has(row.3, word));
    let row = row.filter(|_| !counted);
    Some(match row {
        // `start` may be an address, and `start_ns` is a time.
        Some((_, _, _, "start")) if unit.is_some_and(|unit| is_time(unit.0)) => {
            (ColumnRole::Time, 7, None)
        }
        Some(&(role, score, own, _)) => (role, score, own),
        None if counted => (ColumnRole::Size, 8, None),
        None if word.ends_with("timestamp") => (ColumnRole::Time, 6, None),
        None if word.ends_with("offset") && !word.starts_with("max") => {
            (ColumnRole::Offset, 5, None)
        }
        None if word.ends_with("size") && !word.contains("block") && !word.contains("sector") => {
            (ColumnRole::Size, 5, None)
        }
        // A unit alone.
        None => {
            let unit = TimeUnit::of_word(word).filter(|_| word.len() > 1)?;
            (ColumnRole::Time, 5, Some(ColumnUnit::Time(unit)))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAYS: &str = "
        arrival_ns: time ns | timestamp: time | Init Time (s): time s | op_time: time | when_us: time us | Timestamp: time
        IO Type: op | Operation: op | op: op | Min Offset: offset | Byte Offset: offset | start_sector: offset sectors
        lba: offset sectors | lba_bytes: offset bytes | Size (B): size bytes | nr_sectors: size sectors
        sectors: size sectors | nsec: size sectors | request_io_size_bytes: size bytes | io_bytes: size bytes
        size_kb: size bytes x1024 | DiskNumber: volume | Disk: volume | latency_ms: | IO Time (\u{b5}s): | Max Offset:
        start: offset | start_ns: time ns | io.offset: offset | event.time_us: time us | is_write: op | nblocks: size sectors
        Complete Time (s): | pid: | End Time: | ResponseTime: | comm: | Disk Service Time (\u{b5}s): | block_size:
        block: offset sectors | npages: size blocks | lba_hex: offset hex x512 | tick_us: time us | last_lba: size sectors
        end_offset: size | tsc: time
    ";

    #[test]
    fn names_say_what_columns_hold() {
        let cases = SAYS.split(['|', '\n']).map(str::trim);
        for case in cases.filter(|case| !case.is_empty()) {
            let (name, says) = case.split_once(':').unwrap();
            let found = meaning(name).map(|m| {
                let unit = m.unit.map_or(String::new(), |unit| format!(" {unit}"));
                let factor = (m.factor > 1).then(|| format!(" x{}", m.factor));
                format!("{}{unit}{}", m.role.key(), factor.unwrap_or_default())
            });
            assert_eq!(found.unwrap_or_default(), says.trim(), "{name}");
        }
        assert_eq!(meaning(""), None);
    }
}
