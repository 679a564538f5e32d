//! Workloads with a name.

use destage_types::{Nanos, Picos, nearest};

use super::part::SynthPart;
use super::workload::{Arrival, Synth};

/// A named workload.
pub struct SynthPreset {
    /// Its name.
    pub name: &'static str,
    /// Its description and its source.
    pub about: &'static str,
    /// Its parts as text.
    pub parts: &'static [&'static str],
    /// Number of requests.
    pub requests: u64,
    /// When they arrive, as text.
    pub arrival: &'static str,
    /// Mean time between two requests, as text.
    pub gap: &'static str,
}

const ECR_UNIFORM: &str = "Chen et al., ECR, section 4.1: one-page requests, uniform over 300 MB; the \
    paper tells neither the arrivals nor their rate";
const ECR_NORMAL: &str = "Chen et al., ECR, section 4.1: one-page requests, normal with sigma 10 000 \
    pages; read as around the middle of 64 Ki pages, what falls outside drawn again";

const fn ecr(
    name: &'static str,
    about: &'static str,
    parts: &'static [&'static str],
) -> SynthPreset {
    SynthPreset {
        name,
        about,
        parts,
        requests: 2_000_000,
        arrival: "poisson",
        gap: "100us",
    }
}

/// All named workloads.
pub const PRESETS: &[SynthPreset] = &[
    SynthPreset {
        name: "common",
        about: "The usual load of comparisons of device simulators: 70 % writes of 4 to 64 KiB, the 64 KiB \
                chunk by Zipf(0.9) over 2 GiB",
        parts: &["at=zipf(0.9),space=2GiB,unit=64KiB,inside=4KiB,writes=0.7,\
             size=4KiB:45+8KiB:20+16KiB:15+32KiB:12+64KiB:8"],
        requests: 1_000_000,
        arrival: "poisson",
        gap: "1ms",
    },
    SynthPreset {
        name: "zipf-pages",
        about: "The usual load of comparisons of cache simulators: single pages by Zipf(0.9) over 2 million",
        parts: &["at=zipf(0.9),space=8000000KiB,writes=0"],
        requests: 20_000_000,
        arrival: "constant",
        gap: "10us",
    },
    ecr(
        "ecr-uniform-20",
        ECR_UNIFORM,
        &["at=uniform,space=300MiB,writes=0.2"],
    ),
    ecr(
        "ecr-uniform-40",
        ECR_UNIFORM,
        &["at=uniform,space=300MiB,writes=0.4"],
    ),
    ecr(
        "ecr-uniform-60",
        ECR_UNIFORM,
        &["at=uniform,space=300MiB,writes=0.6"],
    ),
    ecr(
        "ecr-uniform-80",
        ECR_UNIFORM,
        &["at=uniform,space=300MiB,writes=0.8"],
    ),
    ecr(
        "ecr-normal-20",
        ECR_NORMAL,
        &["at=normal(10000),space=256MiB,writes=0.2"],
    ),
    ecr(
        "ecr-normal-40",
        ECR_NORMAL,
        &["at=normal(10000),space=256MiB,writes=0.4"],
    ),
    ecr(
        "ecr-normal-60",
        ECR_NORMAL,
        &["at=normal(10000),space=256MiB,writes=0.6"],
    ),
    ecr(
        "ecr-normal-80",
        ECR_NORMAL,
        &["at=normal(10000),space=256MiB,writes=0.8"],
    ),
    SynthPreset {
        name: "sequential",
        about: "One writer from the first byte to the last, again and again",
        parts: &["at=sequential,space=4GiB,size=128KiB"],
        requests: 100_000,
        arrival: "constant",
        gap: "1ms",
    },
    SynthPreset {
        name: "streams",
        about: "Eight writers of runs of 4 MiB side by side",
        parts: &["at=sequential,space=8GiB,streams=8,run=4MiB,size=8KiB:1+32KiB:2+128KiB:1"],
        requests: 100_000,
        arrival: "poisson",
        gap: "500us",
    },
    SynthPreset {
        name: "hot-cold",
        about: "Small skewed writes and reads beside large streams, in bursts",
        parts: &[
            "weight=6,at=zipf(1),space=256MiB,writes=0.8,size=4KiB:5+8KiB:2+16KiB:1",
            "weight=2,at=sequential,start=1GiB,space=4GiB,streams=4,run=2MiB,size=64KiB",
            "weight=2,at=uniform,space=8GiB,writes=0,size=4KiB:1+16KiB:1",
        ],
        requests: 500_000,
        arrival: "bursts(32,30us)",
        gap: "400us",
    },
];

impl SynthPreset {
    /// The workload with a seed.
    ///
    /// # Panics
    /// Never: a test reads every preset.
    pub fn synth(&self, seed: u64) -> Synth {
        let part = |text: &&str| SynthPart::parse(text).expect("a test reads every preset");
        let gap = Picos::parse(self.gap).map_or(Nanos(1), |gap| gap.times(1));
        Synth {
            name: self.name.to_owned(),
            parts: self.parts.iter().map(part).collect(),
            requests: self.requests,
            arrival: Arrival::parse(self.arrival).expect("a test reads every preset"),
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
    let known: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
    let nearest = nearest(name, known.iter().copied()).unwrap_or_default();
    Err(format!(
        "unknown workload `{name}`; did you mean `{nearest}`? known: {}",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::Op;

    #[test]
    fn every_preset_is_a_workload() {
        for preset in PRESETS {
            let mut synth = preset.synth(1);
            assert_eq!(synth.check(), Ok(()), "{}", preset.name);
            assert!(synth.gap > Nanos(1), "{}", preset.name);
            if preset.name == "zipf-pages" {
                continue; // Its table of 2 million ranks takes a second.
            }
            synth.requests = 1_000;
            assert_eq!(synth.generate().requests.len(), 1_000);
        }
        assert!(
            preset("comon")
                .err()
                .unwrap()
                .contains("did you mean `common`")
        );
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
                assert!(
                    records
                        .iter()
                        .all(|r| r.sectors == 8 && r.start_sector % 8 == 0)
                );
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
