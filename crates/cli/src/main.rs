//! The `destage` command.
fn main() {}
