//! Maps by numbers of pages and sectors.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Mixes page numbers and sectors: the default hasher would be most of the time of a request.
#[derive(Clone, Debug, Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, n: u64) {
        let x = (self.0 ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = x ^ (x >> 32);
    }
}

/// A map by numbers, or by what is one. It is never iterated.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;
