//! Options of runs: each is declared once, with its type, default and meaning.

pub mod declare;
pub mod groups;
mod places;
mod run;
mod sweep;
pub mod values;

pub use declare::{FileEntry, FromFile, OptionGroup, none, option_of, texts};
pub use groups::{FormatOut, FormatOutArgs, InputArgs, JobsArgs, LimitArgs, SeedArgs};
pub use places::{FilePart, KeyPlaces};
pub use run::{RunArgs, default_of};
pub use sweep::SweepArgs;
pub use values::{
    ADDRESSES, Addresses, CacheSizeArg, FootprintShare, HostFsArg, READ_ALLOC, READ_FILL,
    TimeScaleArg, VolumesArg, join_negative, value_name, word_of,
};
