//! Reads that are repeated with other voltages (D-15).

use super::Ratio;
use super::error::Reason;
use super::reader::{Allowed, KeyReader, KeyValue, TableField, ValueType};
use destage_types::Picos;
use toml::{Table, Value};

/// Most steps of a device.
const MOST_STEPS: usize = 16;

/// A step of reading again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryStep {
    /// Share of the reads of the step before that come to this one.
    pub share: Ratio,
    /// Added to the array time.
    pub time: Picos,
}

/// Steps of reading again, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadRetry(Vec<RetryStep>);

impl ReadRetry {
    /// The steps, one or more.
    pub fn steps(&self) -> &[RetryStep] {
        &self.0
    }
}

const FIELDS: &[TableField] = &[
    TableField {
        name: "share",
        about: "share of the reads of the step before that come to this one, 0 to 1",
    },
    TableField {
        name: "time",
        about: "added to the array time",
    },
];

impl RetryStep {
    fn read(from: &mut KeyReader, key: &str, table: &Table) -> RetryStep {
        let mut step = RetryStep {
            share: Ratio::ZERO,
            time: Picos(0),
        };
        for (field, value) in table {
            let key = &format!("{key}.{field}");
            match field.as_str() {
                "share" => step.share = from.value(key, value, None),
                "time" => step.time = from.value(key, value, None),
                _ => from.unknown_field(key, field, FIELDS),
            }
        }
        let missing = FIELDS
            .iter()
            .filter(|field| !table.contains_key(field.name));
        for field in missing.map(|field| field.name) {
            from.impossible(key, format!("incomplete: `{key}.{field}` is not given"));
        }
        step
    }
}

impl KeyValue for ReadRetry {
    const EXPECTED: &'static str =
        "off or a list of tables such as [{ share = 0.1, time = \"50us\" }]";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let none = ReadRetry(Vec::new());
        let Value::Array(items) = value else {
            return from.wrong_type(key, none);
        };
        if !(1..=MOST_STEPS).contains(&items.len()) {
            let allowed = format!("1 to {MOST_STEPS} steps");
            from.fault(key, Reason::Range { allowed });
            return none;
        }
        let mut steps = Vec::new();
        for (i, item) in items.iter().enumerate() {
            match item {
                Value::Table(table) => {
                    steps.push(RetryStep::read(from, &format!("{key}.{i}"), table));
                }
                _ => return from.wrong_type(key, none),
            }
        }
        ReadRetry(steps)
    }

    fn toml(&self) -> Option<String> {
        let step =
            |step: &RetryStep| format!("{{ share = {}, time = \"{}\" }}", step.share, step.time);
        let steps: Vec<String> = self.0.iter().map(step).collect();
        Some(format!("[{}]", steps.join(", ")))
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Tables(FIELDS)
    }
}
