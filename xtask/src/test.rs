//! The tests of one scheme: `cargo xtask test SCHEME`.

use crate::cargo;
use anyhow::{Result, ensure};

/// The same packages every time, so that nothing is built with other features.
const PACKAGES: [&str; 5] = ["test", "-p", "destage-scheme", "-p", "destage-conformance"];

/// Suites that look at every scheme of the registry, the quickest first.
const SUITES: [&str; 5] = ["vectors", "golden", "suite", "differential", "laws"];

/// Runs the unit tests of the scheme's own file and the suites on what contains it.
///
/// # Errors
/// A test failed, or the name is none.
pub fn run(scheme: &str) -> Result<()> {
    let module = module(scheme);
    let [policy, layer] = ["policy", "layer"].map(|folder| format!("{folder}::{module}"));
    let own = ["--lib", "--", &policy, &layer];
    ensure!(cargo(&[&PACKAGES[..], &own].concat(), &[])?, "unit tests");
    let suites = SUITES.iter().flat_map(|suite| ["--test", suite]);
    let all: Vec<&str> = PACKAGES.iter().copied().chain(suites).collect();
    ensure!(cargo(&all, &[("DESTAGE_SCHEME", scheme)])?, "suites");
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
