//! Options of `destage fit-device`.

use clap::Args;
use destage_experiment::options::groups::SeedArgs;
use destage_experiment::options::readers::{real, share, whole};
use destage_types::ByteSize;
use std::path::{Path, PathBuf};

/// Options of `fit-device`.
#[derive(Args, Debug)]
#[command(mut_arg("seed", |arg| arg.help("Seed of the loads and of the search [default: 1]")))]
pub struct FitDeviceArgs {
    /// Tables of measurements, output of fio, or folders of them (docs/MEASUREMENTS.md)
    #[arg(required = true, value_name = "FILE")]
    pub measurements: Vec<PathBuf>,
    /// The drive, if the tables have several
    #[arg(long, value_name = "NAME")]
    pub drive: Option<String>,
    /// Preset or device file that gives all values that are not fitted
    #[arg(long, value_name = "DEVICE", default_value = "enterprise-tlc-1t")]
    pub base: String,
    /// Capacity of the drive, such as 894GiB, which decides over the number of dies [default: the number at the end of
    /// the drive's name in GB, such as x-960, or that of the base]
    #[arg(long, value_name = "BYTES", value_parser = ByteSize::parse)]
    pub capacity: Option<ByteSize>,
    /// Share of the drive that was written before, 0 to 1, where fio's output does not say it
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fill: Option<f64>,
    /// Random overwrites before, in capacities, 0 to 1000, where fio's output does not say it
    #[arg(long, value_name = "N", value_parser = real(|x| (0.0..=1000.0).contains(&x), "from 0 to 1000"))]
    pub overwrites: Option<f64>,
    /// Keys to search [default: all that the measurements may show]
    #[arg(long, value_name = "KEY,...", value_delimiter = ',')]
    pub free: Vec<String>,
    /// Set a key that is not searched; repeatable
    #[arg(long = "fix", value_name = "KEY=VALUE")]
    pub fixed: Vec<String>,
    /// Candidates that the search simulates, 10 to 100000
    #[arg(long, value_name = "N", default_value_t = 240, value_parser = whole(10..=100_000u32))]
    pub evaluations: u32,
    /// Requests of each measured load that a candidate serves, 500 to 1000000. Drives of many dies get more
    #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = whole(500..=1_000_000u64))]
    pub requests: u64,
    /// End the search after so many minutes. The result then depends on the speed of the machine
    #[arg(long, value_name = "N", value_parser = whole(1..=100_000u32))]
    pub minutes: Option<u32>,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024u32))]
    pub workers: Option<u32>,
    #[command(flatten)]
    pub random: SeedArgs,
    /// Name of the fitted device [default: that of the file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Add a comment to the head of the device file, such as the source of the data; repeatable
    #[arg(long, value_name = "TEXT")]
    pub note: Vec<String>,
    /// Draw percentiles of model and drive by rate: SVG, or PNG if the name ends in .png
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub plot: Option<PathBuf>,
    /// Compare a preset or device file with the measurements, and fit nothing
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["out", "base", "capacity", "free", "fixed", "evaluations", "minutes", "name", "note", "plot"])]
    pub check: Option<String>,
    /// The fitted device. Beside it, FILE.toml.journal keeps what is known until the fit is done
    #[arg(
        short,
        long,
        value_name = "FILE.toml",
        required_unless_present = "check"
    )]
    out: Option<PathBuf>,
}

impl FitDeviceArgs {
    /// The file of the fitted device. A check has none.
    pub fn out(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new(""))
    }
}
