//! Options of `lab`.

use crate::args::ModelArgs;
use crate::args::serve::CACHE_KIND;
use clap::builder::EnumValueParser;
use clap::{Args, ValueEnum};
use destage_experiment::options::groups::{path, text};
use destage_experiment::options::values::one_of;
use destage_experiment::options::{FormatOutArgs, LimitArgs};
use destage_live::store::CacheKind;
use destage_types::ByteSize;
use std::path::PathBuf;

/// A file system of the guest.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuestFs {
    /// Updates in place, with a journal
    Ext4,
    /// Log-structured; `--mount mode=lfs` makes it update out of place on small volumes as well
    F2fs,
}

destage_experiment::declare_options! {
    /// The guest: its kernel and its file system.
    GuestArgs {
        /// File system to create on the device
        #[arg(long, value_name = "NAME")]
        fs: Option<GuestFs> = EnumValueParser::<GuestFs>::new(), default "ext4";
        /// Additional options of mkfs, separated by blanks
        #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
        mkfs: Option<String> = text(), word "none", shown "";
        /// Additional mount options, separated by commas, such as mode=lfs
        #[arg(long, value_name = "OPTIONS")]
        mount: Option<String> = text(), word "none", shown "";
        /// Memory of the guest, including its page cache
        #[arg(long, value_name = "SIZE")]
        guest_memory: Option<ByteSize> = ByteSize::parse, default "256MiB";
        flatten model: ModelArgs;
        /// Whether the cache of the device keeps its content without power
        #[arg(long, value_name = "KIND")]
        cache_kind: Option<CacheKind> = one_of(CACHE_KIND), default "dram";
        /// Record the requests to the device as a trace (destage-bin), including those of mkfs and
        /// mount
        #[arg(long, value_name = "FILE.bin")]
        record: Option<PathBuf> = path();
        flatten limit: LimitArgs;
        flatten form: FormatOutArgs;
    }
}

/// Options of `lab`.
#[derive(Args, Debug)]
pub struct LabArgs {
    /// User-mode kernel that takes its time from the simulator, as fs-lab/build-kernel.sh builds it
    #[arg(long, value_name = "FILE")]
    pub kernel: PathBuf,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Command to run in the guest, in the root of the new file system, with the programs of this
    /// machine
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
