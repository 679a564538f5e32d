//! Import circles inside crates: files that can be read only together, by their `use` statements.

use crate::texts;
use std::collections::{BTreeMap, BTreeSet};

/// Files that a circle may have.
const MOST: usize = 3;

/// Circles that are larger, by crate and number of files. They may only shrink.
const KNOWN: &[(&str, usize)] = &[
    ("device", 5),
    ("fsmodel", 5),
    ("live", 7),
    ("repro", 6),
    ("scheme", 5),
    ("trace", 11),
];

/// The files of a crate by module path; `""` is its root.
type Modules<'a> = BTreeMap<String, &'a str>;

/// The code of a file without comments and without its module of tests.
fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text[..tests].lines();
    let lines = lines.map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths of a `use` statement, one for each name.
fn flattened(tree: &str, above: &[String], found: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let names = |text: &str| -> Vec<String> {
        let parts = text.split("::").map(str::trim);
        let parts = parts.map(|part| part.split(" as ").next().unwrap_or_default().trim());
        let parts = parts.filter(|part| !part.is_empty());
        above
            .iter()
            .cloned()
            .chain(parts.map(str::to_owned))
            .collect()
    };
    let Some((head, body)) = tree.split_once('{') else {
        found.push(names(tree));
        return;
    };
    let head = names(head);
    let body = body.strip_suffix('}').unwrap_or(body);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in body.char_indices().chain([(body.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !body[start..at].trim().is_empty() {
                    flattened(&body[start..at], &head, found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The `use` statements of a file: those that others see, and its own.
fn uses(code: &str) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let (mut public, mut own) = (Vec::new(), Vec::new());
    for statement in code.split(';') {
        let Some(at) = statement.rfind("use ") else {
            continue;
        };
        let (before, tree) = (&statement[..at], &statement[at + 4..]);
        let before = before.lines().last().unwrap_or_default().trim();
        let is_public = before.starts_with("pub");
        if !(before.is_empty() || is_public) || tree.contains("fn ") {
            continue;
        }
        flattened(tree, &[], if is_public { &mut public } else { &mut own });
    }
    (public, own)
}

/// The path from the root of the crate that `path` has in `module`; `None` if it leads out of the crate.
fn absolute(module: &str, path: &[String], modules: &Modules<'_>) -> Option<Vec<String>> {
    let here = module.split("::").filter(|part| !part.is_empty());
    let mut here: Vec<String> = here.map(str::to_owned).collect();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (here, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                here.pop();
                rest = &rest[1..];
            }
        }
        child => {
            let child = [here.join("::"), child.to_owned()].join("::");
            modules.get(child.trim_start_matches("::"))?;
        }
    }
    Some([&here[..], rest].concat())
}

/// Re-exports of a module: name, and where the item is.
type Exports = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The file that has what is at `path`, through what modules export of others.
fn file_of(
    path: &[String],
    modules: &Modules<'_>,
    exports: &Exports,
    depth: usize,
) -> Option<String> {
    let lengths = (0..=path.len()).rev();
    let known = lengths.map(|n| (n, path[..n].join("::")));
    let (n, module) = known
        .into_iter()
        .find(|(_, module)| modules.contains_key(module))?;
    let export = path.get(n).and_then(|name| exports.get(&module)?.get(name));
    match export {
        Some(target) if depth < 8 => {
            let target = [&target[..], &path[n + 1..]].concat();
            file_of(&target, modules, exports, depth + 1)
        }
        _ => Some(module),
    }
}

/// Which files of a crate use which others.
fn graph(modules: &Modules<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let read = modules
        .iter()
        .map(|(module, text)| (module, uses(&code(text))));
    let read: Vec<_> = read.collect();
    let mut exports = Exports::new();
    for (module, (public, _)) in &read {
        for path in public {
            let target = absolute(module, path, modules);
            if let Some((name, target)) = path.last().zip(target) {
                let of_module = exports.entry((*module).clone()).or_default();
                of_module.insert(name.clone(), target);
            }
        }
    }
    let edges = read.iter().map(|(module, (_, own))| {
        let targets = own.iter().filter_map(|path| {
            let path = absolute(module, path, modules)?;
            file_of(&path, modules, &exports, 0).filter(|target| target != *module)
        });
        ((*module).clone(), targets.collect())
    });
    edges.collect()
}

/// The files that can be reached from `from`.
fn reached<'a>(from: &'a str, graph: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    seen
}

/// The circles of a crate, as sets of files.
fn circles(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<&str>> {
    let all: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|module| (module.as_str(), reached(module, graph)))
        .collect();
    let mut found = BTreeSet::new();
    for (module, reached) in &all {
        let back = reached.iter().copied();
        let circle: BTreeSet<&str> = back.filter(|other| all[other].contains(module)).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found
}

#[test]
fn no_circle_of_imports_has_many_files() {
    let texts = texts();
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for (path, text) in &texts {
        let Some((name, file)) = path
            .strip_prefix("crates/")
            .and_then(|below| below.split_once("/src/"))
        else {
            continue;
        };
        if !file.ends_with(".rs") || file.ends_with("tests.rs") {
            continue;
        }
        let module = file.trim_end_matches(".rs").replace('/', "::");
        let module = match module.rsplit_once("::") {
            Some((above, "mod")) => above.to_owned(),
            None if matches!(module.as_str(), "lib" | "main") => String::new(),
            _ => module,
        };
        crates.entry(name).or_default().insert(module, text);
    }
    assert!(crates.len() > 15, "only {} crates were read", crates.len());
    let mut large = Vec::new();
    for (name, modules) in &crates {
        let graph = graph(modules);
        for circle in circles(&graph) {
            let files = circle.len();
            let is_known = KNOWN
                .iter()
                .any(|known| known.0 == *name && files <= known.1);
            if files > MOST && !is_known {
                large.push(format!("{name}: {files} files: {circle:?}"));
            }
        }
    }
    assert!(
        large.is_empty(),
        "circles of imports:\n{}",
        large.join("\n")
    );
}
