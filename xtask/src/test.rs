//! The tests of one scheme: `cargo xtask test SCHEME`.

use crate::{cargo, ci};
use anyhow::{Result, ensure};

/// The same packages every time, so that nothing is built with other features.
const PACKAGES: [&str; 5] = ["test", "-p", "destage-scheme", "-p", "destage-conformance"];

/// Suites that look at every scheme of the registry, among the tests of `schemes`.
const SUITES: [&str; 5] = [
    "differential::",
    "golden::",
    "laws::",
    "suite::",
    "vectors::",
];

/// Runs the unit tests of the scheme's own file and the suites on what contains it, the suites even if
/// a unit test fails.
///
/// # Errors
/// Something does not compile, a test failed, or the name is none.
pub fn run(scheme: &str) -> Result<()> {
    let build = [&PACKAGES[..], &["--lib", "--test", "schemes", "--no-run"]].concat();
    ensure!(cargo(&build, &[])?, "the tests do not compile");
    let module = module(scheme);
    let [policy, layer] = ["policy", "layer"].map(|folder| format!("{folder}::{module}"));
    let own = [&PACKAGES[..], &["--lib", "--", &policy, &layer]].concat();
    let own = cargo(&own, &[])?;
    let suites = [&PACKAGES[..], &["--test", "schemes", "--"], &SUITES].concat();
    let suites = cargo(&suites, &[("DESTAGE_SCHEME", scheme)])?;
    ci::note_what_is_skipped(&["DESTAGE_GOLDEN", "DESTAGE_SPEC"]);
    ensure!(own, "unit tests of {scheme}");
    ensure!(suites, "suites on what contains {scheme}");
    Ok(())
}

/// The module of a scheme: `cflru_eps` for `cflru-eps`, `two_q` for `2q`.
fn module(scheme: &str) -> String {
    let name = scheme.replace('-', "_");
    match name.strip_prefix('2') {
        Some(rest) => format!("two_{rest}"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::module;

    #[test]
    fn modules_are_identifiers() {
        assert_eq!(
            ["lirs", "cflru-eps", "2q"].map(module),
            ["lirs", "cflru_eps", "two_q"]
        );
    }
}
