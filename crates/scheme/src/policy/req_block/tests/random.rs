//! Invariants over random runs with every option.

use super::*;
use crate::info::Words;
use crate::testing::STILL;

/// All combinations of the options, and a cache that lives through many evictions.
#[test]
fn random_runs_keep_every_structure_consistent() {
    let word =
        |key: &str, words: &[&str], n: u32| format!("{key}={}", words[n as usize % words.len()]);
    for i in 0..96u32 {
        let options = [
            format!("delta={}", 1 + i % 4),
            word("size-basis", SizeBasis::WORDS, i),
            word("access-unit", AccessUnit::WORDS, i >> 1),
            word("time-basis", TimeBasis::WORDS, i),
            word("split-access", SplitAccess::WORDS, i / 3),
            word("split-insert-time", SplitInsertTime::WORDS, i >> 2),
            word("origin", OriginRule::WORDS, i / 5),
            word("merge", Merge::WORDS, i / 7),
        ];
        let mut cache = cache(24, &options.join(","));
        cache.random(u64::from(i), 400, STILL, validate);
        let held = LIST_PAGES.map(|name| cache.stat(name));
        assert_eq!(held.iter().sum::<u64>(), cache.frames.used() as u64);
    }
}
