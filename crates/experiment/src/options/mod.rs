//! Options of runs: each is declared once, with its type, default, meaning and scope.

#[cfg(feature = "clap")]
pub mod command_line;
pub mod declare;
pub mod groups;
mod places;
pub mod readers;
mod run;
mod sweep;
pub mod values;

pub use declare::{OptionGroup, OptionInfo, OptionScope, Takes, option_of};
pub use groups::{FormatOutArgs, InputArgs, JobsArgs, LimitArgs, SeedArgs};
pub use places::{FilePart, KeyPlaces};
pub use readers::{FieldType, OptionField, TextForm, texts, word_of};
pub use run::{RunArgs, default_of};
pub use sweep::SweepArgs;
pub use values::{
    ADDRESSES, Addresses, CacheSizeArg, FootprintShare, FormatOut, HostFsArg, READ_ALLOC,
    READ_FILL, TimeScaleArg, VolumesArg,
};

/// Without the feature `clap` there is no command line.
#[cfg(not(feature = "clap"))]
#[macro_export]
macro_rules! clap_args {
    ($name:ident) => {};
}
