//! `docs/DEVICES.md`: the keys of a device, from their declarations and the `default` preset.

use destage_device::config::{
    DEFAULT_PRESET, DeviceKey, EffectiveDevice, ValueType, keys, presets,
};

/// What stands before the table.
const HEAD: &str = "\
A device is a TOML file of the keys below, or one of the presets at the end. Four layers make it, later
ones win: the preset `default`, the preset that `base` names, the file, and `--set KEY=VALUE`. A file may
therefore give no more than what differs:

```toml
base = \"req-block-128g\"
t_read = \"75us\"
precondition = { trace = true, fill = 0.9, overwrite = \"until_gc\" }
```

`destage presets FILE.toml` prints what came of it, every value with its origin. Sizes, times and energies
are texts with their unit; `--set` takes a field of a table as `precondition.fill=0.9`. All faults of a file
are reported together, each with its key, value, origin and what is allowed.

| key | what it means | values | default | why |
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
    text += "\n## Presets\n\n| preset | what it is |\n|--|--|\n";
    for preset in presets() {
        let (name, about) = (preset.name, destage_cli::about(preset.text));
        text += &format!("| `{name}` | {about} |\n");
    }
    text
}

/// The value of a key that nothing else gives, and why it is that one.
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

/// The values of a type, with their unit.
fn values(kind: &ValueType) -> String {
    let listed = |words: &[(&str, &str)]| {
        let lines = words
            .iter()
            .map(|(word, meaning)| format!("`{word}`: {meaning}"));
        lines.collect::<Vec<_>>().join("<br>")
    };
    match kind {
        ValueType::Text => "text".to_owned(),
        ValueType::Integer(range) => format!("{} to {}", range.start(), range.end()),
        ValueType::PageSize => "bytes, a power of two, 512 to 65536".to_owned(),
        ValueType::Ratio(range) => format!("a number, {} to {}", range.start(), range.end()),
        ValueType::Time => "time in ps, ns, us, ms or s".to_owned(),
        ValueType::Times => "time in ps, ns, us, ms or s, or a list of up to 5".to_owned(),
        ValueType::Energy => "energy in pJ, nJ, uJ or mJ".to_owned(),
        ValueType::Size => "size in B, KiB, MiB, GiB or TiB".to_owned(),
        ValueType::Flag => "true or false".to_owned(),
        ValueType::Words(words) => listed(words),
        ValueType::Axes => "channel, chip, die and plane in some order".to_owned(),
        ValueType::Table(fields) => format!("a table:<br>{}", listed(fields)),
    }
}
