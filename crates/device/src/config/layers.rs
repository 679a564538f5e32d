//! Layers of values, where each effective value comes from, and loading.

use super::error::{DeviceFault, Reason};
use super::keys::{self, DeviceConfig, KEYS, position};
use super::lines::key_lines;
use super::presets::{self, DEFAULT_PRESET, Preset, preset_names};
use super::reader::{KeyReader, ValueType};
use super::written::toml_comment;
use super::{ConfigError, checks, nearest_known};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use toml::{Table, Value};

/// A comment in a printed device, for the key that devices with a cache in DRAM leave out.
const NO_REGION: &str = "\
# cache_region: none, the cache is in DRAM; into flash puts it a table such as
# { size = \"1GiB\", t_read = \"20us\", t_program = \"200us\", evict_read = true }
";

/// The largest device file that is read; those that come along have 6 KiB.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// The layer that gave a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The built-in `default` preset.
    BuiltIn,
    /// A preset.
    Preset(String),
    /// A device file, by its path as given.
    File(String),
    /// `--set`.
    Set,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built-in"),
            Origin::Preset(name) => write!(f, "preset {name}"),
            Origin::File(path) => write!(f, "file {path}"),
            Origin::Set => f.write_str("--set"),
        }
    }
}

impl Origin {
    /// Does `other` win over this layer?
    fn is_below(&self, other: &Origin) -> bool {
        let rank = |origin: &Origin| match origin {
            Origin::BuiltIn => 0,
            Origin::Preset(_) => 1,
            Origin::File(_) => 2,
            Origin::Set => 3,
        };
        rank(self) < rank(other)
    }
}

/// One effective value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectiveValue {
    /// The key.
    pub key: &'static str,
    /// The value as TOML, with its unit.
    pub value: String,
    /// The layer that gave it.
    pub origin: Origin,
}

/// A device with the origin of every value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectiveDevice {
    config: DeviceConfig,
    settings: Vec<EffectiveValue>,
    notices: Vec<String>,
}

/// The value of one key in the highest layer that gives it.
pub(super) struct LayerValue {
    pub value: Value,
    pub origin: Origin,
}

/// The values of all keys after layering, and what was wrong on the way.
pub(super) struct Layers {
    pub values: Vec<Option<LayerValue>>,
    pub faults: Vec<DeviceFault>,
    /// Lines of the keys of the device file.
    lines: BTreeMap<String, usize>,
}

impl Layers {
    pub(super) fn new() -> Layers {
        let mut layers = Layers {
            values: KEYS.iter().map(|_| None).collect(),
            faults: Vec::new(),
            lines: BTreeMap::new(),
        };
        let preset = presets::find(DEFAULT_PRESET).expect("the default preset is built in");
        layers.preset(preset, Origin::BuiltIn);
        layers
    }

    fn preset(&mut self, preset: &Preset, origin: Origin) {
        let table: Table = preset.text.parse().expect("presets are valid TOML");
        self.table(table, origin);
    }

    pub(super) fn named_preset(&mut self, preset: &Preset) {
        if let Some(base) = preset.base() {
            self.named_preset(base);
        }
        if preset.name != DEFAULT_PRESET {
            self.preset(preset, Origin::Preset(preset.name.to_owned()));
        }
    }

    fn table(&mut self, table: Table, origin: Origin) {
        for (key, value) in table {
            self.put(&key, value, origin.clone());
        }
    }

    fn put(&mut self, key: &str, value: Value, origin: Origin) {
        let reason = match key {
            "raw" => Reason::NotHere("derived: the product of the counts; change those"),
            "base" if origin == Origin::Set => {
                Reason::NotHere("only a device file has a base; name the preset as the device")
            }
            _ => match self.values.get_mut(position(key)) {
                Some(entry) => {
                    *entry = Some(LayerValue { value, origin });
                    return;
                }
                None => Reason::UnknownKey {
                    nearest: nearest_known(key, KEYS.iter().map(|key| key.name)),
                },
            },
        };
        self.fault(key, &value, origin, reason);
    }

    fn fault(&mut self, key: &str, value: &Value, origin: Origin, reason: Reason) {
        let (key, value) = (key.to_owned(), value.to_string());
        self.faults.push(DeviceFault {
            key,
            value,
            origin: Some(origin),
            line: None,
            reason,
        });
    }

    /// The base preset of a device file goes below the file.
    fn base(&mut self, table: &Table, origin: &Origin) {
        let Some(base) = table.get("base") else {
            return;
        };
        let reason = match base.as_str().map(|name| (name, presets::find(name))) {
            Some((_, Some(preset))) => return self.named_preset(preset),
            Some((name, None)) => Reason::Word {
                nearest: presets::nearest_preset(name),
                allowed: preset_names().collect::<Vec<_>>().join(", "),
            },
            None => Reason::Type {
                expected: "the name of a preset".to_owned(),
            },
        };
        self.fault("base", base, origin.clone(), reason);
    }

    fn file(&mut self, path: &str, text: &str) -> Result<(), ConfigError> {
        let mut table: Table = text.parse().map_err(|error| syntax(path, text, &error))?;
        self.lines = key_lines(text);
        let origin = Origin::File(path.to_owned());
        self.base(&table, &origin);
        if !table.contains_key("name") {
            let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
            let stem = file.strip_suffix(".toml").unwrap_or(file);
            table.insert("name".to_owned(), Value::String(stem.to_owned()));
        }
        self.table(table, origin);
        Ok(())
    }

    pub(super) fn set(&mut self, text: &str) {
        let Some((key, value)) = text.split_once('=') else {
            let value = Value::String(text.to_owned());
            return self.fault(text, &value, Origin::Set, Reason::NotASetting);
        };
        let (key, value) = (key.trim(), bare_value(value.trim()));
        let is_table = |key: &str| {
            let known = KEYS.iter().find(|known| known.name == key);
            known.is_some_and(|key| matches!(key.value_type(), ValueType::Table(_)))
        };
        let field = key.split_once('.').filter(|(key, _)| is_table(key));
        let Some((key, field)) = field else {
            return self.put(key, value, Origin::Set);
        };
        // One field of the table: the others stay what the lower layers say.
        let below = self.values[position(key)].as_ref();
        let mut table = match below.map(|entry| &entry.value) {
            Some(Value::Table(table)) => table.clone(),
            Some(Value::String(word)) if word == "trace" => {
                Table::from_iter([("trace".to_owned(), Value::Boolean(true))])
            }
            _ => Table::new(),
        };
        table.insert(field.to_owned(), value);
        self.put(key, Value::Table(table), Origin::Set);
    }

    /// Drops what a lower layer says of a bounded buffer where a higher one chose another buffer, so that
    /// `--set buffer=on_demand` works over any preset.
    fn drop_keys_of_bounded_buffer(&mut self) {
        let Some(buffer) = &self.values[position("buffer")] else {
            return;
        };
        let origin = buffer.origin.clone();
        if buffer.value.as_str() == Some("bounded") {
            return;
        }
        for key in ["rewrite", "frame_release"] {
            let entry = &mut self.values[position(key)];
            entry.take_if(|below| below.origin.is_below(&origin));
        }
    }

    fn finish(mut self, device: &str) -> Result<EffectiveDevice, ConfigError> {
        self.drop_keys_of_bounded_buffer();
        let mut reader = KeyReader::new(&mut self);
        let (config, geometry) = keys::read(&mut reader);
        checks::together(&mut reader, &config, geometry);
        let top = |fault: &DeviceFault| position(fault.key.split('.').next().unwrap_or_default());
        self.faults.sort_by_key(top);
        let of_file = |fault: &&mut DeviceFault| matches!(fault.origin, Some(Origin::File(_)));
        for fault in self.faults.iter_mut().filter(of_file) {
            let outer = fault.key.split('.').next().unwrap_or_default();
            let line = self.lines.get(&fault.key);
            fault.line = line.or_else(|| self.lines.get(outer)).copied();
        }
        if !self.faults.is_empty() {
            return Err(ConfigError::Faults {
                device: device.to_owned(),
                faults: self.faults,
            });
        }
        Ok(EffectiveDevice {
            settings: effective(&config, &self.values),
            notices: checks::notices(&config),
            config,
        })
    }
}

/// Settings whose key was given before: the same key, the same field of a table, or a whole table after one of its
/// fields. A field may follow its table, because it changes only a part of it.
pub fn given_twice(sets: &[String]) -> Vec<&String> {
    let key = |set: &String| key_and_value(set).0.to_owned();
    let is_again = |i: usize| {
        let own = key(&sets[i]);
        let of_own = format!("{own}.");
        let before = sets[..i].iter().map(key);
        before
            .into_iter()
            .any(|other| other == own || other.starts_with(&of_own))
    };
    let again = (0..sets.len()).filter(|&i| is_again(i));
    again.map(|i| &sets[i]).collect()
}

fn key_and_value(set: &str) -> (&str, &str) {
    let (key, value) = set.split_once('=').unwrap_or((set, ""));
    (key.trim(), value.trim())
}

/// A value of `--set`: TOML where it is TOML, else a word or a number with its unit.
fn bare_value(text: &str) -> Value {
    let table = format!("value = {text}").parse::<Table>();
    match table.map(|mut table| (table.len(), table.remove("value"))) {
        Ok((1, Some(value))) => value,
        _ => Value::String(text.to_owned()),
    }
}

fn syntax(path: &str, text: &str, error: &toml::de::Error) -> ConfigError {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    ConfigError::Syntax {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        reason: error.message().to_owned(),
    }
}

/// Every key that has a value in `config`, and the layer that gave it.
fn effective(config: &DeviceConfig, given: &[Option<LayerValue>]) -> Vec<EffectiveValue> {
    let layer = |name: &str| given.get(position(name)).and_then(Option::as_ref);
    let shown = KEYS.iter().filter_map(|key| Some((key, key.show(config)?)));
    shown
        .map(|(key, value)| {
            let from = layer(key.name).or_else(|| layer(key.fallback?));
            let from = from.expect("a value is given for its key or for the one it falls back on");
            EffectiveValue {
                key: key.name,
                value,
                origin: from.origin.clone(),
            }
        })
        .collect()
}

impl EffectiveDevice {
    /// The preset `name` with the settings of `--set` (`key=value`) on top.
    ///
    /// # Errors
    /// An unknown preset; every wrong setting.
    pub fn from_preset(name: &str, sets: &[String]) -> Result<EffectiveDevice, ConfigError> {
        let Some(preset) = presets::find(name) else {
            return Err(ConfigError::UnknownPreset {
                name: name.to_owned(),
                nearest: presets::nearest_preset(name),
                known: preset_names().collect::<Vec<_>>().join(", "),
            });
        };
        let mut layers = Layers::new();
        layers.named_preset(preset);
        sets.iter().for_each(|set| layers.set(set));
        layers.finish(name)
    }

    /// The device file `text`, called `path` in messages, with `--set` on top. Without a `name`
    /// the device is called as the file.
    ///
    /// # Errors
    /// Text that is not TOML; every wrong value.
    pub fn from_text(
        path: &str,
        text: &str,
        sets: &[String],
    ) -> Result<EffectiveDevice, ConfigError> {
        let mut layers = Layers::new();
        layers.file(path, text)?;
        sets.iter().for_each(|set| layers.set(set));
        layers.finish(path)
    }

    /// Loads the device that `--device` names: a path (it ends in `.toml` or has a separator),
    /// which `open` opens, or a preset.
    ///
    /// # Errors
    /// As [`EffectiveDevice::from_preset`] and [`EffectiveDevice::from_text`]; a file that cannot
    /// be read, or is larger than [`MAX_FILE_BYTES`].
    pub fn load<R: Read>(
        device: &str,
        sets: &[String],
        open: impl FnOnce(&str) -> io::Result<R>,
    ) -> Result<EffectiveDevice, ConfigError> {
        let again = given_twice(sets);
        if !again.is_empty() {
            let fault = |set: &&String| DeviceFault {
                key: key_and_value(set).0.to_owned(),
                value: key_and_value(set).1.to_owned(),
                origin: Some(Origin::Set),
                line: None,
                reason: Reason::Twice,
            };
            return Err(ConfigError::Faults {
                device: device.to_owned(),
                faults: again.iter().map(fault).collect(),
            });
        }
        if !device.ends_with(".toml") && !device.contains(['/', '\\']) {
            return EffectiveDevice::from_preset(device, sets);
        }
        let text = open(device).and_then(|file| {
            let mut text = String::new();
            // Only a regular file has a known length; others may never end.
            file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
            Ok(text)
        });
        let text = text.map_err(|error| ConfigError::Unreadable {
            path: device.to_owned(),
            reason: error.to_string(),
        })?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(ConfigError::TooLarge {
                path: device.to_owned(),
            });
        }
        EffectiveDevice::from_text(device, &text, sets)
    }

    /// The values.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// The values, without their origins.
    pub fn into_config(self) -> DeviceConfig {
        self.config
    }

    /// Every key with its effective value and origin, in the order of the preset tables.
    pub fn settings(&self) -> &[EffectiveValue] {
        &self.settings
    }

    /// Differences from the values that the device asks for, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The device as a file: every effective value with its unit, its layer and its source.
    pub fn toml_text(&self) -> String {
        let mut text: String = self
            .notices
            .iter()
            .map(|notice| format!("# note: {}\n", toml_comment(notice)))
            .collect();
        for EffectiveValue { key, value, origin } in &self.settings {
            let preset = match origin {
                Origin::BuiltIn => presets::find(DEFAULT_PRESET),
                Origin::Preset(name) => presets::find(name),
                _ => None,
            };
            let source = preset.and_then(|preset| preset.source(key));
            let line = format!("{key} = {value}");
            let source = source
                .map(|source| format!(": {source}"))
                .unwrap_or_default();
            let origin = toml_comment(&origin.to_string());
            text.push_str(&format!("{line:<62} # {origin}{source}\n"));
        }
        if self.config.cache_region.is_none() {
            text.push_str(NO_REGION);
        }
        text
    }
}
