//! Links of documents, as they are on the site.

use super::OTHERS;
use destage_scheme::registry;

/// Where a file of the repository stands on the site, if it does.
pub fn site_path(path: &str) -> Option<String> {
    let other = OTHERS.iter().find(|other| other.0 == path);
    other
        .map(|other| other.1)
        .or_else(|| path.strip_prefix("docs/"))
        .map(str::to_owned)
}

/// Makes the links of the document `path` lead to pages of the site, and name them by their titles, not their files. A
/// scheme has a page of its own. Of a link to another file of the repository its name remains.
pub fn on_site(text: &str, path: &str, title: impl Fn(&str) -> Option<String>) -> String {
    let own = site_path(path).unwrap_or_default();
    let mut pieces = text.split("](");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let Some((target, rest)) = piece.split_once(')') else {
            out += &format!("]({piece}");
            continue;
        };
        let (file, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
        let file_of_root = resolve(path, file);
        if file.is_empty() || target.contains("://") || file.starts_with("playground/") {
            out += &format!("]({target})");
        } else if let Some(mut place) = site_path(&file_of_root) {
            let label_at = out.rfind('[').map_or(out.len(), |at| at + 1);
            let label = out[label_at..].trim_matches('`');
            if file_of_root == "docs/SCHEMES.md" && registry::find(label).is_some() {
                place = format!("schemes/{label}.md");
            } else if label.ends_with(".md")
                && let Some(title) = title(&file_of_root)
            {
                out.replace_range(label_at.., &title);
            }
            out += &format!("]({}{anchor})", relative(&own, &place));
        } else if let Some(start) = out.rfind('[') {
            let label = out.split_off(start).split_off(1);
            out += &label;
            if label.trim_matches('`') != file_of_root {
                out += &format!(" (`{file_of_root}`)");
            }
        }
        out += rest;
    }
    out
}

/// The path from the root of what the file `from` calls `target`.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => _ = parts.pop(),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// How the page `from` calls the page `to`.
fn relative(from: &str, to: &str) -> String {
    "../".repeat(from.matches('/').count()) + to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_and_other_files_are_named() {
        let text = "[PAPERS.md](../PAPERS.md), [`arc`](../SCHEMES.md), [a](../PAPERS.md#b), [c](https://d.org/e.md), [f](#g), [lab](../../fs-lab/README.md#h), \
                    [it](../../xtask/x.txt), [`xtask/x.txt`](../../xtask/x.txt)";
        assert_eq!(
            on_site(text, "docs/papers/ecr.md", |path| Some(format!(
                "Title of {path}"
            ))),
            "[Title of docs/PAPERS.md](../PAPERS.md), [`arc`](../schemes/arc.md), [a](../PAPERS.md#b), [c](https://d.org/e.md), [f](#g), [lab](../FS_LAB.md#h), it (`xtask/x.txt`), \
             `xtask/x.txt`"
        );
    }
}
