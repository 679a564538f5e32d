//! All combinations of the values that the options list.

use crate::args::WafArgs;
use destage_console::failure::Failure;
use destage_device::config::{GcPolicy, GcStreams};
use destage_device::map::pool::PoolError;
use destage_experiment::bounds::Factors;
use destage_sim::waf::{WafError, WafPattern, WafSpec, WafZone, WritePattern};

/// Options that may have several values at a time: a table has rows, a chart an axis and series.
const MOST_AXES: usize = 2;

/// One value of an option.
#[derive(Clone, PartialEq, Debug)]
pub enum Setting {
    /// `--zipf`.
    Zipf(f64),
    /// `--zones`.
    Zones(Vec<WafZone>),
    /// `--sequential`.
    Sequential(f64),
    /// `--fill`.
    Fill(f64),
    /// `--blocks`.
    Blocks(u32),
    /// `--pages-per-block`.
    PagesPerBlock(u32),
    /// `--victim`.
    Victim(GcPolicy),
    /// `--choices`.
    Choices(u32),
    /// `--streams`.
    Streams(GcStreams),
    /// `--buffer`.
    Buffer(u32),
}

/// Zones as the option has them.
pub fn zones_text(zones: &[WafZone]) -> String {
    let zone = |zone: &WafZone| format!("{}:{}", zone.space, zone.writes);
    zones.iter().map(zone).collect::<Vec<_>>().join("+")
}

impl Setting {
    fn apply(&self, spec: &mut WafSpec) {
        match self {
            Setting::Zipf(theta) => spec.pattern.at = WafPattern::Zipf(*theta),
            Setting::Zones(zones) => spec.pattern.at = WafPattern::Zones(zones.clone()),
            Setting::Sequential(share) => spec.pattern.sequential = *share,
            Setting::Fill(fill) => spec.fill = *fill,
            Setting::Blocks(blocks) => spec.blocks = *blocks,
            Setting::PagesPerBlock(pages) => spec.pages_per_block = *pages,
            Setting::Victim(policy) => spec.policy = *policy,
            Setting::Choices(choices) => spec.choices = *choices,
            Setting::Streams(streams) => spec.streams = *streams,
            Setting::Buffer(pages) => spec.buffer = *pages,
        }
    }

    /// Its text.
    pub fn text(&self) -> String {
        match self {
            Setting::Zones(zones) => zones_text(zones),
            Setting::Victim(policy) => policy.to_string(),
            Setting::Streams(streams) => streams.to_string(),
            Setting::Zipf(x) | Setting::Sequential(x) | Setting::Fill(x) => x.to_string(),
            Setting::Blocks(n)
            | Setting::PagesPerBlock(n)
            | Setting::Choices(n)
            | Setting::Buffer(n) => n.to_string(),
        }
    }

    /// Its place on an axis of numbers.
    pub fn number(&self) -> Option<f64> {
        match self {
            Setting::Zipf(x) | Setting::Sequential(x) | Setting::Fill(x) => Some(*x),
            Setting::Blocks(n)
            | Setting::PagesPerBlock(n)
            | Setting::Choices(n)
            | Setting::Buffer(n) => Some(f64::from(*n)),
            Setting::Zones(_) | Setting::Victim(_) | Setting::Streams(_) => None,
        }
    }
}

/// An option with its values.
pub struct GridAxis {
    /// Its name, without `--`.
    pub option: &'static str,
    /// Its values, each once.
    pub values: Vec<Setting>,
}

/// One combination.
pub struct GridPoint {
    /// The simulation of the point.
    pub spec: WafSpec,
    /// Its value on each axis.
    pub settings: Vec<Setting>,
}

/// All combinations.
pub struct WafGrid {
    /// Options with several values.
    pub axes: Vec<GridAxis>,
    /// The combinations, the last axis changing fastest.
    pub points: Vec<GridPoint>,
}

impl WafGrid {
    /// The combinations that `args` ask for.
    ///
    /// # Errors
    /// Too many options have several values, or values do not go together: all faults.
    pub fn new(args: &WafArgs) -> Result<WafGrid, Failure> {
        let (fixed, axes): (Vec<GridAxis>, Vec<GridAxis>) = axes(args)
            .into_iter()
            .partition(|axis| axis.values.len() == 1);
        if axes.len() > MOST_AXES {
            let names: Vec<String> = axes.iter().map(|a| format!("--{}", a.option)).collect();
            return Err(Failure::usage(format!(
                "{} have several values; allowed: two options with several values",
                names.join(", ")
            )));
        }
        let factors = axes.iter().fold(Factors::default(), |factors, axis| {
            factors.with(axis.values.len(), format!("values of --{}", axis.option))
        });
        factors.check("points").map_err(Failure::usage)?;
        let mut base = defaults(args);
        fixed
            .iter()
            .for_each(|axis| axis.values[0].apply(&mut base));
        let mut points = vec![GridPoint {
            spec: base,
            settings: Vec::new(),
        }];
        for axis in &axes {
            let with = |point: &GridPoint| -> Vec<GridPoint> {
                axis.values.iter().map(|v| point.with(v)).collect()
            };
            points = points.iter().flat_map(with).collect();
        }
        let mut faults: Vec<String> = Vec::new();
        if !args.choices.is_empty() && !args.victim.contains(&GcPolicy::DChoices) {
            let fault = "--choices: only d-choices draws blocks. Add --victim d-choices";
            faults.push(fault.to_owned());
        }
        for point in &points {
            if let Err(error) = point.spec.check() {
                let fault = fault(&point.spec, &error);
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
        }
        Failure::unless_none(faults)?;
        Ok(WafGrid { axes, points })
    }
}

impl GridPoint {
    fn with(&self, value: &Setting) -> GridPoint {
        let (mut spec, mut settings) = (self.spec.clone(), self.settings.clone());
        value.apply(&mut spec);
        settings.push(value.clone());
        GridPoint { spec, settings }
    }
}

fn defaults(args: &WafArgs) -> WafSpec {
    WafSpec {
        pattern: WritePattern {
            at: WafPattern::Uniform,
            sequential: 0.0,
            zipf_pages: args.zipf_pages,
        },
        blocks: 2048,
        pages_per_block: 512,
        fill: 0.875,
        streams: GcStreams::Shared,
        policy: GcPolicy::Greedy,
        choices: 10,
        buffer: 0,
        warmup: args.warmup.unwrap_or(1),
        overwrites: args.overwrites.unwrap_or(10),
        seed: args.random.seed(),
    }
}

/// The options that were given.
fn axes(args: &WafArgs) -> Vec<GridAxis> {
    fn axis<T: Clone>(option: &'static str, given: &[T], of: fn(T) -> Setting) -> Option<GridAxis> {
        let mut values = Vec::new();
        for value in given.iter().cloned().map(of) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        (!values.is_empty()).then_some(GridAxis { option, values })
    }
    let all = [
        axis("zipf", &args.zipf, Setting::Zipf),
        axis("zones", &args.zones, |zones| Setting::Zones(zones.0)),
        axis("sequential", &args.sequential, Setting::Sequential),
        axis("fill", &args.fill, Setting::Fill),
        axis("blocks", &args.blocks, Setting::Blocks),
        axis(
            "pages-per-block",
            &args.pages_per_block,
            Setting::PagesPerBlock,
        ),
        axis("victim", &args.victim, Setting::Victim),
        axis("choices", &args.choices, Setting::Choices),
        axis("streams", &args.streams, Setting::Streams),
        axis("buffer", &args.buffer, Setting::Buffer),
    ];
    all.into_iter().flatten().collect()
}

/// The message about a wrong point, with its options and a remedy.
fn fault(spec: &WafSpec, error: &WafError) -> String {
    let (fill, streams) = (spec.fill, spec.streams);
    let shape = format!(
        "--blocks {}, --pages-per-block {}",
        spec.blocks, spec.pages_per_block
    );
    match error {
        WafError::Fill(_) => format!("--fill {fill}: {error}"),
        WafError::Pool(PoolError::Shape { .. }) => format!("{shape}: {error}"),
        WafError::Pool(PoolError::NoLogicalPage) => {
            format!("--fill {fill}, {shape}: {error}. Choose a larger --fill")
        }
        WafError::Pool(PoolError::Spare { .. }) => format!(
            "--fill {fill}, --streams {streams}, {shape}: {error}. Choose a smaller --fill, or more \
             --blocks"
        ),
        WafError::Pool(PoolError::Policy { policy, .. }) => format!(
            "--victim {policy}, --streams {streams}: {error}. Leave --victim out: its victims have \
             the fewest valid pages"
        ),
        WafError::Buffer { buffer, .. } => format!("--buffer {buffer}: {error}"),
        WafError::Pattern(_) => match &spec.pattern.at {
            WafPattern::Zones(zones) => format!("--zones {}: {error}", zones_text(zones)),
            WafPattern::Zipf(theta) => match spec.pattern.zipf_pages {
                Some(pages) => format!("--zipf {theta}, --zipf-pages {pages}: {error}"),
                None => format!("--zipf {theta}: {error}"),
            },
            WafPattern::Uniform => format!("--sequential: {error}"),
        },
        WafError::NoOverwrite => format!("--overwrites: {error}"),
    }
}
