//! How the lines of a table are cut, and which mark stands in front of its fractions, by the lines.

use super::Layout;
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

pub(super) fn width(cut: &Cut, names: &[String], line: &[u8]) -> usize {
    let mut fields = Vec::new();
    cut.fields(line, names, &mut fields);
    fields.len()
}

/// Have the columns names, in each line or in a line at the start?
pub(crate) fn has_names(lines: &[&[u8]]) -> bool {
    let cut = guess_cut(lines);
    let first = lines.get(preamble(&cut, lines));
    cut.has_names() || first.is_some_and(|line| is_header(&cut, line))
}

/// Does the first line name the columns of the others?
pub(crate) fn names_columns(layout: &Layout, lines: &[&[u8]]) -> bool {
    let (Some(first), Some(second)) = (lines.first(), lines.get(1)) else {
        return false;
    };
    let cut = layout.cut.clone().unwrap_or_else(|| guess_cut(&lines[1..]));
    let width = |line| width(&cut, &[], line);
    !cut.has_names()
        && width(first) == width(second)
        && is_header(&cut, first)
        && !is_header(&cut, second)
}

/// Lines in front of the one that names the columns, which are not as wide as those behind it.
pub(super) fn preamble(cut: &Cut, lines: &[&[u8]]) -> usize {
    /// Titles and notes of reports are no longer.
    const MOST: usize = 20;
    let Cut::Gap(gap) = cut else { return 0 };
    let width = |line: &&[u8]| gap.fields(line).len();
    let widths: Vec<usize> = lines.iter().take(LINES).map(width).collect();
    let wide = usual(&widths).0;
    let other = |width: &&usize| **width != wide;
    let front = widths.iter().take(MOST).take_while(other).count();
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

/// Is the line drawn, as in `-----+----` below the names of columns, or the `*` that parts passes of a list?
pub(crate) fn is_drawn(line: &[u8]) -> bool {
    let drawn = line.iter().all(|b| b"-=+|: \t\r".contains(b));
    let ruled = drawn && line.iter().filter(|b| b"-=".contains(b)).count() > 2;
    ruled || line.trim_ascii() == b"*"
}

/// The pattern of a line of `name=value`, if it is nothing else.
fn pairs(line: &[u8]) -> Option<Pattern> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let (mut text, mut rest, mut names) = (String::new(), line, 0);
    while !rest.is_empty() {
        let mark = rest.find(['=', ':'])?;
        let name = rest[..mark].trim();
        let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
        let is_name =
            name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(is_letter);
        let value = rest[mark + 1..].trim_start();
        let end = value.find([',', ';', ' ', '\t']).unwrap_or(value.len());
        if !is_name || end == 0 || value[..end].contains(['<', '"', '=']) {
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

pub(crate) fn guess_cut(lines: &[&[u8]]) -> Cut {
    const GAPS: [Gap; 5] = [
        Gap::Byte(b'\t'),
        Gap::Byte(b';'),
        Gap::Byte(b'|'),
        Gap::Byte(b','),
        Gap::Blanks,
    ];
    let first = lines.first().map_or(&b""[..], |line| line.trim_ascii());
    if first.starts_with(b"{") {
        return Cut::Json;
    }
    if let Some(pattern) = pairs(first) {
        let cut = Cut::Lines(vec![pattern]);
        let fits = |line: &&&[u8]| cut.fields(line, &[], &mut Vec::new());
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
    let rows = lines.iter().take(LINES).map(|line| gap.fields(line));
    let rows: Vec<Vec<&[u8]>> = rows.collect();
    let fields = rows.iter().flatten().copied();
    let commas = fields.filter(|field| field.contains(&b',') && reads(field, b'.'));
    let commas: Vec<&[u8]> = commas.collect();
    let either = *gap != Gap::Byte(b',') && commas.iter().all(|f| reads(f, b','));
    let comma = commas.first().filter(|_| either);
    let point = (0..rows.first().map_or(0, Vec::len)).find_map(|place| {
        let column = rows.iter().filter_map(|row| row.get(place).copied());
        let numbers = column.filter(|field| reads(field, b'.'));
        let (points, others): (Vec<&[u8]>, Vec<&[u8]>) =
            numbers.partition(|field| field.contains(&b'.'));
        let thousands = |field: &&[u8]| {
            reads(field, b',') && Number::parse(field, b'.').is_ok_and(|n| n.whole().is_err())
        };
        let odd = !others.is_empty() && points.iter().all(thousands);
        points.first().copied().filter(|_| odd)
    });
    const THOUSANDS: &str = "one between thousands";
    const FRACTION: &str = "the mark of a fraction";
    let doubt = |mark: &str, field: &[u8], [taken, other]: [&str; 2]| {
        let field = String::from_utf8_lossy(field);
        format!("the {mark} of `{field}` is taken for {taken}; decimal=comma takes it for {other}")
    };
    let comma = comma.map(|field| doubt("comma", field, [THOUSANDS, FRACTION]));
    comma.or_else(|| Some(doubt("point", point?, [FRACTION, THOUSANDS])))
}
