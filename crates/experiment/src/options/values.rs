//! Values of options: what is read, and what is said about one that is none.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use destage_fsmodel::host_fs::HostFs;
use destage_scheme::ReadAlloc;
use destage_sim::ReadFill;
use destage_sim::spec::TimeScale;
use destage_trace::Volumes;
use destage_types::{ByteSize, PageSize};
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The arguments of the program; a word like `-4k` behind an option is joined to it, as
/// `--cache=-4k`. No option begins with a digit, so that it is meant as a value: the option then
/// says what it allows.
pub fn join_negative(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut options = true;
    for word in words {
        let last = joined.last_mut().filter(|last| options && is_option(last));
        match last {
            Some(last) if is_negative(&word) => {
                last.push("=");
                last.push(word);
            }
            _ => {
                options &= word != "--";
                joined.push(word);
            }
        }
    }
    joined
}

/// An option without a value in the same word.
fn is_option(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    let name = text
        .strip_prefix('-')
        .map(|name| name.trim_start_matches('-'));
    name.is_some_and(|name| !name.is_empty() && !name.contains('='))
}

fn is_negative(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    let number = text
        .strip_prefix('-')
        .map(|rest| rest.trim_start_matches('.'));
    number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// A cache size: bytes, or a share of what a trace touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheSizeArg {
    /// That many bytes.
    Bytes(ByteSize),
    /// That share of the trace's footprint.
    Share(FootprintShare),
}

/// A share of the pages that the reads and writes of a trace touch, kept as it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// `--time-scale` with the text that was given.
#[derive(Clone, Debug)]
pub struct TimeScaleArg {
    /// The factor.
    pub scale: TimeScale,
    /// As given.
    pub text: String,
}

/// `--volumes`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VolumesArg {
    /// What the reader does with them.
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

/// Reads a whole number of a range.
pub fn whole<T>(allowed: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| match text.parse() {
        Ok(number) if allowed.contains(&number) => Ok(number),
        _ => Err(format!(
            "allowed: a whole number from {} to {}",
            allowed.start(),
            allowed.end()
        )),
    }
}

/// Words for the values of an option, each with what it means.
pub type OptionWords<T> = [(T, &'static str, &'static str)];

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

/// What becomes of a trace that has addresses beyond the device.
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

/// Reads one of `words`.
pub fn one_of<T>(words: &'static OptionWords<T>) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let word = |row: &(T, &'static str, &'static str)| PossibleValue::new(row.1).help(row.2);
    PossibleValuesParser::new(words.iter().map(word)).map(|text| {
        let found = words.iter().find(|row| row.1 == text);
        found.expect("one of the words").0
    })
}

/// The word for `value`.
pub fn word_of<T: PartialEq>(words: &OptionWords<T>, value: T) -> &'static str {
    let found = words.iter().find(|row| row.0 == value);
    found.expect("every value has a word").1
}

/// The word of the command line for `value`.
pub fn value_name(value: impl ValueEnum) -> String {
    let word = value.to_possible_value();
    word.map_or(String::new(), |word| word.get_name().to_owned())
}

/// A page size with its unit.
pub fn page_size(text: &str) -> Result<PageSize, String> {
    let size = ByteSize::parse(text).map_err(|e| e.to_string())?;
    PageSize::new(size.0).ok_or_else(|| {
        format!("`{text}` is not a page size; allowed: a power of two from 512B to 64KiB")
    })
}

/// A share of the pages.
pub fn sample_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1.0 => Ok(rate),
        _ => Err(format!(
            "`{text}` is not a share; allowed: a number above 0 and at most 1"
        )),
    }
}

/// A file system between trace and device.
pub fn host_fs(text: &str) -> Result<HostFsArg, String> {
    let fs = text.parse()?;
    let text = text.to_owned();
    Ok(HostFsArg { fs, text })
}

/// A factor on arrivals.
pub fn time_scale(text: &str) -> Result<TimeScaleArg, String> {
    let scale = TimeScale::parse(text)?;
    let text = text.to_owned();
    Ok(TimeScaleArg { scale, text })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    fn joined(words: &str) -> String {
        let words = words.split(' ').map(OsString::from);
        let joined = join_negative(words).into_iter();
        joined
            .map(|word| word.into_string().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn negative_values_are_joined_to_their_option() {
        assert_eq!(joined("run t --cache -4k"), "run t --cache=-4k");
        assert_eq!(joined("head t -n -3 -"), "head t -n=-3 -");
        assert_eq!(joined("run t --warmup -.5%"), "run t --warmup=-.5%");
    }

    #[test]
    fn other_words_stay() {
        for words in [
            "run --cache 4k --page 4k",
            "run --out -o --details",
            "run --cache=4k -4",
            "run - -4",
            "run t -4",
            "run -- --cache -4",
        ] {
            assert_eq!(joined(words), words);
        }
    }
}
