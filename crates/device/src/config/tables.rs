//! Keys whose value is a table: what flash holds before the run, and the part of it that holds the
//! cache.

use super::Ratio;
use super::reader::{Allowed, KeyReader, KeyValue, TableField, ValueType};
use destage_types::{ByteSize, Picos};
use std::fmt;
use toml::Value;

/// Random overwrites before the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overwrite {
    /// So many times the logical space.
    Times(Ratio),
    /// Until every GC unit has been at its threshold.
    UntilGc,
}

/// Data on flash before the run; written without time or counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Precondition {
    /// Pages that the trace reads before it writes them are mapped.
    pub trace: bool,
    /// Share of the logical space that is written sequentially, `0..=1`.
    pub fill: Ratio,
    /// Uniform random overwrites after that.
    pub overwrite: Overwrite,
}

impl Precondition {
    /// The pages the trace reads, and nothing else: the word `"trace"`.
    pub const TRACE: Precondition = Precondition {
        trace: true,
        fill: Ratio::ZERO,
        overwrite: Overwrite::Times(Ratio::ZERO),
    };
}

impl fmt::Display for Precondition {
    /// The TOML table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{ trace = {}, fill = {}, overwrite = ",
            self.trace, self.fill
        )?;
        match self.overwrite {
            Overwrite::Times(n) => write!(f, "{n} }}"),
            Overwrite::UntilGc => write!(f, "\"until_gc\" }}"),
        }
    }
}

impl KeyValue for Precondition {
    const EXPECTED: &'static str =
        "the word \"trace\" or a table such as { trace = true, fill = 0.5, overwrite = 0 }";

    /// A table, fields of which are off where they are missing, or the word `trace`.
    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let table = match value {
            Value::String(word) if word == "trace" => return Precondition::TRACE,
            Value::Table(table) => table,
            _ => return from.wrong_type(key, Precondition::TRACE),
        };
        let mut wanted = Precondition {
            trace: false,
            ..Precondition::TRACE
        };
        for (field, value) in table {
            let key = &format!("{key}.{field}");
            match field.as_str() {
                "trace" => wanted.trace = from.value(key, value, None),
                "fill" => wanted.fill = from.value(key, value, Some(Ratio::ZERO..=Ratio::ONE)),
                "overwrite" => wanted.overwrite = from.value(key, value, None),
                _ => from.unknown_field(key, field, PRECONDITION_FIELDS),
            }
        }
        wanted
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Table(PRECONDITION_FIELDS)
    }
}

const PRECONDITION_FIELDS: &[TableField] = &[
    TableField {
        name: "trace",
        about: "true: pages that the trace reads before it writes them are mapped",
    },
    TableField {
        name: "fill",
        about: "share of the logical space that is written sequentially, 0 to 1",
    },
    TableField {
        name: "overwrite",
        about: "uniform random overwrites after that: a multiple of the logical space, 0 to 1000, or \
         `until_gc`, until every GC unit has been at its threshold",
    },
];

impl KeyValue for Overwrite {
    const EXPECTED: &'static str = "a multiple of the logical space or \"until_gc\"";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        match value {
            Value::String(word) if word == "until_gc" => Overwrite::UntilGc,
            Value::String(_) => from.wrong_type(key, Precondition::TRACE.overwrite),
            _ => Overwrite::Times(from.value(key, value, Some(Ratio::ZERO..=Ratio::whole(1000)))),
        }
    }

    fn toml(&self) -> Option<String> {
        match self {
            Overwrite::Times(n) => n.toml(),
            Overwrite::UntilGc => Some("\"until_gc\"".to_owned()),
        }
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Ratio(Ratio::ZERO..=Ratio::whole(1000))
    }
}

/// Part of the flash that holds the cache, beside the raw pages of the geometry and spread over all
/// chips, usually run with fewer bits per cell. A cached page is on the chip that static
/// allocation gives its address. Accesses of cached pages take time: each is a read or a program of
/// that chip with its transfer, of the array times here. Finding space in the region, merging a
/// part of a page with the rest of it and erasing cost no time and are not counted (Uncertain, the
/// paper does not say; decision of the preset table).
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

const REGION_FIELDS: &[TableField] = &[
    TableField {
        name: "size",
        about: "bytes it holds, with their unit; no cache may be larger",
    },
    TableField {
        name: "t_read",
        about: "array time of a read, to which `t_ready` is added as for any read",
    },
    TableField {
        name: "t_program",
        about: "array time of a program",
    },
    TableField {
        name: "evict_read",
        about: "true, the default: a page is read from the region before it is programmed outside",
    },
];

impl KeyValue for CacheRegion {
    const EXPECTED: &'static str =
        "false or a table such as { size = \"1GiB\", t_read = \"20us\", t_program = \"200us\" }";

    /// A table with all fields but `evict_read`.
    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let mut region = CacheRegion {
            size: ByteSize(0),
            t_read: Picos(0),
            t_program: Picos(0),
            evict_read: true,
        };
        let Value::Table(table) = value else {
            return from.wrong_type(key, region);
        };
        for (field, value) in table {
            let key = &format!("{key}.{field}");
            match field.as_str() {
                "size" => region.size = from.value(key, value, None),
                "t_read" => region.t_read = from.value(key, value, None),
                "t_program" => region.t_program = from.value(key, value, None),
                "evict_read" => region.evict_read = from.value(key, value, None),
                _ => from.unknown_field(key, field, REGION_FIELDS),
            }
        }
        let needed = REGION_FIELDS.iter().map(|field| field.name);
        for field in needed.filter(|&field| field != "evict_read") {
            if !table.contains_key(field) {
                from.impossible(key, format!("incomplete: `{key}.{field}` is not given"));
            }
        }
        region
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Table(REGION_FIELDS)
    }
}
