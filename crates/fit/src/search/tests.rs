//! Laws of the journal.

use super::FitJournal;
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
        journal.add(settings, rng.below(1000) as f64 / 7.0).unwrap();
    }
    fs::read(path).unwrap()
}

fn known(journal: &FitJournal) -> Vec<(String, u64)> {
    let all = journal.known.iter();
    all.map(|(settings, residual)| (settings.clone(), residual.to_bits()))
        .collect()
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
