//! Random expressions: nothing panics, and what is accepted reads back as itself.
//!
//! `DESTAGE_FUZZ_SECONDS` (default 1) bounds the time of the mutation run.

use std::time::{Duration, Instant};

use destage_scheme::expr::fuzz;
use destage_scheme::registry::{ALIASES, SCHEMES};
use destage_scheme::rng::SplitMix64;
use destage_scheme::{Expr, SchemeInfo};
use proptest::prelude::*;

struct Random(SplitMix64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const TOKENS: &[&str] = &[
    "(", ")", ",", "=", ".", "[", "]", " ", "-", "_", "+", "0", "1", "4", "0.5", "1e9", "-1",
    "128k", "2p", "3us", "inf", "true", "scope", "ldr", "\u{fc}", "\0",
];
const VALUES: &[&str] = &[
    "1", "2", "0.5", "4k", "2p", "5us", "true", "false", "inf", "[0.5,1]", "ge", "all",
];

/// A chain of random schemes with random parameters of theirs; legal now and then.
fn chain(random: &mut Random) -> String {
    let layers = 1 + random.below(4);
    let mut text = String::new();
    for _ in 0..layers {
        let info: &SchemeInfo = SCHEMES[random.below(SCHEMES.len())];
        let mut outer = info.name.to_owned();
        let mut arguments = Vec::new();
        if !text.is_empty() {
            arguments.push(text);
        }
        let keys: Vec<&str> = info.params().map(|p| p.key).collect();
        if !keys.is_empty() && random.below(2) == 0 {
            let key = random.pick(&keys);
            arguments.push(format!("{key}={}", random.pick(VALUES)));
        }
        if !arguments.is_empty() {
            outer += &format!("({})", arguments.join(","));
        }
        text = outer;
    }
    text
}

fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    let at = random.below(text.len() + 1);
    match random.below(4) {
        0 if at < text.len() => drop(text.remove(at)),
        1 if at < text.len() => text[at] = random.0.next_u64() as u8,
        2 => {
            let alias = ALIASES[random.below(ALIASES.len())].0;
            text.splice(at..at, alias.bytes());
        }
        _ => {
            let token = random.pick(TOKENS);
            text.splice(at..at, token.bytes());
        }
    }
}

#[test]
fn mutated_expressions_do_not_panic() {
    let seconds = std::env::var("DESTAGE_FUZZ_SECONDS").map_or(1.0, |text| {
        text.parse().expect("DESTAGE_FUZZ_SECONDS is a number")
    });
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut random = Random::new(1);
    let mut legal = 0u64;
    let mut rounds = 0u64;
    while rounds < 1000 || Instant::now() < end {
        let text = chain(&mut random);
        legal += u64::from(Expr::parse(&text).is_ok());
        let mut bytes = text.into_bytes();
        for _ in 0..random.below(4) {
            mutate(&mut random, &mut bytes);
        }
        fuzz::expression(&bytes);
        rounds += 1;
    }
    assert!(
        legal * 50 > rounds,
        "only {legal} of {rounds} chains were legal"
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz::expression(&bytes);
    }

    #[test]
    fn spelling_does_not_change_the_meaning(seed in any::<u64>(), upper in any::<u64>()) {
        let text = chain(&mut Random::new(seed));
        let mut bits = Random::new(upper);
        let mut other = String::new();
        for c in text.chars() {
            let c = match (c, bits.below(2)) {
                ('-', 0) => '_',
                (c, 0) => c.to_ascii_uppercase(),
                (c, _) => c,
            };
            if "(),=[]".contains(c) {
                other += bits.pick(&["", " ", "\t "]);
            }
            other.push(c);
        }
        let same = match (Expr::parse(&text), Expr::parse(&other)) {
            (Ok(a), Ok(b)) => a == b && a.to_string() == b.to_string(),
            (Err(a), Err(b)) => a.code == b.code,
            _ => false,
        };
        prop_assert!(same, "{} and {}", text, other);
    }
}
