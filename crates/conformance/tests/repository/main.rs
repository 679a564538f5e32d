//! Checks of documents against the sources.

mod architecture;
mod circles;
mod decisions;
mod version;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Path from the root and text of every source, document and device file.
fn texts() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if [".rs", ".md", ".toml"]
                .iter()
                .any(|end| name.ends_with(end))
            {
                let text = fs::read_to_string(&path).expect("a text file");
                let below = path.strip_prefix(&root).expect("a path below the root");
                texts.insert(below.to_string_lossy().into_owned(), text);
            }
        }
    }
    assert!(texts.len() > 300, "only {} files were read", texts.len());
    texts
}
