//! How a line of a table is cut into columns.

use std::borrow::Cow;
use std::fmt;

use super::rule::unquoted;
use crate::text::gap::Gap;
use crate::text::numbers::is_blank;

/// What stands between the columns of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    Gap(Gap),
    /// A JSON object a line.
    Json,
    /// Text with holes, the first that fits.
    Lines(Vec<Pattern>),
}

const GAPS: [(Gap, &str); 4] = [
    (Gap::Byte(b','), "comma"),
    (Gap::Byte(b';'), "semicolon"),
    (Gap::Byte(b'\t'), "tab"),
    (Gap::Blanks, "blank"),
];

impl Cut {
    /// The cut that a separator says.
    pub fn parse(text: &str) -> Option<Cut> {
        if text == "json" {
            return Some(Cut::Json);
        }
        let text = unquoted(text).ok()?;
        let byte = match text.as_bytes() {
            &[byte @ (0x21..=0x7e)] if !byte.is_ascii_alphanumeric() => Some(Gap::Byte(byte)),
            _ => None,
        };
        let named = GAPS.iter().find(|row| row.1 == text).map(|row| row.0);
        named.or(byte).map(Cut::Gap)
    }

    /// Are columns found by names in each line?
    pub fn has_names(&self) -> bool {
        !matches!(self, Cut::Gap(_))
    }

    /// Cuts `line`. Columns of lines with names are those of `names`, in their order; an empty place is one that the
    /// line lacks. False if it is no such line.
    pub fn fields<'a>(
        &self,
        line: &'a [u8],
        names: &[String],
        fields: &mut Vec<Option<&'a [u8]>>,
    ) -> bool {
        fields.clear();
        if let Cut::Gap(gap) = self {
            gap.split(line, |field| fields.push(Some(field)));
            return true;
        }
        fields.resize(names.len(), None);
        let mut put = |name: &[u8], value: &'a [u8]| {
            let known = names.iter().zip(&mut *fields);
            for (_, field) in known.filter(|(known, _)| known.as_bytes() == name) {
                *field = Some(value);
            }
        };
        match self {
            Cut::Lines(patterns) => patterns.iter().any(|p| p.fields(line, &mut put)),
            _ => object(line, &mut put).is_some(),
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Json => f.write_str("json"),
            Cut::Gap(gap) => match (GAPS.iter().find(|row| row.0 == *gap), gap) {
                (Some((_, name)), _) => f.write_str(name),
                (None, Gap::Byte(byte)) => write!(f, "{}", char::from(*byte)),
                (None, Gap::Blanks) => Ok(()),
            },
            Cut::Lines(patterns) => write!(f, "{} patterns", patterns.len()),
        }
    }
}

/// Text with holes: `<name>` is any text up to what follows, `<>` any text that is not used, a blank any number of
/// blanks and tabs. In `<> <name>` the name is that of the last word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    text: String,
    /// The text in front of each hole, and the name of the hole.
    holes: Vec<(String, String)>,
    /// The text behind the last one.
    end: String,
    /// The longest word of its text: lines without it do not fit.
    key: String,
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Pattern, String> {
        let (mut holes, mut rest) = (Vec::new(), text);
        while let Some((front, behind)) = rest.split_once('<') {
            let (name, behind) = behind.split_once('>').ok_or("`<` is not closed by `>`")?;
            if front.is_empty() && !holes.is_empty() {
                let why = format!("nothing stands between <{name}> and the hole in front of it");
                return Err(why);
            }
            holes.push((front.to_owned(), name.to_owned()));
            rest = behind;
        }
        if holes.iter().all(|(_, name)| name.is_empty()) {
            const NAMES: &str =
                "a pattern has holes with names, such as `[<time>] <> sector = <lba>,`";
            return Err(NAMES.to_owned());
        }
        let texts = holes.iter().map(|(text, _)| text.as_str()).chain([rest]);
        let words = texts.flat_map(str::split_whitespace);
        let key = words.max_by_key(|word| word.len());
        Ok(Pattern {
            text: text.to_owned(),
            key: key.unwrap_or_default().to_owned(),
            end: rest.to_owned(),
            holes,
        })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of its holes.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let holes = self.holes.iter().map(|(_, hole)| hole);
        holes.filter(|hole| !hole.is_empty())
    }

    /// Hands out the texts in the holes of `line`, if it fits.
    fn fields<'a>(&self, line: &'a [u8], put: &mut impl FnMut(&[u8], &'a [u8])) -> bool {
        if memchr::memmem::find(line, self.key.as_bytes()).is_none() {
            return false;
        }
        let mut found = Vec::with_capacity(self.holes.len());
        let mut rest = line.trim_ascii_start();
        let mut open: Option<&str> = None;
        // `<> <name>`: the name is that of the last word.
        let (mut last_word, mut unnamed) = (false, false);
        let holes = self.holes.iter().map(|hole| (&hole.0, Some(&*hole.1)));
        for (text, hole) in holes.chain([(&self.end, None)]) {
            // A hole at the end of a pattern takes all that is left.
            let all = hole.is_none() && text.is_empty();
            let place = match open {
                Some(_) if all => Some((rest.len(), rest.len())),
                Some(_) => find(rest, text.as_bytes(), hole.is_none()),
                None => starts(rest, text.as_bytes()).map(|end| (0, end)),
            };
            let Some((start, end)) = place else {
                return false;
            };
            if let Some(name) = open.filter(|name| !name.is_empty()) {
                let value = rest[..start].trim_ascii();
                let blank = value
                    .iter()
                    .rposition(|b| is_blank(*b))
                    .filter(|_| last_word);
                found.push((name, &value[blank.map_or(0, |at| at + 1)..]));
            }
            rest = &rest[end..];
            open = hole;
            last_word = unnamed && text.bytes().all(is_blank);
            unnamed = hole == Some("");
        }
        found
            .iter()
            .for_each(|(name, value)| put(name.as_bytes(), value));
        true
    }
}

/// Where `text` ends at the start of `line`, a blank being any number of them.
fn starts(line: &[u8], text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for (i, &byte) in text.iter().enumerate() {
        if is_blank(byte) {
            let blanks = line[at..].iter().take_while(|b| is_blank(**b)).count();
            // Blanks at the start of a line are gone.
            let first = i > 0 && is_blank(text[i - 1]);
            if blanks == 0 && !first && !line[at..].is_empty() {
                return None;
            }
            at += blanks;
        } else if line.get(at) == Some(&byte) {
            at += 1;
        } else {
            return None;
        }
    }
    Some(at)
}

/// Where `text`, perhaps the last one of a pattern, is in `line` for the first time.
fn find(line: &[u8], text: &[u8], last: bool) -> Option<(usize, usize)> {
    let first = *text.first()?;
    // Blanks at the end of a line are gone.
    let begins = |at: &usize| match (line.get(*at), is_blank(first)) {
        (Some(byte), true) => is_blank(*byte),
        (Some(byte), false) => *byte == first,
        (None, blank) => last && blank,
    };
    let end = |at: usize| Some((at, at + starts(&line[at..], text)?));
    (0..=line.len()).filter(begins).find_map(end)
}

/// Objects in objects whose members have names.
const DEPTH: usize = 8;

/// Hands out the members of the JSON object of a line: texts without quotes, all else as it stands; those of an object
/// in it as `name.member`. `None` if it is none.
pub(crate) fn object<'a>(line: &'a [u8], put: &mut impl FnMut(&[u8], &'a [u8])) -> Option<()> {
    members(line, &[], DEPTH, put)
}

fn members<'a>(
    line: &'a [u8],
    front: &[u8],
    depth: usize,
    put: &mut dyn FnMut(&[u8], &'a [u8]),
) -> Option<()> {
    let inner = line.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut rest = inner.trim_ascii();
    while !rest.is_empty() {
        let (name, behind) = text(rest)?;
        let behind = behind.trim_ascii_start().strip_prefix(b":")?;
        rest = behind.trim_ascii_start();
        let (value, behind) = match rest.first()? {
            b'"' => text(rest)?,
            _ => {
                let end = value_end(rest);
                (rest[..end].trim_ascii_end(), &rest[end..])
            }
        };
        let whole = match front {
            [] => Cow::Borrowed(name),
            _ => Cow::Owned([front, name].concat()),
        };
        let name = &*whole;
        if value.first() == Some(&b'{') && depth > 0 {
            members(value, &[name, b"."].concat(), depth - 1, put)?;
        } else {
            put(name, if value == b"null" { b"" } else { value });
        }
        rest = behind.trim_ascii_start();
        if !rest.is_empty() {
            rest = rest.strip_prefix(b",")?.trim_ascii_start();
        }
    }
    Some(())
}

/// A JSON text without its quotes, and what follows. Escapes stay as they are.
fn text(from: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = from.strip_prefix(b"\"")?;
    let mut escaped = false;
    let end = inner.iter().position(|&byte| {
        let end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        end
    })?;
    Some((&inner[..end], &inner[end + 1..]))
}

/// Where a value ends that is no text; lists and objects are values, too.
fn value_end(from: &[u8]) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    let end = from.iter().position(|&byte| {
        let in_text = quoted;
        quoted ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        match byte {
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        byte == b',' && depth == 0 && !in_text
    });
    end.unwrap_or(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of a line with these names, `-` for those that it lacks; `none` if it does not fit.
    fn fields(cut: &Cut, line: &str, names: &str) -> String {
        let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        let mut fields = Vec::new();
        let fits = cut.fields(line.as_bytes(), &names, &mut fields);
        let shown = fields
            .iter()
            .map(|f| f.map_or("-".into(), String::from_utf8_lossy));
        let shown = fits.then(|| shown.collect::<Vec<_>>().join("|"));
        shown.unwrap_or("none".to_owned())
    }

    #[test]
    fn patterns_take_the_texts_in_their_holes() {
        let cut = |text: &str| Cut::Lines(vec![Pattern::parse(text).unwrap()]);
        let event = cut("<> <time>: nvme_setup_cmd: <> cmd=(nvme_cmd_<op> slba=<lba>, len=<len>,");
        let line = "  dbd-77  [001] ....   100.000100: nvme_setup_cmd: nvme0: qid=2, cmd=(nvme_cmd_write slba=2048, len=15, x)";
        let names = "time op lba len";
        assert_eq!(fields(&event, line, names), "100.000100|write|2048|15");
        assert_eq!(fields(&event, "dbd 1.0: other: x", names), "none");
        let end = cut("t=<a> <b>");
        assert_eq!(fields(&end, "t=1\t  2 3", "a b c"), "1|2 3|-");
        assert_eq!(fields(&end, "t=1", "a"), "none");
    }

    #[test]
    fn objects_have_members() {
        let read = |line: &str| fields(&Cut::Json, line, "ts op x a.b.c a.op c");
        let deep = "{\"a\":".repeat(1_000) + "1" + &"}".repeat(1_000);
        for (line, members) in [
            (
                r#" {"ts": 5, "op":"re\"ad" , "y": {"x": [1, "},"]}} "#,
                "5|re\\\"ad|-|-|-|-",
            ),
            (r#"{"a": {"b": {"c": "7"}, "op": 1}}"#, "-|-|-|7|1|-"),
            (&deep, "-|-|-|-|-|-"),
            (r#"{"x": null, "ts": 1.5e3}"#, "1.5e3|-||-|-|-"),
            ("{}", "-|-|-|-|-|-"),
        ] {
            assert_eq!(read(line), members, "{line}");
        }
        let bad = r#"|[1]|{|{"ts"}|{"ts": 1, }x|{ts: 1}|{"ts": "1}"#;
        for bad in bad.split('|') {
            assert_eq!(read(bad), "none", "{bad}");
        }
    }

    #[test]
    fn fields_between_gaps_may_have_quotes() {
        for (separator, line, columns) in [
            ("comma", "1, \"a,b\" ,'c',", "1|a,b|c|"),
            ("blank", "  1 \t \"a b\"  c ", "1|a b|c"),
            ("tab", "1\t a b\t", "1|a b|"),
            ("|", "1|it's", "1|it's"),
            (";", "\"open;2", "\"open|2"),
        ] {
            let cut = Cut::parse(separator).unwrap();
            assert_eq!(fields(&cut, line, ""), columns, "{line}");
        }
        assert!(Cut::parse("ab").is_none() && Cut::parse("x").is_none());
    }
}
