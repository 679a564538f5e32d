//! Spellings of numbers and of kinds of requests: one lexer, to which every reader of text comes back where its own
//! fast path fails. `4096.0`, `1.5e-05`, `0x8`, quotes, blanks and `READ` mean the same in all formats.

use destage_types::Op;

use crate::text::numbers::{EMPTY, NEGATIVE, NO_DECIMAL, NO_NUMBER, OVERFLOW};

/// Digits of a number that are kept; digits of fractions behind them are dropped.
const DIGITS: u32 = 36;

/// The kind of request that a word names in any program, whatever its case.
pub(crate) fn kind(text: &[u8]) -> Option<Op> {
    #[rustfmt::skip]
    const WORDS: [(Op, &[&str]); 4] = [
        // The numbers are those of SCSI, which no other list of kinds has.
        (Op::Read, &["r", "rd", "read", "reads", "diskread", "readfile", "readv", "pread", "preadv", "0x28", "0x88", "0xa8"]),
        (Op::Write, &["w", "wr", "write", "writes", "diskwrite", "writefile", "writev", "pwrite", "pwritev", "0x2a", "0x8a", "0xaa"]),
        (Op::Trim, &["t", "d", "trim", "discard", "unmap", "deallocate"]),
        (Op::Flush, &["f", "flush", "sync", "fsync", "datasync", "fdatasync", "diskflush", "flush_buffers", "synchronize_cache"]),
    ];
    /// What the kernel, NVMe and Windows put in front.
    const FRONTS: [&[u8]; 3] = [b"req_op_", b"nvme_cmd_", b"irp_mj_"];
    let known = |text: &[u8]| {
        let is = |word: &&str| text.eq_ignore_ascii_case(word.as_bytes());
        let row = WORDS.iter().find(|(_, words)| words.iter().any(is));
        row.map(|(op, _)| *op)
    };
    let behind = |front: &&[u8]| {
        let (start, rest) = text.split_at_checked(front.len())?;
        known(rest).filter(|_| start.eq_ignore_ascii_case(front))
    };
    // `READ_10` and `pread64`.
    let numbered = || {
        let digit = |b: &u8| b.is_ascii_digit() || *b == b'_';
        let last = text.iter().rposition(|b| !digit(b))?;
        known(&text[..=last]).filter(|_| (3..text.len()).contains(&last))
    };
    let behind = || FRONTS.iter().find_map(behind);
    known(text).or_else(behind).or_else(numbered)
}

/// The kind of request of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventKind {
    pub flush: bool,
    /// None if no data are named.
    pub op: Option<Op>,
    pub fua: bool,
}

impl EventKind {
    fn of(op: Op) -> EventKind {
        let flush = op == Op::Flush;
        let (op, fua) = (Some(op).filter(|_| !flush), false);
        EventKind { flush, op, fua }
    }

    /// Events that neither flush nor name data (`N`) move nothing.
    pub fn is_request(&self) -> bool {
        self.flush || self.op.is_some()
    }

    /// The kernel's letters of it.
    pub fn letters(self) -> String {
        let op = self.op.map_or("", |op| ["R", "W", "T", "F"][op as usize]);
        let flag = |is: bool| if is { "F" } else { "" };
        format!("{}{op}{}", flag(self.flush), flag(self.fua))
    }
}

/// Of the letters that the kernel writes: an optional F (flush), then the kind, then flags, F (FUA) among them.
pub(crate) fn read_kind(rwbs: &[u8]) -> Option<EventKind> {
    let flush = rwbs.first() == Some(&b'F');
    let at = usize::from(flush);
    let op = match rwbs.get(at) {
        Some(b'R') => Some(Op::Read),
        Some(b'W') => Some(Op::Write),
        Some(b'D' | b'T') => Some(Op::Trim),
        Some(b'N') => None,
        Some(b'F') | None if flush => None,
        _ => return None,
    };
    let fua = op == Some(Op::Write) && rwbs[at + 1..].contains(&b'F');
    Some(EventKind { flush, op, fua })
}

/// The kind of a word of any program.
pub(crate) fn word_kind(text: &[u8]) -> Option<EventKind> {
    let fua = || text.eq_ignore_ascii_case(b"fua").then(|| read_kind(b"WF"));
    kind(text).map(EventKind::of).or_else(|| fua().flatten())
}

/// The kind of the kernel's letters, if the text is nothing else.
pub(crate) fn letters_kind(text: &[u8]) -> Option<EventKind> {
    let letters = (1..=8).contains(&text.len()) && text.iter().all(|b| b"RWDTNFSAMUE".contains(b));
    if letters {
        return read_kind(text);
    }
    // Some tools have small ones.
    let small = text.len() > 1 && text.iter().all(|b| b"rwdfsam".contains(b));
    let small = small && b"rwd".contains(&text[0]);
    small
        .then(|| read_kind(&text.to_ascii_uppercase()))
        .flatten()
}

/// A number: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    negative: bool,
    digits: u128,
    exponent: i32,
}

impl Number {
    /// The number that `text` spells. Behind `mark` stands the fraction; the other one of comma and point may stand
    /// between thousands.
    ///
    /// # Errors
    /// Why it spells none.
    pub fn parse(text: &[u8], mark: u8) -> Result<Number, &'static str> {
        let text = text.trim_ascii();
        let (negative, text) = match text {
            [] => return Err(EMPTY),
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        if let [b'0', b'x' | b'X', digits @ ..] = text {
            let digits = std::str::from_utf8(digits).ok();
            let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
            let digits = digits.and_then(|d| u64::from_str_radix(d, 16).ok());
            return Ok(Number {
                negative,
                digits: digits.ok_or(NO_NUMBER)?.into(),
                exponent: 0,
            });
        }
        let end = text.iter().position(|b| matches!(b, b'e' | b'E'));
        let (mantissa, exponent) = text.split_at(end.unwrap_or(text.len()));
        let exponent = match exponent {
            [] => 0,
            [_, rest @ ..] => {
                let text = std::str::from_utf8(rest).ok();
                text.and_then(|e| e.parse::<i16>().ok()).ok_or(NO_DECIMAL)?
            }
        };
        let (whole, fraction) = match mantissa.iter().position(|&b| b == mark) {
            Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
            None => (mantissa, &b""[..]),
        };
        if whole.is_empty() && fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
            return Err(NO_DECIMAL);
        }
        let mut number = Number {
            negative,
            digits: 0,
            exponent: exponent.into(),
        };
        check_thousands(whole, mark)?;
        for digit in whole.iter().filter(|b| b.is_ascii_digit()) {
            let shifted = number.digits.checked_mul(10).ok_or(OVERFLOW)?;
            number.digits = shifted + u128::from(digit - b'0');
            if number.digits >= 10u128.pow(DIGITS) {
                return Err(OVERFLOW);
            }
        }
        for digit in fraction {
            if number.digits < 10u128.pow(DIGITS - 1) {
                number.digits = 10 * number.digits + u128::from(digit - b'0');
                number.exponent -= 1;
            }
        }
        Ok(number)
    }

    /// 10^`places` times the number; digits behind that are dropped.
    pub fn scaled(self, places: u32) -> Result<u128, &'static str> {
        if self.negative && self.digits > 0 {
            return Err(NEGATIVE);
        }
        let exponent = self.exponent + places as i32;
        let power = 10u128.checked_pow(exponent.unsigned_abs());
        match power {
            _ if self.digits == 0 => Ok(0),
            Some(power) if exponent < 0 => Ok(self.digits / power),
            Some(power) => self.digits.checked_mul(power).ok_or(OVERFLOW),
            None if exponent < 0 => Ok(0),
            None => Err(OVERFLOW),
        }
    }

    /// So many times the number.
    pub fn times(self, factor: u64) -> Option<Number> {
        let digits = self.digits.checked_mul(factor.into())?;
        Some(Number { digits, ..self })
    }

    /// Is it spelled with few digits and an exponent, as programs round large numbers?
    pub fn is_rounded(self) -> bool {
        self.exponent > 0 && (10_000..10_000_000_000).contains(&self.digits)
    }

    /// The number, if it is whole.
    pub fn whole(self) -> Result<u64, &'static str> {
        let whole = self.scaled(0)?;
        let power = 10u128.checked_pow(self.exponent.min(0).unsigned_abs());
        if self.exponent < 0 && power.and_then(|p| whole.checked_mul(p)) != Some(self.digits) {
            return Err(NO_NUMBER);
        }
        u64::try_from(whole).map_err(|_| OVERFLOW)
    }

    /// The number with a point and all of its digits.
    pub(crate) fn text(self) -> Option<String> {
        let places = u32::try_from(-self.exponent.min(0)).ok();
        let places = places.filter(|&places| places <= 60)?;
        let digits = self.scaled(places).ok()?.to_string();
        if places == 0 {
            return Some(digits);
        }
        let digits = format!("{digits:0>width$}", width = places as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places as usize);
        Some(format!("{whole}.{fraction}"))
    }
}

/// A size such as `4K` or `1MiB`, in bytes.
pub(crate) fn short_size(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(u8::is_ascii_alphabetic)?;
    let (number, unit) = text.split_at(end);
    let shift = match unit.to_ascii_uppercase().as_slice() {
        b"B" => 0,
        b"K" | b"KB" | b"KIB" => 10,
        b"M" | b"MB" | b"MIB" => 20,
        b"G" | b"GB" | b"GIB" => 30,
        _ => return None,
    };
    let number = Number::parse(number, b'.').and_then(Number::whole).ok()?;
    number.checked_mul(1 << shift)
}

/// Are the digits in front of the fraction in groups of three, if they are in groups?
fn check_thousands(whole: &[u8], mark: u8) -> Result<(), &'static str> {
    let thousands = |b: u8| b == if mark == b',' { b'.' } else { b',' } || b"'_ ".contains(&b);
    if !whole.iter().all(|&b| b.is_ascii_digit() || thousands(b)) {
        return Err(NO_NUMBER);
    }
    let mut groups = whole.split(|&b| thousands(b));
    let first = groups.next().unwrap_or(b"");
    let several = first.len() < whole.len();
    let front = (1..=3).contains(&first.len()) && first[0] != b'0';
    if several && !(front && groups.all(|g| g.len() == 3)) {
        return Err(NO_NUMBER);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> Result<u64, &'static str> {
        Number::parse(text.as_bytes(), b'.')?.whole()
    }

    /// Texts, and the numbers that they are; `-` for none.
    const NUMBERS: &str = "4096.0=4096 4.096e3=4096 0x1F=31 +7=7 1,234,567=1234567 1e2=100 12e-1=- -0.0=0 1_000=1000 \
                           18446744073709551615.00=18446744073709551615 .0=0 5.=5 =- x=- 1.5=- -1=- 0x=- 1e=- 1,23=- \
                           0,123=- 1.2.3=- nan=- 1e40=- --1=- 1e99999=- .=-";

    #[test]
    fn numbers_are_what_they_spell() {
        for case in NUMBERS.split(' ') {
            let (text, value) = case.split_once('=').unwrap();
            assert_eq!(whole(text).ok(), value.parse().ok(), "{text}");
        }
        assert_eq!(whole(" +7 "), Ok(7));
        let comma = |text: &str| Number::parse(text.as_bytes(), b',').and_then(|n| n.scaled(9));
        assert_eq!(comma("1.000,100250000"), Ok(1_000_100_250_000));
        assert_eq!(comma("0,25"), Ok(250_000_000));
        let small = Number::parse(b"1.5e-05", b'.').unwrap();
        assert_eq!(small.scaled(9), Ok(15_000));
    }

    proptest! {
        #[test]
        fn a_number_is_the_same_in_every_spelling(value in 0u64..1 << 53, zeros in 0usize..4, spelling in 0usize..6) {
            let plain = value.to_string();
            let text = match spelling {
                0 => format!("{plain}.{}", "0".repeat(zeros + 1)),
                1 => format!("{value:#x}"),
                2 => format!("{value:e}"),
                3 => format!("{}{plain}", "0".repeat(zeros)),
                4 => format!("+{plain}"),
                _ => {
                    let end = |i: usize| plain.len() - 3 * i;
                    let group = |i: usize| &plain[end(i).saturating_sub(3)..end(i)];
                    let groups = (0..plain.len().div_ceil(3)).rev().map(group);
                    let groups: Vec<&str> = groups.collect();
                    groups.join(",")
                }
            };
            prop_assert_eq!(whole(&text), Ok(value), "{}", text);
        }

        #[test]
        fn any_bytes_are_a_number_or_none(text in "[-+0-9a-fxXeE.,_' ]{0,20}") {
            for mark in [b'.', b','] {
                if let Ok(number) = Number::parse(text.as_bytes(), mark) {
                    let _ = (number.whole(), number.scaled(9), number.text());
                }
            }
        }
    }
}
