//! Where a file of options says what, so that faults name its line and key.

use destage_device::config::key_lines;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use toml::Value;

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

/// The lines of the keys of a TOML file.
#[derive(Debug, Default)]
pub struct KeyPlaces {
    /// The file as messages name it.
    file: String,
    /// Whether it is a file.
    pub is_file: bool,
    /// Lines by key; those of the second `[[run]]` begin with `run.1.`, and `run.1` is its header.
    lines: BTreeMap<String, usize>,
}

impl KeyPlaces {
    /// The keys of `text`, which the file at `path` has.
    pub fn of(path: &Path, text: &str) -> Arc<KeyPlaces> {
        Arc::new(KeyPlaces {
            file: path.display().to_string(),
            is_file: true,
            lines: key_lines(text),
        })
    }

    /// Options without a file, called `name`.
    pub fn without_file(name: &str) -> Arc<KeyPlaces> {
        Arc::new(KeyPlaces {
            file: name.to_owned(),
            ..KeyPlaces::default()
        })
    }

    /// Whether the file has the key.
    pub fn has(&self, key: &str) -> bool {
        self.lines.contains_key(key)
    }

    /// The line of a key in `part` of the file, or in what that part shares with others.
    fn line(&self, part: &str, key: &str) -> Option<usize> {
        let mut part = part;
        while !part.is_empty() {
            if let Some(line) = self.lines.get(&format!("{part}.{key}")) {
                return Some(*line);
            }
            part = part.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        self.lines.get(key).copied()
    }

    /// `fault` of a key, or of all of `part`, with its place in front.
    pub fn fault(&self, part: &str, key: Option<&str>, fault: &str) -> String {
        let line = key.and_then(|key| self.line(part, key));
        match line.or_else(|| self.lines.get(part).copied()) {
            Some(line) => format!("{}:{line}: {fault}", self.file),
            None => format!("{}: {fault}", self.file),
        }
    }

    /// `fault` of the value of a key, with place, key and value in front.
    pub fn value_fault(&self, part: &str, key: &str, value: &Value, fault: &str) -> String {
        let begin = format!("{key} = ");
        match fault.starts_with(&begin) {
            true => self.fault(part, Some(key), fault),
            false => {
                let value = shortened(value.to_string());
                self.fault(part, Some(key), &format!("{begin}{value}: {fault}"))
            }
        }
    }
}

fn shortened(text: String) -> String {
    let text = text.replace('\n', " ");
    match text.chars().count() > SHOWN {
        true => text.chars().take(SHOWN).chain("...".chars()).collect(),
        false => text,
    }
}

/// The part of a file that some options come from.
#[derive(Clone, Debug)]
pub struct FilePart {
    /// Where its keys stand.
    pub places: Arc<KeyPlaces>,
    /// Which part, as in [`KeyPlaces`].
    pub part: String,
    /// Keys whose values were taken, because the command line left them open.
    pub keys: BTreeSet<String>,
}

impl FilePart {
    /// `fault` with its place in the file, unless it begins with an option that the command line gave. Elsewhere
    /// in the fault, the first option that the file gave has the line.
    pub fn placed(&self, fault: &str) -> String {
        let given = |option: &str| {
            let end = option.find(|c: char| c != '-' && !c.is_ascii_alphanumeric());
            let key = &option[..end.unwrap_or(option.len())];
            self.keys.get(key)
        };
        if let Some(option) = fault.strip_prefix("--") {
            return match given(option) {
                Some(key) => self.places.fault(&self.part, Some(key), option),
                None => fault.to_owned(),
            };
        }
        let key = fault.split("--").skip(1).find_map(given);
        self.places
            .fault(&self.part, key.map(String::as_str), fault)
    }

    /// `fault` of the option `key` with its place in the file, unless the command line gave it.
    pub fn placed_at(&self, key: &str, fault: &str) -> String {
        match self.keys.contains(key) {
            true => {
                let fault = format!("{key}: {fault}");
                self.places.fault(&self.part, Some(key), &fault)
            }
            false => fault.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_lines_in_their_part_or_in_what_all_share() {
        let text = "cache = '1MiB'\n\n[[run]]\ntrace = 'a'\n[[run]]\ncache = '2MiB'\ntrace = 'b'\n";
        let places = KeyPlaces::of(Path::new("r.toml"), text);
        let place = |part: &str, key: &str| places.fault(part, Some(key), "x");
        assert_eq!(place("run.0", "cache"), "r.toml:1: x");
        assert_eq!(place("run.1", "cache"), "r.toml:6: x");
        assert_eq!(place("run.0", "trace"), "r.toml:4: x");
        assert_eq!(place("run.1", "seed"), "r.toml:5: x");
        assert_eq!(place("", "seed"), "r.toml: x");
        let value = Value::String("16".to_owned());
        let fault = places.value_fault("run.1", "cache", &value, "needs a unit");
        assert_eq!(fault, "r.toml:6: cache = \"16\": needs a unit");
    }
}
