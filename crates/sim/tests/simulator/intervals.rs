//! The law of sampled curves: 95 % of their intervals contain the exact ratio, whatever the scheme and the load.

use crate::curve::{curve, sizes, spec};
use crate::drawn_load::drawn_load;
use destage_scheme::rng::SplitMix64;
use destage_scheme::{DefaultValue, Kind, ReadAlloc, Role, SchemeInfo, registry};
use destage_sim::curve::{
    CurveError, CurvePoint, SampleSize, SampledPoint, Sampling, checked_by_runs, footprint,
};
use destage_sim::{RunSpec, Unmetered, Warmup};
use destage_trace::Trace;
use destage_types::{ByteSize, PageSize};
use std::collections::BTreeMap;

/// Intervals, and how many contain the truth.
#[derive(Clone, Copy, Default)]
struct Covered {
    inside: usize,
    all: usize,
}

impl Covered {
    fn add(&mut self, sampled: &SampledPoint, exact: &CurvePoint) {
        let counts = &exact.counts;
        for (estimate, truth) in [
            (sampled.page_hit_ratio, counts.page_hit_ratio()),
            (sampled.read_page_hit_ratio, counts.read_page_hit_ratio()),
            (sampled.write_page_hit_ratio, counts.write_page_hit_ratio()),
        ] {
            let (Some(e), Some(truth)) = (estimate, truth) else {
                continue;
            };
            assert!(0.0 <= e.low && e.low <= e.value && e.value <= e.high && e.high <= 1.0);
            if sampled.by_run {
                assert_eq!([e.low, e.value, e.high], [truth; 3]);
                continue;
            }
            // Beyond what real numbers round to.
            self.inside += usize::from(e.low - 1e-9 <= truth && truth <= e.high + 1e-9);
            self.all += 1;
        }
    }

    fn share(self) -> f64 {
        self.inside as f64 / self.all.max(1) as f64
    }
}

/// What is asked of a curve.
struct Asked {
    base: RunSpec,
    sizes: Vec<ByteSize>,
    sampling: Sampling,
}

/// The scheme, some of whose parameters count frames or accesses by a number of their own.
fn drawn_settings(random: &mut SplitMix64, scheme: &SchemeInfo, pages: u64) -> String {
    let mut pick = |n: u64| (random.next_u64() >> 11) % n;
    let settings = scheme.params().filter_map(|param| {
        let value = match (param.kind, param.default) {
            (Kind::Integer { min, .. }, DefaultValue::Frames { .. }) => {
                (min + pick(1 + pages / 8)).to_string()
            }
            (Kind::Integer { .. }, _) if param.unit == "accesses" => {
                pick(1 + pages / 8).to_string()
            }
            (Kind::Real(_), _) if param.unit == "per access" => {
                format!("0.{}1", "0".repeat(pick(5) as usize))
            }
            _ => return None,
        };
        (pick(2) == 0).then(|| format!("{}={value}", param.key))
    });
    let settings: Vec<String> = settings.collect();
    match settings.is_empty() {
        true => scheme.name.to_owned(),
        false => format!("{}({})", scheme.name, settings.join(",")),
    }
}

impl Asked {
    /// Sizes from one percent of the pages to all of them.
    fn draw(random: &mut SplitMix64, scheme: &SchemeInfo, pages: u64) -> Asked {
        let scheme = &drawn_settings(random, scheme, pages);
        let mut pick = |n: u64| (random.next_u64() >> 11) % n;
        let seed = pick(1_000);
        let size = match pick(4) {
            0 => SampleSize::Pages((pages / 20).max(64)),
            _ => SampleSize::Rate([0.02, 0.05, 0.1, 0.2][pick(4) as usize]),
        };
        let shares = (0..6).map(|i| (pages >> (6 - i)) + pick(1 + (pages >> (8 - i))));
        let sizes = sizes(shares.map(|pages| pages.max(1)));
        let base = RunSpec {
            read_alloc: [ReadAlloc::Scheme, ReadAlloc::On, ReadAlloc::Off][pick(3) as usize],
            warmup: [Warmup::None, Warmup::Millionths(200_000), Warmup::Passes(1)]
                [pick(3) as usize],
            ..spec(scheme)
        };
        let works = |&cache: &ByteSize| {
            let at = RunSpec {
                cache,
                ..base.clone()
            };
            at.check().is_ok()
        };
        Asked {
            sizes: sizes.into_iter().filter(works).collect(),
            sampling: Sampling { size, seed },
            base,
        }
    }

    fn covered(&self, trace: &Trace) -> Covered {
        let mut covered = Covered::default();
        let exact = curve(trace, &self.base, &self.sizes, |c| c.exact()).unwrap();
        let sampled = match curve(trace, &self.base, &self.sizes, |c| {
            c.sampled(&self.sampling)
        }) {
            Err(CurveError::EmptySample { .. } | CurveError::NotSampled(_)) => return covered,
            sampled => sampled.unwrap(),
        };
        let runs = sampled.points.iter().filter(|point| point.by_run).count();
        assert!(runs <= 2 && (runs == 0 || checked_by_runs(&self.base.expr)));
        for (sampled, exact) in sampled.points.iter().zip(&exact) {
            covered.add(sampled, exact);
        }
        covered
    }
}

#[test]
fn intervals_contain_the_truth_for_every_scheme_and_load() {
    let full = std::env::var_os("DESTAGE_FULL").is_some();
    let (loads, accesses) = if full { (24, 60_000) } else { (3, 20_000) };
    let mut random = SplitMix64::new(55);
    let mut of: BTreeMap<&str, Covered> = BTreeMap::new();
    for load in 0..loads {
        let trace = drawn_load(load, accesses);
        let pages = footprint((&trace).into(), PageSize::KIB4, &Unmetered).unwrap();
        for scheme in registry::SCHEMES {
            if !matches!(scheme.role, Role::PagePolicy | Role::Offline) {
                continue;
            }
            let found = Asked::draw(&mut random, scheme, pages).covered(&trace);
            let sum = of.entry(scheme.name).or_default();
            sum.inside += found.inside;
            sum.all += found.all;
        }
    }
    let all = of.values().copied().reduce(|a, b| Covered {
        inside: a.inside + b.inside,
        all: a.all + b.all,
    });
    let all = all.expect("there are schemes");
    let table: Vec<String> = of
        .iter()
        .map(|(name, c)| format!("{name}: {} of {}", c.inside, c.all))
        .collect();
    let table = table.join("\n");
    println!("{table}\nall: {} of {}", all.inside, all.all);
    assert!(
        all.share() >= 0.95,
        "{} of {}\n{table}",
        all.inside,
        all.all
    );
    let refused: Vec<_> = of.iter().filter(|(_, covered)| covered.all == 0).collect();
    assert!(matches!(refused[..], [(&"ref", _)]), "{table}");
    for (name, covered) in of.into_iter().filter(|(_, covered)| covered.all > 0) {
        // Few intervals of few loads may miss together.
        let least = if full { 0.95 } else { 0.8 };
        assert!(covered.share() >= least, "{name}\n{table}");
    }
}
