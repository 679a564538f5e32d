//! The page with the picture: as files for a server, or as one file that needs no network.

use crate::playground::kind_of;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use destage_console::failure::Failure;
use destage_live::ui::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::Write;

// `FILES`: name and content of all files that pages of the browser consist of.
include!(concat!(env!("OUT_DIR"), "/web.rs"));

/// The page, which names the other files.
const PAGE: &str = "watch.html";

/// The files of the page with these scenes.
///
/// # Errors
/// The program was built without a file of the page.
pub fn files(json: &str) -> Result<BTreeMap<String, Response>, Failure> {
    let page = text_of(PAGE)?;
    let mut files = BTreeMap::new();
    for name in page.lines().filter_map(named) {
        let kind = kind_of(name).ok_or_else(|| missing(name))?;
        files.insert(name.to_owned(), Response::new(kind, text_of(name)?));
    }
    // Data are no script, so the server's rules for scripts let them pass.
    let data = format!(
        "<script type=\"application/json\" id=\"scenes\">{}</script>\n</head>",
        json.replace('<', "\\u003c")
    );
    let page = page.replacen("</head>", &data, 1);
    let html = kind_of(PAGE).ok_or_else(|| missing(PAGE))?;
    files.insert("index.html".to_owned(), Response::new(html, page));
    Ok(files)
}

/// The same as one file.
///
/// # Errors
/// As [`files`].
pub fn in_one_file(json: &str) -> Result<String, Failure> {
    let (mut page, mut modules) = (String::new(), String::new());
    for line in text_of(PAGE)?.lines() {
        match named(line) {
            Some(sheet) if line.contains("stylesheet") => {
                page.push_str(&format!("<style>\n{}</style>\n", text_of(sheet)?));
            }
            Some(module) if line.contains("modulepreload") => {
                modules.push_str(&without_joints(text_of(module)?));
            }
            Some(last) => {
                modules.push_str(&without_joints(text_of(last)?));
                page.push_str(&format!("<script type=\"module\">\n{modules}</script>\n"));
            }
            None if line == "</head>" => {
                page.push_str(&format!(
                    "<script type=\"text/plain\" id=\"scenes\" data-encoding=\"gzip-base64\">{}</script>\n</head>\n",
                    packed(json)?
                ));
            }
            None => {
                page.push_str(line);
                page.push('\n');
            }
        }
    }
    Ok(page)
}

/// The file that a line of the page names.
fn named(line: &str) -> Option<&str> {
    let link = [
        "<link rel=\"stylesheet\" href=\"",
        "<link rel=\"modulepreload\" href=\"",
    ];
    let script = ["<script type=\"module\" src=\""];
    let rest = link
        .iter()
        .chain(&script)
        .find_map(|start| line.strip_prefix(start))?;
    rest.split('"').next()
}

/// A module without the lines that join it to others: in one file they are one module.
fn without_joints(module: &str) -> String {
    let lines = module.lines().filter(|line| !line.starts_with("import "));
    let lines = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn packed(json: &str) -> Result<String, Failure> {
    let failed = |error| Failure::Run(format!("the scenes cannot be packed: {error}"));
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(json.as_bytes()).map_err(failed)?;
    Ok(STANDARD.encode(packer.finish().map_err(failed)?))
}

fn text_of(name: &str) -> Result<&'static str, Failure> {
    let found = FILES.iter().find(|file| file.0 == name);
    let text = found.and_then(|file| std::str::from_utf8(file.1).ok());
    text.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Failure {
    Failure::Run(format!(
        "this destage was built without {name}, a file of the page"
    ))
}
