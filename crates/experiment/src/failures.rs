//! Errors of traces and runs as failures of a command: the exit code, and the option that helps.

use destage_console::failure::Failure;
use destage_sim::RunError;
use destage_trace::TraceError;

/// A trace could not be read.
pub fn trace_failure(error: TraceError) -> Failure {
    match error {
        TraceError::Spool { .. } | TraceError::Reread(_) | TraceError::NoSpool => {
            Failure::Run(explained(&error))
        }
        _ => Failure::usage(explained(&error)),
    }
}

/// The message of `error`, with the option that helps.
pub fn explained(error: &TraceError) -> String {
    match error {
        TraceError::Line(_) => {
            format!("{error} (--skip-bad-lines counts such lines and continues)")
        }
        TraceError::Ambiguous { .. }
        | TraceError::Undetected { .. }
        | TraceError::OnlyComments { .. } => {
            format!("{error} (--format forces one)")
        }
        TraceError::NoSpool => format!(
            "{error}; `limit = 10000000` reads the first requests, and the command `destage run` reads all"
        ),
        _ => error.to_string(),
    }
}

/// The message of `error`, with the options that help.
fn advised(error: &RunError) -> String {
    match error {
        RunError::Memory { .. } => format!(
            "{error}, the limit of --memory: fewer --jobs, a smaller --cache or a smaller \
             --trace-memory"
        ),
        RunError::CacheMemory { .. } => format!("{error}; a smaller --cache"),
        RunError::TimelineMemory { .. } => format!(
            "{error}, a quarter of --memory: a smaller window, which ends before that (--timeline-to) or \
             begins later (--timeline-from), or more --memory"
        ),
        RunError::IndexFull { .. } => format!("{error}; a larger --page, or --limit"),
        _ => error.to_string(),
    }
}

/// The failure of a command for `error`, with `text` as its message.
fn judged(error: &RunError, text: String) -> Failure {
    match error {
        RunError::Log(_)
        | RunError::Cancelled
        | RunError::DeviceFull { .. }
        | RunError::Memory { .. }
        | RunError::TimelineMemory { .. }
        | RunError::IndexFull { .. }
        | RunError::Trace(_) => Failure::Run(text),
        _ => Failure::usage(text),
    }
}

/// A run failed.
pub fn run_failure(error: RunError) -> Failure {
    judged(&error, advised(&error))
}

/// Run `place`, whose name has the trace in it, failed. Errors of files name them already.
pub fn run_failure_at(place: &str, error: RunError) -> Failure {
    match error {
        RunError::Log(_) | RunError::Cancelled | RunError::Trace(_) => run_failure(error),
        _ => judged(&error, format!("{place}: {}", advised(&error))),
    }
}
