//! The request that the values of a row make.

use destage_types::{HostRequest, Nanos, Op};

use super::columns::ParquetValue;
use crate::error::FieldFault;
use crate::extent;
use crate::readers::table::NO_KIND;
use crate::sink::RequestSink;

/// The order of the columns.
pub(super) const TIME: usize = 0;
const OP: usize = 1;
const START: usize = 2;
const LENGTH: usize = 3;

const NULL: &str = "is not given";

/// Ticks of a time: real numbers become ns, of which one unit has `real_ns`.
fn ticks(cell: ParquetValue<'_>, real_ns: f64) -> Result<u64, &'static str> {
    match cell {
        ParquetValue::Integer(..0) => Err("is negative"),
        ParquetValue::Real(x) if x < 0.0 => Err("is negative"),
        ParquetValue::Integer(n) => u64::try_from(n).map_err(|_| "does not fit 64 bits"),
        ParquetValue::Real(x) if x * real_ns < u64::MAX as f64 => Ok((x * real_ns) as u64),
        ParquetValue::Real(x) if x.is_nan() => Err("is no number"),
        ParquetValue::Real(_) => Err("is too large"),
        ParquetValue::Null => Err(NULL),
        ParquetValue::Text(_) => Err("is no number"),
    }
}

fn kind(cell: ParquetValue<'_>) -> Result<Op, &'static str> {
    let ParquetValue::Text(text) = cell else {
        return Err(NULL);
    };
    let is = |words: &[&str]| {
        words
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
    };
    match text {
        _ if is(&["r", "read"]) => Ok(Op::Read),
        _ if is(&["w", "write"]) => Ok(Op::Write),
        _ if is(&["t", "trim", "discard"]) => Ok(Op::Trim),
        _ if is(&["f", "flush"]) => Ok(Op::Flush),
        _ => Err(NO_KIND),
    }
}

fn bytes(cell: ParquetValue<'_>) -> Result<u64, &'static str> {
    match cell {
        ParquetValue::Integer(..0) => Err("is negative"),
        ParquetValue::Integer(n) => u64::try_from(n).map_err(|_| "does not fit 64 bits"),
        _ => Err(NULL),
    }
}

/// Pushes the request of a row.
pub(super) fn push(
    cells: [ParquetValue<'_>; 4],
    real_ns: f64,
    sink: &mut RequestSink<'_>,
) -> Result<(), FieldFault> {
    let at = |column: usize| move |why| FieldFault::at(column as u16, why);
    let time = ticks(cells[TIME], real_ns).map_err(at(TIME))?;
    let op = kind(cells[OP]).map_err(at(OP))?;
    if op == Op::Flush {
        for column in [START, LENGTH] {
            if !matches!(cells[column], ParquetValue::Null | ParquetValue::Integer(0)) {
                return Err(at(column)("is given, but a flush has no address"));
            }
        }
        let flush = HostRequest::new(Nanos::ZERO, op, 0, 0);
        return sink.push(time, flush).map_err(at(TIME));
    }
    let start = bytes(cells[START]).map_err(at(START))?;
    let length = bytes(cells[LENGTH]).map_err(at(LENGTH))?;
    let placed = extent::from_bytes(start, length);
    let (extent, rounded) = placed.map_err(|fault| fault.at(START as u16, LENGTH as u16))?;
    sink.push_extent(time, op, extent, 0).map_err(at(TIME))?;
    sink.count_unaligned(rounded);
    Ok(())
}
