//! Pieces of the state strings of the worked examples (feature `conformance`).

use crate::View;
use destage_types::{Lpn, Slot};
use std::fmt::Write;

/// `5*` for a dirty page, `5` for a clean one.
pub fn page(out: &mut String, v: &View, slot: Slot) {
    let star = if v.frames.is_dirty(slot) { "*" } else { "" };
    write!(out, "{}{star}", v.frames.lpn(slot)).expect("writing to a string cannot fail");
}

/// `[a b]`: what `word` prints of each of the items.
pub fn list<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    word: impl Fn(&mut String, T),
) {
    out.push('[');
    for (i, item) in items.into_iter().enumerate() {
        out.push_str(if i > 0 { " " } else { "" });
        word(out, item);
    }
    out.push(']');
}

/// `[7* 3]`: pages in the order given.
pub fn pages(out: &mut String, v: &View, slots: impl Iterator<Item = Slot>) {
    list(out, slots, |out, slot| page(out, v, slot));
}

/// `[7 3]`: absent pages in the order given.
pub fn ghosts(out: &mut String, pages: impl Iterator<Item = Lpn>, separator: &str) {
    out.push('[');
    for (i, lpn) in pages.enumerate() {
        out.push_str(if i > 0 { separator } else { "" });
        write!(out, "{lpn}").expect("writing to a string cannot fail");
    }
    out.push(']');
}

/// `4*,5`: pages in ascending order, with or without stars.
pub fn sorted(v: &View, slots: impl Iterator<Item = Slot>, stars: bool) -> String {
    let mut slots: Vec<Slot> = slots.collect();
    v.frames.sort_by_lpn(&mut slots);
    let word = |&slot: &Slot| {
        let mut word = String::new();
        if stars {
            page(&mut word, v, slot);
        } else {
            word = v.frames.lpn(slot).to_string();
        }
        word
    };
    slots.iter().map(word).collect::<Vec<_>>().join(",")
}

/// The words with spaces between them, or `-` if there are none.
pub fn joined_or_dash(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        "-".to_owned()
    } else {
        words.join(" ")
    }
}

/// `{4*:a 5:b}`: pages in ascending order, each with a word about it.
pub fn by_page(
    out: &mut String,
    v: &View,
    slots: impl Iterator<Item = Slot>,
    word: impl Fn(Slot) -> String,
) {
    let mut slots: Vec<Slot> = slots.collect();
    v.frames.sort_by_lpn(&mut slots);
    out.push('{');
    for (i, &slot) in slots.iter().enumerate() {
        out.push_str(if i > 0 { " " } else { "" });
        page(out, v, slot);
        out.push(':');
        out.push_str(&word(slot));
    }
    out.push('}');
}
