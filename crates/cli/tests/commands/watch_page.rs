//! The page of scenes in a browser without a window, inlined into one file as a story is.

use crate::browser::{LISTEN, browser, posted};
use crate::common::Bench;
use serde_json::Value;
use std::path::Path;

/// A scene, a plain replay of it, and what is compared.
const CHECK: &str = include_str!("watch_page.js");

fn web(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../playground/web");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// The value of an attribute of a line of HTML.
fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("{name}=\""))?;
    Some(rest.split_once('"')?.0)
}

/// The names that a module declares at its top level.
fn declared(module: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in module.lines() {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        let words = ["function ", "const ", "let ", "class "];
        let Some(rest) = words.iter().find_map(|word| line.strip_prefix(word)) else {
            continue;
        };
        let list = match rest.strip_prefix('[') {
            Some(list) => list.split(']').next().unwrap(),
            None => rest.split([' ', '(', '=', ';']).next().unwrap(),
        };
        names.extend(list.split(", "));
    }
    names
}

/// A module without the lines that join it to others.
fn without_joints(module: &str) -> String {
    let lines = module.lines().filter(|line| !line.starts_with("import "));
    let lines = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The page as one file, with the check at its end.
fn inlined() -> String {
    let mut modules = String::new();
    let mut page = String::new();
    for line in web("watch.html").lines() {
        if line.starts_with("<link rel=\"stylesheet\"") {
            let sheet = web(attribute(line, "href").unwrap());
            page.push_str(&format!("<style>\n{sheet}</style>\n"));
        } else if line.starts_with("<link rel=\"modulepreload\"") {
            modules.push_str(&without_joints(&web(attribute(line, "href").unwrap())));
        } else if line.starts_with("<script type=\"module\"") {
            modules.push_str(&without_joints(&web(attribute(line, "src").unwrap())));
            page.push_str(&format!(
                "<script>{CHECK}</script>\n<script type=\"module\">\n{modules}\
                 check({{ Scene, readStory, storyOfPage, watch }});\n</script>\n"
            ));
        } else {
            page.push_str(&line.replacen("<head>", &format!("<head>{LISTEN}"), 1));
            page.push('\n');
        }
    }
    page
}

/// The page can be inlined as one module: no two modules declare the same name.
#[test]
fn modules_can_be_joined() {
    let page = web("watch.html");
    let mut names: Vec<(String, String)> = Vec::new();
    let files = page
        .lines()
        .filter(|line| line.contains("modulepreload") || line.contains("type=\"module\""));
    let files: Vec<&str> = files
        .map(|line| attribute(line, "href").or(attribute(line, "src")).unwrap())
        .collect();
    assert_eq!(files.last(), Some(&"watch.js"));
    for (i, file) in files.iter().enumerate() {
        let module = web(file);
        for line in module.lines().filter(|line| line.starts_with("import ")) {
            let from = line.rsplit_once("'./").unwrap().1.trim_end_matches("';");
            assert!(
                files[..i].contains(&from),
                "{file} imports {from}, which comes later or not at all"
            );
            assert!(!line.contains(" as "), "{file}: {line}");
        }
        for part in [
            "export default",
            "export {",
            "export *",
            "import(",
            "</script",
        ] {
            assert!(!module.contains(part), "{file}: {part}");
        }
        for name in declared(&module) {
            let other = names.iter().find(|known| known.0 == name);
            assert_eq!(other, None, "{file}: {name}");
            names.push((name.to_owned(), (*file).to_owned()));
        }
    }
    assert!(names.len() > 60, "{names:?}");
}

/// The page links all stories, with the words of their file.
#[test]
fn the_page_links_all_stories() {
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/stories.toml");
    let stories: toml::Table = std::fs::read_to_string(stories).unwrap().parse().unwrap();
    let page = web("watch.html");
    let stories = stories["story"].as_array().unwrap();
    for story in stories {
        let word = |key: &str| story[key].as_str().unwrap();
        let name = word("name");
        let link = format!(
            "<li><a href=\"watch.html?scenes={name}.json\" data-story=\"{name}\">{}</a>\n      {}</li>",
            word("title"),
            word("text")
        );
        assert!(page.contains(&link), "watch.html has no {link}");
    }
    assert_eq!(page.matches("data-story=").count(), stories.len());
}

#[test]
fn a_picture_shows_what_a_replay_of_its_events_gives() {
    let Some(program) = browser() else {
        eprintln!("SKIPPED: no browser, so nobody has looked at the page of scenes");
        return;
    };
    let bench = Bench::new();
    bench.file("inner.html", inlined());
    let widths = [1280, 390];
    let views = widths.map(|width| ("inner.html".to_owned(), width));
    for (seen, width) in posted(&program, &bench, &views).iter().zip(widths) {
        let nothing = Value::Array(Vec::new());
        assert_eq!(seen["failed"], Value::Null, "{width}");
        assert_eq!(seen["faults"], nothing, "{width}");
        assert_eq!(seen["fault"], "", "{width}");
        assert_eq!(seen["title"], "A test");
        assert_eq!(seen["unnamed"], nothing);
        assert_eq!(seen["low"], nothing, "{width}");
        assert_eq!(seen["loaded"], nothing, "{width}: nothing is asked for");
        assert!(
            seen["width"].as_u64().unwrap() <= u64::from(width),
            "{width}: {}",
            seen["width"]
        );
        // The overview, and four pictures of each scheme; a narrow page shows one scheme at a time.
        let colours = seen["colours"].as_array().unwrap();
        assert_eq!(colours.len(), if width == 390 { 5 } else { 9 });
        assert!(
            colours.iter().all(|count| count.as_u64() > Some(3)),
            "{width}: nothing drawn: {colours:?}"
        );
    }
}
