//! Handles: writes that share open units and blocks (S-3).

use super::drive::needs_frontiers;
use super::error::Reason;
use super::reader::{Allowed, KeyReader, KeyValue, TableField, ValueType};
use super::{Allocation, DeviceConfig, GcStreams, Isolation};
use destage_types::{ByteSize, Tag};
use std::fmt;
use toml::{Table, Value};

/// Most handles of a device.
pub(super) const MAX_HANDLES: u32 = 128;
/// Most rows of `placement`.
const MAX_RULES: usize = 256;

/// The writes that a row of `placement` is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritesOf {
    /// Those of a stream.
    Stream(u32),
    /// Those that the trace marks so.
    Tag(Tag),
    /// Those whose first byte is from the first address on, and before the second.
    Addresses(ByteSize, ByteSize),
}

/// A row of `placement`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacementRule {
    /// Its writes.
    pub of: WritesOf,
    /// Their handle.
    pub handle: u32,
}

/// The handle of each write: the first row that fits decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandlePlacement(Vec<PlacementRule>);

impl HandlePlacement {
    /// The rows, in order.
    pub fn rules(&self) -> &[PlacementRule] {
        &self.0
    }
}

const TAGS: [(&str, Tag); 4] = [
    ("data", Tag::Data),
    ("node", Tag::Node),
    ("meta", Tag::Meta),
    ("gc", Tag::Gc),
];

const FIELDS: &[TableField] = &[
    TableField {
        name: "stream",
        about: "writes of the stream with this number",
    },
    TableField {
        name: "tag",
        about: "writes that the trace marks as `data`, `node`, `meta` or `gc`",
    },
    TableField {
        name: "from",
        about: "with `to`: writes whose first byte is at this address or behind it",
    },
    TableField {
        name: "to",
        about: "with `from`: writes whose first byte is before this address",
    },
    TableField {
        name: "handle",
        about: "the handle of these writes",
    },
];

impl fmt::Display for PlacementRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            WritesOf::Stream(stream) => write!(f, "{{ stream = {stream}")?,
            WritesOf::Tag(tag) => {
                let word = TAGS.iter().find(|row| row.1 == tag).map_or("", |row| row.0);
                write!(f, "{{ tag = \"{word}\"")?;
            }
            WritesOf::Addresses(from, to) => write!(f, "{{ from = \"{from}\", to = \"{to}\"")?,
        }
        write!(f, ", handle = {} }}", self.handle)
    }
}

impl PlacementRule {
    fn read(from: &mut KeyReader, key: &str, table: &Table) -> PlacementRule {
        let (mut stream, mut tag, mut handle) = (None, None, 0);
        let (mut low, mut high) = (None, None);
        for (field, value) in table {
            let key = &format!("{key}.{field}");
            match field.as_str() {
                "stream" => stream = Some(from.value(key, value, Some(0..=u32::MAX))),
                "tag" => tag = Some(read_tag(from, key, value)),
                "from" => low = Some(from.value(key, value, None)),
                "to" => high = Some(from.value(key, value, None)),
                "handle" => handle = from.value(key, value, Some(0..=MAX_HANDLES - 1)),
                _ => from.unknown_field(key, field, FIELDS),
            }
        }
        if !table.contains_key("handle") {
            from.impossible(key, format!("incomplete: `{key}.handle` is not given"));
        }
        let of = match (stream, tag, low, high) {
            (Some(stream), None, None, None) => WritesOf::Stream(stream),
            (None, Some(tag), None, None) => WritesOf::Tag(tag),
            (None, None, Some(low), Some(high)) => WritesOf::Addresses(low, high),
            _ => {
                let why =
                    "impossible: a row names a stream, a tag, or addresses with `from` and `to`";
                from.impossible(key, why.to_owned());
                WritesOf::Stream(0)
            }
        };
        PlacementRule { of, handle }
    }
}

fn read_tag(from: &mut KeyReader, key: &str, value: &Value) -> Tag {
    let known = TAGS.iter().find(|row| value.as_str() == Some(row.0));
    match known {
        Some(&(_, tag)) => tag,
        None => {
            let expected = "one of the words data, node, meta, gc".to_owned();
            from.fault(key, Reason::Type { expected });
            Tag::None
        }
    }
}

impl KeyValue for HandlePlacement {
    const EXPECTED: &'static str = "off or a list of tables such as [{ stream = 1, handle = 1 }]";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let none = HandlePlacement(Vec::new());
        let Value::Array(items) = value else {
            return from.wrong_type(key, none);
        };
        if !(1..=MAX_RULES).contains(&items.len()) {
            let allowed = format!("1 to {MAX_RULES} rows");
            from.fault(key, Reason::Range { allowed });
            return none;
        }
        let mut rules = Vec::new();
        for (i, item) in items.iter().enumerate() {
            match item {
                Value::Table(table) => {
                    rules.push(PlacementRule::read(from, &format!("{key}.{i}"), table));
                }
                _ => return from.wrong_type(key, none),
            }
        }
        HandlePlacement(rules)
    }

    fn toml(&self) -> Option<String> {
        let rules: Vec<String> = self.0.iter().map(PlacementRule::to_string).collect();
        Some(format!("[{}]", rules.join(", ")))
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Tables(FIELDS)
    }
}

impl DeviceConfig {
    /// Handles: H.
    pub fn handles(&self) -> u32 {
        self.handles.unwrap_or(1)
    }

    /// Whether collected data stay apart by handle.
    pub fn isolation(&self) -> Isolation {
        self.isolation.unwrap_or(Isolation::Initial)
    }

    /// The handle of a write of a stream, with its tag and its first byte.
    pub fn handle_of(&self, stream: u32, tag: Tag, first_byte: u64) -> u8 {
        let Some(HandlePlacement(rules)) = &self.placement else {
            return (stream % self.handles()) as u8;
        };
        let fits = |rule: &&PlacementRule| match rule.of {
            WritesOf::Stream(of) => of == stream,
            WritesOf::Tag(of) => of == tag,
            WritesOf::Addresses(from, to) => (from.0..to.0).contains(&first_byte),
        };
        rules.iter().find(fits).map_or(0, |rule| rule.handle as u8)
    }

    /// Units that the host may have open at the same time.
    pub fn open_host_units(&self) -> u32 {
        match self.allocation {
            Allocation::Static => self.host_frontiers(),
            Allocation::Dynamic => self.handles(),
        }
    }

    /// Frontiers of the collector in a GC unit with one host frontier of each handle.
    pub fn collector_frontiers(&self) -> u32 {
        match self.isolation() {
            Isolation::Initial => 1,
            Isolation::Persistent => self.handles(),
        }
    }

    /// Blocks of such a GC unit that are open at the same time: F (S-0.8).
    pub(super) fn open_blocks(&self) -> u32 {
        let of_collector = match self.gc_streams {
            Some(GcStreams::Shared) => 0,
            _ => self.collector_frontiers(),
        };
        self.handles() + of_collector + u32::from(self.has_cached_mapping())
    }
}

/// Do the keys of handles and parity go together, and with the others?
pub(super) fn checks(no: &mut dyn FnMut(&str, String), c: &DeviceConfig) {
    if c.parity.unwrap_or(0) > 0 {
        needs_frontiers(no, c, "parity");
        if c.has_slc() {
            let why = "stripes across blocks of two modes are not simulated: leave out slc_blocks and slc_dynamic";
            no("parity", why.to_owned());
        }
    }
    if c.handles() > 1 {
        needs_frontiers(no, c, "handles");
    } else {
        let of_handles = [
            ("placement", c.placement.is_some()),
            ("isolation", c.isolation.is_some()),
        ];
        for (key, _) in of_handles.iter().filter(|key| key.1) {
            no(key, "it needs handles = 2 or more".to_owned());
        }
    }
    let rules = c.placement.iter().flat_map(|placement| placement.rules());
    for (i, rule) in rules.enumerate() {
        if rule.handle >= c.handles() {
            let why = format!(
                "there are {} handles, counted from 0, and `placement.{i}` names handle {}",
                c.handles(),
                rule.handle
            );
            no("placement", why);
        }
        if let WritesOf::Addresses(from, to) = rule.of
            && from >= to
        {
            no(
                "placement",
                format!("`placement.{i}` has no addresses: from = {from}, to = {to}"),
            );
        }
    }
}
