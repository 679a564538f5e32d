//! Lines that name the columns, as many publishers put them in front.

use super::columns::Holds;
use super::{FormatInfo, TraceColumn};
use crate::mapping::ColumnRole;
use crate::mapping::rule::ColumnUnit;
use crate::mapping::words::{Meaning, meaning};

/// Does the line name the columns of `info`, in their order? Names differ between copies of a trace, so they are told
/// by the words in them.
pub(crate) fn is_header(info: &FormatInfo, line: &[u8]) -> bool {
    let mut fields = info.separator.split(line.trim_ascii_end());
    let named = info.columns.iter().all(|column| match fields.next() {
        Some(field) => names(info, column, field),
        None => matches!(column.holds, Holds::Optional(..)),
    });
    // Formats that read their lines themselves know their headers.
    let telling = |column: &&TraceColumn| role(column.holds).is_some();
    let telling = info.columns.iter().filter(telling);
    named && telling.count() >= 3 && fields.next().is_none()
}

/// The meaning of a column, as far as a wrong order would make wrong requests.
fn role(holds: Holds) -> Option<ColumnRole> {
    Some(match holds {
        Holds::Ticks(_) | Holds::Decimal(_) => ColumnRole::Time,
        Holds::Kind(_) => ColumnRole::Op,
        Holds::Start(_) => ColumnRole::Offset,
        Holds::Length(_) => ColumnRole::Size,
        _ => return None,
    })
}

/// Is `field` a name of the column, or of another one that holds the same, in the same unit if it names one?
fn names(info: &FormatInfo, column: &TraceColumn, field: &[u8]) -> bool {
    let (name, role) = (String::from_utf8_lossy(field), role(column.holds));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if name.eq_ignore_ascii_case(column.name) {
        return is_name;
    }
    let told = meaning(&name).filter(|meaning| meaning.role != ColumnRole::Volume);
    let unit = match column.holds {
        Holds::Start(unit) | Holds::Length(unit) => Some(unit),
        _ => column.time_unit().map(ColumnUnit::Time),
    };
    let dates = info.dates.map(ColumnUnit::Time);
    let in_unit = |told: Meaning| told.unit.is_none() || [unit, dates].contains(&told.unit);
    let same = told.is_none_or(|told| told.factor == 1 && in_unit(told));
    is_name && same && told.map(|told| told.role) == role
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::by_name;

    const HEADERS: &str = "
        msr Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
        msr timestamp, hostname, disk, io_type, byte_offset, io size, latency\r
        tencent Timestamp,Offset,Size,IOType,VolumeID
        alibaba device_id,opcode,offset,length,timestamp
        spc ASU,LBA,Size,Opcode,Timestamp
        systor17 Timestamp,Response,IOType,LUN,Offset,Size
        k5cloud ID,Timestamp,Type,Offset,Length
        file-ops op,offset,bytes
        disksim time device block size flags
        ssdsim time device sector sectors op
        ssdsim time device sector sectors op hash";
    /// Size and offset are the other way round, and more.
    const OTHERS: &str = "
        msr Timestamp,Hostname,DiskNumber,Type,Size,Offset,ResponseTime
        msr Timestamp,Hostname,DiskNumber,Type,Offset,Size
        msr x,h,0,Read,y,z,1
        msr 1,h,0,Read,0,512,0
        tencent device_id,opcode,offset,length,timestamp
        k5cloud volume,time_us,op,offset,size
        alibaba device,op,lba,length,timestamp
        tencent time,offset_bytes,size,op,volume
        alibaba Timestamp,Offset,Size,IOType,VolumeID
        blkparse device cpu sequence time pid event rwbs sector + sectors
        block-list block";

    #[test]
    fn names_of_columns_are_told_from_requests_and_from_another_order() {
        for (lines, are) in [(HEADERS, true), (OTHERS, false)] {
            for line in lines.lines().skip(1) {
                let (format, line) = line.trim_start().split_once(' ').unwrap();
                let info = by_name(format).unwrap();
                assert_eq!(is_header(info, line.as_bytes()), are, "{format}: {line}");
            }
        }
    }
}
