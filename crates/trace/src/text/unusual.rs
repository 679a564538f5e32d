//! Lines that are good although they are not quite of their format.

use crate::bytes::input::PAD;
use crate::error::FieldFault;
use crate::readers::{FormatInfo, Separator, is_header};
use crate::sink::RequestSink;
use crate::text::fields::RawLine;
use crate::text::line::LineFormat;

/// A line that could not be read may name the columns, or have blanks beside its commas.
#[cold]
#[inline(never)]
pub(crate) fn unusual<F: LineFormat>(
    info: &FormatInfo,
    format: &mut F,
    line: &[u8],
    fault: FieldFault,
    sink: &mut RequestSink<'_>,
) -> Result<(), FieldFault> {
    if is_header(info, line) {
        return Ok(());
    }
    let blank = |field: &[u8]| field.len() > field.trim_ascii().len();
    let commas = info.separator == Separator::Comma;
    if !commas || !line.split(|&byte| byte == b',').any(blank) {
        return Err(fault);
    }
    let fields: Vec<&[u8]> = Separator::Comma.split(line).collect();
    let mut text = fields.join(&b',');
    let len = text.len();
    text.resize(len + PAD, b'\n');
    format.line(RawLine::new(&text, len), sink)
}
