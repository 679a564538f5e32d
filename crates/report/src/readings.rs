//! How the figures of a table are to be read, and which rows are read differently.

use crate::distinct;
use crate::figures::{RUNS_EMPTY, runs_empty};
use destage_record::{Conditions, ConfigEntry, ResultRecord};
use destage_types::ByteSize;

/// The readings in one table.
pub struct Readings<'a> {
    /// The most frequent one first, then the others in the order of the rows.
    kinds: Vec<Reading<'a>>,
    /// Page sizes in bytes with the devices that have them, in the order of the rows.
    pages: Vec<(u64, Vec<&'a str>)>,
    /// Warm-up of the first row.
    warmup: &'a str,
    /// Is there a closed loop that mostly runs empty?
    runs_empty: bool,
}

/// How a row is read, without what differs from trace to trace.
#[derive(PartialEq)]
struct Reading<'a> {
    conditions: Conditions,
    warmup: &'a str,
}

impl<'a> Reading<'a> {
    /// The reading of a row; a row without a cache has none.
    fn of(record: &'a ResultRecord) -> Option<Reading<'a>> {
        (record.cache_pages > 0).then(|| Reading {
            conditions: Conditions {
                warmup_requests: 0,
                ..record.reading.clone()
            },
            warmup: warmup(record),
        })
    }

    fn text(&self) -> String {
        let r = &self.conditions;
        let replay = r
            .queue_depth
            .map(|depth| format!(", closed loop of {depth}"));
        let region = r
            .cache_region
            .as_deref()
            .map(|region| format!(", cache in flash {region}"));
        format!(
            "read allocation {}, read fill {}{}{}{}{}{}",
            if r.read_alloc { "on" } else { "off" },
            r.read_fill,
            r.evict_wait.as_deref().map_or("", eviction),
            r.unmapped_reads.as_deref().map_or("", unwritten),
            replay.unwrap_or_default(),
            region.unwrap_or_default(),
            if r.charge_metadata {
                ", metadata charged"
            } else {
                ""
            },
        )
    }
}

/// For what a write waits that displaces a page; the value of the device key `evict_wait`.
fn eviction(value: &str) -> &'static str {
    match value {
        "issue" => ", writes do not wait for evictions",
        "transfer_done" => ", writes wait until evicted pages are in the chip",
        _ => ", writes wait until evicted pages are programmed",
    }
}

/// A sentence on pages that a trace reads before it writes them.
fn unwritten(value: &str) -> &'static str {
    match value {
        "counted" => ", reads of pages that were never written cost nothing",
        _ => ", pages that the trace reads first are on flash",
    }
}

fn warmup(record: &ResultRecord) -> &str {
    let warmup = record.config.iter().find(|s| s.key == "warmup");
    warmup.map_or("none", |s| &s.value)
}

/// The page sizes of `records`, and the devices that have each.
fn pages<'a>(records: &[&'a ResultRecord]) -> Vec<(u64, Vec<&'a str>)> {
    let of_size = |size: u64| {
        let rows = records.iter().filter(|r| r.page_bytes == size);
        (size, distinct(rows.map(|r| r.device.as_str())))
    };
    let sizes = distinct(records.iter().map(|r| r.page_bytes));
    sizes.into_iter().map(of_size).collect()
}

impl<'a> Readings<'a> {
    /// The readings of `records`.
    pub fn of(records: impl IntoIterator<Item = &'a ResultRecord>) -> Readings<'a> {
        let records: Vec<&ResultRecord> = records.into_iter().collect();
        let mut kinds: Vec<(Reading<'a>, usize)> = Vec::new();
        for reading in records.iter().filter_map(|record| Reading::of(record)) {
            match kinds.iter_mut().find(|k| k.0 == reading) {
                Some(known) => known.1 += 1,
                None => kinds.push((reading, 1)),
            }
        }
        // Stable: among equals the first row decides.
        kinds.sort_by_key(|k| std::cmp::Reverse(k.1));
        Readings {
            kinds: kinds.into_iter().map(|k| k.0).collect(),
            pages: pages(&records),
            warmup: records.first().map_or("none", |r| warmup(r)),
            runs_empty: records.iter().any(|r| runs_empty(r)),
        }
    }

    /// The mark of a row: nothing for the common reading, `*`, `**`, ... for others.
    pub fn mark(&self, record: &ResultRecord) -> String {
        let reading = Reading::of(record);
        let at = self.kinds.iter().position(|k| Some(k) == reading.as_ref());
        "*".repeat(at.unwrap_or(0))
    }

    /// The reading line, and one for each mark.
    pub fn lines(&self) -> Vec<String> {
        let place = self.page_and_device();
        let Some((common, others)) = self.kinds.split_first() else {
            let warmup = self.warmup;
            return vec![format!("reading: {place}, no cache, warm-up {warmup}")];
        };
        let warmup = common.warmup;
        let mut lines = vec![format!(
            "reading: {place}, {}, warm-up {warmup}",
            common.text()
        )];
        for (i, other) in others.iter().enumerate() {
            let mut line = format!("{} differs: {}", "*".repeat(i + 1), other.text());
            if other.warmup != warmup {
                line += &format!(", warm-up {}", other.warmup);
            }
            lines.push(line);
        }
        if self.runs_empty {
            lines.push(format!(
                "{RUNS_EMPTY}: the queue depth was held for less than half of the time, so the rate is that of a queue \
                 that runs empty"
            ));
        }
        if self.pages.len() > 1 {
            lines.push(
                "page sizes differ: hit ratios of pages do not compare between them; amounts of data and hit \
                 ratios of sectors do"
                    .to_owned(),
            );
        }
        lines
    }

    /// Page size and device of all rows, or which devices have which.
    fn page_and_device(&self) -> String {
        let on = |devices: &[&str]| match devices {
            ["none"] => "without a device".to_owned(),
            devices => format!("on {}", devices.join(", ")),
        };
        match &self.pages[..] {
            [] => "no run".to_owned(),
            [(page, devices)] => {
                let devices = match &devices[..] {
                    ["none"] => "no device".to_owned(),
                    [device] => format!("device {device}"),
                    devices => format!("devices {}", devices.join(", ")),
                };
                format!("page {}, {devices}", ByteSize(*page))
            }
            pages => {
                let each = pages
                    .iter()
                    .map(|(page, devices)| format!("page {} {}", ByteSize(*page), on(devices)));
                each.collect::<Vec<_>>().join(", ")
            }
        }
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
    let others = if settings
        .iter()
        .any(|s| s.key == "device" && s.value != "none")
    {
        "all others as the device says, or built-in"
    } else {
        "all others built-in"
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
