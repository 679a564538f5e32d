//! `docs/DEVICES.md`: the keys of a device, from their declarations and the `default` preset.

use destage_device::config::{
    DEFAULT_PRESET, DeviceKey, EffectiveDevice, TableField, ValueType, keys, presets,
};

/// The introduction and the head of the table.
const HEAD: &str = "\
A device is a preset or a TOML file of the keys below. The file needs only the keys that differ from its base:

```toml
base = \"req-block-128g\"
t_read = \"75us\"
precondition = { trace = true, fill = 0.9, overwrite = \"until_gc\" }
```

Later layers win: the preset `default`, the preset named by `base`, the file, `--set KEY=VALUE`. Sizes, times and
energies are texts with a unit. `--set precondition.fill=0.9` sets one field of a table. `destage presets FILE.toml`
prints every value with its origin. destage reports all errors of a file together, each with key, value, origin and
allowed values. [DEVICE_MODEL.md](DEVICE_MODEL.md) has the rules, and [NOT_MODELLED.md](NOT_MODELLED.md) says what no key can do.

| key | meaning | values | default | reason |
|--|--|--|--|--|
";

/// The page.
pub fn text() -> String {
    let mut text = format!("# Devices\n\n{}{HEAD}", super::GENERATED);
    let default = EffectiveDevice::from_preset(DEFAULT_PRESET, &[]).expect("a preset is valid");
    for key in keys() {
        let (value, why) = default_of(key, &default);
        let (name, meaning, values) = (key.name, key.meaning, values(&key.value_type()));
        text += &format!("| `{name}` | {meaning} | {values} | {value} | {why} |\n");
    }
    text += "\n## Presets\n\n| preset | description |\n|--|--|\n";
    for preset in presets() {
        let (name, about) = (preset.name, preset.about());
        text += &format!("| `{name}` | {about} |\n");
    }
    text
}

/// The default value of a key and its reason.
fn default_of(key: &DeviceKey, device: &EffectiveDevice) -> (String, &'static str) {
    let presets = presets();
    if let Some(why) = presets.first().and_then(|preset| preset.source(key.name)) {
        let value = key.show(device.config()).unwrap_or_default();
        return (format!("`{value}`"), why);
    }
    match key.fallback {
        Some("None") => ("none".to_owned(), ""),
        Some(other) => (format!("that of `{other}`"), ""),
        None => (format!("`\"{DEFAULT_PRESET}\"`"), ""),
    }
}

/// The allowed values of a type, with their unit.
fn values(kind: &ValueType) -> String {
    let listed = |words: &[(&str, &str)]| {
        let lines = words
            .iter()
            .map(|(word, meaning)| format!("`{word}`: {meaning}"));
        lines.collect::<Vec<_>>().join("<br>")
    };
    let listed_fields = |fields: &[TableField]| {
        let fields = fields.iter().map(|field| (field.name, field.about));
        listed(&fields.collect::<Vec<_>>())
    };
    match kind {
        ValueType::Text => "text".to_owned(),
        ValueType::Integer(range) => format!("{} to {}", range.start(), range.end()),
        ValueType::IntegerOr(range, word) => {
            format!("{} to {}, or `{word}`", range.start(), range.end())
        }
        ValueType::PageSize => "bytes, a power of two, 512 to 65536".to_owned(),
        ValueType::Ratio(range) => format!("a number, {} to {}", range.start(), range.end()),
        ValueType::Time => "time in ps, ns, us, ms or s".to_owned(),
        ValueType::Times => "time in ps, ns, us, ms or s, or a list of up to 5".to_owned(),
        ValueType::Energy => "energy in pJ, nJ, uJ or mJ".to_owned(),
        ValueType::Size => "size in B, KiB, MiB, GiB or TiB".to_owned(),
        ValueType::Flag => "true or false".to_owned(),
        ValueType::Words(words) => listed(words),
        ValueType::Axes => "channel, chip, die and plane in some order".to_owned(),
        ValueType::Table(fields) => format!("a table:<br>{}", listed_fields(fields)),
        ValueType::Tables(fields) => format!("a list of tables:<br>{}", listed_fields(fields)),
    }
}
