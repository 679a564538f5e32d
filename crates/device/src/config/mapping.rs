//! A mapping table that is on flash, and partly in memory (S-2).

use super::drive::needs_frontiers;
use super::{DeviceConfig, MapEvict, MappingTable};
use destage_types::{ByteSize, Nanos, Picos};

/// Bytes of an entry on flash if none are given, and in memory.
const ENTRY: u32 = 8;
/// Time of memory of the host if none is given.
const T_HMB: Picos = Picos(1_000_000);

impl DeviceConfig {
    /// The part of the mapping table that is in memory.
    pub fn mapping_table(&self) -> MappingTable {
        self.mapping.unwrap_or(MappingTable::Full)
    }

    /// Is the mapping table on flash, and only a part of it in memory?
    pub fn has_cached_mapping(&self) -> bool {
        self.mapping_table() != MappingTable::Full
    }

    /// Entries of a translation page: T.
    pub fn mapping_entries_per_page(&self) -> u64 {
        let bytes = self.mapping_entry_bytes.unwrap_or(ENTRY);
        (self.mapping().bytes() / u64::from(bytes)).max(1)
    }

    /// Translation pages: none if all of the mapping table is in memory.
    pub fn translation_pages(&self) -> u64 {
        match self.has_cached_mapping() {
            true => self
                .logical_pages()
                .div_ceil(self.mapping_entries_per_page()),
            false => 0,
        }
    }

    /// Slots of the map cache, at least one: of entries, or of translation pages with `mapping = page`.
    pub fn mapping_entries(&self) -> u64 {
        self.map_slots(self.map_cache.unwrap_or_default()).max(1)
    }

    /// Slots of the map cache that are in the device, and not in memory of the host.
    pub fn map_sram_entries(&self) -> u64 {
        let all = self.mapping_entries();
        self.map_sram
            .map_or(all, |size| self.map_slots(size))
            .min(all)
    }

    fn map_slots(&self, size: ByteSize) -> u64 {
        match self.mapping_table() {
            MappingTable::Page => size.0 / self.mapping().bytes(),
            MappingTable::Full | MappingTable::Entry => size.0 / u64::from(ENTRY),
        }
    }

    /// Time that entries in memory of the host cost a request.
    pub fn t_hmb(&self) -> Nanos {
        self.t_hmb.unwrap_or(T_HMB).times(1)
    }

    /// Are all entries of a translation page clean once it is written back?
    pub fn cleans_whole_map_page(&self) -> bool {
        self.map_evict == Some(MapEvict::Batch)
    }

    /// Most translation pages that are written back at a time for room in the map cache.
    pub fn map_evict_depth(&self) -> u32 {
        let dies = self.geometry.planes() / self.geometry.planes_per_die;
        self.map_evict_depth.unwrap_or(dies)
    }
}

/// Do the keys of the mapping table go together, and with the others?
pub(super) fn checks(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    let keys = [
        ("mapping_entry_bytes", c.mapping_entry_bytes.is_some()),
        ("map_cache", c.map_cache.is_some()),
        ("map_evict", c.map_evict.is_some()),
        ("map_evict_depth", c.map_evict_depth.is_some()),
        ("map_sram", c.map_sram.is_some()),
        ("t_hmb", c.t_hmb.is_some()),
    ];
    if !c.has_cached_mapping() {
        for (key, _) in keys.iter().filter(|key| key.1) {
            no(key, "it needs mapping = entry or page".to_owned());
        }
        return;
    }
    needs_frontiers(no, c, "mapping");
    if c.map_cache.is_none() {
        no(
            "mapping",
            "it needs map_cache, the memory for entries".to_owned(),
        );
    }
    let (entry, page) = (c.mapping_entry_bytes.unwrap_or(ENTRY), c.mapping().bytes());
    if u64::from(entry) > page {
        let why = format!("an entry of {entry} bytes is larger than a mapping unit of {page}");
        no("mapping_entry_bytes", why);
    }
}
