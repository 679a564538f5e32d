//! Checks and benchmarks of the workspace.
fn main() {}
