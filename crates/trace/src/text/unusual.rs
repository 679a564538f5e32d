//! Lines in another spelling than that of their format.

use crate::bytes::input::PAD;
use crate::error::FieldFault;
use crate::mapping::lines::is_drawn;
use crate::readers::columns::kind_of;
use crate::readers::{FormatInfo, Holds, Separator, TraceColumn, is_header};
use crate::sink::RequestSink;
use crate::text::fields::RawLine;
use crate::text::gap::Gap;
use crate::text::line::LineFormat;
use crate::text::numbers::is_blank;
use crate::text::spelling::{Number, kind};

/// The gap between the columns of a line, which may be another one than that of the format, and the mark of fractions.
fn gap_of(info: &FormatInfo, line: &[u8]) -> (Gap, u8) {
    let has = |byte: u8| memchr::memchr(byte, line).is_some();
    let optional = |c: &&TraceColumn| matches!(c.holds, Holds::Optional(..));
    let optional = info.columns.iter().filter(optional).count();
    let columns = info.columns.len() - optional..=info.columns.len();
    let semicolons = || columns.contains(&Gap::Byte(b';').fields(line).len());
    match info.separator {
        Separator::Comma | Separator::Blank if has(b';') && semicolons() => {
            (Gap::Byte(b';'), if has(b',') { b',' } else { b'.' })
        }
        Separator::Comma if !has(b',') => (Gap::Blanks, b'.'),
        Separator::Comma => (Gap::Byte(b','), b'.'),
        Separator::Blank if !has(b' ') && !has(b'\t') => (Gap::Byte(b','), b'.'),
        _ => (Gap::Blanks, b'.'),
    }
}

/// A line as its format spells it; `None` if it is as it should be, or nothing of the format at all.
pub(crate) fn usual(info: &FormatInfo, line: &[u8]) -> Option<Vec<u8>> {
    /// Words that formats have for kinds of requests.
    const KINDS: [&[u8]; 9] = [b"R", b"W", b"D", b"T", b"F", b"Read", b"Write", b"0", b"1"];
    let line = line.trim_ascii();
    let (gap, mark) = gap_of(info, line);
    let between = match info.separator {
        Separator::Comma => b',',
        _ => b' ',
    };
    let mut out = Vec::with_capacity(line.len() + PAD);
    for (i, field) in gap.fields(line).into_iter().enumerate() {
        if i > 0 {
            out.push(between);
        }
        let number = || Number::parse(field, mark).ok();
        let whole = || Some(number()?.whole().ok()?.to_string().into_bytes());
        let real = || Some(number()?.text()?.into_bytes());
        let spelled = match info.columns.get(i).map(|column| column.holds) {
            Some(Holds::Decimal(_)) => real(),
            Some(Holds::Kind(words)) if kind_of(words, field).is_none() => {
                let op = kind(field);
                let same = |word: &&&[u8]| op.is_some() && kind_of(words, word) == Some(op);
                KINDS.iter().find(same).map(|word| word.to_vec())
            }
            Some(Holds::Unused(fits, _) | Holds::Optional(fits, _)) if !fits(field) => real(),
            Some(Holds::Own | Holds::OwnTime(_)) => {
                let odd = field.ends_with(b".0") || field.starts_with(b"0x");
                odd.then(whole).flatten()
            }
            Some(Holds::Unused(..) | Holds::Optional(..) | Holds::Kind(_) | Holds::Host) | None => {
                None
            }
            Some(_) => whole(),
        };
        let is_gap = |byte: &u8| *byte == between || between == b' ' && is_blank(*byte);
        let joined = |byte: &u8| if is_gap(byte) { b'_' } else { *byte };
        out.extend(spelled.unwrap_or_else(|| field.iter().map(joined).collect()));
    }
    (out != line).then_some(out)
}

/// A line that could not be read may name the columns, part others, or be spelled in another way.
#[cold]
#[inline(never)]
pub(crate) fn unusual<F: LineFormat>(
    info: &FormatInfo,
    format: &mut F,
    line: &[u8],
    fault: FieldFault,
    sink: &mut RequestSink<'_>,
) -> Result<(), FieldFault> {
    if is_header(info, line) || is_drawn(line) {
        return Ok(());
    }
    let Some(mut text) = usual(info, line) else {
        return Err(fault);
    };
    let len = text.len();
    text.resize(len + PAD, b'\n');
    let read = format.line(RawLine::new(&text, len), sink);
    // The fields of the message are those between the format's own separators.
    let further =
        |second: &FieldFault| second.column > fault.column && second.column != FieldFault::LINE;
    let same = gap_of(info, line).0 == gap_of(info, &text[..len]).0;
    read.map_err(|second| Some(second).filter(|s| same && further(s)).unwrap_or(fault))
}
