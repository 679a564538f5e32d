//! The invariants of docs/ARCHITECTURE.md that Cargo alone does not enforce.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `destage-*` names under `[dependencies]` of a crate's manifest.
fn dependencies(name: &str) -> Vec<String> {
    let path = root().join("crates").join(name).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let section = text.split("[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let names = section
        .lines()
        .filter_map(|line| line.strip_prefix("destage-"));
    let mut found: Vec<String> = names
        .map(|rest| {
            rest.split(['.', ' ', '='])
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    found.sort();
    found
}

#[test]
fn crates_depend_downwards_only() {
    let allowed = BTreeMap::from([
        ("types", vec![]),
        ("trace", vec!["types"]),
        ("fsmodel", vec!["trace", "types"]),
        ("scheme", vec!["types"]),
        ("device", vec!["types"]),
        ("sim", vec!["device", "scheme", "trace", "types"]),
        ("live", vec!["sim", "types"]),
    ]);
    for (name, allowed) in allowed {
        for dependency in dependencies(name) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} depends on {dependency}"
            );
        }
    }
    assert_eq!(dependencies("sim").len(), 4, "the manifests were read");
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn no_clock_and_no_io_below_the_command_line() {
    let forbidden = [
        "Instant::now",
        "SystemTime",
        "std::fs",
        "std::net",
        "println!",
        "thread_rng",
    ];
    let mut seen = 0;
    for name in ["types", "scheme", "device", "sim"] {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        for file in files.iter().filter(|f| !f.ends_with("tests.rs")) {
            let text = fs::read_to_string(file).expect("a source file");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for word in forbidden {
                assert!(!code.contains(word), "{} uses {word}", file.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} files were read");
}

/// The name that a line declares as a type that other files see.
fn declared_type(line: &str) -> Option<&str> {
    let words = line.trim_start().strip_prefix("pub")?;
    let words = match words.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => words,
    };
    let (kind, name) = words.trim_start().split_once(' ')?;
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    ["struct", "enum", "trait", "type", "union"]
        .contains(&kind)
        .then_some(name)
        .filter(|name| !name.is_empty())
}

/// The part of a source file before its tests.
fn without_tests(text: &str) -> &str {
    let tests = text.find("#[cfg(test)]\nmod ");
    &text[..tests.unwrap_or(text.len())]
}

#[test]
fn every_type_has_a_name_of_its_own() {
    let product = [
        "bench", "cli", "device", "fsmodel", "live", "scheme", "sim", "trace", "types",
    ];
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in product {
        let source = root().join("crates").join(name).join("src");
        let mut files = Vec::new();
        sources(&source, &mut files);
        for file in files {
            let below = file.strip_prefix(&source).expect("a path below the crate");
            let shown = below.display().to_string();
            if shown.contains("tests") || shown.starts_with("testing") {
                continue;
            }
            let text = fs::read_to_string(&file).expect("a source file");
            for (i, line) in without_tests(&text).lines().enumerate() {
                if let Some(found) = declared_type(line) {
                    let place = format!("{name}: {shown}:{}", i + 1);
                    places.entry(found.to_owned()).or_default().push(place);
                }
            }
        }
    }
    assert!(places.len() > 300, "only {} types were found", places.len());
    // Types that macros declare are found too.
    for name in ["Lpn", "GcMode", "ArcParams", "CqctSource"] {
        assert!(places.contains_key(name), "{name} is not found");
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "declared twice: {places:#?}");
}
