//! The presets, embedded: the built-in default, one per device table of the papers, and
//! drives of today.

/// A device file that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What `--device` and `base` call it.
    pub name: &'static str,
    /// The device file; the comment behind each value names its source.
    pub text: &'static str,
}

macro_rules! preset {
    ($name:literal) => {
        preset!($name, "")
    };
    ($name:literal, $folder:literal) => {
        Preset {
            name: $name,
            text: include_str!(concat!("../../../../presets/", $folder, $name, ".toml")),
        }
    };
}

/// Name of the lowest layer of every device.
pub const DEFAULT_PRESET: &str = "default";

static PRESETS: [Preset; 13] = [
    preset!("default"),
    preset!("req-block-128g"),
    preset!("prober-512g"),
    preset!("cac-128g"),
    preset!("ecr-64g"),
    preset!("ecr-64g-background"),
    preset!("procache-32g"),
    preset!("procache-emu"),
    preset!("procache-emu-uniform"),
    preset!("enterprise-tlc-1t"),
    preset!("consumer-tlc-1t"),
    preset!("sata-tlc-500g"),
    preset!("qlc-2t"),
];

/// Names that presets had before, and those that stand for them now.
const OLDER_NAMES: [(&str, &str); 2] = [
    ("tlc-nvme-1t", "enterprise-tlc-1t"),
    ("qlc-nvme-2t", "qlc-2t"),
];

/// All presets, the default first.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// The names of all presets.
pub fn preset_names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// The preset called `name`, now or before.
pub(super) fn find(name: &str) -> Option<&'static Preset> {
    let older = OLDER_NAMES.iter().find(|row| row.0 == name);
    let name = older.map_or(name, |row| row.1);
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// The preset that gives what this one does not, if it is another one than the default.
    pub fn base(&self) -> Option<&'static Preset> {
        let line = self.text.lines().find(|line| line.starts_with("base"))?;
        find(line.split('"').nth(1)?)
    }

    /// The comment behind the value of `key`: its source.
    pub fn source(&self, key: &str) -> Option<&'static str> {
        let is_key = |line: &&str| {
            let rest = line.strip_prefix(key).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with('='))
        };
        let (_, comment) = self.text.lines().find(is_key)?.split_once('#')?;
        Some(comment.trim())
    }
}
