//! Fields of a line, parsed in place: no allocation, no text conversion.

use crate::bytes::input::PAD;
use crate::error::FieldFault;
use crate::text::numbers::{
    EMPTY, NO_NUMBER, first_in, first_of, is_blank, leading_decimal, leading_digits, load,
    looks_like_integer, parse_decimal, parse_u64,
};

/// A line without its end, and the [`PAD`] bytes behind it. The byte behind the line is neither a digit
/// nor a separator. It is two words, which functions pass in registers.
#[derive(Clone, Copy)]
pub(crate) struct RawLine<'a> {
    padded: &'a [u8],
}

impl<'a> RawLine<'a> {
    /// The first `len` bytes of a buffer that goes on for at least [`PAD`] bytes.
    #[inline(always)]
    pub fn new(padded: &'a [u8], len: usize) -> RawLine<'a> {
        let padded = &padded[..len + PAD];
        RawLine { padded }
    }

    #[inline(always)]
    fn len(self) -> usize {
        self.padded.len() - PAD
    }

    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        &self.padded[..self.len()]
    }

    /// The line without its first bytes.
    #[inline(always)]
    pub fn behind(self, bytes: usize) -> RawLine<'a> {
        let padded = &self.padded[bytes..];
        RawLine { padded }
    }

    /// Its fields between commas.
    #[inline(always)]
    pub fn fields(self) -> Fields<'a> {
        Fields {
            line: self,
            position: 0,
            column: 0,
        }
    }

    /// Its fields between blanks or tabs, however many.
    #[inline(always)]
    pub fn words(self) -> BlankFields<'a> {
        let mut words = BlankFields {
            line: self,
            position: 0,
            column: 0,
        };
        words.step(0);
        words
    }
}

pub(crate) const MISSING: &str = "is missing: the line has too few columns";
pub(crate) const TOO_MANY: &str = "is one column too many";

/// A cursor over the fields of a line. Behind the last one `position` is `len + 1` where commas
/// separate, and `len` for `BLANKS`.
///
/// All methods are compiled into their callers, and slow paths take the cursor by value and return a position.
/// As long as nobody holds its address, it stays in registers, and the number of the column is known to the
/// compiler. That is up to half of the reading time.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a, const BLANKS: bool = false> {
    line: RawLine<'a>,
    /// The first byte of the next field.
    position: usize,
    column: u16,
}

/// The fields of a line between blanks.
pub(crate) type BlankFields<'a> = Fields<'a, true>;

impl<'a, const BLANKS: bool> Fields<'a, BLANKS> {
    /// Index of the field that comes next.
    pub fn column(&self) -> u16 {
        self.column
    }

    #[inline(always)]
    fn is_separator(byte: u8) -> bool {
        if BLANKS { is_blank(byte) } else { byte == b',' }
    }

    /// Does a field that goes up to `end` end there?
    #[inline(always)]
    fn ends(&self, end: usize) -> bool {
        end == self.line.len() || end < self.line.len() && Self::is_separator(self.line.padded[end])
    }

    /// Goes on at `end`, behind the separator there.
    #[inline(always)]
    fn step(&mut self, end: usize) {
        if !BLANKS {
            self.position = end + 1;
            return;
        }
        let bytes = self.line.bytes();
        self.position = end;
        while bytes.get(self.position).is_some_and(|&b| is_blank(b)) {
            self.position += 1;
        }
    }

    /// The next field as an unsigned whole number.
    #[inline(always)]
    pub fn u64(&mut self) -> Result<u64, FieldFault> {
        let (value, digits) = leading_digits(self.line.padded, self.position);
        let end = self.position + digits;
        // 19 digits fit 64 bits whatever they are.
        if self.ends(end) && digits.wrapping_sub(1) < 19 {
            self.step(end);
            self.column += 1;
            return Ok(value);
        }
        let (value, position) = self.by_bytes(parse_u64)?;
        self.position = position;
        self.column += 1;
        Ok(value)
    }

    /// The next field as `parse` reads it, and where the one behind it begins.
    #[cold]
    #[inline(never)]
    fn by_bytes<T>(
        mut self,
        parse: impl Fn(&'a [u8]) -> Result<T, &'static str>,
    ) -> Result<(T, usize), FieldFault> {
        let column = self.column;
        let value = parse(self.text()?).map_err(|why| FieldFault::at(column, why))?;
        Ok((value, self.position))
    }

    /// The next field as a number of at most 32 bits.
    #[inline(always)]
    pub fn u32(&mut self) -> Result<u32, FieldFault> {
        let column = self.column;
        let value = self.u64()?;
        u32::try_from(value).map_err(|_| FieldFault::at(column, "does not fit 32 bits"))
    }

    /// As [`Fields::u32`], with 0 for an empty field.
    #[inline(always)]
    pub fn u32_or_empty(&mut self) -> Result<u32, FieldFault> {
        if self.rest().first().is_none_or(|&b| Self::is_separator(b)) {
            return self.text().map(|_| 0);
        }
        self.u32()
    }

    /// The next field as 10^`places` times its value; digits behind those are dropped.
    #[inline(always)]
    pub fn decimal(&mut self, places: u32) -> Result<u64, FieldFault> {
        if let Some((value, bytes)) = leading_decimal(self.line.padded, self.position, places)
            && self.ends(self.position + bytes)
        {
            self.step(self.position + bytes);
            self.column += 1;
            return Ok(value);
        }
        let (value, position) = self.by_bytes(|text| parse_decimal(text, places))?;
        self.position = position;
        self.column += 1;
        Ok(value)
    }

    /// The next field as it stands; none at the end of the line.
    #[inline(always)]
    pub fn next_text(&mut self) -> Option<&'a [u8]> {
        let rest = self.line.bytes().get(self.position..)?;
        if BLANKS && rest.is_empty() {
            return None;
        }
        let separators = if BLANKS { [b' ', b'\t'] } else { [b','; 2] };
        let padded = &self.line.padded[self.position..];
        let field = &rest[..first_of(separators, padded, rest.len())];
        self.step(self.position + field.len());
        self.column = self.column.saturating_add(1);
        Some(field)
    }

    /// The next field as it stands; may be empty between commas.
    #[inline(always)]
    pub fn text(&mut self) -> Result<&'a [u8], FieldFault> {
        let column = self.column;
        self.next_text().ok_or(FieldFault::at(column, MISSING))
    }

    /// The next field as a number: its bytes, the first in the lowest, and a one behind them. If there are eight or
    /// more, it does not step over them.
    #[inline(always)]
    pub fn short_word(&mut self) -> Option<u64> {
        let bytes = load(self.line.padded, self.position)?;
        let left = self.line.len().checked_sub(self.position)?;
        let separators = if BLANKS { [b' ', b'\t'] } else { [b','; 2] };
        let len = first_in(separators, bytes).min(left);
        if len >= 8 {
            return None;
        }
        self.step(self.position + len);
        self.column += 1;
        let one = 1 << (8 * len);
        Some(bytes & (one - 1) | one)
    }

    /// Steps over a field that must be a whole number but is not used, whatever its size or sign.
    #[inline(always)]
    pub fn unused_integer(&mut self) -> Result<(), FieldFault> {
        let (_, digits) = leading_digits(self.line.padded, self.position);
        let end = self.position + digits;
        if self.ends(end) && digits > 0 {
            self.step(end);
        } else {
            ((), self.position) = self.by_bytes(check_integer)?;
        }
        self.column += 1;
        Ok(())
    }

    /// The rest of the line, the next field first.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.line.bytes().get(self.position..).unwrap_or(&[])
    }

    /// Makes sure that no field is left.
    #[inline(always)]
    pub fn end(&self) -> Result<(), FieldFault> {
        if self.position >= self.line.len() + usize::from(!BLANKS) {
            Ok(())
        } else {
            Err(FieldFault::at(self.column, TOO_MANY))
        }
    }
}

fn check_integer(text: &[u8]) -> Result<(), &'static str> {
    match text {
        _ if looks_like_integer(text) => Ok(()),
        [] => Err(EMPTY),
        _ => Err(NO_NUMBER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_line<T>(text: &str, run: impl FnOnce(RawLine<'_>) -> T) -> T {
        let padded = [text.as_bytes(), b"\n1234567890,234567"].concat();
        run(RawLine::new(&padded, text.len()))
    }

    fn with_fields<T>(text: &str, run: impl FnOnce(Fields<'_>) -> T) -> T {
        with_line(text, |line| run(line.fields()))
    }

    fn with_words<T>(text: &str, run: impl FnOnce(BlankFields<'_>) -> T) -> T {
        with_line(text, |line| run(line.words()))
    }

    #[test]
    fn a_missing_field_is_not_taken_from_the_next_line() {
        with_fields("1", |mut f| {
            assert_eq!(f.u64(), Ok(1));
            assert_eq!(f.u64(), Err(FieldFault::at(1, MISSING)));
        });
        with_fields("1,", |mut f| {
            assert_eq!(f.u64(), Ok(1));
            assert_eq!(f.end(), Err(FieldFault::at(1, TOO_MANY)));
            assert_eq!(f.u64(), Err(FieldFault::at(1, EMPTY)));
        });
    }

    #[test]
    fn unused_numbers_may_have_a_sign_and_any_length() {
        let check =
            |text: &str| with_fields(text, |mut f| f.unused_integer().and_then(|()| f.end()));
        assert!(check("0").is_ok() && check("-5").is_ok() && check(&"9".repeat(40)).is_ok());
        assert!(check("").is_err() && check("-").is_err() && check("1x").is_err());
        assert!(check("1,2").is_err());
    }

    #[test]
    fn any_blanks_separate() {
        with_words(" \t1  22\t333 ", |mut w| {
            assert_eq!((w.u64(), w.u64(), w.column()), (Ok(1), Ok(22), 2));
            assert!(w.end().is_err());
            assert_eq!((w.u64(), w.end()), (Ok(333), Ok(())));
            assert_eq!(w.u64(), Err(FieldFault::at(3, MISSING)));
        });
    }

    proptest! {
        #[test]
        fn every_number_is_read_as_written(
            a: u64,
            b in 0u64..1_000_000_000_000,
            zeros in 0usize..12,
        ) {
            let text = format!("{}{a},{b}", "0".repeat(zeros));
            with_fields(&text, |mut f| {
                prop_assert_eq!(f.u64(), Ok(a));
                prop_assert_eq!(f.u64(), Ok(b));
                prop_assert_eq!(f.end(), Ok(()));
                Ok(())
            })?;
        }

        #[test]
        fn any_text_gives_what_the_slow_parser_gives(text in "[-0-9a,]{0,30}") {
            let first = text.split(',').next().unwrap();
            let read = with_fields(&text, |mut f| f.u64().map_err(|fault| fault.why));
            prop_assert_eq!(read, parse_u64(first.as_bytes()));
        }

        #[test]
        fn words_are_what_a_split_gives(text in "[-0-9a \t]{0,40}") {
            let words: Vec<&str> = text.split([' ', '\t']).filter(|w| !w.is_empty()).collect();
            with_words(&text, |mut w| {
                for &word in &words {
                    let before = w;
                    prop_assert_eq!(w.text(), Ok(word.as_bytes()));
                    let mut number = before;
                    let value = number.u64().map_err(|fault| fault.why);
                    prop_assert_eq!(value, parse_u64(word.as_bytes()));
                }
                prop_assert!(w.end().is_ok() && w.text().is_err());
                Ok(())
            })?;
        }
    }
}
