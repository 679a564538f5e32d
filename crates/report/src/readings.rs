//! How the figures of a table are to be read, and which rows are read differently.

use destage_record::ResultRecord;
use destage_record::{Conditions, ConfigEntry};

/// The readings in one table.
pub struct Readings<'a> {
    /// The most frequent one first, then the others in the order of the rows.
    kinds: Vec<Conditions>,
    config: &'a [ConfigEntry],
}

/// The reading of a row without what differs from trace to trace; a row without a cache has none.
fn kind(record: &ResultRecord) -> Option<Conditions> {
    (record.cache_pages > 0).then(|| Conditions {
        warmup_requests: 0,
        ..record.reading.clone()
    })
}

impl<'a> Readings<'a> {
    /// The readings of `records`.
    pub fn of(records: impl IntoIterator<Item = &'a ResultRecord>) -> Readings<'a> {
        let records: Vec<&ResultRecord> = records.into_iter().collect();
        let mut kinds: Vec<(Conditions, usize)> = Vec::new();
        for reading in records.iter().filter_map(|record| kind(record)) {
            match kinds.iter_mut().find(|k| k.0 == reading) {
                Some(known) => known.1 += 1,
                None => kinds.push((reading, 1)),
            }
        }
        // Stable: among equals the first row decides.
        kinds.sort_by_key(|k| std::cmp::Reverse(k.1));
        Readings {
            kinds: kinds.into_iter().map(|k| k.0).collect(),
            config: records.first().map_or(&[], |r| &r.config),
        }
    }

    /// The mark of a row: nothing for the common reading, `*`, `**`, ... for others.
    pub fn mark(&self, record: &ResultRecord) -> String {
        let kind = kind(record);
        let at = self.kinds.iter().position(|k| Some(k) == kind.as_ref());
        "*".repeat(at.unwrap_or(0))
    }

    /// The reading line, and one for each mark.
    pub fn lines(&self) -> Vec<String> {
        let Some((common, others)) = self.kinds.split_first() else {
            return vec![format!("reading: no cache, warm-up {}", self.warmup())];
        };
        let text = |r: &Conditions| {
            let replay = r
                .queue_depth
                .map(|depth| format!(", closed loop of {depth}"));
            let region = r
                .cache_region
                .as_deref()
                .map(|region| format!(", cache in flash {region}"));
            format!(
                "read allocation {}, read fill {}, evict_wait {}, unmapped reads {}{}{}{}",
                if r.read_alloc { "on" } else { "off" },
                r.read_fill,
                r.evict_wait.as_deref().unwrap_or("- (no device)"),
                r.unmapped_reads.as_deref().unwrap_or("- (no device)"),
                replay.unwrap_or_default(),
                region.unwrap_or_default(),
                if r.charge_metadata {
                    ", metadata charged"
                } else {
                    ""
                },
            )
        };
        let mut lines = vec![format!(
            "reading: {}, warm-up {}",
            text(common),
            self.warmup()
        )];
        for (i, other) in others.iter().enumerate() {
            lines.push(format!("{} differs: {}", "*".repeat(i + 1), text(other)));
        }
        lines
    }

    fn warmup(&self) -> &str {
        let warmup = self.config.iter().find(|s| s.key == "warmup");
        warmup.map_or("none", |s| &s.value)
    }
}

/// The line below a table: every setting of the command line or a run file that is not a column anyway.
pub fn settings_line(settings: &[ConfigEntry]) -> Option<String> {
    let shown = |s: &&ConfigEntry| {
        s.is_given() && !matches!(s.key.as_str(), "scheme" | "cache" | "warmup" | "host_fs")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_what_was_given() {
        let entry = |key: &str, value: &str, origin: &str| ConfigEntry {
            key: key.to_owned(),
            value: value.to_owned(),
            origin: origin.to_owned(),
        };
        let settings = [
            entry("page", "8KiB", ConfigEntry::COMMAND_LINE),
            entry("seed", "1", ConfigEntry::BUILT_IN),
            entry("scheme", "lru", ConfigEntry::COMMAND_LINE),
        ];
        assert_eq!(
            settings_line(&settings).as_deref(),
            Some("settings: page=8KiB (command line); all others built-in")
        );
        assert_eq!(settings_line(&settings[1..]), None);
    }
}
