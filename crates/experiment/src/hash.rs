//! Hashes by which runs, batches and traces are known.

use sha2::{Digest, Sha256};

/// SHA-256 of parts, in hexadecimal; where a part ends makes a difference.
pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hexadecimal(hash)
}

/// The hash of what was given to `hash`.
pub fn hexadecimal(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
