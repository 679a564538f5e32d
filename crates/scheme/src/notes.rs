//! A log of scheme-internal events (migration, admission, decay) for the conformance tests.
//!
//! Without the `conformance` feature a [`Notes`] is empty and every call compiles to nothing.

/// Column of a worked example in which a word stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// Behind the hits and misses.
    Result,
    /// Among the evictions.
    Event,
}

/// A word that a scheme wrote.
#[derive(Clone, Debug)]
pub struct Note {
    /// Where it stands.
    pub column: Column,
    /// The word.
    pub word: String,
}

#[cfg(feature = "conformance")]
thread_local! {
    static KEPT: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// From now on the schemes of this thread write words. Only who takes them calls this: nobody else would
/// ever empty the list.
#[cfg(feature = "conformance")]
pub fn keep() {
    KEPT.set(true);
}

/// Words a scheme wrote since they were last taken.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    #[cfg(feature = "conformance")]
    words: Vec<Note>,
}

impl Notes {
    /// Adds the word that `word` makes, if words are kept.
    #[inline]
    pub fn add(&mut self, column: Column, word: impl FnOnce() -> String) {
        #[cfg(feature = "conformance")]
        if KEPT.get() {
            let word = word();
            self.words.push(Note { column, word });
        }
        #[cfg(not(feature = "conformance"))]
        let _ = (column, word);
    }

    /// Moves all words to the end of `out`.
    #[cfg(feature = "conformance")]
    pub fn take(&mut self, out: &mut Vec<Note>) {
        out.append(&mut self.words);
    }
}
