//! `Cargo.toml` has the version of the workspace. The citation file and the list of changes agree with it.

use std::fs;
use std::path::Path;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The first line of `text` that begins with `start`, without it.
fn after<'a>(text: &'a str, start: &str) -> &'a str {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(start));
    lines
        .next()
        .unwrap_or_else(|| panic!("no line begins with `{start}`"))
}

#[test]
fn citation_and_release_notes_name_the_version_and_its_day() {
    let (citation, changes) = (read("CITATION.cff"), read("CHANGELOG.md"));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(after(&citation, "version: "), version);
    let day = after(&citation, "date-released: ");
    assert_eq!(after(&changes, "## "), format!("{version}, {day}"));
}
