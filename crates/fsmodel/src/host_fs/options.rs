//! Settings as text: `inplace`, `lfs(key=value,...)`, `f2fs(...)`.

use std::fmt;
use std::str::FromStr;

use destage_types::{ByteSize, nearest};

use super::config::{Clean, HostFs, InPlace, LfsConfig, Nodes, Pick, Trim};

/// An option of a log-structured file system.
struct Key {
    name: &'static str,
    set: fn(&mut LfsConfig, &str) -> Result<(), String>,
    /// The value as it is written; not what cannot be told from the default.
    show: fn(&LfsConfig) -> String,
}

macro_rules! keys {
    ($($name:literal: $field:ident, $values:expr;)*) => {
        const KEYS: &[Key] = &[$(Key {
            name: $name,
            set: |config, text| {
                config.$field = $values.read(text)?;
                Ok(())
            },
            show: |config| $values.show(&config.$field),
        }),*];
    };
}

keys! {
    "blocks": blocks, Blocks;
    "volume": blocks, Volume;
    "segment": segment, Count(2, 1 << 20);
    "section": section, Count(1, 1 << 12);
    "reserve": reserve, Count(1, 1 << 20);
    "logs": logs, Words(&[("1", 1), ("6", 6)]);
    "ipu": ipu, Share;
    "ipu-policy": ipu_policy, Words(&[
        ("never", InPlace::Never),
        ("force", InPlace::Force),
        ("util", InPlace::Util),
        ("small", InPlace::Small),
    ]);
    "ipu-util": ipu_util, Share;
    "ipu-blocks": ipu_blocks, Count(1, 1 << 20);
    "nodes": nodes, Words(&[
        ("on", Nodes::Sync),
        ("checkpoint", Nodes::Checkpoint),
        ("off", Nodes::Off),
    ]);
    "node-pairs": node_pairs, FLAG;
    "checkpoint": checkpoint_s, Seconds;
    "clean": clean, Words(&[("greedy", Clean::Greedy), ("cost-benefit", Clean::CostBenefit)]);
    "alloc": alloc, Words(&[("lowest", Pick::Lowest), ("next", Pick::Next)]);
    "ssr": ssr, FLAG;
    "trim": trim, Words(&[("none", Trim::None), ("idle", Trim::Idle), ("sync", Trim::Sync)]);
    "fill": fill, Share;
    "prealloc": prealloc, FLAG;
}

/// The values of an option: how they are read, and written. An error goes on behind the name.
trait Values<T> {
    fn read(&self, text: &str) -> Result<T, String>;
    fn show(&self, value: &T) -> String;
}

/// A whole number in a range.
struct Count(u64, u64);

impl Values<u64> for Count {
    fn read(&self, text: &str) -> Result<u64, String> {
        let Count(min, max) = *self;
        let n = text.parse().ok().filter(|n| (min..=max).contains(n));
        n.ok_or_else(|| format!("={text}: allowed: {min} to {max}"))
    }

    fn show(&self, value: &u64) -> String {
        value.to_string()
    }
}

/// Blocks of the volume.
struct Blocks;

impl Values<Option<u64>> for Blocks {
    fn read(&self, text: &str) -> Result<Option<u64>, String> {
        Count(1, 1 << 31).read(text).map(Some)
    }

    fn show(&self, value: &Option<u64>) -> String {
        value.unwrap_or(0).to_string()
    }
}

/// The same by their size; written as blocks.
struct Volume;

impl Values<Option<u64>> for Volume {
    fn read(&self, text: &str) -> Result<Option<u64>, String> {
        let size = ByteSize::parse(text).map_err(|e| format!(": {e}"))?;
        let blocks = Some(size.0 / 4096).filter(|n| (1..=1 << 31).contains(n));
        match blocks {
            None => Err(format!("={text}: allowed: 4KiB to 8TiB")),
            blocks => Ok(blocks),
        }
    }

    fn show(&self, _: &Option<u64>) -> String {
        String::new()
    }
}

/// Seconds between checkpoints.
struct Seconds;

impl Values<u64> for Seconds {
    fn read(&self, text: &str) -> Result<u64, String> {
        match text {
            "off" => Ok(0),
            _ => Count(1, 1 << 30).read(text.strip_suffix('s').unwrap_or(text)),
        }
    }

    fn show(&self, value: &u64) -> String {
        format!("{value}s")
    }
}

/// A part of the whole.
struct Share;

impl Values<f64> for Share {
    fn read(&self, text: &str) -> Result<f64, String> {
        let x = text.parse().ok().filter(|x| (0.0..=1.0).contains(x));
        x.ok_or_else(|| format!("={text}: allowed: a share from 0 to 1"))
    }

    fn show(&self, value: &f64) -> String {
        value.to_string()
    }
}

/// One of some words.
struct Words<T: 'static>(&'static [(&'static str, T)]);

const FLAG: Words<bool> = Words(&[("on", true), ("off", false)]);

impl<T: Copy + PartialEq> Values<T> for Words<T> {
    fn read(&self, text: &str) -> Result<T, String> {
        let found = self.0.iter().find(|w| w.0 == text).map(|w| w.1);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|w| w.0).collect();
            format!("={text}: allowed: {}", names.join(", "))
        })
    }

    fn show(&self, value: &T) -> String {
        let found = self.0.iter().find(|w| w.1 == *value);
        found.map_or("", |w| w.0).to_owned()
    }
}

impl LfsConfig {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match KEYS.iter().find(|known| known.name == key) {
            Some(known) => (known.set)(self, value).map_err(|why| format!("{key}{why}")),
            None => {
                let known: Vec<&str> = KEYS.iter().map(|known| known.name).collect();
                let near = nearest(key, known.iter().copied()).unwrap_or_default();
                let known = known.join(", ");
                Err(format!(
                    "no option `{key}`; did you mean `{near}`? options: {known}"
                ))
            }
        }
    }
}

impl FromStr for HostFs {
    type Err = String;

    fn from_str(text: &str) -> Result<HostFs, String> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (name, options) = match text.split_once('(') {
            None => (text.as_str(), ""),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(options) => (name, options),
                None => return Err(format!("`{text}` lacks its closing parenthesis")),
            },
        };
        let mut config = match name {
            "inplace" if options.is_empty() => return Ok(HostFs::InPlace),
            "inplace" => return Err("`inplace` takes no options".to_owned()),
            "lfs" => LfsConfig::default(),
            "f2fs" => LfsConfig::f2fs(),
            _ => {
                return Err(format!(
                    "no host file system `{name}`; known: inplace, lfs, f2fs"
                ));
            }
        };
        let mut given: Vec<String> = Vec::new();
        for option in options.split(',').filter(|o| !o.is_empty()) {
            let (key, value) = option
                .split_once('=')
                .ok_or_else(|| format!("`{option}` is not KEY=VALUE"))?;
            let key = key.replace('_', "-");
            config.set(&key, value)?;
            if given.contains(&key) {
                return Err(format!("`{key}` is given twice; leave out one of them"));
            }
            given.push(key);
        }
        config.check()?;
        Ok(HostFs::Lfs(config))
    }
}

impl fmt::Display for HostFs {
    /// The options that differ from those of `lfs`, which is the name of every log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostFs::Lfs(c) = self else {
            return f.write_str("inplace");
        };
        let default = LfsConfig::default();
        let all: Vec<String> = KEYS
            .iter()
            .map(|key| (key.name, (key.show)(c), (key.show)(&default)))
            .filter(|(_, value, default)| value != default)
            .map(|(name, value, _)| format!("{name}={value}"))
            .collect();
        if all.is_empty() {
            f.write_str("lfs")
        } else {
            write!(f, "lfs({})", all.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_written() {
        for text in [
            "inplace",
            "lfs",
            "lfs(blocks=4096,logs=6,reserve=3)",
            "lfs(ipu=0.038)",
        ] {
            let fs: Result<HostFs, _> = text.parse();
            let again = fs.map(|fs| fs.to_string());
            if text.contains("logs=6,reserve") {
                assert_eq!(again.unwrap(), "lfs(blocks=4096,reserve=3,logs=6)")
            } else {
                assert_eq!(again.unwrap(), text)
            }
        }
        let full: HostFs = "f2fs( volume = 4GiB, trim = sync, ipu_policy=force )"
            .parse()
            .unwrap();
        assert_eq!(
            full.to_string(),
            "lfs(blocks=1048576,reserve=6,logs=6,ipu-policy=force,nodes=on,checkpoint=60s,\
             alloc=next,trim=sync,prealloc=on)"
        );
    }

    #[test]
    fn wrong_options_are_named() {
        for (text, part) in [
            ("ext4", "no host file system `ext4`"),
            ("inplace(fill=1)", "takes no options"),
            ("lfs(fil=0.5)", "no option `fil`; did you mean `fill`"),
            ("lfs(fill=1.5)", "fill=1.5: allowed: a share"),
            ("lfs(trim)", "`trim` is not KEY=VALUE"),
            ("lfs(trim=later)", "allowed: none, idle, sync"),
            ("lfs(segment=1)", "segment=1: allowed: 2 to"),
            ("lfs(volume=1)", "volume"),
            ("lfs(fill=0.1,trim=idle,fill=0.1)", "`fill` is given twice"),
            (
                "f2fs(ipu-util=0.1,ipu_util=0.2)",
                "`ipu-util` is given twice",
            ),
            ("lfs(logs=6)", "reserve=2: cleaning into 6 logs"),
            ("lfs(reserve=2", "closing parenthesis"),
        ] {
            let error = text.parse::<HostFs>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
