//! Pauses of the programs of the host.

use super::PauseWhileWritesWait;
use super::reader::{Allowed, KeyReader, KeyValue, TableField, ValueType};
use destage_types::Picos;
use std::fmt;
use toml::Value;

/// After so many mapping units, programs of the host wait for so long. It stands for work of the firmware that comes
/// in rounds and is not simulated one by one: collection of many blocks together, or a write of the mapping table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramPause {
    /// Places of the host's queued programs from one pause to the next.
    pub every: u32,
    /// How long programs that have not started wait.
    pub time: Picos,
    /// Effect of writes that wait for a frame on a pause that is due.
    pub while_writes_wait: PauseWhileWritesWait,
}

/// The field that may be left out.
const WHILE_WRITES_WAIT: &str = "while_writes_wait";

const FIELDS: &[TableField] = &[
    TableField {
        name: "every",
        about: "mapping units that the host programs from one pause to the next",
    },
    TableField {
        name: "time",
        about: "how long programs of the host wait, those that run go on",
    },
    TableField {
        name: WHILE_WRITES_WAIT,
        about: "`begin`, or `put_off`: a pause that is due begins with the next unit that is queued while no write waits for a frame; `begin` if not given",
    },
];

impl fmt::Display for ProgramPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{ every = {}, time = \"{}\"", self.every, self.time)?;
        match self.while_writes_wait {
            PauseWhileWritesWait::Begin => f.write_str(" }"),
            other => write!(f, ", {WHILE_WRITES_WAIT} = \"{other}\" }}"),
        }
    }
}

impl KeyValue for ProgramPause {
    const EXPECTED: &'static str = "off or a table such as { every = 4000, time = \"10ms\" }";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let mut pause = ProgramPause {
            every: 1,
            time: Picos(0),
            while_writes_wait: PauseWhileWritesWait::Begin,
        };
        let Value::Table(table) = value else {
            return from.wrong_type(key, pause);
        };
        for (field, value) in table {
            let key = &format!("{key}.{field}");
            match field.as_str() {
                "every" => pause.every = from.value(key, value, Some(1..=1 << 30)),
                "time" => pause.time = from.value(key, value, None),
                WHILE_WRITES_WAIT => pause.while_writes_wait = from.value(key, value, None),
                _ => from.unknown_field(key, field, FIELDS),
            }
        }
        let missing = FIELDS
            .iter()
            .filter(|field| field.name != WHILE_WRITES_WAIT && !table.contains_key(field.name));
        for field in missing.map(|field| field.name) {
            from.impossible(key, format!("incomplete: `{key}.{field}` is not given"));
        }
        pause
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Table(FIELDS)
    }
}
