//! The keys of a device file, in the order in which presets have them.

/// Every key. Faults and settings are reported in this order.
pub(super) const KEYS: &[&str] = &[
    "name",
    "base",
    "channels",
    "chips_per_channel",
    "dies_per_chip",
    "planes_per_die",
    "blocks_per_plane",
    "pages_per_block",
    "page_bytes",
    "op",
    "t_read",
    "t_program",
    "t_erase",
    "t_cmd",
    "t_cmd_read",
    "t_cmd_program",
    "t_cmd_erase",
    "t_ready",
    "t_byte",
    "sector_bytes",
    "t_dram",
    "dram",
    "e_read",
    "e_program",
    "e_erase",
    "e_byte",
    "host_link",
    "ftl",
    "allocation",
    "allocation_order",
    "frontier",
    "queue_per",
    "queue",
    "multi_plane",
    "plane_aligned",
    "copyback",
    "die_interleave",
    "gc_policy",
    "gc_choices",
    "gc_mode",
    "gc_preempt",
    "gc_threshold",
    "gc_threshold_base",
    "gc_unit",
    "wear_levelling",
    "wear_threshold",
    "summary_page",
    "precondition",
    "cache",
    "cache_region",
    "evict_wait",
    "evict_wait_read",
    "read_fill",
    "rmw",
];

/// Position of a key, or the end for an unknown one.
pub(super) fn position(key: &str) -> usize {
    KEYS.iter().position(|&k| k == key).unwrap_or(KEYS.len())
}

/// The three command phases, which are `t_cmd` unless they are given.
pub(super) const COMMAND_KEYS: [&str; 3] = ["t_cmd_read", "t_cmd_program", "t_cmd_erase"];

/// Keys whose value is a table, fields of which can be set one by one.
pub(super) const TABLE_KEYS: [&str; 2] = ["precondition", "cache_region"];
