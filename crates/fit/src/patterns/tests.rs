use super::*;
use crate::measurements::{MeasuredPlace, PlacePart};
use destage_sim::waf::WafZone;
use destage_types::rng::SplitMix64;

/// A drive whose values are known.
#[derive(Clone, Copy, Debug)]
struct KnownDrive {
    rule: CollectionRule,
    op: f64,
    prices: WritePrices,
}

const SPAN: u64 = 100 << 30;

fn patterns() -> Vec<(&'static str, WafPattern)> {
    let zones = |shares: &[(f64, f64)]| {
        let zone = |&(space, writes): &(f64, f64)| WafZone { space, writes };
        WafPattern::Zones(shares.iter().map(zone).collect())
    };
    vec![
        ("uniform", WafPattern::Uniform),
        ("zipf 0.8", WafPattern::Zipf(0.8)),
        ("80 % read-only", zones(&[(0.8, 0.0), (0.2, 1.0)])),
        ("95/5", zones(&[(0.95, 0.05), (0.05, 0.95)])),
    ]
}

impl KnownDrive {
    /// The rates of the drive, of another size and with other random numbers than those of a fit.
    fn measured(&self, seed: u64) -> Vec<PatternRun> {
        let run = |(name, pattern): (&str, WafPattern)| {
            let mut run = PatternRun {
                drive: "known".to_owned(),
                name: name.to_owned(),
                pattern,
                span: SPAN,
                rates: [0.0; PARTS],
                volume: 5.0,
                drop_after: Some((SPAN as f64 * self.op / (1.0 - self.op)) as u64),
                fresh: Some(1e9 / self.prices.command),
                place: MeasuredPlace {
                    file: "known.csv".into(),
                    part: PlacePart::Line(2),
                },
            };
            let spec = WafSpec {
                blocks: 768,
                pages_per_block: 160,
                seed,
                ..run.waf_spec(1.0 - self.op, &self.rule)
            };
            let tenths = spec.run(&AtomicU64::new(0)).unwrap().tenths;
            run.rates = tenths.map(|w| self.prices.rate(w));
            run
        };
        patterns().into_iter().map(run).collect()
    }

    fn draw(rng: &mut SplitMix64, rule: CollectionRule) -> KnownDrive {
        let mut from = |low: f64, high: f64| low + (high - low) * rng.below(1001) as f64 / 1000.0;
        let host = from(400.0, 4000.0);
        KnownDrive {
            rule,
            op: from(0.09, 0.2),
            prices: WritePrices {
                host,
                command: host * from(1.0, 1.5),
                moved: host * from(0.8, 1.6),
            },
        }
    }
}

/// Whatever the rule, the spare space and the prices of a drive are, its rates give them back.
#[test]
fn a_known_drive_gives_its_rule_its_space_and_its_prices_back() {
    let mut rng = SplitMix64::new(0xD21);
    let full = std::env::var_os("DESTAGE_FULL").is_some();
    for rule in RULES.into_iter().skip(if full { 0 } else { 2 }) {
        let drive = KnownDrive::draw(&mut rng, rule);
        let runs = drive.measured(rng.next_u64());
        let fit = PatternFit::of(&runs, Some(drive.prices.host), 0.3, 2)
            .unwrap()
            .unwrap();
        let (best, space) = (fit.best(), fit.space.unwrap());
        assert_eq!(best.rule, rule, "{drive:?}");
        assert!((space.op - drive.op).abs() < 1e-3, "{drive:?}: {space:?}");
        let moved = best.prices.moved / drive.prices.moved;
        assert!((moved - 1.0).abs() < 0.05, "{drive:?}: {moved} times");
        assert!(
            fit.explains() && best.error() < 0.04,
            "{drive:?}: {}",
            best.error()
        );
    }
}

/// The error of a run that was left out is that of the other runs' prices, so a run that fits nothing shows.
#[test]
fn a_run_that_fits_nothing_is_the_worst_when_it_is_left_out() {
    let drive = KnownDrive::draw(&mut SplitMix64::new(5), RULES[0]);
    for wrong in [0, 3] {
        let mut runs = drive.measured(9);
        runs[wrong].rates = runs[wrong].rates.map(|rate| rate * 0.6);
        let fit = PatternFit::of(&runs, Some(drive.prices.host), 0.1, 2)
            .unwrap()
            .unwrap();
        let errors = &fit.best().left_out;
        let worst = (0..errors.len()).max_by(|&a, &b| errors[a].total_cmp(&errors[b]));
        assert_eq!(worst, Some(wrong), "{errors:?}");
        assert!(errors[wrong] > 0.3, "{errors:?}");
        assert!(!fit.explains(), "{errors:?}");
    }
}

/// Without a run that says when its rate dropped, the spare space is that of the base.
#[test]
fn a_space_that_no_run_shows_is_that_of_the_base() {
    let drive = KnownDrive::draw(&mut SplitMix64::new(6), RULES[0]);
    let mut runs = drive.measured(3);
    runs.iter_mut().for_each(|run| run.drop_after = None);
    let fit = PatternFit::of(&runs, None, drive.op, 2).unwrap().unwrap();
    assert_eq!((fit.space, fit.best().rule), (None, RULES[0]));
    // The time of a write is that of the drive as it was filled.
    assert_eq!(fit.best().prices.host, fit.best().prices.command);
    assert!(PatternFit::of(&[], None, 0.1, 2).unwrap().is_none());
}

#[test]
fn zones_that_do_not_come_to_one_are_named() {
    let drive = KnownDrive::draw(&mut SplitMix64::new(6), RULES[0]);
    let mut runs = drive.measured(3);
    let zone = |space, writes| WafZone { space, writes };
    runs[1].pattern = WafPattern::Zones(vec![zone(0.5, 0.5), zone(0.4, 0.5)]);
    let error = PatternFit::of(&runs, None, 0.1, 1).unwrap_err().to_string();
    assert!(error.starts_with("known.csv:2: "), "{error}");
}
