//! Keys that no drive simulates yet. Whoever simulates them deletes this file and the three lines that name it.

use super::DeviceConfig;
use super::reader::KeyReader;

/// Refuses what is not simulated.
pub(super) fn checks(read: &mut KeyReader, c: &DeviceConfig) {
    let keys = [("parity", c.parity.unwrap_or(0) > 0)];
    for (key, _) in keys.iter().filter(|key| key.1) {
        read.impossible(key, "it is not simulated yet".to_owned());
    }
}
