//! The presets, embedded: the built-in default, one per device table of the papers, drives of today, and models that
//! were fitted to measured drives.

use super::nearest_known;
use destage_types::nearest::nearest_within;

/// A device file that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name for `--device` and `base`.
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

static PRESETS: [Preset; 23] = [
    preset!("default"),
    preset!("classroom-128m"),
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
    preset!("consumer-tlc-1t-slc"),
    preset!("consumer-tlc-1t-all-slc"),
    preset!("consumer-qlc-1t"),
    preset!("dramless-tlc-500g"),
    preset!("sata-tlc-500g"),
    preset!("qlc-2t"),
    preset!("samsung-pm9a3-960", "drives/"),
    preset!("micron-7450-pro-960", "drives/"),
    preset!("solidigm-p5520-1920", "drives/"),
    preset!("kioxia-cm7r-3840", "drives/"),
    preset!("wd-dc-960", "drives/"),
];

/// Names that presets had before, and those that stand for them now.
const OLDER_NAMES: [(&str, &str); 2] = [
    ("tlc-nvme-1t", "enterprise-tlc-1t"),
    ("qlc-nvme-2t", "qlc-2t"),
];

/// Words in names of drives, and the preset that is nearest to drives of that kind. The first row that knows a word
/// of a name decides, so rows of products stand before those of words that many products have.
const KINDS: [(&[&str], &str); 8] = [
    (&["pm9a3"], "samsung-pm9a3-960"),
    (&["7450"], "micron-7450-pro-960"),
    (&["p5520"], "solidigm-p5520-1920"),
    (&["cm7", "cm7r"], "kioxia-cm7r-3840"),
    (
        &["qlc", "qvo", "660p", "665p", "670p", "5210", "d5", "bx500"],
        "qlc-2t",
    ),
    (
        &[
            "sata", "850", "860", "870", "5100", "5200", "5300", "mx500", "s4510", "s4610",
        ],
        "sata-tlc-500g",
    ),
    (
        &[
            "pm983",
            "pm1733",
            "pm1735",
            "pm1743",
            "d7",
            "p4510",
            "p5510",
            "7300",
            "7400",
            "cd6",
            "cd8",
            "sn640",
            "sn840",
            "datacenter",
            "datacentre",
            "enterprise",
            "server",
            "dc",
        ],
        "enterprise-tlc-1t",
    ),
    (
        &[
            "nvme", "tlc", "consumer", "client", "samsung", "960", "970", "980", "990", "evo",
            "pro", "wd", "sn550", "sn750", "sn770", "sn850", "crucial", "p5", "t500", "t700",
            "kioxia", "hynix", "p31", "p41", "intel", "micron",
        ],
        "consumer-tlc-1t",
    ),
];

/// Typing errors in a name that is meant as it stands.
const TYPING_ERRORS: usize = 2;

/// The preset that somebody may have meant by a name that no preset has.
pub(super) fn nearest_preset(name: &str) -> &'static str {
    nearest_within(name, preset_names(), TYPING_ERRORS)
        .or_else(|| of_kind(name))
        .unwrap_or_else(|| nearest_known(name, preset_names()))
}

/// The preset for drives of the kind that a name has a word of: `samsung-980pro` is a consumer drive.
fn of_kind(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = parts.flat_map(words_of).collect();
    let knows = |row: &&(&[&str], &str)| words.iter().any(|word| row.0.contains(word));
    KINDS.iter().find(knows).map(|row| row.1)
}

/// A part of a name, and what it is before and after its first digits: `980pro` is also `980` and `pro`.
fn words_of(part: &str) -> impl Iterator<Item = &str> {
    let digits = |c: char| c.is_ascii_digit();
    let begin = part.find(digits).unwrap_or(part.len());
    let (before, number) = part.split_at(begin);
    let end = number.find(|c| !digits(c)).unwrap_or(number.len());
    let (number, after) = number.split_at(end);
    [part, before, number, after].into_iter()
}

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

    /// Its description: the first sentence of the comment at its head.
    pub fn about(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix('#'));
        let all = comment.map(str::trim).collect::<Vec<_>>().join(" ");
        match all.split_once(". ") {
            Some((first, _)) => format!("{first}."),
            None => all,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_drives_lead_to_presets_of_their_kind() {
        for (name, preset) in [
            ("samsung-980pro", Some("consumer-tlc-1t")),
            ("Samsung_870_EVO", Some("sata-tlc-500g")),
            ("870qvo", Some("qlc-2t")),
            ("micron-7450", Some("micron-7450-pro-960")),
            ("kioxia-cm7r", Some("kioxia-cm7r-3840")),
            ("wd-dc", Some("enterprise-tlc-1t")),
            ("nvme", Some("consumer-tlc-1t")),
            ("ecr-64", None),
            ("", None),
        ] {
            assert_eq!(of_kind(name), preset, "{name}");
        }
        let known = |row: &(&[&str], &'static str)| find(row.1).is_some();
        assert!(KINDS.iter().all(known));
    }
}
