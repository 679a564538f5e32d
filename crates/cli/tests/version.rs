//! The version string.

mod common;

use common::Bench;

#[test]
fn version_has_the_commit_of_a_checkout() {
    let done = Bench::new().destage(&["--version"]).ok();
    let version = done
        .stdout
        .trim()
        .strip_prefix("destage ")
        .expect("name first");
    assert_eq!(version, destage_cli::VERSION);
    let (plain, commit) = version.split_once('+').unwrap_or((version, "0"));
    assert_eq!(plain, env!("CARGO_PKG_VERSION"));
    assert!(commit.bytes().all(|b| b.is_ascii_hexdigit()), "{version}");
}
