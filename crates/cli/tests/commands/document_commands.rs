//! Every line of a document that begins with `destage` works as it stands there.

use crate::common::{Bench, is_full, root};
use crate::documents::{blocks, shell};
use crate::fit_device::{SMALL, TABLE};
use crate::repro::live_line;
use std::path::PathBuf;

/// Pages whose commands other tests run, some with what they print: how the path begins, and the test.
const ELSEWHERE: [(&str, &str); 6] = [
    ("docs/COMMANDS.md", "every_command_works"),
    ("docs/TUTORIAL.md", "the_tutorial_gives_what_it_shows"),
    ("docs/WARNINGS.md", "every_warning_comes_as_it_is_shown"),
    (
        "docs/WAF.md",
        "the_page_of_write_amplification_gives_what_it_shows",
    ),
    ("docs/guides/", "the_guides_give_what_they_show"),
    ("docs/cac/", "cac_page"),
];

/// Commands that do not run here: how they begin, and why.
const NOT_HERE: [(&str, &str); 2] = [
    (
        "destage sweep papers/",
        "takes minutes, and `cargo xtask draining` runs it",
    ),
    (
        "destage lab",
        "needs a kernel, with which `every_help_has_examples_that_work` runs it",
    ),
];

/// Files that the reader of a page has.
fn fixtures(bench: &Bench, path: &str, page: &str) {
    let synth = |file: &str| {
        bench.shown(format!(
            "trace synth hot-cold --requests 4000 --to msr -o {file}"
        ));
    };
    let toml = |file: &str| {
        let block = blocks(page)
            .into_iter()
            .find(|block| block.0 == "toml")
            .unwrap();
        bench.file(file, block.1);
    };
    match path {
        "docs/CALIBRATION.md" => {
            bench.file("load.csv", TABLE.replace("x-960", "samsung-pm9a3-960"));
        }
        "docs/CLUSTER.md" => {
            toml("sweep.toml");
            synth("hm_0.csv.gz");
            synth("prxy_0.csv.gz");
        }
        "docs/LIVE.md" => {
            toml("two.toml");
            let runs = [1, 2].map(|run| {
                live_line("none", run, 100.0, 1000) + &live_line("procache(lru)", run, 90.0, 900)
            });
            bench.file("runs.jsonl", runs.concat());
        }
        "docs/PERFORMANCE.md" => synth("TRACE"),
        "docs/PLAYGROUND.md" => site(bench),
        "docs/TWINS.md" => synth("hm_0.csv"),
        "docs/WATCH.md" => synth("trace.csv"),
        _ => {}
    }
}

/// A folder that stands for the site of the playground.
pub fn site(bench: &Bench) {
    shell(bench, "mkdir -p target/site/playground");
    for name in ["index.html", "destage.wasm"] {
        bench.file(&format!("target/site/playground/{name}"), "");
    }
}

/// A line for a shell that does what `line` says and ends: a server is told to end once it has said that it serves.
pub fn ending(line: &str) -> String {
    let line = line.split(" # ").next().unwrap().trim_end();
    let is_server = match line.split(' ').nth(1) {
        Some("serve" | "playground") => true,
        Some("watch") => !line.contains("--export"),
        _ => false,
    };
    match line {
        _ if is_server => format!(
            "rm -f served; {line} > served & for i in $(seq 600); do test -s served && break; \
             sleep 0.1; done; kill $!; wait $!; cat served"
        ),
        _ if line.starts_with("destage ctl") => format!(
            "destage serve --socket ssd.sock --control ssd.ctl & \
             for i in $(seq 600); do test -S ssd.ctl && break; sleep 0.1; done; \
             {line} && destage ctl --control ssd.ctl shutdown && wait $!"
        ),
        _ => line.to_owned(),
    }
}

/// The commands of a page, in its order: lines of a shell, and of indented blocks, that begin with `destage`.
fn commands(page: &str) -> Vec<String> {
    let (mut found, mut fence): (Vec<String>, Option<&str>) = (Vec::new(), None);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            fence = match fence {
                None => Some(language),
                Some(_) => None,
            };
            continue;
        }
        let code = match fence {
            None => line.strip_prefix("    "),
            Some("" | "sh") => Some(line),
            Some(_) => None,
        };
        let Some(code) = code.filter(|code| code.starts_with("destage ")) else {
            continue;
        };
        let mut command = code.to_owned();
        while command.ends_with('\\') {
            command.pop();
            command += lines.next().expect("a line behind `\\`").trim_start();
        }
        found.push(command);
    }
    found
}

/// The pages of the repository that are not run elsewhere, with their commands.
fn pages() -> Vec<(String, String, Vec<String>)> {
    let mut paths: Vec<PathBuf> = crate::documents::pages_below(&root().join("docs"));
    paths.push(root().join("README.md"));
    paths.sort();
    let mut pages = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let all = commands(&text);
        if !all.is_empty() && !ELSEWHERE.iter().any(|(start, _)| name.starts_with(start)) {
            pages.push((name, text, all));
        }
    }
    pages
}

#[test]
fn commands_are_found() {
    let page = "text\n\n    destage a --b \\\n        --c\n    other\n\n```sh\ndestage d  # why\n```\n\n\
                ```text\ndestage e\n```\n\ndestage f\n";
    assert_eq!(commands(page), ["destage a --b --c", "destage d  # why"]);
}

#[test]
fn the_lists_are_about_something() {
    let pages = pages();
    assert!(pages.len() > 8, "{pages:?}");
    for (start, why) in NOT_HERE {
        let is = |command: &String| command.starts_with(start);
        assert!(
            pages.iter().any(|page| page.2.iter().any(is)),
            "{start} ({why})"
        );
    }
    for (start, test) in ELSEWHERE {
        assert!(root().join(start).exists(), "{start} ({test})");
    }
}

#[test]
fn every_command_of_every_page_works() {
    if !is_full() {
        println!("SKIPPED: only in cargo xtask full");
        return;
    }
    for (path, text, commands) in pages() {
        let bench = Bench::new();
        fixtures(&bench, &path, &text);
        for command in commands {
            println!("{path}: {command}");
            if NOT_HERE.iter().any(|(start, _)| command.starts_with(start)) {
                continue;
            }
            let mut line = ending(&command);
            if line.starts_with("destage fit-device") {
                line += &format!(" {SMALL} --free t_command --evaluations 10");
            }
            shell(&bench, &line);
        }
    }
}
