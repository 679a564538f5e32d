//! The device that a fit changes: base, geometry of the drive, structure, and values.

pub mod parameters;
mod scale;
mod structures;

pub use parameters::{PARAMETERS, Parameter, Side};
pub use scale::{DriveGeometry, named_capacity};
pub use structures::{STRUCTURES, Structure};
use structures::{is_pace, key_of};

use crate::FitError;
use destage_device::config::{ConfigError, DeviceConfig, EffectiveDevice};
use std::collections::BTreeMap;

/// The device that a fit begins with.
#[derive(Clone, Debug)]
pub enum BaseDevice {
    /// A preset.
    Preset(String),
    /// A device file.
    File {
        /// Its path, for messages.
        path: String,
        /// Its text.
        text: String,
    },
}

impl BaseDevice {
    /// The base with settings on top.
    ///
    /// # Errors
    /// The base is no device, or a setting is wrong.
    pub fn with(&self, settings: &[String]) -> Result<EffectiveDevice, ConfigError> {
        match self {
            BaseDevice::Preset(name) => EffectiveDevice::from_preset(name, settings),
            BaseDevice::File { path, text } => EffectiveDevice::from_text(path, text, settings),
        }
    }
}

/// Values of parameters, by name.
pub type Values = BTreeMap<&'static str, f64>;

/// What is known of a drive before a search.
#[derive(Clone, Debug, Default)]
pub struct DriveFacts {
    /// Bytes that the host sees; those of the base if nobody says.
    pub capacity: Option<u64>,
    /// The most bytes a second.
    pub rates: HighestRates,
    /// Dies that reads need at least.
    pub dies: f64,
    /// What a write costs, and how the drive collects.
    pub writes: WriteFacts,
}

/// Facts that patterns of writes and sequential writes show.
#[derive(Clone, Debug, Default)]
pub struct WriteFacts {
    /// Settings that patterns determine.
    pub settings: Vec<DeterminedSetting>,
    /// The time of a mapping unit in ns if nothing is collected. Without it, writes have a constant rate.
    pub host: Option<f64>,
    /// Mapping units that collection moves for each of uniform writes.
    pub moved: f64,
}

/// A setting that measurements determine without a search.
#[derive(Clone, Debug)]
pub struct DeterminedSetting {
    /// `KEY=VALUE`.
    pub setting: String,
    /// How it follows, for the device file.
    pub source: String,
}

/// A base, settings that do not change, and a structure.
#[derive(Clone, Debug)]
pub struct DriveModel {
    base: BaseDevice,
    geometry: DriveGeometry,
    structure: &'static Structure,
    /// `KEY=VALUE` that the user fixes. They win over everything else.
    fixed: Vec<String>,
    /// Facts about writes, without keys that the user fixes.
    writes: WriteFacts,
    /// The bus of a channel, if that of the base is too slow for the drive.
    bus: Option<String>,
    /// The link, if that of the base is too slow for the drive.
    link: Option<String>,
    mapping_bytes: u64,
}

impl DriveModel {
    /// A model of a drive. Its link and buses are faster than the highest measured rates.
    ///
    /// # Errors
    /// The base is no device, or has no units of a drive.
    pub fn new(
        base: BaseDevice,
        structure: &'static Structure,
        fixed: Vec<String>,
        facts: DriveFacts,
    ) -> Result<DriveModel, FitError> {
        let DriveFacts {
            capacity,
            rates,
            dies,
            mut writes,
        } = facts;
        let is_fixed = |setting: &str| fixed.iter().any(|other| key_of(other) == key_of(setting));
        writes.settings.retain(|found| !is_fixed(&found.setting));
        let found = writes.settings.iter().map(|found| &found.setting);
        let all: Vec<String> = found.chain(&fixed).cloned().collect();
        let device = base
            .with(&all)
            .map_err(|e| FitError::Device(e.to_string()))?;
        let config = device.config();
        if !config.is_bounded() {
            let why = format!(
                "device {} has no bounded buffer, so that its writes do not wait as those of a drive; take a base such as \
                 enterprise-tlc-1t",
                config.name
            );
            return Err(FitError::Device(why));
        }
        let has_own = |key: &str| key == "channels" || key == "chips_per_channel";
        let keeps = fixed.iter().any(|fixed| has_own(key_of(fixed)));
        let geometry = match keeps {
            true => DriveGeometry::new(config, None, 0.0),
            false => DriveGeometry::new(config, capacity, dies),
        };
        Ok(DriveModel {
            bus: bus(config, geometry.channels(), &rates),
            geometry,
            mapping_bytes: config.mapping().bytes(),
            link: link(config, &rates),
            base,
            structure,
            fixed,
            writes,
        })
    }

    /// The structure.
    #[must_use]
    pub fn structure(&self) -> &'static Structure {
        self.structure
    }

    /// The same with another structure.
    #[must_use]
    pub fn with_structure(&self, structure: &'static Structure) -> DriveModel {
        DriveModel {
            structure,
            ..self.clone()
        }
    }

    /// Parameters that a search of this model may change: those of the structure whose key is not fixed.
    #[must_use]
    pub fn free(&self) -> Vec<&'static Parameter> {
        let has_price = self.writes.host.is_some();
        let other = match has_price {
            true => "write_pace",
            false => "write_pace.moved",
        };
        let has = |p: &Parameter| self.structure.has(p.name) || (has_price && is_pace(p.key()));
        PARAMETERS
            .iter()
            .filter(|p| has(p) && !self.settles(p.key()) && p.name != other)
            .collect()
    }

    /// Whether the user or patterns say a key, so that no search changes it.
    fn settles(&self, key: &str) -> bool {
        self.fixes(key) || self.source_of(key).is_some()
    }

    /// Whether the user fixed a key.
    #[must_use]
    pub fn fixes(&self, key: &str) -> bool {
        self.fixed.iter().any(|fixed| key_of(fixed) == key)
    }

    /// What a write costs, and how the drive collects.
    #[must_use]
    pub fn writes(&self) -> &WriteFacts {
        &self.writes
    }

    /// How patterns determine a key, if they do.
    #[must_use]
    pub fn source_of(&self, key: &str) -> Option<&str> {
        let mut settings = self.writes.settings.iter();
        settings
            .find(|found| key_of(&found.setting) == key)
            .map(|found| found.source.as_str())
    }

    /// The base with what the user fixed and patterns determine.
    ///
    /// # Errors
    /// Never, as [`DriveModel::new`] looked at it.
    pub fn start(&self) -> Result<DeviceConfig, FitError> {
        self.device(&self.unsearched().collect::<Vec<String>>())
    }

    /// Settings that no search changes.
    fn unsearched(&self) -> impl Iterator<Item = String> {
        let known = self.writes.settings.iter().map(|found| &found.setting);
        known.chain(&self.fixed).cloned()
    }

    /// The settings that make a device of the base, without its geometry.
    #[must_use]
    pub fn settings(&self, values: &Values) -> Vec<String> {
        let mut settings: Vec<String> = self
            .structure
            .keys
            .iter()
            .filter(|set| !self.settles(key_of(set)))
            .filter(|set| self.writes.host.is_none() || !is_pace(key_of(set)))
            .map(|&key| key.to_owned())
            .collect();
        settings.extend(self.link.clone());
        settings.extend(self.bus.clone());
        settings.extend(self.value_settings(values));
        settings.extend(self.unsearched());
        settings
    }

    /// The settings that values of parameters make.
    #[must_use]
    pub fn value_settings(&self, values: &Values) -> Vec<String> {
        let get = |name: &str| values.get(name).copied();
        let mut settings = Vec::new();
        let reads = ["fast", "middle", "slow"].map(|part| get(&format!("t_read.{part}")));
        if let [Some(a), Some(b), Some(c)] = reads {
            let mut times = [a, b, c];
            times.sort_by(f64::total_cmp);
            let [a, b, c] = times.map(|t| format!("\"{t}us\""));
            settings.push(format!("t_read=[{a}, {b}, {c}]"));
        }
        for key in ["read_retry", "read_retry_suspended"] {
            let step = |step: &str| {
                let share = get(&format!("{key}.{step}.share"))?;
                let time = get(&format!("{key}.{step}.time"))?;
                Some(format!("{{ share = {share}, time = \"{time}us\" }}"))
            };
            let steps: Vec<String> = ["first", "second"].into_iter().filter_map(step).collect();
            if !steps.is_empty() {
                settings.push(format!("{key}=[{}]", steps.join(", ")));
            }
        }
        for (part, unit) in [("every", ""), ("time", "us")] {
            let name = format!("program_pause.{part}");
            settings.extend(get(&name).map(|value| format!("{name}={value}{unit}")));
        }
        if let Some((host, moved)) = self.writes.host.zip(get("write_pace.moved")) {
            let host = libm::round(host);
            settings.push(format!(
                "write_pace={{ host = \"{host}ns\", moved = \"{moved}ns\" }}"
            ));
        }
        for parameter in PARAMETERS.iter().filter(|p| !p.name.contains('.')) {
            let Some(value) = get(parameter.name) else {
                continue;
            };
            let text = match (parameter.name, parameter.unit) {
                ("cache", _) => format!("{}B", value as u64 * self.mapping_bytes),
                (_, "us") => format!("{value}us"),
                _ => format!("{}", value as u64),
            };
            settings.push(format!("{}={text}", parameter.name));
        }
        settings
    }

    /// The scaled-down device that is simulated.
    ///
    /// # Errors
    /// The values make no device.
    pub fn scaled(&self, values: &Values) -> Result<DeviceConfig, FitError> {
        let mut settings = self.settings(values);
        settings.extend(self.geometry.scaled_settings());
        self.device(&settings)
    }

    /// The settings of the whole device that the user gets.
    #[must_use]
    pub fn whole_settings(&self, values: &Values) -> Vec<String> {
        let mut settings = self.geometry.whole_settings();
        settings.extend(self.settings(values));
        settings
    }

    /// Keys that the user, patterns or the structure set, also to `off`.
    pub fn set_keys(&self) -> impl Iterator<Item = &str> {
        let fixed = self.fixed.iter().map(String::as_str);
        let known = self
            .writes
            .settings
            .iter()
            .map(|found| found.setting.as_str());
        let all = self
            .structure
            .keys
            .iter()
            .copied()
            .chain(known)
            .chain(fixed);
        all.map(key_of)
    }

    /// The geometry of the drive.
    #[must_use]
    pub fn geometry(&self) -> &DriveGeometry {
        &self.geometry
    }

    /// The base.
    #[must_use]
    pub fn base(&self) -> &BaseDevice {
        &self.base
    }

    fn device(&self, settings: &[String]) -> Result<DeviceConfig, FitError> {
        let device = self.base.with(settings);
        device
            .map(EffectiveDevice::into_config)
            .map_err(|e| FitError::Device(e.to_string()))
    }
}

/// The link of the drive. Sequential reads fill it. Else it is busy for less than a quarter of the time if that of the base
/// is busy for more than half of it: no measurement of a drive shows how its link limits it unless it is full.
fn link(base: &DeviceConfig, rates: &HighestRates) -> Option<String> {
    let own = [base.host_link.read(), base.host_link.write()];
    let wide = |own: Option<u64>, rate: f64| {
        let own = own? as f64;
        Some(if rate > 0.5 * own { 4.0 * rate } else { own })
    };
    let read = match rates.sequential_reads > 0.0 {
        true => Some(rates.reads.max(rates.sequential_reads)),
        false => wide(own[0], rates.reads),
    };
    let wider = [read, wide(own[1], rates.writes)];
    if wider == own.map(|rate| rate.map(|rate| rate as f64)) {
        return None;
    }
    let text = |rate: Option<f64>| {
        rate.map_or("\"unlimited\"".to_owned(), |rate| {
            format!("\"{}MB/s\"", libm::round(rate / 1e6))
        })
    };
    Some(format!(
        "host_link={{ read = {}, write = {} }}",
        text(wider[0]),
        text(wider[1])
    ))
}

/// The most bytes a second that were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HighestRates {
    /// Of reads.
    pub reads: f64,
    /// Of deep queues of sequential reads alone, or 0.
    pub sequential_reads: f64,
    /// Of all writes.
    pub writes: f64,
    /// Of random writes, for which collection moves data.
    pub random_writes: f64,
}

/// Bytes on the buses for each byte that the host writes at random: programs and reads of collection.
const BUS_BYTES: f64 = 8.0;
/// Share of the time that buses may be busy.
const BUS_BUSY: f64 = 0.4;

/// Buses that are busy for at most 40 % of the time while the drive writes.
fn bus(base: &DeviceConfig, channels: u32, rates: &HighestRates) -> Option<String> {
    let needed = (BUS_BYTES * rates.random_writes).max(rates.writes) / f64::from(channels);
    let most_ps = BUS_BUSY * 1e12 / needed.max(1.0);
    (base.t_byte.0 as f64 > most_ps).then(|| format!("t_byte={}ps", most_ps as u64))
}
