//! The pages of the site, as Markdown: the documents, and a page for each scheme, decision, and preset of a device.
//! `cargo xtask site` gives them to the generator.

mod curves;
mod decisions;
mod head;
mod links;
mod schemes;
mod states;
mod tables;

use decisions::Decisions;
use destage_device::config::presets;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Pages of the repository outside of `docs`, and their names on the site.
const OTHERS: [(&str, &str); 2] = [
    ("fs-lab/README.md", "FS_LAB.md"),
    ("papers/ecr/README.md", "papers/ecr-runs.md"),
];

/// Text of each page by its path on the site.
type Pages = BTreeMap<String, String>;

/// Writes all pages into the folder `to`, and draws the curves of schemes there.
///
/// # Errors
/// A file cannot be read or written, or a curve cannot be drawn.
pub fn write(root: &Path, to: &Path) -> io::Result<()> {
    let documents = documents(root)?;
    let decisions = Decisions::read(&documents["DECISIONS.md"]);
    let measured = &documents["MEASURED.md"];
    let mut pages = schemes::pages(root, &decisions, measured)?;
    pages.extend(decisions.pages());
    pages.extend(presets().iter().map(|preset| {
        let (name, about) = (preset.name, preset.about());
        let text = format!(
            "# Device `{name}`\n\n{about}\n\n`--device {name}` chooses it. [Devices](../DEVICES.md) explains the keys.\n\n\
             ```toml\n{}```\n",
            preset.text
        );
        (format!("devices/{name}.md"), text)
    }));
    for (path, text) in documents {
        pages
            .entry(path)
            .or_insert_with(|| tables::narrow(&link_presets(text)));
    }
    for (path, text) in pages {
        let file = to.join(path);
        fs::create_dir_all(file.parent().unwrap_or(to))?;
        fs::write(file, text)?;
    }
    curves::draw(&to.join("schemes"))
}

/// The documents and pictures of `docs`, and [`OTHERS`], with links that are right on the site.
fn documents(root: &Path) -> io::Result<Pages> {
    let mut documents = Pages::new();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let file = entry?.path();
            if file.is_dir() {
                folders.push(file);
                continue;
            }
            let path = file.strip_prefix(root).map_err(io::Error::other)?;
            add(&mut documents, root, &path.to_string_lossy())?;
        }
    }
    for (path, _) in OTHERS {
        add(&mut documents, root, path)?;
    }
    Ok(documents)
}

fn add(documents: &mut Pages, root: &Path, path: &str) -> io::Result<()> {
    let text = fs::read_to_string(root.join(path))?;
    let place = links::site_path(path).unwrap_or_else(|| path.to_owned());
    let text = if path.ends_with(".md") {
        links::on_site(&text, path, |path| {
            title(&fs::read_to_string(root.join(path)).ok()?)
        })
    } else {
        text
    };
    documents.insert(place, text);
    Ok(())
}

/// The first heading.
fn title(text: &str) -> Option<String> {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.map(str::to_owned)
}

/// The list of presets leads to their pages.
fn link_presets(mut text: String) -> String {
    for preset in presets() {
        let (row, name) = (format!("\n| `{}` |", preset.name), preset.name);
        text = text.replace(&row, &format!("\n| [`{name}`](devices/{name}.md) |"));
    }
    text
}
