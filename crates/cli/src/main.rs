//! The `destage` command; everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    destage_cli::main()
}
