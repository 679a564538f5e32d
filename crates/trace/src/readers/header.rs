//! Lines that name the columns, as many publishers put them in front.

use super::FormatInfo;
use super::table::Holds;

/// The meaning of a column, as far as a wrong order would make wrong requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    Time,
    Kind,
    Start,
    Length,
    Other,
}

/// Does the line name the columns of `info`, in their order? Names differ between copies of a
/// trace, so they are told by the words in them.
pub(crate) fn is_header(info: &FormatInfo, line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let (mut fields, mut telling) = (info.separator.split(line), 0);
    for column in info.columns {
        let wanted = meaning(&column.holds);
        let fits = match fields.next() {
            Some(field) => named(field) == Some(wanted),
            None => matches!(column.holds, Holds::Optional(..)),
        };
        if !fits {
            return false;
        }
        telling += u32::from(wanted != Meaning::Other);
    }
    // Formats that read their lines themselves know their headers.
    telling >= 3 && fields.next().is_none()
}

fn meaning(holds: &Holds) -> Meaning {
    match holds {
        Holds::Ticks(_) | Holds::Decimal(_) | Holds::Clock => Meaning::Time,
        Holds::Kind(_) | Holds::KindOrBlank(_) => Meaning::Kind,
        Holds::Sector | Holds::Offset | Holds::Block => Meaning::Start,
        Holds::Sectors | Holds::Bytes | Holds::Blocks => Meaning::Length,
        _ => Meaning::Other,
    }
}

/// The meaning of a column of this name; `None` if it is no name.
fn named(field: &[u8]) -> Option<Meaning> {
    let letters = field.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let name: String = letters.map(|b| b.to_ascii_lowercase() as char).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let is = |words: &[&str]| words.contains(&name.as_str());
    Some(if has(&["response", "latency", "duration", "elapsed"]) {
        Meaning::Other
    } else if has(&["time", "stamp", "arrival"]) || is(&["ts"]) {
        Meaning::Time
    } else if has(&["offset", "lba", "lbn", "address", "start"]) {
        Meaning::Start
    } else if has(&["size", "length", "bytes", "sectors", "blocks", "count"]) || is(&["len"]) {
        Meaning::Length
    } else if has(&["sector", "block"]) {
        Meaning::Start
    } else if has(&["type", "opcode", "operation", "flags"])
        || is(&["op", "rw", "kind", "request", "io", "cmd"])
    {
        Meaning::Kind
    } else {
        Meaning::Other
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::by_name;

    fn header(format: &str, line: &str) -> bool {
        is_header(by_name(format).unwrap(), line.as_bytes())
    }

    #[test]
    fn names_of_columns_are_told_from_requests_and_from_another_order() {
        for (format, line) in [
            (
                "msr",
                "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            ),
            (
                "msr",
                "timestamp, hostname, disk, io_type, byte_offset, io size, latency\r",
            ),
            ("tencent", "Timestamp,Offset,Size,IOType,VolumeID"),
            ("alibaba", "device_id,opcode,offset,length,timestamp"),
            ("spc", "ASU,LBA,Size,Opcode,Timestamp"),
            ("systor17", "Timestamp,Response,IOType,LUN,Offset,Size"),
            ("k5cloud", "ID,Timestamp,Type,Offset,Length"),
            ("file-ops", "op,offset,bytes"),
            ("disksim", "time device block size flags"),
            ("ssdsim", "time device sector sectors op"),
            ("ssdsim", "time device sector sectors op hash"),
        ] {
            assert!(header(format, line), "{format}: {line}");
        }
        for (format, line) in [
            // Size and offset are the other way round.
            (
                "msr",
                "Timestamp,Hostname,DiskNumber,Type,Size,Offset,ResponseTime",
            ),
            ("msr", "Timestamp,Hostname,DiskNumber,Type,Offset,Size"),
            ("msr", "x,h,0,Read,y,z,1"),
            ("msr", "1,h,0,Read,0,512,0"),
            ("tencent", "device_id,opcode,offset,length,timestamp"),
            ("alibaba", "Timestamp,Offset,Size,IOType,VolumeID"),
            (
                "blkparse",
                "device cpu sequence time pid event rwbs sector + sectors",
            ),
            ("block-list", "block"),
        ] {
            assert!(!header(format, line), "{format}: {line}");
        }
    }
}
