//! The figures of a trace, for people and as JSON.

use crate::trace::info::TraceReport;
use destage_report::formats::read_as;
use destage_trace::Volume;
use serde::{Serialize, Serializer};

/// Volumes that the text names.
const NAMED: usize = 10;

/// The volumes of a trace, each made a row when it is written: there may be a million of them.
pub struct VolumeReports(pub Vec<Volume>);

/// One volume of a trace.
#[derive(Serialize)]
struct VolumeLine<'a> {
    /// Name in the trace.
    name: &'a str,
    /// Its requests.
    requests: u64,
    /// Byte behind its highest address, as the trace has it.
    end_byte: u64,
    /// Where its byte 0 is on the device.
    start_byte: u64,
}

impl<'a> From<&'a Volume> for VolumeLine<'a> {
    fn from(volume: &'a Volume) -> VolumeLine<'a> {
        VolumeLine {
            name: &volume.name,
            requests: volume.requests,
            end_byte: volume.end_sector * 512,
            start_byte: volume.start_sector * 512,
        }
    }
}

impl Serialize for VolumeReports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(VolumeLine::from))
    }
}

/// `bytes` with a unit, beside the exact number.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{value:.1} {} ({bytes} B)", units[unit]),
    }
}

fn mean(bytes: Option<f64>, range: Option<(u64, u64)>) -> String {
    match (bytes, range) {
        (Some(mean), Some((least, most))) => {
            format!(
                "{:.2} KiB, from {} to {}",
                mean / 1024.0,
                size(least),
                size(most)
            )
        }
        _ => "-".to_owned(),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |s| format!("{:.1} %", 100.0 * s))
}

impl TraceReport {
    /// The figures for people.
    pub fn text(&self) -> String {
        let rows = self.rows();
        let lines = rows
            .iter()
            .map(|(name, value)| format!("{name:<19}{value}\n"));
        lines.collect::<String>() + &self.lists()
    }

    /// Each figure with its name.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let pages = |n: u64| format!("{n} pages of 4 KiB, {}", size(n * 4096));
        let span = match self.timed {
            true => format!(
                "{:.3} s, {:.1} us between two requests",
                self.span_ns as f64 / 1e9,
                self.mean_gap_ns.unwrap_or(0.0) / 1e3
            ),
            false => "no times in this format".to_owned(),
        };
        let load = match (self.requests_per_s, self.bytes_per_s) {
            (Some(requests), Some(bytes)) => {
                format!("{requests:.1} requests/s, {:.3} MB/s", bytes / 1e6)
            }
            _ => "-".to_owned(),
        };
        let share = self.write_share.map(|s| format!(" ({:.1} %)", 100.0 * s));
        let mut rows = vec![
            ("trace", self.trace.clone()),
            (
                "format",
                format!(
                    "{}, {}",
                    read_as(self.format, self.time_unit.as_deref()),
                    self.container
                ),
            ),
            ("sha256", self.sha256.clone().unwrap_or_default()),
            ("requests", self.requests.to_string()),
            ("reads", self.read_requests.to_string()),
            (
                "writes",
                format!("{}{}", self.write_requests, share.unwrap_or_default()),
            ),
            ("read", size(self.read_bytes)),
            (
                "mean read",
                mean(self.mean_read_bytes, self.read_bytes_range),
            ),
            ("written", size(self.write_bytes)),
            (
                "mean write",
                mean(self.mean_write_bytes, self.write_bytes_range),
            ),
            ("footprint", pages(self.footprint_pages)),
            ("written part", pages(self.written_pages)),
            (
                "reuse",
                format!(
                    "{} of {} page accesses",
                    percent(self.reuse_share),
                    self.page_accesses
                ),
            ),
            ("frequent", self.frequent()),
            ("updates", self.updates()),
            (
                "large sequential",
                format!("{} of the written bytes", percent(self.lwdata_share)),
            ),
            (
                "sequential",
                format!("{} of the requests", percent(self.sequential_share)),
            ),
            ("span", span),
            ("offered load", load),
            ("first address", size(self.first_byte)),
            ("end address", size(self.end_byte)),
            ("streams", self.streams.to_string()),
        ];
        if let Some(columns) = &self.columns {
            rows.insert(2, ("columns", columns.clone()));
        }
        let rare = [
            ("trims", self.trim_requests),
            ("flushes", self.flush_requests),
            ("with old addresses", self.requests_with_prev),
            ("atomic", self.atomic_requests),
            ("with FUA", self.fua_requests),
            ("with preflush", self.preflush_requests),
            ("times raised", self.arrival_corrections),
            ("unaligned", self.unaligned_requests),
            ("lines skipped", self.skipped_lines),
        ];
        rows.extend(
            rare.iter()
                .filter(|r| r.1 > 0)
                .map(|r| (r.0, r.1.to_string())),
        );
        rows
    }

    fn frequent(&self) -> String {
        format!(
            "{} pages accessed 3 times and more ({}), {} of them written",
            self.frequent_pages,
            percent(self.frequent_share),
            percent(self.frequent_written_share)
        )
    }

    fn updates(&self) -> String {
        format!(
            "{} of {} page writes, in {} of the write requests",
            percent(self.update_share),
            self.write_page_accesses,
            percent(self.update_request_share)
        )
    }

    /// Requests by size, and the volumes if there are several.
    fn lists(&self) -> String {
        let mut text = String::new();
        for (i, (most, reads, writes)) in self.sizes.iter().enumerate() {
            let name = if i == 0 { "sizes up to" } else { "" };
            let most = destage_types::ByteSize(*most).to_string();
            text += &format!("{name:<19}{most:<8}{reads} reads, {writes} writes\n");
        }
        let volumes = &self.volumes.0;
        if volumes.len() < 2 {
            return text;
        }
        for (i, v) in volumes.iter().take(NAMED).map(VolumeLine::from).enumerate() {
            let name = if i == 0 { "volumes" } else { "" };
            text += &format!(
                "{name:<19}{}: {} requests, {} at {}\n",
                v.name,
                v.requests,
                size(v.end_byte),
                size(v.start_byte)
            );
        }
        if volumes.len() > NAMED {
            let more = volumes.len() - NAMED;
            text += &format!("{:<19}and {more} more (--json lists them)\n", "");
        }
        text
    }
}
