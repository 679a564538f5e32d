//! The tests of one scheme: `cargo xtask test SCHEME`.

use crate::{cargo, ci};
use anyhow::{Result, ensure};

/// The suites, with optimisation: they run long.
const SUITES: [&str; 5] = ["test", "-p", "destage-conformance", "--test", "schemes"];

/// Those that look at every scheme of the registry.
const OF_ONE_SCHEME: [&str; 6] = [
    "differential::",
    "golden::",
    "laws::",
    "options::",
    "suite::",
    "vectors::",
];

/// The unit tests, without optimisation: building them takes longer than running them.
const UNIT_TESTS: [&str; 6] = ["test", "--profile", "unit", "-p", "destage-scheme", "--lib"];

/// Unit tests that look at every scheme of the registry.
const OF_EVERY_SCHEME: [&str; 2] = ["registry::", "expr::"];

/// Runs the unit tests of the scheme's own file and of the registry, and the suites on what contains the scheme,
/// the suites even if a unit test fails.
///
/// # Errors
/// Something does not compile, a test failed, or the name is none.
pub fn run(scheme: &str) -> Result<()> {
    for tests in [&UNIT_TESTS[..], &SUITES] {
        let build = [tests, &["--no-run"]].concat();
        ensure!(cargo(&build, &[])?, "the tests do not compile");
    }
    let module = module(scheme);
    let [policy, layer] = ["policy", "layer"].map(|folder| format!("{folder}::{module}"));
    let own: [&str; 3] = ["--", &policy, &layer];
    let own = cargo(&[&UNIT_TESTS[..], &own, &OF_EVERY_SCHEME].concat(), &[])?;
    let suites = [&SUITES[..], &["--"], &OF_ONE_SCHEME].concat();
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
