//! Laws of the journal, and of steps.

use super::step::Quadratic;
use super::{Differences, FitJournal};
use crate::FitError;
use destage_types::rng::SplitMix64;
use std::fs;
use std::path::Path;

const FIT: &str = "destage fit-device 0123";

/// Writes a journal of some residuals and gives its bytes.
fn written(path: &Path, rng: &mut SplitMix64) -> Vec<u8> {
    let _ = fs::remove_file(path);
    let mut journal = FitJournal::open(FIT, path).unwrap();
    for i in 0..3 {
        let settings = format!("t_program={i}us; read_retry=\"off\"");
        let found = Differences(vec![(i, rng.below(1000) as f64 / 7.0, 2.0)]);
        journal.add(settings, found).unwrap();
    }
    fs::read(path).unwrap()
}

fn known(journal: &FitJournal) -> Vec<(String, Differences)> {
    journal.known.clone().into_iter().collect()
}

/// One byte is changed, removed or added, or the end is cut.
fn damaged(text: &[u8], rng: &mut SplitMix64) -> Vec<u8> {
    let (mut text, at) = (text.to_vec(), rng.below(text.len() as u64) as usize);
    match rng.below(4) {
        0 => text[at] ^= 1 << rng.below(8),
        1 => _ = text.remove(at),
        2 => text.insert(at, rng.next_u64() as u8),
        _ => text.truncate(at),
    }
    text
}

/// A damaged journal is refused, or holds nothing that was not written.
#[test]
fn a_damaged_journal_says_nothing_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.journal");
    let (mut rng, mut refused) = (SplitMix64::new(1), 0);
    for case in 0..400 {
        let text = written(&path, &mut rng);
        let all = known(&FitJournal::open(FIT, &path).unwrap());
        assert_eq!(all.len(), 3);
        let damaged = damaged(&text, &mut rng);
        fs::write(&path, &damaged).unwrap();
        match FitJournal::open(FIT, &path) {
            Ok(journal) => {
                let kept = known(&journal);
                assert!(
                    kept.iter().all(|known| all.contains(known)),
                    "case {case}: {kept:?}"
                );
                // What was removed stood behind the last line end.
                assert!(damaged.starts_with(&fs::read(&path).unwrap()) || kept.is_empty());
            }
            Err(FitError::OtherJournal | FitError::DamagedJournal { .. }) => {
                refused += 1;
                assert_eq!(fs::read(&path).unwrap(), damaged, "a refused journal stays");
            }
            Err(other) => panic!("case {case}: {other}"),
        }
    }
    assert!(refused > 200, "{refused} of 400 are refused");
}

#[test]
fn a_journal_of_another_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.journal");
    for other in ["another fit\n", "no line end"] {
        fs::write(&path, other).unwrap();
        assert!(FitJournal::open(FIT, &path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
    }
}

/// Differences that are straight lines in the values: `x + slopes * steps`, of equal weight.
fn lines(slopes: &[[f64; 2]], steps: [f64; 2]) -> Differences {
    let at = |slopes: &[f64; 2]| 0.001 * (slopes[0] * steps[0] + slopes[1] * steps[1] - 1.0);
    let all = (0..).zip(slopes);
    Differences(all.map(|(i, slopes)| (i, at(slopes), 1.0)).collect())
}

fn around(slopes: &[[f64; 2]]) -> Quadratic {
    let pair = |steps| (1.0, lines(slopes, [0.0, 0.0]), lines(slopes, steps));
    Quadratic::new(
        &lines(slopes, [0.0, 0.0]),
        &[pair([1.0, 0.0]), pair([0.0, 1.0])],
    )
}

#[test]
fn a_step_ends_where_all_differences_of_lines_are_gone() {
    // 2 a = 1, a + 4 b = 1.
    let step = around(&[[2.0, 0.0], [1.0, 4.0]]).step(0.0);
    assert!(
        (step[0] - 0.5).abs() < 0.01 && (step[1] - 0.125).abs() < 0.01,
        "{step:?}"
    );
    let damped = around(&[[2.0, 0.0], [1.0, 4.0]]).step(1.0);
    assert!(damped[0] < 0.9 * step[0], "{damped:?}");
}

/// Values that only their sum shows have no rise of their own.
#[test]
fn values_that_make_up_for_each_other_do_not_rise_together() {
    let own = around(&[[2.0, 0.0], [0.0, 2.0]]).rise(0, |_| false);
    let traded = around(&[[2.0, 2.0], [1.0, 1.0]]).rise(0, |_| false);
    assert!(traded < 0.01 * own, "{traded} and {own}");
    let pinned = around(&[[2.0, 2.0], [1.0, 1.0]]).rise(0, |value| value == 1);
    assert!((pinned / own - 1.25).abs() < 0.01, "{pinned} and {own}");
}

/// A change is chance if its sign differs between draws.
#[test]
fn draws_agree_on_the_least_change() {
    let draws = |all: [[f64; 2]; 3]| {
        let draw = |[a, b]: [f64; 2]| Differences(vec![(1, a, 2.0), (7, b, 1.0)]);
        all.map(draw)
    };
    let from = draws([[0.0, 1.0], [0.5, 1.0], [1.0, 1.0]]);
    let to = draws([[0.25, 1.5], [1.0, 0.5], [3.0, 1.5]]);
    let expected = Differences(vec![(1, 0.75, 2.0), (7, 1.0, 1.0)]);
    assert_eq!(Differences::agreed(&from, &to), expected);
}
