//! Options of a fio job, and the stream of requests that they describe.

use crate::measurements::cell::{LoadArrivals, LoadPattern, LoadStream};
use std::collections::BTreeMap;

/// Options of a job beside those of `[global]`.
pub struct FioOptions<'a> {
    global: &'a BTreeMap<String, String>,
    own: &'a BTreeMap<String, String>,
}

/// Why a job is not used.
#[derive(Debug)]
pub enum UnusedJob {
    /// An option has a value that fio would not take, or a kind of value that is not read here.
    Wrong(String),
    /// The job did something that no cell can say. The text follows the name of the job.
    NotACell(String),
}

/// Engines that send one request at a time, whatever `iodepth` says.
const SYNCHRONOUS: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Engines that reach a device without the page cache of the kernel.
const UNCACHED: [&str; 7] = [
    "nbd",
    "rbd",
    "sg",
    "io_uring_cmd",
    "libiscsi",
    "spdk",
    "http",
];

/// Options that change a load in ways that a cell cannot say, with the values that change nothing.
const UNSUPPORTED: [(&str, &[&str]); 19] = [
    ("bssplit", &[]),
    ("bsrange", &[]),
    ("blocksize_range", &[]),
    ("bs_unaligned", &["0"]),
    ("random_distribution", &["random"]),
    ("percentage_random", &["100"]),
    ("fsync", &["0"]),
    ("fdatasync", &["0"]),
    ("sync", &["0", "none"]),
    ("verify", &["0", "null"]),
    ("zonemode", &["none"]),
    ("thinktime_iotime", &["0"]),
    ("latency_target", &["0"]),
    ("flow", &["0"]),
    ("startdelay", &["0"]),
    ("wait_for", &[]),
    ("read_iolog", &[]),
    ("rate_cycle", &["1000"]),
    ("steadystate", &[]),
];

impl<'a> FioOptions<'a> {
    /// Options of a job that stands below `global`.
    pub fn new(
        global: &'a BTreeMap<String, String>,
        own: &'a BTreeMap<String, String>,
    ) -> FioOptions<'a> {
        FioOptions { global, own }
    }

    /// The value of an option under any of its names.
    pub fn text(&self, names: &[&str]) -> Option<&'a str> {
        let find = |map: &'a BTreeMap<String, String>| names.iter().find_map(|name| map.get(*name));
        find(self.own)
            .or_else(|| find(self.global))
            .map(|value| value.trim())
    }

    /// A number with fio's suffixes. `names[0]` stands in messages.
    fn number(&self, names: &[&str]) -> Result<Option<f64>, UnusedJob> {
        let Some(text) = self.text(names) else {
            return Ok(None);
        };
        let refused = || {
            wrong(
                names[0],
                text,
                "a number, with k, m, g or t for powers of 1024",
            )
        };
        scaled(text).map(Some).ok_or_else(refused)
    }

    /// A whole number from 1.
    fn count(&self, name: &str, default: u32) -> Result<u32, UnusedJob> {
        let Some(text) = self.text(&[name]) else {
            return Ok(default);
        };
        let count = text.parse().ok().filter(|count| *count >= 1);
        count.ok_or_else(|| wrong(name, text, "a whole number from 1"))
    }

    /// Threads of the job.
    ///
    /// # Errors
    /// `numjobs` is no number.
    pub fn threads(&self) -> Result<u32, UnusedJob> {
        self.count("numjobs", 1)
    }

    fn engine(&self) -> &'a str {
        let engine = self.text(&["ioengine"]).unwrap_or("psync");
        engine.split(':').next().unwrap_or(engine)
    }

    /// Requests that a thread has outstanding at most.
    fn depth(&self) -> Result<u32, UnusedJob> {
        match SYNCHRONOUS.contains(&self.engine()) {
            true => Ok(1),
            false => self.count("iodepth", 1),
        }
    }

    /// The stream of requests that a job sends from all its threads.
    ///
    /// # Errors
    /// An option is wrong, or the load is none that a cell can describe.
    pub fn stream(&self, measured: bool) -> Result<LoadStream, UnusedJob> {
        self.check_unsupported()?;
        let engine = self.engine();
        let is_direct =
            self.text(&["direct"]) == Some("1") || self.text(&["buffered"]) == Some("0");
        if !is_direct && !UNCACHED.contains(&engine) {
            return Err(UnusedJob::NotACell(
                "has no `direct=1`. It measured the page cache of the host, not the drive"
                    .to_owned(),
            ));
        }
        let (reads, pattern) = self.operations()?;
        let threads = self.threads()?;
        Ok(LoadStream {
            threads,
            reads,
            bytes: self.request_bytes(reads)?,
            pattern,
            arrivals: self.arrivals(reads, threads)?,
            depth: self.depth()?,
            measured,
        })
    }

    fn check_unsupported(&self) -> Result<(), UnusedJob> {
        for (name, harmless) in UNSUPPORTED {
            if let Some(value) = self.text(&[name])
                && !harmless.contains(&value)
            {
                let what = format!("has `{name}={value}`, which a cell cannot describe");
                return Err(UnusedJob::NotACell(what));
            }
        }
        Ok(())
    }

    /// Share of reads, and the pattern.
    fn operations(&self) -> Result<(f64, LoadPattern), UnusedJob> {
        let word = self.text(&["rw", "readwrite"]).unwrap_or("read");
        let (pattern, is_mixed, reads) = match word {
            "read" => (LoadPattern::Sequential, false, 1.0),
            "write" => (LoadPattern::Sequential, false, 0.0),
            "randread" => (LoadPattern::Random, false, 1.0),
            "randwrite" => (LoadPattern::Random, false, 0.0),
            "rw" | "readwrite" => (LoadPattern::Sequential, true, 0.5),
            "randrw" => (LoadPattern::Random, true, 0.5),
            "trim" | "randtrim" | "trimwrite" | "randtrimwrite" => {
                return Err(UnusedJob::NotACell(format!("has `rw={word}`, which trims")));
            }
            _ => {
                let allowed = "read, write, randread, randwrite, rw, readwrite or randrw";
                return Err(wrong("rw", word, allowed));
            }
        };
        if !is_mixed {
            return Ok((reads, pattern));
        }
        let share = |name: &str| -> Result<Option<f64>, UnusedJob> {
            let percent = self.number(&[name])?;
            let is_inside = percent.is_none_or(|percent| (0.0..=100.0).contains(&percent));
            let text = self.text(&[name]).unwrap_or_default();
            match is_inside {
                true => Ok(percent.map(|percent| percent / 100.0)),
                false => Err(wrong(name, text, "a percentage from 0 to 100")),
            }
        };
        let writes = share("rwmixwrite")?;
        let reads = share("rwmixread")?.or(writes.map(|writes| 1.0 - writes));
        Ok((reads.unwrap_or(0.5), pattern))
    }

    /// Values for reads and writes of an option that may have one, two or three.
    fn by_direction(&self, names: &[&str]) -> Result<Option<(f64, f64)>, UnusedJob> {
        let Some(text) = self.text(names) else {
            return Ok(None);
        };
        let allowed = "a number, or one for reads and one for writes after a comma";
        let refused = || wrong(names[0], text, allowed);
        let mut parts = text.split(',');
        let first = parts.next().unwrap_or_default();
        let read = scaled(first).ok_or_else(refused)?;
        let write = match parts.next() {
            None | Some("") => read,
            Some(part) => scaled(part).ok_or_else(refused)?,
        };
        Ok(Some((read, write)))
    }

    fn request_bytes(&self, reads: f64) -> Result<u64, UnusedJob> {
        let (read, write) = self
            .by_direction(&["bs", "blocksize"])?
            .unwrap_or((4096.0, 4096.0));
        if reads > 0.0 && reads < 1.0 && read != write {
            return Err(UnusedJob::NotACell(format!(
                "reads {read} bytes and writes {write} bytes a request. Use one size, or one job for each"
            )));
        }
        let bytes = if reads > 0.0 { read } else { write };
        let text = self.text(&["bs", "blocksize"]).unwrap_or("4k");
        match bytes >= 512.0 && bytes % 512.0 == 0.0 {
            true => Ok(bytes as u64),
            false => Err(wrong("bs", text, "a multiple of 512")),
        }
    }

    fn arrivals(&self, reads: f64, threads: u32) -> Result<LoadArrivals, UnusedJob> {
        let by_request = self.by_direction(&["rate_iops"])?;
        let by_bytes = self.by_direction(&["rate"])?;
        let bytes = self.request_bytes(reads)? as f64;
        let rates = match (by_request, by_bytes) {
            (Some(_), Some(_)) => {
                return Err(UnusedJob::NotACell(
                    "has both `rate` and `rate_iops`".to_owned(),
                ));
            }
            (Some(rates), None) => Some(rates),
            (None, bytes_per_s) => bytes_per_s.map(|(read, write)| (read / bytes, write / bytes)),
        };
        let idle_us = self.text(&["thinktime"]).filter(|idle| *idle != "0");
        let Some((read, write)) = rates else {
            return match idle_us {
                None => Ok(LoadArrivals::Closed),
                Some(text) => self.bursts(text),
            };
        };
        if idle_us.is_some() {
            return Err(UnusedJob::NotACell(
                "has both a rate and `thinktime`".to_owned(),
            ));
        }
        // Each direction has a rate of its own, and each thread has it.
        let kinds = [(reads > 0.0, read), (reads < 1.0, write)];
        let per_thread: f64 = kinds
            .iter()
            .filter(|(has, _)| *has)
            .map(|(_, rate)| rate)
            .sum();
        let per_s = per_thread * f64::from(threads);
        if per_s <= 0.0 {
            return Ok(LoadArrivals::Closed);
        }
        match self.text(&["rate_process"]).unwrap_or("linear") {
            "linear" => Ok(LoadArrivals::Paced { per_s }),
            "poisson" => Ok(LoadArrivals::Poisson { per_s }),
            other => Err(wrong("rate_process", other, "linear or poisson")),
        }
    }

    fn bursts(&self, thinktime: &str) -> Result<LoadArrivals, UnusedJob> {
        let allowed = "a time in us, or with s, ms or us";
        let idle_s =
            microseconds(thinktime).ok_or_else(|| wrong("thinktime", thinktime, allowed))?;
        let counts_sent = self.text(&["thinktime_blocks_type"]) == Some("issue");
        if !counts_sent && self.depth()? > 1 {
            return Err(UnusedJob::NotACell(
                "has bursts of unknown length: fio counts completed requests. Use thinktime_blocks_type=issue"
                    .to_owned(),
            ));
        }
        Ok(LoadArrivals::Bursts {
            requests: self.count("thinktime_blocks", 1)?.into(),
            idle_s: idle_s / 1e6,
        })
    }
}

fn wrong(name: &str, value: &str, allowed: &str) -> UnusedJob {
    UnusedJob::Wrong(format!("`{name}` is `{value}`. Allowed: {allowed}."))
}

/// A number with one of fio's suffixes for powers of 1024, such as `4k`, `1m` or `2GiB`.
pub fn scaled(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &text[digits.len()..] {
        "" | "b" => 0,
        "k" | "kb" | "ki" | "kib" => 1,
        "m" | "mb" | "mi" | "mib" => 2,
        "g" | "gb" | "gi" | "gib" => 3,
        "t" | "tb" | "ti" | "tib" => 4,
        _ => return None,
    };
    let value: f64 = digits.parse().ok()?;
    (value.is_finite() && value >= 0.0).then(|| value * 1024_f64.powi(power))
}

/// A time in us.
fn microseconds(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "us" | "usec" => 1.0,
        "ms" | "msec" => 1e3,
        "s" | "sec" => 1e6,
        "m" | "min" => 60e6,
        _ => return None,
    };
    let value: f64 = digits.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value * unit)
}
