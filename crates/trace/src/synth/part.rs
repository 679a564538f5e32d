//! One part of a generated workload, and how it is written: `at=zipf(0.9),space=2GiB,writes=0.7`.

use destage_types::{ByteSize, SECTOR_BYTES, nearest};

use crate::MAX_BYTES;

/// Where the requests of a part begin.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum At {
    /// Every unit alike.
    Uniform,
    /// Around the middle of the space, with that standard deviation in units; what falls outside
    /// is drawn again.
    Normal(f64),
    /// Unit of rank r with weight (r + 1)^-theta; ranks lie scattered over the space.
    Zipf(f64),
    /// Where the request before it ended; at the end of the space from its start again.
    Sequential,
}

/// One part of a workload. A text gives its keys in any order: `key=value,key=value`.
#[derive(Clone, PartialEq, Debug)]
pub struct SynthPart {
    /// `weight`: its share of the requests against that of the other parts. Default 1.
    pub weight: u64,
    /// `rate`: requests a second of a Poisson process of its own, in place of a share of the requests
    /// of all parts. They have the number of the part, from 0 on, as stream. Default: none.
    pub rate: Option<f64>,
    /// `at`: `uniform` (default), `normal(SIGMA)`, `zipf(THETA)` or `sequential`.
    pub at: At,
    /// `zipf-pages`: units of the drive that those of `at=zipf(THETA)` stand for, if it is scaled down; no fewer than the
    /// space has. Default: those of the space.
    pub zipf_pages: Option<u64>,
    /// `start`: first byte of its space. Default 0.
    pub start: u64,
    /// `space`: bytes that it goes to. Default 1GiB.
    pub space: u64,
    /// `unit`: bytes that one place of `at` stands for. Default 4KiB.
    pub unit: u64,
    /// `inside`: a request begins at any multiple of that many bytes in its unit. Default: the
    /// unit, so at its beginning.
    pub inside: u64,
    /// `streams`: sequential runs that go on side by side, each in its own part of the space.
    /// Default 1.
    pub streams: u64,
    /// `run`: bytes after which a sequential run jumps to another unit. Default: never.
    pub run: Option<u64>,
    /// `writes`: share of writes, 0 to 1. Default 1.
    pub writes: f64,
    /// `fua`: share of the writes that have FUA, 0 to 1. Default 0.
    pub fua: f64,
    /// `preflush`: share of the writes that have a preflush, 0 to 1. Default 0.
    pub preflush: f64,
    /// `size`: bytes of a request, `4KiB`, or several with their weights, `4KiB:3+64KiB:1`.
    /// Default 4KiB.
    pub size: Vec<(u64, u64)>,
}

/// Most units of a space: ranks are counted in 32 bits, and `zipf` keeps 8 B for each.
const MAX_UNITS: u64 = 1 << 31;
/// Largest request: 1 GiB.
const MAX_SIZE: u64 = 1 << 30;
const MAX_STREAMS: u64 = 1 << 16;

/// Largest rate. There, the rounding of times to ns raises it by 0.04 %.
const MAX_RATE: f64 = 1e8;

#[rustfmt::skip]
const KEYS: [&str; 14] = [
    "weight", "rate", "at", "zipf-pages", "start", "space", "unit", "inside", "streams", "run", "writes", "fua",
    "preflush", "size",
];

impl Default for SynthPart {
    fn default() -> SynthPart {
        SynthPart {
            weight: 1,
            rate: None,
            at: At::Uniform,
            zipf_pages: None,
            start: 0,
            space: 1 << 30,
            unit: 4096,
            inside: 4096,
            streams: 1,
            run: None,
            writes: 1.0,
            fua: 0.0,
            preflush: 0.0,
            size: vec![(1, 4096)],
        }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let size = ByteSize::parse(text).map_err(|e| e.to_string())?.0;
    let right = size.is_multiple_of(SECTOR_BYTES) && size <= MAX_BYTES;
    let wrong = || format!("`{text}` is no multiple of 512B up to 256TiB");
    right.then_some(size).ok_or_else(wrong)
}

fn whole(text: &str, most: u64) -> Result<u64, String> {
    match text.parse() {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err(format!("`{text}` is no whole number from 1 to {most}")),
    }
}

fn real(text: &str, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if (0.0..=most).contains(&x) => Ok(x),
        _ => Err(format!("`{text}` is no number from 0 to {most}")),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= MAX_RATE => Ok(x),
        _ => {
            let number = "is no number of requests a second above 0 and up to";
            Err(format!("`{text}` {number} {MAX_RATE}"))
        }
    }
}

fn at(text: &str) -> Result<At, String> {
    let argument = |name: &str| text.strip_prefix(name)?.strip_suffix(')');
    match text {
        "uniform" => Ok(At::Uniform),
        "sequential" => Ok(At::Sequential),
        _ => match (argument("normal("), argument("zipf(")) {
            (Some(sigma), _) => match real(sigma, 1e9)? {
                0.0 => Err("a normal distribution needs a standard deviation above 0".to_owned()),
                sigma => Ok(At::Normal(sigma)),
            },
            (_, Some(theta)) => real(theta, 10.0).map(At::Zipf),
            _ => {
                let allowed = "uniform, normal(SIGMA), zipf(THETA), sequential";
                Err(format!("`{text}` is none of {allowed}"))
            }
        },
    }
}

fn sizes(text: &str) -> Result<Vec<(u64, u64)>, String> {
    let one = |text: &str| {
        let (size, weight) = text.split_once(':').unwrap_or((text, "1"));
        let size = bytes(size)?;
        match size {
            1..=MAX_SIZE => Ok((whole(weight, 1 << 32)?, size)),
            _ => Err(format!("`{text}`: a request has 512B to 1GiB")),
        }
    };
    text.split('+').map(one).collect()
}

impl SynthPart {
    /// Reads the text of a part.
    ///
    /// # Errors
    /// The fault and the allowed values.
    pub fn parse(text: &str) -> Result<SynthPart, String> {
        let mut part = SynthPart::default();
        let mut inside = None;
        let mut given: Vec<&str> = Vec::new();
        for word in text.split(',') {
            let none = || format!("`{word}` is no key=value; keys: {}", KEYS.join(", "));
            let (key, value) = word.split_once('=').ok_or_else(none)?;
            if given.contains(&key) {
                return Err(format!("`{key}` is given twice"));
            }
            given.push(key);
            let named = |why: String| format!("{key}: {why}");
            match key {
                "weight" => part.weight = whole(value, 1 << 32).map_err(named)?,
                "rate" => part.rate = Some(rate(value).map_err(named)?),
                "at" => part.at = at(value).map_err(named)?,
                "zipf-pages" => part.zipf_pages = Some(whole(value, 1 << 40).map_err(named)?),
                "start" => part.start = bytes(value).map_err(named)?,
                "space" => part.space = bytes(value).map_err(named)?,
                "unit" => part.unit = bytes(value).map_err(named)?,
                "inside" => inside = Some(bytes(value).map_err(named)?),
                "streams" => part.streams = whole(value, MAX_STREAMS).map_err(named)?,
                "run" => part.run = Some(bytes(value).map_err(named)?),
                "writes" => part.writes = real(value, 1.0).map_err(named)?,
                "fua" => part.fua = real(value, 1.0).map_err(named)?,
                "preflush" => part.preflush = real(value, 1.0).map_err(named)?,
                "size" => part.size = sizes(value).map_err(named)?,
                _ => return Err(unknown(key)),
            }
        }
        if part.rate.is_some() && given.contains(&"weight") {
            const BOTH: &str =
                "weight, rate: a part with a rate has no weight; leave out one of them";
            return Err(BOTH.to_owned());
        }
        part.inside = inside.unwrap_or(part.unit);
        part.check()?;
        Ok(part)
    }

    /// Units of the space.
    pub(super) fn units(&self) -> u64 {
        self.space / self.unit
    }

    fn check(&self) -> Result<(), String> {
        let largest = self.size.iter().map(|s| s.1).max().unwrap_or(0);
        let sequential = self.at == At::Sequential;
        let fault = if self.unit == 0 || !self.space.is_multiple_of(self.unit) || self.space == 0 {
            "space: it must be a multiple of the unit"
        } else if self.zipf_pages.is_some() && !matches!(self.at, At::Zipf(_)) {
            "zipf-pages: only at=zipf(THETA) has them"
        } else if self.zipf_pages.is_some_and(|pages| pages < self.units()) {
            "zipf-pages: the units of the space cannot stand for fewer"
        } else if self.units() > MAX_UNITS {
            "space: it has more than 2^31 units"
        } else if self.start > MAX_BYTES - self.space {
            "space: it ends behind 256TiB"
        } else if self.inside == 0 || !self.unit.is_multiple_of(self.inside) {
            "inside: it must divide the unit"
        } else if !sequential && (self.streams > 1 || self.run.is_some()) {
            "streams, run: only at=sequential has them"
        } else if self.run == Some(0) || self.units() < self.streams {
            "streams, run: a run needs at least one unit"
        } else if largest > self.space / self.units().min(self.streams) {
            "size: a request is larger than the space (of a stream)"
        } else {
            return Ok(());
        };
        Err(fault.to_owned())
    }
}

fn unknown(key: &str) -> String {
    let (nearest, known) = (nearest(key, KEYS).unwrap_or_default(), KEYS.join(", "));
    format!("unknown key `{key}`; did you mean `{nearest}`? known: {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_defaults() {
        let text = "at=zipf(0.9),space=2GiB,unit=64KiB,inside=4KiB,writes=0.7,size=4KiB:45+64k:8";
        let part = SynthPart::parse(text).unwrap();
        let want = SynthPart {
            at: At::Zipf(0.9),
            space: 2 << 30,
            unit: 64 << 10,
            inside: 4 << 10,
            writes: 0.7,
            size: vec![(45, 4096), (8, 65536)],
            ..SynthPart::default()
        };
        assert_eq!(part, want);
        let parse = |text| SynthPart::parse(text).unwrap();
        let part = parse("weight=3,at=sequential,streams=4,run=1MiB,start=1GiB");
        assert_eq!(parse("rate=5892.3").rate, Some(5892.3));
        assert_eq!((part.weight, part.streams, part.run), (3, 4, Some(1 << 20)));
        // The unit as it is given.
        assert_eq!(parse("unit=8KiB").inside, 8192);
    }

    const FAULTS: &str = "
         => no key=value
        wirtes=1 => did you mean `writes`
        writes=1.5 => writes: `1.5` is no number from 0 to 1
        writes=0.5,writes=0.6 => given twice
        fua=2 => fua: `2` is no number from 0 to 1
        preflush=x => preflush: `x` is no number from 0 to 1
        space=16 => space:
        space=700B => multiple of 512B
        space=5KiB => multiple of the unit
        space=512TiB => up to 256TiB
        start=256TiB => behind 256TiB
        at=pareto => none of uniform
        at=normal(0) => above 0
        at=zipf(x) => `x` is no number
        at=zipf(NaN) => `NaN` is no number
        size=4KiB:0 => `0` is no whole number
        size=0k => 512B to 1GiB
        size=4KiB+ => size:
        inside=3KiB => must divide
        streams=2 => only at=sequential
        at=sequential,streams=4,space=16KiB,size=8KiB => larger than the space
        size=2MiB,space=1MiB => larger than the space
        weight=0 => weight:
        rate=0 => rate: `0` is no number of requests a second above 0
        rate=-3 => rate:
        rate=NaN => rate:
        rate=100000001 => up to 100000000
        rate=9,weight=1 => a part with a rate has no weight";

    #[test]
    fn faults_name_the_key_and_what_is_allowed() {
        for row in FAULTS.lines().skip(1) {
            let (text, part) = row.split_once("=> ").unwrap();
            let error = SynthPart::parse(text.trim()).unwrap_err();
            assert!(error.contains(part), "`{text}`: {error}");
        }
    }
}
