//! A cache that lives in flash itself: the region that holds it (ProCache section 5.3).

use super::error::{Reason, nearest};
use super::reading::Reading;
use super::{Allocation, DeviceConfig};
use destage_types::{ByteSize, Picos};
use std::fmt;
use toml::Value;

/// Part of the flash that holds the cache, beside the raw pages of the geometry and spread over all
/// chips, usually run with fewer bits per cell. A cached page is on the chip that static
/// allocation gives its address. What takes time are accesses of cached pages: each is a read or a
/// program of that chip with its transfer, of the array times here. Finding space in the region,
/// merging a part of a page with the rest of it and erasing cost no time and are not counted
/// (Uncertain, the paper does not say; decision of the preset table).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheRegion {
    /// Bytes it holds; no cache may be larger.
    pub size: ByteSize,
    /// Array time of a read, to which `t_ready` is added as for any read.
    pub t_read: Picos,
    /// Array time of a program.
    pub t_program: Picos,
    /// Is a page read from the region before it is programmed outside, when it is evicted, flushed
    /// or written back? Its data are nowhere else, so yes by default; `false` takes "a page access"
    /// of the preset table for accesses of the host alone.
    pub evict_read: bool,
}

impl fmt::Display for CacheRegion {
    /// The TOML table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, read, program) = (self.size, self.t_read, self.t_program);
        write!(
            f,
            "{{ size = \"{size}\", t_read = \"{read}\", t_program = \"{program}\", \
             evict_read = {} }}",
            self.evict_read
        )
    }
}

/// Name of the key.
pub(super) const KEY: &str = "cache_region";

const FIELDS: [&str; 4] = ["size", "t_read", "t_program", "evict_read"];

/// `false`, as if it were not given, or a table with all fields but `evict_read`.
pub(super) fn read_region(read: &mut Reading, config: &mut DeviceConfig) {
    if !read.is_given(KEY) {
        return;
    }
    let table = match &read.entry(KEY).value {
        Value::Boolean(false) => return,
        Value::String(word) if word == "off" => return,
        Value::Table(table) => table,
        _ => {
            let expected = "false or a table such as { size = \"1GiB\", t_read = \"20us\", \
                            t_program = \"200us\" }";
            let expected = expected.to_owned();
            return read.fault(KEY, Reason::Type { expected });
        }
    };
    let mut region = CacheRegion {
        size: ByteSize(0),
        t_read: Picos(0),
        t_program: Picos(0),
        evict_read: true,
    };
    for (field, value) in table {
        let key = format!("{KEY}.{field}");
        match field.as_str() {
            "size" => region.size = read.size_value(&key, value),
            "t_read" => region.t_read = read.time_value(&key, value),
            "t_program" => region.t_program = read.time_value(&key, value),
            "evict_read" => region.evict_read = read.flag_value(&key, value),
            _ => read.fault(
                &key,
                Reason::UnknownKey {
                    nearest: nearest(field, FIELDS),
                },
            ),
        }
    }
    for field in FIELDS.iter().filter(|&&f| f != "evict_read") {
        if !table.contains_key(*field) {
            read.impossible(KEY, format!("incomplete: `{KEY}.{field}` is not given"));
        }
    }
    if config.allocation != Allocation::Static {
        let why = format!(
            "impossible: a cached page is on the chip of its address, and allocation = \
             \"{}\" gives addresses no chip (allocation = static, or {KEY} = false)",
            config.allocation
        );
        read.impossible(KEY, why);
    }
    config.cache_region = Some(region);
}
