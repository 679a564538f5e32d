//! Every link of a page leads to a file of the site, and to an element of it. Pages load nothing from elsewhere.

use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Identifiers and links of one page.
struct Page {
    ids: BTreeSet<String>,
    links: Vec<String>,
}

/// Checks the links of all pages below `site` but those of the playground, which a browser opens.
///
/// # Errors
/// A link is dead, or a page loads something from elsewhere. All such links are named.
pub fn check(site: &Path) -> Result<()> {
    let site = site.canonicalize()?;
    let mut pages = BTreeMap::new();
    read(&site, &mut pages)?;
    pages.retain(|path, _| !path.starts_with(site.join("playground")));
    let (mut dead, mut count) = (Vec::new(), 0);
    for (path, page) in &pages {
        for link in &page.links {
            count += 1;
            if !leads_somewhere(&site, path, link, &pages) {
                let page = path.strip_prefix(&site)?.display();
                dead.push(format!("{page}: {link}"));
            }
        }
    }
    ensure!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    println!("{} pages, {count} links", pages.len());
    Ok(())
}

fn leads_somewhere(site: &Path, from: &Path, link: &str, pages: &BTreeMap<PathBuf, Page>) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let (file, _) = file.split_once('?').unwrap_or((file, ""));
    let path = match file.strip_prefix('/') {
        Some(from_root) => site.join(from_root),
        None if file.is_empty() => from.to_owned(),
        None => from.with_file_name(file),
    };
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let ids = || pages.get(&path).map(|page| &page.ids);
    path.is_file() && (anchor.is_empty() || ids().is_some_and(|ids| ids.contains(anchor)))
}

fn read(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> Result<()> {
    for file in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = file?.path();
        if path.is_dir() {
            read(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            let page = parse(&fs::read_to_string(&path)?);
            pages.insert(path, page);
        }
    }
    Ok(())
}

/// Values of attributes: identifiers, links inside the site, and all that is loaded. Text has no quotation mark behind
/// such a name.
fn parse(html: &str) -> Page {
    let (mut ids, mut links) = (BTreeSet::new(), Vec::new());
    let pieces: Vec<&str> = html.split('"').collect();
    for pair in pieces.windows(2) {
        let (name, value) = (pair[0], pair[1].replace("&amp;", "&"));
        let leaves = value.contains("://") || value.starts_with("mailto:");
        if name.ends_with(" id=") {
            ids.insert(value);
        } else if name.ends_with(" src=") || (name.ends_with(" href=") && !leaves) {
            links.push(value);
        }
    }
    Page { ids, links }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_files_and_anchors_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path();
        fs::create_dir(site.join("a")).unwrap();
        let page = |path: &str, text: &str| fs::write(site.join(path), text).unwrap();
        page(
            "index.html",
            "<h1 class=\"x\" id=\"top\">T</h1><a href=\"a/b.html?x=1#c\">c</a><a href=\"https://d.org/e\">",
        );
        page(
            "a/b.html",
            "<p id=\"c\"><a title=\"a > b\" href=\"../index.html#top\">t</a> <a href=\"#c\">c</a></p>",
        );
        check(site).unwrap();
        page(
            "a/b.html",
            "<p><img alt=\"i\" src=\"../none.svg\"><script src=\"https://d.org/e.js\">",
        );
        let error = check(site).unwrap_err().to_string();
        assert_eq!(
            error,
            "dead links:\na/b.html: ../none.svg\na/b.html: https://d.org/e.js\nindex.html: a/b.html?x=1#c"
        );
    }
}
