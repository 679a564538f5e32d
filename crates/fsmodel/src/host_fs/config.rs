//! What can be said about a modelled file system: `inplace`, `lfs(key=value,...)`, `f2fs(...)`.

use std::fmt;
use std::str::FromStr;

use destage_types::{ByteSize, nearest};

/// A file system between a trace and the device.
#[derive(Clone, PartialEq, Debug)]
pub enum HostFs {
    /// Every block is written where it is: addresses stay, in whole blocks of 4 KiB.
    InPlace,
    /// A log-structured file system.
    Lfs(LfsConfig),
}

/// Which blocks are updated where they are, beside those that `ipu` chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InPlace {
    /// None.
    Never,
    /// All: F2FS on volumes of up to 16 GB.
    Force,
    /// Those written while more than `ipu-util` of the volume is used.
    Util,
    /// Those of requests of at most `ipu-blocks` blocks: small synced writes.
    Small,
}

/// Which unit is cleaned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clean {
    /// The one with the fewest valid blocks.
    Greedy,
    /// The one with the largest free share x age / (1 + used share), as F2FS in the background.
    CostBenefit,
}

/// When the device hears of addresses that hold no data any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trim {
    /// Never.
    None,
    /// In gaps of at least 10 ms between requests.
    Idle,
    /// At once.
    Sync,
}

/// When index blocks are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// Never.
    Off,
    /// With the next checkpoint: nobody asks for durability.
    Checkpoint,
    /// With every request, as fsync and fdatasync do for roll-forward recovery.
    Sync,
}

/// Which free unit a log takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The lowest-numbered one.
    Lowest,
    /// The next one behind the unit taken last, as F2FS does.
    Next,
}

/// Settings of a log-structured file system. Blocks have 4 KiB.
#[derive(Clone, PartialEq, Debug)]
pub struct LfsConfig {
    /// Blocks of the volume; `None`: 1.25 x those that the trace touches, in whole units.
    pub blocks: Option<u64>,
    /// At least so many blocks if `blocks` is `None`.
    pub least: u64,
    /// Blocks of a segment.
    pub segment: u64,
    /// Segments of a section, the unit of allocation and cleaning.
    pub section: u64,
    /// Free units below which cleaning begins.
    pub reserve: u64,
    /// Logs: 1, or 6 (hot, warm, cold data and nodes by the rules of F2FS).
    pub logs: u64,
    /// Share of the blocks that is always updated in place.
    pub ipu: f64,
    /// Further updates in place.
    pub ipu_policy: InPlace,
    /// Used share of the volume for [`InPlace::Util`].
    pub ipu_util: f64,
    /// Blocks of a request for [`InPlace::Small`].
    pub ipu_blocks: u64,
    /// Writes of index blocks.
    pub nodes: Nodes,
    /// Do writes of index blocks name their old address?
    pub node_pairs: bool,
    /// Seconds between checkpoints, of which one is at the end of the trace; 0 = none.
    pub checkpoint_s: u64,
    /// Which unit is cleaned.
    pub clean: Clean,
    /// Which unit is taken.
    pub alloc: Pick,
    /// Write into the holes of used units instead of cleaning them.
    pub ssr: bool,
    /// TRIM.
    pub trim: Trim,
    /// Share of the volume that is used before the trace begins, data of the trace included.
    pub fill: f64,
    /// Are the blocks of the trace on the volume before it begins, in order?
    pub prealloc: bool,
}

impl Default for LfsConfig {
    /// One log, greedy cleaning below two free segments, nothing in place, no TRIM.
    fn default() -> LfsConfig {
        LfsConfig {
            blocks: None,
            least: 0,
            segment: 512,
            section: 1,
            reserve: 2,
            logs: 1,
            ipu: 0.0,
            ipu_policy: InPlace::Never,
            ipu_util: 0.7,
            ipu_blocks: 8,
            nodes: Nodes::Off,
            node_pairs: true,
            checkpoint_s: 0,
            clean: Clean::Greedy,
            alloc: Pick::Lowest,
            ssr: false,
            trim: Trim::None,
            fill: 0.0,
            prealloc: false,
        }
    }
}

impl LfsConfig {
    /// As F2FS with `mode=lfs` and an fdatasync after every write: six logs, index blocks,
    /// checkpoints every 60 s and at the end, a file that exists, a volume of at least 2 GiB.
    pub fn f2fs() -> LfsConfig {
        LfsConfig {
            least: 2 << 18,
            reserve: 6,
            logs: 6,
            nodes: Nodes::Sync,
            checkpoint_s: 60,
            alloc: Pick::Next,
            prealloc: true,
            ..LfsConfig::default()
        }
    }

    /// Blocks of the unit of allocation and cleaning.
    pub fn unit(&self) -> u64 {
        self.segment * self.section
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "blocks" => self.blocks = Some(count(key, value, 1, 1 << 31)?),
            "volume" => {
                let size = ByteSize::parse(value).map_err(|e| format!("{key}: {e}"))?;
                self.blocks = Some(size.0 / 4096).filter(|&n| n > 0 && n <= 1 << 31);
                if self.blocks.is_none() {
                    return Err(format!("{key}={value}: allowed: 4KiB to 8TiB"));
                }
            }
            "segment" => self.segment = count(key, value, 2, 1 << 20)?,
            "section" => self.section = count(key, value, 1, 1 << 12)?,
            "reserve" => self.reserve = count(key, value, 1, 1 << 20)?,
            "logs" => self.logs = word(key, value, &[("1", 1), ("6", 6)])?,
            "ipu" => self.ipu = share(key, value)?,
            "ipu-policy" => self.ipu_policy = word(key, value, &POLICIES)?,
            "ipu-util" => self.ipu_util = share(key, value)?,
            "ipu-blocks" => self.ipu_blocks = count(key, value, 1, 1 << 20)?,
            "nodes" => self.nodes = word(key, value, &NODES)?,
            "node-pairs" => self.node_pairs = word(key, value, &FLAG)?,
            "checkpoint" => {
                let seconds = value.strip_suffix('s').unwrap_or(value);
                let off = value == "off";
                self.checkpoint_s = if off {
                    0
                } else {
                    count(key, seconds, 1, 1 << 30)?
                };
            }
            "clean" => self.clean = word(key, value, &CLEANS)?,
            "alloc" => self.alloc = word(key, value, &PICKS)?,
            "ssr" => self.ssr = word(key, value, &FLAG)?,
            "trim" => self.trim = word(key, value, &TRIMS)?,
            "fill" => self.fill = share(key, value)?,
            "prealloc" => self.prealloc = word(key, value, &FLAG)?,
            _ => {
                let near = nearest(key, KEYS).unwrap_or_default();
                let known = KEYS.join(", ");
                return Err(format!(
                    "no option `{key}`; did you mean `{near}`? options: {known}"
                ));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.nodes == Nodes::Checkpoint && self.checkpoint_s == 0 {
            return Err("nodes=checkpoint: there is none; say checkpoint=60s".to_owned());
        }
        let least = if self.logs == 6 { 3 } else { 2 };
        if self.reserve < least {
            return Err(format!(
                "reserve={}: cleaning into {} logs needs at least {least} free units",
                self.reserve, self.logs
            ));
        }
        if self.unit() > 1 << 24 {
            return Err(format!(
                "a section of {} blocks; allowed: up to 16777216",
                self.unit()
            ));
        }
        Ok(())
    }
}

const KEYS: [&str; 19] = [
    "blocks",
    "volume",
    "segment",
    "section",
    "reserve",
    "logs",
    "ipu",
    "ipu-policy",
    "ipu-util",
    "ipu-blocks",
    "nodes",
    "node-pairs",
    "checkpoint",
    "clean",
    "alloc",
    "ssr",
    "trim",
    "fill",
    "prealloc",
];
const FLAG: [(&str, bool); 2] = [("on", true), ("off", false)];
const NODES: [(&str, Nodes); 3] = [
    ("on", Nodes::Sync),
    ("checkpoint", Nodes::Checkpoint),
    ("off", Nodes::Off),
];
const POLICIES: [(&str, InPlace); 4] = [
    ("never", InPlace::Never),
    ("force", InPlace::Force),
    ("util", InPlace::Util),
    ("small", InPlace::Small),
];
const CLEANS: [(&str, Clean); 2] = [
    ("greedy", Clean::Greedy),
    ("cost-benefit", Clean::CostBenefit),
];
const PICKS: [(&str, Pick); 2] = [("lowest", Pick::Lowest), ("next", Pick::Next)];
const TRIMS: [(&str, Trim); 3] = [
    ("none", Trim::None),
    ("idle", Trim::Idle),
    ("sync", Trim::Sync),
];

fn count(key: &str, value: &str, min: u64, max: u64) -> Result<u64, String> {
    let n = value.parse().ok().filter(|n| (min..=max).contains(n));
    n.ok_or_else(|| format!("{key}={value}: allowed: {min} to {max}"))
}

fn share(key: &str, value: &str) -> Result<f64, String> {
    let x = value.parse().ok().filter(|x: &f64| (0.0..=1.0).contains(x));
    x.ok_or_else(|| format!("{key}={value}: allowed: a share from 0 to 1"))
}

fn word<T: Copy>(key: &str, value: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|w| w.0 == value).map(|w| w.1);
    found.ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|w| w.0).collect();
        format!("{key}={value}: allowed: {}", names.join(", "))
    })
}

/// Name of a value in a table of words.
fn name_of<T: Copy + PartialEq>(value: T, words: &[(&'static str, T)]) -> &'static str {
    words.iter().find(|w| w.1 == value).map_or("", |w| w.0)
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
        for option in options.split(',').filter(|o| !o.is_empty()) {
            let (key, value) = option
                .split_once('=')
                .ok_or_else(|| format!("`{option}` is not KEY=VALUE"))?;
            config.set(&key.replace('_', "-"), value)?;
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
        let d = LfsConfig::default();
        let mut all = Vec::new();
        let mut add = |key: &str, differs: bool, value: String| {
            if differs {
                all.push(format!("{key}={value}"));
            }
        };
        let flag = |on| name_of(on, &FLAG).to_owned();
        let blocks = c.blocks.unwrap_or(0);
        add("blocks", c.blocks.is_some(), blocks.to_string());
        add("segment", c.segment != d.segment, c.segment.to_string());
        add("section", c.section != d.section, c.section.to_string());
        add("reserve", c.reserve != d.reserve, c.reserve.to_string());
        add("logs", c.logs != d.logs, c.logs.to_string());
        add("ipu", c.ipu != d.ipu, c.ipu.to_string());
        let policy = name_of(c.ipu_policy, &POLICIES).to_owned();
        add("ipu-policy", c.ipu_policy != d.ipu_policy, policy);
        add("ipu-util", c.ipu_util != d.ipu_util, c.ipu_util.to_string());
        add(
            "ipu-blocks",
            c.ipu_blocks != d.ipu_blocks,
            c.ipu_blocks.to_string(),
        );
        add(
            "nodes",
            c.nodes != d.nodes,
            name_of(c.nodes, &NODES).to_owned(),
        );
        add("node-pairs", !c.node_pairs, flag(c.node_pairs));
        add(
            "checkpoint",
            c.checkpoint_s > 0,
            format!("{}s", c.checkpoint_s),
        );
        add(
            "clean",
            c.clean != d.clean,
            name_of(c.clean, &CLEANS).to_owned(),
        );
        add(
            "alloc",
            c.alloc != d.alloc,
            name_of(c.alloc, &PICKS).to_owned(),
        );
        add("ssr", c.ssr, flag(c.ssr));
        add("trim", c.trim != d.trim, name_of(c.trim, &TRIMS).to_owned());
        add("fill", c.fill != d.fill, c.fill.to_string());
        add("prealloc", c.prealloc, flag(c.prealloc));
        match all.is_empty() {
            true => f.write_str("lfs"),
            false => write!(f, "lfs({})", all.join(",")),
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
            match text.contains("logs=6,reserve") {
                true => assert_eq!(again.unwrap(), "lfs(blocks=4096,reserve=3,logs=6)"),
                false => assert_eq!(again.unwrap(), text),
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
            ("lfs(logs=6)", "reserve=2: cleaning into 6 logs"),
            ("lfs(reserve=2", "closing parenthesis"),
        ] {
            let error = text.parse::<HostFs>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
