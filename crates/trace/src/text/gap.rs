//! What stands between the fields of a line, and quotes around them.

use crate::text::numbers::is_blank;

/// What stands between the fields of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gap {
    /// One such byte, perhaps with blanks beside it.
    Byte(u8),
    /// Any number of blanks and tabs.
    Blanks,
}

impl Gap {
    /// Hands the fields of a line to `field`, without the quotes around them.
    pub fn split<'a>(self, line: &'a [u8], mut field: impl FnMut(&'a [u8])) {
        let mut rest = line;
        loop {
            rest = &rest[self.blanks(rest)..];
            if rest.is_empty() && self == Gap::Blanks {
                return;
            }
            let quoted = quoted(rest).filter(|text| self.ends(&rest[text.len() + 2..]));
            let gap = || rest.iter().position(|&b| self.is_gap(b));
            let end = match quoted {
                Some(text) => text.len() + 2,
                None => gap().unwrap_or(rest.len()),
            };
            field(quoted.unwrap_or(rest[..end].trim_ascii()));
            let Some(next) = rest[end..].iter().position(|&b| self.is_gap(b)) else {
                return;
            };
            rest = &rest[end + next + 1..];
        }
    }

    /// The fields of a line.
    pub fn fields(self, line: &[u8]) -> Vec<&[u8]> {
        let mut fields = Vec::new();
        self.split(line, |field| fields.push(field));
        fields
    }

    /// The number of blanks in front of a text that are no gap, or of a gap of blanks.
    #[inline(always)]
    fn blanks(self, text: &[u8]) -> usize {
        let skipped = |b: &&u8| is_blank(**b) && Gap::Byte(**b) != self;
        text.iter().take_while(skipped).count()
    }

    fn is_gap(self, byte: u8) -> bool {
        match self {
            Gap::Byte(gap) => byte == gap,
            Gap::Blanks => is_blank(byte),
        }
    }

    /// Does a field end in front of `rest`?
    fn ends(self, rest: &[u8]) -> bool {
        let behind = &rest[self.blanks(rest)..];
        let blanks = behind.len() < rest.len() && self == Gap::Blanks;
        blanks || behind.first().is_none_or(|&b| self.is_gap(b))
    }
}

/// The text in quotes at the start of `text`.
fn quoted(text: &[u8]) -> Option<&[u8]> {
    let (quote, inner) = text.split_first()?;
    if *quote != b'"' && *quote != b'\'' {
        return None;
    }
    Some(&inner[..memchr::memchr(*quote, inner)?])
}
