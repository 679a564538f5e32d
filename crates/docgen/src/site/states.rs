//! The state of a scheme as a picture, from the words of its worked examples.
//!
//! `[5* 3]` is a list, `B2{8*,9}` or `b4(6;a1)` a group of pages, and a word beside them a name or a figure. A star is a
//! dirty page. The picture has the colours of the text around it.

use destage_scheme::info::SchemeInfo;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Written by `cargo xtask docs`: name, state, and pages in it that are not cached.
const STATES: &str = include_str!("states.txt");
const WIDTH: u32 = 640;
const BOX: u32 = 26;
const ROW: u32 = 40;
const LETTER: u32 = 8;

/// A part of a row.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    /// A name or a figure.
    Word(&'a str),
    /// Pages with the name of their group, and figures of the group.
    Group {
        name: &'a str,
        pages: Vec<&'a str>,
        figures: Vec<&'a str>,
    },
}

/// Heading, picture, and what it shows, for schemes that have a state.
pub fn section(info: &SchemeInfo) -> String {
    let mut lines = STATES.lines();
    let requests = lines.by_ref().nth(1).unwrap_or_default();
    let found = lines.find_map(|line| {
        let (name, rest) = line.split_once('|')?;
        (name == info.name).then(|| rest.rsplit_once('|')).flatten()
    });
    let Some((state, absent)) = found.filter(|(state, _)| !state.is_empty()) else {
        return String::new();
    };
    format!(
        "## State\n\n{}\n\nA cache of 8 pages after `{}`: `W` writes pages, `R` reads. In words: `{state}`. \
         Pages with `*` are grey: they are dirty. Not every scheme marks them. Dashed pages are remembered, and no longer \
         cached.\n\n",
        picture(info.name, state, absent),
        requests.trim_start_matches("# ")
    )
}

fn picture(name: &str, state: &str, absent: &str) -> String {
    let absent: BTreeSet<&str> = absent.split(' ').collect();
    let (mut drawn, mut y) = (String::new(), 4);
    for row in rows(state) {
        let mut x = 4;
        for piece in &row {
            let width = width(piece);
            if x > 4 && x + width > WIDTH {
                (x, y) = (4, y + ROW);
            }
            y = draw(&mut drawn, piece, (x, y), &absent);
            x += width;
        }
        y += ROW;
    }
    format!(
        "<svg class=\"state\" viewBox=\"0 0 {WIDTH} {y}\" role=\"img\" aria-label=\"State of {name}: {}\" fill=\"currentColor\" \
         font-size=\"13\">{drawn}</svg>",
        escaped(state)
    )
}

/// A list has a row of its own, and so has a word that does not stand before a group.
fn rows(state: &str) -> Vec<Vec<Piece<'_>>> {
    let mut rows: Vec<Vec<Piece<'_>>> = Vec::new();
    for part in state.split(" ; ") {
        rows.push(Vec::new());
        for (word, is_list) in words(part) {
            let row = rows.last_mut().filter(|row| !row.is_empty() && is_list);
            if row.is_some_and(|row| !matches!(row[..], [Piece::Word(_)])) {
                rows.push(Vec::new());
            }
            if let Some(row) = rows.last_mut() {
                row.push(piece(word));
            }
        }
    }
    rows.retain(|row| !row.is_empty());
    rows
}

/// The words of a part, with brackets kept together, and whether each is a list.
fn words(part: &str) -> Vec<(&str, bool)> {
    let words = outside_brackets(part, ' ');
    let words = words.into_iter().filter(|word| !matches!(*word, "" | "|"));
    words.map(|word| (word, word.contains('['))).collect()
}

/// The parts of a text between these letters, where they are in no bracket.
fn outside_brackets(text: &str, apart: char) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            _ if letter == apart && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn piece(word: &str) -> Piece<'_> {
    let (Some(open), Some(close)) = (word.find(['[', '{', '(']), word.rfind([']', '}', ')']))
    else {
        return Piece::Word(word);
    };
    let (name, inside, behind) = (&word[..open], &word[open + 1..close], &word[close + 1..]);
    // Neither a tuple without a name, such as a request that is remembered, nor a figure has pages.
    if word.starts_with('(') || name.ends_with('=') {
        return Piece::Word(word);
    }
    let mut parts = inside.split(';');
    let list = parts.next().unwrap_or_default();
    let pages = outside_brackets(list, if list.contains(' ') { ' ' } else { ',' });
    let pages = pages.into_iter().map(|page| page.trim_end_matches(','));
    let pages = pages.filter(|page| !page.is_empty()).collect();
    Piece::Group {
        name,
        pages,
        figures: parts
            .chain([behind])
            .filter(|figure| !figure.is_empty())
            .collect(),
    }
}

fn width(piece: &Piece<'_>) -> u32 {
    match piece {
        Piece::Word(word) => length(word) + 12,
        Piece::Group {
            name,
            pages,
            figures,
        } => {
            let boxes: u32 = pages.iter().map(|page| box_width(page)).sum();
            label_width(name)
                + boxes.max(BOX)
                + figures.iter().map(|f| length(f) + 6).sum::<u32>()
                + 14
        }
    }
}

fn length(text: &str) -> u32 {
    text.chars().count() as u32 * LETTER
}

fn label_width(name: &str) -> u32 {
    if name.is_empty() { 0 } else { length(name) + 8 }
}

fn box_width(page: &str) -> u32 {
    BOX.max(length(page.trim_end_matches('*')) + 10)
}

/// Draws a piece, and gives where its last line stands: a long list has several.
fn draw(drawn: &mut String, piece: &Piece<'_>, at: (u32, u32), absent: &BTreeSet<&str>) -> u32 {
    let (mut x, mut y) = at;
    let (name, pages, figures) = match piece {
        Piece::Word(word) => {
            text(drawn, x, y, word);
            return y;
        }
        Piece::Group {
            name,
            pages,
            figures,
        } => (name, pages, figures),
    };
    text(drawn, x, y, name);
    let first = x + label_width(name);
    x = first;
    if pages.is_empty() {
        text(drawn, x, y, "∅");
        x += BOX;
    }
    for page in pages {
        let width = box_width(page);
        if x + width > WIDTH {
            (x, y) = (first, y + ROW);
        }
        draw_page(drawn, page, (x, y), absent);
        x += width;
    }
    for figure in figures {
        text(drawn, x + 4, y, figure);
        x += length(figure) + 6;
    }
    y
}

fn draw_page(drawn: &mut String, page: &str, (x, y): (u32, u32), absent: &BTreeSet<&str>) {
    let number = page.trim_start_matches(['>', '(']);
    let end = number
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(number.len());
    let look = match (page.contains('*'), absent.contains(&number[..end])) {
        (true, _) => "fill-opacity=\".25\"",
        (false, true) => "fill=\"none\" stroke-dasharray=\"3 3\"",
        (false, false) => "fill=\"none\"",
    };
    let width = box_width(page) - 2;
    let _ = write!(
        drawn,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX}\" stroke=\"currentColor\" {look}/>"
    );
    text(drawn, x + 5, y, &page.replacen('*', "", 1));
}

fn text(drawn: &mut String, x: u32, y: u32, content: &str) {
    if !content.is_empty() {
        let _ = write!(
            drawn,
            "<text x=\"{x}\" y=\"{}\">{}</text>",
            y + 18,
            escaped(content)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group<'a>(name: &'a str, pages: &[&'a str], figures: &[&'a str]) -> Piece<'a> {
        Piece::Group {
            name,
            pages: pages.to_vec(),
            figures: figures.to_vec(),
        }
    }

    #[test]
    fn lists_have_rows_and_groups_stand_side_by_side() {
        assert_eq!(
            rows("T1[3* 2] B1[] p=0 ; x"),
            [
                vec![group("T1", &["3*", "2"], &[])],
                vec![group("B1", &[], &[]), Piece::Word("p=0")],
                vec![Piece::Word("x")],
            ]
        );
        assert_eq!(
            rows("IRL b4(6,7;a1;t9) >0{0*}:0 (3,0,L)"),
            [vec![
                Piece::Word("IRL"),
                group("b4", &["6", "7"], &["a1", "t9"]),
                group(">0", &["0*"], &[":0"]),
                Piece::Word("(3,0,L)"),
            ]]
        );
        assert_eq!(
            rows("{(2,inf) (5,1)}"),
            [vec![group("", &["(2,inf)", "(5,1)"], &[])]]
        );
    }

    #[test]
    fn dirty_pages_are_filled_and_absent_ones_dashed() {
        let drawn = picture("x", "[5* 3 2]", "3");
        let looks: Vec<&str> = drawn.split("<rect").skip(1).collect();
        assert!(looks[0].contains("fill-opacity") && !looks[0].contains("dash"));
        assert!(looks[1].contains("dash") && !looks[2].contains("dash"));
    }
}
