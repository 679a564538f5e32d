//! The `destage` command; everything it does is in the library beside it.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Before `main`, the standard library opens `/dev/null` in the place of a standard output that is closed, and
/// all that is written there is lost without a word.
#[ctor::ctor(unsafe)]
fn look_at_standard_output() {
    let closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
    STDOUT_IS_CLOSED.store(closed, Ordering::Relaxed);
}

fn main() -> ExitCode {
    destage_cli::main(STDOUT_IS_CLOSED.load(Ordering::Relaxed))
}
