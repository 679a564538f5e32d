//! Fields between blanks, and fixed-point numbers.

use crate::error::Fault;
use crate::fields::{Line, MISSING, TOO_MANY, leading_digits, looks_like_integer, parse_u64};
use crate::format::is_blank;

/// Walks over the fields of a line that blanks or tabs separate, however many.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    line: Line<'a>,
    /// The first byte of the next field, or the end of the line.
    position: usize,
    column: u16,
}

impl<'a> Words<'a> {
    #[inline]
    pub fn new(line: Line<'a>) -> Words<'a> {
        let (position, column) = (0, 0);
        let mut words = Words {
            line,
            position,
            column,
        };
        words.step(0);
        words
    }

    /// Index of the field that comes next.
    pub fn column(&self) -> u16 {
        self.column
    }

    /// Goes on at `end`, behind the blanks there.
    #[inline(always)]
    fn step(&mut self, end: usize) {
        let bytes = self.line.bytes();
        self.position = end;
        while bytes.get(self.position).is_some_and(|&b| is_blank(b)) {
            self.position += 1;
        }
    }

    /// The next field as it stands; none at the end of the line.
    #[inline]
    pub fn next_text(&mut self) -> Option<&'a [u8]> {
        let rest = self.line.bytes().get(self.position..)?;
        if rest.is_empty() {
            return None;
        }
        let len = rest.iter().position(|&b| is_blank(b)).unwrap_or(rest.len());
        self.step(self.position + len);
        self.column = self.column.saturating_add(1);
        Some(&rest[..len])
    }

    /// The next field as it stands.
    #[inline]
    pub fn text(&mut self) -> Result<&'a [u8], Fault> {
        let column = self.column;
        self.next_text().ok_or(Fault::at(column, MISSING))
    }

    /// The next field as an unsigned whole number.
    #[inline(always)]
    pub fn u64(&mut self) -> Result<u64, Fault> {
        let (value, digits) = leading_digits(self.line.padded(), self.position);
        let end = self.position + digits;
        let bytes = self.line.bytes();
        // 19 digits fit 64 bits whatever they are.
        if digits.wrapping_sub(1) < 19 && bytes.get(end).is_none_or(|&b| is_blank(b)) {
            self.step(end);
            self.column += 1;
            return Ok(value);
        }
        let (value, rest) = self.slow(parse_u64)?;
        *self = rest;
        Ok(value)
    }

    /// The next field as a number of at most 32 bits.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Fault> {
        let column = self.column;
        let value = self.u64()?;
        u32::try_from(value).map_err(|_| Fault::at(column, "does not fit 32 bits"))
    }

    /// The next field as 10^`places` times its value; digits behind those are dropped.
    #[inline]
    pub fn decimal(&mut self, places: u32) -> Result<u64, Fault> {
        let (value, rest) = self.slow(|text| parse_decimal(text, places))?;
        *self = rest;
        Ok(value)
    }

    #[inline(never)]
    fn slow(
        mut self,
        parse: impl Fn(&[u8]) -> Result<u64, &'static str>,
    ) -> Result<(u64, Self), Fault> {
        let column = self.column;
        let value = parse(self.text()?).map_err(|why| Fault::at(column, why))?;
        Ok((value, self))
    }

    /// Makes sure that no field is left.
    #[inline]
    pub fn end(&self) -> Result<(), Fault> {
        match self.position >= self.line.bytes().len() {
            true => Ok(()),
            false => Err(Fault::at(self.column, TOO_MANY)),
        }
    }
}

/// 10^`places` times a number such as `12` or `0.125`; digits behind those places are dropped,
/// a sign and an exponent are refused.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_decimal(text: &[u8], places: u32) -> Result<u64, &'static str> {
    const NO_DECIMAL: &str = "is not a decimal number";
    let dot = memchr::memchr(b'.', text);
    let (whole, fraction) = text.split_at(dot.unwrap_or(text.len()));
    let fraction = fraction.get(1..).unwrap_or(b"");
    if !text.is_empty() && !looks_like_integer(whole) {
        return Err(NO_DECIMAL);
    }
    let value = parse_u64(whole)?;
    let digits = fraction.iter().all(u8::is_ascii_digit);
    if !digits || dot.is_some() && fraction.is_empty() {
        return Err(NO_DECIMAL);
    }
    let places = places as usize;
    let kept = fraction.iter().map(|d| u64::from(d - b'0'));
    let scaled = kept.chain(std::iter::repeat(0)).take(places);
    let mut value = Some(value);
    for digit in scaled {
        value = value.and_then(|n| n.checked_mul(10)?.checked_add(digit));
    }
    value.ok_or("is too large")
}

/// Is the field an optional sign, digits, and perhaps a dot and digits? For telling formats
/// apart, not for parsing.
pub(crate) fn looks_like_decimal(field: &[u8]) -> bool {
    let number = field.strip_prefix(b"-").unwrap_or(field);
    let dots = number.iter().filter(|&&b| b == b'.').count();
    let digits = number.iter().filter(|b| b.is_ascii_digit()).count();
    dots <= 1 && digits > 0 && dots + digits == number.len() && number[0] != b'.'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_words<T>(text: &str, run: impl FnOnce(Words<'_>) -> T) -> T {
        let padded = [text.as_bytes(), b"\n123456789"].concat();
        run(Words::new(Line::new(&padded, text.len())))
    }

    #[test]
    fn any_blanks_separate() {
        with_words(" \t1  22\t333 ", |mut w| {
            assert_eq!((w.u64(), w.u64(), w.column()), (Ok(1), Ok(22), 2));
            assert!(w.end().is_err());
            assert_eq!((w.u64(), w.end()), (Ok(333), Ok(())));
            assert_eq!(w.u64(), Err(Fault::at(3, MISSING)));
        });
    }

    #[test]
    fn decimals_at_the_edges() {
        let ms = |text: &str| parse_decimal(text.as_bytes(), 6);
        assert_eq!(ms("0"), Ok(0));
        assert_eq!(ms("1.5"), Ok(1_500_000));
        assert_eq!(ms("0.0000019"), Ok(1));
        assert_eq!(ms("18446744073709.551615"), Ok(u64::MAX));
        assert_eq!(ms("18446744073709.551616"), Err("is too large"));
        assert_eq!(ms("-1.5"), Err("is negative"));
        for bad in ["1.", ".5", "1.5.0", "1e3", "1.-5", "+1.0", " 1.0", "1,5"] {
            assert!(ms(bad).is_err(), "{bad}");
        }
        assert!(ms("").is_err() && ms("-").is_err() && ms(".").is_err());
        assert!(looks_like_decimal(b"-1.25") && looks_like_decimal(b"7"));
        assert!(!looks_like_decimal(b"") && !looks_like_decimal(b".5"));
        assert!(!looks_like_decimal(b"1.2.3") && !looks_like_decimal(b"-"));
    }

    proptest! {
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

        #[test]
        fn nanoseconds_are_read_as_written(seconds in 0u64..18_000_000_000, nanos in 0u64..1_000_000_000) {
            let text = format!("{seconds}.{nanos:09}");
            let expected = seconds * 1_000_000_000 + nanos;
            prop_assert_eq!(parse_decimal(text.as_bytes(), 9), Ok(expected));
        }
    }
}
