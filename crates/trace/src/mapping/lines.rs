//! How the lines of a table are cut, and which mark stands in front of its fractions, by the lines.

use super::cut::{Cut, Pattern};
use super::date::{self, DateOrder};
use crate::text::gap::Gap;
use crate::text::numbers::is_blank;
use crate::text::spelling::Number;

/// Lines that the cut and the names are told by.
pub(super) const LINES: usize = 100;

/// Bytes of the longest name of a column.
const NAME: usize = 64;

/// Is `part` most of `all`? Some lines of any file are odd.
pub(crate) fn most(part: usize, all: usize) -> bool {
    all > 0 && 10 * part >= 9 * all
}

/// The usual of some numbers, and how many have it.
pub(super) fn usual(numbers: &[usize]) -> (usize, usize) {
    let usual = numbers.get(numbers.len() / 2).copied().unwrap_or(0);
    (usual, numbers.iter().filter(|&&n| n == usual).count())
}

/// Does a line name columns?
pub(super) fn is_header(cut: &Cut, line: &[u8]) -> bool {
    let Cut::Gap(gap) = cut else { return false };
    let fields = gap.fields(line);
    let is_number = |field: &&[u8]| {
        let number = |mark| Number::parse(field, mark).is_ok();
        number(b'.') || number(b',') || date::parse(field, DateOrder::Year).is_ok()
    };
    let named = |field: &&&[u8]| field.iter().any(u8::is_ascii_alphabetic);
    let other = |field: &&[u8]| field.len() > NAME || field.iter().any(|b| b"={}".contains(b));
    !fields.iter().any(|field| is_number(field) || other(field))
        && fields.iter().filter(named).count() > 1
}

/// Lines in front of the one that names the columns, which are not as wide as those behind it.
pub(super) fn preamble(cut: &Cut, lines: &[&[u8]]) -> usize {
    /// Titles and notes of reports are no longer.
    const MOST: usize = 20;
    let Cut::Gap(gap) = cut else { return 0 };
    let width = |line: &&[u8]| gap.fields(line).len();
    let widths: Vec<usize> = lines.iter().take(LINES).map(width).collect();
    let wide = usual(&widths).0;
    let front = widths
        .iter()
        .take(MOST)
        .take_while(|&&width| width != wide)
        .count();
    let named = lines.get(front).is_some_and(|line| is_header(cut, line));
    // Tools say what they do before they write rows.
    let is_prose = |line: &&[u8]| {
        let last = line.rsplit(|b| is_blank(*b)).next().unwrap_or(line);
        let mut words = line.split(|b| !b.is_ascii_alphabetic());
        Number::parse(last, b'.').is_err() && words.any(|word| word.len() > 3)
    };
    let told = front > 0 && *gap == Gap::Blanks && lines.iter().take(front).all(is_prose);
    if named || told { front } else { 0 }
}

/// Is the line drawn, as in `-----+----` below the names of columns?
pub(crate) fn is_drawn(line: &[u8]) -> bool {
    let drawn = line.iter().all(|b| b"-=+|: \t".contains(b));
    drawn && line.iter().filter(|b| b"-=".contains(b)).count() > 2
}

/// The pattern of a line of `name=value`, if it is nothing else.
fn pairs(line: &[u8]) -> Option<Pattern> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let (mut text, mut rest, mut names) = (String::new(), line, 0);
    while !rest.is_empty() {
        let mark = rest.find(['=', ':'])?;
        let name = rest[..mark].trim();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
        let value = rest[mark + 1..].trim_start();
        let end = value.find([',', ';', ' ', '\t']).unwrap_or(value.len());
        if !is_name
            || end == 0
            || value.contains(['<', '"', '=']) && value[..end].contains(['<', '"', '='])
        {
            return None;
        }
        let behind = value[end..].trim_start_matches([',', ';', ' ', '\t']);
        let front = &rest[..rest.len() - value.len()];
        let gap = &value[end..value.len() - behind.len()];
        text += &format!("{front}<{name}>{gap}");
        (rest, names) = (behind, names + 1);
    }
    (names > 2).then(|| Pattern::parse(&text).ok()).flatten()
}

pub(super) fn guess_cut(lines: &[&[u8]]) -> Cut {
    const GAPS: [Gap; 5] = [
        Gap::Byte(b'\t'),
        Gap::Byte(b';'),
        Gap::Byte(b'|'),
        Gap::Byte(b','),
        Gap::Blanks,
    ];
    if lines
        .first()
        .is_some_and(|line| line.trim_ascii().starts_with(b"{"))
    {
        return Cut::Json;
    }
    let pattern = lines.first().and_then(|line| pairs(line));
    if let Some(cut) = pattern.map(|pattern| Cut::Lines(vec![pattern])) {
        let names = Vec::new();
        let fits = |line: &&&[u8]| cut.fields(line, &names, &mut Vec::new());
        let sample = || lines.iter().take(LINES);
        if most(sample().filter(fits).count(), sample().count()) {
            return cut;
        }
    }
    let agree = |gap: &&Gap| {
        let widths = lines.iter().take(LINES).map(|line| gap.fields(line).len());
        let widths: Vec<usize> = widths.collect();
        let (usual, same) = usual(&widths);
        usual > 2 && most(same, widths.len())
    };
    Cut::Gap(GAPS.iter().find(agree).copied().unwrap_or(Gap::Byte(b',')))
}

/// The mark of fractions: a comma only if some number has one that is not between thousands, and none has such a point.
pub(super) fn guess_decimal(cut: &Cut, lines: &[&[u8]]) -> u8 {
    let Cut::Gap(gap) = cut else { return b'.' };
    let only = |field: &[u8], mark: u8, other: u8| {
        field.contains(&mark)
            && Number::parse(field, mark).is_ok()
            && Number::parse(field, other).is_err()
    };
    let fields = || lines.iter().take(LINES).flat_map(|line| gap.fields(line));
    let comma = *gap != Gap::Byte(b',')
        && fields().any(|field| only(field, b',', b'.'))
        && !fields().any(|field| only(field, b'.', b','));
    if comma { b',' } else { b'.' }
}

/// Commas that may be marks of fractions, too: no number has two, and none has other than three digits behind one. And
/// points that may stand between thousands: all in front of three digits, in a column that has numbers without one.
pub(super) fn doubt_marks(cut: &Cut, lines: &[&[u8]]) -> Option<String> {
    let Cut::Gap(gap) = cut else { return None };
    let reads = |field: &[u8], mark| Number::parse(field, mark).is_ok();
    let rows: Vec<Vec<&[u8]>> = lines
        .iter()
        .take(LINES)
        .map(|line| gap.fields(line))
        .collect();
    let fields = rows.iter().flatten().copied();
    let commas: Vec<&[u8]> = fields
        .filter(|field| field.contains(&b',') && reads(field, b'.'))
        .collect();
    let comma = commas
        .first()
        .filter(|_| *gap != Gap::Byte(b',') && commas.iter().all(|f| reads(f, b',')));
    let point = (0..rows.first().map_or(0, Vec::len)).find_map(|place| {
        let column = rows
            .iter()
            .filter_map(|row| row.get(place).copied())
            .filter(|f| reads(f, b'.'));
        let (points, others): (Vec<&[u8]>, Vec<&[u8]>) =
            column.partition(|field| field.contains(&b'.'));
        let thousands = |field: &&[u8]| {
            reads(field, b',') && Number::parse(field, b'.').is_ok_and(|n| n.whole().is_err())
        };
        let odd = !others.is_empty() && points.iter().all(thousands);
        points.first().copied().filter(|_| odd)
    });
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let comma = comma.map(|field| {
        format!(
            "the comma of `{}` is taken for one between thousands; decimal=comma takes it for the mark of a fraction",
            text(field)
        )
    });
    let point = || {
        point.map(|field| {
            format!(
                "the point of `{}` is taken for the mark of a fraction; decimal=comma takes it for one between thousands",
                text(field)
            )
        })
    };
    comma.or_else(point)
}
