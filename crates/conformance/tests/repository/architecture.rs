//! The invariants of docs/ARCHITECTURE.md that Cargo alone does not enforce.

use crate::texts;
use std::collections::BTreeMap;

/// `destage-*` names under `[dependencies]` of a crate's manifest.
fn dependencies(texts: &BTreeMap<String, String>, name: &str) -> Vec<String> {
    let text = &texts[&format!("crates/{name}/Cargo.toml")];
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
        ("scheme", vec!["types"]),
        ("device", vec!["types"]),
        ("record", vec!["types"]),
        ("console", vec![]),
        ("fsmodel", vec!["trace", "types"]),
        ("twin", vec!["trace", "types"]),
        ("sim", vec!["device", "record", "scheme", "trace", "types"]),
        ("live", vec!["sim", "types"]),
        ("lab", vec!["live", "types"]),
        ("report", vec!["console", "record", "scheme", "types"]),
        (
            "experiment",
            vec![
                "console", "device", "fsmodel", "record", "report", "scheme", "sim", "trace",
                "twin", "types",
            ],
        ),
        (
            "playground",
            vec!["device", "experiment", "scheme", "trace", "types"],
        ),
        (
            "repro",
            vec![
                "console",
                "experiment",
                "record",
                "report",
                "scheme",
                "sim",
                "trace",
                "twin",
                "types",
            ],
        ),
        (
            "fit",
            vec![
                "console",
                "device",
                "experiment",
                "record",
                "report",
                "scheme",
                "sim",
                "trace",
                "types",
            ],
        ),
    ]);
    let texts = texts();
    for (name, allowed) in allowed {
        for dependency in dependencies(&texts, name) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} depends on {dependency}"
            );
        }
    }
    let of_sim = dependencies(&texts, "sim");
    assert_eq!(of_sim.len(), 5, "the manifests were read");
}

/// Sources of a crate: path below its `src`, and text.
fn sources<'a>(
    texts: &'a BTreeMap<String, String>,
    name: &str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let folder = format!("crates/{name}/src/");
    texts.iter().filter_map(move |(path, text)| {
        let below = path.strip_prefix(&folder)?;
        below.ends_with(".rs").then_some((below, text.as_str()))
    })
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
    let (texts, mut seen) = (texts(), 0);
    for name in ["types", "scheme", "device", "record", "sim"] {
        let files = sources(&texts, name).filter(|(file, _)| !file.ends_with("/tests.rs"));
        for (file, text) in files {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for word in forbidden {
                assert!(!code.contains(word), "{name}: {file} uses {word}");
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
        "bench",
        "cli",
        "console",
        "device",
        "docgen",
        "experiment",
        "fit",
        "fsmodel",
        "lab",
        "live",
        "playground",
        "record",
        "report",
        "repro",
        "scheme",
        "sim",
        "trace",
        "twin",
        "types",
    ];
    let (texts, mut places) = (texts(), BTreeMap::<String, Vec<String>>::new());
    for name in product {
        for (file, text) in sources(&texts, name) {
            if file.contains("tests") || file.starts_with("testing") {
                continue;
            }
            for (i, line) in without_tests(text).lines().enumerate() {
                if let Some(found) = declared_type(line) {
                    let place = format!("{name}: {file}:{}", i + 1);
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
