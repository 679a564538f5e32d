//! What rates under patterns of writes say of a drive: its physical space, how it chooses what it collects, and what
//! writes cost (D-17, D-21).
//!
//! A pattern decides over the write amplification W, whatever the drive's times are: `destage waf` gives it for each part
//! of a run on a scaled-down drive with the same share of spare space. Of all patterns together, the time of a write must
//! then be a + g (W - 1), or that of its command where this is longer.

mod price;
#[cfg(test)]
mod tests;

pub use price::WritePrices;

use crate::FitError;
use crate::measurements::{PARTS, PatternRun, SMALL_WRITE};
use crate::parallel;
use destage_device::config::{DeviceConfig, GcPolicy, GcStreams};
use destage_sim::waf::{WafPattern, WafPoint, WafSpec, WritePattern};
use std::sync::atomic::AtomicU64;

/// Blocks of the drive that stands for the measured one, and their pages.
const BLOCKS: (u32, u32) = (1024, 128);
/// A rule explains the patterns if those left out are off by at most this share on average.
const EXPLAINS: f64 = 0.06;
/// Blocks that `d-choices` draws.
const CHOICES: u32 = 8;
/// Seed of the patterns.
const SEED: u64 = 1;
/// Overwrites after which uniform writes are in their steady state.
const SETTLED: u32 = 3;

/// How collection chooses its victims, and where the data go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectionRule {
    /// Choice of the victim.
    pub policy: GcPolicy,
    /// Block that takes the copies.
    pub streams: GcStreams,
}

const fn rule(policy: GcPolicy, streams: GcStreams) -> CollectionRule {
    CollectionRule { policy, streams }
}

/// The rules that a fit tries. A drive without patterns gets the first.
pub const RULES: [CollectionRule; 4] = [
    rule(GcPolicy::Greedy, GcStreams::Own),
    rule(GcPolicy::Greedy, GcStreams::Shared),
    rule(GcPolicy::DChoices, GcStreams::Own),
    rule(GcPolicy::CostBenefit, GcStreams::Own),
];

impl CollectionRule {
    /// `KEY=VALUE` of a device.
    #[must_use]
    pub fn settings(&self) -> Vec<String> {
        let mut settings = vec![
            format!("gc_policy={}", self.policy),
            format!("gc_streams={}", self.streams),
        ];
        if self.policy == GcPolicy::DChoices {
            settings.push(format!("gc_choices={CHOICES}"));
        }
        settings
    }
}

/// The physical space of a drive: what it had filled and written when its rate first dropped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PhysicalSpace {
    /// The median of the runs, in bytes.
    pub bytes: u64,
    /// The least and the greatest.
    pub range: (u64, u64),
    /// Runs that tell.
    pub runs: usize,
    /// Share of it that the host cannot fill, with the largest span of all runs.
    pub op: f64,
}

impl PhysicalSpace {
    /// The space that runs tell: uniform ones, as others may overwrite whole blocks before space runs out.
    #[must_use]
    pub fn of(runs: &[PatternRun]) -> Option<PhysicalSpace> {
        let uniform = runs.iter().filter(|run| run.pattern == WafPattern::Uniform);
        let mut spaces: Vec<u64> = uniform
            .filter_map(|run| Some(run.span + run.drop_after?))
            .collect();
        spaces.sort_unstable();
        let bytes = *spaces.get(spaces.len() / 2)?;
        let span = runs.iter().map(|run| run.span).max()?;
        Some(PhysicalSpace {
            bytes,
            range: (spaces[0], spaces[spaces.len() - 1]),
            runs: spaces.len(),
            op: 1.0 - span as f64 / bytes as f64,
        })
    }
}

/// A rule beside the drive.
#[derive(Clone, Debug)]
pub struct RuleFit {
    /// The rule.
    pub rule: CollectionRule,
    /// Prices that fit all runs.
    pub prices: WritePrices,
    /// Mean error of the parts of each run, if prices are those that fit the others.
    pub left_out: Vec<f64>,
    /// The rates of each run with these prices.
    pub rates: Vec<[f64; PARTS]>,
}

impl RuleFit {
    /// Mean error of runs that were left out.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.left_out.iter().sum::<f64>() / self.left_out.len().max(1) as f64
    }
}

/// What the patterns of a drive say.
#[derive(Clone, Debug)]
pub struct PatternFit {
    /// The runs.
    pub runs: Vec<PatternRun>,
    /// Their physical space, if they show it.
    pub space: Option<PhysicalSpace>,
    /// The rules, the best first.
    pub rules: Vec<RuleFit>,
}

impl PatternFit {
    /// Fits the patterns of a drive, where `host` is the time of a write in ns if nothing is collected, as sequential
    /// writes show it. A drive that does not show its space has the share `op` of spare space.
    ///
    /// # Errors
    /// A pattern cannot be written.
    pub fn of(
        runs: &[PatternRun],
        host: Option<f64>,
        op: f64,
        workers: usize,
    ) -> Result<Option<PatternFit>, FitError> {
        let Some(last) = runs.iter().map(|run| run.span).max() else {
            return Ok(None);
        };
        let space = PhysicalSpace::of(runs);
        let bytes = space.map_or(last as f64 / (1.0 - op), |space| space.bytes as f64);
        for run in runs {
            let checked = run.waf_spec(run.span as f64 / bytes, &RULES[0]).check();
            checked.map_err(|why| FitError::Load {
                place: run.place.to_string(),
                why: why.to_string(),
            })?;
        }
        let mut specs: Vec<WafSpec> = Vec::new();
        for rule in &RULES {
            let fill = |run: &PatternRun| run.span as f64 / bytes;
            specs.extend(runs.iter().map(|run| run.waf_spec(fill(run), rule)));
        }
        let tenths = parallel::map(&specs, workers, |spec| Ok(run(spec)?.tenths))?;
        let of_rules = tenths.chunks(runs.len()).zip(RULES);
        let mut rules: Vec<RuleFit> = of_rules
            .map(|(tenths, rule)| price::fit(rule, runs, tenths, host))
            .collect();
        rules.sort_by(|a, b| a.error().total_cmp(&b.error()));
        Ok(Some(PatternFit {
            runs: runs.to_vec(),
            space,
            rules,
        }))
    }

    /// The best rule.
    #[must_use]
    pub fn best(&self) -> &RuleFit {
        &self.rules[0]
    }

    /// Does the best rule explain the patterns?
    #[must_use]
    pub fn explains(&self) -> bool {
        self.best().error() <= EXPLAINS
    }
}

impl PatternRun {
    /// The same writes for `destage waf`, on a drive whose host can write the share `fill` of the space. Its tenths are the
    /// parts of the run.
    fn waf_spec(&self, fill: f64, rule: &CollectionRule) -> WafSpec {
        let pattern = WritePattern {
            zipf_pages: matches!(self.pattern, WafPattern::Zipf(_))
                .then_some(self.span / SMALL_WRITE),
            at: self.pattern.clone(),
            sequential: 0.0,
        };
        WafSpec {
            overwrites: (libm::round(self.volume) as u32).max(1),
            ..point(pattern, fill, rule)
        }
    }
}

/// Units that collection moves for each of uniform writes in their steady state, if the share `op` is spare.
///
/// # Errors
/// No drive has that much or that little spare space.
pub fn moved_by_uniform_writes(op: f64, rule: &CollectionRule) -> Result<f64, FitError> {
    let pattern = WritePattern {
        at: WafPattern::Uniform,
        zipf_pages: None,
        sequential: 0.0,
    };
    let spec = WafSpec {
        warmup: SETTLED,
        ..point(pattern, 1.0 - op, rule)
    };
    Ok((run(&spec)?.write_amplification() - 1.0).max(0.0))
}

/// Mapping units of a write of a pattern. A part of a unit costs a whole one (D-17).
pub(crate) fn units_of_small_write(device: &DeviceConfig) -> f64 {
    SMALL_WRITE.div_ceil(device.mapping().bytes()) as f64
}

fn run(spec: &WafSpec) -> Result<WafPoint, FitError> {
    let point = spec.run(&AtomicU64::new(0));
    point.map_err(|error| FitError::Simulation(error.to_string()))
}

fn point(pattern: WritePattern, fill: f64, rule: &CollectionRule) -> WafSpec {
    WafSpec {
        pattern,
        blocks: BLOCKS.0,
        pages_per_block: BLOCKS.1,
        fill,
        streams: rule.streams,
        policy: rule.policy,
        choices: CHOICES,
        buffer: 0,
        warmup: 0,
        overwrites: SETTLED,
        seed: SEED,
    }
}
