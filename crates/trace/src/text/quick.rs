//! The usual line of a trace, read in one go: its end need not be looked for before.
//!
//! What is not usual in any way is left to [`crate::text::fields`], which also says what is wrong.

use crate::text::numbers::{eight_digits, nibbles};

/// Bytes that must follow for a line to be read quickly; also more than such a line takes.
const WINDOW: usize = 136;
/// Positions from which eight bytes can be read without a look at the end.
const MASK: usize = 127;

const POW10: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Walks over a line that is followed by enough bytes. Positions from 128 on are those of the start
/// again: a line that goes so far is refused at its end
/// ([`Quick::unused_end`]).
pub(crate) struct Quick<'a> {
    bytes: &'a [u8; WINDOW],
    at: usize,
}

impl<'a> Quick<'a> {
    /// A cursor from the start of `bytes`, if there are enough of them.
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Option<Quick<'a>> {
        let bytes = bytes.first_chunk::<WINDOW>()?;
        Some(Quick { bytes, at: 0 })
    }

    /// The next eight bytes, the first one lowest.
    #[inline(always)]
    pub fn word(&self) -> u64 {
        self.word_at(self.at)
    }

    #[inline(always)]
    fn word_at(&self, at: usize) -> u64 {
        let at = at & MASK;
        let word = self.bytes[at..at + 8].first_chunk::<8>();
        u64::from_le_bytes(*word.expect("eight bytes are eight bytes"))
    }

    /// The next sixteen bytes, the first one lowest.
    #[inline(always)]
    pub fn words(&self) -> u128 {
        u128::from(self.word()) | u128::from(self.word_at(self.at + 8)) << 64
    }

    /// Steps over bytes that were looked at.
    #[inline(always)]
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    #[inline(always)]
    fn is(&self, byte: u8) -> bool {
        self.bytes[self.at & MASK] == byte
    }

    /// Steps over `separator`, if it comes next.
    #[inline(always)]
    fn ends(&mut self, separator: u8) -> Option<()> {
        let ends = self.is(separator);
        self.at += 1;
        ends.then_some(())
    }

    /// Up to seven digits, and how many there are, if no other digit follows.
    #[inline(always)]
    fn last_digits(&mut self) -> Option<(u64, usize)> {
        let (nibbles, stops) = nibbles(self.word());
        if stops == 0 {
            return None;
        }
        // In two steps, as there may be none.
        let bits = stops.trailing_zeros() & 56;
        let low = eight_digits((nibbles << (56 - bits)) << 8);
        let n = (bits / 8) as usize;
        self.at += n;
        Some((low, n))
    }

    /// Eight digits, if there are so many.
    #[inline(always)]
    fn eight(&mut self) -> Option<u64> {
        let (nibbles, stops) = nibbles(self.word());
        if stops != 0 {
            return None;
        }
        self.at += 8;
        Some(eight_digits(nibbles))
    }

    /// A whole number of 1 to 15 digits before `separator`.
    #[inline(always)]
    pub fn number(&mut self, separator: u8) -> Option<u64> {
        let value = match self.eight() {
            Some(high) => {
                let (low, n) = self.last_digits()?;
                high * POW10[n & 7] + low
            }
            None => {
                let (low, n) = self.last_digits()?;
                if n == 0 {
                    return None;
                }
                low
            }
        };
        self.ends(separator)?;
        Some(value)
    }

    /// A whole number of 16 to 19 digits before `separator`, as clocks count.
    #[inline(always)]
    pub fn long_number(&mut self, separator: u8) -> Option<u64> {
        let high = self.eight()? * 100_000_000 + self.eight()?;
        let (low, n) = self.last_digits()?;
        if n > 3 {
            return None;
        }
        self.ends(separator)?;
        Some(high * POW10[n & 7] + low)
    }

    /// The line ends with a whole number of 1 to 7 digits that is not used. The bytes of the line.
    #[inline(always)]
    pub fn unused_end(mut self) -> Option<usize> {
        let (_, stops) = nibbles(self.word());
        // 0 for eight digits as for none.
        let n = (stops.trailing_zeros() / 8) as usize & 7;
        if n == 0 {
            return None;
        }
        self.at += n;
        self.ends(b'\n')?;
        (self.at <= MASK).then_some(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fields::RawLine;
    use crate::text::numbers::parse_u64;
    use proptest::prelude::*;

    fn padded(text: &str) -> Vec<u8> {
        [text.as_bytes(), &[b'7'; WINDOW]].concat()
    }

    fn number(text: &str) -> Option<u64> {
        Quick::new(&padded(text)).unwrap().number(b',')
    }

    #[test]
    fn a_line_is_read_whole_or_refused() {
        let read = |text: &str| {
            let bytes = padded(text);
            let mut quick = Quick::new(&bytes)?;
            let (long, short) = (quick.long_number(b',')?, quick.number(b',')?);
            Some((long, short, quick.unused_end()?))
        };
        let line = "128166372003061629,9056014336,2833\n";
        let value = (128_166_372_003_061_629, 9_056_014_336, line.len());
        assert_eq!(read(line), Some(value));
        for other in [
            "1281663720030616,9056014336,\n",
            "1281663720030616,9056014336,28 33\n",
            "1281663720030616,9056014336,2833\r\n",
            "1281663720030616,9056014336,12345678\n",
            "1281663720030616,,2833\n",
            "128166372003061,9056014336,2833\n",
            "12816637200306162900,9056014336,2833\n",
            "1281663720030616,-9056014336,2833\n",
            "1281663720030616,1234567890123456,2833\n",
            "1281663720030616;9056014336,2833\n",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        assert!(Quick::new(&[b'1'; WINDOW - 1]).is_none());
    }

    #[test]
    fn a_line_that_goes_on_is_refused() {
        // Read again from the start, it would end.
        let mut bytes = [b'1'; WINDOW];
        bytes[1] = b'\n';
        let mut quick = Quick::new(&bytes).unwrap();
        quick.skip(MASK + 1);
        assert_eq!(quick.unused_end(), None);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_slow_parser_reads(text in "[-0-9a ]{0,18},") {
            let slow = parse_u64(&text.as_bytes()[..text.len() - 1]).ok();
            prop_assert!(number(&text).is_none_or(|value| Some(value) == slow));
            let mut fields = RawLine::new(text.as_bytes(), text.len()).fields();
            prop_assert_eq!(fields.u64().ok(), slow);
        }

        #[test]
        fn usual_numbers_are_read(value in 0u64..1_000_000_000_000_000, clock in 10u64.pow(15)..) {
            prop_assert_eq!(number(&format!("{value},")), Some(value));
            let bytes = padded(&format!("{clock},"));
            let read = Quick::new(&bytes).unwrap().long_number(b',');
            prop_assert_eq!(read, Some(clock).filter(|&c| c < 10u64.pow(19)));
        }
    }
}
