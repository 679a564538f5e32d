//! Admission of writes, paced by what they cost (D-17).

use super::DeviceConfig;
use super::reader::{Allowed, KeyReader, KeyValue, TableField, ValueType};
use destage_types::Picos;
use toml::Value;

/// How fast writes are let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritePace {
    /// So many mapping units a second.
    Rate(u32),
    /// As fast as the drive can pay for them.
    Cost(WriteCost),
}

/// What a mapping unit costs that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteCost {
    /// In any case; the time on the link if not given.
    host: Option<Picos>,
    /// For each mapping unit that collection moves for it.
    moved: Picos,
    /// At most.
    most: Option<Picos>,
    /// Blocks of a GC unit over whose host units the debt of collection is averaged.
    window: u32,
}

/// Prices of writes in ns (D-17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WritePrice {
    /// Of a mapping unit of the host: a.
    pub host: u64,
    /// Of a mapping unit that is moved: g.
    pub moved: u64,
    /// Most of a mapping unit of the host: c.
    pub most: Option<u64>,
    /// Blocks of a GC unit over whose host units the debt is averaged: n.
    pub window: u32,
    /// Mapping units that are let in at once: b.
    pub burst: u32,
}

impl WritePrice {
    /// Price of so many mapping units while collection moves `debt / 65536` for each of the host.
    pub fn of(&self, units: u64, debt: u64) -> u64 {
        let each = (u128::from(self.host) << 16) + u128::from(self.moved) * u128::from(debt);
        let price = (u128::from(units) * each).div_ceil(1 << 16);
        let most = self
            .most
            .map_or(u64::MAX, |most| units.saturating_mul(most));
        u64::try_from(price).unwrap_or(u64::MAX).min(most)
    }
}

/// Blocks of [`WritePrice::window`] and units of [`WritePrice::burst`] if they are not given.
const USUAL_WINDOW: u32 = 8;
const USUAL_BURST: u32 = 4;

impl DeviceConfig {
    /// The prices of writes, if they are paced.
    pub fn write_price(&self) -> Option<WritePrice> {
        let burst = self.write_pace_burst.unwrap_or(USUAL_BURST);
        let ns = |time: Picos| time.times(1).0;
        Some(match self.write_pace? {
            WritePace::Rate(rate) => WritePrice {
                host: 1_000_000_000_u64.div_ceil(rate.into()),
                moved: 0,
                most: None,
                window: USUAL_WINDOW,
                burst,
            },
            WritePace::Cost(cost) => {
                let bytes = self.mapping().bytes() * 1_000_000_000;
                let link = self.host_link.write();
                WritePrice {
                    host: cost
                        .host
                        .map_or_else(|| link.map_or(0, |rate| bytes.div_ceil(rate)), ns),
                    moved: ns(cost.moved),
                    most: cost.most.map(ns),
                    window: cost.window,
                    burst,
                }
            }
        })
    }
}

/// Are there prices that let a drive go on?
pub(super) fn checks(read: &mut KeyReader, c: &DeviceConfig) {
    let Some(price) = c.write_price() else { return };
    if read.faults() == 0 && price.host == 0 && price.moved == 0 {
        let why = "impossible: writes cost nothing (give host or moved, a rate of writes in host_link, or write_pace = off)";
        read.impossible("write_pace", why.to_owned());
    }
    if let Some(most) = price.most.filter(|&most| most < price.host) {
        let why = format!(
            "impossible: most = {most}ns is less than what a mapping unit of the host takes, {}ns",
            price.host
        );
        read.impossible("write_pace", why);
    }
}

const FIELDS: &[TableField] = &[
    TableField {
        name: "host",
        about: "time that a mapping unit takes which the host writes; its time on the link if not given",
    },
    TableField {
        name: "moved",
        about: "time for each mapping unit that collection moves for it, averaged; 0 if not given",
    },
    TableField {
        name: "most",
        about: "longest time of a mapping unit; `off` if not given",
    },
    TableField {
        name: "window",
        about: "blocks of a GC unit over whose host units that is averaged; 8 if not given",
    },
];

impl WriteCost {
    /// A time in whole ns.
    fn time(from: &mut KeyReader, key: &str, value: &Value) -> Picos {
        let time: Picos = from.value(key, value, None);
        if !time.0.is_multiple_of(1000) {
            from.impossible(key, format!("impossible: {time} is no whole number of ns"));
        }
        time
    }
}

impl KeyValue for WritePace {
    const EXPECTED: &'static str =
        "off, mapping units a second, or a table such as { host = \"2700ns\", moved = \"3us\" }";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let mut cost = WriteCost {
            host: None,
            moved: Picos(0),
            most: None,
            window: USUAL_WINDOW,
        };
        let table = match value {
            Value::Integer(_) => return WritePace::Rate(from.value(key, value, None)),
            Value::Table(table) => table,
            _ => return from.wrong_type(key, WritePace::Cost(cost)),
        };
        for (field, value) in table {
            let key = &format!("{key}.{field}");
            match field.as_str() {
                "host" => cost.host = Some(WriteCost::time(from, key, value)),
                "moved" => cost.moved = WriteCost::time(from, key, value),
                "most" if value.as_str() == Some("off") => cost.most = None,
                "most" => cost.most = Some(WriteCost::time(from, key, value)),
                "window" => cost.window = from.value(key, value, Some(1..=1 << 16)),
                _ => from.unknown_field(key, field, FIELDS),
            }
        }
        WritePace::Cost(cost)
    }

    fn toml(&self) -> Option<String> {
        let cost = match self {
            WritePace::Rate(rate) => return Some(rate.to_string()),
            WritePace::Cost(cost) => cost,
        };
        let time =
            |name: &str, time: Option<Picos>| time.map(|time| format!("{name} = \"{time}\""));
        let fields = [
            time("host", cost.host),
            time("moved", Some(cost.moved)),
            time("most", cost.most),
            Some(format!("window = {}", cost.window)),
        ];
        let fields: Vec<String> = fields.into_iter().flatten().collect();
        Some(format!("{{ {} }}", fields.join(", ")))
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Table(FIELDS)
    }
}

#[cfg(test)]
mod tests {
    use super::WritePrice;

    /// D-17, example 2.
    #[test]
    fn prices_follow_the_debt() {
        let price = WritePrice {
            host: 2_000,
            moved: 3_000,
            most: None,
            window: 8,
            burst: 4,
        };
        let debts = [32_768, 49_152, 57_344, 77_824, 1_087_488, 543_744];
        let of_one = debts.map(|debt| price.of(1, debt));
        assert_eq!(of_one, [3_500, 4_250, 4_625, 5_563, 51_782, 26_891]);
        let price = WritePrice {
            most: Some(4_000),
            ..price
        };
        assert_eq!(price.of(32, 57_344), 128_000);
        assert_eq!(price.of(3, 0), 6_000);
    }
}
