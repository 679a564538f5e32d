//! Numbers in text: whole ones eight digits at once, and fixed-point ones.

pub(crate) const EMPTY: &str = "is empty";
pub(crate) const NEGATIVE: &str = "is negative";
pub(crate) const OVERFLOW: &str = "does not fit 64 bits";
pub(crate) const NO_NUMBER: &str = "is not a whole number";
pub(crate) const NO_DECIMAL: &str = "is not a decimal number";

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

/// 10^`places` times a number such as `12` or `0.125`; digits behind those places are dropped,
/// a sign and an exponent are refused.
///
/// # Errors
/// The fault of the text.
pub fn parse_decimal(text: &[u8], places: u32) -> Result<u64, &'static str> {
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

#[inline(always)]
pub(crate) fn load(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*word))
}

/// A word with the values of its digits, and the top bit of a byte set from the first byte on
/// that is no digit; a carry reaches only bytes behind that one.
#[inline(always)]
fn nibbles(word: u64) -> (u64, u64) {
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

/// Decimal digits whose number fits 64 bits with nine more behind them.
const FEW_DIGITS: usize = 10;

/// 10^`places` times the decimal number from `at` on, and its bytes; `None` where [`parse_decimal`] has to look
/// closer. `places` are at most nine.
#[inline(always)]
pub(crate) fn leading_decimal(bytes: &[u8], at: usize, places: u32) -> Option<(u64, usize)> {
    #[rustfmt::skip]
    const POW10: [u64; 10] = [
        1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000,
    ];
    let places = places as usize;
    let (whole, digits) = leading_digits(bytes, at);
    if digits.wrapping_sub(1) >= FEW_DIGITS || places >= POW10.len() {
        return None;
    }
    let value = whole * POW10[places];
    if bytes.get(at + digits) != Some(&b'.') {
        return Some((value, digits));
    }
    let (fraction, digits_behind) = leading_digits(bytes, at + digits + 1);
    if digits_behind == 0 || digits_behind > places {
        return None;
    }
    let value = value + fraction * POW10[places - digits_behind];
    Some((value, digits + 1 + digits_behind))
}

/// Where the first of two bytes is in a word, or 8.
#[inline(always)]
pub(crate) fn first_in(two: [u8; 2], word: u64) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    // The top bit of each byte that is zero, and perhaps of some behind the first such byte.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let [a, b] = two.map(|byte| zeros(word ^ (u64::from(byte) * ONES)));
    (a | b).trailing_zeros() as usize / 8
}

/// Where the first of two bytes is in the first `len` bytes of `padded`, or `len`. Most fields are short, so eight
/// bytes are looked at all at once.
#[inline(always)]
pub(crate) fn first_of(two: [u8; 2], padded: &[u8], len: usize) -> usize {
    let end = first_in(two, load(padded, 0).unwrap_or(0));
    if end < 8 || len <= 8 {
        return end.min(len);
    }
    first_of_many(two, &padded[..len])
}

#[inline(never)]
fn first_of_many([a, b]: [u8; 2], bytes: &[u8]) -> usize {
    memchr::memchr2(a, b, bytes).unwrap_or(bytes.len())
}

/// The number that eight digits form, the most significant in the lowest byte: pairs, then
/// fours, then all eight, each step one multiplication.
#[inline(always)]
const fn eight_digits(nibbles: u64) -> u64 {
    let pairs = nibbles.wrapping_mul(10 * 256 + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * 65536 + 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

/// Is the byte a blank or a tab?
#[inline(always)]
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Texts, and the whole numbers or milliseconds in ns that they are, or why not.
    #[rustfmt::skip]
    const WHOLE: [(&str, Result<u64, &str>); 14] = [
        ("0", Ok(0)), ("18446744073709551615", Ok(u64::MAX)), ("18446744073709551616", Err(OVERFLOW)),
        ("99999999999999999999999999", Err(OVERFLOW)), ("000000000000000000000000000042", Ok(42)), ("", Err(EMPTY)),
        ("-", Err(NO_NUMBER)), ("-1", Err(NEGATIVE)), ("+1", Err(NO_NUMBER)), ("1.5", Err(NO_NUMBER)),
        ("12a", Err(NO_NUMBER)), (" 1", Err(NO_NUMBER)), ("1\0", Err(NO_NUMBER)), ("1\u{661}", Err(NO_NUMBER)),
    ];
    #[rustfmt::skip]
    const MS: [(&str, Result<u64, &str>); 6] = [
        ("0", Ok(0)), ("1.5", Ok(1_500_000)), ("0.0000019", Ok(1)), ("18446744073709.551615", Ok(u64::MAX)),
        ("18446744073709.551616", Err("is too large")), ("-1.5", Err(NEGATIVE)),
    ];

    #[test]
    fn numbers_at_the_edges() {
        for (text, number) in WHOLE {
            assert_eq!(parse_u64(text.as_bytes()), number, "{text}");
        }
        let ms = |text: &str| parse_decimal(text.as_bytes(), 6);
        for (text, number) in MS {
            assert_eq!(ms(text), number, "{text}");
        }
        for bad in "1.|.5|1.5.0|1e3|1.-5|+1.0| 1.0|1,5||-|.".split('|') {
            assert!(ms(bad).is_err(), "{bad}");
        }
        assert!(looks_like_decimal(b"-1.25") && looks_like_decimal(b"7"));
        for bad in ["", ".5", "1.2.3", "-"] {
            assert!(!looks_like_decimal(bad.as_bytes()), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nanoseconds_are_read_as_written(seconds in 0u64..18_000_000_000, nanos in 0u64..1_000_000_000) {
            let text = format!("{seconds}.{nanos:09}");
            let expected = seconds * 1_000_000_000 + nanos;
            prop_assert_eq!(parse_decimal(text.as_bytes(), 9), Ok(expected));
        }

        #[test]
        fn decimals_are_what_the_slow_parser_gives(text in "[0-9]{0,12}[.]?[0-9]{0,10}", places in 0u32..=9) {
            let padded = format!("{text},.1234567890123456");
            if let Some((value, bytes)) = leading_decimal(padded.as_bytes(), 0, places)
                && bytes == text.len()
            {
                prop_assert_eq!(parse_decimal(text.as_bytes(), places), Ok(value));
            }
        }

        #[test]
        fn the_first_of_two_bytes_is_found(text in "[ab,;\u{e9}]{0,20}", behind in "[a,]{8}") {
            let slow = text.bytes().position(|byte| byte == b',' || byte == b';');
            let padded = format!("{text}\n{behind}");
            let found = first_of([b',', b';'], padded.as_bytes(), text.len());
            prop_assert_eq!(found, slow.unwrap_or(text.len()));
        }

        #[test]
        fn leading_digits_are_those_in_front(number: u64, zeros in 0usize..12, rest in "[-,x]?") {
            let text = format!("{}{number}{rest}\n1234567", "0".repeat(zeros));
            let digits = zeros + number.to_string().len();
            prop_assert_eq!(leading_digits(text.as_bytes(), 0).1, digits);
            if digits < 20 {
                prop_assert_eq!(leading_digits(text.as_bytes(), 0).0, number);
            }
        }
    }
}
