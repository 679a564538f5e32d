//! What somebody may have meant by a word that is not known.

/// Characters of a word that are compared, so that the work is bounded.
const COMPARED: usize = 64;

/// The known word that is the fewest typing errors away, whatever the case; the first of several.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.to_lowercase().chars().take(COMPARED).collect();
    let distance = |known: &&str| strsim::damerau_levenshtein(&word, known);
    known.into_iter().min_by_key(distance)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn letters_may_be_swapped_missing_or_of_the_other_case() {
        let near = |word| nearest(word, ["lru", "lirs", "arc"]);
        assert_eq!(near("rlu"), Some("lru"));
        assert_eq!(near("LIR"), Some("lirs"));
        assert_eq!(nearest("lru", []), None);
    }
}
