//! Options of `lab`.

use crate::args::ModelArgs;
use crate::args::serve::CACHE_KIND;
use clap::Args;
use destage_experiment::options::readers::{OptionWords, PathReader, one_of};
use destage_experiment::options::{FormatOutArgs, LimitArgs};
use destage_live::store::CacheKind;
use destage_types::ByteSize;
use std::path::PathBuf;

/// A file system of the guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuestFs {
    /// Updates in place.
    Ext4,
    /// Log-structured.
    F2fs,
}

/// `--fs`.
pub const GUEST_FS: &OptionWords<GuestFs> = &[
    (GuestFs::Ext4, "ext4", "Updates in place, with a journal"),
    (
        GuestFs::F2fs,
        "f2fs",
        "Log-structured; `--mount mode=lfs` makes it update out of place on small volumes as well",
    ),
];

destage_experiment::declare_options! {
    /// The guest: its kernel and its file system.
    GuestArgs in Run {
        /// File system to create on the device
        #[option(value = "NAME")]
        fs: Option<GuestFs> = one_of(GUEST_FS), default "ext4";
        /// Additional options of mkfs, separated by blanks
        #[option(value = "OPTIONS", hyphens = true)]
        mkfs: Option<String>, word "none", shown "";
        /// Additional mount options, separated by commas, such as mode=lfs
        #[option(value = "OPTIONS")]
        mount: Option<String>, word "none", shown "";
        /// Memory of the guest, including its page cache
        #[option(value = "SIZE")]
        guest_memory: Option<ByteSize> = ByteSize::parse, default "256MiB";
        flatten model: ModelArgs;
        /// Whether the cache of the device keeps its content without power
        #[option(value = "KIND")]
        cache_kind: Option<CacheKind> = one_of(CACHE_KIND), word "as the device says by cache_persistence, else dram";
        /// Record the requests to the device as a trace (destage-bin), including those of mkfs and
        /// mount
        #[option(value = "FILE.bin")]
        record: Option<PathBuf> = PathReader;
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
