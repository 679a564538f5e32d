//! Names of the columns of a trace, where they are found by their names.

use std::fmt;
use std::str::FromStr;

/// The names of the columns of a Parquet trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnNames {
    names: [String; 4],
}

impl ColumnNames {
    /// Usual names of columns, in the order of [`ColumnNames::names`].
    pub(crate) const USUAL: [&str; 4] = ["time", "op", "offset", "size"];

    /// The names of the columns of times, kinds, first bytes and lengths.
    pub(crate) fn names(&self) -> &[String; 4] {
        &self.names
    }
}

impl Default for ColumnNames {
    fn default() -> ColumnNames {
        ColumnNames {
            names: Self::USUAL.map(str::to_owned),
        }
    }
}

impl fmt::Display for ColumnNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = Self::USUAL.iter().zip(&self.names);
        let pairs: Vec<String> = pairs.map(|(key, name)| format!("{key}={name}")).collect();
        f.write_str(&pairs.join(","))
    }
}

impl FromStr for ColumnNames {
    type Err = String;

    fn from_str(text: &str) -> Result<ColumnNames, String> {
        let mut columns = ColumnNames::default();
        let mut given = [false; 4];
        for pair in text.split(',') {
            let (key, name) = pair.split_once('=').unwrap_or((pair, ""));
            let known = Self::USUAL.iter().position(|usual| *usual == key.trim());
            let Some(column) = known else {
                return Err(format!(
                    "`{pair}` names no column of a request; allowed: time=NAME, op=NAME, offset=NAME, \
                     size=NAME, joined by commas"
                ));
            };
            if name.is_empty() || std::mem::replace(&mut given[column], true) {
                return Err(format!(
                    "`{pair}`: one name after each of time=, op=, offset=, size="
                ));
            }
            columns.names[column] = name.to_owned();
        }
        Ok(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_they_are_read() {
        let columns: ColumnNames = "offset=lba,time=a=b c".parse().unwrap();
        assert_eq!(columns.names(), &["a=b c", "op", "lba", "size"]);
        assert_eq!(columns.to_string(), "time=a=b c,op=op,offset=lba,size=size");
        assert_eq!(columns.to_string().parse(), Ok(columns));
    }

    #[test]
    fn bad_names_are_refused() {
        for (text, part) in [
            ("", "`` names no column"),
            ("lba=x", "`lba=x` names no column"),
            ("op", "`op`: one name"),
            ("op=", "`op=`: one name"),
            ("op=a,op=b", "`op=b`: one name"),
        ] {
            let error = text.parse::<ColumnNames>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
