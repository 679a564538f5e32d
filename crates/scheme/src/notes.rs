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
    static MUTED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether this thread's schemes write words. They do unless told otherwise; tests that count
/// allocations tell them.
#[cfg(feature = "conformance")]
pub fn mute(yes: bool) {
    MUTED.set(yes);
}

/// Words a scheme wrote since they were last taken.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    #[cfg(feature = "conformance")]
    words: Vec<Note>,
}

impl Notes {
    /// Adds the word that `word` makes; `word` is not called without the feature.
    #[inline]
    pub fn add(&mut self, column: Column, word: impl FnOnce() -> String) {
        #[cfg(feature = "conformance")]
        if !MUTED.get() {
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
