//! Fields of a line, parsed in place: no allocation, no text conversion, eight digits at once.

use crate::error::Fault;

/// A line without its end, inside a buffer that goes on for at least eight bytes behind it. The
/// byte behind the line is neither a digit nor a separator.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    padded: &'a [u8],
    len: usize,
}

impl<'a> Line<'a> {
    #[inline]
    pub fn new(padded: &'a [u8], len: usize) -> Line<'a> {
        Line { padded, len }
    }

    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        &self.padded[..self.len]
    }

    /// The line and what follows it in the buffer.
    #[inline]
    pub fn padded(self) -> &'a [u8] {
        self.padded
    }

    #[inline]
    pub fn fields(self, separator: u8) -> Fields<'a> {
        Fields {
            line: self,
            separator,
            position: 0,
            column: 0,
        }
    }
}

pub(crate) const MISSING: &str = "is missing: the line has too few columns";
pub(crate) const TOO_MANY: &str = "is one column too many";
const EMPTY: &str = "is empty";
const NEGATIVE: &str = "is negative";
const OVERFLOW: &str = "does not fit 64 bits";
const NO_NUMBER: &str = "is not a whole number";

/// Walks over the fields of a line. Behind the last one `position` is `len + 1`.
///
/// Slow paths take it by value and return a position: as long as nobody holds its address, the walk
/// stays in registers, which is a third of the reading time, and the number of the column is known
/// to the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    line: Line<'a>,
    separator: u8,
    position: usize,
    column: u16,
}

impl<'a> Fields<'a> {
    /// Index of the field that comes next.
    pub fn column(&self) -> u16 {
        self.column
    }

    /// The next field as an unsigned whole number.
    #[inline(always)]
    pub fn u64(&mut self) -> Result<u64, Fault> {
        let (value, digits) = leading_digits(self.line.padded, self.position);
        let end = self.position + digits;
        let ends =
            end == self.line.len || end < self.line.len && self.line.padded[end] == self.separator;
        // 19 digits fit 64 bits whatever they are.
        if ends && digits.wrapping_sub(1) < 19 {
            self.position = end + 1;
            self.column += 1;
            return Ok(value);
        }
        let (value, position) = self.u64_by_bytes()?;
        self.position = position;
        self.column += 1;
        Ok(value)
    }

    #[cold]
    #[inline(never)]
    fn u64_by_bytes(mut self) -> Result<(u64, usize), Fault> {
        let column = self.column;
        let value = parse_u64(self.text()?).map_err(|why| Fault::at(column, why))?;
        Ok((value, self.position))
    }

    /// The next field as a number of at most 32 bits.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Fault> {
        let column = self.column;
        let value = self.u64()?;
        u32::try_from(value).map_err(|_| Fault::at(column, "does not fit 32 bits"))
    }

    /// As [`Fields::u32`], with 0 for an empty field.
    #[inline]
    pub fn u32_or_empty(&mut self) -> Result<u32, Fault> {
        if self
            .rest()
            .first()
            .is_none_or(|&byte| byte == self.separator)
        {
            return self.text().map(|_| 0);
        }
        self.u32()
    }

    /// The next field as it stands; may be empty.
    #[inline]
    pub fn text(&mut self) -> Result<&'a [u8], Fault> {
        let rest = match self.line.bytes().get(self.position..) {
            Some(rest) => rest,
            None => return Err(Fault::at(self.column, MISSING)),
        };
        let end = memchr::memchr(self.separator, rest).unwrap_or(rest.len());
        self.position += end + 1;
        self.column += 1;
        Ok(&rest[..end])
    }

    /// Steps over a field that must be a whole number but is not used, whatever its size or sign.
    #[inline(always)]
    pub fn unused_integer(&mut self) -> Result<(), Fault> {
        let (_, digits) = leading_digits(self.line.padded, self.position);
        let end = self.position + digits;
        let ends =
            end == self.line.len || end < self.line.len && self.line.padded[end] == self.separator;
        if ends && digits > 0 {
            self.position = end + 1;
            self.column += 1;
            return Ok(());
        }
        self.position = self.integer_by_bytes()?;
        self.column += 1;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn integer_by_bytes(mut self) -> Result<usize, Fault> {
        let column = self.column;
        let text = self.text()?;
        match text.strip_prefix(b"-").unwrap_or(text) {
            [] => Err(Fault::at(column, EMPTY)),
            digits if digits.iter().all(u8::is_ascii_digit) => Ok(self.position),
            _ => Err(Fault::at(column, NO_NUMBER)),
        }
    }

    /// The next eight bytes, the first one lowest. They may reach beyond the line, but start in
    /// it: 0 if no field is left, as the next line may begin with what is looked for.
    #[inline(always)]
    pub fn peek(&self) -> u64 {
        if self.position > self.line.len {
            return 0;
        }
        load(self.line.padded, self.position).unwrap_or(0)
    }

    /// Steps over `bytes` bytes that end with a separator and hold `columns` fields.
    #[inline(always)]
    pub fn skip(&mut self, bytes: usize, columns: u16) {
        self.position += bytes;
        self.column += columns;
    }

    /// Bytes that a copy of this walk has stepped over since.
    #[inline(always)]
    pub fn bytes_to(&self, later: &Fields<'_>) -> usize {
        later.position - self.position
    }

    /// What is left of the line, the next field first.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.line.bytes().get(self.position..).unwrap_or(&[])
    }

    /// Makes sure that no field is left.
    #[inline(always)]
    pub fn end(&self) -> Result<(), Fault> {
        if self.position == self.line.len + 1 {
            return Ok(());
        }
        Err(Fault::at(self.column, TOO_MANY))
    }
}

/// A whole number of any length, with the reason if it is none.
pub(crate) fn parse_u64(text: &[u8]) -> Result<u64, &'static str> {
    let digits = match text {
        [] => return Err(EMPTY),
        [b'-', rest @ ..] if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) => {
            return Err(NEGATIVE);
        }
        _ if !text.iter().all(u8::is_ascii_digit) => return Err(NO_NUMBER),
        _ => text,
    };
    digits
        .iter()
        .try_fold(0u64, |n, d| {
            n.checked_mul(10)?.checked_add(u64::from(d - b'0'))
        })
        .ok_or(OVERFLOW)
}

/// Is the field an optional sign and digits? For telling formats apart, not for parsing.
pub(crate) fn looks_like_integer(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*word))
}

/// A word with the values of its digits, and the top bit of a byte set from the first byte on
/// that is no digit; a carry reaches only bytes behind that one.
#[inline(always)]
pub(crate) fn nibbles(word: u64) -> (u64, u64) {
    let nibbles = word ^ 0x3030_3030_3030_3030;
    let stops = (nibbles.wrapping_add(0x7676_7676_7676_7676) | nibbles) & 0x8080_8080_8080_8080;
    (nibbles, stops)
}

/// Value and number of the digits from `at` on. The value is right for at most 19 digits.
#[inline(always)]
pub(crate) fn leading_digits(bytes: &[u8], at: usize) -> (u64, usize) {
    const POW10: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let (mut value, mut digits) = (0u64, 0);
    while let Some(word) = load(bytes, at + digits) {
        let (nibbles, stops) = nibbles(word);
        if stops == 0 {
            value = value
                .wrapping_mul(100_000_000)
                .wrapping_add(eight_digits(nibbles));
            digits += 8;
            continue;
        }
        // 8 x the number of digits, and those shifted to the end of eight; in two steps, as
        // there may be none.
        let bits = stops.trailing_zeros() & 56;
        let low = eight_digits((nibbles << (56 - bits)) << 8);
        if digits == 0 {
            return (low, (bits / 8) as usize);
        }
        let n = (bits / 8) as usize;
        return (
            value.wrapping_mul(POW10[n & 7]).wrapping_add(low),
            digits + n,
        );
    }
    (value, digits)
}

/// The number that eight digits form, the most significant in the lowest byte: pairs, then
/// fours, then all eight, each step one multiplication.
#[inline(always)]
pub(crate) const fn eight_digits(nibbles: u64) -> u64 {
    let pairs = nibbles.wrapping_mul(10 * 256 + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * 65536 + 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_fields<T>(text: &str, run: impl FnOnce(Fields<'_>) -> T) -> T {
        let padded = [text.as_bytes(), b"\n123456789"].concat();
        run(Line::new(&padded, text.len()).fields(b','))
    }

    fn number(text: &str) -> Result<u64, &'static str> {
        with_fields(text, |mut f| f.u64().map_err(|fault| fault.why))
    }

    #[test]
    fn numbers_at_the_edges() {
        assert_eq!(number("0"), Ok(0));
        assert_eq!(number("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(number("18446744073709551616"), Err(OVERFLOW));
        assert_eq!(number("99999999999999999999999999"), Err(OVERFLOW));
        assert_eq!(number("000000000000000000000000000042"), Ok(42));
        assert_eq!(number(""), Err(EMPTY));
        assert_eq!(number("-"), Err(NO_NUMBER));
        assert_eq!(number("-1"), Err(NEGATIVE));
        assert_eq!(number("+1"), Err(NO_NUMBER));
        assert_eq!(number("1.5"), Err(NO_NUMBER));
        assert_eq!(number("12a"), Err(NO_NUMBER));
        assert_eq!(number(" 1"), Err(NO_NUMBER));
        assert_eq!(number("1\0"), Err(NO_NUMBER));
        assert_eq!(number("1\u{661}"), Err(NO_NUMBER));
    }

    #[test]
    fn a_missing_field_is_not_taken_from_the_next_line() {
        with_fields("1", |mut f| {
            assert_eq!(f.u64(), Ok(1));
            assert_eq!(f.u64(), Err(Fault::at(1, MISSING)));
        });
        with_fields("1,", |mut f| {
            assert_eq!(f.u64(), Ok(1));
            assert_eq!(f.end(), Err(Fault::at(1, TOO_MANY)));
            assert_eq!(f.u64(), Err(Fault::at(1, EMPTY)));
        });
    }

    #[test]
    fn a_buffer_without_room_behind_the_line_is_read_too() {
        for text in ["7", "1234567", "123456789", "1234567890123456789"] {
            let mut fields = Line::new(text.as_bytes(), text.len()).fields(b',');
            assert_eq!(fields.u64(), Ok(text.parse().unwrap()));
        }
    }

    #[test]
    fn unused_numbers_may_have_a_sign_and_any_length() {
        let check =
            |text: &str| with_fields(text, |mut f| f.unused_integer().and_then(|()| f.end()));
        assert!(check("0").is_ok() && check("-5").is_ok() && check(&"9".repeat(40)).is_ok());
        assert!(check("").is_err() && check("-").is_err() && check("1x").is_err());
        assert!(check("1,2").is_err());
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
            prop_assert_eq!(number(&text), parse_u64(first.as_bytes()));
        }
    }
}
