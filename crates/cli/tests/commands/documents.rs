//! The commands of README.md work as they stand there, its picture is the one they draw, and generated
//! documents are those of this source.

use crate::common::{Bench, root};
use destage_cli::docs::DOCUMENTS;
use std::path::Path;
use std::process::Command;

/// Runs a line of a shell with `destage` on the path.
#[track_caller]
fn shell(bench: &Bench, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_destage"));
    let folder = program.parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let done = Command::new("sh")
        .args(["-c", line])
        .current_dir(bench.dir.path())
        .env("PATH", path)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}\n{error}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn every_command_works() {
    let bench = Bench::new();
    // What the reader has: an MSR trace of ten seconds, compressed.
    let make =
        "destage trace synth hot-cold --requests 25000 --to msr -o hm_0.csv && gzip hm_0.csv";
    shell(&bench, make);
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let commands: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with("destage "))
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    for line in &commands {
        let out = shell(&bench, line);
        let silent = [" > ", " -o ", "trace synth --requests"]
            .iter()
            .any(|part| line.contains(part));
        assert_eq!(out.is_empty(), silent, "{line}");
    }
    for file in [
        "requests.csv",
        "series.csv",
        "results.jsonl",
        "curves.svg",
        "curves.html",
    ] {
        assert!(!bench.read(file).is_empty(), "{file}");
    }
    assert!(bench.dir.path().join("results/results.parquet").exists());
    assert!(bench.read("results/report.html").contains("hm_0"));
    let shown = std::fs::read_to_string(root().join("docs/mixed.svg")).unwrap();
    assert!(shown.len() < 200_000);
    assert!(
        bench.read("mixed.svg") == shown,
        "docs/mixed.svg is stale: the commands above it in README.md make it"
    );
}

/// Links of the documents lead to files that are there.
#[test]
fn links_lead_somewhere() {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let pages = docs.chain([root().join("README.md")]);
    for page in pages.filter(|page| page.extension().is_some_and(|e| e == "md")) {
        let text = std::fs::read_to_string(&page).unwrap();
        for rest in text.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or("");
            if target.starts_with("http") || target.starts_with('#') {
                continue;
            }
            let file = target.split('#').next().unwrap_or("");
            let place = page.parent().unwrap().join(file);
            assert!(place.exists(), "{}: {target}", page.display());
        }
    }
}

/// Files that the documents for contributors name are there.
#[test]
fn named_files_exist() {
    for page in ["docs/ARCHITECTURE.md", "docs/CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let mut named = 0;
        for word in text.split('`').skip(1).step_by(2) {
            if !(word.ends_with(".rs") || word.starts_with("crates/") || word.starts_with("docs/"))
            {
                continue;
            }
            named += 1;
            // `scheme/src/x.rs` is short for `crates/scheme/src/x.rs`.
            let places = [root().join(word), root().join("crates").join(word)];
            assert!(places.iter().any(|p| p.exists()), "{page}: {word}");
        }
        assert!(named > 5, "{page}");
    }
}

/// Types and macros in the code of the page for contributors are there, but for those of its examples.
#[test]
fn named_types_exist() {
    let page = std::fs::read_to_string(root().join("docs/CONTRIBUTING.md")).unwrap();
    let mut sources = String::new();
    let mut folders = vec![root().join("crates/scheme/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => sources += &std::fs::read_to_string(path).unwrap(),
            }
        }
    }
    let mut named = 0;
    for block in page.split("```rust").skip(1) {
        let code = block.split("```").next().unwrap();
        let lines = code.lines().map(|l| l.split("//").next().unwrap());
        // Outside of strings: every other piece between quotation marks.
        let pieces = lines.flat_map(|line| line.split('"').step_by(2));
        let words = pieces.flat_map(|p| p.split(|c: char| !c.is_ascii_alphanumeric()));
        let camel =
            |w: &&str| w.starts_with(char::is_uppercase) && w.chars().any(char::is_lowercase);
        for word in words.filter(camel).filter(|w| !w.starts_with("Mine")) {
            named += 1;
            let known = ["struct ", "enum ", "trait ", "type "].map(|kind| format!("{kind}{word}"));
            let std = ["Some", "None"].contains(&word);
            assert!(std || known.iter().any(|k| sources.contains(k)), "{word}");
        }
    }
    assert!(named > 3, "{named}");
}

#[test]
fn generated_documents_are_fresh() {
    for document in DOCUMENTS {
        let committed = std::fs::read_to_string(root().join(document.path)).unwrap_or_default();
        assert!(
            committed == (document.text)(),
            "{} is stale: run `cargo xtask docs`",
            document.path
        );
    }
}
