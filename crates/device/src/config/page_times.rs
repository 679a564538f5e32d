//! Read and program times by the page of a word line.

use super::error::Reason;
use super::reader::{Allowed, KeyReader, KeyValue, ValueType};
use destage_types::{Nanos, Picos};
use std::fmt;
use toml::Value;

/// Most bits of a cell: those of PLC.
const MOST_TYPES: usize = 5;

/// Array times of reads or programs: one for all pages (SLC), or one for each page of a word line, LSB first
/// (MLC: LSB and MSB; TLC: LSB, CSB and MSB; up to 5). There are as many as a cell has bits. Page `i` of
/// a block is of type `i` modulo that number (NF-2): the pages of a word line follow one another, and
/// a block may end in the middle of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageTimes(Vec<Picos>);

impl PageTimes {
    /// Times of the pages of a word line in ns, one or more.
    pub fn of_types(&self) -> Vec<Nanos> {
        self.0.iter().map(|time| time.times(1)).collect()
    }

    /// Mean over the pages of a word line, rounded up to ns: what stands for a page of which no more is
    /// known.
    pub fn mean(&self) -> Nanos {
        let all = self.of_types();
        let sum: u64 = all.iter().map(|time| time.0).sum();
        Nanos(sum.div_ceil(all.len() as u64))
    }

    /// Do pages of a block differ?
    pub fn differ(&self) -> bool {
        self.0.len() > 1
    }
}

impl From<Picos> for PageTimes {
    fn from(time: Picos) -> PageTimes {
        PageTimes(vec![time])
    }
}

impl fmt::Display for PageTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times: Vec<String> = self.0.iter().map(|time| format!("\"{time}\"")).collect();
        match times.as_slice() {
            [one] => f.write_str(one),
            many => write!(f, "[{}]", many.join(", ")),
        }
    }
}

impl KeyValue for PageTimes {
    const EXPECTED: &'static str =
        "a time such as \"25us\", or up to 5 by page of a word line such as [\"500us\", \"2ms\"]";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let items: Vec<Value> = match value {
            Value::Array(items) => items.clone(),
            Value::String(text) if text.contains(',') => {
                let inner = text.trim_start_matches('[').trim_end_matches(']');
                let items = inner.split(',').map(|item| item.trim().to_owned());
                items.map(Value::String).collect()
            }
            one => vec![one.clone()],
        };
        if !(1..=MOST_TYPES).contains(&items.len()) {
            let allowed = format!("1 to {MOST_TYPES} times");
            from.fault(key, Reason::Range { allowed });
            return Picos::default().into();
        }
        let is_time =
            |item: &Value| matches!(item, Value::String(_) | Value::Integer(_) | Value::Float(_));
        if !items.iter().all(is_time) {
            return from.wrong_type(key, Picos::default().into());
        }
        let times = items.iter().map(|item| from.value(key, item, None));
        PageTimes(times.collect())
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Times
    }
}
