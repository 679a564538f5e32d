//! Workloads with a name.

use std::sync::LazyLock;

use destage_types::{Nanos, Picos, nearest};
use serde::Deserialize;

use super::part::SynthPart;
use super::workload::{Arrival, Synth};

/// A named workload.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SynthPreset {
    /// Its name.
    pub name: String,
    /// Its description and its source.
    pub about: String,
    /// Its parts as text.
    pub parts: Vec<String>,
    /// Number of requests.
    pub requests: u64,
    /// When they arrive, as text.
    pub arrival: String,
    /// Mean time between two requests, as text.
    pub gap: String,
}

#[derive(Deserialize)]
struct Presets {
    workload: Vec<SynthPreset>,
}

/// All named workloads.
pub static PRESETS: LazyLock<Vec<SynthPreset>> = LazyLock::new(|| {
    let presets: Result<Presets, _> = toml::from_str(include_str!("presets.toml"));
    presets.map_or_else(|_| Vec::new(), |presets| presets.workload)
});

impl SynthPreset {
    /// The workload with a seed.
    ///
    /// # Panics
    /// Never: a test reads every preset.
    pub fn synth(&self, seed: u64) -> Synth {
        let part = |text: &String| SynthPart::parse(text).expect("a test reads every preset");
        let gap = Picos::parse(&self.gap).map_or(Nanos(1), |gap| gap.times(1));
        Synth {
            name: self.name.clone(),
            parts: self.parts.iter().map(part).collect(),
            requests: self.requests,
            arrival: Arrival::parse(&self.arrival).expect("a test reads every preset"),
            gap,
            seed,
        }
    }
}

/// The preset of that name.
///
/// # Errors
/// The nearest known name.
pub fn preset(name: &str) -> Result<&'static SynthPreset, String> {
    if let Some(preset) = PRESETS.iter().find(|p| p.name == name) {
        return Ok(preset);
    }
    let known: Vec<&'static str> = PRESETS.iter().map(|p| p.name.as_str()).collect();
    let nearest = nearest(name, known.iter().copied()).unwrap_or_default();
    Err(format!(
        "unknown workload `{name}`; did you mean `{nearest}`? known: {}",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::{HostRequest, Op};

    #[test]
    fn every_preset_is_a_workload() {
        assert!(PRESETS.len() > 10);
        for preset in PRESETS.iter() {
            let mut synth = preset.synth(1);
            assert_eq!(synth.check(), Ok(()), "{}", preset.name);
            assert!(synth.gap > Nanos(1), "{}", preset.name);
            if preset.name == "zipf-pages" {
                continue; // Its table of 2 million ranks takes a second.
            }
            synth.requests = 1_000;
            assert_eq!(synth.generate().requests.len(), 1_000);
        }
        let error = preset("comon").unwrap_err();
        assert!(error.contains("did you mean `common`"), "{error}");
    }

    #[test]
    fn the_workloads_of_ecr_are_what_the_paper_says() {
        for (kind, pages) in [("uniform", 76_800), ("normal", 65_536)] {
            for writes in [20, 40, 60, 80] {
                let preset = preset(&format!("ecr-{kind}-{writes}")).unwrap();
                let mut synth = preset.synth(7);
                assert_eq!(synth.requests, 2_000_000);
                synth.requests = 50_000;
                let trace = synth.generate();
                let records = trace.requests.records();
                let whole = |r: &HostRequest| r.sectors == 8 && r.start_sector.is_multiple_of(8);
                assert!(records.iter().all(whole));
                assert!(records.iter().all(|r| r.start_sector < 8 * pages));
                let written = records.iter().filter(|r| r.op == Op::Write).count() as f64;
                let share = 100.0 * written / 50_000.0;
                assert!((share - f64::from(writes)).abs() < 1.0, "{share}");
                let off = |s: u64| s as f64 / 8.0 - pages as f64 / 2.0;
                let square: f64 = records.iter().map(|r| off(r.start_sector).powi(2)).sum();
                let sigma = (square / 50_000.0).sqrt();
                // sqrt((w^2 - 1) / 12) of the uniform one; little is cut off the normal one.
                let want = [22_170.0, 9_940.0][usize::from(kind == "normal")];
                assert!((sigma / want - 1.0).abs() < 0.02, "{kind} {sigma}");
            }
        }
    }

    #[test]
    fn the_common_workload_is_that_of_the_comparison() {
        let mut synth = preset("common").unwrap().synth(1);
        synth.requests = 20_000;
        let trace = synth.generate();
        let records = trace.requests.records();
        let writes = records.iter().filter(|r| r.op == Op::Write).count();
        assert!((13_800..14_200).contains(&writes), "{writes}");
        // .45 + .4 + .6 + .96 + 1.28 = 3.69 pages a request.
        let pages: u32 = records.iter().map(|r| r.sectors / 8).sum();
        assert!((72_000..75_600).contains(&pages), "{pages}");
        let last = records[records.len() - 1].arrival.0 as f64 * 1e-9;
        assert!((19.4..20.6).contains(&last), "{last}");
    }
}
