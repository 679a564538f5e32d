//! `destage trace import-ftrace`: kernel event text to a trace with old addresses.

use crate::args::{ImportArgs, ToFormat};
use crate::trace::convert::{Writing, write_one};
use destage_console::failure::Failure;
use destage_console::identity;
use destage_console::terminal::say;
use destage_fsmodel::ftrace::{ImportError, ImportOptions, import};
use destage_trace::{Source, Trace};
use std::path::PathBuf;

/// Does what `args` say.
///
/// # Errors
/// Text that is no capture, or an output that cannot be written.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    let seeds = args.fiemaps.iter().map(|(_, path)| path);
    let read = args.files.iter().chain(seeds).map(PathBuf::as_path);
    identity::refuse(read, &args.output)?;
    ToFormat::Destage.check_name(&args.output)?;
    let seed = |(ino, path): &(u64, PathBuf)| (*ino, Source::from_arg(path));
    let options = ImportOptions {
        devices: args.devices.clone(),
        requests: args.stream.unwrap_or_default(),
        f2fs: args.fs,
        seeds: args.fiemaps.iter().map(seed).collect(),
        allow_lost: args.allow_lost,
        strict: args.strict,
        skip_bad_lines: args.skip_bad_lines,
        memory: Some(args.memory.limit().bytes() / 2),
    };
    let sources = args.files.iter().map(Source::from_arg).collect();
    let imported = import(sources, options).map_err(|error| Failure::usage(explained(&error)))?;
    say(imported.report.to_string().trim_end());
    let trace = Trace::generated("import", imported.requests);
    let writing = Writing {
        output: &args.output,
        to: ToFormat::Destage,
        limit: args.memory.limit(),
    };
    write_one(&trace.requests, &trace.meta, writing)
}

/// The message of `error`, with the option that helps.
fn explained(error: &ImportError) -> String {
    let option = match error {
        ImportError::Line { .. } => "--skip-bad-lines counts such lines and continues",
        ImportError::Lost { .. } => "--allow-lost continues without them",
        ImportError::Contradiction { .. } => "without --strict such blocks are counted",
        _ => return error.to_string(),
    };
    format!("{error} ({option})")
}
