//! Every rule between keys, on devices that presets and random settings make: each fault names its key, given or not.

use super::super::error::Reason;
use super::super::keys::{self, KEYS};
use super::super::layers::Layers;
use super::super::reader::KeyReader;
use super::super::{checks, presets};
use super::*;
use destage_types::rng::SplitMix64;
use std::collections::BTreeSet;

fn pick<'a>(random: &mut SplitMix64, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

/// Fields of the table that a key takes.
fn table(random: &mut SplitMix64, fields: &[TableField]) -> String {
    let mut text = Vec::new();
    for field in fields {
        if random.below(5) == 0 {
            continue;
        }
        let value = match field.name {
            "trace" | "evict_read" => pick(random, &["true", "false"]),
            "fill" | "share" => pick(random, &["0", "0.5", "1", "2"]),
            "overwrite" => pick(random, &["0", "2", "\"until_gc\""]),
            "every" => pick(random, &["0", "1", "4000"]),
            "while_writes_wait" => pick(random, &["\"begin\"", "\"put_off\""]),
            "tag" => pick(random, &["\"node\"", "\"gc\"", "\"x\""]),
            "stream" | "handle" => pick(random, &["0", "1", "7", "128"]),
            "from" | "to" => pick(random, &["\"0B\"", "\"1MiB\"", "\"2GiB\""]),
            _ => pick(random, &["\"16MiB\"", "\"20us\"", "\"1GB/s\"", "0"]),
        };
        text.push(format!("{} = {value}", field.name));
    }
    format!("{{ {} }}", text.join(", "))
}

/// A random setting of a key, mostly of its type and often at the end of its range.
fn setting(random: &mut SplitMix64, key: &DeviceKey) -> String {
    let value = match key.value_type() {
        _ if random.below(12) == 0 => {
            pick(random, &["off", "true", "-1", "[]", "{}", "x"]).to_owned()
        }
        ValueType::Text => "text".to_owned(),
        ValueType::Integer(range) => {
            let (low, high) = (u64::from(*range.start()), u64::from(*range.end()));
            let near = [low, low + random.below(4), low + random.below(70), high];
            near[random.below(4) as usize].min(high).to_string()
        }
        ValueType::PageSize => (256_u64 << random.below(9)).to_string(),
        ValueType::Ratio(_) => pick(random, &["0", "0.07", "0.5", "0.999", "1"]).to_owned(),
        ValueType::Time => pick(random, &["0ns", "7us", "3ms"]).to_owned(),
        ValueType::Times => pick(random, &["0ns", "200us", "1us,2us,3us"]).to_owned(),
        ValueType::Energy => pick(random, &["0pJ", "2uJ"]).to_owned(),
        ValueType::Size => pick(random, &["0", "32KiB", "4GiB"]).to_owned(),
        ValueType::Flag => pick(random, &["true", "false"]).to_owned(),
        ValueType::Words(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            pick(random, &words).to_owned()
        }
        ValueType::Axes => pick(random, &["plane,die,chip,channel", "die"]).to_owned(),
        ValueType::Table(fields) => table(random, fields),
        ValueType::IntegerOr(range, word) => match random.below(3) {
            0 => word.to_owned(),
            _ => random.below(u64::from(*range.end()).min(9)).to_string(),
        },
        ValueType::Tables(fields) => format!("[{}]", table(random, fields)),
    };
    format!("{}={value}", key.name)
}

/// Settings of a random device over a random preset.
fn draw(random: &mut SplitMix64) -> (&'static str, Vec<String>) {
    let names: Vec<&str> = preset_names().collect();
    let most = 1 + random.below(20);
    let count = 1 + random.below(most);
    let keys = (0..count).map(|_| &KEYS[random.below(KEYS.len() as u64) as usize]);
    let keys: Vec<&DeviceKey> = keys.collect();
    let sets = keys.into_iter().map(|key| setting(random, key)).collect();
    (pick(random, &names), sets)
}

#[test]
fn every_rule_is_an_error_with_its_key() {
    let mut blamed = BTreeSet::new();
    for seed in 0..4_000 {
        let (name, sets) = draw(&mut SplitMix64::new(seed));
        match EffectiveDevice::from_preset(name, &sets) {
            Ok(device) => assert!(!device.toml_text().is_empty()),
            Err(ConfigError::Faults { faults, .. }) => {
                for fault in faults {
                    let text = fault.to_string();
                    assert!(text.starts_with(&format!("`{}`", fault.key)), "{text}");
                    let top = fault.key.split('.').next().unwrap_or_default();
                    assert!(KEYS.iter().any(|key| key.name == top), "{text}");
                    if matches!(fault.reason, Reason::Impossible(_)) {
                        blamed.insert(top.to_owned());
                    }
                }
            }
            Err(other) => panic!("{seed}: {sets:?}: {other}"),
        }
    }
    // The keys that rules between keys blame. All are drawn.
    assert!(blamed.len() > 25, "{blamed:?}");
}

/// Each rule once more with a key that no layer gives: it says so, and nothing fails.
#[test]
fn a_key_that_nobody_gave_can_be_blamed() {
    let mut absent = 0;
    for seed in 0..1_000 {
        let mut random = SplitMix64::new(seed);
        let (name, sets) = draw(&mut random);
        let mut layers = Layers::new();
        let preset = presets::find(name).expect("a preset");
        layers.named_preset(preset);
        sets.iter().for_each(|set| layers.set(set));
        let mut reader = KeyReader::new(&mut layers);
        let (config, geometry) = keys::read(&mut reader);
        // The rules see values that nobody gave.
        layers.values.iter_mut().for_each(|value| *value = None);
        layers.faults.clear();
        let mut reader = KeyReader::new(&mut layers);
        checks::together(&mut reader, &config, geometry);
        for fault in &layers.faults {
            let text = fault.to_string();
            assert!(
                text.starts_with(&format!("`{}` (not given): ", fault.key)),
                "{text}"
            );
            absent += 1;
        }
    }
    assert!(absent > 300, "{absent}");
}
