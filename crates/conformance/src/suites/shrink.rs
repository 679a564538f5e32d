//! Makes a failing stream of requests small.

use crate::reference::SlowRequest;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`; a panic becomes its message.
pub fn message_of<T>(f: impl FnOnce() -> Result<T, String>) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(outcome) => outcome.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned()));
            Some(text.unwrap_or_else(|| "a panic without words".to_owned()))
        }
    }
}

/// A short stream that fails like `requests`, with its message.
///
/// Longest prefixes go first, then pieces of falling size; at most some hundred runs.
pub fn shrink(
    requests: &[SlowRequest],
    fails: impl Fn(&[SlowRequest]) -> Option<String>,
) -> (Vec<SlowRequest>, String) {
    let mut best = requests.to_vec();
    let mut message = fails(&best).unwrap_or_else(|| "does not fail again".to_owned());
    let mut runs = 0;
    let mut piece = best.len().div_ceil(2);
    while piece > 0 && runs < 600 {
        let mut end = best.len();
        while end > 0 && runs < 600 {
            let start = end.saturating_sub(piece);
            let mut fewer = best.clone();
            fewer.drain(start..end);
            runs += 1;
            if let Some(text) = fails(&fewer) {
                (best, message) = (fewer, text);
            }
            end = start;
        }
        piece /= 2;
    }
    (best, message)
}

/// The stream as lines one can read.
pub fn print(requests: &[SlowRequest]) -> String {
    let mut out = String::new();
    for r in requests {
        let prev = match r.prev.is_empty() {
            true => String::new(),
            false => format!(
                " prev {:?}{}",
                r.prev,
                if r.atomic { " atomic" } else { "" }
            ),
        };
        let flags = match r.flags.bits() {
            0 => String::new(),
            bits => format!(" flags {bits:#x}"),
        };
        let (op, at, extents) = (r.op, r.arrival, &r.extents);
        writeln!(out, "  {op:?} @{at} {extents:?}{prev}{flags}").expect("strings take all");
    }
    out
}
