//! Values of options: what is read, and what is said about one that is none.

use crate::options::readers::OptionWords;
use destage_fsmodel::host_fs::HostFs;
use destage_scheme::ReadAlloc;
use destage_sim::spec::TimeScale;
use destage_sim::{ReadFill, Warmup};
use destage_trace::Volumes;
use destage_types::{ByteSize, PageSize};
use std::fmt;
use std::str::FromStr;

/// A cache size: bytes, or a share of what a trace touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CacheSizeArg {
    /// That many bytes.
    Bytes(ByteSize),
    /// That share of the trace's footprint.
    Share(FootprintShare),
}

/// A share of the pages that the reads and writes of a trace touch, kept as it was written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FootprintShare {
    numerator: u64,
    decimals: u32,
}

/// Most decimals of a share: what is written without an exponent fits 64 bits.
const MOST_DECIMALS: usize = 18;

impl FootprintShare {
    /// Reads a decimal number above 0 and at most 1.
    fn parse(whole: &str, decimals: &str) -> Option<FootprintShare> {
        let decimals = decimals.trim_end_matches('0');
        if !matches!(whole, "0" | "1") || decimals.len() > MOST_DECIMALS {
            return None;
        }
        let numerator = format!("{whole}{decimals}").parse().ok()?;
        let decimals = decimals.len() as u32;
        (1..=10u64.pow(decimals))
            .contains(&numerator)
            .then_some(FootprintShare {
                numerator,
                decimals,
            })
    }

    /// Reads a percentage above 0 and at most 100, without its sign.
    fn parse_percent(text: &str) -> Option<FootprintShare> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 3 || !digits(whole) || !digits(rest) {
            return None;
        }
        // 12.5 % is 0.125: the point moves by two places.
        let whole = format!("{whole:0>3}");
        let (ones, hundredths) = whole.split_at(1);
        FootprintShare::parse(ones, &format!("{hundredths}{rest}"))
    }

    /// The share of a footprint of so many pages, rounded down, but a page.
    pub fn of(self, pages: u64) -> u64 {
        let share = u128::from(pages) * u128::from(self.numerator) / 10u128.pow(self.decimals);
        (share as u64).max(1)
    }
}

impl fmt::Display for FootprintShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10u64.pow(self.decimals);
        let (whole, rest) = (self.numerator / unit, self.numerator % unit);
        let digits = (self.decimals as usize).max(1);
        write!(f, "{whole}.{rest:0digits$}")
    }
}

impl FromStr for CacheSizeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<CacheSizeArg, String> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(percent) = text.strip_suffix('%') {
            let share = FootprintShare::parse_percent(percent.trim_end());
            return share.map(CacheSizeArg::Share).ok_or_else(|| {
                format!(
                    "`{text}` is not a share of the footprint; allowed: above 0% and at most 100%, such as 10%"
                )
            });
        }
        match text.split_once('.') {
            Some((whole, rest)) if digits(whole) && digits(rest) => {
                let share = FootprintShare::parse(whole, rest);
                share.map(CacheSizeArg::Share).ok_or_else(|| {
                    format!(
                        "`{text}` is not a share of the footprint; allowed: a number above 0 and at most 1, with \
                         at most {MOST_DECIMALS} decimals"
                    )
                })
            }
            _ => ByteSize::parse(text)
                .map(CacheSizeArg::Bytes)
                .map_err(|error| error.to_string()),
        }
    }
}

impl fmt::Display for CacheSizeArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheSizeArg::Bytes(size) => size.fmt(f),
            CacheSizeArg::Share(share) => share.fmt(f),
        }
    }
}

/// A file system with the text that was given.
#[derive(Clone, Debug)]
pub struct HostFsArg {
    /// The file system.
    pub fs: HostFs,
    /// As given.
    pub text: String,
}

impl FromStr for HostFsArg {
    type Err = String;

    fn from_str(text: &str) -> Result<HostFsArg, String> {
        let fs = text.parse()?;
        let text = text.to_owned();
        Ok(HostFsArg { fs, text })
    }
}

impl fmt::Display for HostFsArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `--time-scale` with the text that was given.
#[derive(Clone, Debug)]
pub struct TimeScaleArg {
    /// The factor.
    pub scale: TimeScale,
    /// As given.
    pub text: String,
}

impl FromStr for TimeScaleArg {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeScaleArg, String> {
        let scale = TimeScale::parse(text)?;
        let text = text.to_owned();
        Ok(TimeScaleArg { scale, text })
    }
}

impl fmt::Display for TimeScaleArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `--volumes`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VolumesArg {
    /// The reader combines or selects volumes.
    Read(Volumes),
    /// Each is a trace of its own.
    Split,
}

impl FromStr for VolumesArg {
    type Err = String;

    fn from_str(text: &str) -> Result<VolumesArg, String> {
        match text {
            "split" => Ok(VolumesArg::Split),
            _ => text
                .parse()
                .map(VolumesArg::Read)
                .map_err(|_| format!("`{text}` is none of stack, only=VOLUME, split, overlay")),
        }
    }
}

impl fmt::Display for VolumesArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VolumesArg::Read(volumes) => volumes.fmt(f),
            VolumesArg::Split => f.write_str("split"),
        }
    }
}

/// `--read-alloc`.
pub const READ_ALLOC: &OptionWords<ReadAlloc> = &[
    (
        ReadAlloc::On,
        "on",
        "Always; an error if a scheme does not allow it",
    ),
    (ReadAlloc::Off, "off", "Never"),
    (ReadAlloc::Scheme, "scheme", "As each scheme declares"),
];

/// The treatment of a trace that has addresses beyond the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addresses {
    /// The regions that it touches are moved together.
    Fit,
    /// Addresses are taken modulo the size of the device.
    Wrap,
    /// It is an error.
    Refuse,
}

/// `--addresses`.
pub const ADDRESSES: &OptionWords<Addresses> = &[
    (
        Addresses::Fit,
        "fit",
        "Compact the address space: keep only the 1 MiB regions that the trace touches, in order. If they \
         exceed the device, use smaller regions, down to a page; if pages exceed it too, wrap. A trace that \
         fits is unchanged",
    ),
    (
        Addresses::Wrap,
        "wrap",
        "Take addresses modulo the size of the device, and count the moved requests",
    ),
    (Addresses::Refuse, "refuse", "Stop with an error"),
];

/// `--read-fill`.
pub const READ_FILL: &OptionWords<ReadFill> = &[
    (ReadFill::Page, "page", "The whole page"),
    (ReadFill::Requested, "requested", "The requested sectors"),
];

/// A page size with its unit.
pub fn page_size(text: &str) -> Result<PageSize, String> {
    let size = ByteSize::parse(text).map_err(|e| e.to_string())?;
    PageSize::new(size.0).ok_or_else(|| {
        format!("`{text}` is not a page size; allowed: a power of two from 512B to 64KiB")
    })
}

/// A page size as [`page_size`] reads it.
pub fn page_text(page: PageSize) -> String {
    ByteSize(page.bytes()).to_string()
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

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormatOut {
    /// Text table, when all runs are done.
    Table,
    /// One result record per line, as soon as its run ends.
    Jsonl,
    /// One line per run with the scalar fields of the record, as soon as the run ends.
    Csv,
    /// Typed columns for all fields of the record, when all runs are done; needs --out or a pipe.
    Parquet,
}

/// `--format-out`.
pub const FORMAT_OUT: &OptionWords<FormatOut> = &[
    (
        FormatOut::Table,
        "table",
        "Text table, when all runs are done",
    ),
    (
        FormatOut::Jsonl,
        "jsonl",
        "One result record per line, as soon as its run ends",
    ),
    (
        FormatOut::Csv,
        "csv",
        "One line per run with the scalar fields of the record, as soon as the run ends",
    ),
    (
        FormatOut::Parquet,
        "parquet",
        "Typed columns for all fields of the record, when all runs are done; needs --out or a pipe",
    ),
];

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
    fn cache_sizes_are_bytes_or_shares() {
        let read = |text: &str| text.parse::<CacheSizeArg>();
        assert_eq!(read("16MiB"), Ok(CacheSizeArg::Bytes(ByteSize(16 << 20))));
        for (text, pages) in [("0.1", 12), ("0.25", 30), ("1.0", 123), ("0.001", 1)] {
            let Ok(CacheSizeArg::Share(share)) = read(text) else {
                panic!("{text} is a share")
            };
            assert_eq!((share.of(123), share.to_string()), (pages, text.to_owned()));
        }
        assert_eq!(
            read("0.100").map(|size| size.to_string()),
            Ok("0.1".to_owned())
        );
        for (percent, share) in [
            ("10%", "0.1"),
            ("12.5%", "0.125"),
            ("100%", "1.0"),
            ("0.01%", "0.0001"),
            ("007 %", "0.07"),
        ] {
            assert_eq!(read(percent), read(share), "{percent}");
        }
        let exact = "0.123456789012345678";
        assert_eq!(
            read(exact).map(|size| size.to_string()),
            Ok(exact.to_owned())
        );
        for wrong in [
            "0.0",
            "1.1",
            "2.0",
            ".5",
            "0.",
            "0.1234567890123456789",
            "0.1MiB",
            "1",
            "-0.1",
            "0%",
            "101%",
            "%",
            "-1%",
            "1e1%",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
