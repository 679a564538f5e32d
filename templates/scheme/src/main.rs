//! The `destage` command with the schemes of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    destage_cli::main_with(my_destage::SCHEMES)
}
