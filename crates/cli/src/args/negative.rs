//! Values that begin with `-` and a digit.

use std::ffi::OsString;

/// The arguments of the program; a word like `-4k` behind an option is joined to it, as
/// `--cache=-4k`. No option begins with a digit, so that it is meant as a value: the option then
/// says what it allows.
pub fn join_negative(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut options = true;
    for word in words {
        let last = joined.last_mut().filter(|last| options && is_option(last));
        match last {
            Some(last) if is_negative(&word) => {
                last.push("=");
                last.push(word);
            }
            _ => {
                options &= word != "--";
                joined.push(word);
            }
        }
    }
    joined
}

/// An option without a value in the same word.
fn is_option(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    let name = text
        .strip_prefix('-')
        .map(|name| name.trim_start_matches('-'));
    name.is_some_and(|name| !name.is_empty() && !name.contains('='))
}

fn is_negative(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    let number = text
        .strip_prefix('-')
        .map(|rest| rest.trim_start_matches('.'));
    number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &str) -> String {
        let words = words.split(' ').map(OsString::from);
        let joined = join_negative(words).into_iter();
        joined
            .map(|word| word.into_string().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn negative_values_are_joined_to_their_option() {
        assert_eq!(joined("run t --cache -4k"), "run t --cache=-4k");
        assert_eq!(joined("head t -n -3 -"), "head t -n=-3 -");
        assert_eq!(joined("run t --warmup -.5%"), "run t --warmup=-.5%");
    }

    #[test]
    fn other_words_stay() {
        for words in [
            "run --cache 4k --page 4k",
            "run --out -o --details",
            "run --cache=4k -4",
            "run - -4",
            "run t -4",
            "run -- --cache -4",
        ] {
            assert_eq!(joined(words), words);
        }
    }
}
