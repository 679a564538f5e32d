//! Effective settings with their origin, for the record and below the table.

use destage_sim::Warmup;
use destage_sim::record::Setting;
use std::fmt::Display;

/// Origin of a value that nobody gave.
const BUILT_IN: &str = "built-in";
/// Origin of a value from a flag.
pub const COMMAND_LINE: &str = "command line";

/// How the origin of a value from a run file begins.
pub const RUN_FILE: &str = "run file ";

/// Collects settings in the order in which they are shown.
#[derive(Clone, Default)]
pub struct Settings(pub Vec<Setting>);

impl Settings {
    /// A setting that has the value given, or else the built-in one.
    pub fn add<T: Display>(&mut self, key: &str, given: Option<T>, default: &str) {
        match given {
            Some(value) => self.from(key, &value.to_string(), COMMAND_LINE.to_owned()),
            None => self.from(key, default, BUILT_IN.to_owned()),
        }
    }

    /// A setting of known origin.
    pub fn from(&mut self, key: &str, value: &str, origin: String) {
        self.0.push(Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            origin,
        });
    }

    /// The line below a table: every setting of the command line or a run file that is not a column anyway.
    pub fn line(settings: &[Setting]) -> Option<String> {
        let shown = |s: &&Setting| {
            (s.origin == COMMAND_LINE || s.origin.starts_with(RUN_FILE))
                && !matches!(s.key.as_str(), "scheme" | "cache" | "warmup" | "host_fs")
        };
        let parts: Vec<String> = settings
            .iter()
            .filter(shown)
            .map(|s| format!("{}={} ({})", s.key, s.value, s.origin))
            .collect();
        let others = match settings
            .iter()
            .any(|s| s.key == "device" && s.value != "none")
        {
            true => "all others as the device says, or built-in",
            false => "all others built-in",
        };
        (!parts.is_empty()).then(|| format!("settings: {}; {others}", parts.join(", ")))
    }
}

/// The warm-up as the command line writes it.
pub fn warmup_text(warmup: Warmup) -> String {
    match warmup {
        Warmup::None => "none".to_owned(),
        Warmup::Requests(n) => n.to_string(),
        Warmup::Millionths(m) => format!("{}%", m as f64 / 10_000.0),
        Warmup::Passes(k) => format!("passes={k}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warmups_are_written_as_they_are_read() {
        for text in ["500", "12.5%", "0.0001%", "passes=3"] {
            assert_eq!(warmup_text(Warmup::parse(text).unwrap()), text);
        }
    }

    #[test]
    fn the_line_shows_what_was_given() {
        let mut settings = Settings::default();
        settings.add("page", Some("8KiB"), "4KiB");
        settings.add("seed", None::<u64>, "1");
        settings.add("scheme", Some("lru"), "lru");
        let line = Settings::line(&settings.0);
        assert_eq!(
            line.as_deref(),
            Some("settings: page=8KiB (command line); all others built-in")
        );
        assert_eq!(Settings::line(&settings.0[1..]), None);
    }
}
