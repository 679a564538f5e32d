//! Mappings: which columns of a table hold the times, kinds, addresses and sizes of requests, in which units and
//! words, and how a line is cut into columns. One text says all of it: on the command line, in run files, in Python,
//! and where a guess is printed.

pub(crate) mod cut;
pub(crate) mod date;
pub(crate) mod form;
pub(crate) mod frame;
pub(crate) mod guess;
pub(crate) mod lines;
pub(crate) mod named;
pub(crate) mod row;
pub(crate) mod rule;
pub(crate) mod units;
pub(crate) mod values;
pub(crate) mod words;

use std::fmt;
use std::str::FromStr;

use cut::{Cut, Pattern};
use rule::{ColumnUnit, MappedColumn, Rule, Until, quoted, split, unquoted};

use crate::time_unit::TimeUnit;

/// What a request needs, in the order of the columns of the format `table`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnRole {
    Time,
    Op,
    Offset,
    Size,
    Volume,
    Fua,
    Preflush,
}

/// What each role has one of, in their order.
pub(crate) type Roles<T> = [T; 7];

impl ColumnRole {
    pub const ALL: Roles<ColumnRole> = {
        use ColumnRole::{Fua, Offset, Op, Preflush, Size, Time, Volume};
        [Time, Op, Offset, Size, Volume, Fua, Preflush]
    };

    /// Its key in the text of a mapping.
    pub fn key(self) -> &'static str {
        ["time", "op", "offset", "size", "volume", "fua", "preflush"][self as usize]
    }

    /// What a key in the text of a mapping tells.
    pub fn of_key(key: &str) -> Option<(ColumnRole, Until)> {
        let role = ColumnRole::ALL.into_iter().find(|role| role.key() == key);
        match key {
            "end" => Some((ColumnRole::Size, Until::End)),
            "last" => Some((ColumnRole::Size, Until::Last)),
            _ => role.map(|role| (role, Until::Size)),
        }
    }
}

/// Which columns of a table make a request. What it does not say is guessed.
///
/// ```
/// use destage_trace::Mapping;
/// let text = "time=ts:us,op=kind:1=R,0=W,offset=lba*512,size=n*512,volume=dev,separator=semicolon";
/// let mapping: Mapping = text.parse()?;
/// assert_eq!(mapping.to_string(), text);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mapping {
    pub(crate) rules: Box<Roles<Option<Rule>>>,
    pub(crate) layout: Layout,
}

/// How the lines of a table are cut into columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Layout {
    pub cut: Option<Cut>,
    /// Does the first line name the columns?
    pub header: Option<bool>,
    /// Lines in front of that.
    pub skip: usize,
    /// The mark in front of fractions.
    pub decimal: Option<u8>,
}

/// Keys that say how lines are cut.
const LAYOUT: [&str; 5] = ["separator", "header", "skip", "decimal", "line"];

const ALLOWED: &str = "time=COLUMN:UNIT, op=COLUMN:WORD=R,WORD=W, offset=COLUMN, size=COLUMN or end=COLUMN or last=COLUMN, volume=COLUMN, \
                       fua=COLUMN, preflush=COLUMN, \
                       separator=comma|semicolon|tab|blank|json or a character, header=yes|no, skip=LINES, \
                       decimal=comma|point, line=PATTERN, joined by commas";

impl Mapping {
    pub(crate) fn rule(&self, role: ColumnRole) -> Option<&Rule> {
        self.rules[role as usize].as_ref()
    }

    /// The unit of its times.
    pub(crate) fn time_unit(&self) -> Option<TimeUnit> {
        match self.rule(ColumnRole::Time)?.unit? {
            ColumnUnit::Time(unit) => Some(unit),
            _ => None,
        }
    }

    pub(crate) fn set_unit(&mut self, role: ColumnRole, unit: ColumnUnit) {
        if let Some(rule) = &mut self.rules[role as usize] {
            rule.unit = Some(unit);
        }
    }

    /// The names of all columns that have one.
    pub(crate) fn column_names(&self) -> impl Iterator<Item = &String> {
        let columns = self.rules.iter().flatten().flat_map(|rule| &rule.columns);
        columns.filter_map(|column| match column {
            MappedColumn::Name(name) => Some(name),
            MappedColumn::Number(_) => None,
        })
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let layout = &mut self.layout;
        let twice = || Err(format!("`{key}={value}`: {key} is given twice"));
        if let Some((role, until)) = ColumnRole::of_key(key) {
            let rule = &mut self.rules[role as usize];
            if rule.is_some() {
                return twice();
            }
            let parsed = Rule::parse(role, value);
            let parsed = parsed.map_err(|why| format!("`{key}={value}`: {why}"))?;
            *rule = Some(Rule { until, ..parsed });
            return Ok(());
        }
        let wrong = |allowed: &str| Err(format!("`{key}={value}`: allowed: {allowed}"));
        match key {
            "line" => {
                let pattern = unquoted(value).and_then(|text| Pattern::parse(&text));
                let pattern = pattern.map_err(|why| format!("`{key}={value}`: {why}"))?;
                match &mut layout.cut {
                    None => layout.cut = Some(Cut::Lines(vec![pattern])),
                    Some(Cut::Lines(patterns)) => patterns.push(pattern),
                    Some(_) => return Err("line= and separator= exclude each other".to_owned()),
                }
            }
            "separator" if layout.cut.is_some() => return twice(),
            "separator" => match Cut::parse(value) {
                Some(cut) => layout.cut = Some(cut),
                None => return wrong("comma, semicolon, tab, blank, json, or one character"),
            },
            "header" => match value {
                "yes" => layout.header = Some(true),
                "no" => layout.header = Some(false),
                _ => return wrong("yes, no"),
            },
            "decimal" => match value {
                "comma" => layout.decimal = Some(b','),
                "point" | "." => layout.decimal = Some(b'.'),
                _ => return wrong("comma, point"),
            },
            _ => match value.parse() {
                Ok(lines @ ..=1_000_000) => layout.skip = lines,
                _ => return wrong("a number of lines, at most 1000000"),
            },
        }
        Ok(())
    }
}

impl FromStr for Mapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Mapping, String> {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        let mut items = split(text, ',').into_iter().peekable();
        while let Some(item) = items.next() {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            let key = key.trim();
            if ColumnRole::of_key(key).is_some() || LAYOUT.contains(&key) {
                // The separator itself, or a comma as the mark of fractions.
                let comma = value.is_empty() && matches!(key, "separator" | "decimal");
                if comma && items.peek() == Some(&"") {
                    items.next();
                }
                let value = if comma { "comma" } else { value };
                if value.is_empty() {
                    let missing = format!("`{item}`: something is missing behind {key}=");
                    return Err(format!("{missing}; allowed: {ALLOWED}"));
                }
                pairs.push((key, value.to_owned()));
                continue;
            }
            // A further word of the kinds.
            match pairs.last_mut() {
                Some(("op", value)) if value.contains(':') && item.contains('=') => {
                    *value += &format!(",{item}")
                }
                _ => {
                    let none = format!("`{item}` names no column of a request");
                    return Err(format!("{none}; allowed: {ALLOWED}"));
                }
            }
        }
        let mut mapping = Mapping::default();
        for (key, value) in pairs {
            mapping.set(key, &value)?;
        }
        Ok(mapping)
    }
}

impl Mapping {
    /// Its parts, KEY=VALUE each.
    pub(crate) fn parts(&self) -> Vec<(&'static str, String)> {
        let mut parts = Vec::new();
        for role in ColumnRole::ALL {
            let key = |rule: &Rule| match rule.until {
                Until::Size => role.key(),
                Until::Last => "last",
                Until::End | Until::Open => "end",
            };
            parts.extend(self.rule(role).map(|rule| (key(rule), rule.to_string())));
        }
        match &self.layout.cut {
            Some(Cut::Lines(patterns)) => {
                parts.extend(patterns.iter().map(|p| ("line", quoted(p.text()))));
            }
            Some(cut) => parts.push(("separator", cut.to_string())),
            None => {}
        }
        let header = self.layout.header.map(|yes| if yes { "yes" } else { "no" });
        parts.extend(header.map(|header| ("header", header.to_owned())));
        if self.layout.skip > 0 {
            parts.push(("skip", self.layout.skip.to_string()));
        }
        let mark = |mark: u8| if mark == b',' { "comma" } else { "point" };
        let decimal = self.layout.decimal.map(mark);
        parts.extend(decimal.map(|mark| ("decimal", mark.to_owned())));
        parts
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts().into_iter();
        let parts: Vec<String> = parts.map(|(key, value)| format!("{key}={value}")).collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_written_as_they_are_read() {
        for text in [
            "time=ts:us,op=kind:1=R,0=W,offset=lba*512,size=n*512,volume=dev",
            "time=1:ms,op=4:getTemp=R,\"a,b\"=-,x=FWF,*=WF,offset=3:sectors,size=len*512+512,separator=tab,header=no,skip=2",
            "time=a b:date,op=x%4:0=R,offset==0,size==4096,volume=host&disk,separator=semicolon,decimal=comma",
            "time=\"a,b\",op=\"7\",offset=\"x*y\":blocks,size=\"say \"\"no\"\"\",separator=json",
            "op=a,offset==0,volume=v,fua=f,preflush=6",
            "time=t,op=a,offset=x:sectors,last=y:sectors",
            "op=a,offset=1:blocks,end=3*512",
            "time=t:s,op=op,offset=lba,line=\"[<t>] <> lba = <lba>, op = <op>\",line=\"<t> flush<op>\"",
        ] {
            let mapping: Mapping = text.parse().unwrap();
            assert_eq!(mapping.to_string(), text);
            assert_eq!(mapping.to_string().parse(), Ok(mapping));
        }
        let same = |a: &str, b: &str| assert_eq!(a.parse::<Mapping>().unwrap().to_string(), b);
        same("offset=lba,time=a=b c", "time=a=b c,offset=lba");
        same(
            "separator=,,time= t ,decimal=,",
            "time=t,separator=comma,decimal=comma",
        );
        same(
            "separator=;,op='a' : R = W , x=read",
            "op=a:R=W,x=R,separator=semicolon",
        );
    }

    #[test]
    fn all_letters_of_the_kernel_are_written_as_they_are_read() {
        let letters: Vec<String> = "RWDTNFSAMUE".chars().map(String::from).collect();
        let mut words = letters.clone();
        for _ in 0..2 {
            let more = |word| letters.iter().map(move |l| format!("{word}{l}"));
            let longer = words.iter().flat_map(more);
            words = letters.iter().cloned().chain(longer).collect();
        }
        let mut read = 0;
        for word in words {
            let Ok(mapping) = format!("op=a:1={word}").parse::<Mapping>() else {
                continue;
            };
            assert_eq!(mapping.to_string().parse(), Ok(mapping), "{word}");
            read += 1;
        }
        assert!(read > 500, "{read}");
    }

    const BAD: &str = "
        => `` names no column
        lba=x => `lba=x` names no column
        op => `op`: something is missing
        op= => `op=`: something is missing
        op=a,op=b => `op=b`: op is given twice
        size=a,last=b => `last=b`: last is given twice
        op=a,b=R => `b=R` names no column
        op=a:1=X => `X` is none of R, W, T, F, WF, FW, -
        time=a:h => `h` is none of the units s, ms, us, 100ns, ns, date
        size=a:us => `us` is none of the units bytes, sectors, blocks
        size=a*0 => zero
        time=0 => columns count from 1
        time=\"a => the quote is not closed
        separator=ab => one character
        separator=tab,separator=tab => given twice
        header=maybe => yes, no
        skip=-1 => a number of lines
        line=<a>,separator=tab => given twice
        separator=tab,line=<a> => exclude each other
        line=<a => `<` is not closed
        line=<a><b> => nothing stands between
        size=a&b => only time= and volume= join columns
        fua=a:b => fua has no unit `b`";

    #[test]
    fn bad_mappings_are_refused() {
        for row in BAD.lines().skip(1) {
            let (text, part) = row.split_once("=> ").unwrap();
            let text = text.trim();
            let error = text.parse::<Mapping>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
