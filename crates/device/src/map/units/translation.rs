//! Translation pages of a cached mapping (S-2.1): mapping units with numbers behind those of the host.

use crate::config::DeviceConfig;
use std::ops::Range;

/// The translation pages of a drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct TranslationPages {
    /// How many they are; none if the whole mapping is in memory.
    pub pages: u64,
    /// Entries of each: T.
    entries: u64,
}

impl TranslationPages {
    pub fn new(config: &DeviceConfig) -> TranslationPages {
        TranslationPages {
            pages: config.translation_pages(),
            entries: config.mapping_entries_per_page(),
        }
    }

    /// The mapping units whose entries a page has, of so many.
    pub fn entries_of(&self, page: u64, of: u64) -> Range<u64> {
        page * self.entries..((page + 1) * self.entries).min(of)
    }
}
