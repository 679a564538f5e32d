//! Suggests the known word that somebody may have meant.

/// Characters of a word that are compared, so that the work is bounded.
const COMPARED: usize = 64;

/// The known word that is the fewest typing errors away, whatever the case; the first of several.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(word, known, usize::MAX)
}

/// The same if it is at most `most` typing errors away.
pub fn nearest_within<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Option<&'a str> {
    let word: String = word.to_lowercase().chars().take(COMPARED).collect();
    let errors = |known: &str| strsim::damerau_levenshtein(&word, known);
    let known = known.into_iter().map(|known| (errors(known), known));
    let nearest = known.min_by_key(|found| found.0)?;
    (nearest.0 <= most).then_some(nearest.1)
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_within};

    #[test]
    fn letters_may_be_swapped_missing_or_of_the_other_case() {
        let near = |word| nearest(word, ["lru", "lirs", "arc"]);
        assert_eq!(near("rlu"), Some("lru"));
        assert_eq!(near("LIR"), Some("lirs"));
        assert_eq!(nearest("lru", []), None);
        assert_eq!(nearest_within("lrux", ["lru"], 1), Some("lru"));
        assert_eq!(nearest_within("lruxy", ["lru"], 1), None);
    }
}
