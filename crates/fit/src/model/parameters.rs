//! The values of a device that a fit may change.

/// A value that a search may change. All are searched on a logarithmic scale.
#[derive(Debug)]
pub struct Parameter {
    /// The device key, and the part of it behind a point.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// Smallest and largest value of a search.
    pub bounds: (f64, f64),
    /// The part of a measurement that the value changes.
    pub shows_in: &'static str,
    /// Whether values are whole numbers.
    pub is_whole: bool,
    /// Logarithm of the factor by which a start value is usually wrong: the step of a search.
    pub step: f64,
    /// Which requests show it.
    pub side: Side,
}

/// The requests that a parameter changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Reads alone, or nearly so.
    Reads,
    /// Writes, and reads by what writes do.
    Writes,
    /// Both.
    Both,
}

impl Parameter {
    /// The device key that the parameter is a part of.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// A value as the device has it: whole, or with four significant digits.
    #[must_use]
    pub fn rounded(&self, value: f64) -> f64 {
        let value = value.clamp(self.bounds.0, self.bounds.1);
        let digits = 3 - libm::floor(libm::log10(value)) as i32;
        let step = libm::pow(10.0, f64::from(digits));
        let short = libm::round(value * step) / step;
        if self.is_whole {
            libm::round(short)
        } else {
            short
        }
    }
}

/// Shortens the rows of [`PARAMETERS`].
const fn parameter(
    name: &'static str,
    unit: &'static str,
    bounds: (f64, f64),
    step: f64,
    side: Side,
    shows_in: &'static str,
) -> Parameter {
    Parameter {
        name,
        unit,
        bounds,
        shows_in,
        is_whole: matches!(unit.as_bytes(), b"whole" | b"frames" | b"a second" | b"ns"),
        step,
        side,
    }
}

/// All parameters. Their order is that of device files and tables.
pub static PARAMETERS: &[Parameter] = &[
    parameter(
        "t_read.fast",
        "us",
        (5.0, 500.0),
        0.1,
        Side::Reads,
        "fastest reads of an idle drive",
    ),
    parameter(
        "t_read.middle",
        "us",
        (5.0, 500.0),
        0.1,
        Side::Reads,
        "median read of an idle drive",
    ),
    parameter(
        "t_read.slow",
        "us",
        (5.0, 1000.0),
        0.2,
        Side::Reads,
        "slow third of the reads of an idle drive",
    ),
    parameter(
        "t_program",
        "us",
        (100.0, 20_000.0),
        0.15,
        Side::Both,
        "highest rate of writes, and reads that meet a program",
    ),
    parameter(
        "t_suspend",
        "us",
        (0.1, 300.0),
        0.5,
        Side::Reads,
        "reads beside writes",
    ),
    parameter(
        "read_retry.first.share",
        "share",
        (0.001, 0.5),
        0.5,
        Side::Reads,
        "how many reads of an idle drive are slow",
    ),
    parameter(
        "read_retry.first.time",
        "us",
        (5.0, 1000.0),
        0.4,
        Side::Reads,
        "90th to 99th percentile of its reads",
    ),
    parameter(
        "read_retry.second.share",
        "share",
        (0.001, 0.9),
        0.5,
        Side::Reads,
        "how many slow reads are slower still",
    ),
    parameter(
        "read_retry.second.time",
        "us",
        (5.0, 5000.0),
        0.4,
        Side::Reads,
        "99.9th percentile of its reads",
    ),
    parameter(
        "read_retry_suspended.first.share",
        "share",
        (0.001, 0.95),
        0.4,
        Side::Reads,
        "how many reads that suspend a program are slow",
    ),
    parameter(
        "read_retry_suspended.first.time",
        "us",
        (5.0, 2000.0),
        0.4,
        Side::Reads,
        "90th percentile of reads beside writes",
    ),
    parameter(
        "read_retry_suspended.second.share",
        "share",
        (0.001, 0.95),
        0.5,
        Side::Reads,
        "how many of these are slower still",
    ),
    parameter(
        "read_retry_suspended.second.time",
        "us",
        (5.0, 10_000.0),
        0.4,
        Side::Reads,
        "99th percentile of reads beside writes",
    ),
    parameter(
        "t_command",
        "us",
        (0.2, 100.0),
        0.05,
        Side::Writes,
        "median write of an idle drive",
    ),
    parameter(
        "command_cores",
        "whole",
        (1.0, 16.0),
        0.7,
        Side::Writes,
        "waits of writes that grow slowly with the rate",
    ),
    parameter(
        "command_slots",
        "whole",
        (8.0, 4096.0),
        0.4,
        Side::Writes,
        "median beyond the cliff",
    ),
    parameter(
        "write_pace",
        "a second",
        (1_000.0, 4_000_000.0),
        0.04,
        Side::Writes,
        "highest rate of writes, and their tail below it",
    ),
    parameter(
        "write_pace.moved",
        "ns",
        (1.0, 100_000.0),
        0.04,
        Side::Writes,
        "highest rate of random writes below that of sequential ones",
    ),
    parameter(
        "write_pace_burst",
        "whole",
        (1.0, 8192.0),
        1.0,
        Side::Writes,
        "where the tail of writes begins",
    ),
    parameter(
        "cache",
        "frames",
        (32.0, 65_536.0),
        0.6,
        Side::Writes,
        "where the tail of writes begins",
    ),
    parameter(
        "program_pause.every",
        "whole",
        (64.0, 1_000_000.0),
        0.3,
        Side::Writes,
        "how many writes wait long",
    ),
    parameter(
        "program_pause.time",
        "us",
        (10.0, 200_000.0),
        0.15,
        Side::Writes,
        "the longest waits of writes",
    ),
];

/// The parameter called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|p| p.name == name)
}
