//! The commands of README.md, of the tutorial, of guides and of every help work as they stand there, what pages
//! show is what comes out, and generated documents are those of this source.

use crate::common::{Bench, is_full, objects, root};
use crate::document_commands::{ending, site};
use crate::fit_device::SMALL;
use destage_docgen::{DOCUMENTS, HelpExamples, examples};
use destage_scheme::registry::SCHEMES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs lines of a shell with `destage` on the path.
#[track_caller]
pub fn shell(bench: &Bench, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_destage"));
    let folder = program.parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let done = Command::new("sh")
        .args(["-e", "-c", line])
        .current_dir(bench.dir.path())
        .env("PATH", path)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}\n{error}");
    String::from_utf8(done.stdout).unwrap()
}

/// Tests of these commands run them, and with less.
const TAKES_LONG: [&str; 3] = ["destage demo", "destage waf", "destage advise demo"];

/// Does only `cargo xtask full` run this line of a document?
fn takes_long(line: &str) -> bool {
    !is_full() && TAKES_LONG.iter().any(|start| line.starts_with(start))
}

/// A page of this repository.
pub fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

#[test]
fn every_command_works() {
    let bench = Bench::new();
    // The reader has an MSR trace of ten seconds, compressed.
    let make =
        "destage trace synth hot-cold --requests 25000 --to msr -o hm_0.csv && gzip hm_0.csv";
    shell(&bench, make);
    let readme = page("README.md");
    assert!(readme.lines().count() < 110);
    let examples = page("docs/COMMANDS.md");
    let commands: Vec<&str> = examples
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with("destage ") || line.starts_with("printf "))
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    for line in commands.into_iter().filter(|line| !takes_long(line)) {
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
        "docs/mixed.svg is stale: the commands above it in docs/COMMANDS.md make it"
    );
}

/// The fenced blocks of a page, each with its language.
pub fn blocks(page: &str) -> Vec<(&str, &str)> {
    let pieces = page.split("\n```").collect::<Vec<_>>();
    assert!(pieces.len() % 2 == 1, "a block is not closed");
    let inside = pieces.into_iter().skip(1).step_by(2);
    inside
        .map(|block| block.split_once('\n').unwrap())
        .collect()
}

/// Does what a page says, and finds what it shows. How many commands of `destage` it has, and how many lines
/// they print.
#[track_caller]
fn gives_what_it_shows(bench: &Bench, path: &str) -> (usize, usize) {
    let page = page(path);
    let (mut out, mut commands, mut shown) = (String::new(), 0, 0);
    for (language, block) in blocks(&page) {
        match language {
            "sh" => {
                commands += block.lines().filter(|l| l.starts_with("destage ")).count();
                out = shell(bench, block);
            }
            "text" => {
                let mut lines = out.lines();
                for line in block.lines().filter(|line| *line != "...") {
                    shown += 1;
                    // A column is as wide as its widest cell, which may be in another row.
                    let found = lines.any(|l| l.split_whitespace().eq(line.split_whitespace()));
                    assert!(found, "no `{line}` (in this order) in\n{out}");
                }
            }
            other => panic!("{other}: neither commands nor what they print"),
        }
    }
    (commands, shown)
}

/// The sweep file of the page, and what is said for one machine.
#[test]
fn the_page_of_clusters_sweeps() {
    let bench = Bench::new();
    let page = page("docs/CLUSTER.md");
    let blocks = blocks(&page);
    let first = |language: &str| blocks.iter().find(|block| block.0 == language).unwrap().1;
    bench.file("sweep.toml", first("toml"));
    for name in ["hm_0", "prxy_0"] {
        let make = format!("trace synth hot-cold --requests 2000 --to msr -o {name}.csv");
        bench.shown(make);
        shell(&bench, &format!("gzip {name}.csv"));
    }
    shell(&bench, first("sh"));
    // Two traces, three schemes, two sizes; three seeds, and two devices with two times.
    let runs = 2 * 3 * 2 * (3 + 2 * 2);
    assert_eq!(objects(&bench.read("swept/results.jsonl")).len(), runs);
    let scripts = page
        .split("](../")
        .skip(1)
        .map(|rest| rest.split(')').next().unwrap());
    assert!(scripts.clone().count() >= 2);
    assert!(scripts.into_iter().all(|path| root().join(path).exists()));
}

#[test]
fn every_warning_comes_as_it_is_shown() {
    let (commands, shown) = gives_what_it_shows(&Bench::new(), "docs/WARNINGS.md");
    assert!(commands > 15 && shown > 25, "{commands} {shown}");
    let page = std::fs::read_to_string(root().join("docs/WARNINGS.md")).unwrap();
    for scheme in SCHEMES.iter().filter(|s| s.without_device.is_some()) {
        let shown = format!("--scheme {}", scheme.name);
        assert!(
            page.contains(&shown),
            "{} warns without a device",
            scheme.name
        );
    }
}

#[test]
fn the_tutorial_gives_what_it_shows() {
    let bench = Bench::new();
    let (commands, shown) = gives_what_it_shows(&bench, "docs/TUTORIAL.md");
    assert!(commands > 15 && shown > 20, "{commands} {shown}");
    let files = [
        "curves.svg",
        "report.html",
        "results/results.csv",
        "twin.csv",
    ];
    for file in files {
        assert!(!bench.read(file).is_empty(), "{file}");
    }
    assert_eq!(objects(&bench.read("results/results.jsonl")).len(), 6);
    assert_eq!(objects(&bench.read("experiment/results.jsonl")).len(), 6);
}

#[test]
fn the_guides_give_what_they_show() {
    let guides = pages_below(&root().join("docs/guides"));
    assert!(guides.len() >= 5, "{guides:?}");
    for guide in guides {
        let (commands, _) = gives_what_it_shows(&Bench::new(), guide.to_str().unwrap());
        assert!(commands > 0, "{}", guide.display());
    }
}

#[test]
fn the_page_of_write_amplification_gives_what_it_shows() {
    if !is_full() {
        println!("SKIPPED: only in cargo xtask full; `records` compares smaller tables");
        return;
    }
    let (commands, shown) = gives_what_it_shows(&Bench::new(), "docs/WAF.md");
    assert!(commands > 0 && shown > 4, "{commands} {shown}");
}

/// A capture of two updates, for the example of `trace import-ftrace`.
const CAPTURE: &str = "\
  app-7  [000] 0.000001: f2fs_submit_page_write: dev = (8,0), ino = 4, page_index = 0x0, oldaddr = 0x10, newaddr = 0x20, rw = WRITE(S), type = HOT_DATA
  app-7  [000] 0.000002: block_rq_issue: 8,0 WS 4096 () 256 + 8 [app]
";

#[test]
fn every_help_has_examples_that_work() {
    let bench = Bench::new();
    bench.file("capture.ftrace", CAPTURE);
    site(&bench);
    // Ten seconds of load, or two, which are enough for all examples.
    let requests = if is_full() { 25_000 } else { 5_000 };
    let make = format!(
        "destage trace synth hot-cold --requests {requests} --to msr -o hm_0.csv && gzip hm_0.csv"
    );
    shell(&bench, &make);
    let all = examples();
    assert!(all.len() > 15, "{all:?}");
    let mut done = BTreeSet::new();
    for HelpExamples { command, lines } in &all {
        assert!(!lines.is_empty(), "`{command} --help` has no examples");
        let is_own = |line: &String| line.starts_with(command.as_str());
        assert!(lines.iter().any(is_own), "{command}: {lines:?}");
        let help = shell(&bench, &format!("{command} --help"));
        for line in lines {
            assert!(help.contains(&format!("\n  {line}\n")), "{help}");
            // A folder of results takes each command once.
            if !takes_long(line) && done.insert(line) {
                let line = match line {
                    _ if line.starts_with("destage fit-device") && !is_full() => {
                        format!("{line} {SMALL}")
                    }
                    _ if line.starts_with("destage lab") => match crate::lab::kernel() {
                        Some(kernel) => format!("ln -sf '{kernel}' linux-exact && {line}"),
                        // Without a kernel it is refused.
                        None => format!("! {line}"),
                    },
                    _ => ending(line),
                };
                shell(&bench, &line);
            }
        }
    }
}

#[test]
fn completions_and_manual_pages_know_the_commands() {
    let bench = Bench::new();
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.shown(format!("completions {name}"));
        // Some leave the dashes of options to the shell.
        for word in ["repro", "read-alloc", "import-ftrace"] {
            assert!(script.contains(word), "{name}: {word}");
        }
    }
    // Bash asks the function that the script defines.
    bench.file("destage.bash", bench.shown("completions bash"));
    let ask = "source ./destage.bash; COMP_WORDS=(destage tra); COMP_CWORD=1; \
               _destage destage tra destage; echo $COMPREPLY";
    let bash = Command::new("bash")
        .args(["-c", ask])
        .current_dir(bench.dir.path())
        .output();
    match bash {
        Ok(done) => assert_eq!(String::from_utf8_lossy(&done.stdout), "trace\n", "{done:?}"),
        Err(error) => eprintln!("SKIPPED: bash cannot be run: {error}"),
    }
    bench.shown("man pages/man1");
    let pages = bench.names("pages/man1");
    for HelpExamples { command, .. } in examples() {
        let file = command.replace(' ', "-") + ".1";
        let hidden = ["destage-man.1", "destage-completions.1"].contains(&file.as_str());
        assert_eq!(pages.contains(&file), !hidden, "{file}: {pages:?}");
    }
    let run = bench.read("pages/man1/destage-run.1");
    assert!(
        run.contains(".TH destage-run 1") && run.contains("closed"),
        "{run}"
    );
    bench.file("taken", "");
    bench.destage("man taken").fails(1, &["cannot write taken"]);
}

/// The names in the first column of the section `title` of a page.
fn names(page: &str, title: &str) -> Vec<String> {
    let section = page.split("\n## ").find(|part| part.starts_with(title));
    let rows = section
        .expect(title)
        .lines()
        .filter(|line| line.starts_with("| `"));
    let name = |row: &str| row.split('`').nth(1).unwrap().to_owned();
    rows.map(name).collect()
}

#[test]
fn the_page_of_columns_has_those_of_the_files() {
    let bench = Bench::new();
    let page = page("docs/OUTPUT.md");
    shell(
        &bench,
        "destage trace synth hot-cold --requests 20000 -o t.csv",
    );
    let logs = "--log-evictions e.jsonl --log-requests r.csv --series s.csv";
    let run = format!("run t.csv --device default --cache 1MiB --scheme 'awb(lru)' {logs}");
    let header = bench.shown(format!("{run} --format-out csv"));
    let columns = |text: &str| -> Vec<String> {
        let head = text.lines().next().unwrap();
        head.split(',').map(str::to_owned).collect()
    };
    let record = names(&page, "The result record");
    for column in columns(&header) {
        assert!(record.contains(&column), "{column}");
    }
    assert_eq!(names(&page, "Request log"), columns(&bench.read("r.csv")));
    assert_eq!(names(&page, "Series"), columns(&bench.read("s.csv")));
    let known = names(&page, "Eviction log");
    for object in objects(&bench.read("e.jsonl")) {
        let object = object.as_object().unwrap();
        assert!(object.keys().all(|key| known.contains(key)), "{object:?}");
        let missing: Vec<_> = known
            .iter()
            .filter(|key| !object.contains_key(*key))
            .collect();
        assert!(missing.iter().all(|key| *key == "inflight"), "{missing:?}");
    }
    let exact = bench.shown("mrc t.csv --cache 1MiB --format-out csv");
    let sampled = bench.shown("mrc t.csv --cache 1MiB --sample-rate 0.5 --format-out csv");
    let both: BTreeSet<String> = columns(&exact)
        .into_iter()
        .chain(columns(&sampled))
        .collect();
    let known = names(&page, "Points of curves");
    assert_eq!(known.len(), both.len());
    assert_eq!(BTreeSet::from_iter(known), both);
    let point = bench.shown(
        "waf --blocks 8 --pages-per-block 4 --fill 0.5 --zipf 1 --zipf-pages 99 --tenths --format-out csv",
    );
    assert_eq!(
        names(&page, "Points of write amplification"),
        columns(&point)
    );
}

#[test]
fn the_device_file_of_the_page_is_one() {
    let bench = Bench::new();
    let page = page("docs/DEVICES.md");
    let (language, file) = blocks(&page)[0];
    assert_eq!(language, "toml");
    bench.file("mine.toml", file);
    let shown = bench.shown("presets mine.toml");
    let given = shown
        .lines()
        .filter(|line| line.contains("# file mine.toml"));
    // All keys but `base`, and the name, which is that of the file.
    assert_eq!(given.count(), file.lines().count(), "{shown}");
}

/// Pages in `folder`, and in the folders inside it.
pub fn pages_below(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => pages.push(path),
            }
        }
    }
    pages.retain(|page| page.extension().is_some_and(|e| e == "md"));
    pages
}

/// Links of the documents lead to files that are there.
#[test]
fn links_lead_somewhere() {
    let folders = ["docs", "papers", "fs-lab"].map(|name| pages_below(&root().join(name)));
    let pages: Vec<PathBuf> = folders.into_iter().flatten().collect();
    assert!(pages.len() > 30, "{pages:?}");
    for page in pages.into_iter().chain([root().join("README.md")]) {
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
