//! The generated documents are those of this source.

use destage_cli::docs::DOCUMENTS;
use std::path::Path;

#[test]
fn generated_documents_are_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for document in DOCUMENTS {
        let committed = std::fs::read_to_string(root.join(document.path)).unwrap_or_default();
        assert!(
            committed == (document.text)(),
            "{} is stale: run `cargo xtask docs`",
            document.path
        );
    }
}
